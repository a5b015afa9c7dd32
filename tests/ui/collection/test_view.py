from dataclasses import replace
from pathlib import Path

from genius.index.contents import Contents, Dataset
from genius.index.drift import Buckets, DriftReport
from genius.index.update import Added, Removed
from genius.schema import Item, Modality
from genius.ui.collection import view

CONTENTS = Contents(
    1_002, [1_000, 0, 2], 2, [Dataset(3, [1_000, 0, 0], 0), Dataset(9, [0, 0, 2], 2)], (1_000, 3), 1, 3 * 2**20
)
GROWN = DriftReport(1_000, 100, 100, 0.25, 0.5, 30, {}, Buckets(1.0, 1), Buckets(1.5, 4))


def texts(row):
    return [cell["text"] for cell in row]


def test_datasets_are_told_by_name_with_the_modalities_that_there_are():
    (table,) = view.contents_view(CONTENTS, {3: "photos"})["tables"]
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
    (table,) = view.contents_view(replace(CONTENTS, added=1, removed=0), {})["tables"]
    assert table["note"].endswith("for each addition. 1 item was added after training.")


def test_one_dataset_needs_no_sum():
    one = Contents(5, [5, 0, 0], 0, [Dataset(None, [5, 0, 0], 0)], (5,), 0, 2**20)
    (table,) = view.contents_view(one, {})["tables"]
    assert [texts(row) for row in table["rows"]] == [["other items", "5", "5"]]
    assert table["columns"] == ["dataset", "items", "Image"]
    assert table["note"] == "5 items, 1.0 MB on disk."


def test_health_says_what_was_trained_and_what_came():
    (table,) = view.drift_view(GROWN)["tables"]
    assert [texts(row)[1:] for row in table["rows"]] == [
        ["1,000", "100", "1,100"],
        ["0.2500", "0.5000", ""],
        ["5.0 %", "30 %", ""],
        ["1.000", "", "1.500"],
        ["1", "", "4"],
    ]


def test_health_of_a_run_that_knows_no_errors():
    unknown = DriftReport(0, 3, 0, None, None, 0, {}, None, Buckets(1.0, 1))
    (table,) = view.drift_view(unknown)["tables"]
    assert [texts(row)[1:] for row in table["rows"]] == [
        ["0", "3", "3"],
        ["", "", ""],
        ["", "", ""],
        ["", "", "1.000"],
        ["", "", "1"],
    ]


def test_the_verdict_is_the_advice_or_that_there_is_none():
    assert view.verdict(GROWN, ["Train again."]) == {"fits": False, "sentences": ["Train again."]}
    assert view.verdict(GROWN, [])["fits"] and "fit the learned codes" in view.verdict(GROWN, [])["sentences"][0]


def test_what_became_of_additions_is_counted_and_explained():
    outcome = view.add_outcome(Added(1, 0, 2, 7, (), ("a.png is damaged", "b.png is empty")))
    assert outcome["title"] == "1 item added; the next search finds it."
    assert [(one["name"], one["number"]) for one in outcome["counts"]] == [
        ("new", "1"),
        ("skipped", "0"),
        ("duplicate", "2"),
        ("unreadable", "7"),
    ]
    assert outcome["lines"][:3] == ["Unreadable: a.png is damaged", "Unreadable: b.png is empty", "Unreadable: 5 more."]
    assert view.add_outcome(Added(0, 0, 0, 0, (), ()))["title"] == "Nothing was added."


def test_unknown_ids_are_named_but_not_all_and_not_whole():
    outcome = view.remove_outcome(Removed(2, ("x" * 500, *(f"5:{number}" for number in range(12)))))
    assert outcome["title"] == "2 items removed." and len(outcome["lines"]) == 11
    assert len(outcome["lines"][0]) < 150 and outcome["lines"][-1] == "3 more numbers were not found."
    assert view.remove_outcome(Removed(0, ("5:5",)))["title"] == "Nothing was removed."


def test_a_page_of_what_was_added():
    shown = view.added_items([7], [Item("9:1", Modality.TEXT, "A zebra.")], [None], 25, 1, 2, True)
    assert shown["total"] == "25 items" and shown["tiles"][0]["id"] == "9:1" and shown["editable"]
    assert view.added_items([], [], [], 0, 0, 0, True) is None


def test_a_page_that_may_not_edit_names_its_own_run():
    assert all(" runs/my-run" in command for command in view.read_only(Path("runs/my-run"))["commands"])
    assert all(" my-run" in command for command in view.read_only(Path("/elsewhere/my-run"))["commands"])
