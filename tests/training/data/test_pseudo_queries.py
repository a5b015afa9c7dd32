"""Pseudo-queries for images without texts."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from genius.collections.building import build
from genius.collections.checker import Checker
from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.schema import Modality
from genius.texts import query_text
from tests.search.tiny import tiny_encoder
from training.data import pseudo_queries
from training.data.pseudo_queries import (
    check_images,
    matching_pursuit,
    nearest,
    texts_of_image,
    write_pseudo_queries,
)


def noise(seed: int) -> Image.Image:
    return Image.fromarray(
        np.random.default_rng(seed).integers(256, size=(12, 12, 3), dtype=np.uint8)
    )


@pytest.fixture
def collection(tmp_path, monkeypatch) -> Collection:
    monkeypatch.setattr(
        pseudo_queries, "visual_words", lambda: ["dog", "snow", "ball", "tree", "red", "street"]
    )
    (tmp_path / "photos").mkdir()
    for number in range(30):
        noise(number).save(tmp_path / "photos" / f"{number:02d}.png")
    build([str(tmp_path / "photos")], tmp_path / "collection")
    return Collection(tmp_path / "collection")


def embeddings(collection: Collection, encoder: Encoder) -> np.ndarray:
    """(n, d), of all candidates."""
    images = [open_image(collection.image_path(item.image)) for item in collection.all_candidates()]
    return np.concatenate([encoder.encode([image], [""]).embedding().numpy() for image in images])


def write(collection: Collection, seed: int = 0) -> None:
    encoder = tiny_encoder()
    write_pseudo_queries(collection, encoder, embeddings(collection, encoder), seed, 8)


def test_matching_pursuit_equals_the_slow_version():
    rng = np.random.default_rng(0)
    images, words = rng.normal(size=(7, 5)), rng.normal(size=(9, 5))
    atoms = words - words.mean(0)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    expected = []
    for rest in images - images.mean(0):
        expected.append([])
        for _ in range(4):
            best = max(range(9), key=lambda word: rest @ atoms[word])
            rest = rest - (rest @ atoms[best]) * atoms[best]
            expected[-1].append(best)

    assert (
        matching_pursuit(torch.from_numpy(images), torch.from_numpy(words), 4).tolist() == expected
    )


def test_nearest_is_dense_search_and_returns_at_most_all_images():
    generator = torch.Generator().manual_seed(0)
    queries, images = (F.normalize(torch.randn(n, 6, generator=generator), dim=-1) for n in (11, 4))
    expected = [sorted(range(4), key=lambda row: -float(query @ images[row])) for query in queries]
    assert nearest(queries, images, 2).tolist() == [ranked[:2] for ranked in expected]
    assert nearest(queries, images, 9).tolist() == expected


def test_texts_contain_words_of_the_image_once_each():
    words = ["dog", "snow", "ball", "dog", "tree"]
    for seed in range(50):
        for text in texts_of_image(words, np.random.default_rng(seed)):
            drawn = [word for word in text.replace(",", "").split() if word in words]
            assert 1 <= len(drawn) == len(set(drawn)) <= 4


def test_the_targets_of_a_query_are_what_the_encoder_finds_in_its_split(collection):
    encoder = tiny_encoder()
    write(collection)

    images = {item.id: item for item in collection.all_candidates()}
    vectors = dict(zip(images, torch.from_numpy(embeddings(collection, encoder)), strict=True))
    by_path = {item.image: name for name, item in images.items()}
    phrase = collection.instructions()[0, Modality.TEXT, Modality.IMAGE][0]
    answers = {}
    for split in ("train", "val", "test"):
        queries = list(collection.queries(split))
        own = {by_path[query.image] for query in queries if query.image}  # every image asks once
        for query in queries:
            asking = (
                vectors[by_path[query.image]]
                if query.image
                else encoder.encode([None], [query_text(phrase, query.text)]).embedding()[0]
            )
            ranked = sorted(own, key=lambda name: -float(asking @ vectors[name]))
            scores = [float(asking @ vectors[name]) for name in (*query.positives, ranked[2])]
            assert len(query.positives) == 3 and min(scores[:3]) > scores[3] - 1e-5
            assert query.task == (4 if query.image else 0)
        answers[split] = {name for query in queries for name in query.positives}
        assert answers[split] <= own
    assert (
        not answers["train"] & (answers["val"] | answers["test"])
        and not answers["val"] & answers["test"]
    )
    assert len(answers["val"]) == len(answers["test"]) == 3
    assert [problem.message for problem in Checker(collection.root).problems()] == []


def test_the_same_seed_generates_the_same_queries_and_can_be_written_twice(collection):
    write(collection)
    before = {file: file.read_bytes() for file in collection.root.rglob("*") if file.is_file()}
    write(collection)
    assert {
        file: file.read_bytes() for file in collection.root.rglob("*") if file.is_file()
    } == before
    with pytest.raises(UserError, match="contains other queries"):
        write(collection, seed=1)
    assert {file for file in collection.root.rglob("*") if file.is_file()} == before.keys()


def test_a_dataset_without_an_instruction_for_texts_is_refused_in_one_sentence(collection):
    check_images(collection)
    file = collection.root / "instructions" / "query_instructions.tsv"
    file.write_text(file.read_text(encoding="utf-8").splitlines()[0])
    with pytest.raises(
        UserError, match="has no instruction for photos, text to image; add a line to its"
    ):
        check_images(Collection(collection.root))
