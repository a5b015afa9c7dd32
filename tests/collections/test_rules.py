"""Which rows the fields of a source give, and which answers each query has."""

from pathlib import Path

from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.schema import Modality, described_picture, source_fields
from tests.collections.built import built
from tests.collections.samples import json_lines, photos, write_source, written


def test_captions_give_three_tasks_and_the_first_caption_is_not_a_candidate(tmp_path):
    records = [
        {"img_path": "a.png", "captions": ["a1", "a2", "a3"], "split": "test"},
        {"img_path": "b.png", "captions": ["b1", "b2"], "split": "test"},
    ]
    result = built(tmp_path, records)
    assert result.tasks == [0, 1, 3]
    assert result.asked(0, "test") == {
        (text, None): {("", f"{text[0]}.png")} for text in ("a1", "a2", "a3", "b1", "b2")
    }
    assert result.asked(1, "test") == {
        ("a1", None): {("a2", None), ("a3", None)},
        ("b1", None): {("b2", None)},
    }
    assert result.asked(3, "test") == {
        ("", "a.png"): {("a2", None), ("a3", None)},
        ("", "b.png"): {("b2", None)},
    }
    texts = {item.text for item in result.items.values() if item.modality is Modality.TEXT}
    assert texts == {"a2", "a3", "b2"}


def test_a_caption_that_is_also_a_candidate_is_not_a_text_query(tmp_path):
    result = built(
        tmp_path,
        [
            {"img_path": "a.png", "captions": ["same", "a2"], "split": "test"},
            {"img_path": "b.png", "captions": ["b1", "same"], "split": "test"},
        ],
    )
    assert result.asked(1, "test") == {("b1", None): {("same", None)}}
    assert result.asked(0, "test")["same", None] == {("", "a.png"), ("", "b.png")}


def test_titles_and_attributes_give_queries_for_images_texts_and_pairs(tmp_path):
    red = {"shape": "square", "baseColour": "Red"}
    blue = {"shape": "square", "baseColour": "Blue"}
    result = built(
        tmp_path,
        [
            {"img_path": "a.png", "txt": "a square", "attributes": red, "split": "test"},
            {"img_path": "b.png", "txt": "a square", "attributes": blue, "split": "test"},
            {"img_path": "c.png", "txt": "another", "attributes": red, "split": "test"},
            {"img_path": "d.png", "split": "test"},
        ],
    )
    assert result.tasks == [0, 2, 3]
    assert result.asked(0, "test") == {
        ("a square", None): {("", "a.png"), ("", "b.png")},
        ("another", None): {("", "c.png")},
    }
    assert result.asked(3, "test") == {
        ("", "a.png"): {("a square", None)},
        ("", "b.png"): {("a square", None)},
        ("", "c.png"): {("another", None)},
    }
    sentences = result.asked(2, "test")
    assert sorted(map(sorted, sentences.values())) == [
        [("a square", "a.png"), ("another", "c.png")],
        [("a square", "b.png")],
    ]
    assert all("square" in sentence.lower() for sentence, _ in sentences)
    assert any("red" in sentence.lower() for sentence, _ in sentences)
    assert len([item for item in result.items.values() if item.modality is Modality.IMAGE]) == 4


def test_query_sentences_use_keywords_if_there_are_any(tmp_path):
    facts = {"keywords": ["night_bird", "wise"], "char": "🦉"}
    result = built(
        tmp_path, [{"img_path": "a.png", "txt": "owl", "split": "test", "attributes": facts}]
    )
    ((sentence, _),) = result.asked(2, "test")
    assert "ight bird, wise" in sentence and "🦉" not in sentence


def test_attributes_without_texts_give_image_queries(tmp_path):
    result = built(
        tmp_path, [{"img_path": f"{name}.png", "colour": "red", "split": "test"} for name in "ab"]
    )
    assert result.tasks == [0]
    assert list(result.asked(0, "test").values()) == [{("", "a.png"), ("", "b.png")}]


def test_equal_answers_are_one_candidate(tmp_path):
    two = [{"q": "What?", "a": "A dog."}, {"q": "Where?", "a": "Outside."}]
    one = [{"q": "Who?", "a": "A dog."}]
    result = built(
        tmp_path,
        [
            {"img_path": "a.png", "split": "test", "qa": two},
            {"img_path": "b.png", "split": "test", "qa": one},
        ],
    )
    assert result.tasks == [6] and len(result.items) == 2
    assert result.asked(6, "test") == {
        ("What?", "a.png"): {("A dog.", None)},
        ("Who?", "b.png"): {("A dog.", None)},
        ("Where?", "a.png"): {("Outside.", None)},
    }


