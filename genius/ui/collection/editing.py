"""What visitors change of a collection: they add items, remove them, and merge segments."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from genius.collections.archives import find_pictures
from genius.errors import UserError
from genius.index.update import Added
from genius.schema import Query
from genius.search.checks import check_query
from genius.search.editor import Editor
from genius.ui.calls import caller, one_at_a_time
from genius.ui.collection import view
from genius.ui.common.context import Context
from genius.ui.common.formatting import count
from genius.ui.common.uploads import upload_path
from genius.ui.security import is_passed_on

MAX_ITEMS = 1_000  # that are added or removed at once
NOT_THE_OWNER = (
    "This page can only be changed on the machine that serves it, at localhost or 127.0.0.1 and "
    "without a proxy; see --editable."
)


class Editing:
    """The endpoints of the page that change its collection."""

    def __init__(self, context: Context):
        served = context.served
        self.editor = Editor(
            served.path, context.engine, served.copies and served.copies / served.name
        )
        self.calls = (
            self.add_items,
            self.remove_items,
            self.merge_segments,
            self.keep_changes,
            self.forget_changes,
        )

    def editor_for_caller(self) -> Editor:
        """Raises UserError if the page is offered to its owner alone, and the visitor may be
        another one.
        """
        call = caller.get()
        if self.editor.copy and (call is None or is_passed_on(call.headers)):
            raise UserError(NOT_THE_OWNER)
        return self.editor

    @one_at_a_time("collection")
    def add_items(self, files: list, texts: str = "") -> Iterator[dict]:
        """Add pictures, texts or both, say how far that is, and then what became of each file.

        files: uploads with their names, [{"path", "name"}]. The uploads are left to expire: an
        equal picture of another visitor is the same file.
        """
        editor = self.editor_for_caller()
        with TemporaryDirectory() as folder:
            given = named_files(files, Path(folder) / "given")
            unpacked = Path(folder) / "unpacked"
            unpacked.mkdir()
            found, others = find_pictures(given, unpacked)
            items = parse_items(found, texts) if found or not given else []
            total = Added(0, 0, 0, 0, (), ())
            start = time.monotonic()
            outcome = partial(view.add_outcome, kind="file" if given else "text", others=others)
            yield view.progress(0, len(items))
            try:
                for added in editor.add(items):
                    total += added
                    left = (time.monotonic() - start) / total.items * (len(items) - total.items)
                    yield view.progress(total.items, len(items), left)
            except UserError as error:
                if not total.items:
                    raise
                yield outcome(total) | {"error": str(error)}
                return
        yield outcome(total)

    @one_at_a_time("collection")
    def remove_items(self, ids: str) -> dict:
        """Remove items; ids: their numbers, with spaces between them."""
        asked = ids.replace(",", " ").split() if isinstance(ids, str) else []
        if not asked:
            raise UserError("Enter the numbers of the items to remove, such as 9:1234.")
        if len(asked) > MAX_ITEMS:
            raise UserError(
                f"There are {len(asked):,} numbers; remove at most {MAX_ITEMS:,} at once."
            )
        return view.remove_outcome(self.editor_for_caller().remove(asked))

    @one_at_a_time("collection")
    def merge_segments(self) -> dict:
        """Merge the segments of the index."""
        return view.compact_outcome(self.editor_for_caller().compact())

    @one_at_a_time("collection")
    def keep_changes(self, name: str) -> dict:
        """Keep the working copy as a run of this name."""
        run = self.editor_for_caller().keep(name)
        return view.message(f"Kept as {run}.", [f"Open it with: python app.py --run {run}"])

    @one_at_a_time("collection")
    def forget_changes(self) -> dict:
        """Forget the working copy."""
        self.editor_for_caller().forget()
        return view.message("All changes are forgotten; the collection is as it was.")


def named_files(files: Sequence[Any], folder: Path) -> list[Path]:
    """The uploads under the names that they have on the visitor's machine.

    Raises UserError for what is no upload.
    """
    if not isinstance(files, list):
        raise UserError("The pictures must be a list of uploads.")
    if len(files) > MAX_ITEMS:
        raise UserError(f"There are {len(files):,} files; add at most {MAX_ITEMS:,} at once.")
    named = []
    for number, file in enumerate(files):
        fields = file if isinstance(file, dict) else {}
        path = Path(upload_path(fields))
        place = folder / str(number)
        place.mkdir(parents=True)
        name = Path(str(fields.get("name") or path.name).replace("\\", "/")).name[-120:]
        linked = place / (name if name.strip(". ") else path.name)
        linked.symlink_to(path.resolve())
        named.append(linked)
    return named


def parse_items(pictures: Sequence[Path], lines: Any) -> list[tuple[str, Path | None]]:
    """(text, picture) of each item in the form: pictures with captions, or texts alone.

    Raises UserError for no item, too many, or more captions than pictures.
    """
    texts = (
        [line.strip() for line in lines.strip("\r\n").splitlines()]
        if isinstance(lines, str)
        else []
    )
    if pictures:
        if len(texts) > len(pictures):
            raise UserError(
                f"There are {len(texts):,} lines for {count(len(pictures), 'picture')}: write one "
                "caption per line, and add texts without pictures separately."
            )
        texts += [""] * (len(pictures) - len(texts))
        items: list[tuple[str, Path | None]] = [*zip(texts, pictures, strict=True)]
    else:
        items = [(text, None) for text in texts if text]
    if not items:
        raise UserError("Choose pictures, write texts, or both.")
    if len(items) > MAX_ITEMS:
        raise UserError(
            f"There are {len(items):,} items; add at most {MAX_ITEMS:,} at once, or use "
            "python -m genius.index RUN add FOLDER."
        )
    for text in filter(None, texts):
        check_query(Query(text))  # not too long, and valid Unicode
    return items
