"""The words every room shares: items, queries, hits and the trace of a search.

Plain dataclasses. Nothing here reads a file or holds a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from PIL import Image


class Modality(IntEnum):
    """What a candidate is made of; its value is the first code of an ID (paper, section 4.2)."""

    IMAGE = 0
    TEXT = 1
    PAIR = 2

    @property
    def mbeir(self) -> str:
        """The name that M-BEIR files use."""
        return MBEIR_NAMES[self]

    @classmethod
    def from_mbeir(cls, name: str) -> Modality:
        """Read M-BEIR's name; raises ValueError that lists the choices."""
        try:
            return MODALITY_OF[name]
        except KeyError:
            raise ValueError(
                f"modality {name!r} is unknown; expected one of {', '.join(map(repr, MODALITY_OF))}"
            ) from None

    @classmethod
    def of(cls, text: str, image: object | None) -> Modality:
        """The modality of what has this text and this image; raises ValueError if it has neither."""
        if image is None and not text:
            raise ValueError("an item needs a text, an image, or both")
        if image is None:
            return cls.TEXT
        return cls.PAIR if text else cls.IMAGE


MBEIR_NAMES = {Modality.IMAGE: "image", Modality.TEXT: "text", Modality.PAIR: "image,text"}
MODALITY_OF = {name: modality for modality, name in MBEIR_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate: something that can be found."""

    id: str  # "dataset:number", M-BEIR's did
    modality: Modality
    text: str = ""
    image: str | None = None  # path relative to the collection's root
    source: str = ""  # M-BEIR's src_content, JSON text


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query of a collection, with the candidates that answer it."""

    id: str  # "dataset:number", M-BEIR's qid
    modality: Modality
    task: int  # M-BEIR task id, 0 to 8
    text: str = ""
    image: str | None = None  # path relative to the collection's root
    positives: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    source: str = ""  # M-BEIR's query_src_content, JSON text


@dataclass(frozen=True, slots=True)
class Query:
    """What a person asks for. The instruction says what kind of thing is wanted."""

    text: str = ""
    image: Image.Image | None = None  # opened by genius.collections.images
    instruction: str = ""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search."""

    beams: int = 50
    k: int = 10  # hits returned
    rerank: bool = True  # order hits by embedding instead of by ID score
    modality: Modality | None = None  # find nothing else; None: what the query asks for
    decoder_weight: float | None = None  # 1 decoder alone, 0 geometry alone, None: as the run was tuned
    trace: bool = False  # record every level of the beam search
    mode: str | None = None  # exact, set or fast (genius.search.beam); None: set if the order comes from
    #                                       re-ranking and nothing is traced, else exact
    budget: int = 200  # mode fast: items handed to the re-ranker
    certify: bool = False  # say whether the IDs are provably the best; mode exact always does
    widen: bool = False  # double the beams until they are, as far as they may go


@dataclass(frozen=True, slots=True)
class GeneratedID:
    """One ID that the beam search ended with, or, in mode fast, the beginning of a few."""

    codes: tuple[int, ...]
    score: float  # what it was ranked by: log_prob, blended with geometry if asked
    log_prob: float  # summed over the codes decoded
    depth: int  # how many those are: the first ones; the others follow from the trie or are left open
    bucket: int  # items that share this ID or beginning


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found."""

    row: int  # row of the item in the index
    item: Item
    codes: tuple[int, ...]
    rank: int  # 1 is best, in the order returned
    generated_rank: int  # 1 is best, in the order of ID scores, before re-ranking
    score: float  # score of the generated ID
    cosine: float  # between the embeddings of query and item


@dataclass(frozen=True)
class LevelTrace:
    """One step of the beam search for one query. c prefixes were considered, w beams were open.

    The prefixes are the best ones only; `masked` accounts for what the trie forbids.
    """

    parent: np.ndarray  # (c,) beam of the step before
    code: np.ndarray  # (c,)
    step_log_prob: np.ndarray  # (c,) of this code given its prefix
    score: np.ndarray  # (c,) summed, what the beams are ranked by
    kept: np.ndarray  # (c,) bool: it became a beam; kept ones come first, in beam order
    items: np.ndarray  # (c,) items below this prefix
    masked: np.ndarray  # (w,) probability mass on codes outside the trie, by parent beam


@dataclass(frozen=True)
class SearchTrace:
    """Everything that the beam search saw, level by level."""

    levels: list[LevelTrace]


@dataclass(frozen=True)
class SearchResult:
    """The answer to one query."""

    hits: list[Hit]
    generated: list[GeneratedID]  # best first
    embedding: np.ndarray  # (d,) of the query, for dense search and re-ranking
    z: np.ndarray  # (d,) of the query, fused: what the decoder was given
    query_codes: tuple[int, ...]  # z, quantized
    modality_probabilities: np.ndarray  # (3,) of the first code, indexed by Modality
    candidates: int  # items considered by the re-ranker
    mode: str = "exact"  # of the beam search
    decoded: int = 0  # beams scored, over all levels
    certified: bool | None = None  # the generated IDs are provably the best of all; None: not asked
    far: bool | None = None  # its picture is unlike the indexed ones; None: it has none, or nobody can say
    milliseconds: dict[str, float] = field(default_factory=dict)  # per stage
    trace: SearchTrace | None = None
