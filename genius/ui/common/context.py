"""What every panel receives, and what it is: looks, endpoints and work to do ahead.

Nothing of a visitor is kept: the address of the page and the arguments of a call say all.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from genius.errors import UserError
from genius.examples import Example, read_examples
from genius.explore.code_names import CodeNamer
from genius.explore.map_data import Maps, read_maps
from genius.explore.query_notes import query_notes
from genius.index.store import Index
from genius.run import Run
from genius.schema import Modality, Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.ui.common.about import About

if TYPE_CHECKING:
    from genius.ui.search.searches import Searches

ONLY_ADDED = "Only what was added since training was searched."


@dataclass(frozen=True)
class Panel:
    """What a part of the page looks at and calls.

    looks: functions for GET (look.py), by address below the run. endpoints: public functions that
    compute, from whose types and docstrings the API tab, gradio_client and MCP are made. prepare:
    what to compute before visitors ask for it. calls: endpoints of the page alone, which are not
    documented.
    """

    looks: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    endpoints: Sequence[Callable[..., Any]] = ()
    prepare: Sequence[Callable[[], object]] = ()
    calls: Sequence[Callable[..., Any]] = ()


@dataclass(frozen=True)
class ServedRun:
    """Facts about the run that is served."""

    path: Path
    collection: str = ""  # name of the training collection
    examples: tuple[Example, ...] = ()
    editable: bool = False  # visitors may add items and remove them
    # folder of a working copy that they change; None: they change the run itself
    copies: Path | None = None
    about: About = field(default_factory=About)
    run_names: tuple[str, ...] = ()  # of all runs that are served, the first one at /
    login: bool = False  # visitors sign in, and so may sign out

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @classmethod
    def read(
        cls,
        run: Path,
        editable: bool = False,
        run_names: tuple[str, ...] = (),
        copies: Path | None = None,
        login: bool = False,
    ) -> Self:
        """Raises UserError for a run that cannot be read, or cannot be written but is to be edited
        itself.
        """
        if editable and not copies and not os.access(run, os.W_OK):
            raise UserError(
                f"{run} cannot be written, so its collection cannot be edited: "
                "serve a copy that you may write, or leave --editable out"
            )
        manifest = Run(run).manifest
        collection = Path(str(manifest.get("collection", ""))).name
        about = About.read(run, manifest)
        examples = read_examples(run)
        return cls(run, collection, examples, editable, copies, about, run_names, login)


@dataclass(frozen=True)
class LastQuery:
    """A search with its answer."""

    description: str  # how to name it, e.g. “a red mug” and the picture
    query: Query  # its picture is a small copy
    options: SearchOptions
    result: SearchResult
    version: str  # of the index whose rows the result names: the name of its folder

    @property
    def encoded(self) -> EncodedQueries:
        """Its query, to be searched again."""
        result = self.result
        again = EncodedQueries.from_vectors(
            result.embedding[None], result.z[None], readings=[result.reading]
        )
        return replace(again, milliseconds=result.milliseconds)

    def check_version(self, index: Index) -> None:
        """Raise UserError if items were added or removed since, so that a row may be another."""
        if index.folder.name != self.version:
            raise UserError("The collection has changed; search again.")


@dataclass(frozen=True)
class Context:
    """What every panel receives."""

    engine: Engine
    served: ServedRun

    @cached_property
    def maps(self) -> Maps | str:
        """The maps of the run, or a sentence that says why there are none."""
        try:
            return read_maps(self.served.path) or "This run has no maps yet."
        except UserError as error:
            return str(error)

    @cached_property
    def namer(self) -> CodeNamer:
        """The names of codes."""
        return CodeNamer(self.engine, self.served.path)

    @cached_property
    def searches(self) -> "Searches":
        """The searches that the page names."""
        from genius.ui.search.searches import Searches  # which needs a context

        return Searches(self)

    def default_instruction(self, text: Any, image: object | None) -> str:
        """The run's own instruction for a query that came without one, which does not say what kind
        of result to find; none where the run reads that from the words.
        """
        if self.engine.has_reader or not (text or image):
            return ""
        offered = self.served.about.instructions_for(Modality.of(text, image))
        return next(iter(offered), "")

    def notes(self, query: Query, result: SearchResult, added: bool) -> list[str]:
        """What to know about a search, in sentences, for visitors and programs.

        added: only items that were added since training were searched.
        """
        about = self.served.about.paragraphs
        english = any("English" in paragraph for paragraph in about)
        held = next(iter(about), "")
        notes = query_notes(self.engine, query, result.match, held, english, result.reading)
        missing = f"{result.missing}; the others were too slow." if result.missing else ""
        return [*filter(None, [missing]), *[ONLY_ADDED] * added, *notes]
