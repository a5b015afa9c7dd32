"""What a reading does in a search: kinds that it rules out, what is left out, and one result for
each thing.
"""

import io
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image

from genius.models.reader import Reader, ReaderConfig
from genius.run import BUILT_FROM
from genius.schema import MODES, READINGS, UNREAD, Item, Modality, Query, SearchOptions
from genius.search.candidates import RULED_OUT, Candidates, possible_kinds
from genius.search.engine import Engine
from genius.search.rerank import MORE, shows_left_out
from genius.search.retrieval import EncodedQueries
from genius.search.versions import groups_of
from tests.search.tiny import publish_tiny_run


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    run = publish_tiny_run(tmp_path_factory.mktemp("read") / "run", 60)
    torch.manual_seed(0)
    reader = Reader(ReaderConfig(32, 4, {"text photo": "Find the picture."}))
    run.publish("reader", partial(reader.save, half=True), tuple(sorted(BUILT_FROM["reader"])))
    return Engine.load(run.path, "cpu")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("name", ["photo", "entry", "page"])
def test_results_are_of_the_kind_of_a_chosen_reading(engine, mode, name, weight):
    options = SearchOptions(beams=30, k=6, mode=mode, decoder_weight=weight)
    result = engine.search(Query("a red dog", reading=name), options)
    assert len(result.hits) == 6 and all(
        found.codes[0] == READINGS[name] for found in result.generated
    )
    assert {hit.item.modality for hit in result.hits} == {READINGS[name]}
    assert result.first_code_probabilities.argmax() == READINGS[name] and result.reading.chosen


def test_words_that_are_not_read_find_what_a_run_without_a_reader_finds(engine, tmp_path):
    plain = Engine.load(publish_tiny_run(tmp_path / "plain", 60).path, "cpu")
    asked = [Query("a red dog", instruction="Find the picture."), Query("small boat")]
    expected = plain.search(asked)
    found = engine.search([replace(query, reading=UNREAD) for query in asked])
    assert [[hit.row for hit in result.hits] for result in found] == [
        [hit.row for hit in result.hits] for result in expected
    ]
    assert all(result.reading is None for result in [*found, *expected])


def test_a_kind_is_ruled_out_by_a_more_probable_one_that_items_have():
    kinds = torch.tensor([[0.9, 0.06, 0.04], [0.97, 0.02, 0.01], [1 / 3, 1 / 3, 1 / 3]]).log()
    everything = torch.arange(3)
    assert possible_kinds(kinds, everything).tolist() == [
        [True, True, False],
        [True, False, False],
        [True] * 3,
    ]
    assert possible_kinds(kinds, everything[1:]).tolist() == [[False, True, True]] * 2 + [
        [False, True, True]
    ]
    assert RULED_OUT * 0.9 > 0.04


def test_what_shows_the_left_out_comes_last_by_its_cosine():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    modalities = np.repeat([0, 1], 25).astype(np.uint8)
    spreads = {
        kind: (
            vectors[modalities == kind].mean(0),
            np.cov(vectors[modalities == kind].T, bias=True),
        )
        for kind in (0, 1)
    }
    rows = np.arange(50)
    candidates = Candidates(np.repeat([0, 1], 25), rows, rows, rows + 1, np.array([25, 25]))
    left_out = np.stack([vectors[3], np.zeros(6, dtype=np.float32)])
    shows = shows_left_out(candidates, vectors, modalities, left_out, spreads)
    cosines = vectors[:25] @ vectors[3]
    assert shows[:25].tolist() == (cosines > cosines.mean() + MORE * cosines.std()).tolist()
    assert shows[3] and not shows[25:].any()


def test_a_search_puts_what_is_left_out_behind(engine, monkeypatch):
    query = Query("a red dog", reading="photo")
    first = engine.search(query, SearchOptions(k=5)).hits[0]
    encode = engine.retriever.encode

    def leaving_out(queries, kinds=tuple(Modality)):
        encoded = encode(queries, kinds)
        unwanted = torch.from_numpy(engine.index.embeddings[[first.row]].astype(np.float32))
        return replace(encoded, left_out=unwanted)

    monkeypatch.setattr(engine.retriever, "encode", leaving_out)
    for order in ("cosine", "score"):
        found = engine.search(query, SearchOptions(k=5, order=order))
        assert first.row not in [hit.row for hit in found.hits[:3]]


