"""The shipped run reads what people ask in their own words."""

import pytest
from PIL import Image

from genius.models.encoder import Encoder
from genius.models.reader import Reader
from genius.run import Run, shipped_run
from genius.schema import Modality, Query
from genius.search.request_reader import RequestReader

PICTURE = Image.new("RGB", (32, 32))
STORIES = [  # words, with a picture, reading, content, what is left out
    ("similar pictures", True, "similar", None, ""),
    ("more of these", True, "similar", None, ""),
    ("the same flower but in red", True, "change", "in red", ""),
    ("write alt text", True, "caption", None, ""),
    ("give me a one line summary of the photo", True, "caption", None, ""),
    ("what is happening here?", True, "caption", None, ""),
    ("what is a saxophone?", False, "entry", "saxophone", ""),
    ("define tusk", False, "entry", "tusk", ""),
    ("a street without cars", False, "photo", "a street", "cars"),
    ("photos of a harbour -boats", False, "photo", "a harbour", "boats"),
    ("a no parking sign", False, "photo", "a no parking sign", ""),
]


@pytest.fixture(scope="module")
def requests():
    run = Run(shipped_run("photos"))
    return RequestReader(Reader.load(run.folder("reader")), Encoder.load(run.folder("encoder")), [])


@pytest.mark.parametrize("words, pictured, name, content, left_out", STORIES)
def test_words_are_read_as_they_are_meant(requests, words, pictured, name, content, left_out):
    (found,) = requests.understand([Query(words, PICTURE if pictured else None)], tuple(Modality))
    assert found.reading.name == name and found.reading.left_out == left_out
    assert content is None or found.reading.content == content


@pytest.mark.parametrize(
    "words", ["大象", "?!…", "x" * 10_000, "word " * 2_000, "🐘", "-", "[<>]{}"]
)
def test_no_words_break_it(requests, words):
    for picture in (None, PICTURE):
        (found,) = requests.understand([Query(words, picture)], tuple(Modality))
        assert sum(found.reading.probabilities.values()) == pytest.approx(1, abs=1e-4)
        assert len(found.reading.content) <= len(words)
