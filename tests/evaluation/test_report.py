"""genius/evaluation/report.py: the Markdown says what the JSON says."""

import json
import re
from pathlib import Path

import pytest

from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.report import markdown
from genius.evaluation.tables import table


@pytest.fixture(scope="module")
def report(engine, collection):
    found = evaluate(engine, collection, EvaluationOptions(beams=(2, 30)))
    return {"command": "python -m genius.evaluation RUN", "run": "RUN", "collection": "micro"} | found


def cells(text: str, heading: str) -> list[list[str]]:
    """The lines of the first table below a heading, without its rule."""
    below = text[text.index(heading) :].split("\n")
    start = next(at for at, line in enumerate(below) if line.startswith("|"))
    lines = below[start : below.index("", start)] if "" in below[start:] else below[start:]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not re.match(r"\|[ :|-]+$", line)
    ]


def test_the_headline_comes_first_and_holds_every_row(report):
    text = markdown(report)
    heading = "## Hit rate, global pool, all items"

    assert text.index(heading) == text.index("\n## ") + 1
    header, *rows, average = cells(text, heading)
    assert header == [
        "task",
        "dataset",
        "queries",
        "candidates",
        "dense",
        "quantized",
        "beam",
        "beam + re-rank",
        "fast + re-rank",
        "beam, of dense",
        "beam + re-rank, of dense",
    ]
    assert cells(text, "By the geometry of the codes alone:")[0] == [
        "task",
        "dataset",
        "geometry",
        "geometry + re-rank",
        "fast geometry + re-rank",
        "geometry + re-rank, of dense",
    ]
    assert [row[:4] for row in rows] == [
        ["0 text → image", "shapes", "4", "48"],
        ["2 text → pair", "titled", "4", "48"],
        ["3 image → text", "shapes", "4", "48"],
    ]
    dense = report["pools"][0]["average"]["systems"]["dense"]
    assert average[4].startswith(f"{100 * dense['headline']:.1f} [{100 * dense['interval'][0]:.1f}, ")


def test_differences_and_candidates_have_a_line_per_pool(report):
    text, first = markdown(report), report["pools"][0]["average"]
    header, line, *others = cells(text, "## Hit rate, differences")
    pair = "fast + re-rank − beam + re-rank"
    figures = first["differences"][pair]
    assert len(others) == 3 and line[0] == "global pool, all items"
    assert line[header.index(pair)] == "{:.1f} [{:.1f}, {:.1f}]".format(
        *(100 * value for value in (figures["headline"], *figures["interval"]))
    )

    header, *lines = cells(text, "## Candidates from the beam searches")
    assert (
        header == ["pool", "system", "recall", "items", "most", "scored", "certified", "first code"]
        and len(lines) == 24
    )
    for line, (system, found) in zip(lines, first["beam"].items(), strict=False):
        assert line[1:6] == [
            system,
            f"{100 * found['candidate_recall']:.1f}",
            f"{found['items']:.1f}",
            str(found["most_items"]),
            f"{found['scored']:.1f}",
        ]
        assert (line[6] == "–") == system.startswith("fast")


def test_a_report_read_back_from_its_json_is_the_same(report):
    assert markdown(json.loads(json.dumps(report))) == markdown(report)


def test_a_row_with_another_cut_names_it_and_shows_its_rate(report):
    changed = json.loads(json.dumps(report))
    row = changed["pools"][0]["rows"][1]
    row |= {"dataset": "drawn_fashioniq", "cut": 10}
    row["systems"]["dense"]["headline"] = 0.123

    _, first, second, *_ = cells(markdown(changed), "## Hit rate, global pool, all items")

    assert (first[1], second[1]) == ("shapes", "drawn_fashioniq (hit@10)")
    assert second[4].startswith("12.3 [")


