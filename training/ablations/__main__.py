"""Make the paper's ablation tables on a trained run, and write RUN/reports/ablations.json and .md.

    python -m training.ablations COLLECTION RUN
    python -m training.ablations COLLECTION RUN --tables 4,S3 --seeds 0,1,2
    python -m training.ablations COLLECTION RUN --tables S9         # the encoders: CLIP-SF, CLIP-FF, BLIP-SF, BLIP-FF

Encoder and features are those of RUN, which needs RUN/features. Each variant trains what it changes and is measured on
the test queries. Results are kept in RUN/ablations: a killed command resumes where it stopped when you run it again,
and further tables and seeds train only what is new.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import add_device, command_parser, parse_integers, parse_positive
from genius.files import disk_errors_explained
from genius.reports import Report, version
from genius.run import Run
from genius.runtime import keep_freed_memory, usable_device
from training.ablations.report import build
from training.ablations.trainer import FOLDER, Result, Trainer
from training.ablations.variants import DEFAULT_TABLES, AblationTable, Variant, base_settings, chosen_tables, jobs_of
from training.command_line import add_set_argument, expect_run, reported_command
from training.distributed import expect_one_process
from training.settings import Settings
from training.stage import RESUME, only_trainer

LIMIT = 200  # test queries of each column
MAX_SEED = 2**31 - 1
NOTE = """
Each variant shares encoder and features with the run; what it changes is trained anew, with the paper's decoder (no
geometry in the logits, no candidates as their own queries, the decoder alone), and the last epoch is kept. Cells are
hit rates: the mean over seeds and its 95 % interval (Student's t; with one seed, Wilson's interval of the queries).

The paper's figures are of other data (M-BEIR, 5.6 million candidates), another encoder and far larger models:
differences between rows can be compared, and hit rates cannot."""


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.ablations", __doc__)
    parser.add_argument("collection", type=Path, help="the M-BEIR-format directory that RUN was trained on")
    parser.add_argument("run", type=Path, help="a trained run with its features")
    parser.add_argument(
        "--tables", default=",".join(DEFAULT_TABLES), metavar="N,N,…", help="tables to make (default: %(default)s)"
    )
    parser.add_argument("--seeds", default="0", metavar="N,N,…", help="a training of each variant with each of these")
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=LIMIT,
        help="test queries of each column (default: %(default)s)",
    )
    add_set_argument(parser)
    add_device(parser)
    options = parser.parse_args(arguments)
    tables = chosen_tables(options.tables.split(","))
    seeds = parse_integers(options.seeds, "--seeds", 0, MAX_SEED)
    expect_run(options.run)
    keep_freed_memory()
    with only_trainer(options.run / FOLDER), disk_errors_explained(options.run, RESUME):
        run, collection = Run(options.run), Collection(options.collection)
        trainer = Trainer(run, collection, options.limit, str(usable_device(options.device)))
        base = base_settings(trainer.settings, options.set)
        jobs = jobs_of(tables, base)
        trainer.train_all(jobs.values(), seeds)

        def results(table: AblationTable, variant: Variant) -> list[list[Result]]:
            return [trainer.results(jobs[variant.training(base).key], seed) for seed in seeds]

        paths = {options.collection: "COLLECTION", options.run: "RUN"}
        command = reported_command("training.ablations", arguments, paths)
        tables_made, plots = build(tables, results)
        note = f"{NOTE.strip()}\n\n{sizes(base, trainer, seeds)}"
        Report("The paper's ablations", note, command, version(run.path), tables_made, plots).save(
            run.path / "reports" / "ablations.json"
        )


def sizes(base: Settings, trainer: Trainer, seeds: list[int]) -> str:
    """What was trained at which size, and on what it was measured."""
    quantizer, decoder = base.quantizer, base.decoder
    numbers = [len(asked.queries) for asked in trainer.columns.values()]
    fewest_to_most = " to ".join(map(str, sorted({min(numbers), max(numbers)})))
    return (
        f"{trainer.collection.root.resolve().name}; K × M = {quantizer.quantizer.codebook_size} × "
        f"{quantizer.quantizer.levels} stands for the paper's 4096 × 9, its other sizes in proportion. Decoder of "
        f"{decoder.decoder.layers} layers and width {decoder.decoder.width}; {quantizer.epochs} and {decoder.epochs} "
        f"epochs; seeds {', '.join(map(str, seeds))}; {fewest_to_most} test queries of each column among "
        f"{trainer.index.n:,} items."
    )


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
