"""Queries per second against the number of candidates, from the text to the results: the paper's Figure 4.

    python -m genius.evaluation.speed.throughput RUN
    python -m genius.evaluation.speed.throughput RUN --items 1000,100000 --batch 1 --rounds 5

Texts ask for images, and each system encodes them itself. Queries are texts of the run's own items with one of its
instructions. Candidates are its images; a larger collection adds IDs that begin like one of them and end like another.

    CLIP + flat           the embedding of the query, compared with all candidates by faiss
    GENIUS                encoder, fusion and the run's decoder alone, every beam decoded to the end (mode exact)
    GENIUS, fast (ours)   the same in mode fast
    GRACE's … IDs         the same search over GRACE's structured IDs (30 branches, leaves of 30, a full tree) and
                          numeric IDs (decimal digits), by a decoder of the run's size with random weights

GRACE itself writes its IDs with Flamingo-3B; here every decoder has the same size, so only the identifiers differ.
Writes RUN/reports/throughput.json and .md.

Shapes: n candidates, M levels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_beams,
    add_device,
    add_run,
    add_seed,
    command_line,
    command_parser,
    parse_integers,
    parse_positive,
)
from genius.evaluation.speed.machine import describe_machine
from genius.evaluation.speed.timed_systems import SYSTEM_BUILDERS
from genius.evaluation.speed.timing import measure_in_turns
from genius.evaluation.speed.workloads import Setup, Workload, realistic
from genius.evaluation.tables import UNKNOWN, decimals, table
from genius.files import write_report
from genius.models.decoder import IDDecoder
from genius.runtime import keep_freed_memory
from genius.schema import Modality
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.texts import query_text
from genius.trie.ids import pack
from genius.trie.pool import Pool

ITEMS = (1_000, 10_000, 100_000, 1_000_000)
BRANCHES, LEAF = 30, 30  # of GRACE's structured IDs
TEXTS = 1_000  # of the run's items that queries are drawn from
PATIENCE = 30.0  # seconds for the rounds of one system
CLIP, GENIUS, FAST = "CLIP + flat", "GENIUS", "GENIUS, fast (ours)"
STRUCTURED, NUMERIC = "GRACE's structured IDs", "GRACE's numeric IDs"
Report = dict[str, Any]


def structured_ids(n: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """(n, M) codes of a full tree, and the codes of each level; the last code is the number within its leaf."""
    depth = 0
    while LEAF * BRANCHES**depth < n:
        depth += 1
    leaf, number = np.divmod(np.arange(n), LEAF)
    path = [leaf // BRANCHES**power % BRANCHES for power in range(depth - 1, -1, -1)]
    return np.stack([*path, number], axis=1).astype(np.int32), (BRANCHES,) * depth + (LEAF,)


def numeric_ids(n: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """(n, M) decimal digits of 0 … n − 1, and the codes of each level."""
    digits = max(2, len(str(n - 1)))
    return (np.arange(n)[:, None] // 10 ** np.arange(digits - 1, -1, -1) % 10).astype(np.int32), (10,) * digits


def texts_of(engine: Engine, seed: int) -> list[str]:
    """Texts of items, each with an instruction that asks for images. Raises UserError if no item has a text."""
    index = engine.index
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(index.modalities != Modality.IMAGE))[:TEXTS]
    texts = [item.text for item in index.items(rows) if item.text]
    if not texts:
        raise UserError("no item of the run has a text, so there are no text queries; name another run")
    asks = [known.text for known in index.instructions if known[:2] == (Modality.TEXT, Modality.IMAGE)]
    return [query_text(asks[0] if asks else "", text) for text in texts]


class Throughput:
    """The systems over the first items of one workload."""

    def __init__(self, engine: Engine, beams: int, seed: int):
        """Raises UserError if the run has no text or no image."""
        self.engine, self.beams, self.seed = engine, beams, seed
        self.texts = texts_of(engine, seed)
        self.images = np.flatnonzero(engine.index.modalities == Modality.IMAGE)
        if not len(self.images):
            raise UserError("no item of the run is an image, so text queries find none; name another run")

    @torch.inference_mode()
    def encode(self, texts: list[str], fuse: bool) -> EncodedQueries:
        """The embeddings of texts, and their fused features where a decoder reads them."""
        features = self.engine.encoder.encode([None] * len(texts), texts)
        embeddings = features.embedding()
        return EncodedQueries(None, embeddings, self.engine.fusion(features) if fuse else embeddings)

    def draw(self, count: int, number: int) -> list[str]:
        """Other texts in each round."""
        rows = np.random.default_rng((self.seed, number)).integers(len(self.texts), size=count)
        return [self.texts[row] for row in rows]

    def systems(self, workload: Workload, n: int, folder: Path) -> dict[str, tuple[Callable[[list[str]], Any], int]]:
        """System -> (how it searches for texts, levels of its IDs or 0)."""
        setup = self._setup(workload, n, folder)
        levels = len(workload.decoder.config.code_sizes)
        flat, exact, fast = (SYSTEM_BUILDERS[name](setup).search for name in ("flat", "exact", "fast"))
        found = {
            CLIP: (lambda texts: flat(self.encode(texts, fuse=False)), 0),
            GENIUS: (lambda texts: exact(self.encode(texts, fuse=True)), levels),
            FAST: (lambda texts: fast(self.encode(texts, fuse=True)), levels),
        }
        for name, scheme in ((STRUCTURED, structured_ids), (NUMERIC, numeric_ids)):
            codes, sizes = scheme(n)
            rival = SYSTEM_BUILDERS["exact"](self._setup(self._random(workload, codes, sizes), n, folder)).search
            found[name] = (lambda texts, rival=rival: rival(self.encode(texts, fuse=False)), len(sizes))
        return found

    def _setup(self, workload: Workload, n: int, folder: Path) -> Setup:
        pool = Pool.build(workload.packed[:n], workload.decoder.config.code_sizes, np.arange(n), self.engine.device)
        return Setup(workload, pool, self.beams, 1.0, "float32", folder)

    def _random(self, workload: Workload, codes: np.ndarray, sizes: tuple[int, ...]) -> Workload:
        """These IDs, and a decoder of the run's size with random weights."""
        torch.manual_seed(self.seed)
        config = replace(workload.decoder.config, levels=len(sizes), sizes=sizes, geometry=False, decoder_weight=1.0)
        return replace(workload, decoder=IDDecoder(config).eval().to(self.engine.device), packed=pack(codes, sizes))


