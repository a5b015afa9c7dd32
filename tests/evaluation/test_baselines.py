"""genius/evaluation/baselines.py on the micro collection, against rankings worked out one query at a time."""

import io
import math
import re
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.collections.writer import new_collection
from genius.errors import UserError
from genius.evaluation import baselines
from genius.evaluation.baselines import BATCH, ColorSearch, K, WordSearch, histogram, main, markdown, measure_baselines
from genius.schema import Item, LabeledQuery, Modality


@pytest.fixture(scope="module")
def items(collection) -> list[Item]:
    return list(collection.candidates("union_test"))


def queries_of(collection, task: int) -> list[LabeledQuery]:
    return [query for query in collection.queries("test") if query.task == task]


def test_words_agree_with_weights_worked_out_by_hand(collection, items):
    texts = [item.text for item in items if item.text]
    frequency = Counter(word for text in texts for word in set(re.findall(r"\w\w+", text.lower())))

    def weights(text):
        counts = Counter(word for word in re.findall(r"\w\w+", text.lower()) if word in frequency)
        raw = {word: count * (1 + math.log((1 + len(texts)) / (1 + frequency[word]))) for word, count in counts.items()}
        norm = math.sqrt(sum(value**2 for value in raw.values()))
        return {word: value / norm for word, value in raw.items()}

    queries = queries_of(collection, 2)
    found = WordSearch(items).search(queries)

    for query, ranked in zip(queries, found, strict=True):
        mine = weights(query.text)
        cosines = {
            row: sum(mine.get(word, 0) * value for word, value in weights(item.text).items())
            for row, item in enumerate(items)
            if item.text
        }
        expected = sorted((row for row in cosines if cosines[row] > 0), key=lambda row: (-round(cosines[row], 9), row))
        assert [row for row in ranked if row >= 0] == expected


def test_words_that_no_candidate_has_find_nothing(items):
    assert (WordSearch(items).search([LabeledQuery("0:1", Modality.TEXT, 1, "zebra")]) == -1).all()


def test_texts_of_one_character_have_no_words_to_be_found_by():
    """TF-IDF counts words of at least two characters."""
    items = [Item("0:1", Modality.TEXT, "A"), Item("0:2", Modality.TEXT, "犬 猫")]
    assert (WordSearch(items).search([LabeledQuery("0:1", Modality.TEXT, 1, "A")]) == -1).all()


def test_colors_agree_with_distances_worked_out_by_hand(collection, items):
    def coarse(path):
        pixels = np.asarray(open_image(collection.image_path(path))) // 64
        return Counter(map(tuple, pixels.reshape(-1, 3).tolist()))

    pictures = {row: coarse(item.image) for row, item in enumerate(items) if item.image}
    queries = queries_of(collection, 3)

    found = ColorSearch(collection, items).search(queries)

    for query, ranked in zip(queries, found, strict=True):
        mine = coarse(query.image)
        distances = {
            row: sum(abs(mine[cell] - other[cell]) for cell in mine.keys() | other.keys())
            for row, other in pictures.items()
        }
        ranked = [row for row in ranked if row >= 0]
        assert [distances[row] for row in ranked] == sorted(distances.values())
        assert ranked[0] in pictures and distances[ranked[0]] == 0  # the picture itself is a candidate


def test_memory_does_not_grow_with_queries_times_candidates(collection, monkeypatch):
    n, rng, sizes, chunked = 20_000, np.random.default_rng(0), [], baselines.pairwise_distances_chunked
    drawn = [Item(f"0:{row}", Modality.PAIR, f"word{row}", f"{row}.png") for row in range(n)]
    monkeypatch.setattr(ColorSearch, "_histograms", lambda _, paths: rng.random((len(paths), 64)).astype(np.float32))
    words, colors = WordSearch(drawn), ColorSearch(collection, drawn)
    queries = [LabeledQuery(f"1:{row}", Modality.PAIR, 7, f"word{row}", f"{row}.png") for row in range(BATCH)]

    def recording(*arrays, reduce_func, **options):
        def reduced(distances, start):
            sizes.append(distances.nbytes)
            best = reduce_func(distances, start)
            assert best.base is None  # or the whole order is kept with the best
            return best

        return chunked(*arrays, reduce_func=reduced, **options)

    monkeypatch.setattr(baselines, "MEMORY", 2)
    monkeypatch.setattr(baselines, "pairwise_distances_chunked", recording)
    monkeypatch.setattr(type(words.candidates), "toarray", None)

    assert words.search(queries)[:, :2].tolist() == [[row, -1] for row in range(BATCH)]
    assert colors.search(queries).shape == (BATCH, K)
    assert max(sizes) <= 2 * 2**20 and sum(sizes) >= BATCH * n * 4


def test_a_histogram_counts_each_pixel_once():
    pixels = np.array([[[0, 0, 0], [63, 63, 63]], [[255, 0, 64], [255, 0, 64]]], dtype=np.uint8)

    found = histogram(pixels)

    assert found.sum() == 1 and found[0] == 0.5 and found[3 * 16 + 0 * 4 + 1] == 0.5 and len(found) == 64


def test_rows_to_which_a_baseline_does_not_apply_are_left_out_of_its_average(collection):
    entries = measure_baselines(collection, "test")

    assert [(entry["task"], entry["words"] is None, entry["colors"] is None) for entry in entries] == [
        (0, True, True),
        (2, False, True),
        (3, True, True),
    ]
    assert entries[1]["words"] == 1.0
    lines = markdown(entries).splitlines()
    assert len(lines) == 6 and re.search(r"average.*\| +100\.0 \| +– \|$", lines[-1])


def test_a_collection_of_pictures_alone_is_measured_by_its_colors(tmp_path):
    root = tmp_path / "pictures"
    with new_collection(root) as writer:
        for number, color in enumerate(("red", "blue")):
            stream, path = io.BytesIO(), f"images/{color}.png"
            Image.new("RGB", (8, 8), color).save(stream, "PNG")
            writer.image(path, stream.getvalue())
            item = Item(f"0:{number}", Modality.IMAGE, image=path)
            writer.candidate(item, "plain", [4], ["test"])
            query = LabeledQuery(f"0:{number}", Modality.IMAGE, 4, image=path, positives=(item.id,))
            writer.query(query, "plain", "test")

    assert measure_baselines(Collection(root), "test") == [
        {"task": 4, "dataset": "plain", "cut": 5, "queries": 2, "words": None, "colors": 1.0}
    ]


def test_the_batch_size_changes_no_rate_and_a_limit_samples_queries(collection, monkeypatch):
    whole = measure_baselines(collection, "test")
    monkeypatch.setattr(baselines, "BATCH", 3)

    assert measure_baselines(collection, "test") == whole
    assert [entry["queries"] for entry in measure_baselines(collection, "test", limit=2)] == [2, 2, 2]


def test_the_command_prints_the_table_and_refuses_an_empty_sample(collection, capsys):
    main([str(collection.root), "--limit", "3"])
    assert capsys.readouterr().out.startswith("| task ")

    with pytest.raises(UserError, match="--limit 0: expected an integer of at least 1"):
        main([str(collection.root), "--limit", "0"])