def test_counterparts_are_shown_next_to_the_papers_rows(report):
    assert "Table 2" not in markdown(report)
    text = markdown(renamed(report, "drawn_mscoco", "drawn_webqa", "my_nights"))

    header, *rows, average = cells(text, "### Next to the paper's Table 2")

    assert header == [
        "task",
        "dataset",
        "paper: CLIP-SF",
        "BLIP-FF",
        "GENIUS",
        "GENIUS + re-rank",
        "of CLIP-SF",
        "here: dense",
        "beam",
        "beam + re-rank",
        "of dense",
    ]
    assert rows == [  # NIGHTS has another task
        ["0 text → image", "drawn_mscoco", "77.9", "75.6", "55.1", "68.0", "0.87", "80.0", "50.0", "60.0", "0.75"],
        ["2 text → pair", "drawn_webqa", "78.8", "79.7", "49.0", "59.7", "0.76", "40.0", "30.0", "40.0", "1.00"],
    ]
    assert average[2:] == ["78.3", "77.7", "52.0", "63.9", "0.81", "60.0", "40.0", "50.0", "0.83"]
    assert "The same tasks on other data" in text


def test_local_pools_are_shown_next_to_the_papers_and_missing_figures_are_dashes(report):
    text = markdown(renamed(report, "mscoco", "webqa", "visualnews"))
    assert [text.count(f"### Next to the paper's Table {number}\n") for number in (1, 2, 8, 9)] == [1] * 4
    assert "The same tasks on other data" not in text

    _header, coco, webqa, news, average = cells(text, "### Next to the paper's Table 1")

    assert coco[2:9] == ["81.1", "79.7", "50.7", "39.5", "68.1", "78.0", "0.96"] and coco[9:] == [
        "80.0",
        "50.0",
        "60.0",
        "0.75",
    ]
    assert (news[1], webqa[4:6], average[4:6]) == ("visualnews", ["–", "–"], ["–", "–"])


def test_swept_beam_sizes_are_shown_next_to_the_papers(report):
    """The sweep has beam sizes 2 and 30; tables with one beam size show the widest."""
    text = markdown(renamed(report, "mscoco", "webqa", "visualnews"))

    header, coco, *_ = cells(text, "### Next to the paper's Table 9")

    assert header[-3:] == ["here: dense", "beam, 30", "beam + re-rank, 30"]
    swept = {(pool["scope"], pool["items"]): pool["sweep"] for pool in report["swept"]}
    assert swept.keys() == {("global", "test"), ("local", "test")}
    thirty = swept["global", "test"][1]["rows"][0]["systems"]
    assert coco[-2:] == [f"{100 * thirty[system]['headline']:.1f}" for system in ("beam", "beam + re-rank")]

    header, coco, *_ = cells(text, "### Next to the paper's Table 8")

    assert header[-3:] == ["here: dense", "beam, 30", "beam + re-rank, 30"]
    thirty = swept["local", "test"][1]["rows"][0]["systems"]
    assert coco[-2:] == [f"{100 * thirty[system]['headline']:.1f}" for system in ("beam", "beam + re-rank")]


def test_the_papers_pools_are_those_of_the_split_and_not_of_all_splits(report):
    """M-BEIR's 5.6 million candidates are the test pool; training and validation pools hold others."""
    text = markdown(renamed(report, "mscoco", "webqa", "visualnews"))
    assert "Global pools, test items." in text and "Local pools, test items." in text
    indexed = json.loads(json.dumps(report))  # of an index of one pool: there is one kind of each scope
    indexed["pools"] = [pool | {"items": "shipped"} for pool in indexed["pools"][1::2]]
    for row, name in zip(indexed["pools"][0]["rows"], ("mscoco", "webqa", "visualnews"), strict=True):
        row["dataset"] = name
    assert "Global pools, shipped items." in markdown(indexed | {"sweep": [], "swept": []})