def measure(
    engine: Engine, items: tuple[int, ...], batch: int, beams: int, rounds: int, seed: int, work: Path | None = None
) -> Report:
    """The report, ready for JSON, without the command and the run's name."""
    setting = Throughput(engine, beams, seed)
    nothing = EncodedQueries(None, *(torch.zeros(1, engine.encoder.dim) for _ in range(2)))
    workload = realistic(max(items), engine, nothing, seed, setting.images)
    cells = []
    for n in items:
        with TemporaryDirectory(dir=work) as folder:
            systems = setting.systems(workload, n, Path(folder))
            searches = {name: search for name, (search, _) in systems.items()}
            times = measure_in_turns(searches, setting.draw, batch, rounds, PATIENCE)
        for name, spent in times.items():
            cells.append(
                {"system": name, "items": n, "levels": systems[name][1], "rounds": spent["rounds"]}
                | {"per_second": 1000 / spent["median"], "least": 1000 / spent["most"], "most": 1000 / spent["least"]}
            )
            print(f"{n:9,} items  {name:24s} {cells[-1]['per_second']:8.1f} queries per second", flush=True)
    parameters = sum(weights.numel() for weights in engine.decoder.parameters())
    return {
        "machine": describe_machine(engine.device),
        "beams": beams,
        "batch": batch,
        "seed": seed,
        "decoder_parameters": parameters,
        "encoder_parameters": sum(weights.numel() for weights in engine.encoder.parameters()),
        "images": len(setting.images),
        "cells": cells,
    }


def note(report: Report) -> str:
    """What was measured, in a few sentences."""
    known = report["machine"]
    return (
        f"Texts that ask for images, batches of {report['batch']}, {report['beams']} beams, from the text to the "
        "results: every system encodes the texts itself. Medians over rounds in which the systems take turns. "
        f"GENIUS's decoder has {report['decoder_parameters'] / 1e6:.1f} million parameters; those of the other "
        "identifiers have its layers and width, with the vocabularies of their own codes (the paper: T5-small for "
        "GENIUS, Flamingo-3B for GRACE). The first "
        f"{report['images']:,} candidates are the run's images, the others are recombined from them. "
        f"{known['processor']}, {known['threads']} thread{'s' * (known['threads'] > 1)}"
        + f", {known['gpu']}" * bool(known["gpu"])
        + "."
    )


def rows(report: Report) -> list[dict[str, str]]:
    """A row per system: queries per second by number of candidates, and its speed at the most against the fewest."""
    cells = {(cell["system"], cell["items"]): cell for cell in report["cells"]}
    sizes = sorted({items for _, items in cells})
    found = []
    for system in dict.fromkeys(name for name, _ in cells):
        first, last = (cells.get((system, size)) for size in (sizes[0], sizes[-1]))
        found.append(
            {"queries per second": system}
            | {f"{size:,}": decimals(cells.get((system, size), {}).get("per_second"), 1) for size in sizes}
            | {"last / first": decimals(last["per_second"] / first["per_second"] if first and last else None, 2)}
            | {"levels at the last": str(last["levels"] or UNKNOWN) if last else UNKNOWN}
        )
    return found


def markdown(report: Report) -> str:
    return "\n\n".join(["# Queries per second", f"`{report['command']}`", note(report), table(rows(report))]) + "\n"


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.speed.throughput", __doc__)
    add_run(parser)
    parser.add_argument(
        "--items",
        default=",".join(map(str, ITEMS)),
        metavar="N,N,…",
        help="numbers of candidates (default: %(default)s)",
    )
    parser.add_argument(
        "--batch",
        type=partial(parse_positive, "--batch"),
        default=32,
        help="texts searched together (default: %(default)s)",
    )
    add_beams(parser)
    parser.add_argument(
        "--rounds", type=partial(parse_positive, "--rounds"), default=5, help="per system (default: %(default)s)"
    )
    add_seed(parser, "IDs, weights and queries")
    parser.add_argument("--work", type=Path, help="directory for large temporary files")
    add_device(parser)
    options = parser.parse_args(arguments)
    items = parse_integers(options.items, "--items", 2)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device)
    command = command_line("genius.evaluation.speed.throughput", arguments)
    report = {"command": command} | measure(
        engine, items, options.batch, options.beams, options.rounds, options.seed, options.work
    )
    write_report(options.run / "reports" / "throughput", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
