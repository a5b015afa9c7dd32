"""All stages of training on a micro collection: results, resuming, refusals; and on a GPU where
there is one.
"""

import itertools
import json
import shutil
from dataclasses import replace

import pytest
import torch

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.index.store import Index
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.reports import Report
from genius.run import PARTS, Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.training.tiny import (
    TINY,
    Killed,
    arguments,
    die,
    killed_while,
    other_texts,
    tiny,
    train_stage,
    weights_of,
)
from training import __main__ as pipeline
from training import stage as stages
from training.data.pairs import CandidateTable
from training.stage import STAGES, pending_stages, run_stage
from training.stages import decoder, encoder, features, index, quantizer
from training.stages.curves import HEALTH, read_curves
from training.stages.decoder import Validation


def test_training_makes_a_run_that_answers_queries(path, collection):
    (result,) = Engine.load(path, "cpu").search(
        [Query(text="a red boat", instruction="Find the picture.")], SearchOptions(beams=5, k=3)
    )
    assert len(result.hits) == 3
    assert {hit.item.id for hit in result.hits} <= {item.id for item in collection.all_candidates()}


def test_the_run_records_the_seconds_of_every_stage_and_where_it_came_from(path, collection):
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    assert list(manifest["stages"]) == ["encoder", "features", "quantizer", "decoder", "index"]
    assert all(stage["seconds"] > 0 for stage in manifest["stages"].values())
    assert manifest["collection"] == str(collection.root.resolve())
    assert manifest["settings"]["encoder"]["epochs"] == TINY.encoder.epochs


def test_every_epoch_is_recorded(path):
    curves = read_curves(Run(path))
    assert {stage: [point["epoch"] for point in points] for stage, points in curves.items()} == {
        stage: list(range(getattr(TINY, stage).epochs))
        for stage in ("encoder", "quantizer", "decoder")
    }
    assert all(0 <= point["validation hit@5"] <= 1 for point in curves["encoder"])


def test_the_health_of_the_codes_is_reported(path, collection):
    health = dict(Report.load(path / HEALTH).tables[0].rows)
    assert health["items"] == sum(1 for _ in collection.all_candidates())
    assert [row[1] for row in Report.load(path / HEALTH).tables[1].rows] == [3, 5, 5, 5]
    assert health["modality purity"] == 1.0


def test_a_finished_training_has_nothing_left_to_do(path, collection, capsys):
    before = (path / "manifest.json").read_text(encoding="utf-8")
    pipeline.train(arguments(collection, path))
    assert (path / "manifest.json").read_text(encoding="utf-8") == before
    assert "── " not in capsys.readouterr().out


def test_a_run_cannot_be_continued_with_other_settings(path, collection):
    with pytest.raises(UserError, match="other settings"):
        pipeline.train(arguments(collection, path, replace(TINY, seed=1)))


def test_a_training_that_is_killed_again_and_again_ends_with_the_same_bytes(
    path, collection, tmp_path, monkeypatch
):
    """At each moment of every stage that has epochs, in turn."""
    moments = (
        "before an epoch is saved",
        "after an epoch",
        "before it is published",
        "before it is recorded",
    )
    for stage, moment in itertools.product(("encoder", "quantizer", "decoder"), moments):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            killed_while(patch, stage, moment)
            pipeline.train(arguments(collection, tmp_path))
    pipeline.train(arguments(collection, tmp_path))
    expected, found = (Run(run).manifest["parts"] for run in (path, tmp_path))
    for part in PARTS:
        assert found[part]["files"] == expected[part]["files"], part  # byte for byte


