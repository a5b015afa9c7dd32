"""python -m genius.evaluation.speed on a few hundred items: every figure is there, and fits the others."""

import json
import re
import socket
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.evaluation.speed import __main__ as command
from genius.evaluation.speed import contenders
from genius.evaluation.speed import world as worlds
from genius.evaluation.speed.__main__ import Benchmark, SpeedOptions, chosen, main, numbers, processor
from genius.evaluation.speed.contenders import BUILDERS
from genius.evaluation.speed.drawing import draw
from genius.evaluation.speed.floor import Operations
from genius.evaluation.speed.report import markdown
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.trie.pool import Pool
from tests.evaluation.tiny_speed import CONFIG, shrink, tiny_world

OPTIONS = SpeedOptions(items=(300, 600), batches=(1, 3), rounds=2, beams=5, up_to=(("HNSW", 300),))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a finished report."""
    out = tmp_path_factory.mktemp("speed")
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        Benchmark(OPTIONS, CONFIG, out, out / "work", torch.device("cpu"), "python -m …").run()
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
        for system in BUILDERS
        if system != "HNSW" or items == 300
    }
    assert len(found) == len(report["cells"])
    for cell in report["cells"]:
        times = cell["milliseconds"]
        assert 0 < times["least"] <= times["median"] <= times["most"] and times["rounds"] == 2
        assert cell["build_seconds"] >= 0 and cell["bytes_per_item"] > 0


def test_the_floor_is_rows_times_operations_over_the_rate(report):
    operations = Operations.of(CONFIG)
    head = {"exact": operations.vocabulary, "set": operations.vocabulary, "fast": operations.level}
    for cell in report["cells"]:
        assert ("floor" in cell) == (cell["system"] in head)
        if cell["system"] == "exact":
            assert cell["rows"] == 1 + 3 + 2 * OPTIONS.beams
        if "floor" in cell:
            needed = operations.query + cell["rows"] * (operations.row + operations.attention + head[cell["system"]])
            assert cell["floor"] == pytest.approx(1000 * needed / cell["matrix_rate"])
    rows = {(cell["ids"], cell["items"], cell["batch"], cell["system"]): cell.get("rows") for cell in report["cells"]}
    for *where, system in rows:
        if system == "fast":
            assert rows[*where, "fast"] < rows[*where, "set"] <= rows[*where, "exact"]


def test_rows_and_candidates_are_of_the_queries_that_were_timed(report, written, monkeypatch):
    shrink(monkeypatch)
    for kind in OPTIONS.ids:
        world = worlds.WORLDS[kind](max(OPTIONS.items), CONFIG, written / "work", OPTIONS.seed)
        pool = Pool.build(world.packed[:300], CONFIG.code_sizes)
        for batch in OPTIONS.batches:
            asked = [torch.from_numpy(world.vectors.queries(300, batch, number)[0]) for number in (1, 2)]
            rounds = [
                beam_search(IncrementalDecoder(world.decoder), queries, pool.trie, OPTIONS.beams, mode="set")
                for queries in asked
            ]
            (cell,) = (
                cell
                for cell in report["cells"]
                if (cell["ids"], cell["items"], cell["batch"], cell["system"]) == (kind, 300, batch, "set")
            )
            assert cell["rows"] == pytest.approx(np.mean([found.rows.float().mean() for found in rounds]))
            assert cell["candidates"] == pytest.approx(
                np.mean([(found.high - found.low).sum(1).float().mean() for found in rounds])
            )


def test_what_is_guaranteed_and_found_is_reported_for_both_kinds_of_ids(report):
    assert set(report["agreement"]) == {"uniform, 300", "realistic, 300"}
    for check in report["agreement"].values():
        assert check["common_ids"] == 1 and check["largest_difference"] < 1e-4
    assert set(report["certificates"]) == {f"{ids}, {items}" for ids in OPTIONS.ids for items in OPTIONS.items}
    assert set(report["hit_rates"]) == {"realistic, 600"}
    assert set(report["confidence"]) == {"realistic"}
    assert [(index["ids"], index["items"]) for index in report["indexes"]] == [
        (ids, items) for ids in ("uniform", "realistic") for items in (300, 600)
    ]


def test_the_tables_say_what_the_figures_say(report, written):
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
                re.search(rf"### Batch {batch}: {what}.*?\n\n(.*?)\n\n", part, re.DOTALL)[1]
                for what in ("milliseconds a query", "how many times faster")
            )
            for system in ("exact", "fast", "flat"):
                mine = [median[kind, items, batch, system] for items in (300, 600)]
                theirs = [median[kind, items, batch, "generate"] for items in (300, 600)]
                assert _row(times, system) == [f"{value:.2f} (2)" for value in mine]
                assert _row(ratios, system) == [f"{a / b:.1f}" for a, b in zip(theirs, mine, strict=True)]
            assert _row(times, "HNSW")[1] == "–"
        growing = re.search(r"### Time at the largest.*?\n\n(.*?)(\n\n|\Z)", part, re.DOTALL)[1]
        assert _row(growing, "set") == [
            f"{median[kind, 600, batch, 'set'] / median[kind, 300, batch, 'set']:.2f}" for batch in (1, 3)
        ]
    assert "Not measured: no GPU was at hand." in text


def _row(table: str, name: str) -> list[str]:
    line = next(line for line in table.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_report_can_be_read_after_every_step(written, report):
    for measured in range(len(report["cells"])):
        part = report | {"cells": report["cells"][:measured], "indexes": report["indexes"][:1], "hit_rates": {}}
        text = markdown(part)
        assert text.startswith("# Speed of the search")
        for batch in OPTIONS.batches:
            shown = {cell["ids"] for cell in part["cells"] if cell["batch"] == batch}
            assert text.count(f"### Batch {batch}: milliseconds") == len(shown)
        ElementTree.fromstring(draw(part["cells"], 3))


def test_the_picture_has_a_line_for_each_system_and_higher_is_slower(report):
    picture = ElementTree.fromstring(draw(report["cells"], 3))
    space = "{http://www.w3.org/2000/svg}"
    lines, words = picture.findall(f"{space}polyline"), [text.text for text in picture.iter(f"{space}text")]

    assert len(lines) == 2 * len(BUILDERS)
    assert all(words.count(system) == 2 for system in BUILDERS)
    assert {"Uniform IDs, batch 3", "Realistic IDs, batch 3", "300", "600"} <= set(words)
    cells = [cell for cell in report["cells"] if (cell["ids"], cell["batch"], cell["items"]) == ("uniform", 3, 300)]
    heights = [float(line.get("points").split()[0].split(",")[1]) for line in lines[: len(BUILDERS)]]
    by_time = np.argsort([cell["milliseconds"]["median"] for cell in cells])
    assert (np.diff(np.array(heights)[by_time]) <= 0).all()  # y points down
    assert "prefers-color-scheme: dark" in draw(report["cells"], 3)
    *_, width, height = map(float, picture.get("viewBox").split())
    for line in lines:
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert 0 < x < width and 0 < y < height


def test_the_command_measures_what_it_is_asked_and_prints_it(tmp_path, monkeypatch, capsys):
    shrink(monkeypatch)
    monkeypatch.setattr(command, "DecoderConfig", lambda: CONFIG)

    main(
        [
            str(tmp_path / "out"),
            "--items",
            "300",
            "--batches",
            "2",
            "--ids",
            "uniform",
            "--rounds",
            "1",
            "--beams",
            "4",
            "--systems",
            "set; scan of quantized vectors",
            "--decoder-weight",
            "0.5",
            "--device",
            "cpu",
        ]
    )

    report = json.loads((tmp_path / "out/speed.json").read_text())
    assert {cell["system"] for cell in report["cells"]} == {"set", "scan of quantized vectors"}
    assert (report["items"], report["batches"], report["beams"], report["decoder_weight"]) == ([300], [2], 4, 0.5)
    assert report["command"].startswith("python -m genius.evaluation.speed")
    assert (tmp_path / "out/speed.md").read_text().strip() in capsys.readouterr().out
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["speed.json", "speed.md", "speed.svg"]


def test_what_cannot_be_is_refused():
    assert numbers("10,1,10") == (1, 10)
    for text in ("ten", "0", "5,-1", ""):
        with pytest.raises(UserError, match="not whole numbers above 0"):
            numbers(text)
    assert chosen(" set; flat", ";", BUILDERS) == ("set", "flat")
    with pytest.raises(UserError, match="there is no 'annoy'; choose from generate; exact; "):
        chosen("set;annoy", ";", BUILDERS)


def test_a_full_disk_is_told_before_it_is_filled(tmp_path, monkeypatch):
    shrink(monkeypatch)
    world, _ = tiny_world("uniform", tmp_path)
    monkeypatch.setattr(worlds.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 500})())

    with pytest.raises(UserError, match="takes 0.0 GB and 0.0 GB are free; name another folder with --work"):
        world.embeddings(10)
    assert not list(tmp_path.glob("*-10*"))


def test_the_processor_has_a_name_but_no_host():
    assert processor() and socket.gethostname() not in processor()


def test_more_than_memory_holds_is_read_from_our_trie_and_from_disk(tmp_path, monkeypatch):
    shrink(monkeypatch)
    world, pool = tiny_world("realistic", tmp_path)
    queries = world.vectors.queries(600, 3, 0)[0]
    found = {}
    for name in ("generate", "flat"):
        found[name, "memory"] = contenders.build(name, world, pool, 600, 5, 1.0).search(queries)
    monkeypatch.setattr(contenders, "RAM", 100)
    for name in ("generate", "flat"):
        found[name, "disk"] = contenders.build(name, world, pool, 600, 5, 1.0).search(queries)

    assert found["generate", "memory"][0].equal(found["generate", "disk"][0])
    for mine, theirs in zip(found["flat", "memory"], found["flat", "disk"], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_memory_of_a_system_is_of_its_arrays(report):
    sizes = {(cell["ids"], cell["items"], cell["system"]): cell["bytes_per_item"] for cell in report["cells"]}
    for kind in ("uniform", "realistic"):
        assert sizes[kind, 600, "flat"] == 4 * CONFIG.dim
        assert sizes[kind, 300, "HNSW"] > 4 * CONFIG.dim
        assert (
            sizes[kind, 600, "set"]
            == sizes[kind, 600, "exact"]
            == next(
                index["bytes_per_item"]["all"]
                for index in report["indexes"]
                if (index["ids"], index["items"]) == (kind, 600)
            )
        )
        assert sizes[kind, 600, "generate"] > sizes[kind, 600, "set"]
