"""Make folders of images, with or without texts, searchable by a pretrained encoder, whose weights stay unchanged.

    python -m training.folder FOLDER... RUN
    python -m training.folder FOLDER... RUN --model ViT-B-32 --pretrained laion2b_s34b_b79k
    python -m training.folder FOLDER... RUN --model ViT-B-32 --pretrained weights.safetensors
    python -m training.folder FOLDER... RUN --model hf-hub:OWNER/REPOSITORY
    python -m training.folder FOLDER... RUN --model local-dir:FOLDER

Without --model, the encoder is that of the shipped run of photographs, and nothing is downloaded. With --model, it is
any open_clip model.

The folders become a collection in RUN/collection/NAME, as `python -m genius.collections` makes it; features,
quantizer, decoder and index follow, in sizes that fit the collection. If the folders have no texts, queries are
generated (pseudo_queries.py). A killed command resumes where it stopped when you run it again.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from genius.collections.from_folders import build, named
from genius.collections.layout import MIN_QUERIES
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, add_seed, command_parser
from genius.files import disk_errors_explained, link_or_copy
from genius.models.encoder import MODEL_SOURCES, Encoder
from genius.run import Run, shipped_run
from training import features
from training.__main__ import train
from training.command_line import Arguments, add_set_argument
from training.distributed import barrier, broadcast_object, default_workers, init_distributed, is_main
from training.pairs import CandidateTable
from training.presets import SMALL
from training.pseudo_queries import RECIPE, Recipe, check_images, write_pseudo_queries
from training.settings import Settings, with_changes, with_stage_changes
from training.stage import RESUME, is_done, only_trainer, run_stage

PHOTOS = shipped_run("photos")
SHIPPED_ENCODER = "assets/photos"  # in the settings of a run that has its encoder, in place of an architecture
COLLECTION = "collection"
PSEUDO_QUERIES = "pseudo_queries"  # in a manifest: whether they are complete
CPU_BATCH = 16  # inputs: convolutions over few images stay in the processor's cache, and need little memory
MIN_CODES, MAX_CODES = 16, 4096  # per level
MAX_LEVELS = 9
QUANTIZER_SAMPLES, DECODER_SAMPLES = 300_000, 120_000  # samples of either stage over all epochs
MIN_EPOCHS, MAX_EPOCHS = 4, 40


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.folder", __doc__)
    parser.add_argument("sources", nargs="+", metavar="FOLDER", help="a folder of images, or NAME=FOLDER")
    parser.add_argument("run", type=Path, help="the directory to train into")
    parser.add_argument(
        "--model",
        default="",
        help="an open_clip architecture, hf-hub:OWNER/REPOSITORY, or local-dir:FOLDER (default: the encoder of the "
        "shipped run of photographs)",
    )
    parser.add_argument(
        "--pretrained",
        default="",
        metavar="TAG|FILE",
        help="weights of the architecture: an open_clip tag, which is downloaded, or a checkpoint file",
    )
    add_seed(parser, "all random choices")
    add_device(parser)
    add_set_argument(parser)
    options = parser.parse_args(arguments)
    if options.pretrained and not options.model:
        parser.error("--pretrained needs --model, the architecture of these weights")
    if options.model and not options.pretrained and not options.model.startswith(MODEL_SOURCES):
        parser.error(
            f"--model {options.model} needs --pretrained TAG or FILE; open_clip lists its tags with: "
            'python -c "import open_clip; print(open_clip.list_pretrained())"'
        )
    device = init_distributed(options.device)
    workers, device = default_workers(device), str(device)
    arguments = stage_arguments(
        options.sources, options.run, options.model, options.pretrained, options.seed, device, workers
    )
    make_searchable(options.sources, arguments, options.set)


def stage_arguments(
    sources: Sequence[str],
    run: Path,
    model: str = "",
    pretrained: str = "",
    seed: int = 0,
    device: str = "cpu",
    workers: int = 0,
) -> Arguments:
    """Arguments of the stages, as yet with the sizes of `small`.

    model: "" is the encoder of the shipped run of photographs; its checksum then stands for the weights.
    Raises UserError for a source without a name, and if there is no such run.
    """
    root = run / COLLECTION / "+".join(name for name, _ in map(named, sources))
    if not model:
        model, pretrained = SHIPPED_ENCODER, photo_run().digest("encoder")
    encoder = replace(SMALL.encoder, architecture=model, pretrained=pretrained, epochs=0)
    batched = replace(SMALL.features, batch=CPU_BATCH) if device == "cpu" else SMALL.features
    return Arguments(root, run, "folder", replace(SMALL, encoder=encoder, features=batched, seed=seed), device, workers)


def make_searchable(
    sources: Sequence[str], arguments: Arguments, changes: Sequence[str] = (), recipe: Recipe = RECIPE
) -> None:
    """Run the steps that are not done. changes: of settings, as --set takes them, but for those of the encoder.

    Raises UserError if a change is impossible, the model cannot be loaded, a source cannot be used, the run was made
    from other sources or cannot be written, or another process is changing it.
    """
    check_changes(arguments.settings, changes)
    with only_trainer(arguments.run), disk_errors_explained(arguments.run, RESUME):
        _make_searchable(sources, arguments, changes, recipe)


def check_changes(settings: Settings, changes: Sequence[str]) -> None:
    """Raises UserError for a setting that is unknown, impossible, or settled before the others: encoder and seed."""
    with_stage_changes(settings, *changes)
    for change in changes:
        if change.startswith("encoder."):
            raise UserError(
                f"--set {change}: the encoder is used as it is; choose another by --model, or train one with: "
                "python -m training COLLECTION RUN"
            )
        if change.startswith("seed="):
            raise UserError(f"--set {change}: expected --seed {change.removeprefix('seed=')}")


def _make_searchable(sources: Sequence[str], arguments: Arguments, changes: Sequence[str], recipe: Recipe) -> None:
    path = arguments.run
    if not arguments.collection.exists():
        for _, source in map(named, sources):
            read_source(source)  # refuses a mistyped folder or a bad table while the run is as yet of no source
    record_sources(Run(path), sources)
    if not broadcast_object(is_done("encoder", arguments)):  # first, to refuse a model before images are copied
        run_stage("encoder", publish_encoder, arguments)
    refusal = None
    if is_main() and not arguments.collection.exists():
        for row in build(sources, arguments.collection):
            print(row)
        if refusal := small_collection_error(Collection(arguments.collection)):
            shutil.rmtree(arguments.collection)  # or else the same command would not see what the user adds
    if refusal := broadcast_object(refusal):
        raise refusal
    collection = Collection(arguments.collection)
    items, dim = len(CandidateTable.read(collection)), embedding_dim(Run(path))

    def arguments_for(pairs: int) -> Arguments:
        return replace(arguments, settings=with_changes(settings_for(arguments.settings, dim, items, pairs), changes))

    if broadcast_object(lacks_queries(collection, Run(path))):
        generate_queries(collection, arguments_for(0), recipe)
    train(arguments_for(sum(1 for _ in collection.queries("train"))))


def small_collection_error(collection: Collection) -> UserError | None:
    """Why training would refuse what the folders give, with what their owner can do."""
    try:
        if not collection.rows():
            check_images(collection)
            return None
    except UserError as error:
        return error
    counts = {split: sum(1 for _ in collection.queries(split)) for split in ("train", "val")}
    if min(counts.values()) >= MIN_QUERIES:
        return None
    found = " and ".join(f"{count} {split}" for split, count in counts.items())
    return UserError(
        f"the texts give {found} queries, training needs at least {MIN_QUERIES} of each: add images with texts, or say "
        "in a column `split` of their table which are train and which are val"
    )


def publish_encoder(arguments: Arguments) -> None:
    """The stage that replaces the encoder's training. Raises UserError if the model cannot be loaded."""
    settings = arguments.settings.encoder
    if not is_main():
        return
    if settings.architecture == SHIPPED_ENCODER:
        write = partial(link_files, photo_run().folder("encoder"))
    else:
        write = Encoder.from_open_clip(settings.architecture, settings.pretrained).save
    Run(arguments.run).publish("encoder", write)


