"""Data for the panels of the Search tab, as plain JSON made from search results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from genius.examples import Example
from genius.explore.beam_figure import format_probability
from genius.schema import GeneratedID, Hit, Modality, Query, SearchOptions, SearchResult, provenance_of
from genius.ui.common.formatting import (
    MODALITY_NAMES,
    MODALITY_PLURALS,
    STAGES,
    count,
    data_uri,
    describe_query,
    identifier,
    item_view,
    milliseconds,
    number,
    provenance_view,
    small_webp,
)
from genius.ui.search.history import SearchRequest

GEOMETRY = "closeness to the codes’ vectors (geometry)"
ID_HINTS = {  # what the numbers of a card are: the order before re-ranking, and the score of the ID
    "by": "its ID",
    "score_name": "ID score",
    "score": "How well its ID fits the query, higher is better; orders the items before re-ranking.",
}
HINTS = {
    "fast": {
        "by": "how near its codes are to the query",
        "score_name": "prefix score",
        "score": "How well the first codes that were written fit the query, higher is better; items whose IDs start "
        "with them share it. It selected the candidates; the distance of their codes to the query then ordered them.",
    }
}
FAR_FROM_COLLECTION = "This picture looks unlike anything in the collection, so the results may not fit."


def examples_view(examples: Sequence[Example]) -> dict[str, Any] | None:
    """A card for each example, to be chosen by its number; nothing if there are none."""
    return {"cards": [example_card(example) for example in examples]} if examples else None


def example_card(example: Example) -> dict[str, Any]:
    return {
        "title": example.title,
        "text": example.text,
        "picture": data_uri(small_webp(example.picture)) if example.picture else None,
        "given": MODALITY_NAMES[example.modality],
        "instructions": [targeted.instruction for targeted in example.instructions],
        "targets": [target(targeted.target) for targeted in example.instructions],
    }


def target(modality: Modality) -> dict[str, str]:
    """The modality an example asks for."""
    return {"name": MODALITY_NAMES[modality], "modality": modality.name.lower()}


def score_note(decoder_weight: float, mode: str) -> str:
    """What the two numbers of an ID are, given the decoder's weight against codeword geometry."""
    log_prob = "log p" if mode == "fast" else "log p among the codes of all levels"
    formula = {0: f"{GEOMETRY}, alone", 1: f"{log_prob} alone"}.get(
        decoder_weight, f"{decoder_weight:g} × {log_prob} + {1 - decoder_weight:g} × {GEOMETRY}"
    )
    normalized = ", as a probability at each level" if mode == "fast" and decoder_weight < 1 else ""
    return (
        "log p: how probable the decoder finds the codes, as a logarithm; 0 is certain. "
        f"Score, which orders the IDs: {formula}{normalized}."
    )


def ending_notes(generated: Sequence[GeneratedID], levels: int) -> list[str]:
    """How to read IDs whose last codes were not decoded."""
    return ["Dashed codes were not decoded: no other ID begins with the codes before them."] * any(
        beam.depth < len(beam.codes) for beam in generated
    ) + ["An open end (…) stands for every ID that starts this way."] * any(
        len(beam.codes) < levels for beam in generated
    )


def certificate(result: SearchResult) -> list[str]:
    """Whether the generated IDs are provably the best; nothing if the search did not check."""
    if result.certified is None:
        return []
    return [
        "Proven: no other existing ID has a higher score."
        if result.certified
        else "Not proven: an ID that was dropped early may have a higher score than some of these."
    ]


def summary(
    result: SearchResult,
    request: SearchRequest,
    modality: Modality | None = None,
    forced: bool = True,
    weight: float | None = None,
    items: int = 0,
) -> dict[str, Any]:
    """Target modality, number of results and time of each stage, of a request with one query.

    modality: the only one that was searched; None: all were. forced: the first code was trained to be the modality;
    otherwise it is a cluster that emerged. weight: of the decoder against geometry; None: not said. items: of the
    collection.
    """
    query, is_part = request.query, request.is_part
    return {
        "title": request.title,
        "provenance": provenance_view(provenance_of(request.item.source) if request.item else {}),
        "added": query.instruction if request.adds_instruction else "",
        "part": data_uri(small_webp(query.image)) if is_part and query.image else None,
        "aim": target_view(result, modality, forced),
        "sentence": f"{count(len(result.hits), 'result')} for {describe_query(query, part=is_part)}, "
        f"in {milliseconds(sum(result.milliseconds.values()))}. {ranking_sentence(result, items)}",
        "weighed": weight_sentence(weight),
        "note": FAR_FROM_COLLECTION if result.out_of_distribution else "",
        "stages": stages([result]),
    }


def ranking_sentence(result: SearchResult, items: int) -> str:
    """How many items of the collection were compared with the query one by one, which is what re-ranking does."""
    if result.ranking is None:
        return "They are ordered by the scores of their IDs."
    were = "was" if result.candidates == 1 else "were"
    return f"{result.candidates:,} of {count(items, 'item')} {were} compared closely."


def weight_sentence(weight: float | None) -> str:
    """By what the IDs were generated, in a sentence; empty if that is not said."""
    if weight is None:
        return ""
    source = {0: f"{GEOMETRY}, alone", 1: "the decoder alone, which predicts code after code"}
    return f"IDs by {source.get(weight, f'the decoder, which predicts codes (weight {weight:g}), and {GEOMETRY}')}."


