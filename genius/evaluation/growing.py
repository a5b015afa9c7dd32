"""How well are items found that were added after training, against items that training saw?

    python -m genius.evaluation.growing RUN
    python -m genius.evaluation.growing RUN --collection DIR --fractions 10,30,50

Present items are those that answer a training query; added ones answer none, so the quantizer was not trained on them,
nor was the decoder unless every candidate was its own query: the report says so, and --set decoder.self_queries=false
trains one that never saw them. A grown collection holds all present items and as many added ones, drawn by seed, as
make up the fraction; where there are too few of these, all of them and fewer present ones. An added item has the ID
that indexing gives it (genius/index/growing.py), so grown collections are pools of the run's index. Prints a table and
writes RUN/reports/growing.json and .md.

Shapes: q queries.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.__main__ import positive, trained_on
from genius.evaluation.queries import QuerySet, read_queries, training_targets
from genius.evaluation.redraw import World
from genius.evaluation.systems import BATCH, Encoded, ranks_of
from genius.files import write_json, write_text
from genius.metrics.hit_rate import Qrels, bootstrap_hit_rates, headline_cut, interval
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.search.engine import EncodedQueries, Engine
from genius.trie.pool import Pool

BEAM_SYSTEMS = ("beam", "beam + re-rank")
SYSTEMS = ("dense", "quantized", *BEAM_SYSTEMS)
GROUPS = ("present", "added")  # what answers a query; one that is answered by both is left out
DRAWS = 2000  # bootstrap samples
OWN_QUERIES = """The decoder of this run learned every candidate as its own query, added ones, too, though without their
labelled queries. Train one with `--set decoder.self_queries=false` to see how items are found that it never saw."""


@dataclass(frozen=True)
class Questions:
    """The queries of all rows of a split."""

    sets: list[QuerySet]
    encoded: EncodedQueries  # q

    @classmethod
    def read(cls, engine: Engine, collection: Collection, split: str, limit: int | None, seed: int) -> Questions:
        """Encode them. limit: at most so many of a row. Raises UserError as `read_queries`."""
        sets = read_queries(collection, engine.index, split, limit=limit, seed=seed, phrasing="seeded")
        batches = [
            batch
            for queries in tqdm(sets, desc="encode queries", unit="row")
            for batch in Encoded.by(engine, queries.opened(collection, BATCH)).batches
        ]
        return cls(
            sets,
            EncodedQueries(
                None,
                torch.cat([batch.embeddings for batch in batches]),
                torch.cat([batch.z for batch in batches]),
                batches[0].milliseconds,
            ),
        )

    @cached_property
    def positives(self) -> list[np.ndarray]:
        """Index rows that answer each query."""
        return [rows for queries in self.sets for rows in np.split(queries.qrels.rows, queries.qrels.offsets[1:-1])]

    @cached_property
    def cuts(self) -> np.ndarray:
        """(q,) the first so many results count."""
        return np.repeat(
            [headline_cut(queries.row.dataset) for queries in self.sets], [len(queries) for queries in self.sets]
        )

    def answered_by(self, target: np.ndarray) -> dict[str, np.ndarray]:
        """Group -> numbers of the queries that only such items answer; target (n,) bool: present."""
        shares = np.array([target[rows].mean() if len(rows) else np.nan for rows in self.positives])
        return {"present": np.flatnonzero(shares == 1), "added": np.flatnonzero(shares == 0)}


def measure(
    engine: Engine,
    collection: Collection,
    *,
    split: str = "test",
    fractions: Sequence[int] = (10, 30, 50),
    beams: int = 50,
    limit: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The report, ready for JSON. fractions: percent of the grown collection that was added.

    Raises UserError if the index holds no items of either kind.
    """
    index, target, rng = engine.index, training_targets(collection, engine.index), np.random.default_rng(seed)
    absent, present = rng.permutation(np.flatnonzero(~target)), rng.permutation(np.flatnonzero(target))
    if not len(present) or not len(absent):
        raise UserError(
            f"of the {index.n:,} items in the index {len(present):,} answer training queries; "
            "to compare both kinds it takes some of each: index all candidates"
        )
    questions = Questions.read(engine, collection, split, limit, seed)
    collections = []
    for fraction in tqdm((0, *fractions), desc="search collections", unit="collection"):
        more = min(round(len(present) * fraction / (100 - fraction)), len(absent))
        fewer = round(more * (100 - fraction) / fraction) if more == len(absent) else len(present)
        rows = np.sort(np.concatenate([present[:fewer], absent[:more]]))
        collections.append(
            {
                "fraction": fraction,
                "items": len(rows),
                "added": more,
                "groups": _hit_rates(engine, questions, rows, target, beams, seed),
            }
        )
    return {"split": split, "beams": beams, "limit": limit, "seed": seed, "collections": collections}