def link_files(source: Path, folder: Path) -> None:
    """Link, or copy, all files below `source` into a folder, so that the part is the same byte by byte."""
    for file in source.rglob("*"):
        if file.is_file():
            link_or_copy(file, folder / file.relative_to(source))


def photo_run() -> Run:
    """The shipped run of photographs. Raises UserError if its encoder is not there."""
    run = Run(PHOTOS)
    if not run.has("encoder"):
        raise UserError(
            f"the run of photographs, whose encoder is the default, is not at {PHOTOS}; restore it, or name an "
            "open_clip model: --model ARCHITECTURE --pretrained TAG|FILE"
        )
    return run


def lacks_queries(collection: Collection, run: Run) -> bool:
    """Whether the collection has no queries, or a killed command generated some of them."""
    complete = run.manifest.get(PSEUDO_QUERIES)
    return not collection.rows() or complete is False


def generate_queries(collection: Collection, arguments: Arguments, recipe: Recipe) -> None:
    """Encode the candidates, whose features the later stages use, too, and generate queries from them.

    Raises UserError if an image cannot be opened. A collection that was built has passed `small_collection_error`.
    """
    run, settings = Run(arguments.run), arguments.settings
    features.train(arguments, splits=())
    if is_main():
        run.record(**{PSEUDO_QUERIES: False})
        digest = CandidateTable.read(collection).content_digest
        candidates = features.finished_features(run, "candidates", digest, settings.seed)
        encoder = Encoder.load(run.folder("encoder")).to(arguments.device)
        write_pseudo_queries(collection, encoder, candidates.embedding, settings.seed, settings.features.batch, recipe)
        run.record(**{PSEUDO_QUERIES: True})
    barrier()


