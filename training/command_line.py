"""The arguments of the commands of training."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.commands import command_parser
from genius.errors import UserError
from genius.evaluation.arguments import add_device, add_number, add_seed
from genius.run import Run
from genius.runtime import usable_device
from training.distributed import default_workers, init_distributed
from training.presets import PHOTO_RUN, PRESETS, embedding_dim, photo_run, reads_apart, settings_for
from training.settings import Settings, with_changes, with_values

FURTHER = "shipped"  # the preset that begins with the shipped encoder
FEW = 30_000  # pictures, too few to learn from random weights


@dataclass(frozen=True)
class Arguments:
    """The arguments of every training command."""

    collection: Path
    run: Path
    preset: str
    settings: Settings
    device: str
    workers: int = 0  # data-loader processes; 0: threads


def parse_arguments(module: str, doc: str, words: Sequence[str] | None = None) -> Arguments:
    """Parse the command line and connect to the other processes, if there are any.

    Raises UserError for an unknown setting, with the choices, an impossible value, or a run that is
    the collection.
    """
    parser = command_parser(module, doc)
    parser.add_argument("collection", type=Path, help="an M-BEIR-format directory")
    parser.add_argument("run", type=Path, help="the directory to train into")
    preset_help = (
        f"the settings (default: {FURTHER}, from the shipped encoder on, for under {FEW:,} "
        "pictures, else small)"
    )
    parser.add_argument("--preset", choices=PRESETS, help=preset_help)
    add_seed(parser, "all random choices")
    add_device(parser)
    add_set_argument(parser)
    workers_help = (
        "data-loader workers per process; 0: threads (default: with a GPU cores by processes, "
        "without 0)"
    )
    add_number(parser, "--workers", least=0, metavar="N", help=workers_help)
    options = parser.parse_args(words)
    if options.run.resolve() == options.collection.resolve():
        raise UserError(f"{options.run} is the collection; name another directory for the run")
    preset = options.preset or default_preset(options.collection, options.run)
    settings = PRESETS[preset]
    if preset == FURTHER:
        settings = fitted(settings, Collection(options.collection))
    settings = with_changes(replace(settings, seed=options.seed), options.set)
    device = init_distributed(options.device)
    if preset == FURTHER and not options.preset:
        print(
            f"{options.collection} has few pictures: training begins with the shipped "
            "encoder (else: --preset small)"
        )
    workers = default_workers(device) if options.workers is None else options.workers
    return Arguments(options.collection, options.run, preset, settings, str(device), workers)


def default_preset(root: Path, run: Path) -> str:
    """That with which the run was begun; for others FURTHER if there are pictures, but few, else
    small.
    """
    begun = Run(run).manifest.get("preset")
    if begun in PRESETS:
        return begun
    pictures = sum(
        1 for _ in islice((item for item in Collection(root).all_candidates() if item.image), FEW)
    )
    return FURTHER if 0 < pictures < FEW and PHOTO_RUN.is_dir() else "small"


def fitted(settings: Settings, collection: Collection) -> Settings:
    """With the checksum and dimension of the shipped encoder, and sizes that fit the collection."""
    photos = photo_run()
    items, pairs = (
        sum(1 for _ in some) for some in (collection.all_candidates(), collection.queries("train"))
    )
    settings = with_values(settings, {"encoder": {"pretrained": photos.digest("encoder")}})
    return settings_for(settings, embedding_dim(photos), items, pairs, reads_apart(photos))


def parse_run(module: str, doc: str, arguments: Sequence[str] | None) -> tuple[Path, Path, str]:
    """COLLECTION, RUN and the device of a command that adds a part to a trained run."""
    parser = command_parser(module, doc)
    parser.add_argument(
        "collection", type=Path, help="the M-BEIR-format directory that RUN was trained on"
    )
    parser.add_argument("run", type=Path, help="a trained run")
    add_device(parser)
    options = parser.parse_args(arguments)
    return options.collection, options.run, str(usable_device(options.device))


def add_set_argument(parser: argparse.ArgumentParser) -> None:
    change = "change one setting, e.g. --set decoder.epochs=3; may be repeated"
    parser.add_argument(
        "--set", action="append", default=[], metavar="STAGE.NAME=VALUE", help=change
    )


def print_done(run: Path) -> None:
    """Say how the run is served."""
    print(f"done: {shlex.join(['python', 'app.py', '--run', str(run)])}")
