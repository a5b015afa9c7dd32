"""Time the search of IDs against transformers' `generate` and dense search; writes OUT/speed.json, .md and .svg.

    python -m genius.evaluation.speed OUT
    python -m genius.evaluation.speed OUT --run RUN        also at equal hit rate on a trained run's own queries
    python -m genius.evaluation.speed OUT --items 10000 --ids uniform --systems generate,exact,set,fast

The report is written anew after every step, so that what was measured is never lost.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import torch
import transformers

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.__main__ import trained_on
from genius.evaluation.speed import contenders, equal
from genius.evaluation.speed.clock import measure_in_turns
from genius.evaluation.speed.contenders import BUILDERS, Contender
from genius.evaluation.speed.drawing import draw
from genius.evaluation.speed.floor import Operations, matrix_rate
from genius.evaluation.speed.growth import measure_growth
from genius.evaluation.speed.quality import agreement, certificates, hit_rates
from genius.evaluation.speed.report import markdown
from genius.evaluation.speed.world import WORLDS, World
from genius.files import write_json, write_text
from genius.models.decoder import DecoderConfig
from genius.runtime import keep_freed_memory, usable_device
from genius.schema import FAST_DTYPES
from genius.search.engine import Engine
from genius.trie.pool import Pool

GPU_BATCHES = (1, 64, 512)
RATED = 1_000_000  # items up to which hit rates are measured: re-ranking needs the vectors


@dataclass(frozen=True)
class SpeedOptions:
    """What to measure."""

    items: tuple[int, ...] = (10_000, 100_000, 1_000_000, 5_600_000)
    batches: tuple[int, ...] = (1, 32)
    ids: tuple[str, ...] = tuple(WORLDS)
    systems: tuple[str, ...] = tuple(BUILDERS)
    up_to: tuple[tuple[str, int], ...] = (("HNSW", 100_000), ("IVF-PQ", 1_000_000))  # items a system is built for
    rounds: int = 9
    patience: float = 20.0  # seconds for the rounds of one system, once it had its least
    beams: int = 50
    decoder_weight: float = 1.0
    fast_dtype: str = "float32"  # of the decoder in mode fast
    seed: int = 0


class Benchmark:
    """Measures step by step, and reports after each."""

    def __init__(
        self, options: SpeedOptions, config: DecoderConfig, out: Path, work: Path, device: torch.device, command: str
    ):
        self.options, self.config, self.out, self.work, self.device = options, config, out, work, device
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
            "hit_rates": {},
        }

    def run(self) -> None:
        for kind in self.options.ids:
            world = WORLDS[kind](max(self.options.items), self.config, self.work, self.options.seed)
            world.decoder.to(self.device)
            if world.confidence:
                self.report["confidence"] = {world.kind: world.confidence}
            for items in self.options.items:
                print(f"{kind} IDs, {items:,} items", flush=True)
                self._measure(world, items)
        self.write()

    def compare_on(self, engine: Engine, collection: Collection) -> None:
        """The run's own queries."""
        self.report["equal"] = equal.measure_at_equal_hit_rate(
            engine, collection, self.options.batches, rounds=self.options.rounds, seed=self.options.seed
        )
        self.write()

    def write(self) -> None:
        write_json(self.out / "speed.json", self.report)
        write_text(self.out / "speed.md", markdown(self.report))
        write_text(self.out / "speed.svg", draw(self.report["cells"], max(self.report["batches"])))

    def _measure(self, world: World, items: int) -> None:
        options = self.options
        pool, figures = measure_growth(world.packed[:items], self.config.code_sizes, options.seed)
        self.report["indexes"].append({"ids": world.kind} | figures)
        pool = Pool(pool.table, contenders.on_device(pool, self.device))
        systems = {
            name: contenders.build(name, world, pool, items, options.beams, options.decoder_weight, options.fast_dtype)
            for name in options.systems
            if items <= dict(options.up_to).get(name, items)
        }
        rates = {dtype: matrix_rate(self.device, getattr(torch, dtype)) for dtype in ("float32", "bfloat16")}
        for batch in options.batches:
            for system in systems.values():
                system.rows.clear()
                system.candidates.clear()
            times = measure_in_turns(
                {name: system.search for name, system in systems.items()},
                lambda number, batch=batch: world.vectors.queries(items, batch, number)[0],
                options.rounds,
                options.patience,
            )
            rates = {dtype: max(rate, matrix_rate(self.device, getattr(torch, dtype))) for dtype, rate in rates.items()}
            for name, system in systems.items():
                cell = {
                    "ids": world.kind,
                    "items": items,
                    "batch": batch,
                    "system": name,
                    "milliseconds": times[name].to_json(),
                    "build_seconds": system.build_seconds,
                    "bytes_per_item": system.bytes_per_item,
                } | self._floor(system, rates)
                self.report["cells"].append(cell)
                print(f"  batch {batch:3d}  {name:26s} {times[name].median:9.2f} ms", flush=True)
            self.write()
        systems.clear()
        gc.collect()
        self._judge(world, pool, items)
        self.write()

    def _floor(self, system: Contender, rates: dict[str, float]) -> dict[str, Any]:
        """Rows decoded, and what their arithmetic alone would take, in ms a query."""
        if not system.rows:
            return {}
        rows = fmean(system.rows[1:])  # the first search is not timed
        found = {"rows": rows, "candidates": fmean(system.candidates[1:])}
        if system.whole_vocabulary is None:
            return found
        operations = Operations.of(self.config).search(rows, system.whole_vocabulary)
        return found | {"matrix_rate": rates[system.dtype], "floor": 1000 * operations / rates[system.dtype]}

    def _judge(self, world: World, pool: Pool, items: int) -> None:
        options, key = self.options, f"{world.kind}, {items}"
        if "generate" in options.systems and items == min(options.items):
            self.report["agreement"][key] = agreement(world, pool, options.beams)
        if items <= RATED:
            self.report["certificates"][key] = certificates(world, pool, options.beams)
        if world.kind == "realistic" and items == max((n for n in options.items if n <= RATED), default=0):
            self.report["hit_rates"][key] = hit_rates(world, pool, options.beams, options.decoder_weight)


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
    """Its name, and the kinds of arithmetic that matter here."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines if ":" in line)
        facts = {name.strip(): value.strip() for name, value in facts.items()}
    except OSError:
        return platform.processor() or platform.machine()
    kinds = [kind for kind in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if kind in facts.get("flags", "").split()]
    return f"{facts.get('model name', platform.machine())} ({', '.join(kinds)})"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m genius.evaluation.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = SpeedOptions()
    parser.add_argument("out", type=Path, help="a folder for the report")
    parser.add_argument("--items", default=",".join(map(str, default.items)), metavar="N,N,…")
    parser.add_argument("--batches", metavar="N,N,…", help="default: 1,32; on a GPU 1,64,512")
    parser.add_argument("--ids", default=",".join(default.ids), help="uniform, realistic, or both; none: empty")
    parser.add_argument(
        "--systems", default=";".join(default.systems), help=f"separated by semicolons: {'; '.join(BUILDERS)}"
    )
    parser.add_argument("--rounds", type=int, default=default.rounds)
    parser.add_argument(
        "--patience",
        type=float,
        default=default.patience,
        help="seconds after which a slow system gets no more rounds (it has two at least)",
    )
    parser.add_argument("--beams", type=int, default=default.beams)
    parser.add_argument(
        "--decoder-weight", type=float, default=default.decoder_weight, help="of our modes, against geometry"
    )
    parser.add_argument(
        "--fast-dtype",
        choices=FAST_DTYPES,
        default=default.fast_dtype,
        help="arithmetic of the decoder in mode fast (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    parser.add_argument("--work", type=Path, help="keep what is made (up to 20 GB) here; by default it is removed")
    parser.add_argument("--run", type=Path, help="a directory made by python -m training")
    parser.add_argument("--collection", type=Path, help="of that run; by default the one it was trained on")
    given = parser.parse_args(arguments)
    keep_freed_memory()
    device = usable_device(given.device)
    batches = given.batches or ",".join(map(str, GPU_BATCHES if device.type == "cuda" else default.batches))
    options = replace(
        default,
        items=numbers(given.items),
        batches=numbers(batches),
        ids=chosen(given.ids, ",", WORLDS),
        systems=chosen(given.systems, ";", BUILDERS),
        rounds=given.rounds,
        patience=given.patience,
        beams=given.beams,
        decoder_weight=given.decoder_weight,
        fast_dtype=given.fast_dtype,
        seed=given.seed,
    )
    command = shlex.join(["python", "-m", "genius.evaluation.speed", *arguments])
    with TemporaryDirectory() as scratch:
        benchmark = Benchmark(options, DecoderConfig(), given.out, given.work or Path(scratch), device, command)
        benchmark.run()
        if given.run:
            benchmark.compare_on(
                Engine.load(given.run, given.device, given.fast_dtype),
                Collection(given.collection or trained_on(given.run)),
            )
    print((given.out / "speed.md").read_text())


def numbers(text: str) -> tuple[int, ...]:
    """ "10,1" -> (1, 10). Raises UserError for what is no number."""
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        found = (0,)
    if found[0] < 1:
        raise UserError(f"{text!r} are not whole numbers above 0, separated by commas")
    return found


def chosen(text: str, separator: str, names: dict[str, Any]) -> tuple[str, ...]:
    """Raises UserError that lists the choices."""
    wanted = tuple(part.strip() for part in text.split(separator) if part.strip())
    for name in wanted:
        if name not in names:
            raise UserError(f"there is no {name!r}; choose from {f'{separator} '.join(names)}")
    return wanted


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
