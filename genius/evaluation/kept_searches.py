"""Results of searches on disk, so that an evaluation that was stopped can be resumed.

A file holds what the queries of one row found in one pool. It is used by an evaluation of the same run with the same
options; pictures count by their names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from genius.evaluation.queries import QuerySet
from genius.evaluation.systems import BeamStatistics, RowResults
from genius.files import written_aside
from genius.reading import check_tensor_size


class KeptSearches:
    """The results in one folder."""

    def __init__(self, folder: Path | None, facts: Any = None):
        """folder: None keeps nothing. facts: ready for JSON, all that results depend on beside queries and pool."""
        self.folder, self.facts = folder, json.dumps(facts, sort_keys=True, default=str)

    def get(
        self, queries: QuerySet, rows: np.ndarray, settings: Sequence[int], search: Callable[[], dict[int, RowResults]]
    ) -> dict[int, RowResults]:
        """Beam size -> results of these queries in the pool of these index rows: the kept ones, or those of `search`.

        settings: what the results depend on beside the facts.
        A folder that cannot be written keeps nothing, and a file that cannot be read is searched for again.
        """
        if self.folder is None:
            return search()
        file = self.folder / f"{self._digest(queries, rows, settings)}.safetensors"
        try:
            return read_results(file)
        except (OSError, ValueError, KeyError, SafetensorError):
            results = search()
        try:
            with written_aside(file) as aside:
                save_results(aside, results)
                aside.replace(file)
        except (OSError, SafetensorError):  # the report can still be printed
            self.folder = None
        return results

    def _digest(self, queries: QuerySet, rows: np.ndarray, settings: Sequence[int]) -> str:
        digest = hashlib.sha256(self.facts.encode())
        asked = [
            (query.id, query.text, query.image, instruction)
            for query, instruction in zip(queries.queries, queries.instructions, strict=True)
        ]
        digest.update(json.dumps([asked, list(settings)]).encode())
        for array in (queries.qrels.offsets, queries.qrels.rows, rows):
            digest.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        return digest.hexdigest()


def save_results(file: Path, results: dict[int, RowResults]) -> None:
    """Write what `read_results` reads. Raises OSError or SafetensorError if it cannot be written."""
    arrays, contents = {}, {}
    for beams, found in results.items():
        contents[beams] = {"ranks": [*found.ranks], "beams": [*found.beams], "milliseconds": found.milliseconds}
        for system, ranks in found.ranks.items():
            arrays[_name(beams, system, "ranks")] = np.ascontiguousarray(ranks)
        for system, statistics in found.beams.items():
            for one in fields(statistics):
                if (value := getattr(statistics, one.name)) is not None:
                    arrays[_name(beams, system, one.name)] = np.ascontiguousarray(value)
    save_file(arrays, file, metadata={"contents": json.dumps(contents)})


def read_results(file: Path) -> dict[int, RowResults]:
    """The results that `save_results` wrote. Raises OSError, ValueError, KeyError or SafetensorError if it did not."""
    check_tensor_size(file)
    with safe_open(file, framework="np") as stored:
        contents = json.loads((stored.metadata() or {})["contents"])
        arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 -- it cannot be iterated
    return {
        int(beams): RowResults(
            {system: arrays[_name(beams, system, "ranks")] for system in held["ranks"]},
            held["milliseconds"],
            {
                system: BeamStatistics(*(arrays.get(_name(beams, system, one.name)) for one in fields(BeamStatistics)))
                for system in held["beams"]
            },
        )
        for beams, held in contents.items()
    }


def _name(beams: int | str, system: str, what: str) -> str:
    return f"{beams} {what} {system}"
