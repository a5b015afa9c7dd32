"""Shared data classes: items, queries, hits and the trace of a search.

Plain dataclasses. Nothing here reads a file or holds a model.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from PIL import Image

from genius.errors import quoted

if TYPE_CHECKING:
    import pandas as pd

# fields of an item's source: who made it, its license, where it is from
PROVENANCE = ("credit", "licence", "origin")
PICTURE = "picture"  # field of a caption's source: the path of the picture that it describes
MODES = ("both", "generate", "scan")  # how candidates are found, see genius/search/candidates.py
# of candidates: the inner product of fused features; the cosine of embeddings, as published; or the
# scores by which they were found: those of the IDs or, of a scan, the distances
ORDERS = ("fused", "cosine", "score")


class Modality(IntEnum):
    """What a candidate is made of; its value is the first code of an ID (paper, section 4.2)."""

    IMAGE = 0
    TEXT = 1
    PAIR = 2

    @property
    def mbeir(self) -> str:
        """The name in M-BEIR files."""
        return MBEIR_NAMES[self]

    @classmethod
    def from_mbeir(cls, name: str) -> Self:
        """From the name in M-BEIR files; raises ValueError that lists the choices."""
        try:
            return cls(MBEIR_NAMES.index(name))
        except ValueError:
            raise ValueError(
                f"modality {quoted(name)} is unknown; expected one of "
                f"{', '.join(map(repr, MBEIR_NAMES))}"
            ) from None

    @classmethod
    def of(cls, text: str, image: object | None) -> Self:
        """The modality of an item with this text and this image; raises ValueError without
        either.
        """
        if image is None and not text:
            raise ValueError("an item needs a text, an image, or both")
        if image is None:
            return cls.TEXT
        return cls.PAIR if text else cls.IMAGE


READINGS = {  # what a request can ask for, and the modality of such results
    "photo": Modality.IMAGE,  # a picture of what the words say
    "entry": Modality.TEXT,  # what it is
    "caption": Modality.TEXT,  # what the picture shows
    "similar": Modality.IMAGE,  # more pictures like it
    "change": Modality.IMAGE,  # the same, but as the words say
    "answer": Modality.TEXT,  # to a question about the picture
    "paraphrase": Modality.TEXT,  # the same in other words
    "page": Modality.PAIR,  # picture and text
}
# of requests with a picture
READINGS_OF_PICTURES = ("entry", "caption", "similar", "change", "answer", "page")
READINGS_OF_WORDS = ("photo", "entry", "paraphrase", "page")  # of requests without
UNREAD = "none"  # in place of a reading: the words are content as they stand
MBEIR_NAMES = ("image", "text", "image,text")  # of modalities, by their values


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate: something that can be retrieved."""

    id: str  # "dataset:number", M-BEIR's did
    modality: Modality
    text: str = ""
    image: str | None = None  # path relative to the collection's root
    source: str = ""  # M-BEIR's src_content, JSON text


@dataclass(frozen=True, slots=True)
class LabeledQuery:
    """A query of a collection, with the candidates that answer it."""

    id: str  # "dataset:number", M-BEIR's qid
    modality: Modality
    task: int  # M-BEIR task id, 0 to 8
    text: str = ""
    image: str | None = None  # path relative to the collection's root
    positives: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    source: str = ""  # M-BEIR's query_src_content, JSON text


def source_fields(source: str) -> dict[str, Any]:
    """The fields of a source without PICTURE and those of PROVENANCE; empty unless it is a JSON
    object.
    """
    return {
        name: value
        for name, value in _json_object(source).items()
        if name not in (PICTURE, *PROVENANCE)
    }


def described_picture(source: str) -> str:
    """The path of the picture that a caption with this source describes; empty if it names none."""
    picture = _json_object(source).get(PICTURE)
    return picture if isinstance(picture, str) else ""


def provenance_of(source: str) -> dict[str, str]:
    """The fields of PROVENANCE that a source has."""
    fields = _json_object(source)
    return {
        name: fields[name]
        for name in PROVENANCE
        if isinstance(fields.get(name), str) and fields[name]
    }