@pytest.mark.parametrize("killed", [False, True])
def test_a_decoder_stops_after_its_patience_and_keeps_the_best_epoch(
    killed, copied_run, collection, monkeypatch, capsys
):
    """Its recall is no better in two epochs after the second; a killed training does not begin a
    further one either.
    """
    recalls = iter([0.2, 0.4, 0.3, 0.4])
    settings = tiny(decoder={"epochs": 6, "patience": 2, "decoder_weights": (1.0,)})
    given = arguments(collection, copied_run, settings)
    monkeypatch.setattr(
        Validation, "candidate_recall", lambda _, decoder, weight: next(recalls) if weight else 0.3
    )
    if killed:
        with monkeypatch.context() as patched:
            killed_while(patched, "decoder", "before it is published")
            with pytest.raises(Killed):
                run_stage("decoder", decoder.train, given)
    run_stage("decoder", decoder.train, given)
    assert "no better on validation\ndecoder: keeping epoch 1," in capsys.readouterr().out
    assert [epoch["epoch"] for epoch in read_curves(Run(copied_run))["decoder"]] == [*range(4)]


def other_query_of_a_positive(root) -> None:
    """Let the third query's positive be one of the first query, too, and then of the second: the
    list is the same.
    """
    file = next((root / "qrels" / "train").iterdir())
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    if len({tuple(line[:1]) for line in lines[:3]}) == 3:
        lines.insert(1, [*lines[0][:2], *lines[2][2:]])
    else:
        lines[1][:2] = lines[2][:2]
    file.write_text("".join(" ".join(line) + "\n" for line in lines))


@pytest.mark.parametrize("stage", ["encoder", "quantizer"])
def test_a_killed_stage_does_not_go_on_with_other_data(stage, root, tmp_path, monkeypatch):
    given = arguments(root, tmp_path / "run")
    other_query_of_a_positive(root)
    kept = shutil.copytree(root, tmp_path / "kept")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_while(patch, stage, "after an epoch")
        pipeline.train(given)
    more_phrasings = tiny(features={"phrasings": TINY.features.phrasings + 1})
    for change, settings in (
        (other_query_of_a_positive, TINY),  # whose features stay
        (other_texts, TINY),
        *[(lambda _: None, more_phrasings)] * (stage == "quantizer"),
    ):
        shutil.copytree(kept, root, dirs_exist_ok=True)
        change(root)
        changed = replace(given, settings=settings)
        if stage == "quantizer":
            run_stage("features", features.train, changed)
        with pytest.raises(UserError, match=f"{stage} was made with other settings or data"):
            run_stage(stage, STAGES[stage].train, changed)


@pytest.mark.parametrize("stage", ["quantizer", "index"])
def test_a_repeated_stage_that_is_killed_before_it_is_recorded_leaves_a_run_that_goes_on(
    stage, trained_run, copied_run, collection, monkeypatch
):
    """Neither the later stages, which were built from the parts before, nor its own other settings
    count as done.
    """
    given = arguments(collection, copied_run)
    changed = {"quantizer": {"epochs": 1}, "index": {"thumbnail_side": 20}}
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(stages, "record_stage", die)
        train_stage(stage, collection, copied_run, tiny(**{stage: changed[stage]}))
    assert pending_stages(given) == list(STAGES)[list(STAGES).index(stage) :]
    pipeline.train(given)
    for part in PARTS:
        assert Run(copied_run).digest(part) == Run(trained_run).digest(part)
    Engine.load(copied_run, "cpu")


def test_candidates_with_other_texts_are_encoded_again(copied_run, collection, root, capsys):
    given = arguments(root, copied_run)
    other_texts(root)
    with pytest.raises(
        UserError, match="does not hold the features of this encoder and collection"
    ):
        quantizer.train(given)
    features.train(given)
    assert f"encoded {len(CandidateTable.read(collection))} of" in capsys.readouterr().out


@pytest.mark.parametrize("stage", ["quantizer", "index"])
def test_features_of_another_seed_are_refused_with_a_sentence_that_names_the_seed(
    stage, copied_run, collection
):
    given = arguments(collection, copied_run, replace(TINY, seed=1))
    message = (
        "features COLLECTION RUN --seed 1, or name the seed that they were made with, if it "
        "is another"
    )
    with pytest.raises(UserError, match=message):
        STAGES[stage].train(given)


