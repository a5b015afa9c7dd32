"""Time several systems in turns, in one process, on the same queries.

A processor's speed changes from minute to minute, and between processes by more than the systems
differ. So every round times each system once, on queries that no other round has, and starts with
the next system. Compare medians over rounds, and two systems by the median of their ratios in each
round.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import faiss
import torch
import transformers

from genius.search.batching import engine_thread

Queries = TypeVar("Queries")
Times = list[float]  # milliseconds per query of each round

# a system that has had so many rounds gets no more after so many seconds
MIN_ROUNDS, PATIENCE = 2, 20.0
CPUINFO = Path("/proc/cpuinfo")  # of Linux


def measure_in_turns(
    systems: dict[str, Callable[[Queries], Any]],
    draw_queries: Callable[[int, int], Queries],
    batch: int,
    rounds: int,
    patience: float = PATIENCE,
    now: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Time each system, if there are any, on one batch per round: milliseconds per query.

    draw_queries: (batch size, round) -> queries. patience: in seconds, see PATIENCE. A system
    returns when its results are complete; each answers one query of round 0 first, which is not
    timed.
    """

    def seconds(search: Callable[[Queries], Any], queries: Queries) -> float:
        start = now()
        search(queries)
        return now() - start

    names, call = list(systems), engine_thread().call  # as fast as on the page, see batching.py
    spent: dict[str, list[float]] = {name: [] for name in systems}  # seconds
    for search in systems.values():
        call(partial(search, draw_queries(1, 0)))
    for number in range(1, rounds + 1):
        queries = draw_queries(batch, number)
        names = names[1:] + names[:1]
        for name in names:
            if len(spent[name]) < MIN_ROUNDS or sum(spent[name]) <= patience:
                spent[name].append(call(partial(seconds, systems[name], queries)))
    return {
        name: [1000 * second / batch for second in of_system] for name, of_system in spent.items()
    }


def median_ratio(slow: Times, fast: Times) -> float:
    """How many times as long the first take: the median over the rounds that both had."""
    return statistics.median(longer / shorter for longer, shorter in zip(slow, fast))


def describe_machine(device: torch.device) -> str:
    """The machine that is timed and the versions of the libraries, without the name of the host."""
    versions = [
        f"{library.__name__} {library.__version__}" for library in (torch, transformers, faiss)
    ]
    threads = engine_thread().call(torch.get_num_threads)
    parts = [processor_name(), f"{threads} of {os.cpu_count()} threads"]
    if device.type == "cuda":
        parts.append(torch.cuda.get_device_name(device))
    return ", ".join([*parts, f"Python {platform.python_version()}", *versions])


def processor_name() -> str:
    """The processor's name, and the instruction sets that matter for matrix products."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {
        name.strip(): value.strip()
        for name, value in (line.split(":", 1) for line in lines if ":" in line)
    }
    flags = fields.get("flags", "").split()
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    return f"{fields.get('model name', platform.machine())} ({', '.join(known)})"
