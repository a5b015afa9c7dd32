"""The runner on the micro collection."""

import json
import shutil

import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from training import decoder, features
from training.ablations import __main__ as ablations
from training.ablations import trainer
from training.ablations.trainer import FOLDER, RESULTS
from training.pairs import CandidateTable, Pairs

TABLES = "R"  # two trainings
SETTINGS = [
    "--scale",
    "run",
    "--device",
    "cpu",
    "--limit",
    "5",
    "--set",
    "quantizer.epochs=1",
    "--set",
    "decoder.epochs=2",
]


def run(collection, path, *options: str) -> dict:
    ablations.main([str(collection.root), str(path), *SETTINGS, *options])
    return json.loads((path / "reports" / "ablations.json").read_text())


@pytest.fixture(scope="module")
def report(collection, path) -> dict:
    return run(collection, path, "--tables", TABLES, "--blocks", "paper", "--seeds", "1")


def tables(report: dict) -> dict[str, dict]:
    return {table["number"]: table for table in report["tables"]}


def test_the_published_figures_stand_beside_ours(report):
    """The micro collection has rows of tasks 0, 3 and 2."""
    table = tables(report)["S4"]  # of the full variant alone
    names = ["shapes text → image", "shapes image → text", "titled text → pair"]
    assert table["columns"] == [f"{name}, {scope}" for scope in ("local", "global") for name in names]
    rows = table["blocks"][0]["rows"]
    assert [row["name"] for row in rows][:3] == ["1 beam", "5 beams", "10 beams"]
    published = [cell["published"] for cell in rows[0]["cells"]]
    assert published == [*(pytest.approx(figure) for figure in (0.242, 0.416, 0.104)), None, None, None]
    assert rows[-1]["extras"]["paper, queries per second"] == "11.9"


@pytest.mark.slow
def test_every_table_has_the_papers_rows_in_its_order(collection, path):
    found = tables(run(collection, path, "--tables", "4,S3,S7"))
    assert [block["block"] for block in found["4"]["blocks"]] == ["paper", "ours"]
    assert [row["name"] for row in found["4"]["blocks"][1]["rows"]] == [
        "GENIUS",
        "w/o modality-decoupled",
        "w/o query augmentation",
        "w/o L_cl",
        "w/o L_mse",
    ]
    rows = {row["name"]: row for row in found["S3"]["blocks"][0]["rows"]}
    assert list(rows) == [
        "modality-decoupled",
        "modality-decoupled, forced (ours)",
        "classifier",
        "RQ w/o modality code",
    ]
    assert rows["modality-decoupled, forced (ours)"]["extras"]["purity of the first code"] == "100.0"
    assert [row["name"] for row in found["S7"]["blocks"][0]["rows"]][-2:] == ["GENIUS", "GENIUS + re-rank"]


def test_every_rate_lies_in_its_interval(report):
    for table in report["tables"]:
        for row in (row for block in table["blocks"] for row in block["rows"]):
            for cell in row["cells"]:
                if cell is not None:
                    low, high = cell["interval"]
                    assert 0 <= low <= cell["mean"] <= high <= 1


def test_a_robustness_condition_without_data_is_left_out(report):
    """The micro collection has no held-out instructions."""
    cells = tables(report)["R"]["blocks"][0]["rows"][0]["cells"]
    assert [cell is None for cell in cells] == [False, True, False, False, False]


def test_the_report_names_no_path(report, path, collection):
    text = json.dumps(report) + (path / "reports" / "ablations.md").read_text()
    assert str(path) not in text and str(collection.root) not in text and "COLLECTION RUN" in report["command"]


def test_results_are_kept_and_nothing_else(report, path):
    assert {child.name for child in (path / FOLDER).iterdir() if child.name[0] != "."} == {RESULTS, "queries"}


def trainings(collection, path, monkeypatch, *options: str) -> int:
    """How many trainings a start needs, none of which is done."""
    wanted = []
    monkeypatch.setattr(trainer.Trainer, "_train", lambda self, job, seed, side: wanted.append(side))
    monkeypatch.setattr(ablations, "build", lambda *_: {})
    monkeypatch.setattr(ablations, "markdown", lambda _: "")
    run(collection, path, "--tables", TABLES, "--blocks", "paper", *options)
    return len(wanted)


