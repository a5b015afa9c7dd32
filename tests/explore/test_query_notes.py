"""What is said about a query: the language, references to no picture, negation, and words that are
not read.
"""

from types import SimpleNamespace

import pytest
from PIL import Image

from genius.explore.query_notes import ENGLISH, query_notes
from genius.schema import Modality, Query, Reading
from tests.search.tiny import tiny_encoder

INSTRUCTIONS = [(0, 1, "Show me a photo of it.")]
ENGINE = SimpleNamespace(
    encoder=tiny_encoder(),
    has_encoder=True,
    batcher=SimpleNamespace(call=lambda function: function()),
    index=SimpleNamespace(instructions=INSTRUCTIONS),
)


@pytest.mark.parametrize(
    "text",
    [
        "Ein roter Bus",
        "un perro negro",
        "el gato en la mesa",
        "¿dónde está?",
        "des enfants dans la rue",
        "l'homme et le chien",
        "um cachorro preto",
        "il gatto nel giardino",
        "een zwarte hond",
        "jalan tanpa mobil",
        "một con chó",
        "kırmızı araba",
        "ulica bez aut",
        "红色的郁金香",
    ],
)
def test_who_writes_in_another_language_is_told_that_english_is_read(text):
    assert query_notes(ENGINE, Query(text), "fair") == [ENGLISH]


@pytest.mark.parametrize(
    "text, note",
    [
        ("find me similar pictures", "That reads like a question about a picture"),
        ("show me a photo of it", "That reads like a question about a picture"),
        ("What is this?", "That reads like a question about a picture"),
        ("not a dog", "Words like “not” are not understood"),
        ("a man who isn't here", "Words like “n't” are not understood"),
    ],
)
def test_words_that_are_not_read_as_they_are_meant_get_a_note(text, note):
    (given,) = query_notes(ENGINE, Query(text), "fair")
    assert given.startswith(note)


def test_what_is_no_word_is_said_to_be_none():
    assert query_notes(ENGINE, Query("?!…"), "") == [
        "There are no words in it to search for; say what you are looking for."
    ]
    assert ENGLISH in query_notes(ENGINE, Query("🐶"), "fair")


def test_what_nobody_sees_is_no_text():
    assert query_notes(ENGINE, Query("\u200b", Image.new("RGB", (2, 2))), "fair") == []


def test_a_kind_that_the_collection_lacks_is_named():
    engine = SimpleNamespace(
        **vars(ENGINE), snapshots=SimpleNamespace(current=SimpleNamespace(kinds={Modality.IMAGE}))
    )
    reading = Reading("similar", {"entry": 0.9, "similar": 0.1}, "", chosen=False)
    (note,) = query_notes(engine, Query("what", Image.new("RGB", (2, 2))), "", reading=reading)
    assert note == "You seem to ask for texts, which this collection does not have."
    assert (
        query_notes(
            engine,
            Query("a man without a hat"),
            "",
            reading=Reading("photo", {"photo": 1.0}, "a man", "hat"),
        )
        == []
    )


ENGLISH_TEXTS = [
    "a red tulip",
    "crème brûlée",
    "",
    "123",
    "this old mill",
    "a knot",
    "a street in Rio de Janeiro",
]
ENGLISH_TEXTS += [
    "el capitan at sunset",
    "Las Vegas",
    "a flag of the UN",
    "MIT students",
    "a van in Łódź",
    "comic con",
]
ENGLISH_TEXTS += [
    "oven on, door open",
    "A dog in São Paulo",
    "https://example.com/un/der_z.jpg",
    "im looking for a die",
]
NOUNS = ["rote Tulpe", "Hund", "gato"]  # which cannot be told from names


@pytest.mark.parametrize("text", ENGLISH_TEXTS + NOUNS)
def test_other_words_get_none(text):
    assert query_notes(ENGINE, Query(text), "good") == []


def test_a_question_beside_a_picture_and_other_languages_of_other_models_get_none():
    assert query_notes(ENGINE, Query("What is this?", Image.new("RGB", (2, 2))), "") == []
    assert query_notes(ENGINE, Query("eine rote Tulpe"), "", english=False) == []


def test_a_weak_match_says_in_one_line_what_the_collection_holds():
    notes = query_notes(ENGINE, Query("a boat"), "weak", "Pictures: food (soup, cake), cups.")
    assert notes == ["Perhaps nothing here fits well. Pictures: food, cups."]
    assert query_notes(ENGINE, Query("a boat"), "weak") == ["Perhaps nothing here fits well."]


def test_the_first_word_that_is_not_read_is_named():
    words = [f"w{number}" for number in range(200)]
    (note,) = query_notes(ENGINE, Query(" ".join(words), instruction="Find it."), "")
    read = int(note.split()[3])
    encoder = ENGINE.encoder

    def tokens(count: int, last: str = "") -> list[int]:
        return encoder.tokenize([" ".join(["Find it.", *words[:count], last])])[0].tolist()

    assert 0 < read < 200 and f"“w{read}”" in note
    assert tokens(read, "dog") == tokens(read, "boat") and tokens(read - 1, "dog dog") != tokens(
        read - 1, "boat boat"
    )