def record_sources(run: Run, sources: Sequence[str]) -> None:
    """Record the sources of the run. Raises UserError if it was made from others."""
    known = run.manifest.get("sources", [])
    if known == list(sources):
        return
    if run.manifest["parts"]:
        raise UserError(
            f"{run.path} was made from {', '.join(known) or 'another collection'}; name another RUN, or "
            f"add to it: python -m genius.index {run.path} add SOURCE"
        )
    if is_main():
        run.record(sources=list(sources))


def embedding_dim(run: Run) -> int:
    """Dimension of the embeddings of the run's encoder."""
    return json.loads((run.folder("encoder") / "config.json").read_text())["model"]["embed_dim"]


def settings_for(settings: Settings, dim: int, items: int, pairs: int) -> Settings:
    """Settings for this dimension of embeddings, number of items, and number of training pairs.

    A level has about √items codes, so that two levels separate most items and the others near-duplicates. The fewer
    pairs, the more epochs.
    """
    codes = 2 ** round(math.log2(max(items, 1)) / 2)
    size = {
        "dim": dim,
        "codebook_size": min(max(codes, MIN_CODES), MAX_CODES),
        "levels": min(3 + math.ceil(math.log2(max(items, 2)) / 3), MAX_LEVELS),
    }
    quantizer, decoder = settings.quantizer, settings.decoder
    return replace(
        settings,
        quantizer=replace(
            quantizer,
            fusion=replace(quantizer.fusion, dim=dim, branch=2 * dim, hidden=4 * dim),
            quantizer=replace(quantizer.quantizer, **size),
            epochs=epochs_for(QUANTIZER_SAMPLES, pairs),
            upsample_to=0,
        ),
        decoder=replace(
            decoder,
            decoder=replace(decoder.decoder, **size),
            epochs=epochs_for(DECODER_SAMPLES, pairs + items),
            upsample_to=0,
        ),
    )


def epochs_for(samples: int, pairs: int) -> int:
    return min(max(samples // max(pairs, 1), MIN_EPOCHS), MAX_EPOCHS)


if __name__ == "__main__":
    with exit_on_user_error():
        main()
