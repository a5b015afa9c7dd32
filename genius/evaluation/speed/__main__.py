"""Time the search of IDs against transformers' `generate` and dense search; writes OUT/speed.json, .md and .svg.

    python -m genius.evaluation.speed OUT
    python -m genius.evaluation.speed OUT --run RUN        also realistic IDs, and equal hit rate on the run's queries
    python -m genius.evaluation.speed OUT --items 10000 --ids uniform --systems "generate;exact;set;fast"

The report is written after every step, so that an interrupted benchmark keeps its results.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import torch
import transformers

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_beams,
    add_collection_and_device,
    add_fast_dtype,
    add_seed,
    command_line,
    command_parser,
    parse_integers,
    parse_positive,
    run_collection,
)
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.speed.agreement import agreement, certified_shares
from genius.evaluation.speed.equal_hit_rate import LIMIT, measure_at_equal_hit_rate
from genius.evaluation.speed.index_cost import measure_index_cost
from genius.evaluation.speed.roofline import matrix_rate, search_operations
from genius.evaluation.speed.speed_report import draw_figure, markdown
from genius.evaluation.speed.timed_systems import BUILDERS, TimedSystem
from genius.evaluation.speed.timing import measure_in_turns
from genius.evaluation.speed.workloads import Setup, Workload, realistic, uniform
from genius.files import write_json, write_text
from genius.models.decoder import DecoderConfig
from genius.runtime import keep_freed_memory, usable_device
from genius.schema import FAST_DTYPES
from genius.search.engine import Engine
from genius.trie.pool import Pool
from genius.trie.trie import Trie

KINDS = ("uniform", "realistic")
GPU_BATCHES = (1, 64, 512)
MAX_CERTIFIED = 1_000_000  # items up to which certificates are measured
COUNTED = 16  # queries over which the beams scored are averaged


@dataclass(frozen=True)
class SpeedOptions:
    """What to measure."""

    items: tuple[int, ...] = (10_000, 100_000, 1_000_000, 5_600_000)
    batches: tuple[int, ...] = (1, 32)
    ids: tuple[str, ...] = KINDS
    systems: tuple[str, ...] = tuple(BUILDERS)
    max_items: tuple[tuple[str, int], ...] = (("HNSW", 100_000), ("IVF-PQ", 1_000_000))  # to build a system for
    rounds: int = 9
    patience: float = 20.0  # seconds after which a system gets no more rounds
    beams: int = 50
    decoder_weight: float = 1.0
    fast_dtype: str = FAST_DTYPES[0]  # of the decoder in mode fast
    seed: int = 0


class Benchmark:
    """Measures step by step, and writes the report after each."""

    def __init__(self, options: SpeedOptions, out: Path, work: Path | None, device: torch.device, command: str):
        self.options, self.out, self.work, self.device = options, out, work, device
        for folder in filter(None, (out, work)):
            folder.mkdir(parents=True, exist_ok=True)
        self.report: dict[str, Any] = {
            "command": command,
            "machine": machine(device),
            "beams": options.beams,
            "seed": options.seed,
            "decoder_weight": options.decoder_weight,
            "fast_dtype": options.fast_dtype,
            "items": list(options.items),
            "batches": list(options.batches),
            "cells": [],
            "indexes": [],
            "agreement": {},
            "certificates": {},
        }

    def measure(self, workload: Workload) -> None:
        for items in self.options.items:
            print(f"{workload.kind} IDs, {items:,} items", flush=True)
            with TemporaryDirectory(dir=self.work) as folder:
                self._measure_size(workload, items, Path(folder))

    def measure_run(self, engine: Engine, queries: EncodedSplit) -> None:
        """Dense search and IDs at equal hit rate on the run's own queries."""
        self.report["equal"] = measure_at_equal_hit_rate(
            engine, queries, self.options.batches, rounds=self.options.rounds, seed=self.options.seed
        )
        self.write()

    def write(self) -> None:
        write_json(self.out / "speed.json", self.report)
        write_text(self.out / "speed.md", markdown(self.report))
        draw_figure(self.report, self.out / "speed.svg")

    def _measure_size(self, workload: Workload, items: int, folder: Path) -> None:
        options, key = self.options, f"{workload.kind}, {items}"
        code_sizes = workload.decoder.config.code_sizes
        pool, costs = measure_index_cost(workload.packed[:items], code_sizes, options.seed)
        self.report["indexes"].append({"ids": workload.kind} | costs)
        pool = Pool(pool.table, Trie(pool.table, self.device, pool.trie.crowded))
        setup = Setup(workload, pool, options.beams, options.decoder_weight, options.fast_dtype, folder)
        systems = {
            name: BUILDERS[name](setup) for name in options.systems if items <= dict(options.max_items).get(name, items)
        }
        costs = {name: self._compute_bound(system, workload) for name, system in systems.items()}
        searches = {name: system.search for name, system in systems.items()}
        for batch in options.batches:
            times = measure_in_turns(searches, workload.draw_queries, batch, options.rounds, options.patience)
            for name, system in systems.items():
                self.report["cells"].append(
                    {
                        "ids": workload.kind,
                        "items": items,
                        "batch": batch,
                        "system": name,
                        "milliseconds": times[name],
                        "build_seconds": system.build_seconds,
                        "bytes_per_item": system.bytes_per_item,
                    }
                    | costs[name]
                )
                print(f"  batch {batch:3d}  {name:26s} {times[name]['median']:9.2f} ms", flush=True)
            self.write()
        if "generate" in options.systems and items == min(options.items):
            self.report["agreement"][key] = agreement(setup)
        if items <= MAX_CERTIFIED:
            self.report["certificates"][key] = certified_shares(setup)
        self.write()

    def _compute_bound(self, system: TimedSystem, workload: Workload) -> dict[str, Any]:
        """Beams scored and items found per query; the minimum time of their arithmetic in milliseconds."""
        if system.dtype is None:
            return {}
        beams = system.search(workload.draw_queries(COUNTED, 0))
        rows = beams.scored.float().mean().item()
        counts = {
            "dtype": system.dtype,
            "rows": rows,
            "candidates": (beams.high - beams.low).sum(1).float().mean().item(),
        }
        if system.whole_vocabulary is None:
            return counts
        rate = matrix_rate(self.device, getattr(torch, system.dtype))
        operations = search_operations(workload.decoder.config, rows, system.whole_vocabulary)
        return counts | {"matrix_rate": rate, "floor": 1000 * operations / rate}


