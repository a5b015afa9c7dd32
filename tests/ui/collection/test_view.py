from pathlib import Path

from genius.index.contents import Contents, Dataset
from genius.index.drift import Buckets, DriftReport
from genius.index.update import Added, Removed
from genius.schema import Item, Modality
from genius.ui.collection import view

HELD = Contents(
    1_002, [1_000, 0, 2], 2, [Dataset(3, [1_000, 0, 0], 0), Dataset(9, [0, 0, 2], 2)], (1_000, 3), 1, 3 * 2**20
)
GROWN = DriftReport(1_000, 100, 100, 0.25, 0.5, 30, {}, Buckets(1.0, 1), Buckets(1.5, 4))


def texts(row):
    return [cell["text"] for cell in row]


def test_datasets_are_told_by_name_with_the_modalities_that_there_are():
    (table,) = view.held(HELD, {3: "photos"})["tables"]
    assert table["columns"] == ["dataset", "items", "Image", "Pair", "added since"]
    assert [texts(row) for row in table["rows"]] == [
        ["photos", "1,000", "1,000", "0", "0"],
        ["dataset 9, added", "2", "0", "2", "2"],
        ["all", "1,002", "1,000", "2", "2"],
    ]
    assert table["note"] == (
        "1,002 items, 3.0 MB on disk in 2 parts (segments), one for each addition. 2 items were added after training. "
        "1 removed item still takes up space."
    )


def test_one_dataset_needs_no_sum():
    one = Contents(5, [5, 0, 0], 0, [Dataset(None, [5, 0, 0], 0)], (5,), 0, 2**20)
    (table,) = view.held(one, {})["tables"]
    assert [texts(row) for row in table["rows"]] == [["other ids", "5", "5"]]
    assert table["columns"] == ["dataset", "items", "Image"]
    assert table["note"] == "5 items, 1.0 MB on disk."


def test_health_says_what_was_trained_and_what_came():
    (table,) = view.health(GROWN)["tables"]
    assert [texts(row)[1:] for row in table["rows"]] == [
        ["1,000", "100", "1,100"],
        ["0.2500", "0.5000", ""],
        ["5.0 %", "30 %", ""],
        ["1.000", "", "1.500"],
        ["1", "", "4"],
    ]


def test_health_of_a_run_that_knows_no_errors():
    unknown = DriftReport(0, 3, 0, None, None, 0, {}, None, Buckets(1.0, 1))
    (table,) = view.health(unknown)["tables"]
    assert [texts(row)[1:] for row in table["rows"]] == [
        ["0", "3", "3"],
        ["", "", ""],
        ["", "", ""],
        ["", "", "1.000"],
        ["", "", "1"],
    ]


def test_the_verdict_is_the_advice_or_that_there_is_none():
    assert view.verdict(GROWN, ["Train again."]) == {"well": False, "sentences": ["Train again."]}
    assert view.verdict(GROWN, [])["well"] and "fit the learned codes" in view.verdict(GROWN, [])["sentences"][0]


def test_what_became_of_additions_is_counted_and_explained():
    said = view.added(Added(1, 0, 2, 7, (), ("a.png is damaged", "b.png is empty")))
    assert said["title"] == "1 item added; the next search finds it."
    assert [(one["name"], one["number"]) for one in said["counts"]] == [
        ("new", "1"),
        ("skipped", "0"),
        ("duplicate", "2"),
        ("unreadable", "7"),
    ]
    assert said["lines"][:3] == ["Unreadable: a.png is damaged", "Unreadable: b.png is empty", "Unreadable: 5 more."]
    assert view.added(Added(0, 0, 0, 0, (), ()))["title"] == "Nothing was added."


def test_unknown_ids_are_named_but_not_all_and_not_whole():
    said = view.removed(Removed(2, ("x" * 500, *(f"5:{number}" for number in range(12)))))
    assert said["title"] == "2 items removed." and len(said["lines"]) == 11
    assert len(said["lines"][0]) < 150 and said["lines"][-1] == "3 more ids were not found."
    assert view.removed(Removed(0, ("5:5",)))["title"] == "Nothing was removed."


def test_a_page_of_what_was_added():
    shown = view.listed([7], [Item("9:1", Modality.TEXT, "A zebra.")], [None], 25, 1, 2, True)
    assert shown["total"] == "25 items" and shown["tiles"][0]["id"] == "9:1" and shown["editable"]
    assert view.listed([], [], [], 0, 0, 0, True) is None


def test_a_closed_page_names_its_own_run():
    assert all(" runs/my-run" in command for command in view.closed(Path("runs/my-run"))["commands"])
    assert all(" my-run" in command for command in view.closed(Path("/elsewhere/my-run"))["commands"])