def test_results_of_other_queries_records_or_features_are_not_used(report, collection, path, tmp_path, monkeypatch):
    copy = shutil.copytree(path, tmp_path / "run")
    assert trainings(collection, copy, monkeypatch) == 0
    assert trainings(collection, copy, monkeypatch, "--limit", "3") == 2
    assert trainings(collection, copy, monkeypatch, "--limit", "5") == 0

    root = shutil.copytree(collection.root, tmp_path / "collection")
    for file in (root / "query" / "test").iterdir():
        file.write_text(file.read_text().replace('"query_txt": "', '"query_txt": "another '))
    assert trainings(Collection(root), copy, monkeypatch) == 2

    candidates = CandidateTable.read(collection)
    digests = {split: Pairs.read(collection, split, candidates).digest for split in ("train", "val")}
    for name, digest in (digests | {"candidates": candidates.content_digest}).items():
        file = copy / "features" / name / "progress.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"facts": f"another encoder, {digest}"}))
    monkeypatch.setattr(features, "facts", lambda run, digest, seed: f"another encoder, {digest}")
    assert trainings(collection, copy, monkeypatch) == 2


def test_what_killed_trainings_left_is_deleted(report, collection, path):
    left = path / FOLDER / "ids-of-others-seed0"
    left.mkdir()
    (left / "made.json").write_text("{}")
    run(collection, path, "--tables", TABLES, "--blocks", "paper")
    assert not left.exists()


def test_a_killed_start_goes_on_with_what_is_missing(report, collection, path, monkeypatch):
    """The same results, of which one was lost and one is of a training that is killed after its first epoch."""
    results = sorted((path / FOLDER / RESULTS).iterdir())
    kept = {file.name: json.loads(file.read_text()) for file in results}
    lost = results[0]
    lost.unlink()
    save, trained = decoder.Checkpoints.save, []

    def killed(self, model, optimizer, epoch, score=0.0):
        save(self, model, optimizer, epoch, score)
        raise KeyboardInterrupt

    monkeypatch.setattr(decoder.Checkpoints, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        run(collection, path, "--tables", TABLES, "--blocks", "paper", "--seeds", "1")
    monkeypatch.setattr(decoder.Checkpoints, "save", save)
    fit = decoder.fit
    monkeypatch.setattr(decoder, "fit", lambda *given: (trained.append(given), fit(*given))[1])
    again = run(collection, path, "--tables", TABLES, "--blocks", "paper", "--seeds", "1")
    assert len(trained) == 1
    recovered = json.loads(lost.read_text())
    for column, before in zip(recovered["columns"], kept[lost.name]["columns"], strict=True):
        assert column["follows"] == before["follows"]
        assert hits(column["conditions"]["asked"]) == hits(before["conditions"]["asked"])
    assert {"S4", "R"} <= tables(again).keys()


def hits(condition: dict) -> list:
    return [
        [searched[system]["hit"] for system in ("beam", "re-ranked")]
        for by_beams in condition.values()
        for searched in by_beams.values()
    ]


def test_more_seeds_are_added_and_give_an_interval_of_their_own(report, collection, path):
    again = run(collection, path, "--tables", "R", "--seeds", "2")
    (row, _) = tables(again)["R"]["blocks"][0]["rows"]
    assert row["extras"]["seeds"] == "2" and len(row["cells"][0]["values"]) == 2


def test_an_unknown_table_is_refused_with_the_known_ones(collection, path):
    with pytest.raises(UserError, match="no table 'S9'; choose from 4, 5, S3"):
        run(collection, path, "--tables", "S9")


def test_an_unknown_block_is_refused_with_the_known_ones(collection, path):
    with pytest.raises(UserError, match="no 'theirs'; choose from paper, ours"):
        run(collection, path, "--blocks", "theirs")


def test_a_folder_without_a_run_is_refused(collection, tmp_path):
    with pytest.raises(UserError, match="is not a run; train one"):
        run(collection, tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("encoder.epochs=3", "only settings of quantizer and decoder"),
        ("seed=2", "only settings of quantizer and decoder"),
        ("decoder.self_queries=true", "the tables set decoder.self_queries themselves"),
        ("decoder.epoch=3", "there is no 'epoch'"),
    ],
)
def test_a_setting_without_effect_is_refused(collection, path, change, reason):
    with pytest.raises(UserError, match=f"--set {change}: .*{reason}"):
        run(collection, path, "--tables", "R", "--set", change)
