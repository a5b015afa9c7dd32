"""Limits of queries and options. Everything that enters the engine is checked here."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TypeGuard

from PIL.Image import Image

from genius.errors import UserError, quoted
from genius.schema import RANKINGS, Modality, Query, SearchOptions
from genius.search.beam import MODES
from genius.texts import MAX_TEXT, normalize_text
from genius.trie.code_table import CodeTable
from genius.trie.ids import IDTable

MAX_BEAMS = 200  # that a query may ask for
MAX_RESULTS = 500
MAX_BUDGET = 500  # candidates of mode fast


def checked_options(options: SearchOptions) -> SearchOptions:
    """The options, whole numbers as ints. Raises UserError that names the option and its range."""
    for name in ("rerank", "trace"):
        if not isinstance(getattr(options, name), bool):
            raise UserError(f"{name} must be true or false, not {quoted(getattr(options, name))}.")
    weight = options.decoder_weight
    if weight is not None and not (_is_number(weight) and 0 <= weight <= 1):
        raise UserError(f"The decoder weight must be a number from 0 to 1, not {quoted(weight)}.")
    if options.mode is not None and options.mode not in MODES:
        raise UserError(f"The mode must be one of {', '.join(MODES)}, not {quoted(options.mode)}.")
    if options.ranking is not None and options.ranking not in RANKINGS:
        raise UserError(f"The ranking must be one of {', '.join(RANKINGS)}, not {quoted(options.ranking)}.")
    if options.modality is not None and not isinstance(options.modality, Modality):
        raise UserError(
            f"The modality must be one of {', '.join(kind.name.lower() for kind in Modality)}, "
            f"not {quoted(options.modality)}."
        )
    if not isinstance(options.prefix, tuple) or not all(type(code) is int for code in options.prefix):
        raise UserError(f"The prefix must be a tuple of codes, not {quoted(options.prefix)}.")
    return replace(
        options,
        beams=_whole_number("beam size", options.beams, MAX_BEAMS),
        k=checked_k(options.k),
        budget=_whole_number("candidate budget", options.budget, MAX_BUDGET),
    )


@dataclass(frozen=True, slots=True)
class ResolvedOptions(SearchOptions):
    """Options as a run means them: all that None leaves to the run is said. ranking None: the order is by ID score."""

    mode: str = "exact"
    decoder_weight: float = 1.0


def resolve_options(options: SearchOptions, has_ranker: bool, decoder_weight: float) -> ResolvedOptions:
    """Choose what the options leave to the run.

    A trace shows every level, so by default it comes from an exact search. A ranker finds more among the many
    candidates of mode fast; the cosine, which orders them as dense search does, among the few of mode set.
    has_ranker, decoder_weight: of the run. Raises UserError if the options ask for a ranker that the run does not have.
    """
    if options.ranking == "ranker" and not has_ranker:
        raise UserError("This run has no ranker; choose cosine, or train one with python -m training.ranker.")
    ranking = (options.ranking or ("ranker" if has_ranker else "cosine")) if options.rerank else None
    mode = options.mode
    if mode is None and (ranking is None or options.trace):
        mode = "exact"
    given = {field.name: getattr(options, field.name) for field in fields(SearchOptions)}
    chosen = {
        "mode": mode or ("fast" if ranking == "ranker" else "set"),
        "ranking": ranking,
        "decoder_weight": decoder_weight if options.decoder_weight is None else options.decoder_weight,
    }
    return ResolvedOptions(**given | chosen)


def checked_k(k: int) -> int:
    """The number of results. Raises UserError with its range."""
    return _whole_number("number of results", k, MAX_RESULTS)


def check_prefix(prefix: tuple[int, ...], table: IDTable) -> None:
    """Raise UserError unless an item's ID begins with these codes."""
    sizes = table.code_sizes
    codes_exist = len(prefix) <= len(sizes) and all(0 <= code < size for code, size in zip(prefix, sizes, strict=False))
    if not codes_exist or not len(CodeTable(table).match(prefix)):
        raise UserError(f"No item that may be found has an ID that begins with {quoted(' · '.join(map(str, prefix)))}.")


def check_query(query: Query) -> None:
    """Raise UserError unless there is a text or an image to search by, within the limits."""
    for name, text in (("description", query.text), ("instruction", query.instruction)):
        if not isinstance(text, str):
            raise UserError(f"The {name} must be a text.")
        if len(text) > MAX_TEXT:
            raise UserError(f"The {name} has {len(text):,} characters; shorten it to {MAX_TEXT:,}.")
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate
            raise UserError(f"The {name} contains an invalid Unicode character; type it again.") from None
    if query.image is not None and not isinstance(query.image, Image):
        raise UserError("The picture must be opened first, by genius.collections.images.open_image.")
    if query.image is None and not normalize_text(query.text):  # as the encoder reads it
        raise UserError("Type a description, add a picture, or both.")


def _whole_number(name: str, value: object, maximum: int) -> int:
    """A slider may send 10.0 for 10."""
    if not _is_number(value) or not 1 <= value <= maximum or value != int(value):
        raise UserError(f"The {name} must be a whole number from 1 to {maximum}, not {quoted(value)}.")
    return int(value)


def _is_number(value: object) -> TypeGuard[float]:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return isinstance(value, int) or math.isfinite(value)  # math.isfinite fails for an int that no float can hold
