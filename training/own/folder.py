"""Make folders of images, with or without texts, searchable by a pretrained encoder, whose weights
stay unchanged.

    python -m training.folder FOLDER... RUN
    python -m training.folder FOLDER... RUN --train
    python -m training.folder FOLDER... RUN --watch
    python -m training.folder FOLDER... RUN --model ViT-B-32 --pretrained laion2b_s34b_b79k
    python -m training.folder FOLDER... RUN --model ViT-B-32 --pretrained weights.safetensors
    python -m training.folder FOLDER... RUN --model hf-hub:OWNER/REPOSITORY
    python -m training.folder FOLDER... RUN --model local-dir:FOLDER
    python -m training.folder [TABLE] RUN --vectors FILE

Without --model, all models are those of the shipped run of photographs: nothing is downloaded or
trained. With --model, the encoder is any open_clip model, and the IDs are k-means codes of its
embeddings, searched by their geometry alone. With --train, models of the folders' own are trained,
too (own_models.py), and kept if they find more.

The folders become a collection in RUN/collection/NAME, as `python -m genius.collections` makes it.
Its items become searchable part by part. A killed command resumes where it stopped when you run it
again. Later the same command reads the folders again (following.py): what was added, changed or
deleted there is so in the run, too, without training. With --watch the command stays, and takes in
what changes until Ctrl+C; a server of the run follows.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from genius.collections.building import build, named, named_apart
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.commands import command_parser
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, add_seed
from genius.explore.code_names import PART as NAMES
from genius.explore.code_names import read_names, save_names
from genius.explore.query_notes import is_english
from genius.files import disk_errors_explained, link_files
from genius.models.pretrained import MODEL_SOURCES, open_clip_encoder
from genius.run import BUILT_FROM, Run
from training.command_line import Arguments, add_set_argument, print_done
from training.data.pairs import CandidateTable
from training.distributed import (
    barrier,
    broadcast_object,
    default_workers,
    init_distributed,
    is_main,
)
from training.own.following import Followed
from training.own.own_models import train_own_models
from training.own.vectors import READ, index_vectors
from training.presets import (
    LINKED,
    SHIPPED,
    SMALL,
    embedding_dim,
    photo_run,
    reads_apart,
    settings_for,
)
from training.settings import with_changes, with_stage_changes, with_values
from training.stage import RESUME, OtherSettings, is_done, only_trainer, run_stage
from training.stages import reader
from training.stages.block_index import INDEXED, index_in_blocks

COLLECTION = "collection"
# inputs: convolutions over few images stay in the processor's cache, and need little memory
CPU_BATCH = 16


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line; what does not fit together ends the process."""
    parser = command_parser("training.folder", __doc__)
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="FOLDER",
        help="folder of images, table, dataset, or NAME=FOLDER",
    )
    parser.add_argument("run", type=Path, help="the directory to make")
    model = (
        "an open_clip architecture, hf-hub:OWNER/REPOSITORY, or local-dir:FOLDER (default: "
        "the shipped encoder)"
    )
    parser.add_argument("--model", default="", help=model)
    weights = (
        "weights of the architecture: an open_clip tag, which is downloaded, or a checkpoint file"
    )
    parser.add_argument("--pretrained", default="", metavar="TAG|FILE", help=weights)
    parser.add_argument(
        "--train", action="store_true", help="also train codes and a decoder on these folders"
    )
    keep = "let every picture be an item; else a photograph in several versions is one"
    parser.add_argument("--keep-versions", action="store_true", help=keep)
    follow = "then look for changes every few seconds, and take them in, until Ctrl+C"
    parser.add_argument("--watch", action="store_true", help=follow)
    vectors = (
        "embeddings that you have, .npy or .parquet; FOLDER: a table of their items; --model: "
        "what made them"
    )
    parser.add_argument("--vectors", type=Path, metavar="FILE", help=vectors)
    add_seed(parser, "all random choices")
    add_device(parser)
    add_set_argument(parser)
    options = parser.parse_args(words)
    if not options.sources and not options.vectors:
        parser.error("name a FOLDER and the RUN to make")
    if options.vectors and options.watch:
        parser.error(
            "--watch follows folders, and not --vectors; run the command again when they "
            "have changed"
        )
    if options.vectors and (options.train or options.set):
        parser.error("nothing is trained of --vectors, so --train and --set are of no use")
    if options.pretrained and not options.model:
        parser.error("--pretrained needs --model, the architecture of these weights")
    if options.model and not options.pretrained and not options.model.startswith(MODEL_SOURCES):
        parser.error(
            f"--model {options.model} needs --pretrained TAG or FILE; open_clip lists its "
            "tags with: "
            'python -c "import open_clip; print(open_clip.list_pretrained())"'
        )
    return options


