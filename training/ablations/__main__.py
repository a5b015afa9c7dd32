"""Make the paper's ablation tables on a trained run, and write RUN/reports/ablations.json and .md.

    python -m training.ablations COLLECTION RUN
    python -m training.ablations COLLECTION RUN --tables 4,S3 --seeds 3
    python -m training.ablations COLLECTION RUN --scale run

Encoder and features are those of RUN, which needs RUN/features. Each variant trains what differs and is measured. Its
result is kept in RUN/ablations: what was killed goes on where it was, and further tables and seeds add to the report.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

import torch

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import positive
from genius.evaluation.paper_ablations import COLUMNS
from genius.files import disk_errors_explained, write_report
from genius.run import Run
from genius.runtime import keep_freed_memory, usable_device
from training.ablations.ablation_report import build, markdown
from training.ablations.query_columns import Column, read_columns
from training.ablations.trainer import FOLDER, QUERIES, Trainer, read
from training.ablations.variants import (
    CONDITIONS,
    DECODERS,
    SCALES,
    TABLES,
    Variant,
    chosen_tables,
    size_name,
    work_of,
    works,
)
from training.distributed import expect_one_process
from training.features import FeatureSet
from training.pairs import CandidateTable
from training.settings import Settings, with_change
from training.side_run import recorded_settings
from training.stage import RESUME, only_trainer

LIMIT = 200  # test queries of each column


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.ablations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", type=Path, help="the M-BEIR-format directory that RUN was trained on")
    parser.add_argument("run", type=Path, help="a trained run with its features")
    parser.add_argument(
        "--tables", default=",".join(TABLES), metavar="N,N,…", help="tables to make (default: %(default)s)"
    )
    parser.add_argument(
        "--blocks",
        default=",".join(DECODERS),
        metavar="NAME,…",
        help="paper: the paper's decoder in every table; ours: ours, in tables 4 and S4 (default: %(default)s)",
    )
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each variant (default: %(default)s)")
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default="small",
        help="sizes of what is trained: small, in minutes for each variant, or those of the run (default: %(default)s)",
    )
    parser.add_argument("--limit", type=int, default=LIMIT, help="test queries of each column (default: %(default)s)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="STAGE.NAME=VALUE", help="change one setting of all"
    )
    parser.add_argument("--device", help="cpu or cuda (default: a GPU if there is one)")
    given = parser.parse_args(arguments)
    tables, blocks = chosen_tables(given.tables.split(",")), given.blocks.split(",")
    if unknown := [name for name in blocks if name not in DECODERS]:
        raise UserError(f"--blocks {given.blocks}: there is no {unknown[0]!r}; choose from {', '.join(DECODERS)}")
    seeds, limit = positive(given.seeds, "--seeds"), positive(given.limit, "--limit")
    if not (given.run / "manifest.json").is_file():
        raise UserError(f"{given.run} is not a run; train one with: python -m training COLLECTION RUN")
    keep_freed_memory()
    command = shlex.join(["python", "-m", "training.ablations", "COLLECTION", "RUN", *_options(arguments, given)])
    with only_trainer(given.run / FOLDER), disk_errors_explained(given.run, RESUME):
        run, collection = Run(given.run), Collection(given.collection)
        base = scaled(recorded_settings(run), given.scale, given.set)
        candidates = CandidateTable.read(collection)
        device = str(usable_device(given.device))
        data = {
            split: FeatureSet.read(run, collection, candidates, split, recorded_settings(run).seed)
            for split in ("train", "val")
        }
        columns = read_columns(
            run, collection, candidates, COLUMNS, CONDITIONS, limit, 0, run.path / FOLDER / QUERIES, device
        )
        trainer = Trainer(run, collection, data, columns, device)
        every = works(base)
        wanted = {
            work_of(variant, block, base).key
            for table in tables
            for block in table.blocks
            if block in blocks
            for variant in table.variants
        }
        started = time.perf_counter()
        trainer.do([work for key, work in every.items() if key in wanted], seeds)

        def results(variant: Variant, block: str) -> list[dict]:
            work, found = work_of(variant, block, base), []
            while result := read(trainer.result_file(work, len(found))):
                found.append(result)
            return found

        report = {
            "command": command,
            "run": run.path.resolve().name,
            "collection": collection.root.resolve().name,
            "size": sizes(base, given.scale, columns, device),
            "standing": [f"{column.dataset} task {column.task} for {column.paper[1]}" for column in columns],
            "seconds": time.perf_counter() - started,
        } | build(list(TABLES.values()), results)
        write_report(run.path / "reports" / "ablations", report, markdown(report))


def scaled(settings: Settings, scale: str, changes: list[str]) -> Settings:
    """The settings of the run at this scale, with further changes. Raises UserError for an unknown setting."""
    for change in (*SCALES[scale], *changes):
        settings = with_change(settings, change)
    return settings


def sizes(base: Settings, scale: str, columns: list[Column], device: str) -> str:
    """What was trained at which size, in two sentences."""
    quantizer, decoder = base.quantizer, base.decoder
    of_row = f" of at most {decoder.row_limit} queries a row" if decoder.row_limit else ""
    queries = [len(column.queries["asked"]) for column in columns]
    fewest_to_most = " to ".join(map(str, sorted({min(queries), max(queries)})))
    threads = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}"
    return (
        f"Scale {scale}: K × M = {size_name(base)} (the paper: 4096 × 9; its other sizes in proportion), decoder of "
        f"{decoder.decoder.layers} layers and width {decoder.decoder.width}, {quantizer.epochs} and {decoder.epochs} "
        f"epochs{of_row}. {fewest_to_most} test queries of "
        f"each column, {len(columns[0].pools['global']):,} candidates in the global pool; {device}, {threads}."
    )


def _options(arguments: list[str] | None, given: argparse.Namespace) -> list[str]:
    """The arguments without the two paths, which mean nothing elsewhere."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for path in (given.collection, given.run):
        if str(path) in words:
            words.remove(str(path))
    return words


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
