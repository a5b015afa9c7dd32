"""ID schemes against slow references."""

import numpy as np
import pytest

from genius.schema import Item, Modality
from genius.trie.ids import IDTable
from training.paper.ablations.id_schemes import (
    CHARACTERS,
    SCHEMES,
    SchemeInputs,
    content_words,
    hierarchical,
)

TEXTS = ["A red boat.", "", "The red boat at sea!", "", "A boat; a boat, and a dog", "Ärger 7"]
IMAGES = [None, "images/cat-one.png", "x.png", "images/zebra.png", None, None]


def made(n: int = 0, **changes) -> SchemeInputs:
    rng = np.random.default_rng(0)
    size = n or len(TEXTS)
    vectors = rng.normal(size=(size, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values = {
        "embeddings": vectors,
        "items": [
            Item(
                f"1:{number}",
                Modality.TEXT,
                TEXTS[number % len(TEXTS)],
                IMAGES[number % len(TEXTS)],
            )
            for number in range(size)
        ],
        "known": np.ones(size, dtype=bool),
        "levels": 3,
        "codebook_size": 4,
    }
    return SchemeInputs(**values | changes)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_ids_of_a_scheme_fit_its_sizes_and_the_trie(scheme):
    codes, code_sizes = SCHEMES[scheme](made(700))
    assert codes.shape == (700, len(code_sizes)) and min(code_sizes) >= 2
    assert (codes < np.array(code_sizes)).all()
    assert len(IDTable.build(codes, code_sizes)) == 700


def test_numeric_ids_are_the_digits_of_different_numbers():
    found, code_sizes = SCHEMES["numeric"](made(123))
    numbers = sorted(int("".join(map(str, codes))) for codes in found.tolist())
    assert numbers == list(range(123)) and code_sizes == (10, 10, 10)


def test_string_ids_spell_the_text_or_the_name_of_the_image():
    found, _ = SCHEMES["string"](made())
    end = len(CHARACTERS) + 1

    def spelled(codes) -> str:
        return "".join((CHARACTERS + "?")[code] for code in codes if code != end)

    assert [spelled(codes) for codes in found.tolist()] == [
        "a?red?boat",
        "cat?one",
        "the?red?boat?at?",
        "zebra",
        "a?boat?a?boat?an",
        "?rger?7",
    ]


def test_semantic_ids_are_content_words_and_an_image_has_those_of_the_nearest_known_text():
    candidates = made()
    similarity = candidates.embeddings @ candidates.embeddings.T
    known = np.array([True, False, False, True, True, False])
    found = SCHEMES["semantic"](made(known=known))[0].tolist()
    assert content_words(TEXTS[4]) == ["boat", "dog"]
    # red boat; its third word is rare or another
    assert found[0][:2] == found[2][:2] and found[0][2:] == [0] * 4
    for row in (1, 3):
        nearest = max((0, 4), key=lambda other: similarity[row, other])
        assert found[row] == found[nearest]


@pytest.mark.parametrize("vectors", [None, np.ones((500, 4), dtype=np.float32)])
def test_clustered_ids_are_unique_and_leaves_are_small_also_of_equal_vectors(vectors):
    changes = {} if vectors is None else {"embeddings": vectors}
    found, _ = hierarchical(made(500, **changes), branches=4, leaf=9)
    leaves = {}
    for *path, number in found.tolist():
        leaves.setdefault(tuple(path), []).append(number)
    for numbers in leaves.values():
        assert sorted(numbers) == list(range(len(numbers))) and len(numbers) <= 9


def test_items_of_one_cluster_are_nearer_to_its_mean_than_to_the_means_of_others():
    vectors = made(400).embeddings
    first = hierarchical(made(400), branches=3, leaf=200)[0][:, 0]
    means = np.stack([vectors[first == code].mean(0) for code in range(3)])
    nearest = np.linalg.norm(vectors[:, None] - means[None], axis=2).argmin(1)
    assert (nearest == first).mean() > 0.95


def test_residual_ids_reconstruct_better_with_each_level():
    """Rebuilt from the means of the items that share a code, level by level."""
    candidates = made(300, codebook_size=8)
    codes = SCHEMES["residual"](candidates)[0]
    left = candidates.embeddings.copy()
    errors = [np.square(left).sum()]
    for level in range(3):
        for code in np.unique(codes[:, level]):
            own = codes[:, level] == code
            left[own] -= left[own].mean(0)
        errors.append(np.square(left).sum())
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.6 * errors[0]
