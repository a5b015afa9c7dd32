"""Data for the panels of the Search tab, as plain JSON made from search results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from genius.examples import Example
from genius.explore.beam_figure import format_probability
from genius.schema import GeneratedID, Hit, Modality, Query, SearchOptions, SearchResult
from genius.ui.common.formatting import (
    NAMES,
    PLURALS,
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

MADE_OF = {Modality.IMAGE: "picture", Modality.TEXT: "text", Modality.PAIR: "picture + text"}
FAR = "This picture looks unlike anything in the collection, so the results may not fit."


def examples(worked: Sequence[Example]) -> dict[str, Any] | None:
    """A card for each example, to be picked by its number; nothing if there are none."""
    return (
        {
            "cards": [
                {
                    "title": one.title,
                    "text": one.text,
                    "picture": data_uri(small_webp(one.picture)) if one.picture else None,
                    "given": MADE_OF[one.modality],
                    "instructions": [given.instruction for given in one.instructions],
                    "targets": [target(given.target) for given in one.instructions],
                }
                for one in worked
            ]
        }
        if worked
        else None
    )


def target(modality: Modality) -> dict[str, str]:
    """The modality an example asks for."""
    return {"name": MADE_OF[modality], "kind": modality.name.lower()}


def score_note(decoder_weight: float, mode: str) -> str:
    """What the two numbers of an ID are, given the decoder's weight against codeword geometry."""
    log_prob = "log-probability" if mode == "fast" else "log-probability among all codes of all levels"
    made = {0: "codeword geometry alone", 1: log_prob}.get(
        decoder_weight, f"{decoder_weight:g} × {log_prob} + {1 - decoder_weight:g} × codeword geometry"
    )
    normalized = ", normalized to a probability at each level" if mode == "fast" and decoder_weight < 1 else ""
    return f"log p: log-probability of the codes, each among those of its level. Score, the order: {made}{normalized}."


def ending_note(found: Sequence[GeneratedID], levels: int) -> str:
    """What the scores cover if the search stopped before the last code; empty if it did not."""
    note = ""
    if any(one.depth < len(one.codes) for one in found):
        note = " Dashed codes were not decoded and do not count: no other ID starts with the codes before them."
    if any(len(one.codes) < levels for one in found):
        note += " An open end (…) stands for all IDs with that prefix."
    return note


def certificate(result: SearchResult) -> str:
    """Whether the generated IDs are provably the best; empty if the search did not check."""
    if result.certified is None:
        return ""
    return (
        " Proven: no other valid ID scores higher."
        if result.certified
        else " Not proven: a pruned ID may score higher than some of these."
    )


def summary(
    result: SearchResult,
    query: Query,
    only: Modality | None = None,
    forced: bool = True,
    title: str = "",
    provenance: Mapping[str, str] | None = None,
    added: bool = False,
    part: bool = False,
    weight: float | None = None,
) -> dict[str, Any]:
    """Target modality, number of results and time of each stage.

    only: the one modality that was searched. forced: the first code was trained to be the modality; otherwise it is a
    cluster that emerged. title: of the example that was run. provenance: of the item that is the query. added: the
    visitor gave no instruction, so the page added one. part: the query's picture is a part of what was uploaded.
    weight: of the decoder against geometry; None: not said.
    """
    return {
        "title": title,
        "provenance": provenance_view(provenance or {}),
        "added": query.instruction if added else "",
        "part": data_uri(small_webp(query.image)) if part and query.image else None,
        "aim": aim(result, only, forced),
        "sentence": f"{count(len(result.hits), 'result')} for {describe_query(query, part=part)}, "
        f"out of {count(result.candidates, 'candidate')}, "
        f"in {milliseconds(sum(result.milliseconds.values()))}." + weighed(weight),
        "note": FAR if result.out_of_distribution else "",
        "stages": stages([result]),
    }


def weighed(weight: float | None) -> str:
    """By what the IDs were generated, as a sentence after another."""
    if weight is None:
        return ""
    made = {0: "codeword geometry alone", 1: "the decoder alone"}
    return f" IDs by {made.get(weight, f'the decoder (weight {weight:g}) and codeword geometry')}."


def summaries(results: Sequence[SearchResult], example: Example) -> dict[str, Any]:
    """As `summary`, for the instructions of one example; the target modality of each is in its column."""
    spent = milliseconds(sum(sum(result.milliseconds.values()) for result in results))
    asked = describe_query(Query(example.text, example.picture))
    return {
        "title": example.title,
        "provenance": None,
        "added": "",
        "part": None,
        "aim": None,
        "sentence": f"{asked[0].upper()}{asked[1:]}, with {count(len(results), 'instruction')}, in {spent}.",
        "note": FAR if any(result.out_of_distribution for result in results) else "",
        "stages": stages(results),
    }


def stages(results: Sequence[SearchResult]) -> list[dict[str, Any]]:
    """How long each stage took, over all results."""
    spent = {
        stage: sum(result.milliseconds[stage] for result in results if stage in result.milliseconds)
        for stage in STAGES
        if any(stage in result.milliseconds for result in results)
    }
    total = sum(spent.values())
    return [
        {"name": STAGES[stage], "time": milliseconds(one), "share": one / total if total else 0.0}
        for stage, one in spent.items()
    ]


def aim(result: SearchResult, only: Modality | None, forced: bool) -> dict[str, Any]:
    """The first codes with their probabilities, and a note if the visitor chose the modality."""
    note = "" if only is None else f"Only {PLURALS[only]} were searched; the probabilities are those for any modality."
    return {"label": "Kind of result" if forced else "First code", "targets": targets(result, forced), "only": note}


def targets(result: SearchResult, forced: bool = True) -> list[dict[str, Any]]:
    """The three first codes by probability; `chosen` is that of the best generated ID."""
    chosen = result.generated[0].codes[0] if result.generated else None
    ordered = sorted(Modality, key=lambda modality: -result.first_code_probabilities[modality])
    return [
        {
            "name": NAMES[modality] if forced else str(int(modality)),
            "kind": modality.name.lower(),
            "probability": format_probability(float(result.first_code_probabilities[modality])),
            "share": float(result.first_code_probabilities[modality]),
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
        "aim": aim(result, options.modality, forced),
        "best": identifier(best, result.query_codes),
        **cards(result, thumbnails, options.rerank),
    }


def cards(
    result: SearchResult, thumbnails: Iterable[bytes | None], reranked: bool, itself: int | None = None
) -> dict[str, Any]:
    """A card per hit. thumbnails: WebP bytes in the order of the hits, None where there is no picture.

    itself: row of the item that is the query, if one is.
    """
    return {
        "itself": itself,
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

    def row(found: GeneratedID) -> dict[str, Any]:
        return {
            "figures": [number(found.log_prob, 2), number(found.score, 2), f"{found.bucket:,}"],
            "decoded": found.depth,
            "open": len(found.codes) < levels,
            **identifier(found.codes, result.query_codes),
        }

    return {
        "columns": ["#", "ID", "log p", "score", "items"],
        "note": (score_note(decoder_weight, result.mode) + ending_note(result.generated, levels) + certificate(result)),
        "query": identifier(result.query_codes, result.query_codes),
        "rows": [row(found) for found in result.generated],
    }
