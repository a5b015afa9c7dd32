"""Time the search: transformers, our generation and scan, and faiss side by side; writes
OUT/speed.json and speed.md.

    python -m genius.evaluation.speed OUT
    python -m genius.evaluation.speed OUT --run RUN
    python -m genius.evaluation.speed OUT --run RUN --collection COLLECTION
    python -m genius.evaluation.speed OUT --items 10000 --systems "transformers;generate;scan;both"
    python -m genius.evaluation.speed OUT --run RUN --parts realistic --items 100000000 --systems
    "scan;prefixes"

Random IDs by default; with --run also the run's IDs, the paper's Figure 4 and a whole query; with
--collection also hit rates of its test queries, and which index of faiss equals each mode. An
interrupted benchmark writes what it has. Temporary files (up to 9 GB) are written to the folder in
TMPDIR.
"""

import argparse
import os
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import faiss
import torch
import transformers

from genius.collections.mbeir import Collection
from genius.commands import command_parser
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_beams,
    add_device,
    add_number,
    add_seed,
    command_line,
    options_of,
    parse_integers,
)
from genius.evaluation.queries import EncodedSplit
from genius.evaluation.speed.measurements import (
    Measured,
    SpeedOptions,
    equal_hit_rate,
    figure_4,
    searches,
    text_queries,
    whole_query,
)
from genius.evaluation.speed.systems import SYSTEMS
from genius.evaluation.speed.workloads import ID_KINDS, realistic, uniform
from genius.models.decoder import DecoderConfig
from genius.reports import Report, program_version
from genius.run import is_run
from genius.runtime import keep_freed_memory, usable_device
from genius.search.batching import engine_thread, leave_cores_to_engines
from genius.search.engine import Engine

LIMIT = 50  # test queries of each (task, dataset) row
CPUINFO = Path("/proc/cpuinfo")  # of Linux
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # that matter for matrix products
PARTS = (*ID_KINDS, "equal", "figure4", "query")


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser("genius.evaluation.speed", __doc__)
    default = SpeedOptions()
    parser.add_argument("out", type=Path, help="directory for the report")
    parser.add_argument("--run", type=Path, help="a directory made by python -m training")
    parser.add_argument("--collection", type=Path, help="the run's, for its test queries")
    add_device(parser)
    parser.add_argument(
        "--parts", help=f"comma-separated: {', '.join(PARTS)} (default: all that are possible)"
    )
    sizes = ",".join(map(str, default.items))
    parser.add_argument("--items", default=sizes, metavar="N,N,…", help="sizes of the collection")
    parser.add_argument(
        "--batches", default="1,32", metavar="N,N,…", help="batch sizes (default: %(default)s)"
    )
    parser.add_argument(
        "--systems",
        default=";".join(SYSTEMS),
        help=f"separated by semicolons: {'; '.join(SYSTEMS)}",
    )
    add_number(parser, "--rounds", default=default.rounds, help="per system (default: %(default)s)")
    add_beams(parser)
    add_seed(parser, "IDs, vectors and queries")
    return parser


def main(arguments: Sequence[str]) -> None:
    """Measure the chosen parts, and write speed.json. Raises UserError if the output is a run, and
    for what cannot be measured.
    """
    options = build_parser().parse_args(arguments)
    device = usable_device(options.device)
    parts, measuring = chosen(options)
    if is_run(options.out):
        raise UserError(
            f"{options.out} is a run; write to {options.out / 'reports'}, and measure the "
            f"run by: --run {options.out}"
        )
    keep_freed_memory()
    leave_cores_to_engines()
    # what is wrong with the run is said before hours of uniform IDs
    engine = Engine.load(options.run, options.device) if options.run else None
    queries = None
    if engine and options.collection:
        queries = EncodedSplit.read(
            engine, Collection(options.collection), "test", LIMIT, measuring.seed
        )
    options.out.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Measured] = {}
    try:
        for part in parts:
            for so_far in measure(part, measuring, device, engine, queries):
                measured[part] = so_far
    finally:
        tables = [table for tables, _ in measured.values() for table in tables]
        plots = [plot for _, plots in measured.values() for plot in plots]
        if tables:
            command = command_line("genius.evaluation.speed", arguments)
            note = (
                f"{describe_machine(device)}; {measuring.beams} beams, seed "
                f"{measuring.seed}.\n\nAll systems take turns in one process. A time is "
                "the median over at most "
                f"{measuring.rounds} rounds, a comparison the median of the ratios in the "
                "rounds that both had."
            )
            Report("Speed", note, command, program_version(options.run), tables, plots).save(
                options.out / "speed.json"
            )


def measure(
    part: str,
    options: SpeedOptions,
    device: torch.device,
    engine: Engine | None,
    queries: EncodedSplit | None,
) -> Iterable[Measured]:
    """What one of PARTS gives; of some, again and again with more of it."""
    if part == "uniform":
        return searches(uniform(max(options.items), DecoderConfig(), options.seed, device), options)
    assert engine is not None, "the other parts are of a run"
    if part == "realistic":
        drawn = queries.encoded if queries else engine.encode(text_queries(engine, options.seed))
        return searches(realistic(max(options.items), engine, drawn, options.seed), options)
    if part == "equal":
        assert queries is not None, "they are of a collection"
        return [equal_hit_rate(engine, queries, options)]
    return figure_4(engine, options) if part == "figure4" else [whole_query(engine, options)]


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
    """The processor's name, and which of INSTRUCTIONS it has."""
    try:
        described = CPUINFO.read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    name = re.search(r"^model name\s*:\s*(.+)$", described, re.MULTILINE)
    known = [flag for flag in INSTRUCTIONS if re.search(rf"\b{flag}\b", described)]
    return f"{name[1] if name else platform.machine()} ({', '.join(known)})"


def chosen(options: argparse.Namespace) -> tuple[tuple[str, ...], SpeedOptions]:
    """The parts and how they are measured. Raises UserError for what is impossible or unknown."""
    if options.collection and options.run is None:
        raise UserError("--collection is that of a run; name one: --run RUN")
    unmeasurable = {"equal"} if options.run else {*PARTS} - {"uniform"}
    possible = [part for part in PARTS if options.collection or part not in unmeasurable]
    parts = (
        tuple(possible)
        if options.parts is None
        else parse_names(options.parts, "--parts", ",", PARTS)
    )
    if missing := [part for part in parts if part not in possible]:
        needed = "--run RUN --collection COLLECTION" if "equal" in missing else "--run RUN"
        raise UserError(f"--parts {missing[0]} measures a trained run; name one: {needed}")
    options.items = parse_integers(options.items, "--items", 2)
    options.batches = parse_integers(options.batches, "--batches", 1)
    options.systems = parse_names(options.systems, "--systems", ";", tuple(SYSTEMS))
    return parts, options_of(SpeedOptions, options)


def parse_names(text: str, option: str, separator: str, choices: Sequence[str]) -> tuple[str, ...]:
    """The names in a list. Raises UserError that lists the choices."""
    names = tuple(part.strip() for part in text.split(separator) if part.strip())
    unknown = [f"{name!r} is unknown" for name in names if name not in choices]
    if unknown or not names:
        problem = unknown[0] if unknown else "the list is empty"
        raise UserError(f"{option}: {problem}; choose from {f'{separator} '.join(choices)}")
    return names


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
