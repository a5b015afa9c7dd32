"""The benchmark of IDs against `generate` and dense search: every system at every size of a collection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.speed.agreement import agreement, certified_shares
from genius.evaluation.speed.equal_hit_rate import measure_at_equal_hit_rate
from genius.evaluation.speed.index_cost import measure_index_cost
from genius.evaluation.speed.machine import describe_machine
from genius.evaluation.speed.roofline import matrix_rate, search_operations
from genius.evaluation.speed.speed_report import draw_figure, markdown
from genius.evaluation.speed.timed_systems import SYSTEM_BUILDERS, TimedSystem
from genius.evaluation.speed.timing import measure_in_turns
from genius.evaluation.speed.workloads import ID_KINDS, Setup, Workload
from genius.files import write_json, write_text
from genius.schema import DECODER_DTYPES
from genius.search.engine import Engine

MAX_CERTIFIED = 1_000_000  # items up to which certificates are measured
COUNTED = 16  # queries over which the beams scored are averaged


@dataclass(frozen=True)
class SpeedOptions:
    """What to measure."""

    items: tuple[int, ...] = (10_000, 100_000, 1_000_000, 5_600_000)
    batches: tuple[int, ...] = (1, 32)
    ids: tuple[str, ...] = ID_KINDS
    systems: tuple[str, ...] = tuple(SYSTEM_BUILDERS)
    max_items: tuple[tuple[str, int], ...] = (("HNSW", 100_000), ("IVF-PQ", 1_000_000))  # to build a system for
    rounds: int = 9
    patience: float = 20.0  # seconds after which a system gets no more rounds
    beams: int = 50
    decoder_weight: float = 1.0
    decoder_dtype: str = DECODER_DTYPES[0]  # of the decoder in modes set and fast
    seed: int = 0


class Benchmark:
    """Measures step by step, and writes the report after each."""

    def __init__(self, options: SpeedOptions, out: Path, work: Path | None, device: torch.device, command: str):
        self.options, self.out, self.work, self.device = options, out, work, device
        for folder in filter(None, (out, work)):
            folder.mkdir(parents=True, exist_ok=True)
        self.report: dict[str, Any] = {
            "command": command,
            "machine": describe_machine(device),
            "beams": options.beams,
            "seed": options.seed,
            "decoder_weight": options.decoder_weight,
            "decoder_dtype": options.decoder_dtype,
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
        pool = pool.on(self.device)
        setup = Setup(workload, pool, options.beams, options.decoder_weight, options.decoder_dtype, folder)
        systems = {
            name: SYSTEM_BUILDERS[name](setup)
            for name in options.systems
            if items <= dict(options.max_items).get(name, items)
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