def test_in_half_precision_the_index_is_what_its_readers_compute(collection, tmp_path):
    half = {"half": True}
    half = tiny(encoder=half, quantizer=half, decoder=half)
    pipeline.train(arguments(collection, tmp_path, half))
    run = Run(tmp_path)
    items = list(collection.all_candidates())
    for part in ("encoder", "fusion", "quantizer", "decoder"):
        stored = weights_of(run, part)
        assert {tensor.dtype for tensor in stored.values()} <= {torch.float16, torch.int64}, part

    served = Index.load(run.folder("index"))
    encode = Encoder.load(run.folder("encoder"))
    fuse = Fusion.load(run.folder("fusion"))
    quantize = ResidualQuantizer.load(run.folder("quantizer"))
    images = [
        open_image(collection.image_path(item.image)) if item.image else None for item in items
    ]
    encoded = encode.encode(images, [item.text for item in items])
    with torch.inference_mode():
        codes = quantize.encode(fuse(encoded), torch.tensor([item.modality for item in items]))
    stored = torch.from_numpy(served.embeddings[:].astype("float32"))
    torch.testing.assert_close(encoded.embedding(), stored, atol=1e-3, rtol=0)
    # features are kept as fp16
    assert (codes.numpy() == served.codes(range(served.n))).all(1).mean() > 0.9


def test_a_pool_with_an_item_that_was_not_encoded_is_refused(root):
    wrong = Collection(root)
    candidates = CandidateTable.read(wrong)
    with wrong.pool_files()["shapes_task3"].open("a") as pool:
        pool.write(
            '{"did": "0:999", "txt": "new", "img_path": null, "modality": "text", '
            '"src_content": ""}\n'
        )
    with pytest.raises(UserError, match="0:999 of pool shapes_task3 is in no global pool"):
        index.pool_rows(wrong, "shapes_task3", candidates)


def test_an_empty_collection_is_refused_in_one_sentence(root, tmp_path):
    with pytest.raises(UserError, match="is not a collection"):
        pipeline.train(arguments(tmp_path, tmp_path / "run"))
    for file in (root / "cand_pool").rglob("*.jsonl"):
        file.write_text("")
    with pytest.raises(UserError, match="has no candidates"):
        pipeline.train(arguments(root, tmp_path / "run"))
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_a_qrels_line_that_names_an_unknown_item_is_refused_in_one_sentence(root, tmp_path):
    qrels = next((root / "qrels" / "train").glob("*.txt"))
    first, *others = qrels.read_text(encoding="utf-8").splitlines()
    query = first.split()[0]
    qrels.write_text("\n".join([f"{query} 0 0:999999 1 0", *others]) + "\n")
    with pytest.raises(UserError, match=f"train query {query} .* --check"):
        pipeline.train(arguments(root, tmp_path / "run"))


def test_images_opened_every_time_train_the_same_encoder_as_cached_ones(collection, tmp_path):
    weights = []
    for name, kept, workers in (("kept", True, 0), ("opened", False, 1)):
        settings = tiny(encoder={"cache_images": kept, "epochs": 1})
        given = replace(arguments(collection, tmp_path / name, settings), workers=workers)
        run_stage("encoder", encoder.train, given)
        weights.append(weights_of(tmp_path / name, "encoder"))
    torch.testing.assert_close(*weights, atol=0, rtol=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_every_stage_trains_on_a_gpu_and_the_run_answers_there_and_on_a_cpu(collection, tmp_path):
    pipeline.train(replace(arguments(collection, tmp_path), device="cuda"))
    run = Run(tmp_path)
    assert all(run.is_current(part) for part in PARTS)
    for device in ("cuda", "cpu"):
        query = Query(text="a red boat", instruction="Find the picture.")
        (result,) = Engine.load(tmp_path, device).search([query], SearchOptions(beams=5, k=3))
        assert len(result.hits) == 3
