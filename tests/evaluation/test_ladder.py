"""genius/evaluation/ladder.py: its cells are the figures of the report."""

from genius.evaluation.ladder import ladder

SYSTEMS = {"dense": 0.5, "fused": 0.625, "quantized": 0.6, "beam": 0.55, "beam + re-rank": 0.375, "fast + re-rank": 0.4}


def entry(recall: float, **changes: float) -> dict:
    rates = SYSTEMS | changes
    return {
        "systems": {system: {"headline": rate} for system, rate in rates.items()},
        "beam": {
            "beam + re-rank": {"candidate_recall": recall},
            "fast + re-rank": {"candidate_recall": recall + 0.125},
        },
    }


def test_rungs_go_from_exhaustive_search_to_the_served_order():
    found = ladder([entry(0.75), entry(0.5, dense=0.25)])

    assert found == {
        "dense": ["50.0", "25.0"],
        "fused": ["62.5", "62.5"],
        "quantized": ["60.0", "60.0"],
        "beam: candidates": ["75.0", "50.0"],
        "beam + re-rank": ["37.5", "37.5"],
        "fast: candidates": ["87.5", "62.5"],
        "fast + re-rank": ["40.0", "40.0"],
    }


def test_a_ranker_is_a_rung_and_what_was_not_measured_is_none():
    with_ranker = entry(0.75)
    with_ranker["systems"] |= {"beam + ranker": {"headline": 0.7}}
    without = {"systems": {"dense": {"headline": 0.5}, "beam": {"headline": 0.4}}}

    assert list(ladder([with_ranker]))[3:6] == ["beam: candidates", "beam + re-rank", "beam + ranker"]
    assert ladder([with_ranker])["beam + ranker"] == ["70.0"]
    assert list(ladder([without])) == ["dense"]
