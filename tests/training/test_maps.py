"""The maps of a run that was trained on the micro collection."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.explore.map_data import PART, read_maps
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.run import Run
from genius.schema import Item, Modality
from tests.evaluation.micro import write_micro_collection
from tests.training.tiny import LEVELS, TINY, Killed, die, lay_out_by_principal_components
from training import maps
from training.maps import MIN_VECTORS, fill_square, first_layout, next_layout, procrustes


@pytest.fixture(scope="module", autouse=True)
def quick_layouts():
    """Without UMAP, which compiles itself first: a slow test has it."""
    with pytest.MonkeyPatch.context() as patch:
        lay_out_by_principal_components(patch)
        yield


@pytest.fixture(scope="module")
def drawn(collection, path):
    """The settings that the second quantizer was trained with."""
    given = []
    with pytest.MonkeyPatch.context() as patch:
        train = maps.quantizer.train
        patch.setattr(maps.quantizer, "train", lambda arguments: (given.append(arguments), train(arguments)))
        maps.main([str(collection.root), str(path), "--device", "cpu"])
    return given


def test_every_item_and_the_test_queries_lie_on_every_map(drawn, path, collection):
    found, index = read_maps(path), Index.load(Run(path).folder("index"))
    assert set(found.ids()) == {item.id for item in index.items(range(index.n))} and len(found.keys) == index.n
    assert [view.name for view in found.views] == ["features", "codes-2", "codes-3", "codes-4", "codes-4-plain"]
    assert found.places.shape == (5, index.n + len(found.queries), 2) and np.isfinite(found.places).all()
    asked = {query.id: query for query in collection.queries("test")}
    assert found.split == "test" and {query.id for query in found.queries} == set(asked)
    for query in found.queries:
        assert set(query.answers) == set(asked[query.id].positives)
        assert query.text == asked[query.id].text and query.instruction


def test_items_with_the_same_codes_have_one_place(drawn, path):
    found, index = read_maps(path), Index.load(Run(path).folder("index"))
    codes, items = index.codes(index.rows_of(found.ids())), len(found.keys)
    for at, view in enumerate(found.views[1:LEVELS], start=1):
        different = len(np.unique(codes[:, : view.depth], axis=0))
        assert len(np.unique(found.places[at, :items], axis=0)) <= different


def test_the_second_training_lacks_every_contrastive_loss_and_nothing_else(drawn, path):
    (arguments,) = drawn
    assert arguments.settings.quantizer == replace(TINY.quantizer, contrastive_weight=0.0, keep_best=False)
    assert arguments.settings.seed == TINY.seed
    assert read_maps(path).health["with"] == maps.compared_health(Run(path))


def test_a_second_training_that_was_finished_before_a_kill_is_not_repeated(path, collection, tmp_path, monkeypatch):
    run = Run(shutil.copytree(path, tmp_path / "run"))
    with monkeypatch.context() as kill, pytest.raises(Killed):
        kill.setattr(maps, "lay_out_views", die)
        maps.draw(collection.root, run.path, "cpu")
    side = shutil.copytree(run.path / maps.SIDE, tmp_path / "side")
    with monkeypatch.context() as untrained:
        untrained.setattr(maps.quantizer, "train", None)
        maps.draw(collection.root, run.path, "cpu")
    assert read_maps(run.path) and not (run.path / maps.SIDE).exists()

    given, longer = [], replace(TINY, quantizer=replace(TINY.quantizer, epochs=3))
    side.rename(run.path / maps.SIDE)
    monkeypatch.setattr(maps.quantizer, "train", given.append)
    maps.train_without_contrast(run, collection, longer, "cpu")
    assert given[0].settings.quantizer.epochs == 3


def test_the_run_is_as_it_was_but_for_its_maps(drawn, path):
    run = Run(path)
    assert not (path / maps.SIDE).exists() and run.has(PART) and run.is_current(PART)
    for split in ("train", "val", "candidates"):
        assert FeatureFiles(path / "features" / split).fused(run.digest("fusion")).any()


def test_items_that_are_added_while_the_maps_are_drawn_stay(drawn, path, collection, tmp_path, monkeypatch):
    """Before and meanwhile: neither are of the collection, so they are not drawn."""
    copy = shutil.copytree(path, tmp_path / "run")
    models = update.Models.load(copy, "cpu")

    def add(text: str) -> None:
        items = [Item("7:1" if text == "early" else "7:2", Modality.TEXT, text)]
        assert update.add(copy, lambda _: ItemSource(lambda: items, Path), models).new == 1

    def train(arguments):
        add("late")
        return quantizer_train(arguments)

    add("early")
    n, quantizer_train = Index.load(Run(copy).folder("index")).n, maps.quantizer.train
    monkeypatch.setattr(maps.quantizer, "train", train)
    maps.main([str(collection.root), str(copy), "--device", "cpu"])
    index = Index.load(Run(copy).folder("index"))
    assert index.n == n + 1 and (index.rows_of(["7:1", "7:2"]) >= 0).all()
    assert sorted(read_maps(copy).ids()) == sorted(item.id for item in index.items(range(n - 1)))


def test_of_many_items_an_even_share_of_every_code_is_drawn(path, monkeypatch):
    index = Index.load(Run(path).folder("index"))
    rows = maps.sample_items(index, index.n // 2)
    assert len(set(rows.tolist())) == index.n // 2
    whole, kept = (np.bincount(index.codes(some)[:, 0], minlength=3) for some in (np.arange(index.n), rows))
    assert (np.abs(kept - whole / 2) <= 1).all()


def test_a_run_that_does_not_say_how_it_was_trained_is_refused(collection, tmp_path):
    with pytest.raises(UserError, match="python -m training COLLECTION"):
        maps.draw(collection.root, tmp_path, "cpu")


def test_another_collection_is_refused_before_anything_is_trained(path, tmp_path, monkeypatch):
    monkeypatch.setattr(maps.quantizer, "train", None)
    other = write_micro_collection(tmp_path / "other")
    (other.root / "cand_pool" / "global").joinpath("mbeir_union_test_cand_pool.jsonl").write_text(
        '{"did": "7:1", "modality": "text", "txt": "A boat.", "img_path": null}\n'
    )
    with pytest.raises(UserError, match="does not hold the features of this encoder and collection"):
        maps.draw(Collection(other.root).root, path, "cpu")


def test_a_run_whose_trained_items_were_all_removed_has_nothing_to_draw(tmp_path):
    added = [Item("7:1", Modality.TEXT, "A boat.")]
    index = SimpleNamespace(n=1, items=lambda rows: added, config=SimpleNamespace(trained=0))
    candidates = SimpleNamespace(rows=lambda ids: np.full(len(ids), -1))
    with pytest.raises(UserError, match="holds no item any more that it was trained with"):
        maps.items_to_draw(index, candidates, tmp_path, tmp_path)


def rng():
    return np.random.default_rng(0)


def clusters(n: int, k: int, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """n vectors (n, d) round k far points, and which one each is of (n,)."""
    which = np.arange(n) % k
    return (rng().normal(size=(k, d)) * 20)[which] + rng().normal(size=(n, d)), which


@pytest.mark.parametrize("mirrored", [1, -1])
def test_a_turned_and_scaled_layout_is_brought_back(mirrored):
    target = rng().normal(size=(30, 2))
    turned = target @ np.array([[0.6, -0.8], [0.8, 0.6]]) * [1, mirrored] * 3 + [5, -2]
    assert np.allclose(procrustes(turned, target), target)


def test_layouts_without_extent_are_moved_only():
    assert np.allclose(procrustes(np.ones((4, 2)), rng().normal(size=(4, 2))).std(0), 0)


def test_all_views_fill_the_same_square_and_keep_their_shape():
    layouts = rng().normal(size=(3, 40, 2)) * [7, 2] + [30, -4]
    edges = fill_square(layouts)
    assert edges.min() >= -1 and edges.max() == pytest.approx(1) and edges.dtype == np.float32
    first, second = ((places[0, 1:] - places[0, :1]) for places in (layouts, edges))
    assert np.allclose(second / first, (second / first)[0, 0])


@pytest.mark.slow  # UMAP compiles itself
def test_neighbours_stay_together_and_views_stay_comparable(monkeypatch):
    monkeypatch.setattr(maps, "MIN_VECTORS", MIN_VECTORS)  # so that UMAP lays them out
    vectors, which = clusters(150, 5)
    first = first_layout(vectors, seed=0)
    inside = np.mean([first[which == cluster].std(0) for cluster in range(5)])
    assert inside < 0.3 * first.std(0).mean()
    again, same = next_layout(vectors, np.arange(150), first, seed=0), first_layout(vectors, seed=0)
    assert (same == first).all()
    by_axis = [np.corrcoef(again[:, axis], first[:, axis])[0, 1] for axis in (0, 1)]
    assert min(by_axis) > 0.7


def test_few_vectors_lie_in_the_middle_of_their_points():
    vectors, which = clusters(40, MIN_VECTORS - 1)
    first = rng().normal(size=(40, 2))
    places = next_layout(vectors[: MIN_VECTORS - 1], which, first, seed=0)
    for group in range(MIN_VECTORS - 1):
        assert np.allclose(places[which == group], first[which == group].mean(0))
