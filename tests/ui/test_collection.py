"""The Collection tab over HTTP, past the browser's own limits."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from genius.errors import UserError
from genius.schema import Query
from genius.search.editor import Editor
from genius.ui.calls import Call, caller
from genius.ui.collection import panel
from genius.ui.collection.editing import MAX_ITEMS, Editing, parse_items
from genius.ui.common.context import ServedRun
from genius.ui.security import MAX_EDITOR_UPLOAD, MAX_UPLOAD, Guard, Policy
from tests.ui.tiny_page import serving
from tests.waiting import wait_until

N = 40


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("collection") / "run", editable=True) as page:
        yield page


@pytest.fixture
def look(served):
    """What a look of the page answers."""
    return lambda path: served.client.get(f"/{path}").json()


def uploaded(served, photo, name="photo.jpg"):
    files = {"files": (name, photo.read_bytes())}
    (path,) = served.client.post("/gradio_api/upload", files=files).json()
    return {"path": path, "name": name}


def test_pictures_and_captions_come_in_and_go_out(ask, look, served, photo):
    files = [uploaded(served, photo), uploaded(served, photo, "my/beach.jpg")]
    result = ask("add_items", files=files, texts="A zebra on a tree.")["answer"]
    assert result["title"].startswith("2 items added")
    found = served.engine.search([Query("A zebra on a tree.")])[0].hits
    assert "A zebra on a tree." in [hit.item.text for hit in found]
    (contents,), added = look("collection")["tables"], look("collection/added")
    assert contents["note"].startswith("42 items, ") and "in 2 parts" in contents["note"]
    ids = [tile["id"] for tile in added["tiles"]]
    assert ids == ["1:2", "1:1"] and added["tiles"][0]["label"] == "beach.jpg"
    assert added["tiles"][0]["codes"] == served.engine.index.codes([N + 1])[0].tolist()
    assert ask("remove_items", ids=ids[0])["answer"]["title"] == "1 item removed."
    merged = "All items are in one part (segment) now."
    assert ask("merge_segments")["answer"]["title"] == merged
    outcome = ask("remove_items", ids=f"{ids[1]}, 9:9")["answer"]
    assert outcome["title"] == "1 item removed." and outcome["lines"] == ["There is no item 9:9."]
    versions, run = served.engine.snapshots, served.engine.run.path
    # what was removed is gone
    wait_until(lambda: versions.reload() or len(list(run.glob("index-*"))) == 1)
    nothing = "Nothing to do: there is one part (segment)."
    assert ask("merge_segments")["answer"]["title"] == nothing
    assert served.engine.index.n == N and look("collection/added") is None
    fit = look("collection/fit")
    assert fit["fits"] in (True, False)
    assert fit["tables"][0]["caption"] == "How well items fit their codes"


def test_a_line_says_what_became_of_the_files_of_each_kind(
    ask, served, photo, tmp_path, monkeypatch
):
    # whether or not pillow-heif is installed
    monkeypatch.setattr("genius.collections.listing.SUFFIXES", (".jpg",))
    monkeypatch.setattr("genius.collections.listing.READABLE", frozenset(["JPEG"]))
    (damaged := tmp_path / "damaged.jpg").write_bytes(photo.read_bytes()[:99])
    (phone := tmp_path / "phone.heic").write_bytes(b"0000ftypheic")
    files = [uploaded(served, photo, "new.jpg"), uploaded(served, phone, phone.name)]
    files += [uploaded(served, photo, name) for name in ("letter.pdf", "note.txt", "Thumbs.db")]
    files.append(uploaded(served, damaged, damaged.name))
    unreadable, *others = [
        "1 file: unreadable (damaged.jpg is",
        "1 file: hidden or thumbnail",
        "1 file: unsupported kind (.heic 1); to read HEIC: pip install pillow-heif",
        "2 files: not a picture (.pdf 1, .txt 1)",
    ]
    outcomes = [ask("add_items", files=files)["answer"] for _ in range(2)]
    (added,) = served.engine.index.items(range(N, N + 1))
    skipped = f"1 skipped: already in the collection (new.jpg is item {added.id})"
    expected = ("1 file: used", "1 item added"), (skipped, "Nothing was added.")
    for outcome, (found, title) in zip(outcomes, expected, strict=True):
        assert outcome["title"].startswith(title) and outcome["lines"][0] == found
        assert outcome["lines"][1].startswith(unreadable) and outcome["lines"][2:] == others
    again = ask("add_items", files=[uploaded(served, photo, "again.jpg")])["answer"]
    assert again["lines"] == [
        f"1 skipped: already in the collection (again.jpg is item {added.id}, new.jpg)"
    ]
    few = ask("add_items", files=files[1:3])["answer"]
    assert few["lines"] == [others[1], "1 file: not a picture (.pdf 1)"]
    ask("remove_items", ids=added.id)


def test_two_people_at_once_change_it_one_after_the_other(ask, served):
    with ThreadPoolExecutor(3) as people:
        names = ["Ada", "Bob", "Eve"]
        answers = people.map(
            lambda name: ask("add_items", files=[], texts=f"Written by {name}."), names
        )
        assert all("answer" in answer for answer in answers)
    added = served.engine.index.items(range(N, served.engine.index.n))
    assert sorted(item.text for item in added) == [
        "Written by Ada.",
        "Written by Bob.",
        "Written by Eve.",
    ]
    ask("remove_items", ids=" ".join(item.id for item in added))


def test_a_look_sees_one_version(look, served, monkeypatch):
    editor = Editor(served.run, served.engine)
    of = panel.datasets
    list(editor.add([("First.", None)]))

    def while_it_grows(index):
        monkeypatch.setattr(panel, "datasets", of)
        other = threading.Thread(target=lambda: list(editor.add([("Second.", None)])))
        other.start()
        other.join()
        return of(index)

    monkeypatch.setattr(panel, "datasets", while_it_grows)
    for items in (1, 2):
        assert look("collection")["tables"][0]["note"].startswith(f"{N + items} items")
    added = look("collection/added")
    assert len(added["tiles"]) == 2
    editor.remove(tile["id"] for tile in added["tiles"])


@pytest.mark.parametrize(
    "function, arguments",
    [
        ("add_items", {"files": []}),
        ("add_items", {"files": None}),
        ("add_items", {"files": [{"path": "x\0.png"}]}),
        ("add_items", {"files": [{"path": "/etc/hostname", "meta": {"_type": "gradio.FileData"}}]}),
        ("add_items", {"files": ["/etc/hostname"]}),
        ("add_items", {"files": [{"path": "http://127.0.0.1:9/x.png"}]}),
        ("remove_items", {"ids": ""}),
        ("remove_items", {"ids": None}),
        ("remove_items", {"ids": "1:1 " * 3000}),
        ("keep_changes", {"name": "../x"}),
    ],
)
def test_what_cannot_be_changes_nothing(ask, served, function, arguments):
    before = served.engine.index
    answer = ask(function, **arguments)
    assert answer["error"] and "went wrong on the server" not in answer["error"]
    assert served.engine.index is before


@pytest.mark.parametrize("page", ["-1", "x"])
def test_a_page_that_cannot_be_is_said(look, page):
    assert "error" in look(f"collection/added?page={page}")


def test_a_run_that_cannot_be_written_is_not_editable(served, monkeypatch):
    assert (
        ServedRun.read(served.run).editable is False
        and ServedRun.read(served.run, editable=True).editable
    )
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UserError, match="cannot be written"):
        ServedRun.read(served.run, editable=True)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:7860", "x-forwarded-for": "192.0.2.1"},
        {"host": "127.0.0.1:7860", "via": "1.1 proxy"},
        {"host": "[::1]:7860", "x-forwarded-host": "a.b"},
        {"host": "192.0.2.1:7860"},  # as a forwarded port leaves it
        {"host": ""},
    ],
)
def test_a_page_that_is_served_to_oneself_is_not_changed_through_a_proxy_or_another_address(
    headers,
):
    scope = {
        "method": "POST",
        "path": "/gradio_api/upload",
        "headers": [(b"host", b"127.0.0.1:7860")],
    }
    passed_on = scope | {
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()]
    }
    for own, most in ((True, MAX_UPLOAD), (False, MAX_EDITOR_UPLOAD)):
        guard = Guard(None, Policy(editable=True, own=own))
        assert (guard.max_body(scope), guard.max_body(passed_on)) == (MAX_EDITOR_UPLOAD, most)
        form = SimpleNamespace(editor=SimpleNamespace(copy=own or None))
        caller.set(Call(headers={"host": "localhost:7860"}))
        assert Editing.editor_for_caller(form) is form.editor
        caller.set(Call(headers=headers))
        with (
            pytest.raises(UserError, match="only be changed on the machine")
            if own
            else nullcontext()
        ):
            Editing.editor_for_caller(form)


def test_lines_are_the_captions_of_the_pictures_in_their_order():
    assert parse_items([*map(Path, ("a.png", "b.png", "c.png"))], "  A red dog. \n\nA boat.\n") == [
        ("A red dog.", Path("a.png")),
        ("", Path("b.png")),
        ("A boat.", Path("c.png")),
    ]
    assert (
        parse_items([Path("a.png")], None)
        == parse_items([Path("a.png")], "\n")
        == [("", Path("a.png"))]
    )


@pytest.mark.parametrize(
    "pictures, lines, said",
    [
        ([], "", "Choose pictures, write texts"),
        ([], " \n ", "Choose pictures"),
        (["a.png"], "one\ntwo", "2 lines for 1 picture"),
        ([], "x" * 10_001, "shorten it to"),
        (["a.png"], "\ud800", "invalid Unicode character"),
        ([], "a\n" * (MAX_ITEMS + 1), f"at most {MAX_ITEMS:,} at once"),
        (["a.png"] * (MAX_ITEMS + 1), "", f"at most {MAX_ITEMS:,} at once"),
    ],
)
def test_what_cannot_be_added_is_said(pictures, lines, said):
    with pytest.raises(UserError, match=said):
        parse_items(pictures, lines)