def machine(device: torch.device) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "faiss": faiss.__version__,
    }


def processor() -> str:
    """The processor's name, and the instruction sets that matter for matrix products."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {name.strip(): value.strip() for name, value in (line.split(":", 1) for line in lines if ":" in line)}
    flags = fields.get("flags", "").split()
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    return f"{fields.get('model name', platform.machine())} ({', '.join(known)})"


def main(arguments: Sequence[str]) -> None:
    parser, default = command_parser("genius.evaluation.speed", __doc__), SpeedOptions()
    parser.add_argument("out", type=Path, help="directory for the report")
    parser.add_argument(
        "--run", type=Path, help="a directory made by python -m training: adds realistic IDs and equal hit rate"
    )
    add_collection_and_device(parser)
    parser.add_argument(
        "--items", default=",".join(map(str, default.items)), metavar="N,N,…", help="sizes of the collection"
    )
    parser.add_argument("--batches", metavar="N,N,…", help="batch sizes (default: 1,32; on a GPU 1,64,512)")
    parser.add_argument(
        "--ids", help='comma-separated: uniform, realistic ("" for none; default: uniform, and with --run realistic)'
    )
    parser.add_argument(
        "--systems", default=";".join(default.systems), help=f"separated by semicolons: {'; '.join(BUILDERS)}"
    )
    parser.add_argument(
        "--rounds",
        type=partial(parse_positive, "--rounds"),
        default=default.rounds,
        help="per system (default: %(default)s)",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=default.patience,
        help="seconds after which a system gets no more rounds, but at least two (default: %(default)s)",
    )
    add_beams(parser)
    parser.add_argument(
        "--decoder-weight",
        type=float,
        default=default.decoder_weight,
        help="weight of the decoder against geometry (default: 1)",
    )
    add_fast_dtype(parser)
    add_seed(parser, "IDs, vectors and queries")
    parser.add_argument("--work", type=Path, help="directory for large temporary files (up to 9 GB)")
    options = parser.parse_args(arguments)
    if not 0 <= options.decoder_weight <= 1:
        raise UserError(f"--decoder-weight {options.decoder_weight}: expected a number from 0 to 1")
    keep_freed_memory()
    device = usable_device(options.device)
    kinds = options.ids if options.ids is not None else ",".join(KINDS[: 1 + (options.run is not None)])
    measured = replace(
        default,
        items=parse_integers(options.items, "--items", 1),
        batches=parse_integers(options.batches, "--batches", 1)
        if options.batches
        else (GPU_BATCHES if device.type == "cuda" else default.batches),
        ids=chosen(kinds, "--ids", ",", KINDS) if kinds or options.run is None else (),
        systems=chosen(options.systems, "--systems", ";", BUILDERS),
        rounds=options.rounds,
        patience=options.patience,
        beams=options.beams,
        decoder_weight=options.decoder_weight,
        fast_dtype=options.fast_dtype,
        seed=options.seed,
    )
    if "realistic" in measured.ids and options.run is None:
        raise UserError("realistic IDs are those of a trained run; name one: --run RUN")
    command = command_line("genius.evaluation.speed", arguments)
    benchmark = Benchmark(measured, options.out, options.work, device, command)
    if "uniform" in measured.ids:
        benchmark.measure(uniform(max(measured.items), DecoderConfig(), measured.seed, device))
    if options.run:
        engine = Engine.load(options.run, options.device, options.fast_dtype)
        with run_collection(options.run, options.collection, "test") as collection:
            queries = EncodedSplit.read(engine, collection, "test", LIMIT, measured.seed)
        if "realistic" in measured.ids:
            benchmark.measure(realistic(max(measured.items), engine, queries.encoded, measured.seed))
        benchmark.measure_run(engine, queries)
    benchmark.write()
    print((options.out / "speed.md").read_text())


def chosen(text: str, option: str, separator: str, choices: Sequence[str]) -> tuple[str, ...]:
    """The names in a list. Raises UserError that lists the choices."""
    names = tuple(part.strip() for part in text.split(separator) if part.strip())
    for name in names:
        if name not in choices:
            raise UserError(f"{option}: {name!r} is unknown; choose from {f'{separator} '.join(choices)}")
    if not names:
        raise UserError(f"{option}: the list is empty; choose from {f'{separator} '.join(choices)}")
    return names


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
