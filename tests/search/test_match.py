"""The word for confidence: recorded with a run, given to its searches, and gone with other
models.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.errors import UserError
from genius.evaluation import match as calibration
from genius.evaluation.match import (
    SIDE,
    WITHHELD,
    Answered,
    fitted,
    judged,
    main,
    match_table,
    showing_nothing,
    swapped,
)
from genius.reports import Report
from genius.run import Run
from genius.schema import Hit, Item, Modality, Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from genius.search.match import FIRST, GOOD, SIGNALS, WEAK, MatchWords, record_of, signals, word_of
from tests.search.tiny import publish_tiny_run

QUERY = Query("a red boat")
PICTURE = Image.new("RGB", (9, 9))


@pytest.fixture
def run(tmp_path):
    return publish_tiny_run(tmp_path / "run")


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_a_word_follows_from_the_probability():
    words = [
        word_of([1, 0, 0, 0], [log_odds(p), 5, 5])
        for p in (GOOD + 1e-6, GOOD - 1e-6, WEAK + 1e-6, WEAK - 1e-6)
    ]
    assert words == ["good", "fair", "fair", "weak"]


def test_searches_carry_the_word_of_their_kind_in_the_order_of_the_run(run):
    (result,) = Engine.load(run.path, "cpu").search([QUERY])
    kind = f"text to {result.hits[0].item.modality.name.lower()}"
    recorded = record_of(run, "cosine", {kind: [0.0] * SIGNALS + [9.0]})
    run.record(match=recorded)
    engine = Engine.load(run.path, "cpu")
    assert result.match == "" and engine.search([QUERY])[0].match == "good"
    for options in (SearchOptions(order="score"), SearchOptions(prefix=result.hits[0].codes[:1])):
        assert engine.search([QUERY], options)[0].match == ""
    weak = {kind: [0.0] * SIGNALS + [-9.0]}
    for changes, word in (
        ({"models": recorded["models"] | {"encoder": "0" * 64}}, ""),
        ({"only_weak": [kind]}, ""),
        ({"only_weak": [kind], "weights": weak}, "weak"),
        ({"weights": {kind: [1.0]}}, ""),  # of other signals
    ):
        run.record(match=recorded | changes)
        assert MatchWords(run).word(QUERY, result) == word, changes
    run.record(match=recorded | {"weights": {kind: ["a"]}})
    with pytest.raises(UserError, match="manifest"):
        Engine.load(run.path, "cpu")


def drawn(kind: str, count: int, slopes: list[float], seed: int = 0) -> list[Answered]:
    """Queries whose first three signals decide, by these slopes."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(count, SIGNALS)) * [0.1, 3, 1, 1, 1, 1]
    right = rng.random(count) < 1 / (1 + np.exp(-(known[:, :3] @ slopes + 0.5)))
    return [Answered(kind, tuple(row), bool(hit)) for row, hit in zip(known, right, strict=True)]


def test_weights_are_fitted_where_right_and_wrong_queries_are_known():
    always_right = [Answered("photo", (0.5, 1.0, *[0.0] * (SIGNALS - 2)), True)] * 99
    weights, only_weak = fitted([*drawn("text to image", 4000, [10, 1, -2]), *always_right])
    assert list(weights) == ["text to image"] and only_weak == []
    assert weights["text to image"] == pytest.approx([10, 1, -2, 0, 0, 0, 0.5], rel=0.15, abs=0.15)


def test_of_a_reading_that_cannot_be_told_only_weak_matches_are_named():
    few = [replace(query, kind="answer") for query in drawn("x", 20, [0, 0, 0]) if not query.right]
    weights, only_weak = fitted(
        [*drawn("entry", 2000, [10, 2, -2]), *few, *drawn("similar", 2000, [0, 0, 0.1])]
    )
    assert set(weights) == {"answer", "entry", "similar"} and only_weak == ["answer", "similar"]


def test_what_nothing_answers_counts_as_wrong():
    def hits(*ids: str) -> list[Hit]:
        items = [Item(id, Modality.TEXT, id) for id in ids]
        return [
            Hit(n, item, (), n + 1, n + 1, 0.9 - n / 10, (-1.0,)) for n, item in enumerate(items)
        ]

    found = SearchResult(hits("a", *"bcdefg"), [], *[np.zeros(1)] * 2, (), np.zeros(1), 7)
    asked, withheld = judged(QUERY, found, {"b"}, withheld=True)
    assert asked.right and not withheld.right and withheld.weight == WITHHELD
    assert withheld.signals == signals(hits("a", "x", *"cdefg")[:1] + found.hits[2:], 0.0)
    (only,) = judged(QUERY, replace(found, hits=hits(*"abc")), {"b"}, withheld=True)
    assert only.right, "too few are left without it"
    pairs = [Query("red", PICTURE), Query("blue", PICTURE), Query("", PICTURE)]
    assert [query.text for query in swapped(pairs)] == ["blue", ""]


def test_pictures_that_show_nothing_are_of_five_kinds():
    pixels = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    made = dict(showing_nothing([Image.fromarray(pixels)], np.random.default_rng(0)))
    assert len(made) == 5
    for name, picture in made.items():
        shown = np.asarray(picture)
        assert shown.shape == pixels.shape and (shown != pixels).any(), name


def test_the_table_counts_words_and_right_results():
    told = [("good", True), ("good", True), ("weak", False), ("fair", True)]
    (row,) = match_table("t", {"all": told}).rows
    good, right_good, _, _, weak, right_weak = row[2:]
    assert row[:2] == ["all", 4] and (good, weak) == (0.5, 0.25)
    assert (right_good[0], right_weak[0]) == (1, 0)


def test_the_command_records_weights_and_writes_a_report(run, monkeypatch):
    (result,) = Engine.load(run.path, "cpu").search([QUERY])
    first, mean, score, mean_score, length, log_prob = signals(result.hits, result.image_length)
    assert first == result.hits[0].cosine and score == mean_score == length == 0
    assert mean == pytest.approx(np.mean([hit.cosine for hit in result.hits[:FIRST]]))
    assert log_prob == result.hits[0].log_prob
    splits = []

    def answered(engine, collection, split, limit, seed, others=False):
        splits.append((split, others))
        rest = (0.0,) * (SIGNALS - 1)
        asked = [
            Answered("text to image", (n / 100, *rest), n > 50 or n % 7 == 0) for n in range(100)
        ]
        return [*asked, Answered("text to image", (-1.0, *rest), False, picture="noise")]

    monkeypatch.setattr(calibration, "answered", answered)
    monkeypatch.setattr(
        calibration, "opened", lambda given: (Engine.load(given.run, given.device), None)
    )
    main([str(run.path), "--device", "cpu"])
    assert (
        splits == [("val", True), ("test", False)]
        and Run(run.path).manifest["match"]["order"] == "cosine"
    )
    table, nothing = Report.load(run.path / "reports" / "match.json").tables
    assert [row[:2] for row in table.rows] == [["all", 100], ["text to image", 100]]
    assert nothing.rows == [["text to image", 1, 1]]

    monkeypatch.setattr(calibration, "answered", lambda *_, **__: [])
    with pytest.raises(
        UserError, match="no kind of query has 10 validation queries with a right result"
    ):
        main([str(run.path)])
