"""The Why panel of the Search tab: the path of one result through the beam search, traced on
request.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from genius.errors import UserError
from genius.explore.beam_figure import FATES, beam_figure, format_probability, format_softmax
from genius.explore.beam_tree import BeamTree, Explanation, Fate, beam_tree, explain
from genius.explore.code_names import CodeNamer
from genius.explore.code_patterns import format_pattern
from genius.explore.items import dense_ranks
from genius.schema import Hit, Modality, SearchResult
from genius.trie.code_table import CodeTable
from genius.ui.common.context import LastQuery
from genius.ui.common.formatting import (
    MODALITY_NAMES,
    Json,
    count,
    identifier,
    item_view,
    number,
    ordinal,
)
from genius.ui.figures import base_layout

FEW = 10  # items of a group that is worth a look
PATHS = 10  # to the best IDs, which are drawn beside that to the result
RETRACED = "Your search only scanned the IDs; what it would have written is added here."


def explained(namer: CodeNamer, answer: LastQuery, hit: Hit) -> Json:
    """A result in words, as a tree and as a table of it. Raises UserError if it was removed."""
    engine, result = namer.engine, answer.result
    row = int(engine.index.rows_of([hit.item.id])[0])
    if row < 0:
        raise UserError("That result was removed; search again.")
    if not result.trace:  # of a scan: a beam search for the same query
        (result,) = engine.search_encoded(answer.encoded, replace(answer.options, mode="generate"))
    assert result.trace is not None
    whole = beam_tree(result.trace)
    (rank,) = dense_ranks(engine.index.embeddings, answer.result.embedding, np.array([row]))
    reason = explain(hit, whole, engine.index.n, int(rank))
    first_codes = [MODALITY_NAMES[kind] if namer.forced else str(int(kind)) for kind in Modality]
    tree = whole.best(PATHS, hit.codes)
    figure = base_layout(beam_figure(tree, hit.codes, first_codes))
    return explanation(reason, whole, len(result.generated), answer.result, first_codes) | {
        "item": item_view(hit.item),
        "plain": plain_sentence(hit, answer),
        "group": group(namer, CodeTable(engine.pool.table), hit.codes),
        "tree": json.loads(figure.to_json()),
        "prefixes": prefixes(tree),
    }


def plain_sentence(hit: Hit, last: LastQuery) -> str:
    """In one sentence, for everybody, why a result stands where it does."""
    if last.result.order == "score":
        return f"Its ID was the {ordinal(hit.rank)} of those that the search expected most."
    asked = Modality.of(last.query.text, last.query.image)
    query = {Modality.TEXT: "words", Modality.IMAGE: "picture", Modality.PAIR: "picture and words"}[
        asked
    ]
    best = "best" if hit.rank == 1 else f"{ordinal(hit.rank)} best"
    return (
        f"Of the {count(last.result.candidates, 'item')} that were compared closely, it fits "
        f"your {query} {best}."
    )


def group(namer: CodeNamer, table: CodeTable, codes: Sequence[int]) -> Json:
    """The smallest group with a name and not too few items that the codes lead to, or else by the
    first two.
    """
    prefixes = [tuple(codes[:level]) for level in range(len(codes), 1, -1)]
    named = (prefix for prefix in prefixes if (name := namer.name(prefix)) and name.words)
    prefix = next((prefix for prefix in named if len(table.match(prefix)) >= FEW), tuple(codes[:2]))
    return {
        "prefix": format_pattern(prefix, "."),
        "codes": len(prefix),
        "items": f"{len(table.match(prefix)):,}",
    }


def explanation(
    reason: Explanation,
    tree: BeamTree,
    beams: int,
    result: SearchResult,
    first_codes: Sequence[str],
) -> Json:
    """The ID of the result next to the best one and the query's own, its path level by level, and a
    summary.

    tree: everything that the beam search considered. result: of the visitor's search.
    """
    hit = reason.hit
    ids = [
        {
            "name": "This result",
            "opens": True,
            **identifier(hit.codes, hit.codes),
            "shared": reason.shared,
        },
        {"name": "Best generated ID", "opens": True, **identifier(reason.best, hit.codes)},
        {"name": "The query’s own ID", "opens": False, **identifier(result.query_codes, hit.codes)},
    ]
    return {
        "title": f"Why result {hit.rank}?",
        "sentences": sentences(reason, tree, beams, result.order != "score"),
        "flags": flags(reason),
        "note": "" if result.trace else RETRACED,
        "ids": ids,
        "first_codes": list(first_codes),
        "steps": path_table(reason, tree),
        "legend": [{"key": fate.name.lower(), "name": name} for fate, name in FATES.items()],
    }


def sentences(reason: Explanation, tree: BeamTree, beams: int, reranked: bool) -> list[str]:
    """How the item was found, and where it was ranked."""
    hit = reason.hit
    if reranked:
        alike = "" if hit.fused is None else f", before coding {number(hit.fused, 3)}"
        moved = rank_change(hit.generated_rank, hit.rank)
        ranked = f"Re-ranking by similarity {moved} (similarity {number(hit.cosine, 3)}{alike})."
    else:
        ranked = f"Without re-ranking it is {ordinal(hit.rank)}."
    return [
        generation_sentence(reason, tree, beams),
        f"{ranked} Dense search, which compares the query with all {count(reason.items, 'item')}, "
        f"would rank it {dense_ordinal(reason)}.",
    ]


def generation_sentence(reason: Explanation, tree: BeamTree, beams: int) -> str:
    """Which beam found its ID, or where it was pruned."""
    if reason.beam is None:
        return (
            f"The search, which follows {count(beams, 'ID')} at once, followed this one for "
            f"{len(reason.path)} of its {count(tree.levels, 'code')} and then dropped it."
        )
    last = reason.path[-1]
    score = f"score {number(tree.score[last], 2)}, log p {number(tree.log_prob[last], 2)}"
    sentences = [f"Its ID is number {reason.beam} of the {beams} that the search wrote ({score})."]
    if reason.beam > 1 and reason.shared:
        first = "first" if reason.shared == 1 else f"first {reason.shared}"
        sentences.append(
            f"Its ID shares the {first} of {count(tree.levels, 'code')} with the best one."
        )
    elif reason.beam > 1:
        sentences.append("Its ID shares no code with the best one.")
    bucket = reason.bucket
    sentences.append(
        "No other item has this ID." if bucket == 1 else f"{bucket:,} items have exactly this ID."
    )
    return " ".join(sentences)


def rank_change(before: int, after: int) -> str:
    return (
        f"left it at rank {after}" if before == after else f"moved it from rank {before} to {after}"
    )


def flags(reason: Explanation) -> list[str]:
    """The most important facts, as labels."""
    others = (reason.bucket or 1) - 1
    return [
        *["the best generated ID"] * (reason.beam == 1),
        *[f"shares its ID with {count(others, 'other')}"] * (others > 0),
        f"{dense_ordinal(reason)} by dense search",
    ]


def dense_ordinal(reason: Explanation) -> str:
    return f"{'' if reason.dense_rank_is_exact else 'about '}{ordinal(reason.dense_rank)}"


def path_table(reason: Explanation, tree: BeamTree) -> list[Json]:
    """Rows of numbers, with a column per level; of the search, as far as it followed the ID."""
    path, log_probs = reason.path, reason.hit.log_probs
    rows = {
        "Probability of the code": map(format_softmax, np.exp(log_probs).tolist()),
        "log p so far": (number(log_prob, 2) for log_prob in np.cumsum(log_probs).tolist()),
        "Rank at its level": map("{:,}".format, tree.place[path].tolist()),
        "Items with this beginning": map("{:,}".format, tree.items[path].tolist()),
        "Ruled out (masked)": map(format_probability, tree.masked[path].tolist()),
    }
    return [{"name": name, "figures": list(figures)} for name, figures in rows.items()]


def prefixes(tree: BeamTree) -> list[Json]:
    """The figure as a table: a row per prefix; prefixes of generated IDs are marked."""
    columns = map(
        np.ndarray.tolist, (tree.level, tree.place, tree.fate, tree.step, tree.log_prob, tree.items)
    )
    return [
        {
            "codes": list(codes),
            "shared": len(codes) if fate == Fate.FOUND else 0,
            "level": level,
            "place": place,
            "fate": FATES[Fate(fate)],
            "step": format_softmax(np.exp(step)),
            "log_prob": number(log_prob, 2),
            "items": f"{items:,}",
        }
        for codes, level, place, fate, step, log_prob, items in zip(
            tree.prefixes(), *columns, strict=True
        )
    ]
