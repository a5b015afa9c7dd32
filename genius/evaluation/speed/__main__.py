"""Time the search of IDs against transformers' `generate` and dense search; writes OUT/speed.json, .md and .svg.

    python -m genius.evaluation.speed OUT
    python -m genius.evaluation.speed OUT --run RUN        also realistic IDs, and equal hit rate on the run's queries
    python -m genius.evaluation.speed OUT --items 10000 --ids uniform --systems "generate;exact;set;fast"

The report is written after every step, so that an interrupted benchmark keeps its results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_beams,
    add_collection_and_device,
    add_decoder_dtype,
    add_seed,
    command_line,
    command_parser,
    parse_integers,
    parse_positive,
)
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.redraw import run_collection
from genius.evaluation.speed.benchmark import Benchmark, SpeedOptions
from genius.evaluation.speed.equal_hit_rate import LIMIT
from genius.evaluation.speed.timed_systems import SYSTEM_BUILDERS
from genius.evaluation.speed.workloads import ID_KINDS, realistic, uniform
from genius.models.decoder import DecoderConfig
from genius.runtime import keep_freed_memory, usable_device
from genius.search.engine import Engine

GPU_BATCHES = (1, 64, 512)


def build_parser() -> argparse.ArgumentParser:
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
        "--systems", default=";".join(default.systems), help=f"separated by semicolons: {'; '.join(SYSTEM_BUILDERS)}"
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
    add_decoder_dtype(parser)
    add_seed(parser, "IDs, vectors and queries")
    parser.add_argument("--work", type=Path, help="directory for large temporary files (up to 9 GB)")
    return parser


def main(arguments: Sequence[str]) -> None:
    options = build_parser().parse_args(arguments)
    device = usable_device(options.device)
    measured = speed_options(options, device)
    if (options.out / "manifest.json").is_file():
        raise UserError(
            f"{options.out} is a run; write to {options.out / 'reports'}, and measure the run by: --run {options.out}"
        )
    keep_freed_memory()
    if options.run:  # before hours of uniform IDs: what is wrong with the run is said at once
        engine = Engine.load(options.run, options.device, options.decoder_dtype)
        with run_collection(options.run, options.collection, "test") as collection:
            queries = EncodedSplit.read(engine, collection, "test", LIMIT, measured.seed)
    command = command_line("genius.evaluation.speed", arguments)
    benchmark = Benchmark(measured, options.out, options.work, device, command)
    if "uniform" in measured.ids:
        benchmark.measure(uniform(max(measured.items), DecoderConfig(), measured.seed, device))
    if options.run:
        if "realistic" in measured.ids:
            benchmark.measure(realistic(max(measured.items), engine, queries.encoded, measured.seed))
        benchmark.measure_run(engine, queries)
    benchmark.write()
    print((options.out / "speed.md").read_text())


def speed_options(options: argparse.Namespace, device: torch.device) -> SpeedOptions:
    """What to measure. Raises UserError for an impossible value, and for what is said of a run that is not named."""
    if not 0 <= options.decoder_weight <= 1:
        raise UserError(f"--decoder-weight {options.decoder_weight}: expected a number from 0 to 1")
    kinds = options.ids if options.ids is not None else ",".join(ID_KINDS[: 1 + (options.run is not None)])
    ids = parse_names(kinds, "--ids", ",", ID_KINDS) if kinds or options.run is None else ()
    if "realistic" in ids and options.run is None:
        raise UserError("realistic IDs are those of a trained run; name one: --run RUN")
    if options.collection and options.run is None:
        raise UserError("--collection is that of a run; name one: --run RUN")
    systems = parse_names(options.systems, "--systems", ";", SYSTEM_BUILDERS)
    batches = GPU_BATCHES if device.type == "cuda" else SpeedOptions.batches
    return SpeedOptions(
        items=parse_integers(options.items, "--items", 2),
        batches=parse_integers(options.batches, "--batches", 1) if options.batches else batches,
        ids=ids,
        systems=systems,
        rounds=options.rounds,
        patience=options.patience,
        beams=options.beams,
        decoder_weight=options.decoder_weight,
        decoder_dtype=options.decoder_dtype,
        seed=options.seed,
    )


def parse_names(text: str, option: str, separator: str, choices: Sequence[str]) -> tuple[str, ...]:
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
