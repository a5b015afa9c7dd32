"""What the panels draw, as plain JSON data made from search results. No widget, no markup, no model."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from genius.schema import GeneratedID, Hit, Modality, Query, SearchResult

NAMES = {Modality.IMAGE: "Image", Modality.TEXT: "Text", Modality.PAIR: "Pair"}
STAGES = {  # in the order they run
    "encode": "encode", "fuse": "fuse", "beam": "beam search", "expand": "expand buckets",
    "rerank": "re-rank", "fetch": "fetch"}
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int) -> str:
    """A fixed number of decimals, with a real minus sign."""
    return f"{value:.{digits}f}".replace("-", MINUS)


def shared_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many leading codes two IDs have in common."""
    for level, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return level
    return min(len(one), len(other))


def identifier(codes: Sequence[int], query_codes: Sequence[int]) -> dict[str, Any]:
    """An ID and how much of it is the query's own."""
    return {"codes": [int(code) for code in codes], "shared": shared_prefix(codes, query_codes)}


def header(name: str, items: int, code_sizes: Sequence[int], device: object) -> dict[str, Any]:
    """What is being served."""
    return {"facts": [f"{items:,} items", f"IDs of {len(code_sizes)} codes", f"run {name}", str(device)]}


def score_label(decoder_weight: float) -> str:
    """What to call the score of an ID; it is a log-probability only where geometry has no part in it."""
    return "log p" if decoder_weight == 1 else "score"


def score_note(decoder_weight: float, mode: str) -> str:
    """How the score of an ID is made, given the decoder's weight against codeword geometry."""
    if decoder_weight == 1:
        return "log p: log-probability of the ID."
    made = ("codeword geometry alone" if decoder_weight == 0 else
            f"{decoder_weight:g} × log-probability + {1 - decoder_weight:g} × codeword geometry")
    return f"Score: {made}{', made a probability at each level' if mode == 'fast' else ''}."


def ending_note(found: Sequence[GeneratedID], levels: int) -> str:
    """What a score covers where a search stopped before the last code; empty if it never did."""
    note = ""
    if any(one.depth < len(one.codes) for one in found):
        note = " Dashed codes were not decoded and have no part in it: no other ID begins as theirs does."
    if any(len(one.codes) < levels for one in found):
        note += " An open end (…) stands for all IDs that begin so."
    return note


def certificate(result: SearchResult) -> str:
    """Whether the generated IDs are provably the best; empty where the search did not ask."""
    if result.certified is None:
        return ""
    return (" Proven: no other valid ID can score higher than these." if result.certified else
            " Not proven: an ID that was dropped on the way may score higher than some of these.")


def summary(result: SearchResult, query: Query, forced: bool = True) -> dict[str, Any]:
    """What was aimed at, how much was found and how long each stage took.

    forced: the first code was trained to be the modality; otherwise it is a cluster that emerged.
    """
    total = sum(result.milliseconds.values())
    stages = sorted(result.milliseconds.items(), key=lambda stage: list(STAGES).index(stage[0]))
    return {"label": "Target modality" if forced else "First code", "targets": targets(result, forced),
            "sentence": f"{count(len(result.hits), 'result')} for {described(query)}, "
                        f"out of {count(result.candidates, 'candidate')}, in {milliseconds(total)}.",
            "stages": [{"name": STAGES[stage], "time": milliseconds(spent),
                        "share": spent / total if total else 0.0} for stage, spent in stages]}


def targets(result: SearchResult, forced: bool = True) -> list[dict[str, Any]]:
    """The three first codes by probability; `chosen` is that of the best generated ID."""
    chosen = result.generated[0].codes[0] if result.generated else None
    ordered = sorted(Modality, key=lambda modality: -result.modality_probabilities[modality])
    return [{"name": NAMES[modality] if forced else str(int(modality)), "kind": modality.name.lower(),
             "probability": number(float(result.modality_probabilities[modality]), 2),
             "share": float(result.modality_probabilities[modality]),
             "chosen": modality == chosen} for modality in ordered]


def described(query: Query, longest: int = 60) -> str:
    """The query in a few words, so that old results cannot pass for new ones."""
    text = query.text.strip()
    text = text if len(text) <= longest else text[:longest - 1].rstrip() + "…"
    words = [f"“{text}”"] if text else []
    return " and ".join(words + ["your picture"] * (query.image is not None))


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def milliseconds(spent: float) -> str:
    return f"{spent:.1f} ms" if spent < 10 else f"{spent:,.0f} ms"


def cards(result: SearchResult, thumbnails: Iterable[bytes | None], reranked: bool,
          decoder_weight: float) -> dict[str, Any]:
    """A card per hit. thumbnails: WebP bytes in the order of the hits, None where there is no picture."""
    return {"label": score_label(decoder_weight),
            "cards": [card(hit, picture, result.query_codes, reranked)
                      for hit, picture in zip(result.hits, thumbnails, strict=True)]}


def card(hit: Hit, picture: bytes | None, query_codes: Sequence[int], reranked: bool) -> dict[str, Any]:
    modality = hit.item.modality
    return {"id": hit.item.id, "name": NAMES[modality], "kind": modality.name.lower(),
            "text": hit.item.text, "picture": data_uri(picture) if picture else None,
            "rank": hit.rank, "generated_rank": hit.generated_rank if reranked else None,
            "cosine": number(hit.cosine, 3), "score": number(hit.score, 2),
            **identifier(hit.codes, query_codes)}


def data_uri(webp: bytes) -> str:
    """A picture that travels inside the answer: no file is served, no second request is made."""
    return "data:image/webp;base64," + base64.b64encode(webp).decode()


def generated(result: SearchResult, decoder_weight: float) -> dict[str, Any]:
    """The table of generated IDs, beside the query's own."""
    blended, levels = decoder_weight != 1, len(result.query_codes)

    def row(found: GeneratedID) -> dict[str, Any]:
        scores = [number(found.log_prob, 2)] + [number(found.score, 2)] * blended
        return {"figures": [*scores, f"{found.bucket:,}"], "decoded": found.depth,
                "open": len(found.codes) < levels, **identifier(found.codes, result.query_codes)}
    return {"columns": ["#", "ID", "log p"] + ["score"] * blended + ["items"],
            "note": (score_note(decoder_weight, result.mode) + ending_note(result.generated, levels)
                     + certificate(result)),
            "query": identifier(result.query_codes, result.query_codes),
            "rows": [row(found) for found in result.generated]}


def suggestions(instructions: Iterable[tuple[Modality, Modality, str]], query: Modality | None) -> list[str]:
    """All instructions, by target; those that fit what the visitor has given come first."""
    ordered = sorted(instructions, key=lambda entry: (entry[0] != query, entry[1]))
    return list(dict.fromkeys(text for _, _, text in ordered))
