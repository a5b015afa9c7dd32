"""The report of an evaluation as Markdown. Rates are percentages; the JSON next to it holds every figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genius.evaluation.ladder import EXPLAINED, ladder
from genius.evaluation.paper_comparison import paper_tables
from genius.evaluation.summary import MIN_DENSE
from genius.evaluation.tables import between, dataset_name, decimals, percent, table, task_name, with_interval
from genius.metrics.factor_agreement import SHUFFLES
from genius.metrics.hit_rate import CUTS, FASHION_CUT, USUAL_CUT
from genius.search.shortlist import PER_CANDIDATE, PER_ROOT

DEFINITIONS = f"""A query is a hit at k if any of its positives is among its first k results (M-BEIR's Recall@k).
A positive outside the pool never counts, and a query with no positive in the pool is a miss, as in M-BEIR's own
evaluation; *judgments outside* counts these positives. The default k is {USUAL_CUT}; for Fashion200K and FashionIQ
it is {FASHION_CUT} (marked *hit@{FASHION_CUT}*), as in the paper. Averages weigh all rows equally. Brackets are
bootstrap 95 % intervals. *Of dense* is a system's share of the hit rate of dense search, in rows where dense search
reaches {MIN_DENSE:.0%}; its average is over those rows.

*dense*: exact search over the embeddings. *fused*, where measured: over the fused features. *quantized*: exact search
over the quantized vectors, all IDs scored by look-up tables. *beam*: beam search over the valid IDs by the decoder,
blended with geometry with the weight above; mode exact, the published algorithm, in the order of ID scores. *beam +
re-rank*: the same IDs, re-ranked by embedding. *fast + re-rank*: mode fast, which decodes
a quarter of the beams, stops where the prefixes hold at most {PER_CANDIDATE} times as many items as the budget, or
{PER_ROOT} · √(items of the pool) if that is more, and re-ranks those that are nearest by their codes, up to the budget.
*ranker*, where the run has one: by it instead of by embedding. *geometry*: each of these by codebook distances alone
(decoder weight 0); the difference is what the decoder adds. Items
that share an ID are in the order of index rows unless re-ranked."""
DIFFERENT_PICTURES = (
    "the redrawn pictures of the test queries differ from those at training time, because the versions of the "
    "libraries that draw and decode them differ; the records are the same"
)
GEOMETRY = ("geometry", "geometry + re-rank", "fast geometry + re-rank")
RERANKED = ("geometry + re-rank", "beam + re-rank", "fast + re-rank")

Entry = dict[str, Any]  # a row, an average, a pool or a part of the report
Columns = dict[str, list[str]]  # heading -> cells


def markdown(report: Entry) -> str:
    """The whole report: the headline table first."""
    pools, headline = report["pools"], report["pools"][0]
    parts = [
        f"# Retrieval: {report['run']} on {report['collection']}",
        _settings(report),
        DEFINITIONS,
        f"## Hit rate, {_pool_name(headline)}",
        *_headline(headline),
        *paper_tables(report),
        f"## Where hit rate is lost, {_pool_name(headline)}",
        EXPLAINED,
        *_ladders(pools),
        "## Hit rate, averages",
        _averages(pools),
        "## Hit rate, differences between systems",
        "In percentage points, averages over rows. Intervals are of the differences query by query.",
        _differences(pools),
    ]
    if report["phrasings"]:
        parts += [
            "## Hit rate over all phrasings of the instructions",
            "Every query in every phrasing of its row's instruction: the mean over them, the lowest and the highest.",
            _phrasings(report["phrasings"]),
        ]
    if len(report["sweep"]) > 1:
        parts += [f"## Hit rate by beam size, {_pool_name(headline)}, averages", _sweep(report["sweep"])]
    parts += [
        f"## Targets seen and not seen in training, {_pool_name(headline)}",
        "Hit rate of queries all of whose positives were training targets (seen), and of those none of whose "
        "positives was one (new). Averages are over the rows that have any.",
        _by_target(headline),
        "## Candidates from the beam searches",
        "*Recall*: queries with a positive among the items that are re-ranked. *Items*, *most*: how many items, on "
        "average and at most. *Scored*: beams whose continuations the decoder scored, over all levels (geometry: "
        "by codebook distances). *Certified*: queries whose IDs are provably the best of all valid IDs under the "
        "model; measured in mode exact alone. *First code*: queries whose most probable first code is that of a "
        "positive, which is its modality unless first codes of the run emerged.",
        _beams(pools),
        f"By row, {_pool_name(headline)}:",
        _beams_by_row(headline),
        "## First codes under other instructions",
        "Queries whose most probable first code is right: *asked* as in the tables above, in phrasings that training "
        "never used (*held out*), and with the same text and image under an instruction for another target modality "
        "(*swapped*: the code of that modality is right).",
        _following(report["following"]),
        "## Codes",
        _health(report["codes"]["health"]),
        *_factors(report["codes"]["factors"]),
        "## Milliseconds per query",
        f"{report['machine']}; batches of {report['batch']['encoded']} queries to encode and of "
        f"{report['batch']['searched']} to search by {report['beams'][-1]} beams, averages over rows. "
        "*Scan*: over all embeddings, or all IDs.",
        _milliseconds(pools),
        "## Bytes per item",
        _bytes(report["bytes_per_item"]),
        "## Hit rate, other pools",
    ]
    for pool in pools[1:]:
        parts += [f"### {_pool_name(pool).capitalize()}", *_headline(pool)]
    parts += [f"## Hit rate at {' / '.join(map(str, CUTS))}"]
    for pool in pools:
        parts += [f"### {_pool_name(pool).capitalize()}", _all_cuts(pool)]
    return "\n\n".join(parts) + "\n"


def _settings(report: Entry) -> str:
    index, rows = report["index"], report["pools"][0]["rows"]
    limit = f", at most {report['limit']} per row" if report["limit"] else ""
    limit += ", those with a positive in the index" if report.get("answerable") else ""  # old reports lack it
    dtype = f", decoder in {report['decoder_dtype']}" if "decoder_dtype" in report else ""  # old reports lack it
    lines = [
        f"`{report['command']}`",
        *_redrawn(report.get("world")),
        f"{sum(row['queries'] for row in rows):,} {report['split']} queries in {len(rows)} rows{limit}; "
        f"instructions: {report['instruction']}; seed {report['seed']}",
        f"{index['items']:,} items with {index['ids']:,} distinct IDs; codes per level: "
        + ", ".join(map(str, index["code_sizes"])),
        f"{report['beams'][-1]} beams, decoder weight {report['decoder_weight']:g} against geometry; mode fast: "
        f"a budget of {report['budget']} items" + dtype,
    ]
    if other := report.get("trained_on"):  # old reports lack it
        lines.append(f"the parts of the run were trained on another collection, {other}")
    if unknown := report["unknown_judgements"]:
        lines.append(f"{unknown:,} judgments name items that are not in the index")
    return "\n".join(f"- {line}" for line in lines)


def _redrawn(world: Entry | None) -> list[str]:
    if world is None:
        return []
    pictures = {True: "the same pictures of test queries", False: DIFFERENT_PICTURES, None: "pictures not compared"}
    return [
        f"redrawn from seed {world['seed']}, scale {world['scale']:,}, {world['pixels']} pixels; the same "
        f"records (SHA-256 {world['digest'][:12]}…); {pictures[world['same_pictures']]}"
    ]


def _names(rows: list[Entry]) -> Columns:
    """The first two columns of a table of rows and their average."""
    return {
        "task": [*(task_name(row["task"]) for row in rows), "**average**"],
        "dataset": [*(dataset_name(row) for row in rows), ""],
    }


def _pool_name(pool: Entry) -> str:
    return f"{pool['scope']} pool, {pool['items']} items"


def _entries(pool: Entry) -> list[Entry]:
    return [*pool["rows"], pool["average"]]


def _counts(entries: list[Entry], key: str) -> list[str]:
    """Averages have no counts."""
    return [f"{entry[key]:,}" if key in entry else "" for entry in entries]


def _hits(entries: list[Entry], systems: Iterable[str]) -> Columns:
    return {system: [with_interval(entry["systems"][system]) for entry in entries] for system in systems}


def _shares(entries: list[Entry], *systems: str) -> Columns:
    return {
        f"{system}, of dense": [decimals(entry["systems"][system]["share_of_dense"], 2) for entry in entries]
        for system in systems
    }


def _beam_figures(entries: list[Entry], system: str, *keys: str) -> Columns:
    """The columns `system: recall`, … of what a beam search found."""
    columns = {
        "recall": lambda found: percent(found["candidate_recall"]),
        "items": lambda found: f"{found['items']:.1f} ≤ {found['most_items']:,}",
        "mean items": lambda found: f"{found['items']:.1f}",
        "certified": lambda found: percent(found["certified"]),
        "first code": lambda found: percent(found["first_code"]),
    }
    return {
        f"{system}: {key.removeprefix('mean ')}": [columns[key](entry["beam"][system]) for entry in entries]
        for key in keys
    }


def _ladders(pools: list[Entry]) -> list[str]:
    """The oracle ladder of the headline pool, then of the others under their names."""
    parts = []
    for pool in pools:
        heading = [f"{_pool_name(pool).capitalize()}:"] * bool(parts)
        parts += [*heading, table(_names(pool["rows"]) | ladder(_entries(pool)), text_columns=2)]
    return parts


def _averages(pools: list[Entry]) -> str:
    entries = [pool["average"] for pool in pools]
    shares = _shares(entries, "beam", "beam + re-rank", "geometry + re-rank", "fast + re-rank")
    return table({"pool": list(map(_pool_name, pools))} | _hits(entries, entries[0]["systems"]) | shares)


def _differences(pools: list[Entry]) -> str:
    return table(
        [
            {"pool": _pool_name(pool)}
            | {pair: with_interval(difference) for pair, difference in pool["average"]["differences"].items()}
            for pool in pools
        ]
    )


def _headline(pool: Entry) -> list[str]:
    """Hit rates of the systems with a decoder and of exhaustive search, then of those by geometry alone."""
    rows, entries = pool["rows"], _entries(pool)
    columns = {"queries": _counts(entries, "queries"), "candidates": _counts(entries, "candidates")}
    if any(row["without_positive"] for row in rows):
        columns["no positive in pool"] = _counts(entries, "without_positive")
    if any(row["judgements_outside"] for row in rows):
        columns["judgments outside"] = _counts(entries, "judgements_outside")
    others = [system for system in pool["average"]["systems"] if system not in GEOMETRY]
    columns |= _hits(entries, others) | _shares(entries, "beam", "beam + re-rank")
    geometry = _hits(entries, GEOMETRY) | _shares(entries, "geometry + re-rank")
    return [
        table(_names(rows) | columns, text_columns=2),
        "By the geometry of the codes alone:",
        table(_names(rows) | geometry, text_columns=2),
    ]


def _all_cuts(pool: Entry) -> str:
    columns = {
        system: [" / ".join(map(percent, entry["systems"][system]["hit"].values())) for entry in _entries(pool)]
        for system in pool["average"]["systems"]
    }
    return table(_names(pool["rows"]) | columns, text_columns=2)


def _by_target(pool: Entry) -> str:
    entries, columns = _entries(pool), _names(pool["rows"])
    for heading, queries, rate in (
        ("seen", "queries_trained", "trained_targets"),
        ("new", "queries_new", "new_targets"),
    ):
        columns[heading] = _counts(entries, queries)
        for system in ("dense", "quantized", *RERANKED):
            columns[f"{heading}: {system}"] = [percent(entry["systems"][system][rate]) for entry in entries]
    return table(columns, text_columns=2)


def _beams(pools: list[Entry]) -> str:
    return table(
        [
            {
                "pool": _pool_name(pool),
                "system": system,
                "recall": percent(found["candidate_recall"]),
                "items": f"{found['items']:.1f}",
                "most": f"{found['most_items']:,}",
                "scored": f"{found['scored']:.1f}",
                "certified": percent(found["certified"]),
                "first code": percent(found["first_code"]),
            }
            for pool in pools
            for system, found in pool["average"]["beam"].items()
        ],
        text_columns=2,
    )


def _beams_by_row(pool: Entry) -> str:
    entries, columns = _entries(pool), _names(pool["rows"])
    for system in RERANKED:
        columns |= _beam_figures(entries, system, "recall", "items")
    return table(columns | _beam_figures(entries, "beam", "certified", "first code"), text_columns=2)


def _phrasings(report: Entry) -> str:
    rows, average = report["rows"], report["average"]
    columns = _names(rows) | {"phrasings": [*(f"{row['phrasings']:,}" for row in rows), ""]}
    for system in average:
        rates = [row["systems"][system] for row in rows]
        cells = [between(rate["mean"], rate["least"], rate["most"]) for rate in rates]
        columns[system] = [*cells, percent(average[system])]
    return table(columns, text_columns=2)


def _following(report: Entry) -> str:
    columns = _names([row | {"cut": USUAL_CUT} for row in report["rows"]])  # no hit rates, so no cuts to name
    for key in ("asked", "held_out", "swapped"):
        columns[key.replace("_", " ")] = [percent(entry[key]) for entry in _entries(report)]
    return table(columns, text_columns=2)


def _health(health: Entry) -> str:
    first = ", ".join(
        f"{level['used']} of {level['codes']} codes at level {level['level']}" for level in health["levels"][1:3]
    )
    return (
        f"{percent(health['items_alone'])} % of {health['items']:,} items share their ID with no other; the largest "
        f"bucket holds {health['largest_bucket']}. Codes in use at the first semantic levels: {first}."
    )


def _factors(factors: list[Entry]) -> list[str]:
    if not factors:
        return []

    def by_level(figure: str) -> str:
        return table(
            [
                {"factor": row["factor"], "items": f"{row['items']:,}", "values": str(row["values"])}
                | {f"level {level['level']}": decimals(level[figure], 2) for level in row["levels"]}
                for row in factors
            ]
        )

    shuffled = max(abs(level["shuffled"]) for row in factors for level in row["levels"])
    return [
        "### What codes say about the items' factors",
        "Adjusted mutual information of a factor with the codes of one level alone, over the candidates that have "
        f"the factor: 1 determines it, 0 is chance. Baseline: with the factor shuffled ({SHUFFLES} times, mean) no "
        f"entry is beyond ±{shuffled:.3f}.",
        by_level("alone"),
        "The same among candidates of one modality, averaged by their number:",
        by_level("in_modality"),
        "Given the codes before: the share of the remaining uncertainty about the factor that the level removes, "
        "beyond what chance would remove (–: chance would leave none).",
        by_level("given_prefix"),
    ]


def _sweep(sweep: list[Entry]) -> str:
    entries = [entry["average"] for entry in sweep]
    columns = {"beams": [str(entry["beams"]) for entry in sweep]}
    columns |= _hits(entries, ["geometry", "geometry + re-rank", "beam", "beam + re-rank", "fast + re-rank"])
    columns |= _shares(entries, "beam + re-rank") | _beam_figures(entries, "beam", "certified")
    for system in RERANKED[1:]:
        columns |= _beam_figures(entries, system, "recall", "mean items")
        columns[f"{system}: ms"] = [decimals(sum(entry["milliseconds"][system].values()), 2) for entry in entries]
    return table(columns, text_columns=0)


def _milliseconds(pools: list[Entry]) -> str:
    stages = ("encode", "fuse", "scan", "beam", "expand", "rerank")
    return table(
        [
            {"pool": _pool_name(pool), "system": system}
            | {stage: decimals(spent.get(stage), 2) for stage in stages}
            | {"total": decimals(sum(spent.values()), 2)}
            for pool in pools
            for system, spent in pool["average"]["milliseconds"].items()
        ],
        text_columns=2,
    )


def _bytes(sizes: dict[str, float]) -> str:
    return table([{"": what, "bytes per item": f"{size:,g}"} for what, size in sizes.items()])
