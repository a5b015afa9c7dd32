"""Limits of queries and options. Everything that enters the engine is checked here."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TypeGuard

import numpy as np
from PIL.Image import Image

from genius.collections.images import PAGE, open_image
from genius.errors import UserError, quoted
from genius.schema import MODES, ORDERS, READINGS, UNREAD, Modality, Query, SearchOptions
from genius.texts import MAX_TEXT, normalize_text
from genius.trie.code_table import CodeTable
from genius.trie.ids import IDTable

MAX_BEAMS = 200  # that a query may ask for
MAX_RESULTS = 500


def checked_options(options: SearchOptions) -> SearchOptions:
    """The options, whole numbers as ints. Raises UserError that names the option and its range."""
    for name in ("trace", "added"):
        if not isinstance(value := getattr(options, name), bool):
            raise UserError(f"{name} must be true or false, not {quoted(value)}.")
    weight = options.decoder_weight
    if weight is not None and not (_is_number(weight) and 0 <= weight <= 1):
        raise UserError(f"The decoder weight must be a number from 0 to 1, not {quoted(weight)}.")
    if options.mode not in MODES:
        raise UserError(f"The mode must be one of {', '.join(MODES)}, not {quoted(options.mode)}.")
    if options.order is not None and options.order not in ORDERS:
        raise UserError(
            f"The order must be one of {', '.join(ORDERS)}, not {quoted(options.order)}."
        )
    if options.modality is not None and not isinstance(options.modality, Modality):
        raise UserError(
            f"The modality must be one of {', '.join(kind.name.lower() for kind in Modality)}, "
            f"not {quoted(options.modality)}."
        )
    if not isinstance(options.prefix, tuple) or not all(
        type(code) is int for code in options.prefix
    ):
        raise UserError(f"The prefix must be a tuple of codes, not {quoted(options.prefix)}.")
    return replace(
        options, beams=whole_number("beam size", options.beams, MAX_BEAMS), k=checked_k(options.k)
    )


@dataclass(frozen=True, slots=True)
class ResolvedOptions(SearchOptions):
    """Options as a run means them: all that None leaves to the run is said."""

    order: str = "cosine"
    decoder_weight: float = 1.0


def resolve_options(
    options: SearchOptions, has_fused: bool, decoder_weight: float
) -> ResolvedOptions:
    """Choose what the options leave to the run. Where scores order the results of both ways, there
    is one: generation.

    has_fused: the index keeps fused features. decoder_weight: of the run. Raises UserError if the
    options ask for fused features that the index lacks.
    """
    if options.order == "fused" and not has_fused:
        raise UserError(
            "The index of this run keeps no fused features; choose cosine, or build it again: "
            "python -m training.index COLLECTION RUN --set index.fused=true"
        )
    chosen = {
        "mode": "generate" if options.mode == "both" and options.order == "score" else options.mode,
        "order": options.order or ("fused" if has_fused else "cosine"),
        "decoder_weight": decoder_weight
        if options.decoder_weight is None
        else options.decoder_weight,
    }
    return ResolvedOptions(**asdict(options) | chosen)


def checked_k(k: int) -> int:
    """The number of results. Raises UserError with its range."""
    return whole_number("number of results", k, MAX_RESULTS)


def rows_below(prefix: tuple[int, ...], table: IDTable) -> np.ndarray:
    """The items whose IDs begin with these codes. Raises UserError if there is none."""
    sizes = table.code_sizes
    codes_exist = len(prefix) <= len(sizes) and all(
        0 <= code < size for code, size in zip(prefix, sizes, strict=False)
    )
    if not codes_exist or not len(found := CodeTable(table).match(prefix)):
        raise UserError(
            "No item that may be found has an ID that begins with "
            f"{quoted(' · '.join(map(str, prefix)))}."
        )
    return found.rows


def checked_queries(queries: Iterable[Query]) -> list[Query]:
    """The queries with their pictures opened, and an empty text where nothing of it is seen.

    Raises UserError for one that cannot be searched by.
    """
    checked = [with_picture(query) for query in queries]
    for query in checked:
        check_query(query)
    return [query if normalize_text(query.text) else replace(query, text="") for query in checked]


def with_picture(query: Query) -> Query:
    """The query with its picture opened by the one function that does so. Raises UserError if that
    refuses it.
    """
    image = query.image
    # one that Pillow has not decoded yet is of another type
    is_ready = type(image) is Image and image.mode == "RGB"
    if is_ready or not isinstance(image, str | Path | bytes | Image):
        return query
    return replace(query, image=open_image(image, limits=PAGE))


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
            raise UserError(
                f"The {name} contains an invalid Unicode character; type it again."
            ) from None
    if query.reading not in ("", UNREAD, *READINGS):
        raise UserError(
            f"The reading must be one of {', '.join(READINGS)}, or none, not "
            f"{quoted(query.reading)}."
        )
    if query.image is not None and not isinstance(query.image, Image):
        raise UserError(
            f"The picture must be a path, bytes or an opened picture, not {quoted(query.image)}."
        )
    if query.image is None and not normalize_text(query.text):  # as the encoder reads it
        raise UserError("Type a description, add a picture, or both.")


def whole_number(name: str, value: object, maximum: int, minimum: int = 1) -> int:
    """The number, of which a slider may send 10.0 for 10. Raises UserError with its name and
    range.
    """
    if not _is_number(value) or not minimum <= value <= maximum or value != int(value):
        raise UserError(
            f"The {name} must be a whole number from {minimum} to {maximum:,}, not {quoted(value)}."
        )
    return int(value)


def _is_number(value: object) -> TypeGuard[float]:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    # math.isfinite fails for an int that no float can hold
    return isinstance(value, int) or math.isfinite(value)