def test_results_are_different_things(engine, monkeypatch):
    same = engine.index.items([0])[0]
    items = type(engine.index).items

    def all_of_one_picture(index, rows):
        return [
            replace(item, image="one.png") if item.modality == same.modality else item
            for item in items(index, rows)
        ]

    query = Query("a red dog", reading="photo")
    before = engine.search(query, SearchOptions(k=4))
    assert len(before.hits) == 4 and not any(hit.versions for hit in before.hits)
    monkeypatch.setattr(type(engine.index), "items", all_of_one_picture)
    (hit,) = engine.search(query, SearchOptions(k=4)).hits
    assert (
        hit.row == before.hits[0].row
        and len(hit.versions) > 3
        and isinstance(hit.versions[0], Item)
    )


def test_readings_are_joined_with_queries_that_were_not_read(engine):
    read = engine.encode([Query("a red dog", reading="entry"), Query("a cat", reading=UNREAD)])
    plain = replace(engine.encode([Query("boat")]), readings=None, left_out=None)
    joined = EncodedQueries.join([replace(read, left_out=read.z), plain], "cpu")
    assert [reading and reading.name for reading in joined.readings] == ["entry", None, None]
    assert torch.equal(joined.left_out[:2], read.z) and not joined.left_out[2].any()
    assert EncodedQueries.join([plain, plain], "cpu").readings is None
    found = engine.search_encoded(read, SearchOptions(k=5))
    assert {hit.item.modality for hit in found[0].hits} == {Modality.TEXT}


@pytest.mark.parametrize("name", ["photo", "page"])
def test_the_vectors_and_the_reading_of_a_result_find_it_again(engine, name):
    result = engine.search(Query("a red dog", reading=name), SearchOptions(k=5))
    given = {
        "embeddings": result.embedding[None],
        "z": result.z[None],
        "readings": [result.reading],
    }
    (again,) = engine.search_encoded(EncodedQueries.from_vectors(**given), SearchOptions(k=5))
    assert [hit.row for hit in again.hits] == [hit.row for hit in result.hits]


def picture(seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((60, 60), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, quality: int = 90) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "WEBP", quality=quality)
    return stream.getvalue()


def image_item(number: int, path: str) -> Item:
    return Item(f"0:{number}", Modality.IMAGE, "", path)


def directions(*angles: float) -> np.ndarray:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)


def test_a_picture_its_pair_and_its_captions_are_one_thing():
    items = [
        image_item(1, "a.jpg"),
        Item("0:2", Modality.TEXT, "A dog runs.", None, json.dumps({"picture": "a.jpg"})),
        image_item(3, "b.jpg"),
        Item("0:4", Modality.PAIR, "A dog.", "a.jpg"),
        Item("0:5", Modality.TEXT, "A dog runs."),
    ]
    assert groups_of(
        items, range(len(items)), directions(0, 1, 2, 3, 4), lambda place: None, 9
    ) == [[0, 1, 3], [2], [4]]


def test_a_copy_is_told_by_embedding_and_pixels():
    items = [image_item(number, f"{number}.jpg") for number in range(5)]
    thumbnails = [
        encoded(picture(1)),
        encoded(picture(1), 40),
        encoded(picture(2)),
        encoded(picture(1)),
        None,
    ]
    near, far = 0.1, 1.0
    found = groups_of(items, range(5), directions(0, near, near, far, 0), thumbnails.__getitem__, 9)
    assert found == [[0, 1], [2], [3], [4]], (
        "other pixels, no pixels, or another embedding, are another thing"
    )


def test_only_so_many_things_are_told_apart_but_all_their_versions_count():
    items = [
        image_item(1, "a.jpg"),
        image_item(2, "b.jpg"),
        image_item(3, "c.jpg"),
        image_item(4, "a.jpg"),
    ]
    assert groups_of(items, range(4), directions(0, 1, 2, 3), lambda place: None, 2) == [
        [0, 3],
        [1],
    ]
