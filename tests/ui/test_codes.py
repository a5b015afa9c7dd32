"""What the Codes tab answers, over a made-up engine."""

from types import SimpleNamespace

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore.code_names import CodeNamer
from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Meaning, Nearness, Overview
from genius.explore.playing import Relatives
from genius.explore.word_fits import FittingWord, Naming
from genius.schema import Modality
from genius.texts import MAX_TEXT
from genius.ui.codes import view
from genius.ui.codes.panel import panel
from tests.ui.fake_engine import FakeEngine
from tests.ui.golden import check_golden


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def codes(engine, tmp_path_factory):
    """The looks by their paths, and the endpoint."""
    namer = CodeNamer(engine, tmp_path_factory.mktemp("run"))
    made = panel(SimpleNamespace(engine=engine, namer=namer))
    return made.looks | {endpoint.__name__: endpoint for endpoint in made.endpoints}


def matching(engine, pattern):
    codes = engine.index.codes(range(engine.index.n))
    wanted = [level for level, code in enumerate(pattern) if code is not None]
    return np.flatnonzero((codes[:, wanted] == [pattern[level] for level in wanted]).all(1))


def test_codes_are_found_by_words_and_a_random_one_is_there(codes):
    found = codes["find_codes"]("wheel")
    assert found["codes"] and found["title"] == "Codes for “wheel”"
    for code in found["codes"]:
        opened = codes["codes"](code["key"])
        assert (
            opened["items"].startswith(f"{code['items']:,} item")
            and 0 < code["fitting"] <= code["items"]
        )
    assert codes["codes"](codes["codes/random"]()["code"])["items"]


@pytest.mark.parametrize("text", ["", "x" * (MAX_TEXT + 1)])
def test_words_that_cannot_be_searched_for_are_one_sentence(codes, text):
    with pytest.raises(UserError):
        codes["find_codes"](text)


def test_an_open_code_shows_the_codes_nearest_to_it(codes):
    near = codes["codes/near"]("0.7")["codes"]
    assert near and not any(code["key"].startswith("*.7") for code in near)
    assert codes["codes/near"]("") is None


@pytest.mark.parametrize("pattern", [(), (0,), (None, 3), (1, 5, 20)])
def test_a_pattern_shows_its_items_its_next_codes_and_the_codes_around_it(codes, engine, pattern):
    key = format_pattern(pattern, ".")
    opened = codes["codes"](key)
    rows = matching(engine, pattern)
    assert opened["key"] == key and opened["items"] == f"{len(rows):,} items"
    following = np.unique(engine.index.codes(rows)[:, len(pattern)])
    assert opened["next"]["all"] == len(following)
    sizes = [code["items"] for code in opened["next"]["codes"]]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) <= len(rows)
    for around in filter(None, opened["around"].values()):
        assert not codes["codes"](around)["empty"]
    assert (opened["meaning"] is None) == (pattern == ())


def test_who_has_no_code_open_is_told_what_codes_are_and_sees_those_of_meaning(codes, engine):
    opened = codes["codes"]()
    assert "ID of 9 codes. The first is its kind" in opened["introduction"]
    level = engine.index.codes(range(engine.index.n))[:, 1]
    second = {code["key"]: code["items"] for code in opened["second"]["codes"]}
    assert second == {f"*.{code}": count for code, count in enumerate(np.bincount(level))}
    assert codes["codes"]("0")["second"] is None and not codes["codes"]("0")["introduction"]


def test_a_code_that_no_item_has_says_so_and_a_wrong_one_is_one_sentence(codes):
    empty = codes["codes"]("0.200")
    assert (
        empty["empty"]
        and empty["next"] is None
        and "No item has these codes" in empty["sentences"][0]
    )
    with pytest.raises(UserError, match="is not a code"):
        codes["codes"]("hello")


