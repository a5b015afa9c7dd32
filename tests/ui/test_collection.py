"""The Collection tab over HTTP, past the browser's own limits."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from genius.errors import UserError
from genius.schema import Query
from genius.search.editor import Editor
from genius.ui.collection import layout
from genius.ui.collection.editing import MAX_ITEMS, EditingForm, parse_items
from genius.ui.common.context import ServedRun
from genius.ui.security import MAX_EDITOR_UPLOAD, MAX_UPLOAD, Guard, Policy
from tests.ui.tiny_page import serving
from tests.waiting import wait_until

N = 40


def remove(ask, text):
    return ask("on_ids", text)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("collection") / "run", editable=True) as page:
        yield page


def uploaded(served, photo, name="photo.jpg"):
    files = {"files": (name, photo.read_bytes())}
    (path,) = httpx.post(f"{served.url}/gradio_api/upload", files=files, trust_env=False, timeout=60).json()
    return {"path": path, "meta": {"_type": "gradio.FileData"}}


def test_pictures_and_captions_come_in_and_go_out(ask, served, photo):
    answer = ask("on_add", [uploaded(served, photo), uploaded(served, photo)], "A zebra on a tree.")
    result, _, pictures, lines, changed = answer["output"]["data"]
    assert result["title"].startswith("2 items added") and (pictures, lines) == (None, "") and changed
    found = served.engine.search([Query("A zebra on a tree.")])[0].hits
    assert "A zebra on a tree." in [hit.item.text for hit in found]
    contents, added = ask("on_contents")["output"]["data"]
    assert contents["tables"][0]["note"].startswith("42 items, ") and "in 2 parts" in contents["tables"][0]["note"]
    ids = [tile["id"] for tile in added["tiles"]]
    assert ids == ["1:2", "1:1"] and added["tiles"][0]["codes"] == served.engine.index.codes([N + 1])[0].tolist()
    assert ask("on_take_out", event={"id": ids[0]})["output"]["data"][0]["title"] == "1 item removed."
    assert ask("on_compact")["output"]["data"][0]["title"] == "All items are in one part (segment) now."
    outcome, text, changed = remove(ask, f"{ids[1]}, 9:9")["output"]["data"]
    assert outcome["title"] == "1 item removed." and outcome["lines"] == ["There is no item 9:9."]
    assert text == "" and changed
    versions, run = served.engine.versions, served.engine.run.path
    wait_until(lambda: versions.reload() or len(list(run.glob("index-*"))) == 1)  # what was removed is gone
    assert ask("on_compact")["output"]["data"][0]["title"] == "Nothing to do: there is one part (segment)."
    assert served.engine.index.n == N and ask("on_contents")["output"]["data"][1] is None
    verdict, drift = ask("on_fit")["output"]["data"]
    assert verdict["fits"] in (True, False) and drift["tables"][0]["caption"] == "How well items fit their codes"


def test_a_line_says_what_became_of_the_files_of_each_kind(ask, served, photo, tmp_path, monkeypatch):
    monkeypatch.setattr("genius.collections.listing.SUFFIXES", (".jpg",))  # whether or not pillow-heif is installed
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
    for found, title in (("used", "1 item added"), ("copy of another (new.jpg)", "Nothing was added.")):
        outcome = ask("on_add", files, "")["output"]["data"][0]
        assert outcome["title"].startswith(title) and outcome["lines"][0] == f"1 file: {found}"
        assert outcome["lines"][1].startswith(unreadable) and outcome["lines"][2:] == others
    assert ask("on_add", files[1:3], "")["output"]["data"][0]["lines"] == [others[1], "1 file: not a picture (.pdf 1)"]
    (added,) = served.engine.index.items(range(N, N + 1))
    remove(ask, added.id)


def test_two_people_at_once_change_it_one_after_the_other(ask, served):
    with ThreadPoolExecutor(3) as people:
        answers = list(people.map(lambda name: ask("on_add", [], f"Written by {name}."), ["Ada", "Bob", "Eve"]))
    assert all(answer["success"] for answer in answers)
    added = served.engine.index.items(range(N, served.engine.index.n))
    assert sorted(item.text for item in added) == ["Written by Ada.", "Written by Bob.", "Written by Eve."]
    remove(ask, " ".join(item.id for item in added))


def test_a_callback_sees_one_version(ask, served, monkeypatch):
    editor, of = Editor(served.run, served.engine), layout.datasets
    list(editor.add([("First.", None)]))

    def while_it_grows(index):
        monkeypatch.setattr(layout, "datasets", of)
        other = threading.Thread(target=lambda: list(editor.add([("Second.", None)])))
        other.start()
        other.join()
        return of(index)

    monkeypatch.setattr(layout, "datasets", while_it_grows)
    for items in (1, 2):
        contents, added = ask("on_contents")["output"]["data"]
        assert contents["tables"][0]["note"].startswith(f"{N + items} items") and len(added["tiles"]) == items
    editor.remove(tile["id"] for tile in added["tiles"])


@pytest.mark.parametrize(
    "function, data, event",
    [
        ("on_add", ([], ""), None),
        ("on_add", ([{"path": "/etc/hostname", "meta": {"_type": "gradio.FileData"}}], ""), None),
        ("on_add", ([{"path": "/etc/hostname"}], ""), None),
        ("on_add", ("/etc/hostname", ""), None),
        ("on_add", ([{"path": "http://127.0.0.1:9/x.png", "meta": {"_type": "gradio.FileData"}}], ""), None),
        ("on_ids", ("",), None),
        ("on_ids", (None,), None),
        ("on_ids", ("1:1 " * 3000,), None),
        ("on_turn", (), {"page": -1}),
        ("on_turn", (), {"page": "0"}),
        ("on_turn", (), {}),
    ],
)
def test_what_cannot_be_changes_nothing(ask, served, function, data, event):
    before, answer = served.engine.index, ask(function, *data, event=event)
    assert not answer["success"] and "Traceback" not in str(answer) and served.engine.index is before


def test_a_run_that_cannot_be_written_is_not_editable(served, monkeypatch):
    assert ServedRun.read(served.run).editable is False and ServedRun.read(served.run, editable=True).editable
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
def test_a_page_that_is_served_to_oneself_is_not_changed_through_a_proxy_or_another_address(headers):
    scope = {"method": "POST", "path": "/gradio_api/upload", "headers": [(b"host", b"127.0.0.1:7860")]}
    passed_on = scope | {"headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    for own, most in ((True, MAX_UPLOAD), (False, MAX_EDITOR_UPLOAD)):
        guard = Guard(None, Policy(editable=True, own=own))
        assert (guard.max_body(scope), guard.max_body(passed_on)) == (MAX_EDITOR_UPLOAD, most)
        form = SimpleNamespace(editor=SimpleNamespace(copy=own or None))
        assert EditingForm.editor_for(form, SimpleNamespace(headers={"host": "localhost:7860"})) is form.editor
        with pytest.raises(UserError, match="only be changed on the machine") if own else nullcontext():
            EditingForm.editor_for(form, SimpleNamespace(headers=headers))


def test_lines_are_the_captions_of_the_pictures_in_their_order():
    assert parse_items([*map(Path, ("a.png", "b.png", "c.png"))], "  A red dog. \n\nA boat.\n") == [
        ("A red dog.", Path("a.png")),
        ("", Path("b.png")),
        ("A boat.", Path("c.png")),
    ]
    assert parse_items([Path("a.png")], None) == parse_items([Path("a.png")], "\n") == [("", Path("a.png"))]


@pytest.mark.parametrize(
    "pictures, lines, said",
    [
        ([], "", "Choose pictures, write texts"),
        ([], None, "Choose pictures"),
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
