"""Requests that a reader learns from: their marks, their contents and how they are typed."""

from random import Random

from genius.models.reader import ASKING, CONTENT, LEFT_OUT
from genius.schema import READINGS, READINGS_OF_PICTURES, READINGS_OF_WORDS, Modality
from training.data.requests import (
    Contents,
    Phrasing,
    instruction_requests,
    labeled,
    read_phrasings,
    requests_of,
    retyped,
)

CONTENTS = Contents(["kite", "old mill"], ["Two men row a boat over a lake"])


def phrasing(words: str, reading: str = "photo", picture: bool = False) -> Phrasing:
    return Phrasing("own", picture, reading, words)


def test_marks_become_tags_of_words():
    request = labeled(phrasing("", "photo"), "show me [a street,] no <cars> please")
    assert request.words == ("show", "me", "a", "street,", "no", "cars", "please")
    assert request.tags == (ASKING, ASKING, CONTENT, CONTENT, ASKING, LEFT_OUT, ASKING)
    assert labeled(phrasing(""), "-<cars> [street]").tags == (LEFT_OUT, CONTENT)


def test_contents_take_the_places_that_are_kept_for_them():
    requests = list(requests_of([phrasing("what's [{name}]?", "entry")], CONTENTS, 8, Random(0)))
    assert {" ".join(request.words).lower().rstrip("?.! ") for request in requests} >= {
        "what's kite"
    }
    swapped = list(
        requests_of([phrasing("pics of [a long red road to town]")], CONTENTS, 5, Random(0))
    )
    assert [len(request.words) for request in swapped] == [8] + [10] * 4, (
        "another caption in place of a long content"
    )
    asked = list(
        requests_of([phrasing("[how many are there]", "answer", True)], CONTENTS, 3, Random(0))
    )
    assert {" ".join(request.words).lower()[:8] for request in asked} == {"how many"}, (
        "a question stays what it is"
    )


def test_retyping_keeps_words_and_tags():
    request = labeled(phrasing(""), "could you show [an elephant] somewhere?")
    for seed in range(300):
        typed = retyped(request, Random(seed))
        assert len(typed.words) == len(request.words) and typed.tags == request.tags
        assert all(typed.words)


def test_instructions_say_the_kind_alone():
    (request,) = instruction_requests({(0, Modality.IMAGE, Modality.TEXT): ["Name this."]})
    assert (
        request.picture
        and set(request.readings) == {"entry", "caption", "answer"}
        and not any(request.tags)
    )


def test_every_phrasing_that_ships_has_a_possible_reading_and_marks_that_close():
    phrasings = read_phrasings()
    assert sum(one.set == "own" for one in phrasings) >= 1500
    for one in phrasings:
        assert one.reading in READINGS and one.reading in (
            READINGS_OF_PICTURES if one.picture else READINGS_OF_WORDS
        )
        assert (
            one.words.count("[") == one.words.count("]") <= 1
            and one.words.count("<") == one.words.count(">") <= 1
        )
        assert labeled(one, CONTENTS.fill(one.words, Random(0))).words
    held_out = sum(one.is_held_out for one in phrasings) / sum(
        one.set == "own" for one in phrasings
    )
    assert 0.15 < held_out < 0.25 and not any(
        one.is_held_out for one in phrasings if one.set == "asked"
    )
