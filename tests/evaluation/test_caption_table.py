"""The paper's tables of captions and images, with runs of ours below."""

import json

import pytest

from genius.errors import UserError
from genius.evaluation.caption_table import cells, main, ordered, published_lines, run_lines, stands_for
from genius.evaluation.paper_ablations import RIVALS
from genius.evaluation.paper_captions import MSCOCO, PUBLISHED
from genius.evaluation.tables import percent

RATES = {"1": 0.25, "5": 0.5, "10": 0.75, "50": 1.0}


def write_run(path, dataset="drawn_mscoco", **report):
    systems = {"dense": {"hit": RATES}, "beam": {"hit": RATES}, "geometry": {"hit": RATES}}
    row = {"task": 0, "dataset": dataset, "queries": 40, "candidates": 900, "systems": systems}
    pools = [
        {"scope": scope, "items": items, "rows": [row | {"candidates": n}, row | {"task": 3}]}
        for scope, items, n in (("global", "all", 5000), ("local", "all", 4000), ("local", "test", 900))
    ]
    (path / "reports").mkdir(parents=True)
    found = {"split": "test", "collection": "world", "pools": pools} | report
    (path / "reports" / "retrieval.json").write_text(json.dumps(found))
    return path


def test_the_papers_lines_agree_with_its_other_tables():
    """Table 7 and the rivals that stand beside the ablations are two transcriptions."""
    coco = {line.method: line.rates for line in PUBLISHED[MSCOCO] if line.trained == MSCOCO}
    assert {name: coco[name] for name in RIVALS} == RIVALS


def test_a_row_from_texts_to_images_is_taken_in_the_local_pool_of_the_split(tmp_path):
    lines = run_lines(write_run(tmp_path / "run"))
    assert [line["method"] for line in lines] == ["dense search, the same encoder", "GENIUS"]
    assert all(
        (line["candidates"], line["rates"], line["trained"]) == (900, [0.25, 0.5, 0.75], "world") for line in lines
    )
    low, high = lines[0]["intervals"][1]
    assert low < 0.5 < high and high - low == pytest.approx(0.29, abs=0.03)  # 1.96 · √(0.25 / 40) on either side


def test_a_stand_in_is_called_so_and_a_run_from_elsewhere_is_marked(tmp_path):
    found = run_lines(write_run(tmp_path / "run", dataset="flickr8k", trained_on="another world"))
    shown = cells(found[1])
    assert shown["set"] == "flickr8k (stands in for Flickr30K)"
    assert shown["trained on"] == "another world †"
    assert shown["queries among images"] == "40 among 900"
    assert cells(found[1] | {"set": "flickr30k"})["set"] == "flickr30k"
    assert [stands_for(name) for name in ("mscoco", "drawn_mscoco", "fashion")] == [MSCOCO, MSCOCO, ""]


@pytest.mark.parametrize(
    ("stages", "named"),
    [
        (("encoder", "quantizer", "decoder"), "world, 0:drawn_mscoco alone"),
        (("decoder",), "world, the decoder on 0:drawn_mscoco alone"),
    ],
)
def test_rows_that_training_was_limited_to_are_named(tmp_path, stages, named):
    path = write_run(tmp_path / "run")
    settings = {stage: {"rows": ["0:drawn_mscoco"]} for stage in stages}
    (path / "manifest.json").write_text(json.dumps({"format": 1, "parts": {}, "settings": settings}))
    assert run_lines(path)[0]["trained"] == named


def test_our_lines_stand_below_the_papers_of_their_set(tmp_path):
    ours = run_lines(write_run(tmp_path / "run"))
    lines = ordered([*ours, *published_lines()])
    assert [line["of"] for line in lines] == ["Flickr30K"] * 9 + ["MSCOCO"] * 12
    assert lines[-2:] == ours
    assert list(cells(lines[0]).values())[4:7] == [percent(rate / 100) for rate in (22.5, 28.9, 29.4)]


def test_the_report_is_written_beside_the_first_run(tmp_path):
    first = write_run(tmp_path / "one")
    second = write_run(tmp_path / "two", dataset="flickr8k")
    main([str(first), str(second)])
    text = (first / "reports" / "captions.md").read_text()
    assert "flickr8k (stands in for Flickr30K)" in text and "drawn_mscoco (stands in for MSCOCO)" in text
    assert not (second / "reports" / "captions.md").exists()


def test_what_lacks_a_report_or_a_row_is_refused(tmp_path):
    with pytest.raises(UserError, match="is missing; write it with: python -m genius.evaluation"):
        run_lines(tmp_path)
    path = write_run(tmp_path / "old", pools=[{"scope": "local"}])
    with pytest.raises(UserError, match="is not a report of this version"):
        run_lines(path)
    path = write_run(tmp_path / "other", pools=[{"scope": "local", "items": "test", "rows": []}])
    with pytest.raises(UserError, match="has no row from texts to images"):
        run_lines(path)
