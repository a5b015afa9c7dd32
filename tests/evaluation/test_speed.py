"""python -m genius.evaluation.speed on a few hundred items: every system is timed, and the report
shows it.
"""

import socket
import statistics
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.evaluation.queries import EncodedSplit
from genius.evaluation.speed import __main__ as command
from genius.evaluation.speed import measurements, systems
from genius.evaluation.speed.__main__ import describe_machine, main, processor_name
from genius.evaluation.speed.measurements import (
    CUT,
    MIN_ROUNDS,
    SpeedOptions,
    equal_hit_rate,
    fastest_equal,
    figure_4,
    mean_hit_rate,
    measure_in_turns,
    median_ratio,
    text_queries,
    whole_query,
)
from genius.evaluation.speed.systems import SYSTEMS, dense_of_run, ids_of_run
from genius.reports import Report, Table
from genius.schema import Modality, SearchOptions
from tests.evaluation.test_speed_systems import exact_ivf
from tests.evaluation.tiny_speed import CONFIG

TINY = ["--items", "40,100", "--batches", "1,2", "--rounds", "2", "--beams", "4", "--device", "cpu"]
OPTIONS = SpeedOptions(items=(40, 100), batches=(1, 2), rounds=2, beams=4)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(systems, "build_ivf_pq", exact_ivf)
    monkeypatch.setattr(command, "DecoderConfig", lambda: CONFIG)


@pytest.fixture(scope="module")
def queries(engine, collection) -> EncodedSplit:
    """Three rows of queries."""
    return EncodedSplit.read(engine, collection, "test", 3, seed=0)


def columns(table: Table) -> dict[str, list]:
    """Heading -> cells."""
    return dict(zip(table.headings(), map(list, zip(*table.rows, strict=True)), strict=True))


def test_one_command_times_every_system_and_writes_one_report(run, collection, tmp_path, capsys):
    out = tmp_path / "out"
    main([str(out), "--run", str(run), "--collection", str(collection.root), *TINY])

    report = Report.load(out / "speed.json")
    tables = {table.title: columns(table) for table in report.tables}
    for kind in ("Uniform", "Realistic"):
        cells = tables[f"{kind} IDs"]
        assert cells["system"] == [*SYSTEMS, *SYSTEMS] and cells["items"] == [40] * len(SYSTEMS) + [
            100
        ] * len(SYSTEMS)
        for name in ("batch 1, ms", "batch 2, ms", "bytes per item"):
            assert all(value > 0 for value in cells[name])
        found = dict(zip(cells["system"], cells["found, %"], strict=True))
        assert found["transformers"] is None and (found["flat"] == 1) == (kind == "Realistic")
    assert {
        "On the run",
        "At equal hit rate, batch 1",
        "At equal hit rate, batch 2",
        "One query",
    } <= tables.keys()
    assert any(title.startswith("The paper's Figure 4") for title in tables)
    assert (
        report.command.startswith("python -m genius.evaluation.speed")
        and run.name in report.version
    )
    assert len(report.plots) == 2 * 2 + 2 + 1
    text = (out / "speed.md").read_text(encoding="utf-8")
    assert text == report.to_markdown() and text.strip() in capsys.readouterr().out
    assert sorted(file.name for file in out.iterdir()) == ["speed.json", "speed.md"]


