"""The whole command on the micro collection, whose three rows stand for three of the paper's five
columns.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.index.store import load_index
from genius.reports import Report
from genius.run import Run
from training.paper.ablations import __main__ as ablations
from training.paper.ablations import trainer
from training.paper.ablations.trainer import FOLDER, RESULTS, Result
from training.paper.ablations.variants import BASE, TABLES, AblationTable, search_name
from training.settings import with_stage_changes
from training.stage import recorded_settings
from training.stages import decoder
from training.stages.features import feature_folders, share_features

OPTIONS = [
    "--device",
    "cpu",
    "--limit",
    "5",
    "--set",
    "quantizer.epochs=1",
    "--set",
    "decoder.epochs=2",
]
SHARING = "S4"  # one training, all beam sizes


def run(collection: Collection, path: Path, *options: str) -> Report:
    ablations.main([str(collection.root), str(path), *OPTIONS, *options])
    return Report.load(path / "reports" / "ablations.json")


@pytest.fixture(scope="module")
def report(collection, path) -> Report:
    return run(collection, path, "--tables", SHARING, "--seeds", "0,1")


def kept(path: Path) -> dict[str, str]:
    return {
        file.name: file.read_text(encoding="utf-8") for file in (path / FOLDER / RESULTS).iterdir()
    }


def test_the_published_figures_stand_beside_ours(report, path):
    claims, table = report.tables
    assert [row[0] for row in table.rows] == [
        "1 beam",
        "5 beams",
        "10 beams",
        "20 beams",
        "30 beams",
        "50 beams",
    ]
    assert table.rows[0][2:7:2] == pytest.approx((0.242, 0.416, 0.104))
    assert all(
        0 <= low <= value <= high <= 1 for row in table.rows for value, low, high in row[1:8:2]
    )
    assert [row[0] for row in claims.rows] == ["More beams help (C.3)"]
    assert report.command.startswith("python -m training.ablations COLLECTION RUN") and str(
        path
    ) not in str(report)
    assert [child.name for child in (path / FOLDER).iterdir() if child.name[0] != "."] == [RESULTS]
    assert len(kept(path)) == 2  # seeds of the one training


@pytest.mark.slow
def test_every_table_is_made(collection, path):
    made = run(
        collection,
        path,
        "--tables",
        ",".join(TABLES),
        "--seeds",
        "0,1",
        "--set",
        "encoder.epochs=1",
    )
    assert [table.title.partition(":")[0] for table in made.tables[1:]] == [
        table.name for table in TABLES.values()
    ]
    for table, specified in zip(made.tables[1:], TABLES.values(), strict=True):
        assert [row[0] for row in table.rows] == [variant.name for variant in specified.variants]


@pytest.mark.parametrize("table", ["S7", "S9"])
def test_identifiers_and_encoders_are_trained_and_measured(
    collection, path, tmp_path, monkeypatch, table
):
    """Two of each: the first scheme and GENIUS, and a sum of features and BLIP with fused
    tokens.
    """
    variants = TABLES[table].variants
    two = AblationTable(
        table, "Two of them", "local", (variants[0], variants[-1]), TABLES[table].columns
    )
    monkeypatch.setitem(TABLES, table, two)
    monkeypatch.setattr("training.paper.ablations.report.CLAIMS", ())
    copy = shutil.copytree(path, tmp_path / "run")
    (made,) = run(
        collection, copy, "--tables", table, "--seeds", "0", "--set", "encoder.epochs=1"
    ).tables
    assert [row[0] for row in made.rows] == [variants[0].name, variants[-1].name]


def missing(collection, path, monkeypatch, *options: str) -> int:
    """How many trainings a start needs, none of which is done."""
    before = kept(path).keys()

    def measure(self, training, seed, work) -> list[Result]:
        names = [search_name("local", beams, reranked=False) for beams in (1, 5, 10, 20, 30, 50)]
        return [
            Result(row, "shapes", {name: {1: 0.0, 5: 0.5, 10: 1.0} for name in names})
            for row in self.columns
        ]

    monkeypatch.setattr(trainer.Trainer, "_measure_decoder", measure)
    run(collection, path, "--tables", SHARING, *options)
    new = kept(path).keys() - before
    for name in new:
        (path / FOLDER / RESULTS / name).unlink()
    return len(new)


def test_results_of_other_settings_queries_or_records_are_not_used(
    report, collection, path, tmp_path, monkeypatch
):
    copy = shutil.copytree(path, tmp_path / "run")
    assert missing(collection, copy, monkeypatch, "--seeds", "0,1") == 0
    assert missing(collection, copy, monkeypatch, "--seeds", "1,2") == 1
    assert missing(collection, copy, monkeypatch, "--limit", "3") == 3
    assert missing(collection, copy, monkeypatch, "--seeds", "0", "--set", "decoder.epochs=3") == 1
    root = shutil.copytree(collection.root, tmp_path / "collection")
    assert missing(Collection(root), copy, monkeypatch, "--seeds", "0,1") == 0
    for file in (root / "query" / "test").iterdir():
        file.write_text(
            file.read_text(encoding="utf-8").replace('"query_txt": "', '"query_txt": "another ')
        )
    assert missing(Collection(root), copy, monkeypatch, "--seeds", "0,1") == 2


def test_a_killed_start_goes_on_with_what_is_missing(
    report, collection, path, tmp_path, monkeypatch
):
    """One result was lost, and its training is killed again after the first epoch of the
    decoder.
    """
    copy = shutil.copytree(path, tmp_path / "run")
    whole = kept(copy)
    lost = sorted((copy / FOLDER / RESULTS).iterdir())[0]
    lost.unlink()
    leftover = copy / FOLDER / "work-of-others"
    leftover.mkdir()
    save = decoder.Checkpoints.save
    quantizers = []
    epochs = []

    def killed(self, model, optimizer, epoch, score=0.0):
        save(self, model, optimizer, epoch, score)
        if self.stage == "decoder":
            epochs.append(epoch)
            if len(epochs) == 1:
                raise KeyboardInterrupt

    fit = trainer.quantizer.fit
    monkeypatch.setattr(decoder.Checkpoints, "save", killed)
    monkeypatch.setattr(
        trainer.quantizer, "fit", lambda *given: (quantizers.append(given), fit(*given))
    )
    with pytest.raises(KeyboardInterrupt):
        run(collection, copy, "--tables", SHARING, "--seeds", "0,1")
    again = run(collection, copy, "--tables", SHARING, "--seeds", "0,1")
    assert len(quantizers) == 1 and epochs == [0, 1] and not leftover.exists()
    assert kept(copy) == whole and again.tables == report.tables


def test_dense_search_of_an_encoder_is_a_sort_of_all_cosines(
    collection, path, tmp_path, monkeypatch
):
    """The encoder of the run, in place of one that is trained."""
    run_copy = Run(shutil.copytree(path, tmp_path / "run"))
    monkeypatch.setattr(trainer, "is_done", lambda *_: True)
    base = with_stage_changes(recorded_settings(run_copy), *BASE)
    measuring = trainer.Trainer(run_copy, collection, base, 5, "cpu")
    results = measuring._measure_encoder(TABLES["S8"].variants[0].training(base), 0, run_copy.path)
    index = load_index(run_copy)
    vectors = np.array(index.embeddings, dtype=np.float32)
    pool = {item.id for item in collection.candidates("union_test")}
    in_pool = np.flatnonzero([item.id in pool for item in index.items(range(index.n))])
    for result in results:
        queries = measuring.columns[result.row]
        batch = next(queries.opened(collection, 64))
        asked = measuring.engine.encode(batch).embeddings.numpy()
        hits = []
        for number, vector in enumerate(asked):
            best = in_pool[np.argsort(-vectors[in_pool] @ vector, kind="stable")[:5]]
            hits.append(bool(set(best) & set(queries.qrels.rows[queries.qrels.owners == number])))
        assert result.rates["global, dense"][5] == pytest.approx(np.mean(hits))


def test_a_run_without_settings_is_refused(tmp_path):
    with pytest.raises(UserError, match="lacks the settings of this version"):
        recorded_settings(Run(tmp_path))
    Run(tmp_path).record(left_out={})
    with pytest.raises(
        UserError,
        match="are published, .*python -m training.features COLLECTION .* --preset paper$",
    ):
        recorded_settings(Run(tmp_path))


def test_shared_features_are_fused_by_no_fusion(path, tmp_path):
    """A fused.npy that is there is of another training; what others left is no features."""
    source = Run(shutil.copytree(path, tmp_path / "run"))
    side = tmp_path / "side"
    (source.path / "features" / ".DS_Store").write_bytes(b"Mac")
    (source.path / "features" / "mine").mkdir()
    share_features(source, side)
    assert [folder.name for folder in feature_folders(source)] == ["candidates", "train", "val"]
    assert [folder.name for folder in feature_folders(Run(side))] == ["candidates", "train", "val"]
    for folder in feature_folders(source):
        shared = FeatureFiles(side / "features" / folder.name)
        assert shared.progress == FeatureFiles(folder).progress | {"fusion": None}
        with pytest.raises(UserError, match="does not hold the fused features"):
            shared.fused(source.digest("fusion"))


def test_an_index_with_other_ids_holds_the_same_items(path):
    index = load_index(Run(path))
    codes = np.random.default_rng(0).integers(0, 7, (index.n, 2)).astype(np.uint16)
    other = index.with_ids(codes, (7, 9))
    assert other.code_sizes == (7, 9) and (other.codes(range(index.n)) == codes).all()
    assert other.items([1, 0]) == index.items([1, 0]) and other.pool().table.distinct == len(
        {*map(tuple, codes.tolist())}
    )


def test_columns_stand_for_their_own_dataset_or_else_for_the_task(collection, path):
    columns = trainer.Trainer(Run(path), collection, recorded_settings(Run(path)), 5, "cpu").columns
    assert {row: queries.row.dataset for row, queries in columns.items()} == {
        (0, "mscoco"): "shapes",
        (3, "mscoco"): "shapes",
        (2, "webqa"): "titled",
    }
