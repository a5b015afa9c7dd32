"""python -m genius.evaluation.speed on a few hundred items: every figure is there, and the tables show it."""

import json
import re
import socket
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.speed import __main__ as command
from genius.evaluation.speed import faiss_indexes, machine, roofline, timed_systems
from genius.evaluation.speed.__main__ import main, parse_names
from genius.evaluation.speed.benchmark import COUNTED, Benchmark, SpeedOptions
from genius.evaluation.speed.machine import processor_name
from genius.evaluation.speed.roofline import search_operations
from genius.evaluation.speed.speed_report import markdown
from genius.evaluation.speed.timed_systems import SYSTEM_BUILDERS
from genius.evaluation.speed.workloads import realistic, uniform
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.trie.pool import Pool
from tests.evaluation.test_speed_equal_hit_rate import untrained_ivf
from tests.evaluation.tiny_speed import CONFIG, tiny_setup

OPTIONS = SpeedOptions(items=(300, 600), batches=(1, 3), rounds=2, beams=5, max_items=(("HNSW", 300),))
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def workloads(engine, collection):
    queries = EncodedSplit.read(engine, collection, "test", None, seed=0).encoded
    return {"uniform": uniform(600, CONFIG, 0, CPU), "realistic": realistic(600, engine, queries, 0)}


