"""Train fusion, quantizer and decoder on the folders that a run was made from, and keep them if
they find more.

They are trained in RUN/own, from the features that the run has, while the run stays as it is.
Folders without texts have no queries to learn from, so queries are generated (pseudo_queries.py).
At the end both kinds of models search for the same queries: those for validation choose, those of
the test split tell what was gained.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from genius.collections.layout import MIN_QUERIES
from genius.collections.mbeir import Collection
from genius.encoding.features import EncoderFeatureCache
from genius.errors import UserError
from genius.evaluation.queries import BATCH, QuerySet, read_queries
from genius.files import link_files, remove_folder
from genius.index.store import Index
from genius.models.encoder import Encoder
from genius.run import BUILT_FROM, Run
from genius.schema import SearchOptions
from genius.search.engine import Engine
from training.command_line import Arguments
from training.data.pseudo_queries import check_images, write_pseudo_queries
from training.distributed import barrier, broadcast_object, is_main
from training.stage import STAGES, is_done, run_stage
from training.stages import features, reader

SIDE = "own"  # in the run, while they are trained
PSEUDO_QUERIES = "pseudo_queries"  # in a manifest: whether they are complete
# in a manifest: by split, hit rates of the models before, and of the folders' own
COMPARED = "own_models"
CHOOSING = "val"  # split whose queries choose between them
TRAINED = ("quantizer", "decoder", "index")
PER_ROW = 300  # queries of each benchmark row
K = 5
FIRST = SearchOptions(k=K)


def train_own_models(arguments_for: Callable[[int], Arguments]) -> None:
    """Train and compare, unless that was done. arguments_for: given the number of training queries.

    Raises UserError if the folders give too little to learn from, or the index holds items from
    elsewhere.
    """
    arguments = arguments_for(0)
    path = arguments.run
    collection = Collection(arguments.collection)
    side = path / SIDE
    if COMPARED not in Run(path).manifest:
        if refusal := broadcast_object(why_not(collection, Run(path)) if is_main() else None):
            raise refusal
        # a killed command generated them
        has_some = Run(path).manifest.get(PSEUDO_QUERIES) is False
        if broadcast_object(has_some or not collection.rows()):
            generate_queries(collection, arguments)
        arguments = arguments_for(sum(1 for _ in collection.queries("train")))
        features.train(arguments)
        train_aside(arguments, side)
        if is_main():
            compare(Run(path), side, collection, arguments.device)
    if is_main() and side.exists():
        if is_better(Run(path).manifest[COMPARED]):
            adopt(Run(path), Run(side))
        remove_folder(side)
    barrier()


def why_not(collection: Collection, run: Run) -> UserError | None:
    """Why nothing can be trained, with what the folders' owner can do."""
    if added := Index.load(run.folder("index")).config.grown:
        return UserError(
            f"{added:,} items were added to {run.path}, which an index of own models would lack; "
            "put them into the folder and name another RUN, or go without --train"
        )
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
        f"the texts give {found} queries, --train needs at least {MIN_QUERIES} of each: "
        "say in a column `split` of "
        "their table which are train and which are val, and name another RUN, or go without --train"
    )


def generate_queries(collection: Collection, arguments: Arguments) -> None:
    """Generate queries from the features of the candidates."""
    run = Run(arguments.run)
    settings = arguments.settings
    encoder = Encoder.load(run.folder("encoder")).for_inference().to(arguments.device)
    nothing = EncoderFeatureCache()
    candidates, _ = features.candidate_features(run, collection, encoder, arguments, nothing)
    if is_main():
        run.record(**{PSEUDO_QUERIES: False})
        write_pseudo_queries(
            collection, encoder, candidates.embedding, settings.seed, settings.features.batch
        )
        run.record(**{PSEUDO_QUERIES: True})
    barrier()


def train_aside(arguments: Arguments, side: Path) -> None:
    """Run the stages that are not done in a run of its own, which shares encoder, features and
    reader.
    """
    run = Run(arguments.run)
    if is_main():
        if not Run(side).has("encoder"):
            features.share_features(run, side)
        if run.has(reader.PART) and not Run(side).has(reader.PART):  # tells what queries ask for
            link = partial(link_files, run.folder(reader.PART))
            Run(side).publish(reader.PART, link, tuple(sorted(BUILT_FROM[reader.PART])))
    barrier()
    for name in TRAINED:
        if not broadcast_object(is_done(name, beside := replace(arguments, run=side))):
            run_stage(name, STAGES[name].train, beside)


def compare(run: Run, side: Path, collection: Collection, device: str) -> None:
    """Record and print what the models of the run and those aside find of the queries of each
    split.

    Validation queries choose between them; test queries, if there are any, only tell what the
    chosen ones are worth.
    """
    before, own = (hits(path, collection, device) for path in (run.path, side))
    rates = {
        split: {"before": float(before[split].mean()), "own": float(own[split].mean())}
        for split in own
    }
    run.record(**{COMPARED: rates})
    verdict = "which are used" if is_better(rates) else "which gain nothing and are left out"
    for split, kind, end in ((CHOOSING, "validation", f", {verdict}"), ("test", "held-out", "")):
        if split in rates:
            found = rates[split]
            print(
                f"hit@{K} of {len(own[split]):,} {kind} queries: {found['before']:.1%} without "
                f"training, {found['own']:.1%} by models of the folders' own{end}"
            )


def is_better(rates: dict[str, dict[str, float]]) -> bool:
    """Whether the folders' own models are chosen. rates: by split, what both kinds of models
    find.
    """
    return rates[CHOOSING]["own"] > rates[CHOOSING]["before"]


def hits(run: Path, collection: Collection, device: str) -> dict[str, np.ndarray]:
    """(q,) bool by split: a target of the query is among the first K results, as they are
    served.
    """
    engine = Engine.load(run, device)
    found = {}
    for split in (CHOOSING, "test"):
        if next(collection.queries(split), None):
            sets = read_queries(collection, engine.index, split, limit=PER_ROW, seed=0)
            found[split] = np.array(
                [hit for asked in sets for hit in hits_of(asked, collection, engine)]
            )
    return found


def hits_of(asked: QuerySet, collection: Collection, engine: Engine) -> Iterator[bool]:
    """Whether a target of each query is among the first K results."""
    results = (
        result
        for batch in asked.opened(collection, BATCH)
        for result in engine.search(batch, FIRST)
    )
    for query, result in zip(asked.queries, results, strict=True):
        yield any(hit.item.id in query.positives for hit in result.hits)


def adopt(run: Run, side: Run) -> None:
    """Make the parts of the side those of the run; if a killed process began, what it left is
    replaced.
    """
    for part in BUILT_FROM:
        if part != "encoder" and side.has(part):
            run.publish(
                part, partial(link_files, side.folder(part)), tuple(sorted(BUILT_FROM[part]))
            )
    with run.changing_manifest() as manifest:
        manifest["parts"] = {
            part: entry for part, entry in manifest["parts"].items() if side.has(part)
        }
        manifest |= {
            "settings": side.manifest["settings"],
            "stages": manifest["stages"] | side.manifest["stages"],
        }
    remove_folder(run.path / "reports")
    link_files(side.path / "reports", run.path / "reports")
