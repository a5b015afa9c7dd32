"""Data for the panels of the Search tab, as plain JSON made from search results."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from PIL.Image import Image

from genius.examples import Example
from genius.explore.beam_figure import format_probability
from genius.schema import Hit, Item, Modality, Query, Reading, SearchResult, provenance_of
from genius.ui.common.context import LastQuery
from genius.ui.common.formatting import (
    MODALITY_NAMES,
    MODALITY_PLURALS,
    STAGES,
    Json,
    count,
    data_uri,
    describe_query,
    identifier,
    item_label,
    item_view,
    milliseconds,
    number,
    provenance_view,
    small_webp,
)
from genius.ui.search.searches import SearchRequest

READING_NAMES = {  # as the page names what was asked for
    "photo": "Photographs",
    "entry": "What it is",
    "caption": "A description",
    "similar": "Similar pictures",
    "change": "The same, changed",
    "answer": "An answer",
    "paraphrase": "Other words",
    "page": "Picture and text",
}
OTHER_READINGS = 2  # that are offered
LONGEST_HEADWORD = 60  # characters
NO_ADDRESS = "The address of this page does not include your picture."
RESULT_NAMES = {Modality.IMAGE: "picture", Modality.TEXT: "text", Modality.PAIR: "illustrated page"}
GEOMETRY = "closeness to the codes’ vectors (geometry)"
CANDIDATES = {  # what becomes of generated IDs, by mode
    "both": "Their items are candidates for the results, with those that a scan of all IDs found.",
    "generate": "Their items are the candidates for the results.",
}


def example_card(example: Example, number: int) -> Json:
    """A card of an example, which is chosen by its number."""
    return {
        "title": example.title,
        "text": example.text,
        "picture": f"examples/{number}/picture" if example.picture else None,
        "given": MODALITY_NAMES[example.modality],
        "instructions": [targeted.instruction for targeted in example.instructions],
        "targets": [
            {"name": MODALITY_NAMES[targeted.target], "modality": targeted.target.name.lower()}
            for targeted in example.instructions
        ],
    }


def score_note(decoder_weight: float) -> str:
    """What the two numbers of an ID are, given the decoder's weight against codeword geometry."""
    log_prob = "log p among the codes of all levels"
    formula = {0.0: f"{GEOMETRY}, alone", 1.0: f"{log_prob} alone"}.get(
        decoder_weight, f"{decoder_weight:g} × {log_prob} + {1 - decoder_weight:g} × {GEOMETRY}"
    )
    return (
        "log p: how probable the decoder finds the codes, as a logarithm; 0 is certain. "
        f"Score, which orders the IDs: {formula}."
    )


def summary(answer: LastQuery, request: SearchRequest, forced: bool, items: int) -> Json:
    """Target modality, number of results and time of each stage, of a request with one query.

    forced: the first code was trained to be the modality; otherwise it is a cluster that emerged.
    items: of the collection.
    """
    query, result = request.query, answer.result
    is_part = bool(request.asked.part)
    return {
        "heading": heading(result.hits),
        "match": f"{result.match} match" if result.match else "",
        "title": request.title,
        "provenance": provenance_view(provenance_of(request.item.source) if request.item else {}),
        "asked": query.instruction,
        "reading": reading_view(result.reading),
        "part": data_uri(small_webp(query.image))
        if is_part and isinstance(query.image, Image)
        else None,
        "aim": target_view(answer, forced),
        "sentence": (
            f"{count(len(result.hits), 'result')} for {describe_query(query, part=is_part)}, in "
            f"{milliseconds(sum(result.milliseconds.values()))}. {ranking_sentence(result, items)}"
        ),
        "weighed": weight_sentence(decoder_weight(answer)),
        "address": NO_ADDRESS if request.asked.upload else "",
        "stages": stages([result]),
    }


def decoder_weight(answer: LastQuery) -> float:
    """Against geometry."""
    weight = answer.options.decoder_weight
    assert weight is not None  # a setting of the page
    return weight


def reading_view(reading: Reading | None) -> Json | None:
    """How the words were read, and the next readings, to be chosen instead; None where they were
    not read.
    """
    if reading is None:
        return None
    others = sorted(reading.probabilities, key=lambda name: -reading.probabilities[name])
    others = [name for name in others if name != reading.name][:OTHER_READINGS]
    return {
        "name": READING_NAMES[reading.name],
        "left_out": reading.left_out,
        "others": [{"reading": name, "name": READING_NAMES[name]} for name in others],
    }


def versions_view(versions: Sequence[Item]) -> str:
    """What else shows the same photograph: also as a pair · 2 captions."""
    counts = Counter(item.modality for item in versions)
    names = ((Modality.IMAGE, "picture"), (Modality.PAIR, "pair"), (Modality.TEXT, "caption"))
    parts = [
        f"a {name}" if counts[kind] == 1 else count(counts[kind], name)
        for kind, name in names
        if counts[kind]
    ]
    return f"also as {' · '.join(parts)}" if parts else ""


