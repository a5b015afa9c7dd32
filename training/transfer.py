"""Search another collection with the parts of a trained run as they are: zero-shot retrieval (supplement, Table 7).

    python -m training.transfer RUN COLLECTION NEW
    python -m training.transfer RUN COLLECTION NEW --pool union_test --beams 30,50 --limit 200
    python -m training.transfer RUN COLLECTION NEW --pool union_test --rows 0:mscoco    # captions to images alone

NEW becomes a run with the encoder, fusion, quantizer, decoder and ranker of RUN and an index of COLLECTION, whose
candidates are encoded; nothing is trained. Then its test queries are evaluated: NEW/reports/retrieval.json and .md. A
killed command resumes where it stopped when you run it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation import __main__ as evaluation
from genius.evaluation.arguments import add_device, add_limit, add_rows, command_parser, parse_integers
from genius.evaluation.queries import select_rows
from genius.files import describe, link_or_copy
from genius.run import Run
from genius.runtime import usable_device
from genius.search.checks import MAX_BEAMS
from training import features, index
from training.command_line import Arguments, expect_run
from training.distributed import expect_one_process
from training.side_run import recorded_settings
from training.stage import is_done, only_trainer, run_stage

SHARED = ("encoder", "fusion", "quantizer", "decoder", "ranker")
FACTS = ("left_out", "normalize_embeddings")  # of a manifest, which belong to these parts


def share_parts(source: Run, path: Path) -> Run:
    """The run at `path` with the parts of `source` that no collection is built into, linked where possible.

    Raises UserError, before anything is written, if `source` lacks one or `path` has other ones.
    """
    target = Run(path)
    shared = {part: source.folder(part) for part in SHARED if part != "ranker" or source.is_current(part)}
    for part in shared:
        if target.has(part) and target.digest(part) != source.digest(part):
            raise UserError(f"{path} has another {part} than {source.path}; name a new directory")
    facts = {name: source.manifest[name] for name in FACTS if name in source.manifest}
    trained_on = Path(source.manifest.get("collection", "")).name
    target.record(**facts, transferred={"run": source.path.resolve().name, "collection": trained_on})
    for part, folder in shared.items():
        if not target.has(part):

            def link(aside: Path, folder: Path = folder) -> None:
                for name in describe(folder):
                    (aside / name).parent.mkdir(parents=True, exist_ok=True)
                    link_or_copy(folder / name, aside / name)

            target.publish(part, link, tuple(source.manifest["parts"][part]["built_from"]))
    return Run(path)


def transfer(source: Run, collection: Path, path: Path, pool: str, device: str) -> Run:
    """A run with the parts of `source` and an index of a pool of the collection; "" for every candidate.

    Raises UserError for an unknown pool, and if `path` was made from something else.
    """
    Collection(collection)  # before anything is written
    settings = recorded_settings(source)
    settings = replace(settings, index=replace(settings.index, pool=pool))
    arguments = Arguments(collection, path, source.manifest.get("preset", ""), settings, device)
    with only_trainer(path):
        done = is_done("index", arguments)  # which refuses another collection before anything is written
        share_parts(source, path)
        if not done:
            run_stage("features", partial(features.train, splits=()), arguments)
            run_stage("index", index.train, arguments)
    return Run(path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.transfer", __doc__)
    parser.add_argument("run", type=Path, help="a trained run")
    parser.add_argument("collection", type=Path, help="another M-BEIR-format directory")
    parser.add_argument("new", type=Path, metavar="NEW", help="the run to make")
    parser.add_argument("--pool", default="", help="index this pool alone, such as union_test (default: everything)")
    parser.add_argument("--beams", default="50", metavar="N,N,…", help="beam sizes (default: %(default)s)")
    add_limit(parser)
    add_rows(parser)
    add_device(parser)
    options = parser.parse_args(arguments)
    parse_integers(options.beams, "--beams", 1, MAX_BEAMS)  # refused now, not after the candidates are encoded
    expect_run(options.run)
    collection = Collection(options.collection)
    index.check_pool(collection, options.pool)
    select_rows(collection.rows(), options.rows)
    device = str(usable_device(options.device))
    transfer(Run(options.run), options.collection, options.new, options.pool, device)
    evaluated = [str(options.new), "--collection", str(options.collection), "--beams", options.beams]
    evaluated += ["--limit", str(options.limit)] if options.limit is not None else []
    evaluated += ["--rows", ",".join(options.rows)] if options.rows else []
    evaluated += ["--device", options.device] if options.device else []
    evaluation.main(evaluated)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