def test_photographs_query_the_iconic_image_of_their_class_its_text_and_both(tmp_path):
    def of_kind(name, kind, number, split):
        facts = {"kind": kind, "class_id": number}
        return {"img_path": name, "txt": f"text {number}", "split": split, "attributes": facts}

    result = built(
        tmp_path,
        [
            of_kind("i0.png", "iconic", 0, "candidates"),
            of_kind("i1.png", "iconic", 1, "candidates"),
            of_kind("n0.png", "natural", 0, "test"),
            of_kind("n1.png", "natural", 1, "dev"),
        ],
    )
    assert result.tasks == [4, 6, 8]
    assert result.asked(4, "test") == {
        ("", "n0.png"): {("", "i0.png")},
        ("", "n1.png"): {("", "i1.png")},
    }
    for task, image in ((6, None), (8, "i{}.png")):
        found = sorted(map(list, result.asked(task, "test").values()))
        assert found == [[(f"text {n}", image and image.format(n))] for n in (0, 1)]
    assert all(text.endswith("?") for text, _ in result.asked(6, "test"))
    assert result.pools["train"] == result.pools["val"] == result.pools["test"] == set(result.items)


def test_an_iconic_image_of_training_is_also_in_the_pool_of_a_test_query_that_has_no_other(
    tmp_path,
):
    records = [
        {"img_path": "i.png", "txt": "text", "split": "train", "kind": "iconic", "class_id": 0},
        {"img_path": "n.png", "split": "test", "kind": "natural", "class_id": 0},
    ]
    result = built(tmp_path, records)
    assert result.asked(4, "test") == {("", "n.png"): {("", "i.png")}}
    assert result.pools["train"] == result.pools["test"] == set(result.items)


def test_a_composed_pair_belongs_to_the_split_of_its_target(tmp_path):
    splits = {"t1": "train", "t2": "train", "v1": "val", "d1": "test", "d2": "test"}
    records = [
        {"id": name, "img_path": f"{name}.png", "txt": name, "split": splits[name]}
        for name in splits
    ]
    pairs = [
        {"query_id": pair[:2], "txt": "other", "target_id": pair[2:]}
        for pair in ("t1t2", "t1d1", "d1t1", "d1d2", "d2v1", "t2v1")
    ]
    result = built(tmp_path, records, pairs)  # d1t1 and d2v1 start from a test image
    assert result.asked(7, "train") == {("other", "t1.png"): {("", "t2.png")}}
    assert result.asked(7, "val") == {("other", "t2.png"): {("", "v1.png")}}
    assert result.asked(7, "test") == {
        ("other", "t1.png"): {("", "t2.png"), ("", "d1.png")},
        ("other", "d1.png"): {("", "d2.png")},
    }


def test_a_composed_pair_of_an_unreadable_image_is_left_out(tmp_path):
    pairs = [
        {"query_id": f"{one}.png", "txt": "other", "target_id": f"{other}.png"}
        for one, other in ("ab", "cb", "ac")
    ]
    source = photos(tmp_path / "source", "a.png", "b.png")
    written(source, {"c.png": b"no image", "cir_pairs.jsonl": json_lines(pairs)})
    (row,) = build([str(source)], tmp_path / "built", benchmark=True)
    assert row.task == 7 and "1 file: unreadable" in str(row)


def test_identical_images_are_equal_positives_but_test_images_are_not_in_training(tmp_path):
    records = [
        {"img_path": "train.png", "txt": "one", "split": "train"},
        {"img_path": "twin.png", "txt": "two", "split": "test"},
        {"img_path": "val.png", "txt": "three", "split": "val"},
    ]
    result = built(tmp_path, records, shades={"train.png": 5, "twin.png": 5, "val.png": 5})
    assert result.asked(0, "train")["one", None] == {("", "train.png")}
    assert result.asked(0, "val")["three", None] == {("", "train.png"), ("", "val.png")}
    assert result.asked(0, "test")["two", None] == {
        ("", "train.png"),
        ("", "twin.png"),
        ("", "val.png"),
    }


def test_a_caption_names_the_picture_that_it_describes(tmp_path):
    records = [
        {"img_path": f"{n}.png", "captions": [f"first {n}", f"second {n}", "a dog"]}
        for n in range(3)
    ]
    write_source(tmp_path / "source", records)
    build([str(tmp_path / "source")], tmp_path / "built")
    items = list(Collection(tmp_path / "built").all_candidates())
    named = {
        item.text: Path(described_picture(item.source)).name
        for item in items
        if item.text and not item.image
    }
    of_one = {f"{place} {n}": f"{n}.png" for place in ("first", "second") for n in range(3)}
    assert named == of_one | {"a dog": ""}, "a text of several pictures is no caption of one"
    assert not any(source_fields(item.source) for item in items if item.text)
