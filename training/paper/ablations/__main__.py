"""Make the paper's ablation tables on a trained run, and write RUN/reports/ablations.json and .md.

    python -m training.ablations COLLECTION RUN
    python -m training.ablations COLLECTION RUN --tables 4,S3 --seeds 0,1,2,3,4
    python -m training.ablations COLLECTION RUN --tables S9    # the encoders

Encoder and features are those of RUN, which needs RUN/features. Each variant trains what it changes
and is measured on the test queries. Results are kept in RUN/ablations: a killed command resumes
where it stopped when you run it again, and further tables and seeds train only what is new.
"""

from pathlib import Path

from genius.collections.mbeir import Collection
from genius.commands import command_parser
from genius.evaluation.arguments import add_device, add_number, command_line, parse_integers
from genius.reports import Report, program_version
from genius.run import Run, expect_run
from genius.runtime import keep_freed_memory, usable_device
from training import NOTES
from training.command_line import add_set_argument
from training.distributed import run_alone
from training.paper.ablations.report import build
from training.paper.ablations.trainer import FOLDER, Result, Row, Trainer
from training.paper.ablations.variants import (
    BASE,
    DEFAULT_TABLES,
    AblationTable,
    Variant,
    chosen_tables,
    trainings_of,
)
from training.settings import with_stage_changes
from training.stage import only_trainer, recorded_settings

MODULE = "training.ablations"
LIMIT = 200  # test queries of each column
MAX_SEED = 2**31 - 1


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser(MODULE, __doc__)
    parser.add_argument(
        "collection", type=Path, help="the M-BEIR-format directory that RUN was trained on"
    )
    parser.add_argument("run", type=Path, help="a trained run with its features")
    parser.add_argument(
        "--tables",
        default=",".join(DEFAULT_TABLES),
        metavar="N,N,…",
        help="tables to make (default: %(default)s)",
    )
    parser.add_argument(
        "--seeds",
        default="0,1,2",
        metavar="N,N,…",
        help="of the trainings of each variant (default: %(default)s)",
    )
    add_number(
        parser, "--limit", default=LIMIT, help="test queries of each column (default: %(default)s)"
    )
    add_set_argument(parser)
    add_device(parser)
    options = parser.parse_args(arguments)
    tables = chosen_tables(options.tables.split(","))
    seeds = parse_integers(options.seeds, "--seeds", 0, MAX_SEED)
    expect_run(options.run)
    keep_freed_memory()
    with only_trainer(options.run / FOLDER):
        run = Run(options.run)
        collection = Collection(options.collection)
        base = with_stage_changes(recorded_settings(run), *BASE, *options.set)
        trainings = trainings_of(tables, base)
        trainer = Trainer(run, collection, base, options.limit, str(usable_device(options.device)))
        trainer.train_all(trainings.values(), seeds)

        def results(table: AblationTable, variant: Variant) -> list[dict[Row, Result]]:
            return [trainer.results(trainings[variant.training(base).key], seed) for seed in seeds]

        made, plots = build(tables, results)
        given = f"--tables {options.tables} --seeds {options.seeds} --limit {options.limit}".split()
        words = ["COLLECTION", "RUN", *given]
        words += [word for change in options.set for word in ("--set", change)]
        quantizer, decoder = base.quantizer, base.decoder
        ids = quantizer.quantizer
        note = f"{NOTES['ablations_lead']}\n\n{NOTES['ablations']}\n\n" + (
            f"{collection.root.resolve().name}, {trainer.index.n:,} items; at most {options.limit} "
            f"test queries of each column; seeds {', '.join(map(str, seeds))}. K × M = "
            f"{ids.codebook_size} × {ids.levels} stands for the paper's 4096 × 9, its other sizes "
            f"in proportion. {quantizer.epochs} epochs of the quantizer, {decoder.epochs} of a "
            f"decoder of {decoder.decoder.layers} layers and width {decoder.decoder.width}."
        )
        report = Report(
            "The paper's ablations",
            note,
            command_line(MODULE, words),
            program_version(run.path),
            made,
            plots,
        )
        report.save(run.path / "reports" / "ablations.json")


if __name__ == "__main__":
    run_alone(main)
