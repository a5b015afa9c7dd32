"""The report of retrieval as tables of strings: hit rates and times."""

from __future__ import annotations

from genius.evaluation.ladder import ladder
from genius.evaluation.tables import dataset_name, percent, task_name, with_interval
from genius.explore.report_tables.report_data import Report, Table, decoder_dtype_note, shown_milliseconds
from genius.metrics.hit_rate import CUTS

TIMED = {
    "encode": "encode",
    "fuse": "fuse",
    "scan": "scan",
    "beam": "beam search",
    "expand": "expand buckets",
    "rerank": "re-rank",
}  # stages of a search, in the order they run


def retrieval_note(report: Report) -> str:
    """What was evaluated, on which data."""
    rows = report["pools"][0]["rows"]
    return (
        f"{sum(row['queries'] for row in rows):,} {report['split']} queries in {len(rows)} rows of "
        f"{report['collection']}, {report['index']['items']:,} items, {report['beams'][-1]} beams"
        f"{decoder_dtype_note(report)}, seed {report['seed']}. A query is a hit if a positive is among its first k "
        f"results. Error bars and brackets are 95 % confidence intervals. Command: {report['command']}"
    )


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
                [
                    system,
                    *(shown_milliseconds(stages.get(stage)) for stage in TIMED),
                    shown_milliseconds(sum(stages.values())),
                ]
                for system, stages in spent.items()
            ],
        )
    ]


def _pool_name(pool: Report) -> str:
    return f"{pool['scope'].capitalize()} pool, {pool['items']} items"
