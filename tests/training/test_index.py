"""The index stage: its detector, features fused elsewhere, and resuming."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.collections.images import open_image
from genius.collections.keys import id_key
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.index.store import Index
from genius.index.writing import write_index
from genius.run import Run
from genius.search import ood_detector
from genius.search.engine import Engine
from genius.search.ood_detector import OODDetector, texture
from tests.training.tiny import TINY
from training import __main__ as pipeline
from training import index
from training import ood_fitting as fitting
from training.command_line import Arguments
from training.ood_fitting import EvenSample, fit_ood_detector, recompress
from training.pairs import CandidateTable
from training.stage import run_stage


def test_an_index_with_enough_images_has_an_ood_detector(trained_run, collection, tmp_path, monkeypatch):
    arguments = Arguments(collection.root, shutil.copytree(trained_run, tmp_path / "run"), "small", TINY, "cpu")
    assert Engine.load(arguments.run, "cpu").ood_detector is None

    monkeypatch.setattr(ood_detector, "MIN_IMAGES", 2)
    run_stage("index", index.train, arguments)
    assert ood_detector.FILE in Run(arguments.run).manifest["parts"]["index"]["files"]
    assert Engine.load(arguments.run, "cpu").ood_detector.thresholds.min() > 0


def test_a_run_whose_fusion_was_trained_elsewhere_has_the_same_index(trained_run, collection, tmp_path):
    arguments = Arguments(collection.root, shutil.copytree(trained_run, tmp_path / "run"), "small", TINY, "cpu")
    folder, before = arguments.run / "features" / "candidates", Run(arguments.run).digest("index")
    (folder / "fused.npy").unlink()
    state = json.loads((folder / "progress.json").read_text())
    (folder / "progress.json").write_text(json.dumps(state | {"fusion": ""}))

    run_stage("index", index.train, arguments)
    assert Run(arguments.run).digest("index") == before


def test_a_killed_index_stage_resumes_without_quantizing_again_and_cleans_up(collection, tmp_path, monkeypatch):
    """With one pool, whose items are read from the features of all candidates."""
    pooled = replace(TINY, index=replace(TINY.index, pool="union_test"))
    arguments = Arguments(collection.root, tmp_path / "run", "small", pooled, "cpu")
    pipeline.train(arguments)
    before = Index.load(Run(arguments.run).folder("index"))

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as kill:
        kill.setattr(index, "write_index", killed)
        with pytest.raises(KeyboardInterrupt):
            run_stage("index", index.train, arguments)
    (arguments.run / "indexing" / "other facts").mkdir()
    monkeypatch.setattr(index, "quantize_all", None)
    monkeypatch.setattr(index, "squared_distances", None)
    run_stage("index", index.train, arguments)

    after = Index.load(Run(arguments.run).folder("index"))
    rows = np.arange(before.n)
    assert after.items(rows) == before.items(rows) == list(collection.candidates("union_test"))
    assert np.array_equal(after.packed, before.packed) and np.array_equal(after.distances, before.distances)
    assert np.array_equal(after.embeddings, before.embeddings)
    assert not (arguments.run / "indexing").exists()


def test_a_killed_index_stage_starts_again_if_its_pool_has_changed_meanwhile(
    trained_run, collection, tmp_path, monkeypatch
):
    root = shutil.copytree(collection.root, tmp_path / "collection")
    run = shutil.copytree(trained_run, tmp_path / "run")
    pools = root / "cand_pool" / "global"
    records = [json.loads(line) for line in (pools / "mbeir_union_test_cand_pool.jsonl").read_text().splitlines()]
    pool = pools / "mbeir_few_cand_pool.jsonl"  # in no union pool, as `shipped` of the photos

    def write_pool(credit: str, chosen: slice) -> None:
        pool.write_text("".join(json.dumps(own | {"src_content": credit}) + "\n" for own in records[chosen]))

    write_pool("by A", slice(0, 6))
    few = replace(TINY, index=replace(TINY.index, pool="few"))
    arguments = Arguments(root, run, "small", few, "cpu")

    def killed_at_its_end(*arguments, **options):
        write_index(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as kill:
        kill.setattr(index, "write_index", killed_at_its_end)
        with pytest.raises(KeyboardInterrupt):
            run_stage("index", index.train, arguments)
    write_pool("by B", slice(1, 6))
    run_stage("index", index.train, arguments)

    made = Index.load(Run(run).folder("index"))
    found = made.items(np.arange(made.n))
    assert found == list(Collection(root).candidates("few")) and {item.source for item in found} == {"by B"}


def test_an_index_offers_only_the_instructions_of_the_datasets_in_it(collection):
    asked = {
        dataset: {text for (own, _, _), texts in collection.instructions().items() if own == dataset for text in texts}
        for dataset in (0, 1)
    }
    for dataset, texts in asked.items():
        keys = np.array([id_key(f"{dataset}:{number}") for number in (3, 1)])
        assert {instruction.text for instruction in index.instructions_for(keys, collection)} == texts
    everything = np.array([id_key("0:1"), id_key("1:1")])
    offered = index.instructions_for(everything, collection)
    assert len(offered) == sum(map(len, collection.instructions().values()))


def test_an_empty_pool_is_refused_before_training(collection, tmp_path):
    root = shutil.copytree(collection.root, tmp_path / "collection")
    (root / "cand_pool" / "global" / "mbeir_none_cand_pool.jsonl").write_text("")
    empty = replace(TINY, index=replace(TINY.index, pool="none"))
    arguments = Arguments(root, tmp_path / "run", "small", empty, "cpu")
    with pytest.raises(UserError, match="pool none of .* has no items; add some, or set index.pool"):
        pipeline.train(arguments)
    with pytest.raises(UserError, match="pool none of .* has no items"):
        index.pool_rows(Collection(root), "none", CandidateTable.read(collection))
    assert not (tmp_path / "run").exists()


def test_the_detector_is_fitted_on_images_of_items_by_dataset_and_of_validation_queries(collection, monkeypatch):
    fitted = []
    monkeypatch.setattr(OODDetector, "fit", lambda datasets, asked: fitted.append((*datasets, asked)))
    queries = [query.image for query in collection.queries("val") if query.image]
    fit_ood_detector(collection, collection.candidates("union_test"), queries)

    ((*indexed, asked),) = fitted
    paths: dict[str, dict[str, None]] = {"0": {}, "1": {}}
    for item in collection.candidates("union_test"):
        if item.image:
            paths[item.id.split(":")[0]][item.image] = None
    for found, own in zip([*indexed, asked], [*map(list, paths.values()), queries], strict=True):
        plain = [texture(open_image(collection.image_path(path))) for path in own]
        alike = [np.array_equal(mine, other) for mine, other in zip(found, plain, strict=True)]
        assert alike == [found is asked or number % 6 not in (2, 5) for number in range(len(own))]


def test_an_even_sample_of_many_images_is_taken_without_repetition(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE", 3)

    def sample(paths) -> list[str]:
        chosen = EvenSample()
        for path in paths:
            chosen.add(path)
        return list(chosen.paths)

    assert sample(["a", "b", "a", "c", "d", "e", "f"]) == ["a", "c", "e"]
    assert sample(["a", "a"]) == ["a"] and sample([]) == []
    many = [int(path) for path in sample(map(str, range(1000)))]
    assert len(many) in range(3, 6) and set(np.diff(many)) == {many[1]}


def test_a_compressed_image_is_smaller_and_has_another_texture():
    image = Image.effect_noise((40, 30), 80).convert("RGB")
    again = recompress(image, 0.5, "WEBP")
    assert again.size == (20, 15) and again.mode == "RGB"
    assert not np.array_equal(texture(again), texture(image.resize((20, 15), Image.Resampling.LANCZOS)))
    assert recompress(Image.new("RGB", (1, 40)), 0.5, "JPEG").size == (1, 20)
