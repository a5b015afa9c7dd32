"""Turn the reports of a run into tables: hit rates, times, training, code health, hostile testing.

    RUN/reports/retrieval.json    python -m genius.evaluation RUN
    RUN/reports/speed.json        python -m genius.evaluation.speed RUN/reports --run RUN
    RUN/reports/training.json     {stage: [{"epoch", "loss", …}, …]}, written by training
    RUN/reports/health.json       written by the quantizer's training
    RUN/reports/ablations.json    python -m training.ablations COLLECTION RUN (ablation_tables.py)
    RUN/reports/captions.json     python -m genius.evaluation.caption_table RUN (paper_tables.py)
    RUN/reports/shared_codes.json python -m genius.evaluation.shared_codes RUN (paper_tables.py)
    RUN/reports/throughput.json   python -m genius.evaluation.speed.throughput RUN (paper_tables.py)
    RUN/reports/encoders.json     python -m training.benchmarks.encoders COLLECTION RUN (ablation_tables.py)
    RUN/reports/uploads.json      python -m training.benchmarks.uploads RUN $GENIUS_DATA
    RUN/reports/hostile.json      python -m training.benchmarks.hostile RUN/reports

Each of them is optional.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from genius.errors import UserError
from genius.evaluation.ladder import ladder
from genius.evaluation.tables import UNKNOWN, between, dataset_name, decimals, percent, task_name, with_interval
from genius.metrics.hit_rate import CUTS
from genius.reading import one_line, read_json

Drawn = TypeVar("Drawn")
Report = dict[str, Any]

COMMANDS = {  # report -> command that writes it
    "retrieval": "python -m genius.evaluation {run}",
    "speed": "python -m genius.evaluation.speed {run}/reports --run {run}",
    "training": "python -m training COLLECTION {run}",
    "health": "python -m training COLLECTION {run}",
    "ablations": "python -m training.ablations COLLECTION {run}",
    "captions": "python -m genius.evaluation.caption_table {run}",
    "shared_codes": "python -m genius.evaluation.shared_codes {run}",
    "throughput": "python -m genius.evaluation.speed.throughput {run}",
    "encoders": "python -m training.benchmarks.encoders COLLECTION {run}",
    "uploads": "python -m training.benchmarks.uploads {run} $GENIUS_DATA",
    "hostile": "python -m training.benchmarks.hostile {run}/reports",
}
HOSTILE_SUITE = "tests/hostile/"  # where its files of tests lie
STAGES = ("encoder", "quantizer", "decoder")  # training stages with epochs
TIMED = {
    "encode": "encode",
    "fuse": "fuse",
    "scan": "scan",
    "beam": "beam search",
    "expand": "expand buckets",
    "rerank": "re-rank",
}  # stages of a search, in the order they run
NOT_METRICS = ("epoch", "seconds")
WRONG_LAYOUT = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Table:
    """A table of strings; the first `words` columns are text, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    words: int = 1


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to show, and the command that helps."""

    reason: str
    command: str


def report_file(run: Path, name: str) -> Path:
    return run / "reports" / f"{name}.json"


def read_report(run: Path, name: str) -> Report | None:
    """A report of a run, or None. Raises UserError if the file is not a JSON object."""
    file = report_file(run, name)
    try:
        report = read_json(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({one_line(error)})") from None
    if not isinstance(report, dict):
        raise UserError(f"{file} is not a report")
    return report


def from_report(run: Path, name: str, draw: Callable[[Report], Drawn]) -> Drawn | Missing:
    """The result of `draw` for a report, or Missing if there is no report that this version can read."""
    run = Path(os.path.relpath(run))  # do not show visitors the absolute path on the server
    command = COMMANDS[name].format(run=run)
    try:
        report = read_report(run, name)
        return (
            Missing("This has not been measured for this run yet. The command is:", command)
            if report is None
            else draw(report)
        )
    except UserError as error:
        return Missing(f"{error}; create it again:", command)
    except WRONG_LAYOUT:
        return Missing(f"{run / 'reports' / name}.json was written by another version; create it again:", command)


def retrieval_note(report: Report) -> str:
    """What was evaluated, on which data."""
    rows = report["pools"][0]["rows"]
    return (
        f"{sum(row['queries'] for row in rows):,} {report['split']} queries in {len(rows)} rows of "
        f"{report['collection']}, {report['index']['items']:,} items, {report['beams'][-1]} beams"
        f"{_fast_dtype(report)}, seed {report['seed']}. A query is a hit if a positive is among its first k results. "
        f"Error bars and brackets are 95 % confidence intervals. Command: {report['command']}"
    )


def _fast_dtype(report: Report) -> str:
    """Arithmetic of the decoder in mode fast; reports from before it was a setting lack it."""
    return f", mode fast in {report['fast_dtype']}" if "fast_dtype" in report else ""


def pool_names(report: Report) -> list[str]:
    """The names of the candidate pools, for a choice."""
    return [_pool_name(pool) for pool in report["pools"]]


def pool_named(report: Report, name: str) -> Report:
    """The pool of this name. Raises KeyError if there is none."""
    return {_pool_name(pool): pool for pool in report["pools"]}[name]


def hit_tables(report: Report, pool: str) -> list[Table]:
    """Hit rates of each row, their averages at all cuts, and differences between systems."""
    chosen = pool_named(report, pool)
    average = chosen["average"]
    systems, pairs = average["systems"], average["differences"]
    rows = [
        [
            task_name(row["task"]),
            dataset_name(row),
            f"{row['queries']:,}",
            *(with_interval(row["systems"][system]) for system in systems),
        ]
        for row in chosen["rows"]
    ]
    rows.append(["Average", "", "", *map(with_interval, systems.values())])
    return [
        Table("Hit rate in percent, by row", ("Task", "Dataset", "Queries", *systems), rows, words=2),
        _ladder_table(chosen),
        Table(
            "Averages over rows, in percent",
            ("System", *(f"hit@{cut}" for cut in CUTS), "% of dense search"),
            [
                [system, *(percent(found["hit"][str(cut)]) for cut in CUTS), percent(found["share_of_dense"])]
                for system, found in systems.items()
            ],
        ),
        Table(
            "Differences between systems, in percentage points",
            ("Pair", "Difference"),
            [[pair, with_interval(difference)] for pair, difference in pairs.items()],
        ),
    ]


def _ladder_table(pool: Report) -> Table:
    """What each step from exhaustive search to the served result keeps."""
    columns = ladder([*pool["rows"], pool["average"]])
    names = [*([task_name(row["task"]), dataset_name(row)] for row in pool["rows"]), ["Average", ""]]
    return Table(
        "Where hit rate is lost, from exhaustive search to the served result, in percent",
        ("Task", "Dataset", *columns),
        [[*name, *cells] for name, cells in zip(names, zip(*columns.values(), strict=True), strict=True)],
        words=2,
    )


def times_note(report: Report) -> str:
    """The machine and the batch sizes."""
    batch = report["batch"]
    return (
        f"Averages over rows on {report['machine']}. Batches of {batch['encoded']} queries for encoding and "
        f"{batch['searched']} for searching. A scan compares all embeddings or all IDs."
    )


def times_table(report: Report, pool: str) -> list[Table]:
    """Milliseconds per query by system and stage."""
    spent = pool_named(report, pool)["average"]["milliseconds"]
    return [
        Table(
            "Milliseconds per query",
            ("System", *TIMED.values(), "Total"),
            [
                [system, *(_milliseconds(stages.get(stage)) for stage in TIMED), _milliseconds(sum(stages.values()))]
                for system, stages in spent.items()
            ],
        )
    ]


def speed_note(report: Report) -> str:
    """What was measured, on which machine."""
    machine = report["machine"]
    return (
        f"Search only, medians; {report['beams']} beams{_fast_dtype(report)}. Uniform IDs: a decoder of the paper’s "
        f"size; realistic IDs: the run’s own. {machine['processor']}, {machine['threads']} threads"
        + f", {machine['gpu']}" * bool(machine["gpu"])
        + f". Command: {report['command']}"
    )


def speed_choices(report: Report) -> list[str]:
    """The measured combinations of ID distribution and batch size."""
    return _unique(_measured(cell) for cell in report["cells"])


def speed_cells(report: Report, choice: str | None) -> dict[str, dict[int, float]]:
    """System -> number of items -> median milliseconds per query."""
    medians: dict[str, dict[int, float]] = {}
    for cell in report["cells"]:
        if _measured(cell) == choice:
            medians.setdefault(cell["system"], {})[cell["items"]] = cell["milliseconds"]["median"]
    return {system: dict(sorted(by_items.items())) for system, by_items in medians.items()}


def speed_tables(report: Report, choice: str | None) -> list[Table]:
    """Times by number of items and, if a trained run was measured, its times and hit rate."""
    tables, cells = [], speed_cells(report, choice)
    if cells:
        sizes = sorted({items for by_items in cells.values() for items in by_items})
        tables.append(
            Table(
                f"Milliseconds per query by number of items: {choice}",
                ("System", *(f"{items:,}" for items in sizes)),
                [
                    [system, *(_milliseconds(by_items.get(items)) for items in sizes)]
                    for system, by_items in cells.items()
                ],
            )
        )
    if equal := report.get("equal"):
        tables.append(
            Table(
                f"This run’s own queries: {equal['queries']:,} among {equal['items']:,} items",
                (
                    "System",
                    f"hit@{equal['cut']}, %",
                    *(f"ms, batch {size}" for size in equal["batches"]),
                    "Bytes per item",
                ),
                [
                    [
                        one["system"],
                        percent(one["hit_rate"]),
                        *(_milliseconds(one["milliseconds"][str(size)]["median"]) for size in equal["batches"]),
                        f"{one['bytes_per_item']:,.0f}",
                    ]
                    for one in equal["systems"]
                ],
            )
        )
    return tables


def uploads_note(report: Report) -> str:
    """What was uploaded, and which results are right."""
    first = report["answers"][0]
    return (
        f"{first['uploads']:,} photographs from outside the collection were asked about; a result is right if one of "
        "its names is in a caption of the photograph. Pictures similar to held-out ones are right if they are of the "
        f"same category. Brackets are 95 % confidence intervals. Command: {report['command']}"
    )


def uploads_tables(report: Report, choice: str | None = None) -> list[Table]:
    """Right answers, pictures of the right category, and pictures far from everything."""
    cuts = list(report["answers"][0]["hit"])
    return [
        Table(
            "What is this? Uploads with a right answer among the first results, in percent",
            ("Instruction", "Results", *(f"first {cut}" for cut in cuts)),
            [
                [row["instruction"], row["way"], *(between(row["hit"][cut], *row["interval"][cut]) for cut in cuts)]
                for row in report["answers"]
            ],
            words=2,
        ),
        Table(
            "Find similar pictures: uploads with a picture of the category among the first results, in percent",
            ("Set", "Uploaded", "Category", "Uploads", *(f"first {cut}" for cut in cuts)),
            [
                [
                    row["set"],
                    row["uploaded"],
                    row["categories"],
                    f"{row['uploads']:,}",
                    *(percent(row["hit"][cut]) for cut in cuts),
                ]
                for row in report["similar"]
            ],
            words=3,
        ),
        Table(
            "Pictures that are said to be far from everything in the index, in percent",
            ("Pictures", "Number", "Far"),
            [[row["pictures"], f"{row['count']:,}", percent(row["far"])] for row in report["far"]],
        ),
    ]


def hostile_note(report: Report) -> str:
    """How much was tried, how much of it failed, on which machine, and what was not tried."""
    parts = report["parts"].values()
    left = ", ".join(name.removeprefix(HOSTILE_SUITE) for name in report["not_run"])
    tried = sum(sum(part["outcomes"].values()) for part in parts)
    failed = sum(len(part["failures"]) for part in parts)
    return (
        f"{tried:,} attempts to break the program in {sum(part['tests'] for part in parts):,} tests, "
        f"{f'{failed:,} of which failed' if failed else 'none of which failed'}. {report['machine']}. "
        f"{f'Not run: {left}. ' if left else ''}Command: {report['command']}"
    )


def hostile_tables(report: Report, choice: str | None = None) -> list[Table]:
    """What the attempts of each class came to, the measured figures, and with which code each file was run."""
    parts = report["parts"]
    outcomes = _unique(outcome for part in parts.values() for outcome in part["outcomes"])
    figures = [
        [name, measure, f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"]
        for name, part in parts.items()
        for measure, value in part["measured"].items()
        if isinstance(value, int | float)
    ]
    return [
        Table(
            "Attempts by class and outcome",
            ("Class", "Tests", "Failed", "Skipped", "Seconds", *outcomes),
            [
                [
                    name,
                    f"{part['tests']:,}",
                    f"{len(part['failures']):,}",
                    f"{len(part['skipped']):,}",
                    f"{part['seconds']:,.0f}",
                    *(f"{part['outcomes'].get(outcome, 0):,}" for outcome in outcomes),
                ]
                for name, part in parts.items()
            ],
        ),
        *([Table("Measured", ("Class", "Measure", "Value"), figures, words=2)] if figures else []),
        Table(
            "Files of tests",
            ("File", "Code", "Tests", "Failed", "Attempts", "Seconds", "Seconds of a processor"),
            [
                [
                    name.removeprefix(HOSTILE_SUITE),
                    file["code"],
                    f"{file['tests']:,}",
                    f"{len(file['failures']):,}",
                    f"{sum(file['outcomes'].values()):,}",
                    f"{file['seconds']:,.0f}",
                    f"{file['processor_seconds']:,.0f}",
                ]
                for name, file in report["files"].items()
            ],
            words=2,
        ),
    ]


def training_note(report: Report) -> str:
    """The epochs and the duration of each stage."""
    known = [(stage, epochs) for stage, epochs in report.items() if epochs]
    if not known:
        raise ValueError("no stage has an epoch")
    return (
        "; ".join(
            f"{stage}: {len(epochs)} epoch{'s' * (len(epochs) > 1)} in {_duration(epochs)}" for stage, epochs in known
        )
        + "."
    )


def metrics(epochs: Sequence[Report]) -> list[str]:
    """The names of a stage's metrics, losses first."""
    names = _unique(
        name
        for epoch in epochs
        for name, value in epoch.items()
        if name not in NOT_METRICS and isinstance(value, int | float)
    )
    return sorted(names, key=is_validation)


