"""Results of searches on disk, so that an evaluation that was stopped goes on where it was.

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
from zipfile import BadZipFile

import numpy as np

from genius.evaluation.queries import QuerySet
from genius.evaluation.systems import BeamStatistics, RowResults
from genius.files import written_aside

SEPARATOR = "|"  # in the names of arrays; no system has it in its name


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
        file = self.folder / f"{self._digest(queries, rows, settings)}.npz"
        try:
            with np.load(file) as arrays:
                return read_results(dict(arrays))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            results = search()
        try:
            with written_aside(file) as aside:
                with aside.open("wb") as stream:
                    np.savez(stream, **as_arrays(results))
                aside.replace(file)
        except OSError:  # the report can still be printed
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


def as_arrays(results: dict[int, RowResults]) -> dict[str, np.ndarray]:
    """What `read_results` reads, for a file of arrays."""
    arrays = {"milliseconds": np.array(json.dumps({beams: found.milliseconds for beams, found in results.items()}))}
    for beams, found in results.items():
        for system, ranks in found.ranks.items():
            arrays[SEPARATOR.join((str(beams), "ranks", system))] = ranks
        for system, statistics in found.beams.items():
            for one in fields(BeamStatistics):
                if (value := getattr(statistics, one.name)) is not None:
                    arrays[SEPARATOR.join((str(beams), one.name, system))] = value
    return arrays


def read_results(arrays: dict[str, np.ndarray]) -> dict[int, RowResults]:
    """The results that `as_arrays` made arrays of. Raises KeyError or ValueError for what it did not make."""
    milliseconds = json.loads(str(arrays.pop("milliseconds")))
    ranks: dict[int, dict[str, np.ndarray]] = {int(beams): {} for beams in milliseconds}
    statistics: dict[int, dict[str, dict[str, np.ndarray]]] = {int(beams): {} for beams in milliseconds}
    for name, array in arrays.items():
        beams, what, system = name.split(SEPARATOR)
        if what == "ranks":
            ranks[int(beams)][system] = array
        else:
            statistics[int(beams)].setdefault(system, {})[what] = array
    return {
        beams: RowResults(
            ranks[beams],
            milliseconds[str(beams)],
            {
                system: BeamStatistics(**{one.name: found.get(one.name) for one in fields(BeamStatistics)})
                for system, found in statistics[beams].items()
            },
        )
        for beams in ranks
    }