@pytest.fixture(scope="module")
def written(workloads, tmp_path_factory):
    """The folder of a finished report."""
    out = tmp_path_factory.mktemp("speed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roofline, "SIDE", 64)
        patch.setattr(faiss_indexes, "build_ivf_pq", untrained_ivf)
        benchmark = Benchmark(OPTIONS, out, out / "work", CPU, "python -m …")
        for workload in workloads.values():
            benchmark.measure(workload)
    return out


@pytest.fixture(scope="module")
def report(written):
    return json.loads((written / "speed.json").read_text())


def test_every_system_is_timed_for_all_ids_sizes_and_batches(report):
    found = {(cell["ids"], cell["items"], cell["batch"], cell["system"]) for cell in report["cells"]}

    assert found == {
        (ids, items, batch, system)
        for ids in ("uniform", "realistic")
        for items in (300, 600)
        for batch in (1, 3)
        for system in SYSTEM_BUILDERS
        if system != "HNSW" or items == 300
    }
    assert len(found) == len(report["cells"])
    for cell in report["cells"]:
        times = cell["milliseconds"]
        assert 0 < times["least"] <= times["median"] <= times["most"] and times["rounds"] == 2
        assert cell["build_seconds"] >= 0 and cell["bytes_per_item"] > 0


def test_the_minimum_time_is_operations_over_the_matrix_rate(report, workloads):
    for cell in report["cells"]:
        assert ("floor" in cell) == (cell["system"] in ("exact", "set", "fast"))
        if "floor" in cell:
            config = workloads[cell["ids"]].decoder.config
            needed = search_operations(config, cell["rows"], not cell["system"].startswith("fast"))
            assert cell["floor"] == pytest.approx(1000 * needed / cell["matrix_rate"])
    scored = {(cell["ids"], cell["items"], cell["system"]): cell.get("rows") for cell in report["cells"]}
    for ids, items, system in scored:
        if system == "fast":
            assert scored[ids, items, "fast"] < scored[ids, items, "set"] <= scored[ids, items, "exact"]


def test_beams_and_candidates_are_counted_on_queries_of_the_workload(report, workloads):
    for kind, workload in workloads.items():
        pool = Pool.build(workload.packed[:300], workload.decoder.config.code_sizes)
        queries = workload.draw_queries(COUNTED, 0)
        found = beam_search(IncrementalDecoder(workload.decoder), queries.z, pool.trie, OPTIONS.beams, mode="set")
        cell = next(
            cell for cell in report["cells"] if (cell["ids"], cell["items"], cell["system"]) == (kind, 300, "set")
        )
        assert cell["rows"] == pytest.approx(found.scored.float().mean().item())
        assert cell["candidates"] == pytest.approx((found.high - found.low).sum(1).float().mean().item())
        assert cell["dtype"] == "float32"


def test_guarantees_are_reported_for_both_kinds_of_ids(report):
    assert set(report["agreement"]) == {"uniform, 300", "realistic, 300"}
    for check in report["agreement"].values():
        assert check["common_ids"] == 1 and check["largest_difference"] < 1e-4
    assert set(report["certificates"]) == {
        f"{ids}, {items}" for ids in ("uniform", "realistic") for items in OPTIONS.items
    }
    assert [(index["ids"], index["items"]) for index in report["indexes"]] == [
        (ids, items) for ids in ("uniform", "realistic") for items in (300, 600)
    ]


def test_the_tables_show_the_figures_of_the_json(report, written):
    text = (written / "speed.md").read_text()
    assert text == markdown(report)

    median = {
        (cell["ids"], cell["items"], cell["batch"], cell["system"]): cell["milliseconds"]["median"]
        for cell in report["cells"]
    }
    for kind in ("uniform", "realistic"):
        part = re.search(rf"## {kind.capitalize()} IDs\n(.*?)(\n## |\Z)", text, re.DOTALL)[1]
        for batch in (1, 3):
            times, ratios = (
                re.search(rf"### Batch {batch}: {title}.*?\n\n(.*?)\n\n", part, re.DOTALL)[1]
                for title in ("milliseconds per query", "how many times faster")
            )
            for system in ("exact", "fast", "flat"):
                own = [median[kind, items, batch, system] for items in (300, 600)]
                published = [median[kind, items, batch, "generate"] for items in (300, 600)]
                assert _row(times, system) == [f"{value:.2f} (2)" for value in own]
                assert _row(ratios, system) == [f"{a / b:.1f}" for a, b in zip(published, own, strict=True)]
            assert _row(times, "HNSW")[1] == "–"
        scaling = re.search(r"### Time at the largest.*?\n\n(.*?)(\n\n|\Z)", part, re.DOTALL)[1]
        assert _row(scaling, "set") == [
            f"{median[kind, 600, batch, 'set'] / median[kind, 300, batch, 'set']:.2f}" for batch in (1, 3)
        ]
    assert "Not measured: these are times of a processor." in text


def _row(table: str, name: str) -> list[str]:
    line = next(line for line in table.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_report_can_be_read_after_every_step(report):
    for measured in range(0, len(report["cells"]), 7):
        part = report | {"cells": report["cells"][:measured], "indexes": report["indexes"][:1]}
        text = markdown(part)
        assert text.startswith("# Speed of the search")
        for batch in OPTIONS.batches:
            shown = {cell["ids"] for cell in part["cells"] if cell["batch"] == batch}
            assert text.count(f"### Batch {batch}: milliseconds") == len(shown)


def test_the_figure_is_an_svg_file(written):
    assert ElementTree.parse(written / "speed.svg").getroot().tag.endswith("svg")


def test_the_command_measures_what_its_options_name_and_prints_the_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(roofline, "SIDE", 64)
    monkeypatch.setattr(command, "DecoderConfig", lambda: CONFIG)
    options = "--items 300 --batches 2 --ids uniform --rounds 1 --beams 4 --decoder-weight 0.5 --device cpu"

    main([str(tmp_path / "out"), *options.split(), "--systems", "set; scan of quantized vectors"])

    report = json.loads((tmp_path / "out/speed.json").read_text())
    assert {cell["system"] for cell in report["cells"]} == {"set", "scan of quantized vectors"}
    assert (report["items"], report["batches"], report["beams"], report["decoder_weight"]) == ([300], [2], 4, 0.5)
    assert report["command"].startswith("python -m genius.evaluation.speed")
    assert (tmp_path / "out/speed.md").read_text().strip() in capsys.readouterr().out
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["speed.json", "speed.md", "speed.svg"]


def test_a_run_is_measured_at_equal_hit_rate_and_with_realistic_ids(run, tmp_path, monkeypatch):
    monkeypatch.setattr(roofline, "SIDE", 64)
    options = "--items 100 --batches 1 --rounds 1 --systems set --device cpu --ids realistic"

    main([str(tmp_path / "out"), "--run", str(run), *options.split()])

    report = json.loads((tmp_path / "out/speed.json").read_text())
    assert {cell["ids"] for cell in report["cells"]} == {"realistic"}
    assert report["equal"]["queries"] == 12


def test_unknown_names_and_realistic_ids_without_a_run_are_errors(tmp_path):
    assert parse_names(" set; flat", "--systems", ";", SYSTEM_BUILDERS) == ("set", "flat")
    with pytest.raises(UserError, match="--systems: 'annoy' is unknown; choose from generate; exact; "):
        parse_names("set;annoy", "--systems", ";", SYSTEM_BUILDERS)
    with pytest.raises(UserError, match="--systems: the list is empty; choose from generate; "):
        main([str(tmp_path), "--systems", ""])
    with pytest.raises(UserError, match="--ids: the list is empty; choose from uniform,"):
        main([str(tmp_path), "--ids", ""])
    with pytest.raises(UserError, match="--items ten: expected integers from 2"):
        main([str(tmp_path), "--items", "ten"])
    with pytest.raises(UserError, match="name one: --run RUN"):
        main([str(tmp_path), "--ids", "realistic"])


def test_a_run_in_place_of_the_directory_for_the_report_is_refused(run):
    with pytest.raises(UserError, match="is a run; write to .*reports, and measure the run by: --run"):
        main([str(run)])


def test_a_size_at_which_no_system_is_built_is_left_out_of_the_times(workloads, tmp_path):
    options = replace(OPTIONS, systems=("HNSW",), batches=(1,))

    Benchmark(options, tmp_path, None, CPU, "python -m …").measure(workloads["uniform"])

    report = json.loads((tmp_path / "speed.json").read_text())
    assert [(cell["items"], cell["system"]) for cell in report["cells"]] == [(300, "HNSW")]
    assert [index["items"] for index in report["indexes"]] == [300, 600]


def test_the_processor_is_named_but_not_the_host(monkeypatch, tmp_path):
    assert processor_name() and socket.gethostname() not in processor_name()
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "none")  # as on macOS
    assert processor_name() and socket.gethostname() not in processor_name()


def test_collections_too_large_for_memory_give_the_same_results_from_trie_and_disk(tmp_path, monkeypatch):
    setup, found = tiny_setup(tmp_path), {}
    queries = setup.workload.draw_queries(3, 0)
    for name in ("generate", "flat"):
        found[name, "memory"] = SYSTEM_BUILDERS[name](setup).search(queries)
    monkeypatch.setattr(timed_systems, "MAX_IN_MEMORY", 100)
    for name in ("generate", "flat"):
        found[name, "disk"] = SYSTEM_BUILDERS[name](replace(setup)).search(queries)

    assert found["generate", "memory"][0].equal(found["generate", "disk"][0])
    for memory, disk in zip(found["flat", "memory"], found["flat", "disk"], strict=True):
        np.testing.assert_allclose(memory, disk, atol=1e-5)


def test_the_memory_of_a_system_is_that_of_its_arrays(report, workloads):
    sizes = {(cell["ids"], cell["items"], cell["system"]): cell["bytes_per_item"] for cell in report["cells"]}
    indexes = {(index["ids"], index["items"]): index["bytes_per_item"]["all"] for index in report["indexes"]}
    for kind, workload in workloads.items():
        assert sizes[kind, 600, "flat"] == 4 * workload.dim
        assert sizes[kind, 300, "HNSW"] > 4 * workload.dim
        assert sizes[kind, 600, "set"] == sizes[kind, 600, "exact"] == indexes[kind, 600]
        assert sizes[kind, 600, "generate"] > sizes[kind, 600, "set"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("--systems", ""), ("--rounds", "0"), ("--beams", "-1"), ("--decoder-weight", "1.5"), ("--decoder-weight", "nan")],
)
def test_impossible_numbers_are_refused_before_anything_is_measured(tmp_path, option, value):
    with pytest.raises(UserError, match=r"empty|at least 1|from 0 to 1"):
        main([str(tmp_path / "out"), f"{option}={value}"])
    assert not (tmp_path / "out").exists()


def test_what_is_wrong_with_the_run_is_said_before_anything_is_measured(run, collection, tmp_path):
    with pytest.raises(UserError, match="gone is not a run"):
        main([str(tmp_path / "out"), "--run", str(tmp_path / "gone"), "--items", "300", "--device", "cpu"])
    with pytest.raises(UserError, match="name one: --run RUN"):
        main([str(tmp_path / "out"), "--collection", str(collection.root), "--items", "300", "--device", "cpu"])
    assert not (tmp_path / "out").exists()
