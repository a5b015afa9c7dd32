"""What the words of a query become: reading, content, what is left out, and the sentence for the
encoder.
"""

import numpy as np
import pytest
import torch
from PIL import Image

from genius.models.encoder import Encoder
from genius.models.reader import ASKING, CONTENT, LEFT_OUT, Reader, ReaderConfig
from genius.run import Run, shipped_run
from genius.schema import READINGS, UNREAD, Modality, Query
from genius.search.request_reader import RequestReader, kind_log_probs, marked
from genius.texts import query_text
from tests.search.tiny import tiny_encoder

PICTURE = Image.new("RGB", (32, 32))
KNOWN = "Find the picture."
INSTRUCTIONS = [
    (Modality.TEXT, Modality.IMAGE, KNOWN),
    (Modality.IMAGE, Modality.TEXT, "similar or not"),
]
SENTENCES = {
    "text photo": KNOWN,
    "image similar": "Find similar ones.",
    "pair similar": "Find it changed.",
}


class FixedReader(Reader):
    """Reads every request as its first word says, and marks words as their endings say: content!,
    left out-.
    """

    def __init__(self, requests: list[list[str]]):
        super().__init__(ReaderConfig(32, 4, SENTENCES))
        self.requests = requests

    def forward(self, states, mask, picture):
        names = list(READINGS)
        readings = torch.full((len(mask), len(names)), -9.0)
        tags = torch.full((*mask.shape, 3), -9.0)
        for row, words in enumerate(self.requests):
            readings[row, names.index(words[0])] = -0.01
            for place, word in enumerate(words):
                tag = CONTENT if word.endswith("!") else LEFT_OUT if word.endswith("-") else ASKING
                tags[row, place, tag] = -0.01
        return readings, tags


def understand(*queries: Query, kinds=tuple(Modality)):
    words = [(query.instruction or query.text).split() for query in queries]
    return RequestReader(FixedReader(words), tiny_encoder(), INSTRUCTIONS).understand(
        queries, kinds
    )


def sentence(found) -> str:
    """What an encoder reads that has instruction and text as one."""
    return query_text(found.instruction, found.text)


def test_the_encoder_gets_the_content_with_the_sentence_of_the_reading():
    (found,) = understand(Query("photo of a! street! no cars-"))
    assert sentence(found) == "Find the picture. a! street." and found.reading.name == "photo"
    assert (found.reading.content, found.reading.left_out) == ("a! street", "cars-")


def test_a_picture_alone_is_the_content_of_similar():
    (found,) = understand(Query("similar to this!", PICTURE))
    assert sentence(found) == "Find similar ones." and found.reading.modality == Modality.IMAGE


def test_a_change_without_a_sentence_of_its_own_takes_the_next_best():
    (found,) = understand(Query("change to red!", PICTURE))
    assert sentence(found) == "Find it changed. red." and found.reading.content == "red"


def test_an_instruction_is_read_and_its_text_stays_content():
    (found,) = understand(Query("not a dog", None, "photo of it"))
    assert sentence(found) == "Find the picture. not a dog." and found.reading.left_out == ""
    request_reader = RequestReader(FixedReader([["photo", "x", "y"]]), tiny_encoder(), INSTRUCTIONS)
    (known,) = request_reader.understand([Query("a dog", None, KNOWN)], tuple(Modality))
    assert sentence(known) == "Find the picture. a dog.", (
        "an instruction that training knew stays as it is"
    )


def test_a_reading_whose_results_are_missing_is_understood_but_not_searched_for():
    (found,) = understand(Query("entry dog!", PICTURE), kinds=(Modality.IMAGE,))
    assert found.reading.understood == "entry" and found.reading.modality == Modality.IMAGE


def test_a_chosen_reading_wins_and_words_may_stay_unread():
    (found,) = understand(Query("entry dog!", PICTURE, reading="similar"))
    assert found.reading.name == found.reading.understood == "similar" and found.reading.chosen
    (unread,) = understand(Query("photo dog!", reading=UNREAD))
    assert unread.reading is None and sentence(unread) == "Photo dog!"


def test_a_picture_without_words_asks_what_it_is():
    (found,) = understand(Query("", PICTURE))
    assert found.reading.name == "entry"
    (only_pictures,) = understand(Query("", PICTURE), kinds=(Modality.IMAGE,))
    assert only_pictures.reading.name == "similar"


def test_words_whose_kind_training_knew_are_of_that_kind():
    (found,) = understand(Query("", PICTURE, "similar or not"))
    assert found.reading.modality == Modality.TEXT and sentence(found) == "Similar or not."
    assert sum(found.reading.probabilities.values()) == pytest.approx(1)
    (other,) = understand(Query("photo or not"))
    assert other.reading.name == "photo"


def test_words_are_read_once():
    reader = FixedReader([["photo", "dog!"]])
    request_reader = RequestReader(reader, tiny_encoder(), [])
    first = request_reader.understand([Query("photo dog!")], tuple(Modality))
    reader.requests = [["entry", "cat!"]]
    assert request_reader.understand([Query("photo dog!")], tuple(Modality)) == first


def test_a_minus_before_a_word_leaves_it_out():
    tags = np.log(np.array([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1]]))
    assert marked("a street -cars", tags, "photo", True) == ("a street", "cars")


def test_something_is_always_sought_without_a_picture():
    tags = np.log(np.array([[0.8, 0.15, 0.05], [0.7, 0.25, 0.05]]))
    assert marked("page kombucha", tags, "page", True) == ("kombucha", "")
    assert marked("page kombucha", tags, "page", False) == ("", "")
    assert marked("show kombucha", tags, "photo", True) == ("show kombucha", "")


def test_words_that_were_not_read_go_with_the_last_that_was():
    tags = np.log(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]))
    assert marked("find a very long description", tags, "photo", True) == (
        "a very long description",
        "",
    )


def test_kinds_are_sums_of_readings():
    (entry,) = understand(Query("entry dog!"))
    (unread,) = understand(Query("dog!", reading=UNREAD))
    probabilities = np.exp(kind_log_probs([entry.reading, unread.reading]))
    assert probabilities[0].argmax() == Modality.TEXT and probabilities[0].sum() == pytest.approx(1)
    assert (probabilities[1] == 1).all(), "what was not read changes nothing"


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
def shipped_reader():
    """The shipped run reads what people ask in their own words."""
    run = Run(shipped_run("photos"))
    return RequestReader(Reader.load(run.folder("reader")), Encoder.load(run.folder("encoder")), [])


@pytest.mark.parametrize("words, pictured, name, content, left_out", STORIES)
def test_words_are_read_as_they_are_meant(shipped_reader, words, pictured, name, content, left_out):
    (found,) = shipped_reader.understand(
        [Query(words, PICTURE if pictured else None)], tuple(Modality)
    )
    assert found.reading.name == name and found.reading.left_out == left_out
    assert content is None or found.reading.content == content


@pytest.mark.parametrize(
    "words", ["大象", "?!…", "x" * 10_000, "word " * 2_000, "🐘", "-", "[<>]{}"]
)
def test_no_words_break_it(shipped_reader, words):
    for picture in (None, PICTURE):
        (found,) = shipped_reader.understand([Query(words, picture)], tuple(Modality))
        assert sum(found.reading.probabilities.values()) == pytest.approx(1, abs=1e-4)
        assert len(found.reading.content) <= len(words)
