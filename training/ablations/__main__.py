"""Make the paper's ablation tables on a trained run, and write RUN/reports/ablations.json and .md.

    python -m training.ablations COLLECTION RUN
    python -m training.ablations COLLECTION RUN --tables 4,S3 --seeds 3
    python -m training.ablations COLLECTION RUN --scale run

Encoder and features are those of RUN, which needs RUN/features. Each variant trains what differs and is measured. Its
result is kept in RUN/ablations: a killed command resumes where it stopped when you run it again, and further tables and
seeds add to the report.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, command_parser, parse_positive
from genius.evaluation.paper_ablations import COLUMNS
from genius.files import disk_errors_explained, write_report
from genius.run import Run
from genius.runtime import keep_freed_memory, usable_device
from training.ablations.ablation_report import Result, build, markdown
from training.ablations.query_columns import Column, read_columns
from training.ablations.trainer import FOLDER, QUERIES, Trainer, read
from training.ablations.variants import (
    CONDITIONS,
    DECODERS,
    SCALES,
    SET_BY_TABLES,
    TABLES,
    AblationTable,
    TrainingJob,
    Variant,
    all_jobs,
    chosen_tables,
    job_of,
    size_name,
)
from training.command_line import add_set_argument, expect_run, reported_command
from training.distributed import expect_one_process
from training.features import FeatureSet
from training.pairs import CandidateTable
from training.settings import Settings, with_stage_changes
from training.side_run import recorded_settings
from training.stage import RESUME, only_trainer

LIMIT = 200  # test queries of each column


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.ablations", __doc__)
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
    parser.add_argument(
        "--seeds",
        type=partial(parse_positive, "--seeds"),
        default=1,
        help="trainings of each variant (default: %(default)s)",
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default="small",
        help="sizes of what is trained: small, in minutes for each variant, or those of the run (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=LIMIT,
        help="test queries of each column (default: %(default)s)",
    )
    add_set_argument(parser)
    add_device(parser)
    options = parser.parse_args(arguments)
    tables, blocks = chosen_tables(options.tables.split(",")), options.blocks.split(",")
    if unknown := [name for name in blocks if name not in DECODERS]:
        raise UserError(f"--blocks {options.blocks}: there is no {unknown[0]!r}; choose from {', '.join(DECODERS)}")
    seeds, limit = options.seeds, options.limit
    expect_run(options.run)
    keep_freed_memory()
    paths = {options.collection: "COLLECTION", options.run: "RUN"}
    with only_trainer(options.run / FOLDER), disk_errors_explained(options.run, RESUME):
        run, collection = Run(options.run), Collection(options.collection)
        base = scaled(recorded_settings(run), options.scale, options.set)
        trainer = new_trainer(run, collection, limit, str(usable_device(options.device)))
        jobs = jobs_of(tables, blocks, base)
        started = time.perf_counter()
        trainer.train_all(jobs, seeds)
        report = {
            "command": reported_command("training.ablations", arguments, paths),
            "run": run.path.resolve().name,
            "collection": collection.root.resolve().name,
            "size": sizes(base, options.scale, trainer.columns, trainer.device),
            "standing": [f"{column.dataset} task {column.task} for {column.paper[1]}" for column in trainer.columns],
            "seconds": time.perf_counter() - started,
        } | build(list(TABLES.values()), partial(trained_results, trainer, base))
        write_report(run.path / "reports" / "ablations", report, markdown(report))


def new_trainer(run: Run, collection: Collection, limit: int, device: str) -> Trainer:
    """A trainer on the run's features and test queries; limit: queries of each column."""
    candidates, seed = CandidateTable.read(collection), recorded_settings(run).seed
    data = {split: FeatureSet.read(run, collection, candidates, split, seed) for split in ("train", "val")}
    cache = run.path / FOLDER / QUERIES
    columns = read_columns(run, collection, candidates, COLUMNS, CONDITIONS, limit, 0, cache, device)
    return Trainer(run, collection, data, columns, device)


def jobs_of(tables: Sequence[AblationTable], blocks: Sequence[str], base: Settings) -> list[TrainingJob]:
    """The trainings of these tables and blocks, each once, with all that any table measures of it."""
    keys = {
        job_of(variant, block, base).key
        for table in tables
        for block in table.blocks
        if block in blocks
        for variant in table.variants
    }
    return [job for key, job in all_jobs(base).items() if key in keys]


def trained_results(trainer: Trainer, base: Settings, variant: Variant, block: str) -> list[Result]:
    """What was measured of a variant in a block, one result for each seed that was trained."""
    job, results = job_of(variant, block, base), []
    while result := read(trainer.result_file(job, seed=len(results))):
        results.append(result)
    return results


def scaled(settings: Settings, scale: str, changes: Sequence[str]) -> Settings:
    """The settings of the run at this scale, with further changes.

    Raises UserError for a setting that is unknown, of a part that is not trained here, or set by the tables.
    """
    for change in changes:
        path = change.partition("=")[0]
        if not path.startswith(("quantizer.", "decoder.")):
            raise UserError(f"--set {change}: only settings of quantizer and decoder change what is trained here")
        if path in SET_BY_TABLES:
            raise UserError(f"--set {change}: the tables set {path} themselves, so that variants can be compared")
    return with_stage_changes(with_stage_changes(settings, *SCALES[scale]), *changes)


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


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