def _json_object(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
        if "\\u" in text:
            json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # not JSON, an unpaired surrogate, or nested too deeply
        return {}
    return record if isinstance(record, dict) else {}


@dataclass(frozen=True, slots=True)
class Query:
    """A text, an image or both to search by.

    What is wanted follows from the instruction or, without one, from the text, which a run with a
    reader reads.
    """

    text: str = ""
    image: Path | str | bytes | Image.Image | None = None  # a file, its bytes, or an opened picture
    instruction: str = ""
    reading: str = ""  # one of READINGS, chosen in place of what the reader reads; or UNREAD


@dataclass(frozen=True, slots=True)
class Reading:
    """How the words of a request were read."""

    name: str  # one of READINGS: what is searched for
    # of all READINGS that a request with, or without, a picture can have; sum 1
    probabilities: dict[str, float]
    content: str  # the words that say what is sought
    left_out: str = ""  # the words for what results should not show
    chosen: bool = False  # by the visitor

    @property
    def modality(self) -> Modality:
        """Of the results."""
        return READINGS[self.name]

    @property
    def understood(self) -> str:
        """The most probable reading, also where the collection has no such results."""
        return (
            self.name
            if self.chosen
            else max(self.probabilities, key=lambda name: self.probabilities[name])
        )


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search."""

    beams: int = 50
    k: int = 10  # hits returned
    mode: str = "both"  # one of MODES
    # of the hits, one of ORDERS; None: fused where the index has such features, else cosine
    order: str | None = None
    modality: Modality | None = None  # of the candidates; None: any
    # 1 decoder alone, 0 geometry alone, None: as the run was tuned
    decoder_weight: float | None = None
    trace: bool = False  # record every level of the beam search
    prefix: tuple[int, ...] = ()  # codes that every ID begins with
    added: bool = False  # only items that were added since training


@dataclass(frozen=True, slots=True)
class GeneratedID:
    """An ID at the end of a beam search or, where that stopped early, a prefix of a few IDs."""

    codes: tuple[int, ...]
    # that ranked it: the log-probability over the whole vocabulary, which the decoder weight blends
    # with the geometry of the codes
    score: float
    # sum over the decoded codes, each normalized over the codes of its level; see `score`
    log_prob: float
    # number of decoded codes; those after them are the only continuation in the trie, or left out
    depth: int
    bucket: int  # items with this ID or prefix


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved item."""

    row: int  # of the item in the index
    item: Item
    codes: tuple[int, ...]
    rank: int  # 1 is best
    # before re-ranking: 1 has the best generated ID; those that only the scan found are last
    generated_rank: int
    cosine: float  # between the embeddings of query and item
    # of each of its codes after those before, normalized over the codes of the level
    log_probs: tuple[float, ...]
    # between the fused features of query and item; None: the index has none
    fused: float | None = None
    # other items that show the same photograph, see search/versions.py
    versions: tuple[Item, ...] = ()

    @property
    def log_prob(self) -> float:
        """Of its ID, by the decoder."""
        return sum(self.log_probs)


@dataclass(frozen=True)
class LevelTrace:
    """One level of the beam search for one query: the c best prefixes of this level, grown from w
    beams.
    """

    parent: np.ndarray  # (c,) beam of the level before
    code: np.ndarray  # (c,)
    # (c,) of this code given its prefix, normalized over the codes of the level
    step_log_prob: np.ndarray
    score: np.ndarray  # (c,) sum that prefixes are ranked by
    kept: np.ndarray  # (c,) bool: became a beam; these come first, in beam order
    items: np.ndarray  # (c,) items below the prefix
    # (w,) log-probability of the level's codes that continue an ID, by parent beam: the probability
    # itself may be too small for float32
    log_valid: np.ndarray

    @property
    def masked(self) -> np.ndarray:
        """(w,) probability of the codes that the trie rules out, by parent beam."""
        return np.maximum(1 - np.exp(self.log_valid), 0)


@dataclass(frozen=True)
class SearchResult:
    """The answer to one query."""

    hits: list[Hit]
    generated: list[GeneratedID]  # best first; none of a scan
    embedding: np.ndarray  # (d,) of the query, for dense search and re-ranking
    z: np.ndarray  # (d,) fused features of the query, the decoder's input
    query_codes: tuple[int, ...]  # z, quantized
    # (k,) of the k first codes, sum 1 before any restriction; see modality_code
    first_code_probabilities: np.ndarray
    candidates: int  # items that were re-ranked
    # forced: the first code is the item's Modality; emergent: a learned cluster
    modality_code: str = "forced"
    mode: str = "both"  # one of MODES
    order: str = "cosine"  # of the hits, one of ORDERS
    decoded: int = 0  # beams scored, over all levels
    # of the query's image feature, which is not normalized; 0: no image, or not known
    image_length: float = 0.0
    missing: str = ""  # "2 of 3 parts answered", of a cluster; empty: everything was searched
    match: str = ""  # good, fair or weak; empty: not known, see search/match.py
    reading: Reading | None = None  # of the query's words; None: they were not read
    milliseconds: dict[str, float] = field(default_factory=dict)  # by stage
    # the levels of the beam search; none of a scan; None: it was not asked for
    trace: list[LevelTrace] | None = None
    # WebP of the item at a row of the index
    thumbnail: Callable[[int], bytes | None] = lambda row: None

    def frame(self) -> pd.DataFrame:
        """A row for each hit."""
        import pandas as pd  # slow to import, and of no use to a server

        columns = ["rank", "id", "kind", "text", "codes", "cosine", "log_prob"]
        rows = [
            (
                hit.rank,
                hit.item.id,
                hit.item.modality.name.lower(),
                hit.item.text,
                hit.codes,
                hit.cosine,
                hit.log_prob,
            )
            for hit in self.hits
        ]
        return pd.DataFrame(rows, columns=columns)

    def _repr_html_(self) -> str:
        """The hits as a notebook shows them, with their pictures."""
        rows = []
        for hit in self.hits:
            picture = b64encode(self.thumbnail(hit.row) or b"").decode()
            image = (
                f'<img alt="" height="96" src="data:image/webp;base64,{picture}">'
                if picture
                else ""
            )
            codes = " · ".join(map(str, hit.codes))
            cells = (f"{hit.rank}", hit.item.id, hit.item.text[:300], codes, f"{hit.cosine:.2f}")
            rows.append(
                f"<tr><td>{image}</td>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
            )
        heads = "".join(
            f"<th>{name}</th>" for name in ("picture", "rank", "id", "text", "codes", "cosine")
        )
        return f"<table><tr>{heads}</tr>{''.join(rows)}</table>"
