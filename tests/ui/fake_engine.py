"""An engine that made everything up, and maps."""

import io
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image, ImageOps

from genius.collections.keys import id_key
from genius.examples import Example, TargetedInstruction
from genius.explore.map_data import Maps, Moved, Region, View
from genius.index.layout import IndexConfig
from genius.schema import GeneratedID, Hit, Item, Modality, Query, SearchOptions, SearchResult
from genius.search.checks import check_query, checked_options
from genius.search.retrieval import EncodedQueries
from genius.trie.ids import pack
from genius.trie.pool import Pool

CODE_SIZES = (3, *[256] * 8)
DIM = 16
HOSTILE = "${alert(1)}<img src=x onerror=alert(2)>"
INSTRUCTIONS = [
    (Modality.TEXT, Modality.IMAGE, "Find an image that matches the caption."),
    (Modality.TEXT, Modality.IMAGE, "Which garment is described here? Show a photo of it."),
    (Modality.TEXT, Modality.PAIR, "Find the picture with its title that fits this description."),
    (Modality.IMAGE, Modality.TEXT, "Find a caption that describes the picture."),
    (Modality.PAIR, Modality.IMAGE, "Find a garment like this one, changed as the text says."),
]
TEXTS = [
    "A brown dog runs along the beach with a red ball in its mouth.",
    "Two children in yellow raincoats jump into a puddle while a woman laughs under a "
    "striped umbrella.",
    "Knitted pullover, dark green, crew neck, long sleeves",
    "A climber in a blue helmet rests on a ledge. Far below, a river bends around a village whose "
    "roofs are wet from the rain, and behind it the hills fade into the haze, one after another, "
    "until nobody could say where the land ends and the sky begins. Nothing moves but the rope, "
    "and somewhere a bell rings.",
]
SOURCE = (
    '{"credit": "Ada Example", "licence": "CC BY 2.0", "origin": "https://example.org/dog", '
    '"kind": "dog"}'
)
EXAMPLES = (
    Example(
        "Three ways to ask",
        "",
        Image.new("RGB", (64, 64), "teal"),
        (
            TargetedInstruction("Find a caption that describes the picture.", Modality.TEXT),
            TargetedInstruction("Find one like this.", Modality.IMAGE),
            TargetedInstruction("Find its page.", Modality.PAIR),
        ),
    ),
    Example(
        "In words",
        "a dog on a beach",
        None,
        (TargetedInstruction("Find an image that matches the caption.", Modality.IMAGE),),
    ),
    Example(
        "Changed",
        "in dark blue",
        Image.new("RGB", (300, 200), "orange"),
        (
            TargetedInstruction(
                "Find a garment like this one, changed as the text says.", Modality.IMAGE
            ),
        ),
    ),
)


class FakeIndex:
    """Items by row: every modality in turn. Neither codes nor embeddings have anything to do with
    them.
    """

    n = 76_412
    folder = Path("index-00000000")
    code_sizes = CODE_SIZES
    config = IndexConfig(n, DIM, CODE_SIZES, segments=(n,), trained=n)
    instructions = INSTRUCTIONS
    distances = fused = None
    modalities = (np.arange(n) % 3).astype(np.uint8)

    def __init__(self):
        random = np.random.default_rng(0)
        vectors = random.normal(size=(self.n, DIM))
        self.embeddings = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float16
        )
        semantic = [random.integers(0, codes, self.n) for codes in (12, 40, *[256] * 6)]
        self._codes = np.stack([self.modalities, *semantic], axis=1).astype(np.int64)  # (n, M)

    @property
    def packed(self) -> np.ndarray:
        return pack(self._codes, CODE_SIZES)

    @property
    def records(self) -> SimpleNamespace:
        return SimpleNamespace(datasets=lambda: 1 + np.arange(self.n) % 5)

    def items(self, rows: Iterable[int]) -> list[Item]:
        return [self.item(int(row)) for row in rows]

    def rows_of(self, ids: Iterable[str]) -> np.ndarray:
        return np.array([self.row_of(id) for id in ids], dtype=np.int64)

    def row_of(self, id: str) -> int:
        if id == HOSTILE:
            return 0
        row = int(number) if (number := id.partition(":")[2]).isdecimal() else self.n
        return row if row < self.n and self.item(row).id == id else -1

    def codes(self, rows: Iterable[int]) -> np.ndarray:
        return self._codes[np.asarray(rows, dtype=np.int64)]

    def pool(self, rows: np.ndarray | None = None, device: str = "cpu") -> Pool:
        return Pool.build(self.packed if rows is None else self.packed[rows], CODE_SIZES, rows)

    def item(self, row: int) -> Item:
        modality = Modality(row % 3)
        text = "" if modality == Modality.IMAGE else TEXTS[row % len(TEXTS)]
        image = None if modality == Modality.TEXT else f"{row}.jpg"
        return Item(f"{1 + row % 5}:{row}", modality, text, image, SOURCE if row % 2 else "")

    def thumbnail(self, row: int) -> bytes | None:
        """A gradient, different for every row that is not a text."""
        if row % 3 == Modality.TEXT:
            return None
        picture = Image.linear_gradient("L").resize(
            [(192, 128), (128, 192), (192, 192)][row % 4 % 3]
        )
        stream = io.BytesIO()
        ImageOps.colorize(picture, "black", f"hsl({row % 360}, 80%, 60%)").save(stream, "WEBP")
        return stream.getvalue()