def _hit_rates(
    engine: Engine, questions: Questions, rows: np.ndarray, target: np.ndarray, beams: int, seed: int
) -> dict[str, Any]:
    """Group -> figures of its queries that the collection `rows` answers; a group without any is left out."""
    pool, inside, figures = engine.index.pool(rows, engine.device), np.isin(np.arange(len(target)), rows), {}
    for group, members in questions.answered_by(target).items():
        asked = np.array([number for number in members if inside[questions.positives[number]].any()], dtype=np.int64)
        if len(asked):
            ranks = _ranks(engine, pool, rows, questions, asked, beams)
            figures[group] = {
                "queries": len(asked),
                "systems": {system: _rate(found, questions.cuts[asked], seed) for system, found in ranks.items()},
            }
    return figures


def _ranks(
    engine: Engine, pool: Pool, rows: np.ndarray, questions: Questions, asked: np.ndarray, beams: int
) -> dict[str, np.ndarray]:
    """System -> (q,) rank of the first positive of the queries with these numbers."""
    encoded = Encoded([questions.encoded.select(torch.from_numpy(asked).to(engine.device))])
    qrels = Qrels.of([questions.positives[number].tolist() for number in asked])
    return ranks_of(SYSTEMS, engine, pool, rows, encoded, qrels, beams)


def _rate(ranks: np.ndarray, cuts: np.ndarray, seed: int) -> dict[str, Any]:
    """Hit rate of queries, each at its own cut, and its 95 % interval."""
    hits = np.where(ranks <= cuts, 1, 2)
    low, high = interval(bootstrap_hit_rates(hits, 1, DRAWS, np.random.default_rng(seed)))
    return {"hit": float((hits == 1).mean()), "interval": [low, high]}


def markdown(report: dict[str, Any]) -> str:
    """The report as a page."""
    lines = [
        "# Items added after training",
        "",
        f"- `{report['command']}`",
        f"- {report['split']} queries, "
        f"{report['beams']} beams, seed {report['seed']}; hit rate at 5, at 10 for Fashion200K and FashionIQ",
        "",
        "*present*: queries answered by items that answer a training query, too. *added*: by items that answer "
        "none. *Of dense*: beam + re-rank against dense search for the same queries; the encoder behind both was "
        "trained on the present items, too.",
        "",
        *([OWN_QUERIES, ""] if report["own_queries"] else []),
        "| added | items | answered by | queries | " + " | ".join(SYSTEMS) + " | of dense |",
        "| ---: | ---: | :-- | ---: |" + " ---: |" * (len(SYSTEMS) + 1),
    ]
    for grown in report["collections"]:
        for group in (group for group in GROUPS if group in grown["groups"]):
            figures = grown["groups"][group]
            cells = [
                f"{100 * rate['hit']:.1f} [{100 * rate['interval'][0]:.1f}, {100 * rate['interval'][1]:.1f}]"
                for rate in (figures["systems"][system] for system in SYSTEMS)
            ]
            dense, found = (figures["systems"][system]["hit"] for system in ("dense", BEAM_SYSTEMS[-1]))
            lines.append(
                f"| {grown['fraction']} % | {grown['items']:,} | {group} | {figures['queries']:,} | "
                + " | ".join(cells)
                + f" | {f'{found / dense:.2f}' if dense else '–'} |"
            )
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m genius.evaluation.growing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument("--collection", type=Path, help="by default the one that the run was trained on")
    parser.add_argument("--split", choices=SPLITS[1:], default="test")
    parser.add_argument(
        "--fractions",
        default="10,30,50",
        metavar="P,P,…",
        help="percent of the grown collection that was added (default: %(default)s)",
    )
    parser.add_argument("--beams", type=int, default=50)
    parser.add_argument("--limit", type=int, metavar="N", help="ask a sample of N queries a row")
    parser.add_argument("--seed", type=int, default=0, help="of instructions, samples and intervals")
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    given = parser.parse_args(arguments)
    how = {
        "split": given.split,
        "fractions": percents(given.fractions),
        "beams": given.beams,
        "limit": positive(given.limit),
        "seed": given.seed,
    }
    keep_freed_memory()
    engine, world = Engine.load(given.run, given.device), None
    if given.collection is None:
        world = World.of(Run(given.run).manifest)
    with tempfile.TemporaryDirectory() as scratch:
        collection = (
            world.redraw(Path(scratch), given.split) if world else Collection(given.collection or trained_on(given.run))
        )
        report = {
            "command": shlex.join(["python", "-m", "genius.evaluation.growing", *arguments]),
            "run": given.run.resolve().name,
            "own_queries": learned_all(Run(given.run).manifest),
        }
        report |= measure(engine, collection, **how)
    text = markdown(report)
    write_json(given.run / "reports" / "growing.json", report)
    write_text(given.run / "reports" / "growing.md", text)
    print(text)


def learned_all(manifest: dict[str, Any]) -> bool:
    """Was every candidate its own query when the decoder was trained?"""
    return manifest.get("settings", {}).get("decoder", {}).get("self_queries", False)


def percents(text: str) -> tuple[int, ...]:
    """ "50,10" -> (10, 50). Raises UserError for what is no percentage."""
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        found = (0,)
    if not all(0 < percent < 100 for percent in found):
        raise UserError(f"--fractions {text}: expected percentages from 1 to 99 with commas, e.g. 10,30,50")
    return found


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
