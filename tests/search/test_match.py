"""The word for confidence: recorded with a run, given to its searches, and gone with other models."""

import math

import numpy as np
import pytest
from PIL import Image

from genius.errors import UserError
from genius.evaluation import match as calibration
from genius.evaluation.match import EMPTIED, SIDE, Answered, fitted, main, match_table, showing_nothing
from genius.reports import Report
from genius.run import Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from genius.search.match import GOOD, WEAK, record_of, signals, word_of
from tests.search.tiny import publish_tiny_run

QUERY = Query("a red boat")


@pytest.fixture
def run(tmp_path):
    return publish_tiny_run(tmp_path / "run")


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_a_word_follows_from_the_probability():
    words = [word_of([1, 0, 0, 0], [log_odds(p), 5, 5]) for p in (GOOD + 1e-6, GOOD - 1e-6, WEAK + 1e-6, WEAK - 1e-6)]
    assert words == ["good", "fair", "fair", "weak"]


def test_searches_carry_the_word_of_their_kind_in_the_order_of_the_run(run):
    assert Engine.load(run.path, "cpu").search([QUERY])[0].match == ""
    (result,) = Engine.load(run.path, "cpu").search([QUERY])
    kind = f"text to {result.hits[0].item.modality.name.lower()}"
    run.record(match=record_of(run, "cosine", {kind: [0.0, 0.0, 0.0, 9.0]}))
    engine = Engine.load(run.path, "cpu")
    assert engine.search([QUERY])[0].match == "good"
    assert engine.search([QUERY], SearchOptions(order="score"))[0].match == ""
    assert engine.search([QUERY], SearchOptions(prefix=result.hits[0].codes[:1]))[0].match == ""

    recorded = run.manifest["match"]
    run.record(match=recorded | {"models": recorded["models"] | {"encoder": "0" * 64}})
    assert Engine.load(run.path, "cpu").search([QUERY])[0].match == "", "of another encoder"
    run.record(match=recorded | {"weights": {kind: [1.0]}})
    assert Engine.load(run.path, "cpu").search([QUERY])[0].match == "", "of other signals"
    run.record(match=recorded | {"weights": {kind: ["a"]}})
    with pytest.raises(UserError, match="manifest"):
        Engine.load(run.path, "cpu")


def test_weights_are_fitted_where_right_and_wrong_queries_are_known():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(4000, 3)) * [0.1, 3, 1]
    right = rng.random(4000) < 1 / (1 + np.exp(-(known @ [10, 1, -2] + 0.5)))
    queries = [Answered("text to image", tuple(row), bool(hit)) for row, hit in zip(known, right, strict=True)]
    weights = fitted([*queries, *[Answered("image to text", (0.5, 1.0, 0.0), True)] * 99])
    assert weights == {"text to image": pytest.approx([10, 1, -2, 0.5], rel=0.15)}


def test_pictures_that_show_nothing_keep_the_pixels_or_the_mean_color_of_a_query():
    pixels = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    queries = [Query("a car", picture), *[Query("", picture, "What is this?")] * (EMPTIED + 1), QUERY]
    asked = showing_nothing(queries, np.random.default_rng(0))
    assert len(asked) == 4 and {(query.text, query.instruction) for query in asked} == {("", "What is this?")}
    shuffled, color = np.asarray(asked[0].image), np.asarray(asked[1].image)
    assert (shuffled != pixels).any()
    assert np.array_equal(*(np.unique(of.reshape(-1, 3), axis=0, return_counts=True)[1] for of in (shuffled, pixels)))
    assert (color == pixels.mean((0, 1)).astype(int)).all()


def test_the_table_counts_words_and_right_results():
    rows = match_table("t", {"all": [("good", True), ("good", True), ("weak", False), ("fair", True)]}).rows
    good, right_good, _, _, weak, right_weak = rows[0][2:]
    assert rows[0][:2] == ["all", 4] and (good, weak) == (0.5, 0.25) and right_good[0] == 1 and right_weak[0] == 0


def test_the_command_records_weights_and_writes_a_report(run, monkeypatch):
    (result,) = Engine.load(run.path, "cpu").search([QUERY])
    cosine, score, length = signals(result)
    assert cosine == result.hits[0].cosine and score == length == 0
    (pictured,) = Engine.load(run.path, "cpu").search([Query("", Image.new("RGB", (32, 32)), "find it")])
    assert signals(pictured)[2] == math.log(pictured.image_length)
    splits = []

    def answered(engine, collection, split, limit, seed, emptied=False):
        splits.append((split, emptied))
        return [Answered("text to image", (n / 100, 0.0, 0.0), n > 50 or n % 7 == 0) for n in range(100)]

    monkeypatch.setattr(calibration, "answered", answered)
    monkeypatch.setattr(calibration, "opened", lambda given: (Engine.load(given.run, given.device), None))
    main([str(run.path), "--device", "cpu"])
    assert splits == [("val", True), ("test", False)] and Run(run.path).manifest["match"]["order"] == "cosine"
    (table,) = Report.load(run.path / "reports" / "match.json").tables
    assert [row[:2] for row in table.rows] == [["all", 100], ["text to image", 100]]

    monkeypatch.setattr(calibration, "answered", lambda *_, **__: [])
    with pytest.raises(UserError, match="no kind of query has 10 validation queries with a right result"):
        main([str(run.path)])
