import shutil
from types import SimpleNamespace

import pytest

from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.reports import Report
from genius.run import Run
from genius.schema import Item, Modality
from genius.search.match import SIGNALS, record_of
from tests.collections.samples import write_source
from tests.search.tiny import publish_tiny_run
from training.demo.benchmarks import uploads
from training.demo.benchmarks.uploads import (
    belongs,
    held_out_records,
    is_in,
    main,
    rates,
    right_entries,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A tiny run, whose pictures are of the category "shoes"."""
    return publish_tiny_run(tmp_path_factory.mktemp("uploads") / "run").path


@pytest.fixture
def data(tmp_path):
    captions = ["A red boat .", "A dog in a street .", "Trees .", "A cat .", "A house ."]
    photographs = [
        {"img_path": f"{n}.png", "captions": captions, "split": "dev" if n < 6 else "train"}
        for n in range(8)
    ]
    write_source(tmp_path / "flickr8k", photographs)
    shoes = [
        {
            "img_path": f"{n}.png",
            "txt": "shoe",
            "attributes": {"articleType": "Casual Shoes"},
            "split": "dev",
        }
        for n in range(3)
    ]
    write_source(tmp_path / "fashion", shoes)
    return tmp_path


def test_answers_and_similar_pictures_are_measured_and_no_caption_or_path_is_written(
    run, data, monkeypatch
):
    monkeypatch.setattr(uploads, "category", lambda item: "shoes" if item.image else "")
    monkeypatch.setattr(uploads, "DRAWN", 2)
    weights = {f"image to {kind}": [0.0] * SIGNALS + [9.0] for kind in ("text", "image", "pair")}
    Run(run).record(match=record_of(Run(run), "cosine", weights))
    main([str(run), str(data), "--limit", "4", "--device", "cpu"])

    answers, similar, words = Report.load(run / "reports" / "uploads.json").tables
    assert [row[:2] for row in answers.rows[:2]] == [
        ["What is this?", "typed as the description"],
        ["What is this?", "as the instruction"],
    ]
    assert all(0 <= low <= rate <= high <= 1 for row in answers.rows for rate, low, high in row[2:])
    drawn = [[name, 2, 1] for name in ("noise", "flat colors", "drawn shapes")]
    assert [row[:3] for row in words.rows] == [["flickr8k", 4, 1], *drawn]
    (shoes,) = similar.rows
    assert shoes[2:5] == ["shoes", 27, 3] and shoes[7] == (1, 1, 1)  # hit@10
    for file in ("uploads.json", "uploads.md"):
        text = (run / "reports" / file).read_text(encoding="utf-8")
        assert "red boat" not in text and str(data) not in text


def test_data_without_photographs_from_outside_are_refused(run, data):
    shutil.rmtree(data / "flickr8k")
    with pytest.raises(
        UserError, match="flickr8k has no development photograph that .* has not indexed"
    ):
        main([str(run), str(data), "--device", "cpu"])


def indexed(*images: str) -> SimpleNamespace:
    """An index of items with these images."""
    items = [
        Item(f"0:{number}", Modality.IMAGE, image=image) for number, image in enumerate(images)
    ]
    return SimpleNamespace(n=len(items), items=lambda rows: [items[row] for row in rows])


def test_pictures_of_training_and_of_the_index_are_left_out(data, tmp_path):
    """The index has all pictures of two sets but their first, as `genius.collections` stores
    them.
    """
    write_source(
        data / "emoji",
        [{"img_path": f"images/{n}.png", "txt": "star", "split": "dev"} for n in range(4)],
    )
    sources = [str(data / name) for name in ("flickr8k", "emoji")]
    build(sources, tmp_path / "collection", benchmark=True)
    images = [item.image for item in Collection(tmp_path / "collection").all_candidates()]
    index = indexed(*(image for image in images if image and not image.endswith("/0.png")))
    held_out = held_out_records(data, index)
    assert {name: [record.image for record in records] for name, records in held_out.items()} == {
        "emoji": ["images/0.png"],
        "fashion": ["0.png", "1.png", "2.png"],
        "flickr8k": ["0.png"],
    }


def test_rates_count_the_first_right_result():
    figures = rates([[False, True], [True, True], [False, False], []], seed=0)
    assert [rate for rate, *_ in figures] == [0.25, 0.5, 0.5]


def test_a_similar_picture_is_right_if_its_source_has_the_category():
    hat = {"modality": Modality.IMAGE, "source": '{"category": "hat"}'}
    assert is_in(Item("0:1", image="1.png", **hat), ["cap", "hat"])
    assert not is_in(Item("0:1", text="a hat", **hat), ["hat"])  # a text
    assert not is_in(Item("0:1", Modality.IMAGE, image="1.png"), ["hat"])


def test_held_out_pictures_belong_to_a_category_by_attribute_or_by_words(data):
    photograph, shoe = (
        held_out_records(data, indexed())[name][0] for name in ("flickr8k", "fashion")
    )
    assert belongs(shoe, "articleType", ["Casual Shoes"]) and not belongs(
        shoe, "articleType", ["Caps"]
    )
    assert not belongs(photograph, "captions", ["dog"])  # one caption does not suffice
    assert belongs(photograph, "captions", ["dog", "cat"])


def test_an_entry_or_its_name_alone_is_right_for_its_class():
    judge = right_entries()
    saxophone = SimpleNamespace(attributes={"class": 776})
    right = ("Saxophone (sax): a single-reed woodwind with a conical bore.", "Saxophone", "sax")
    wrong = ("Hornbill", "A man plays a saxophone.", "")
    for text in (*right, *wrong):
        assert judge(Item("0:1", Modality.TEXT, text), saxophone) is (text in right)