def is_validation(metric: str) -> bool:
    """Whether a metric is a rate on validation queries; otherwise it is a loss."""
    return metric.startswith("val_")


def metric_name(metric: str) -> str:
    """val_hit_at_5 -> hit@5."""
    return metric.removeprefix("val_").replace("_at_", "@").replace("_", " ")


def training_tables(report: Report, choice: str | None = None) -> list[Table]:
    """A table for each stage, a row for each epoch."""
    return [
        Table(
            stage.capitalize(),
            (
                "Epoch",
                *(("validation " * is_validation(name)) + metric_name(name) for name in metrics(epochs)),
                "Seconds",
            ),
            [
                [
                    str(epoch["epoch"]),
                    *(decimals(epoch.get(name), 4) for name in metrics(epochs)),
                    decimals(epoch.get("seconds"), 1),
                ]
                for epoch in epochs
            ],
        )
        for stage, epochs in report.items()
        if epochs
    ]


def health_note(health: Report) -> str:
    """How well IDs distinguish items, and the cost of quantization."""
    note = (
        f"{percent(health['items_alone'])} % of {health['items']:,} training items have an ID of their own; "
        f"the largest bucket has {health['largest_bucket']:,} items."
    )
    if "val_hit_at_5_quantized" in health:
        note += (
            f" Validation hit@5 is {percent(health['val_hit_at_5'])} % with features and "
            f"{percent(health['val_hit_at_5_quantized'])} % with quantized vectors."
        )
    return note


def health_tables(health: Report, choice: str | None = None) -> list[Table]:
    """Use of the codes at each level."""
    return [
        Table(
            "Use of the codes",
            ("Level", "Codes", "Used", "Effective codes"),
            [
                [str(level["level"]), f"{level['codes']:,}", f"{level['used']:,}", f"{level['perplexity']:.1f}"]
                for level in health["levels"]
            ],
        )
    ]


def _pool_name(pool: Report) -> str:
    return f"{pool['scope'].capitalize()} pool, {pool['items']} items"


def _measured(cell: Report) -> str:
    return f"{cell['ids']} IDs, batch {cell['batch']}"


def _milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.2f}"


def _duration(epochs: Sequence[Report]) -> str:
    seconds = sum(epoch.get("seconds", 0) for epoch in epochs)
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