def heading(hits: Sequence[Hit]) -> str:
    """How many results, and of what kind if they are all of one."""
    kinds = {hit.item.modality for hit in hits}
    return count(len(hits), RESULT_NAMES[kinds.pop()] if len(kinds) == 1 else "result")


def ranking_sentence(result: SearchResult, items: int) -> str:
    """How many items of the collection were compared with the query one by one, which is what
    re-ranking does.
    """
    if result.order == "score":
        return "They are ordered by the scores of their IDs."
    were = "was" if result.candidates == 1 else "were"
    return f"{result.candidates:,} of {count(items, 'item')} {were} compared closely."


def weight_sentence(weight: float) -> str:
    """By what the IDs were generated, in a sentence."""
    both = f"the decoder, which predicts codes (weight {weight:g}), and {GEOMETRY}"
    source = {0.0: f"{GEOMETRY}, alone", 1.0: "the decoder alone, which predicts code after code"}
    return f"IDs by {source.get(weight, both)}."


def summaries(results: Sequence[SearchResult], example: Example) -> Json:
    """As `summary`, for the instructions of one example; the target modality of each is in its
    column.
    """
    time = milliseconds(sum(sum(result.milliseconds.values()) for result in results))
    query = describe_query(Query(example.text, example.picture))
    return {
        "heading": example.title,
        "sentence": f"{query[0].upper()}{query[1:]}, with {count(len(results), 'instruction')}, in "
        f"{time}.",
        "stages": stages(results),
    }


def stages(results: Sequence[SearchResult]) -> list[Json]:
    """How long each stage took, over all results."""
    times = Counter[str]()
    for result in results:
        times.update(result.milliseconds)
    total = times.total() or 1.0
    return [
        {
            "name": name,
            "note": note,
            "time": milliseconds(times[stage]),
            "share": times[stage] / total,
        }
        for stage, (name, note) in STAGES.items()
        if stage in times
    ]


def target_view(answer: LastQuery, forced: bool) -> Json:
    """The first codes with their probabilities, and a note if the visitor chose the modality."""
    note, modality = "", answer.options.modality
    if modality is not None:
        note = (
            f"Only {MODALITY_PLURALS[modality]} were searched; the probabilities are those "
            "for any kind."
        )
    return {
        "label": "Kind of result" if forced else "First code",
        "targets": first_codes(answer.result, forced),
        "only": note,
    }


def first_codes(result: SearchResult, forced: bool = True) -> list[Json]:
    """The first codes by probability, without kinds that the index lacks; `chosen` is that of the
    best generated ID.
    """
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
        if shares[modality] > 0 or not forced  # kinds that the index has
    ]


def column(answer: LastQuery, forced: bool) -> Json:
    """The results of one instruction among several: target modality, best ID and a card per hit."""
    result = answer.result
    best = result.generated[0].codes if result.generated else ()
    return {
        "instruction": answer.query.instruction,
        "aim": target_view(answer, forced),
        "best": identifier(best, result.query_codes),
        **cards(result),
    }


def cards(result: SearchResult, query_row: int | None = None) -> Json:
    """A card per hit. query_row: of the item that is the query, if one is."""
    reranked = result.order != "score"
    made = [card(hit, result.query_codes, reranked) for hit in result.hits]
    return {"query_row": query_row, "cards": made}


def card(hit: Hit, query_codes: Sequence[int], reranked: bool) -> Json:
    """One hit; likeness is the cosine as a number, for a threshold."""
    return {
        "row": hit.row,
        **item_view(hit.item),
        **headline(hit.item),
        "rank": hit.rank,
        "versions": versions_view(hit.versions),
        "generated_rank": hit.generated_rank if reranked else None,
        "likeness": round(hit.cosine, 4),
        "cosine": number(hit.cosine, 3),
        "log_prob": number(hit.log_prob, 2),
        **identifier(hit.codes, query_codes),
    }


def headline(item: Item) -> dict[str, str]:
    """What stands above the rest of an item: the words before a colon, or all words of a short one.
    Of a picture without words, what its source says that it shows.
    """
    head, colon, rest = item.text.partition(": ")
    if colon and len(head) <= 2 * LONGEST_HEADWORD:
        return {"title": head, "rest": rest}
    if len(item.text) > LONGEST_HEADWORD:
        return {"title": "", "rest": item.text}
    return {
        "title": item.text or item_label(item).partition(": ")[2] or item_label(item),
        "rest": "",
    }


def generated(answer: LastQuery) -> Json | None:
    """The table of generated IDs, with the query's own; nothing if none was generated."""
    result = answer.result
    if not result.generated:
        return None
    return {
        "lead": f"The IDs that the search wrote, the best first. {CANDIDATES[result.mode]}",
        "columns": ["#", "ID", "log p", "score", "items"],
        "meaning": [score_note(decoder_weight(answer))],
        "query": identifier(result.query_codes, result.query_codes),
        "rows": [
            {
                "figures": [number(beam.log_prob, 2), number(beam.score, 2), f"{beam.bucket:,}"],
                **identifier(beam.codes, result.query_codes),
            }
            for beam in result.generated
        ],
    }
