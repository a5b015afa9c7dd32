"""The strip: how one ID narrows down the collection, level by level, and what if.

It shows how probable the decoder finds each code of the best generated ID or of a result, and where
the beam search would have lost it. Choosing another code searches again with the same query and
options, among the IDs that begin with the codes up to that one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from genius.errors import UserError
from genius.explore.beam_figure import format_probability
from genius.explore.code_names import CodeNamer
from genius.explore.code_patterns import format_pattern
from genius.explore.narrowing import BeamRank, CodeChoice, CodeStep, Narrowing, narrowing, sample
from genius.schema import Hit, Item, Modality, SearchResult
from genius.search.engine import Engine
from genius.trie.code_table import CodeTable
from genius.ui.common.context import LastQuery
from genius.ui.common.formatting import MODALITY_NAMES, Json, count, tile

WHAT_IF_RESULTS = 12
MOST_BRANCHES = 9  # codes that are replaced one after the other
STALE_STEP = "That step is no longer there; search again."
NOTE = "Percentages compare the codes that lead to items."
MEANING = (
    "Ruled out: the share of all probability that was on codes that lead to no item (masked). The "
    "percentages above it are shares of the rest.",
    "Writing codes, the search follows many IDs at once (its beam) and keeps the best as a whole, "
    "so a code need not be the most probable one. Beam: the rank of the ID’s beginning among all "
    "that were considered, and how many were kept; an ID that was dropped was found by the scan of "
    "all IDs.",
)


def follow(
    namer: CodeNamer,
    answers: tuple[LastQuery, ...],
    column: int,
    rank: int = 0,
    branches: Sequence[Any] = (),
) -> Json:
    """The strip for one of the answers (None if nothing was traced), and what is found if the
    search had chosen other codes.

    rank: of the result whose ID is shown; 0: the best generated ID. branches: other codes
    as [level, code], one after the other. Raises UserError if there is no such result, for a code
    that the search did not consider there, or if the collection has changed since.
    """
    if type(column) is not int or not 0 <= column < len(answers):
        raise UserError(STALE_STEP)
    answer = answers[column]
    result = answer.result
    answer.check_version(namer.engine.index)
    hit = next((hit for hit in result.hits if hit.rank == rank), None)
    if result.trace is None or not (result.hits or result.generated):
        if branches:
            raise UserError(STALE_STEP)
        return {"strip": None, "found": None}
    if (rank and hit is None) or not isinstance(branches, Sequence):
        raise UserError(STALE_STEP)
    codes = hit.codes if hit else best_codes(result)
    original = current = narrowed(namer.engine, answer, result, codes)
    found, replaced = None, None
    for branch in branches[:MOST_BRANCHES]:
        level, code = checked_branch(branch, current)
        replaced = level, original.codes[level]
        current, found = branched(namer.engine, answer, current, level, code)
    typical = typical_rows(namer, code_table(namer.engine, answer), current)
    rows = {row for step in current.steps for row in step.shown} | {*current.shown}
    shown = strip(
        current,
        items_by_row(namer.engine, rows | {*typical.values()}),
        namer.forced,
        levels=len(result.query_codes),
        hits=result.hits,
        replaced=replaced,
        typical=typical,
    )
    shown |= {"column": column, "rank": rank}
    shown["paths"] = paths(answers, column, rank, replaced is not None)
    return {"strip": shown, "found": found}


def checked_branch(branch: Any, current: Narrowing) -> tuple[int, int]:
    """Level and code. Raises UserError for what the search did not consider."""
    if isinstance(branch, list) and len(branch) == 2 and all(type(n) is int for n in branch):
        level, code = branch
        steps = current.steps[level : level + 1] if level >= 0 else ()
        if code in {other.code for step in steps for other in step.others}:
            return level, code
    raise UserError(STALE_STEP)


def branched(
    engine: Engine, answer: LastQuery, current: Narrowing, level: int, code: int
) -> tuple[Narrowing, Json]:
    """What follows, and is found, with another code at a level."""
    prefix = (*current.codes[:level], code)
    k = min(answer.options.k, WHAT_IF_RESULTS)
    options = replace(answer.options, k=k, prefix=prefix)
    (result,) = engine.search_encoded(answer.encoded, options)
    after = narrowed(engine, answer, result, best_codes(result))
    return current.branched(level, code, after), what_if_results(result, prefix, after)


def best_codes(result: SearchResult) -> tuple[int, ...]:
    """The best generated ID or, of a scan, that of the first result."""
    return result.generated[0].codes if result.generated else result.hits[0].codes


def narrowed(
    engine: Engine, answer: LastQuery, result: SearchResult, codes: Sequence[int]
) -> Narrowing:
    """How an ID narrows down what may be found; result: of the answer, or of a what-if of it."""
    log_probs = engine.code_log_probs(result.z, codes)
    return narrowing(result, code_table(engine, answer), codes, log_probs)


def code_table(engine: Engine, answer: LastQuery) -> CodeTable:
    """The IDs among which the answer was generated."""
    return CodeTable(engine.snapshots.current.pool_of(answer.options).table)


def typical_rows(
    namer: CodeNamer, table: CodeTable, current: Narrowing
) -> dict[tuple[int, ...], int]:
    """An item of each code that might have been chosen: the one nearest to the mean, if it is
    known, or any.
    """
    prefixes = [
        (*current.codes[:level], other.code)
        for level, step in enumerate(current.steps)
        for other in step.others
    ]
    names = {prefix: name for prefix in prefixes if (name := namer.name(prefix)) and name.pictures}
    nearest = namer.engine.index.rows_of([name.pictures[0] for name in names.values()])
    known = {prefix: row for prefix, row in zip(names, nearest.tolist(), strict=True) if row >= 0}
    return {
        prefix: known[prefix] if prefix in known else sample(table.match(prefix))[0]
        for prefix in prefixes
    }


def paths(answers: tuple[LastQuery, ...], column: int, rank: int, is_branch: bool) -> list[Json]:
    """What else may be shown: of several searches each, of a single one the ID of the first result
    and the best one of all; after a what-if the way back.
    """
    if is_branch:
        ends = [("Back to what the search chose", column, rank)]
    elif len(answers) > 1:
        ends = [
            (answer.query.instruction, place, initial_rank(answer))
            for place, answer in enumerate(answers)
        ]
    elif initial_rank(answers[0]):
        ends = [("The ID of result 1", 0, 1), ("The best generated ID", 0, 0)]
    else:
        ends = [("The best ID", 0, 0)]
    shown = None if is_branch else (column, rank)
    return [
        {"name": name, "column": at, "rank": of, "chosen": (at, of) == shown}
        for name, at, of in ends
    ]


def initial_rank(answer: LastQuery) -> int:
    """The rank of the result whose ID is shown first: 1, or 0 where that has the best generated ID,
    or none is.
    """
    hits, generated = answer.result.hits, answer.result.generated
    return int(bool(hits) and (not generated or hits[0].codes != generated[0].codes))


def items_by_row(engine: Engine, rows: set[int]) -> dict[int, Item]:
    """The items at these rows."""
    ordered = sorted(rows)
    return dict(zip(ordered, engine.index.items(ordered), strict=True))


def what_if_results(result: SearchResult, prefix: tuple[int, ...], after: Narrowing) -> Json:
    """The results of a what-if, as tiles."""
    beginning = " · ".join(map(str, prefix))
    possible = count(after.steps[len(prefix) - 1].chosen.items, "item")
    return {
        "title": f"Results that begin with {beginning}",
        "note": f"out of {possible}; choose one to search with it",
        "tiles": [tile(hit.item, f"{hit.cosine:.3f}") for hit in result.hits],
    }


def strip(
    narrowing: Narrowing,
    items: Mapping[int, Item],
    forced: bool,
    *,
    levels: int,
    hits: Sequence[Hit] = (),
    replaced: tuple[int, int] | None = None,
    typical: Mapping[tuple[int, ...], int] | None = None,
) -> Json:
    """What steps.js draws of an ID. items: by row, of all rows that are shown.

    levels: codes of an ID. hits: of the search. replaced: level and code that the search itself
    chose, if this is a what-if. typical: row of a typical item by prefix.
    """
    codes = narrowing.codes
    typical = typical or {}
    return {
        "title": "How the ID was generated" if replaced is None else "What if …",
        "sentence": sentence(narrowing, hits, levels)
        if replaced is None
        else what_if(narrowing, replaced, forced),
        "note": NOTE,
        "meaning": list(MEANING),
        "columns": [
            {
                "head": "Start",
                "code": None,
                "masked": None,
                "items": f"{narrowing.items:,}",
                "share": 1.0,
                "beam": "",
                "settled": False,
                "others": [],
                "rows": list(narrowing.shown),
            },
            *(
                column(
                    codes[:level],
                    step,
                    narrowing.items,
                    forced,
                    typical,
                    narrowing.ranks[level : level + 1],
                )
                for level, step in enumerate(narrowing.steps)
            ),
        ],
        "ending": ending(narrowing),
        "items": {
            str(row): {name: tile(item)[name] for name in ("label", "modality", "text", "picture")}
            for row, item in items.items()
        },
        "branched": replaced is not None,
        "play": 1 if replaced is None else replaced[0] + 2,  # the first column that appears late
    }


def column(
    prefix: tuple[int, ...],
    step: CodeStep,
    total: int,
    forced: bool,
    typical: Mapping[tuple[int, ...], int],
    beam: Sequence[BeamRank] = (),
) -> Json:
    """One level. prefix: the codes of the levels before it. typical: row of a typical item by
    prefix. beam: where the beam search has it, if it followed it so far.
    """
    level = len(prefix)
    others = () if step.settled else step.others
    # a rounded 1 is no certainty while others are possible
    certain = 1 - sum(other.probability for other in step.others)
    chosen = replace(step.chosen, probability=min(step.chosen.probability, certain))
    return {
        "head": "Modality"
        if forced and level == 0
        else str(level)
        if step.settled
        else f"Level {level}",
        "code": choice_data(prefix, chosen, forced),
        "masked": format_probability(step.masked),
        "items": f"{step.chosen.items:,}",
        "share": (1 + math.log(step.chosen.items)) / (1 + math.log(total)),
        "beam": "".join(map(beam_words, beam)),
        "settled": step.settled,
        "others": [
            choice_data(prefix, other, forced) | {"row": typical.get((*prefix, other.code))}
            for other in others
        ],
        "rows": [] if step.settled else list(step.shown),
    }


def choice_data(prefix: tuple[int, ...], choice: CodeChoice, forced: bool) -> Json:
    """A code with its probability. prefix: the codes before it."""
    return {
        "level": len(prefix),
        "code": choice.code,
        "prefix": format_pattern((*prefix, choice.code), "."),
        "name": MODALITY_NAMES[Modality(choice.code)] if forced and not prefix else "",
        "probability": format_probability(choice.probability),
        "items": count(choice.items, "item"),
    }


def sentence(narrowing: Narrowing, hits: Sequence[Hit], levels: int) -> str:
    """The narrowing in words, and where its items stand among the results."""
    wrote = (
        f"The search wrote an ID of {count(levels, 'code')}, one at a time."
        if narrowing.place
        else f"The scan found this ID of {count(levels, 'code')} near the query."
    )
    text = (
        f"{wrote} Items still possible, code by code: {count_path(narrowing)}. "
        f"{kept_or_dropped(narrowing)}".rstrip()
    )
    rank = next(
        (hit.rank for hit in hits if hit.codes[: len(narrowing.codes)] == narrowing.codes), None
    )
    if rank is not None:
        text += (
            f" {'That item is' if narrowing.left == 1 else 'The best of them is'} result {rank}."
        )
    return text


def kept_or_dropped(narrowing: Narrowing) -> str:
    """Whether the beam search followed the ID to its end, and where it stopped; empty if none was
    traced.
    """
    if narrowing.place:
        return f"Writing codes, the search kept it to the end, as number {narrowing.place}."
    if not narrowing.ranks:
        return ""
    level = len(narrowing.ranks) - 1
    last = narrowing.ranks[-1]
    place = (
        f"rank {last.rank:,} of {last.beams}"
        if last.rank
        else f"beyond the {last.beams} that it follows"
    )
    return f"Writing codes, the search would have dropped it at level {level}: {place}."


def beam_words(at: BeamRank) -> str:
    """Whether the beam search followed a beginning."""
    if at.kept:
        return f"{at.rank} of {at.beams}"
    return f"dropped: {at.rank:,} of {at.beams}" if at.rank else f"dropped: beyond {at.beams}"


def count_path(narrowing: Narrowing) -> str:
    """How many items were possible, each number once: 12,663 → 4,259 → 1."""
    narrowed = [narrowing.items, *(step.chosen.items for step in narrowing.steps)]
    distinct = [
        items
        for items, previous in zip(narrowed, [None, *narrowed], strict=False)
        if items != previous
    ]
    return " → ".join(f"{items:,}" for items in distinct)


def ending(narrowing: Narrowing) -> Json:
    """The items whose ID is the only one left, where it is known before its last code."""
    settled = sum(step.settled for step in narrowing.steps)
    more = (
        "One ID is left, so its last code is"
        if settled == 1
        else f"One ID is left, so its last {settled} codes are"
    )
    alone = "" if narrowing.left == 1 else f" {narrowing.left:,} items have it."
    return {"rows": list(narrowing.steps[-1].shown), "note": f"{more} certain.{alone}"}


def what_if(narrowing: Narrowing, replaced: tuple[int, int], forced: bool) -> str:
    """Which code was replaced by which."""
    level, code = replaced
    choices = (code, narrowing.codes[level])
    before, after = (
        [MODALITY_NAMES[Modality(code)] for code in choices] if forced and level == 0 else choices
    )
    return (
        f"With {after} in place of {before} at level {level}, the search goes on from there by "
        f"itself: {count_path(narrowing)}."
    )