def main(words: Sequence[str] | None = None) -> None:
    options = parsed(words)
    run, sources = options.run, options.sources
    named_apart(sources, run)
    device = init_distributed(options.device)
    if options.vectors:
        with only_trainer(run), disk_errors_explained(run, RESUME):
            record_sources(Run(run), [str(options.vectors), *sources])
            given = options.model, options.pretrained, options.seed, str(device)
            index_vectors(run, options.vectors, sources, *given)
        return print_done(run)
    arguments = stage_arguments(options, device)
    check_changes(options.set, options.train)
    folders = Followed(run, sources, arguments.collection, options.keep_versions, arguments.device)
    with only_trainer(run), disk_errors_explained(run, RESUME):
        is_new = make_searchable(folders, arguments, options.set, options.train)
    if is_main() and not is_new:
        for line in folders.renew():
            print(line, flush=True)
    barrier()
    print_done(run)
    if options.watch and is_main():
        folders.watch()


def stage_arguments(options: argparse.Namespace, device: torch.device) -> Arguments:
    """Arguments of the stages, as yet with the sizes of `small`.

    The shipped run of photographs stands for an architecture, and the checksum of its encoder for
    the weights. Raises UserError for a source without a name, an unknown setting, and if there is
    no such run.
    """
    root = options.run / COLLECTION / "+".join(name for name, _ in map(named, options.sources))
    model, weights = options.model, options.pretrained
    if not model:
        model = SHIPPED
        weights = photo_run().digest("encoder")
    encoder = {"architecture": model, "pretrained": weights, "epochs": 0}
    batch = {"batch": CPU_BATCH} if device.type == "cpu" else {}
    settings = with_values(SMALL, {"encoder": encoder, "features": batch, "seed": options.seed})
    settings = with_stage_changes(settings, *options.set)
    return Arguments(root, options.run, "folder", settings, str(device), default_workers(device))


def check_changes(changes: Sequence[str], learn: bool) -> None:
    """Raises UserError for a setting that is settled before the others, or of no use."""
    for change in changes:
        if change.startswith("encoder."):
            raise UserError(
                f"--set {change}: the encoder is used as it is; choose another by --model, or "
                "train one with: python -m training COLLECTION RUN"
            )
        if change.startswith("seed="):
            raise UserError(f"--set {change}: expected --seed {change.removeprefix('seed=')}")
        if change.startswith(("quantizer.", "decoder.")) and not learn:
            raise UserError(f"--set {change}: nothing is trained with it; add --train")


