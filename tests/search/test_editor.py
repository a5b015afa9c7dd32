import threading
from pathlib import Path

import pytest
from PIL import Image

from genius.errors import UserError
from genius.files import describe
from genius.index.store import Index
from genius.index.update import Added
from genius.locks import write_lock
from genius.run import Run
from genius.schema import Query, SearchOptions
from genius.search import editor as editor_module
from genius.search.editor import BATCH, Editor, folder_for_copy
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run

N = 12


@pytest.fixture
def editor(tmp_path) -> Editor:
    run = publish_tiny_run(tmp_path / "run", N).path
    return Editor(run, Engine.load(run, "cpu"))


def test_the_next_search_finds_added_items_and_no_removed_ones(editor, tmp_path):
    picture = tmp_path / "zebra.png"
    broken = tmp_path / "broken.png"
    Image.linear_gradient("L").save(picture)
    broken.write_bytes(b"no picture")
    (added,) = editor.add(
        [("A zebra on a tree.", None), ("", picture), ("A boat.", broken), ("", picture)]
    )
    assert (added.new, added.duplicate, added.unreadable) == (
        2,
        1,
        1,
    ) and "broken.png" in added.complaints[0]
    (text,) = editor.engine.search([Query("A zebra on a tree.")])[0].hits[:1]
    (shown,) = editor.engine.search([Query("", Image.open(picture).convert("RGB"))])[0].hits[:1]
    assert (text.item.id, shown.item.id) == ("1:1", "1:2")
    editor.remove(["1:1"])
    assert "1:1" not in [
        hit.item.id for hit in editor.engine.search([Query("A zebra on a tree.")])[0].hits
    ]
    assert editor.compact() and not editor.compact()
    assert editor.engine.index.config.segments == (N + 1,)
    assert Run(editor.run).folder("index") == editor.engine.index.folder


def test_a_change_during_another_change_is_refused(editor):
    with write_lock(editor.run), pytest.raises(UserError, match="is being changed already"):
        list(editor.add([("A zebra.", None)]))
    assert editor.engine.index.n == N


def test_searches_find_the_first_items_while_the_others_are_still_added(editor, monkeypatch):
    monkeypatch.setattr("genius.search.editor.AT_ONCE", 2)
    changes = editor.add([(f"A zebra {n}.", None) for n in (1, 2, 2, 3, 4)])
    assert next(changes).new == 2
    found = editor.engine.search("A zebra 1.", SearchOptions(k=9, added=True)).hits
    assert found[0].item.id == "1:1" and len(found) == 2
    assert sum(changes, start=Added(0, 0, 0, 0, (), ())) == Added(
        2, 0, 1, 0, (), (), (("A zebra 2.", "item 1:2"),)
    )
    assert [item.id for item in editor.engine.index.items(range(N, N + 4))] == [
        "1:1",
        "1:2",
        "1:4",
        "1:5",
    ]


def test_a_working_copy_is_kept_or_forgotten_and_the_run_stays_as_it_is(
    editor, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run, engine = editor.run, editor.engine
    before = describe(run)
    trained = engine.index
    editor = Editor(run, engine, tmp_path / "copies" / "run")
    with pytest.raises(UserError, match="Nothing was changed"):
        editor.keep("mine")
    for name in ("../mine", "a/b", "", ".x", "x" * 65):
        with pytest.raises(UserError, match="letters, digits"):
            editor.keep(name)
    with write_lock(run), pytest.raises(UserError, match="is being changed already"):
        list(editor.add([("A zebra.", None)]))
    assert not editor.has_copy
    list(editor.add([("A zebra on a tree.", None)]))
    editor.remove(["0:0"])
    kept = editor.keep("mine")
    assert (
        kept == Path("runs/mine")
        and Index.load(Run(kept).folder("index")).config == engine.index.config
    )
    assert (
        Engine.load(kept, "cpu").search("A zebra on a tree.").hits[0].item.text
        == "A zebra on a tree."
    )
    with pytest.raises(UserError, match="There is runs/mine already; choose another name"):
        editor.keep("mine")
    with write_lock(editor.copy), pytest.raises(UserError, match="is being changed already"):
        editor.forget()
    editor.forget()
    assert engine.index.folder == trained.folder and not engine.snapshots.reload()
    assert describe(run) == before and not list((tmp_path / "copies").iterdir())
    (added,) = editor.add([("A zebra on a tree.", None)])
    assert added.new == 1 and engine.index.folder.is_relative_to(editor.copy)


def test_a_working_copy_lies_beside_the_run_and_shares_its_files(editor):
    run = editor.run
    with folder_for_copy(run) as folder:
        copying = Editor(run, editor.engine, folder / run.name)
        list(copying.add([("A zebra.", None)]))
        assert folder.parent == run.parent
        file = Run(run).folder("encoder").relative_to(run) / "model.safetensors"
        assert (copying.copy / file).samefile(run / file)
    assert list(run.parent.iterdir()) == [run]


def test_where_nothing_can_be_written_beside_the_run_its_copy_is_a_temporary_file(
    tmp_path, monkeypatch
):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(editor_module, "written_aside", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with folder_for_copy(tmp_path / "run") as folder:
        assert folder.parent == tmp_path and folder.is_dir()
    assert not folder.exists()


def test_items_are_encoded_on_the_engines_thread_a_few_at_a_time_and_searches_go_on(
    editor, monkeypatch
):
    engine = editor.engine
    calls = []
    started = threading.Event()
    release = threading.Event()

    def forward(pixels, image_mask, *texts):
        calls.append((len(image_mask), threading.current_thread()))
        started.set()
        assert release.wait(60)
        return type(engine.encoder).forward(engine.encoder, pixels, image_mask, *texts)

    monkeypatch.setattr(engine.encoder, "forward", forward)
    found = []
    add = threading.Thread(
        target=lambda: found.extend(editor.add([(f"A zebra {n}.", None) for n in range(20)]))
    )
    search = threading.Thread(target=lambda: found.extend(engine.search([Query("A red dog.")])))
    add.start()
    assert started.wait(60)
    search.start()
    while not engine.batcher._requests.qsize():
        assert search.is_alive()
    release.set()
    add.join(60)
    search.join(60)

    sizes = [size for size, _ in calls]
    assert {thread for _, thread in calls} == {engine.batcher._thread}
    assert max(sizes) == BATCH and sizes.index(1) < len(sizes) - 1
    assert len(found) == 2 and engine.index.n == N + 20