def test_items_are_turned_by_page_and_chosen_by_kind(codes, engine):
    rows = matching(engine, (None, 3))
    first, second = (codes["codes"]("*.3", "pair", at)["page"] for at in (0, 1))
    assert not {tile["id"] for tile in first["tiles"]} & {tile["id"] for tile in second["tiles"]}
    assert {tile["modality"] for tile in first["tiles"] + second["tiles"]} == {"pair"}
    pairs = (engine.index.modalities[rows] == Modality.PAIR).sum()
    last = codes["codes"]("*.3", "pair", 99)["page"]
    assert (last["page"], last["pages"]) == (-(-pairs // 24) - 1, -(-pairs // 24))
    assert last["note"].endswith(f" to {pairs:,} of {pairs:,}, in the order of their IDs")
    assert [choice["name"] for choice in last["filters"] if choice["chosen"]] == ["Pair"]
    for wrong in (("x", 0), ("", -1)):
        with pytest.raises(UserError, match="There is no such page; reload the page"):
            codes["codes"]("0", *wrong)


def test_a_picture_is_guessed_from_its_codes_one_after_the_other(codes, engine):
    game = codes["codes/guess"]("1:30")
    assert game["answer"]["id"] == "1:30"
    own = engine.index.codes([30])[0].tolist()
    titles = [step["title"] for step in game["steps"]]
    assert titles[:4] == ["Nothing known", "1st code: the kind", "2nd code", "3rd code"]
    assert [step["key"] for step in game["steps"]] == [
        format_pattern(own[:at], ".") for at in range(len(titles))
    ]
    assert game["steps"][0]["code"] == "?" and game["steps"][1]["code"] == "0 Image"
    items = [step["items"] for step in game["steps"]]
    assert items == sorted(items, reverse=True) and items[0] == engine.index.n and items[-1] == 1
    by_chance = codes["codes/guess"](seed=4)
    assert by_chance["answer"]["modality"] == "image"


def test_one_code_or_the_first_is_changed(codes):
    changed = codes["codes/change"]("0.3.7", 1)
    assert changed["rows"][0]["key"] == "0.3.7" and len(changed["rows"]) > 1
    assert all(row["key"].split(".")[0] == "0" and row["tiles"] for row in changed["rows"])
    first = codes["codes/change"]("0.3", 0)["rows"]
    assert [row["key"] for row in first] == ["0.3", "1.3", "2.3"]
    for row, kind in zip(first, ("image", "text", "pair"), strict=True):
        assert {tile["modality"] for tile in row["tiles"]} == {kind}
    for wrong in (("*.3", 1), ("0.3", 2), ("0.200", 1), ("", 0)):
        with pytest.raises(UserError, match="beginning of an item’s ID"):
            codes["codes/change"](*wrong)


def test_without_an_encoder_codes_are_not_found_by_words(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "has_encoder", False)
    assert panel(SimpleNamespace(engine=engine, namer=CodeNamer(engine, tmp_path))).endpoints == []


AROUND = Relatives((0,), None, (0, 4), (0, 3, 1))


def overview(items, used, perplexity=None, siblings=9):
    following = {"codes": 5, "used": used, "perplexity": perplexity or used}
    return Overview(items, siblings, [items, 0, 0], following)


def test_sentences_say_how_a_pattern_splits():
    one_next = view.sentences((0, 3), overview(8, 1), 10)
    assert one_next == [
        "80 % of all items, 89 % of those that match 0.",
        "All have the same next code.",
    ]
    assert view.sentences((), overview(8, 4), 8) == [
        "The next code splits them into 4 groups, of similar size."
    ]
    assert "most of them small" in view.sentences((), overview(8, 4, 1.5), 8)[0]
    whole = Overview(3, 9, [3, 0, 0], None)
    assert "only re-ranking orders them" in view.sentences((0, 3), whole, 10)[1]


def summary(pattern=(0, 3), words=("boat", "sea"), fits=6, checked=8):
    """Of an open code."""
    naming = Naming(words, fits, checked)
    return view.pattern_summary(pattern, overview(8, 3), 10, True, naming, AROUND)


def test_the_panels_of_codes():
    factor = {"factor": "color", "value": "red", "share": 0.5, "elsewhere": 0.1}
    tiles = {row: {"row": row} for row in range(3)}
    health = {
        "levels": [{"level": 0, "codes": 3, "used": 2, "perplexity": 1.5}],
        **{"ids": 4, "items": 5, "items_alone": 0.6, "largest_bucket": 2, "modality_purity": 1.0},
    }
    check_golden(
        "codes",
        {
            "named": summary(),
            "mixed": summary(words=(), fits=0),
            "named by its kind": summary((0,), (), 0)["label"],
            "too few items for a name": summary(words=("boat",), fits=2, checked=2)["label"],
            "meaning": view.meaning_view(Meaning([FittingWord("dog", 3)], 4, [factor])),
            "typical": view.nearness_view(
                Nearness([(0, 0.9), (2, 0.8)], [(1, -0.1)], 3), tiles, total=5
            ),
            "one item": view.nearness_view(Nearness([(0, 1.0)], [], 1), tiles, total=1),
            "health": view.health_view(health, [(1, 3), (2, 1)], True),
        },
    )