def test_systems_sizes_and_parts_can_be_chosen_and_large_collections_leave_some_out(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(measurements, "MAX_ITEMS", {"HNSW": 40})
    main([str(tmp_path), *TINY, "--systems", "settled; HNSW"])

    tables = {table.title: columns(table) for table in Report.load(tmp_path / "speed.json").tables}
    cells = tables["Uniform IDs"]
    assert list(zip(cells["items"], cells["system"])) == [
        (40, "settled"),
        (40, "HNSW"),
        (100, "settled"),
    ]
    assert not any("Realistic" in title for title in tables)


def test_a_run_without_its_collection_is_searched_with_its_own_texts(run, tmp_path):
    main([str(tmp_path), "--run", str(run), *TINY, "--parts", "realistic", "--systems", "both"])
    tables = Report.load(tmp_path / "speed.json").tables
    assert all(table.title.startswith("Realistic IDs") for table in tables)


def test_an_interrupted_benchmark_writes_what_it_has(tmp_path, monkeypatch):
    measure = measurements.measure_in_turns
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 2:  # both batches of the first size are done
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(measurements, "measure_in_turns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main([str(tmp_path), *TINY, "--systems", "scan"])
    (table, *_) = Report.load(tmp_path / "speed.json").tables
    assert [row[0] for row in table.rows] == [40]


def test_times_are_medians_of_the_rounds(tmp_path, monkeypatch):
    times = {"transformers": [30.0, 300.0, 60.0], "scan": [10.0, 100.0, 30.0, 30.0]}
    monkeypatch.setattr(
        measurements, "measure_in_turns", lambda searches, draw, batch, rounds: times
    )
    main([str(tmp_path), *TINY, "--systems", "transformers;scan"])

    (table, *_) = Report.load(tmp_path / "speed.json").tables
    assert (
        columns(table)["batch 1, ms"] == [statistics.median(spent) for spent in times.values()] * 2
    )


@pytest.fixture
def turns(monkeypatch):
    """Measures systems that take so many seconds for each call: their times and all calls."""

    def measured(seconds, rounds, patience=1e9):
        now, calls = [0.0], []
        monkeypatch.setattr(measurements, "time", SimpleNamespace(perf_counter=lambda: now[0]))
        monkeypatch.setattr(measurements, "PATIENCE", patience)

        def system(name, durations):
            def search(queries):
                calls.append((name, queries))
                now[0] += next(durations)

            return search

        systems = {name: system(name, iter(spent)) for name, spent in seconds.items()}
        return measure_in_turns(systems, lambda size, at: [at] * size, 4, rounds), calls

    return measured


def test_times_are_milliseconds_per_query_without_the_warm_up(turns):
    times, _ = turns({"a": [99.0, 0.4, 2.0, 0.8, 1.2]}, rounds=4)
    assert times["a"] == pytest.approx([100.0, 500.0, 200.0, 300.0])


def test_systems_take_turns_and_each_round_starts_with_the_next_one_and_has_its_own_queries(turns):
    _, calls = turns({name: [1.0] * 4 for name in "abc"}, rounds=3)
    assert [name for name, _ in calls] == list("abcbcacababc")
    asked = [[0], [1] * 4, [2] * 4, [3] * 4]
    assert [queries for _, queries in calls] == [each for each in asked for _ in range(3)]


def test_a_slow_system_drops_out_after_its_patience_but_not_before_its_minimum_of_rounds(turns):
    times, _ = turns({"slow": [5.0] * 10, "fast": [0.5] * 10}, rounds=9, patience=12.0)
    assert [len(times[name]) for name in ("slow", "fast")] == [3, 9]  # 15 s after three rounds
    impatient, _ = turns({"slow": [5.0] * 10}, rounds=9, patience=0.0)
    assert len(impatient["slow"]) == MIN_ROUNDS


def test_two_systems_are_compared_round_by_round():
    """The machine is ten times slower in the second round; the ratio of the medians would be 20 /
    15.
    """
    slow, fast = [20.0, 200.0, 20.0], [10.0, 100.0, 15.0, 15.0, 15.0]
    assert (median_ratio(slow, fast), median_ratio(fast, slow)) == (2.0, 0.5)


def test_the_machine_is_named_but_not_the_host(monkeypatch, tmp_path):
    described = describe_machine(torch.device("cpu"))
    assert torch.__version__ in described and socket.gethostname() not in described
    assert processor_name() in described
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(command, "CPUINFO", file)
    assert processor_name() and socket.gethostname() not in processor_name()  # as on macOS
    file.write_text("model name\t: Some CPU\nflags\t\t: fpu avx2 avx512fp16\n")
    assert processor_name() == "Some CPU (avx2)"


def test_hit_rates_on_a_run_are_those_of_what_is_served_and_of_the_highest_cosines(
    engine, collection, queries
):
    embeddings = engine.index.embeddings.astype(np.float32)

    def served(query, **options):
        (result,) = engine.search([query], SearchOptions(k=CUT, **options))
        return [hit.row for hit in result.hits]

    def nearest(query):
        cosines = embeddings @ engine.encode([query]).embeddings[0].numpy()
        return np.argsort(-cosines, kind="stable")[:CUT].tolist()

    def rate(find) -> float:
        """Mean over rows of the share of queries with a positive among what is found."""
        rates = []
        for some in queries.sets:
            positives = np.split(some.qrels.rows, some.qrels.offsets[1:-1])
            (batch,) = some.opened(collection, len(some))
            hits = [bool({*find(query)} & {*right}) for query, right in zip(batch, positives)]
            rates.append(np.mean(hits))
        return float(np.mean(rates))

    found = ids_of_run(engine) | dense_of_run(engine)
    for name, find in {
        "generate, score": partial(served, mode="generate", order="score"),
        "generate, cosine": partial(served, mode="generate"),
        "scan, score": partial(served, mode="scan", order="score"),
        "both, cosine": served,
        "flat": nearest,
        "IVF-PQ, nprobe 128": nearest,
        "HNSW, efSearch 256": nearest,
    }.items():
        assert mean_hit_rate(found[name], queries) == pytest.approx(rate(find))


def test_the_fastest_dense_search_that_finds_as_much_is_the_equal():
    rates = {"set": 0.4, "fast": 0.3, "best": 0.6, "poor": 0.29, "quick": 0.4 - 1e-12, "slow": 0.5}
    medians = {"poor": 0.1, "quick": 3.0, "slow": 8.0}
    dense = ("poor", "quick", "slow")
    equals = {name: fastest_equal(name, dense, rates, medians) for name in ("set", "fast", "best")}
    assert equals == {"set": "quick", "fast": "quick", "best": None}


def test_equal_hit_rate_compares_times_and_bytes_of_each_mode(engine, queries):
    measured = equal_hit_rate(engine, queries, OPTIONS)
    systems_table, pairs, _ = measured[0]
    cells = columns(systems_table)
    size = dict(zip(cells["system"], cells["bytes per item"], strict=True))
    assert size["generate, cosine"] == size["generate, score"] + 2 * engine.index.config.dim
    for name, equal, slower, more in pairs.rows:
        if equal == "none finds as much":
            assert slower is None and more is None
        else:
            assert slower > 0 and more == pytest.approx(size[name] / size[equal])


def test_figure_4_asks_for_images_with_texts_of_the_run(engine):
    texts = text_queries(engine, seed=0)
    known = {item.text for item in engine.index.items(range(engine.index.n)) if item.text}
    asking = {
        each.text
        for each in engine.index.instructions
        if each[:2] == (Modality.TEXT, Modality.IMAGE)
    }
    assert {query.text for query in texts} <= known and {query.instruction for query in texts} <= (
        asking or {""}
    )

    *_, measured = figure_4(engine, OPTIONS)
    cells = columns(measured[0][0])
    names = [
        "CLIP + flat",
        "GENIUS",
        "GENIUS, both (ours)",
        "GENIUS, scan (ours)",
        "GRACE's structured IDs",
        "GRACE's numeric IDs",
    ]
    assert cells["system"] == names and all(
        speed > 0 for size in ("40 items", "100 items") for speed in cells[size]
    )


def test_a_whole_query_never_shows_the_engine_a_picture_that_it_knows(engine, monkeypatch):
    shown = []
    search = engine.search
    monkeypatch.setattr(
        engine, "search", lambda queries, how: shown.extend(queries) or search(queries, how)
    )
    (table,), _ = whole_query(engine, OPTIONS)
    cells = columns(table)
    assert {"text tower", "search, scan", "whole query: picture and text"} <= set(
        cells["one query"]
    )
    assert all(
        0 < least <= median
        for median, least in zip(cells["median, ms"], cells["least, ms"], strict=True)
    )
    pictures = [query.image.tobytes() for query in shown if query.image]
    assert len(set(pictures)) == len(pictures) == 6  # of two ways, one to warm up and two rounds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--systems", "scan;annoy"],
            "--systems: 'annoy' is unknown; choose from transformers; generate; ",
        ),
        (["--systems", ""], "--systems: the list is empty; choose from transformers; "),
        (["--parts", ""], "--parts: the list is empty; choose from uniform, realistic"),
        (["--parts", "realistic"], "--parts realistic measures a trained run; name one: --run RUN"),
        (["--parts", "equal"], "name one: --run RUN --collection COLLECTION"),
        (["--collection", "here"], "--collection is that of a run; name one: --run RUN"),
        (["--run", "gone"], "gone is not a run"),
        (["--items", "ten"], "--items ten: expected integers from 2"),
        (["--rounds", "0"], "--rounds 0: expected an integer of at least 1"),
    ],
)
def test_what_is_impossible_is_refused_in_a_sentence_before_anything_is_measured(
    tmp_path, arguments, message
):
    with pytest.raises(UserError) as refused:
        main([str(tmp_path / "out"), *arguments])
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_run_in_place_of_the_directory_for_the_report_is_refused(run):
    with pytest.raises(
        UserError, match="is a run; write to .*reports, and measure the run by: --run"
    ):
        main([str(run)])