def renamed(report, *names):
    """With other names of its datasets, and other rates in global and local pools of the test split."""
    changed = json.loads(json.dumps(report))
    for swept in changed["swept"]:
        for row, name in zip(swept["sweep"][1]["rows"], names, strict=True):
            row["dataset"] = name
    for pool in (changed["pools"][1], changed["pools"][3]):
        for row, name, rates in zip(
            pool["rows"], names, ((0.8, 0.5, 0.6), (0.4, 0.3, 0.4), (0.1, 0.1, 0.1)), strict=True
        ):
            row["dataset"] = name
            for system, rate in zip(("dense", "beam", "beam + re-rank"), rates, strict=True):
                row["systems"][system]["headline"] = rate
    return changed


def test_a_sweep_has_a_line_per_beam_size_and_one_size_has_no_table(report):
    heading = "by beam size"
    assert [row[0] for row in cells(markdown(report), heading)] == ["beams", "2", "30"]
    assert heading not in markdown(report | {"sweep": report["sweep"][:1], "beams": [2]})


def test_pools_report_how_many_positives_they_lack(report):
    text = markdown(report)
    others = text[text.index("## Hit rate, other pools") :]
    header, first, *_ = cells(others, "### Global pool, test items")

    assert first[header.index("no positive in pool")] == "1"
    assert first[header.index("judgments outside")] == "2"  # 0:0 and one of the two that answer 0:11
    assert "no positive in pool" not in cells(text, "## Hit rate, global pool, all items")[0]


def test_an_unknown_figure_is_a_dash(report):
    assert report["pools"][0]["rows"][1]["queries_trained"] == 0
    header, _, titled, *_ = cells(markdown(report), "## Targets seen")
    assert titled[header.index("seen: dense")] == "–"


def test_codes_are_described_and_factors_are_shown_if_items_have_them(report):
    text = markdown(report)
    health = report["codes"]["health"]
    assert f"{100 * health['items_alone']:.1f} % of 48 items share their ID with no other" in text
    assert "of 5 codes at level 1" in text and report["codes"]["factors"] == [] and "Adjusted mutual" not in text

    level = {"alone": 0.625, "shuffled": -0.004, "in_modality": 0.7, "given_prefix": None}
    factors = [{"factor": "kind", "items": 1200, "values": 56, "levels": [level | {"level": at} for at in (1, 2)]}]
    text = markdown(report | {"codes": {"health": health, "factors": factors}})

    assert cells(text, "### What codes say") == [
        ["factor", "items", "values", "level 1", "level 2"],
        ["kind", "1,200", "56", "0.62", "0.62"],
    ]
    assert "beyond ±0.004" in text
    assert cells(text, "Given the codes before")[1][3:] == ["–", "–"]


def test_first_codes_have_a_line_for_each_row_and_their_average(report):
    header, *rows, average = cells(markdown(report), "## First codes under other instructions")

    assert header == ["task", "dataset", "asked", "held out", "swapped"] and len(rows) == 3
    assert rows[2][3:] == ["–", "–"]
    assert average[2] == f"{100 * report['following']['average']['asked']:.1f}"


def test_bytes_are_shown_next_to_the_papers(report):
    sizes = dict(cells(markdown(report), "## Bytes per item")[1:])
    assert sizes["ID"] == "1.375"  # 2 + 3 · 3 bits
    assert sizes["embedding of 12, fp32"] == "48"
    assert sizes["paper: ID of 2 + 8 · 12 bits"] == "12.25"
    assert sizes["paper: embedding of 768, fp32"] == "3,072"


def test_tables_are_aligned():
    rows = [{"name": "a", "n": "1"}, {"name": "longer", "n": "1,000"}]
    assert table(rows) == "| name   |     n |\n|:-------|------:|\n| a      |     1 |\n| longer | 1,000 |"


def test_the_shipped_markdown_has_the_figures_of_its_json():
    reports = Path("assets/demo/reports")

    def lines(text: str) -> list[list[str]]:
        tables = [line for line in text.splitlines() if line.startswith("|") and not re.match(r"\|[ :|-]+$", line)]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables]

    rendered = lines(markdown(json.loads((reports / "retrieval.json").read_text())))

    assert rendered == lines((reports / "retrieval.md").read_text()) and len(rendered) > 300
