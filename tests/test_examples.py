import json

import pytest
from PIL import Image

from genius.errors import UserError
from genius.examples import TargetedInstruction, read_examples
from genius.schema import Modality, Query

FIND = {"instruction": "Find one.", "target": "image"}


def written(run, *records):
    folder = run / "examples"
    folder.mkdir(exist_ok=True)
    Image.new("RGB", (8, 8), "teal").save(folder / "1.webp")
    (folder / "examples.json").write_text(json.dumps(records))
    return run


def test_a_run_need_not_have_any(tmp_path):
    assert read_examples(tmp_path) == ()


def test_text_picture_and_instructions_are_read(tmp_path):
    one, two = read_examples(
        written(
            tmp_path,
            {"title": "A", "text": "a mug", "asked": [FIND]},
            {
                "title": "B",
                "picture": "1.webp",
                "asked": [FIND, {"instruction": "Find its page.", "target": "image,text"}],
            },
        )
    )
    assert (one.title, one.modality, one.queries) == (
        "A",
        Modality.TEXT,
        [Query("a mug", None, "Find one.")],
    )
    assert two.modality == Modality.IMAGE and two.picture.size == (8, 8)
    assert two.instructions == (
        TargetedInstruction("Find one.", Modality.IMAGE),
        TargetedInstruction("Find its page.", Modality.PAIR),
    )
    assert [query.instruction for query in two.queries] == ["Find one.", "Find its page."]


@pytest.mark.parametrize(
    "record, reason",
    [
        ("a mug", "0: Input should be an object"),
        ({"title": "A", "asked": [FIND]}, "a text or an image"),
        ({"text": "a", "asked": [FIND]}, "0.title: Field required"),
        ({"title": "", "text": "a", "asked": [FIND]}, "0.title: String should have at least 1"),
        ({"title": "A", "text": "a", "asked": []}, "0.asked: Tuple should have at least 1 item"),
        (
            {"title": "A", "text": "a", "asked": [FIND] * 4},
            "0.asked: Tuple should have at most 3 items",
        ),
        (
            {"title": "A", "text": "a", "asked": [{"instruction": "Find one.", "target": "photo"}]},
            "'photo' is unknown",
        ),
        (
            {"title": "A", "text": "x" * 301, "asked": [FIND]},
            "0.text: String should have at most 300",
        ),
        ({"title": "A", "picture": "../1.webp", "asked": [FIND]}, "0.picture: String should match"),
    ],
)
def test_what_cannot_be_shown_gets_one_sentence_that_names_the_file(tmp_path, record, reason):
    with pytest.raises(UserError, match=reason) as caught:
        read_examples(written(tmp_path, record))
    assert "examples.json cannot be shown" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name, content", [("2.webp", "no picture"), ("..", None), ("3.webp", None)]
)
def test_a_picture_that_is_none_is_named(tmp_path, name, content):
    written(tmp_path, {"title": "A", "picture": name, "asked": [FIND]})
    if content:
        (tmp_path / "examples" / name).write_text(content)
    with pytest.raises(UserError, match=name):
        read_examples(tmp_path)


@pytest.mark.parametrize("content", [None, "{", "{}", json.dumps([{}] * 25)])
def test_a_list_that_is_missing_or_none_gets_one_sentence(tmp_path, content):
    file = written(tmp_path) / "examples" / "examples.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(UserError, match="cannot be shown"):
        read_examples(tmp_path)
