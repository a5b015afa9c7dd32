"""A served run whose disk is full while its collection is edited: the edits are refused, and searches go on."""

from pathlib import Path

from genius.errors import UserError
from genius.schema import Query, SearchOptions
from genius.search.editor import Editor
from genius.search.engine import Engine
from tests.hostile.commands import begin
from tests.hostile.file_layer import FULL, Plan

QUERY, OPTIONS = Query(text="a red boat", instruction="Find the picture."), SearchOptions(beams=4, k=5)


def edit_while_serving(root: Path) -> None:
    engine = Engine.load(root / "run", "cpu")
    editor = Editor(root / "run", engine)
    for change in (editor.compact, lambda: editor.remove(["0:2"]), lambda: editor.add([("A green boat.", None)])):
        before = engine.search([QUERY], OPTIONS)[0].hits
        try:
            change()
            print("done")
        except UserError as error:
            print(f"refused: {error}")
            assert engine.search([QUERY], OPTIONS)[0].hits == before
    assert len(engine.search([QUERY], OPTIONS)[0].hits) == 5


def test_edits_of_a_served_run_are_refused_while_its_disk_is_full(lab, counts):
    root = lab.start("remove")
    notes = lab.folder / "calls.json"
    undisturbed = begin(edit_while_serving, root, Plan(FULL, notes=notes)).end().output
    assert undisturbed.count("done\n") == 3, undisturbed  # among lines of progress
    for at in range(len(lab.noted(notes))):
        ended = begin(edit_while_serving, lab.start("remove"), Plan(FULL, at)).end()
        assert ended.status == 0 and not ended.has_traceback, (at, ended.output)
        counts("disks", "refused in a sentence", ended.output.count("refused: "))
        counts("disks", "answered")