def summaries(results: Sequence[SearchResult], example: Example) -> dict[str, Any]:
    """As `summary`, for the instructions of one example; the target modality of each is in its column."""
    time = milliseconds(sum(sum(result.milliseconds.values()) for result in results))
    query = describe_query(Query(example.text, example.picture))
    return {
        "title": example.title,
        "provenance": None,
        "added": "",
        "part": None,
        "aim": None,
        "sentence": f"{query[0].upper()}{query[1:]}, with {count(len(results), 'instruction')}, in {time}.",
        "weighed": "",
        "address": "",
        "note": FAR_FROM_COLLECTION if any(result.out_of_distribution for result in results) else "",
        "stages": stages(results),
    }


def stages(results: Sequence[SearchResult]) -> list[dict[str, Any]]:
    """How long each stage took, over all results."""
    times = {
        stage: sum(result.milliseconds[stage] for result in results if stage in result.milliseconds)
        for stage in STAGES
        if any(stage in result.milliseconds for result in results)
    }
    total = sum(times.values())
    return [
        {
            "name": name,
            "note": note,
            "time": milliseconds(times[stage]),
            "share": times[stage] / total if total else 0.0,
        }
        for stage, (name, note) in STAGES.items()
        if stage in times
    ]


def target_view(result: SearchResult, modality: Modality | None, forced: bool) -> dict[str, Any]:
    """The first codes with their probabilities, and a note if the visitor chose the modality."""
    note = ""
    if modality is not None:
        note = f"Only {MODALITY_PLURALS[modality]} were searched; the probabilities are those for any kind."
    return {"label": "Kind of result" if forced else "First code", "targets": first_codes(result, forced), "only": note}


def first_codes(result: SearchResult, forced: bool = True) -> list[dict[str, Any]]:
    """The three first codes by probability; `chosen` is that of the best generated ID."""
    chosen = result.generated[0].codes[0] if result.generated else None
    shares = result.first_code_probabilities.astype(np.float64)
    most = shares.argmax()  # a rounded 1 is no certainty while others are possible
    shares[most] = min(shares[most], 1 - np.delete(shares, most).sum())
    ordered = sorted(Modality, key=lambda modality: -shares[modality])
    return [
        {
            "name": MODALITY_NAMES[modality] if forced else str(int(modality)),
            "modality": modality.name.lower(),
            "probability": format_probability(float(shares[modality])),
            "share": float(shares[modality]),
            "chosen": modality == chosen,
        }
        for modality in ordered
    ]


def column(
    result: SearchResult, query: Query, options: SearchOptions, thumbnails: Iterable[bytes | None], forced: bool
) -> dict[str, Any]:
    """The results of one instruction among several: target modality, best ID and a card per hit."""
    best = result.generated[0].codes if result.generated else ()
    return {
        "instruction": query.instruction,
        "aim": target_view(result, options.modality, forced),
        "best": identifier(best, result.query_codes),
        **cards(result, thumbnails, options.rerank),
    }


def cards(
    result: SearchResult, thumbnails: Iterable[bytes | None], reranked: bool, query_row: int | None = None
) -> dict[str, Any]:
    """A card per hit. thumbnails: WebP bytes in the order of the hits, None where there is no picture.

    query_row: of the item that is the query, if one is.
    """
    return {
        "query_row": query_row,
        "hints": HINTS.get(result.mode, ID_HINTS),
        "cards": [
            card(hit, picture, result.query_codes, reranked)
            for hit, picture in zip(result.hits, thumbnails, strict=True)
        ],
    }


def card(hit: Hit, picture: bytes | None, query_codes: Sequence[int], reranked: bool) -> dict[str, Any]:
    """One hit; likeness is the cosine as a number, for a threshold."""
    return {
        "row": hit.row,
        **item_view(hit.item, picture),
        "rank": hit.rank,
        "generated_rank": hit.generated_rank if reranked else None,
        "likeness": round(hit.cosine, 4),
        "cosine": number(hit.cosine, 3),
        "score": number(hit.score, 2),
        **identifier(hit.codes, query_codes),
    }


def generated(result: SearchResult, decoder_weight: float) -> dict[str, Any]:
    """The table of generated IDs, with the query's own."""
    levels = len(result.query_codes)

    def row(beam: GeneratedID) -> dict[str, Any]:
        return {
            "figures": [number(beam.log_prob, 2), number(beam.score, 2), f"{beam.bucket:,}"],
            "decoded": beam.depth,
            "open": len(beam.codes) < levels,
            **identifier(beam.codes, result.query_codes),
        }

    candidates = (
        "The results are chosen among the items whose IDs begin in the likeliest ways, by how near all their codes are "
        "to the query, not by this score."
        if result.mode == "fast"
        else "Their items are the candidates for the results."
    )
    return {
        "lead": f"The IDs that the search wrote, the best first. {candidates}",
        "columns": ["#", "ID", "log p", "score", "items"],
        "meaning": [score_note(decoder_weight, result.mode), *ending_notes(result.generated, levels)],
        "notes": certificate(result),
        "query": identifier(result.query_codes, result.query_codes),
        "rows": [row(beam) for beam in result.generated],
    }