class FakeEngine:
    """Answers like genius.search.engine.Engine, after `seconds`; keeps the queries it got."""

    device = "cpu"
    has_reader = False
    has_encoder = has_codewords = True
    decoder = SimpleNamespace(config=SimpleNamespace(decoder_weight=1.0))
    first_code_is_modality = True
    batcher = SimpleNamespace(call=lambda _: None)  # an encoder that reads texts of any length

    def __init__(self, seconds: float = 0.0):
        self.seconds = seconds
        self.index = FakeIndex()
        self.queries: list[tuple[Query, SearchOptions]] = []
        self.cached_images: list[Image.Image] = []
        current = SimpleNamespace(kinds=frozenset(Modality))
        self.snapshots = SimpleNamespace(held=nullcontext, current=current, cached=lru_cache(1))

    @cached_property
    def pool(self) -> Pool:
        return self.index.pool()

    def search(
        self, queries: list[Query], options: SearchOptions | None = None
    ) -> list[SearchResult]:
        options = options or SearchOptions()
        self.queries += [(query, options) for query in queries]
        return [self.answer(query, options) for query in queries]

    def cache_image(self, image: Image.Image) -> None:
        self.cached_images.append(image)

    def encode(self, queries: list[Query]) -> EncodedQueries:
        """Vectors that depend on the length of the text."""
        vectors = np.stack(
            [np.random.default_rng(len(query.text)).normal(size=DIM) for query in queries]
        )
        return EncodedQueries.from_vectors(vectors, vectors)

    def search_encoded(self, encoded: EncodedQueries, options: SearchOptions) -> list[SearchResult]:
        """Other IDs and items for other vectors."""
        return [
            self.answer(Query("vectors"), options, seed=int(100 * abs(z[0])))
            for z in encoded.z.numpy()
        ]

    def answer(self, query: Query, options: SearchOptions, seed: int = 7) -> SearchResult:
        check_query(query)
        options = checked_options(options)
        if query.text == "bug":
            raise RuntimeError("secret detail")
        time.sleep(self.seconds)
        random = np.random.default_rng(seed)
        own = (0, 17, 240, 3, 91, 255, 8, 128, 60)
        ids = sorted(
            {
                own[:keep] + tuple(int(c) for c in random.integers(0, 256, 9 - keep))
                for keep in random.integers(1, 9, options.beams)
            }
        )
        scores = [-3.2 - 0.7 * place for place in range(len(ids))]
        generated = [
            GeneratedID(codes, score, score, len(codes), 1 + (place * 7) % 5)
            for place, (codes, score) in enumerate(zip(ids, scores, strict=True))
        ]
        order = np.arange(options.k) if options.order == "score" else random.permutation(options.k)
        rows = random.integers(0, self.index.n, options.k).tolist()
        hits = []
        for rank, place in enumerate(order.tolist()):
            beam, item = generated[place % len(ids)], self.index.item(rows[place])
            if query.text == "hostile":
                item = replace(item, id=HOSTILE, text=HOSTILE)
            steps = (beam.score / len(beam.codes),) * len(beam.codes)
            cosine = 0.412 - 0.017 * rank
            hits.append(Hit(rows[place], item, beam.codes, rank + 1, place + 1, cosine, steps))
        return SearchResult(
            hits=hits if query.text != "nothing" else [],
            generated=generated if options.mode != "scan" else [],
            embedding=np.ones(DIM, np.float32),
            z=np.ones(DIM, np.float32),
            query_codes=own,
            first_code_probabilities=np.array([0.93, 0.05, 0.02]),
            modality_code="emergent" if query.text == "emergent" else "forced",
            candidates=512,
            mode=self.resolved(options).mode,
            order=options.order or "cosine",
            milliseconds={
                "encode": 38.2,
                "fuse": 1.1,
                "beam": 71.5,
                "scan": 0.6,
                "rerank": 2.4,
                "fetch": 3.9,
            },
        )

    @staticmethod
    def resolved(options: SearchOptions) -> SearchOptions:
        return options


# Maps with places that mean nothing

FEW = 5  # places with all codes
REGIONS = (
    Region(0, None, ("mug", "hat"), 20, 15, ""),
    Region(0, None, (HOSTILE[:100],), 19, 9, "0:3"),
    Region(1, 0, ("mug",), 20, 12, ""),
    Region(1, 1, (), 19, 0, ""),
    Region(2, 2, ("red mug",), 20, 11, ""),
    Region(2, 3, ("boat",), 19, 8, ""),
)


def fake_maps(ids: Sequence[str], levels: int) -> Maps:
    """These items in two views, the second of which has few places, and six regions, two of each
    size.
    """
    random = np.random.default_rng(3)
    keys = np.sort([id_key(id) for id in ids])
    side = np.where(np.arange(len(keys)) % 2, 0.5, -0.5)  # of each region
    places = random.normal(0, 0.12, (2, len(keys), 2)).clip(-0.4, 0.4).astype(np.float32)
    places[0, :, 0] += side
    places[1] = places[1, np.arange(len(keys)) % FEW]
    views = (View(0, len(keys)), View(levels, FEW, (Moved(4, 0.5, None, 5),)))
    names = {0: "birds", 1: "birds", 2: "<b>boats</b>", 3: "mugs", 4: "hats"}
    return Maps(views, places, keys, REGIONS, 4 + (np.arange(len(keys)) % 2), names)


def many_maps() -> Maps:
    """Of the made-up index: every 26th item."""
    return fake_maps(
        [item.id for item in FakeIndex().items(range(0, 76_000, 26))], len(FakeIndex.code_sizes)
    )
