"""The report of an evaluation as Markdown. Rates are percentages; every figure is in the JSON beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from genius.evaluation.paper_comparison import beside_paper
from genius.evaluation.report_cells import (
    MODALITY_NAMES,
    count,
    dataset_name,
    figure,
    percent,
    table,
    task_name,
    with_interval,
)
from genius.evaluation.summary import WORTH_A_SHARE
from genius.metrics.factor_agreement import SHUFFLES
from genius.metrics.hit_rate import CUTS, FASHION_CUT, USUAL_CUT

__all__ = ["MODALITY_NAMES", "dataset_name", "markdown", "percent", "table", "task_name"]

RULE = f"""A query is a hit at k if any of its positives is among its first k results (M-BEIR's Recall@k).
A positive outside the pool never counts, and a query with no positive in the pool is a miss, as in M-BEIR's own
evaluation; *judgements outside* counts such positives. Where k is not said it is {USUAL_CUT}, but {FASHION_CUT} for
Fashion200K and FashionIQ (marked *hit@{FASHION_CUT}*), as in the paper. Averages weigh every row alike. Brackets are
bootstrap 95 % intervals. *Of dense* is the share of dense search's hit rate that a system reaches, in rows where
dense reaches {WORTH_A_SHARE:.0%}; its average is over those rows.

*dense*: exact search over the embeddings. *quantized*: exact search over the quantized vectors, all IDs
scored by look-up tables. *beam*: beam search over the valid IDs by the decoder, blended with geometry as said
above; mode exact, the published algorithm, in the order of ID scores. *beam + re-rank*: mode set, which finds the
same IDs sooner, re-ranked by embedding. *fast + re-rank*: mode fast, which decodes a quarter of the beams, stops
where the prefixes hold few items and hands these over, up to a budget. *geometry*: each of these three by codebook
distances alone (decoder weight 0); what the decoder adds is what it finds more than they. Items that share an ID
follow each other by index row unless re-ranked."""
OTHER_PICTURES = (
    "the test queries' pictures, redrawn, differ from those at training time, by other versions of the "
    "libraries that draw and decode them; the records are the same"
)
GEOMETRY = ("geometry", "geometry + re-rank", "fast geometry + re-rank")
RERANKED = ("geometry + re-rank", "beam + re-rank", "fast + re-rank")

Row = dict[str, Any]
Columns = dict[str, Callable[[Row], str]]  # heading -> cell of a row or of the average


def markdown(report: dict[str, Any]) -> str:
    """The whole report: the headline table, then everything else."""
    pools, headline = report["pools"], report["pools"][0]
    parts = [
        f"# Retrieval: {report['run']} on {report['collection']}",
        _facts(report),
        RULE,
        f"## Hit rate, {_pool_name(headline)}",
        *_at_headline_cut(headline),
        *beside_paper(report),
        "## Hit rate, averages",
        _averages(pools),
        "## Hit rate, how much more one finds than another",
        "In points, averages over rows. Intervals are of the differences query by query.",
        _differences(pools),
    ]
    if report["phrasings"]:
        parts += [
            "## Hit rate over all phrasings of the instructions",
            "Every query asked in every phrasing of its row: the mean over them, the lowest and the highest.",
            _phrasings(report["phrasings"]),
        ]
    if len(report["sweep"]) > 1:
        parts += [f"## Hit rate by beam size, {_pool_name(headline)}, averages", _sweep(report["sweep"])]
    parts += [
        f"## Targets that training saw and targets it did not, {_pool_name(headline)}",
        "Hit rate of queries all of whose positives were training targets (seen), and "
        "of those none of whose positives was one (new). Averages are over the rows that have any.",
        _by_target(headline),
        "## What the beam searches handed over",
        "*Recall*: queries with a positive among the items handed to the re-ranker. *Items*, *most*: how many "
        "those were, on average and at most. *Scored*: beams whose continuations the decoder scored, over all "
        "levels (geometry: the codebook distances). *Certified*: queries whose IDs are provably the best of all "
        "valid IDs under the model; mode exact alone was asked. *First code*: queries whose most probable first "
        "code is that of a positive: its modality, unless the run let first codes emerge.",
        _beams(pools),
        f"By row, {_pool_name(headline)}:",
        _beams_by_row(headline),
        "## First codes under other instructions",
        "Queries whose most probable first code is right: *asked* as in the tables above, in phrasings that "
        "training never read (*held out*), and with the same text and picture under an instruction that wants "
        "another kind of thing (*swapped*: right is the code of that kind).",
        _following(report["following"]),
        "## Codes",
        _health(report["codes"]["health"]),
        *_factors(report["codes"]["factors"]),
        "## Milliseconds per query",
        f"{report['machine']}; batches of {report['batch']['encoded']} queries to encode and of "
        f"{report['batch']['searched']} to search by {report['beams'][-1]} beams, averages over rows. "
        "*Scan*: all embeddings, or all IDs.",
        _milliseconds(pools),
        "## Bytes per item",
        _bytes(report["bytes_per_item"]),
        "## Hit rate, other pools",
    ]
    for pool in pools[1:]:
        parts += [f"### {_pool_name(pool).capitalize()}", *_at_headline_cut(pool)]
    parts += [f"## Hit rate at {' / '.join(map(str, CUTS))}"]
    for pool in pools:
        parts += [f"### {_pool_name(pool).capitalize()}", _at_all_cuts(pool)]
    return "\n\n".join(parts) + "\n"


def _facts(report: dict[str, Any]) -> str:
    index, rows = report["index"], report["pools"][0]["rows"]
    limit = f", at most {report['limit']} a row" if report["limit"] else ""
    return "\n".join(
        [
            f"- `{report['command']}`",
            *_redrawn(report.get("world")),
            f"- {sum(row['queries'] for row in rows):,} {report['split']} queries in {len(rows)} rows{limit}; "
            f"instructions: {report['instruction']}; seed {report['seed']}",
            *(
                [f"- {unknown:,} judgements name items that the index does not hold"]
                if (unknown := report["unknown_judgements"])
                else []
            ),
            f"- {index['items']:,} items with {index['ids']:,} different IDs; codes a level: "
            + ", ".join(map(str, index["code_sizes"])),
            f"- {report['beams'][-1]} beams, decoder weight {report['decoder_weight']:g} against geometry; mode fast: "
            f"a budget of {report['budget']} items, decoder in {report['fast_dtype']}",
        ]
    )


def _redrawn(world: dict[str, Any] | None) -> list[str]:
    if world is None:
        return []
    pictures = {True: "the same test queries' pictures", False: OTHER_PICTURES, None: "pictures not compared"}
    return [
        f"- redrawn from seed {world['seed']}, scale {world['scale']:,}, {world['pixels']} pixels; the same "
        f"records (SHA-256 {world['digest'][:12]}…); {pictures[world['same_pictures']]}"
    ]


def _pool_name(pool: dict[str, Any]) -> str:
    return f"{pool['scope']} pool, {pool['items']} items"


def _averages(pools: list[dict[str, Any]]) -> str:
    systems = list(pools[0]["average"]["systems"])
    columns = _hits(systems) | _shares("beam", "beam + re-rank", "geometry + re-rank", "fast + re-rank")
    return table(
        ["pool", *columns],
        [[_pool_name(pool), *(cell(pool["average"]) for cell in columns.values())] for pool in pools],
    )


def _differences(pools: list[dict[str, Any]]) -> str:
    pairs = list(pools[0]["average"]["differences"])
    return table(
        ["pool", *pairs],
        [
            [_pool_name(pool), *(with_interval(pool["average"]["differences"][pair]) for pair in pairs)]
            for pool in pools
        ],
    )


def _at_headline_cut(pool: dict[str, Any]) -> list[str]:
    """The systems that have a decoder or need none, and below them those that leave it out."""
    columns: Columns = {
        "queries": lambda row: count(row.get("queries")),
        "candidates": lambda row: count(row.get("candidates")),
    }
    if any(row["without_positive"] for row in pool["rows"]):
        columns["no positive in pool"] = lambda row: count(row.get("without_positive"))
    if any(row["judgements_outside"] for row in pool["rows"]):
        columns["judgements outside"] = lambda row: count(row.get("judgements_outside"))
    others = [system for system in pool["average"]["systems"] if system not in GEOMETRY]
    return [
        _rows(pool, columns | _hits(others) | _shares("beam", "beam + re-rank")),
        "By the geometry of the codes alone:",
        _rows(pool, _hits(GEOMETRY) | _shares("geometry + re-rank")),
    ]


def _hits(systems: Sequence[str]) -> Columns:
    return {system: lambda row, system=system: with_interval(row["systems"][system]) for system in systems}


def _shares(*systems: str) -> Columns:
    return {
        f"{system}, of dense": lambda row, system=system: figure(row["systems"][system]["share_of_dense"], 1, 2)
        for system in systems
    }


def _at_all_cuts(pool: dict[str, Any]) -> str:
    return _rows(
        pool,
        {
            system: lambda row, system=system: " / ".join(map(percent, row["systems"][system]["hit"].values()))
            for system in pool["average"]["systems"]
        },
    )


def _by_target(pool: dict[str, Any]) -> str:
    columns: Columns = {}
    for heading, queries, rate in (
        ("seen", "queries_trained", "trained_targets"),
        ("new", "queries_new", "new_targets"),
    ):
        columns[heading] = lambda row, queries=queries: count(row.get(queries))
        for system in ("dense", "quantized", *RERANKED):
            columns[f"{heading}: {system}"] = lambda row, system=system, rate=rate: percent(
                row["systems"][system][rate]
            )
    return _rows(pool, columns)


def _beams(pools: list[dict[str, Any]]) -> str:
    return table(
        ["pool", "system", "recall", "items", "most", "scored", "certified", "first code"],
        [
            [
                _pool_name(pool),
                system,
                percent(found["candidate_recall"]),
                figure(found["items"], 1, 1),
                count(found["most_items"]),
                figure(found["scored"], 1, 1),
                percent(found["certified"]),
                percent(found["first_code"]),
            ]
            for pool in pools
            for system, found in pool["average"]["beam"].items()
        ],
        words=2,
    )


def _beams_by_row(pool: dict[str, Any]) -> str:
    columns: Columns = {}
    for system in RERANKED:
        columns |= {
            f"{system}: recall": lambda row, system=system: percent(row["beam"][system]["candidate_recall"]),
            f"{system}: items": lambda row, system=system: "{} ≤ {}".format(
                figure(row["beam"][system]["items"], 1, 1), count(row["beam"][system]["most_items"])
            ),
        }
    columns["beam: certified"] = lambda row: percent(row["beam"]["beam"]["certified"])
    columns["beam: first code"] = lambda row: percent(row["beam"]["beam"]["first_code"])
    return _rows(pool, columns)


def _phrasings(found: dict[str, Any]) -> str:
    def cell(rates: dict[str, float]) -> str:
        return f"{percent(rates['mean'])} [{percent(rates['least'])}, {percent(rates['most'])}]"

    systems = list(found["average"])
    return table(
        ["task", "dataset", "phrasings", *systems],
        [
            *(
                [
                    task_name(row["task"]),
                    dataset_name(row),
                    count(row["phrasings"]),
                    *(cell(row["systems"][system]) for system in systems),
                ]
                for row in found["rows"]
            ),
            ["**average**", "", "", *(percent(found["average"][system]) for system in systems)],
        ],
        words=2,
    )


def _following(found: dict[str, Any]) -> str:
    def shares(row: Row) -> list[str]:
        return [percent(row[way]) for way in ("asked", "held_out", "swapped")]

    return table(
        ["task", "dataset", "asked", "held out", "swapped"],
        [
            *([task_name(row["task"]), row["dataset"], *shares(row)] for row in found["rows"]),
            ["**average**", "", *shares(found["average"])],
        ],
        words=2,
    )


def _health(health: dict[str, Any]) -> str:
    first = ", ".join(
        f"{level['used']} of {level['codes']} codes at level {level['level']}" for level in health["levels"][1:3]
    )
    return (
        f"{percent(health['items_alone'])} % of {health['items']:,} items share their ID with no other; the "
        f"largest bucket holds {health['largest_bucket']}. Of the first semantic levels are used: {first}."
    )


def _factors(factors: list[dict[str, Any]]) -> list[str]:
    if not factors:
        return []
    levels = [level["level"] for level in factors[0]["levels"]]

    def lines(share: str) -> list[list[str]]:
        return [
            [
                row["factor"],
                f"{row['items']:,}",
                str(row["values"]),
                *(figure(level[share], 1, 2) for level in row["levels"]),
            ]
            for row in factors
        ]

    heading = ["factor", "items", "values", *(f"level {level}" for level in levels)]
    shuffled = max(abs(level["shuffled"]) for row in factors for level in row["levels"])
    return [
        "### What codes say of the items' factors",
        "Adjusted mutual information of a factor with the codes of one level alone, over the candidates that have "
        f"the factor: 1 settles it, 0 is chance. Baseline: with the factor shuffled ({SHUFFLES} times, mean) no "
        f"entry is beyond ±{shuffled:.3f}.",
        table(heading, lines("alone")),
        "The same among candidates of one modality, averaged by their number:",
        table(heading, lines("in_modality")),
        "Given the codes before: the share of what they leave open of the factor that the level settles, by more "
        "than chance would (–: chance would leave nothing open).",
        table(heading, lines("given_prefix")),
    ]


def _rows(pool: dict[str, Any], columns: Columns) -> str:
    """A table with a line for each (task, dataset) row and one for their average."""
    lines = [
        [task_name(row["task"]), dataset_name(row), *(cell(row) for cell in columns.values())] for row in pool["rows"]
    ]
    lines.append(["**average**", "", *(cell(pool["average"]) for cell in columns.values())])
    return table(["task", "dataset", *columns], lines, words=2)


def _sweep(sweep: list[dict[str, Any]]) -> str:
    columns = _hits(["geometry", "geometry + re-rank", "beam", "beam + re-rank", "fast + re-rank"])
    columns |= _shares("beam + re-rank")
    columns["beam: certified"] = lambda row: percent(row["beam"]["beam"]["certified"])
    for system in RERANKED[1:]:
        columns |= {
            f"{system}: recall": lambda row, system=system: percent(row["beam"][system]["candidate_recall"]),
            f"{system}: items": lambda row, system=system: figure(row["beam"][system]["items"], 1, 1),
            f"{system}: ms": lambda row, system=system: figure(sum(row["milliseconds"][system].values()), 1, 2),
        }
    return table(
        ["beams", *columns],
        [[str(entry["beams"]), *(cell(entry["average"]) for cell in columns.values())] for entry in sweep],
        words=0,
    )


def _milliseconds(pools: list[dict[str, Any]]) -> str:
    stages = ("encode", "fuse", "scan", "beam", "expand", "rerank")
    return table(
        ["pool", "system", *stages, "total"],
        [
            [
                _pool_name(pool),
                system,
                *(figure(spent.get(stage), 1, 2) for stage in stages),
                figure(sum(spent.values()), 1, 2),
            ]
            for pool in pools
            for system, spent in pool["average"]["milliseconds"].items()
        ],
        words=2,
    )


def _bytes(sizes: dict[str, float]) -> str:
    return table(["", "bytes per item"], [[what, f"{size:,g}"] for what, size in sizes.items()])