def make_searchable(
    folders: Followed, arguments: Arguments, changes: Sequence[str], learn: bool
) -> bool:
    """Do what is not done yet; whether the sources were read. learn: also train models on them.

    changes: of settings, as --set takes them. Raises UserError if the model cannot be loaded, a
    source cannot be used, or the run was made from other sources.
    """
    if is_main():
        folders.restore()
    barrier()
    now = ""
    read = {}
    # refuses a mistyped folder while the run is as yet of no source
    if not arguments.collection.exists():
        # before they are read: the next run finds what arrives meanwhile
        now = folders.state()
        read = {source: read_source(source) for _, source in map(named, folders.sources)}
    record_sources(Run(arguments.run), folders.sources)
    add_encoder(arguments)  # first, to refuse a model before images are copied
    if is_main() and read:
        Run(arguments.run).record(**{READ: now, INDEXED: None})
        for row in build(
            folders.sources,
            arguments.collection,
            read=read.__getitem__,
            keep_versions=folders.keep_versions,
        ):
            print(row, flush=True)
    barrier()
    collection = Collection(arguments.collection)
    run = Run(arguments.run)  # as it is with the encoder
    dim = embedding_dim(run)
    apart = reads_apart(run)
    if is_main() and arguments.settings.encoder.architecture == SHIPPED:
        print_unread_texts(collection)
    items = len(CandidateTable.read(collection))

    def arguments_for(pairs: int) -> Arguments:
        settings = settings_for(arguments.settings, dim, items, pairs, apart)
        return replace(arguments, settings=with_changes(settings, changes))

    if is_main():
        index_in_blocks(arguments_for(0))
        add_reader(Run(arguments.run), arguments)
    barrier()
    if learn:
        train_own_models(arguments_for)
    return bool(read)


def add_encoder(arguments: Arguments) -> None:
    """Add it unless it is there. Raises UserError if the run has another one."""
    try:
        encoded = is_done("encoder", arguments)
    except OtherSettings:
        raise UserError(
            f"{arguments.run} was made with another --model, --pretrained or --seed; give the "
            "same ones, or name another RUN"
        ) from None
    if not broadcast_object(encoded):
        run_stage("encoder", publish_encoder, arguments)


def print_unread_texts(collection: Collection) -> None:
    """Say how many texts are in languages that the shipped encoder does not read, if any."""
    english = [is_english(item.text) for item in collection.all_candidates() if item.text]
    if unread := english.count(False):
        print(
            f"{unread:,} of {len(english):,} texts are not English, the only language that this "
            "encoder reads: words will hardly find them; for others choose a multilingual encoder "
            "by --model, e.g. --model xlm-roberta-base-ViT-B-32 --pretrained laion5b_s13b_b90k",
            flush=True,
        )


def publish_encoder(arguments: Arguments) -> None:
    """The stage that replaces the encoder's training: all models of the shipped run, or another
    encoder alone.

    Raises UserError if the model cannot be loaded.
    """
    settings = arguments.settings.encoder
    run = Run(arguments.run)
    if not is_main():
        return
    architecture = settings.architecture
    assert isinstance(architecture, str)  # see `stage_arguments`
    if architecture != SHIPPED:
        run.publish("encoder", open_clip_encoder(architecture, settings.pretrained).save)
        return
    photos = photo_run()
    for part in filter(photos.has, (*LINKED, reader.PART)):
        link = partial(link_files, photos.folder(part))
        run.publish(part, link, tuple(sorted(BUILT_FROM[part])))
    if names := read_names(photos.path):
        # those are not here
        words = {prefix: replace(name, pictures=()) for prefix, name in names.items()}
        run.publish(NAMES, partial(save_names, words), tuple(sorted(BUILT_FROM[NAMES])))


def add_reader(run: Run, arguments: Arguments) -> None:
    """Train a reader behind another encoder than the shipped one, which brings its own; once."""
    if run.has(reader.PART) or arguments.settings.encoder.architecture == SHIPPED:
        return
    try:
        reader.train(arguments.collection, run.path, arguments.device, arguments.settings.seed)
    except UserError as error:
        print(f"reader: none, {error}", flush=True)


def record_sources(run: Run, sources: Sequence[str]) -> None:
    """Record the sources of the run. Raises UserError if it was made from others."""
    known = run.manifest.get("sources", [])
    if _places(known) == _places(sources):
        return
    if run.manifest["parts"]:
        raise UserError(
            f"{run.path} was made from {', '.join(known) or 'another collection'}; name another "
            f"RUN, or add to it: python -m genius.index {run.path} add SOURCE"
        )
    if is_main():
        run.record(sources=list(sources))


def _places(sources: Sequence[str]) -> list[tuple[str, str]]:
    """The names and folders of sources: a slash at the end is not another folder."""
    return [(name, os.path.abspath(folder)) for name, folder in map(named, sources)]


if __name__ == "__main__":
    with exit_on_user_error():
        main()
