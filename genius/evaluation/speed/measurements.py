"""What is measured, each as tables and plots: searches, equal hit rate, the paper's Figure 4 and a
whole query.

Shapes: b queries, q queries of a row, n items, K results.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import torch
from PIL import Image, ImageOps

from genius.errors import UserError
from genius.evaluation import NOTES
from genius.evaluation.queries import EncodedSplit, in_batches
from genius.evaluation.speed.systems import (
    DENSE,
    MAX_ITEMS,
    SYSTEMS,
    K,
    System,
    dense_of_run,
    ids_of_run,
)
from genius.evaluation.speed.workloads import (
    Setup,
    Workload,
    numeric_ids,
    realistic,
    sampled,
    structured_ids,
)
from genius.metrics.hit_rate import first_hits
from genius.reports import Axis, Cell, Column, Plot, Series, Table
from genius.schema import MODES, Modality, Query, SearchOptions
from genius.search.batching import engine_thread
from genius.search.candidates import SCANNED
from genius.search.dense import flat_search
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries

# a system that has had so many rounds gets no more after so many seconds
MIN_ROUNDS, PATIENCE = 2, 20.0
CUT = 5  # k of the hit rate
BATCH = 64  # queries searched together where time does not matter
TEXTS = 256  # of the run's items that queries are drawn from
# queries whose nearest vector must be found; among more items none are judged
JUDGED, MAX_JUDGED = 64, 10_000_000
SIDES = (512, 384)  # of a picture, in pixels
ROUNDING = 1e-9  # two means over rows that are equal on paper may differ by this
TEXT, INSTRUCTION = (
    "a red car in front of an old house, seen from the left",
    "Find a picture that shows this.",
)

Built = TypeVar("Built")
Queries = TypeVar("Queries")
Times = list[float]  # milliseconds per query of each round
Curves = dict[str, dict[int, float]]  # system -> number of items -> what was measured
Measured = tuple[list[Table], list[Plot]]  # what a measurement gave so far


@dataclass(frozen=True)
class SpeedOptions:
    """How to measure."""

    items: tuple[int, ...] = (10_000, 100_000, 1_000_000, 5_600_000)
    batches: tuple[int, ...] = (1, 32)
    systems: tuple[str, ...] = tuple(SYSTEMS)
    rounds: int = 9
    beams: int = 50
    seed: int = 0


def searches(workload: Workload, options: SpeedOptions) -> Iterator[Measured]:
    """The search alone, of every system at every size and batch size; yields, after each size, all
    sizes so far.
    """
    title = f"{workload.kind.capitalize()} IDs"
    note = f"{NOTES[workload.kind]} {NOTES['searches'].format(results=K, scanned=SCANNED)}"
    columns = [Column("items", "", 0), Column("system")]
    columns += [Column(f"batch {batch}", "ms", 2) for batch in options.batches]
    columns += [
        Column("bytes per item", "", 1),
        Column("built in", "s", 1),
        Column("found", "%", 1),
    ]
    rows: list[list[Cell]] = []
    curves: dict[int, Curves] = {batch: defaultdict(dict) for batch in options.batches}
    queries = workload.draw_queries(JUDGED, 0)
    for items in options.items:
        with TemporaryDirectory() as folder:
            setup, common = timed(Setup.build, workload, items, options.beams, Path(folder))
            names = [name for name in options.systems if items <= MAX_ITEMS.get(name, items)]
            nearest = None
            if set(names) & {*DENSE} or (workload.kind == "realistic" and items <= MAX_JUDGED):
                nearest = flat_search(setup.embeddings, queries.embeddings.cpu().numpy(), 1)[1]
            built = {name: timed(SYSTEMS[name], setup) for name in names}
            systems = {name: system.search for name, (system, _) in built.items()}
            for batch, of_batch in curves.items():
                print(f"{workload.kind} IDs, {items:,} items, batch {batch}", flush=True)
                draw = workload.draw_queries
                times = measure_in_turns(systems, draw, batch, options.rounds)
                for name, spent in times.items():
                    of_batch[name][items] = median(spent)
            for name, (system, seconds) in built.items():
                seconds += 0 if name in DENSE else common
                found = None
                if nearest is not None and workload.kind == "realistic" and name != "transformers":
                    found = float((system.search(queries) == nearest).any(axis=1).mean())
                medians = [of_batch[name][items] for of_batch in curves.values()]
                rows.append([items, name, *medians, system.bytes_per_item, seconds, found])
        plots = [
            lines(f"{title}, batch {batch}, ms per query", of_batch, "items", "ms per query")
            for batch, of_batch in curves.items()
        ]
        yield [Table(title, columns, list(rows), note)], plots


def measure_in_turns(
    systems: dict[str, Callable[[Queries], Any]],
    draw_queries: Callable[[int, int], Queries],
    batch: int,
    rounds: int,
) -> dict[str, Times]:
    """Time each system, if there are any, on one batch per round: milliseconds per query.

    A processor's speed changes from minute to minute, and between processes by more than the
    systems differ. So every round times each system once, on queries that no other round has, and
    starts with the next system. Compare medians over rounds, and two systems by the median of their
    ratios in each round. draw_queries: (batch size, round) -> queries. A system returns when its
    results are complete; each answers one query of round 0 first, which is not timed.
    """
    call = engine_thread().call  # as fast as on the page, see batching.py
    names = list(systems)
    times: dict[str, Times] = {name: [] for name in systems}
    for search in systems.values():
        call(partial(search, draw_queries(1, 0)))
    for number in range(1, rounds + 1):
        queries = draw_queries(batch, number)
        names = names[1:] + names[:1]
        for name in names:
            spent = times[name]
            if len(spent) < MIN_ROUNDS or sum(spent) * batch <= 1000 * PATIENCE:
                _, seconds = call(partial(timed, systems[name], queries))
                spent.append(1000 * seconds / batch)
    return times


def median_ratio(slow: Times, fast: Times) -> float:
    """How many times as long the first take: the median over the rounds that both had."""
    return median(longer / shorter for longer, shorter in zip(slow, fast))


def timed(build: Callable[..., Built], *given: Any) -> tuple[Built, float]:
    """What a function returns, and its seconds."""
    start = time.perf_counter()
    return build(*given), time.perf_counter() - start


def lines(title: str, curves: Curves, x: str, y: str) -> Plot:
    """A line for each system."""
    series = [
        Series(name, [float(size) for size in of_system], list(of_system.values()))
        for name, of_system in curves.items()
    ]
    return Plot(title, "lines", Axis(x, log=True), Axis(y, log=True), series)


def equal_hit_rate(engine: Engine, queries: EncodedSplit, options: SpeedOptions) -> Measured:
    """IDs and dense search on the run's own test queries in the global pool: time and memory at
    equal hit rate.
    """
    by_ids, dense = ids_of_run(engine), dense_of_run(engine)
    systems = by_ids | dense
    rates = {name: mean_hit_rate(system, queries) for name, system in systems.items()}
    searches = {name: system.search for name, system in systems.items()}
    draw = sampled(queries.encoded, options.seed)
    rows: list[list[Cell]] = [[name, rates[name]] for name in systems]
    columns = [Column("system"), Column(f"hit@{CUT}", "%", 1, "high")]
    tables, plots = [], []
    for batch in options.batches:
        times = measure_in_turns(searches, draw, batch, options.rounds)
        medians = {name: median(spent) for name, spent in times.items()}
        columns.append(Column(f"batch {batch}", "ms", 2, "low"))
        for row, spent in zip(rows, medians.values(), strict=True):
            row.append(spent)
        pairs: list[list[Cell]] = []
        for name, system in by_ids.items():
            equal = fastest_equal(name, dense, rates, medians)
            pair: list[Cell] = ["none finds as much", None, None]
            if equal:
                bytes_ratio = system.bytes_per_item / dense[equal].bytes_per_item
                pair = [equal, median_ratio(times[name], times[equal]), bytes_ratio]
            pairs.append([name, *pair])
        factors = [Column("× its time", "", 2), Column("× its bytes", "", 2)]
        compared = [Column("IDs"), Column("equaled by"), *factors]
        title = f"At equal hit rate, batch {batch}"
        tables.append(Table(title, compared, pairs, NOTES["equaled_by"]))
        settings = defaultdict(list)  # of an index: one line
        for name in systems:
            settings[name.split(",")[0] if name in dense else name].append(name)
        series = [
            Series(kind, [medians[name] for name in names], [rates[name] for name in names])
            for kind, names in settings.items()
        ]
        axes = Axis("ms per query", log=True), Axis(f"hit@{CUT}", "%")
        plots.append(Plot(f"Hit rate by time, batch {batch}", "lines", *axes, series))
    for row, system in zip(rows, systems.values(), strict=True):
        row.append(system.bytes_per_item)
    columns.append(Column("bytes per item", "", 0, "low"))
    facts = {"items": engine.index.n, "queries": len(queries.cuts), "rows": len(queries.sets)}
    note = NOTES["equal"].format(**facts, cut=CUT)
    return [Table("On the run", columns, rows, note), *tables], plots


def mean_hit_rate(system: System, queries: EncodedSplit) -> float:
    """Hit rate at CUT, the mean over (task, dataset) rows."""
    rates = []
    for row, query_set in zip(queries.rows, queries.sets, strict=True):
        ranked = np.concatenate([system.search(batch) for batch in in_batches(row, BATCH)])
        rates.append(np.mean(first_hits(ranked, query_set.qrels) <= CUT))
    return float(np.mean(rates))


def fastest_equal(
    name: str, dense: Iterable[str], rates: dict[str, float], medians: dict[str, float]
) -> str | None:
    """The fastest dense search whose hit rate is at least that of `name`; None if there is none."""
    as_good = [index for index in dense if rates[index] >= rates[name] - ROUNDING]
    return min(as_good, key=lambda index: medians[index], default=None)


def figure_4(engine: Engine, options: SpeedOptions) -> Iterator[Measured]:
    """The paper's Figure 4: queries per second by number of candidates, from the text to the
    results.

    Texts ask for images, and every system encodes them itself. Candidates are the run's images, and
    IDs recombined from theirs. GRACE writes its IDs with Flamingo-3B; here every decoder has the
    layers and width of the run's, those of GRACE's IDs random weights, so only the identifiers
    differ. Yields, after each size, all sizes so far. Raises UserError if the run has no text or no
    image.
    """
    queries = text_queries(engine, options.seed)
    images = np.flatnonzero(engine.index.modalities == Modality.IMAGE)
    if not len(images):
        raise UserError(
            "no item of the run is an image, so text queries find none; name another run"
        )
    nothing = EncodedQueries.from_vectors(*np.zeros((2, 1, engine.encoder.dim), dtype=np.float32))
    workload = realistic(max(options.items), engine, nothing, options.seed, images)
    batch = max(options.batches)
    millions = sum(weights.numel() for weights in engine.decoder.parameters()) / 1e6
    facts = {"batch": batch, "beams": options.beams, "millions": millions, "images": len(images)}
    note = NOTES["figure_4"].format(**facts)

    def draw(count: int, number: int) -> list[Query]:
        """Other queries in each round."""
        rows = np.random.default_rng((options.seed, number)).integers(len(queries), size=count)
        return [queries[row] for row in rows]

    @torch.inference_mode()
    def encode(drawn: list[Query], fuse: bool) -> EncodedQueries:
        """The embeddings of queries, and their fused features where a decoder reads them."""
        texts = [query.text for query in drawn]
        instructions = [query.instruction for query in drawn]
        features = engine.encoder.encode([None] * len(drawn), texts, instructions)
        embeddings = features.embedding()
        return EncodedQueries(None, embeddings, engine.fusion(features) if fuse else embeddings)

    def from_text(name: str, setup: Setup, fuse: bool) -> Callable[[list[Query]], Any]:
        search = SYSTEMS[name](setup).search
        return lambda drawn: search(encode(drawn, fuse))

    title = "The paper's Figure 4, queries per second by number of candidates"
    curves: Curves = defaultdict(dict)
    for items in options.items:
        print(f"Figure 4, {items:,} candidates", flush=True)
        with TemporaryDirectory() as folder:
            setup = Setup.build(workload, items, options.beams, Path(folder))
            systems = {
                "CLIP + flat": from_text("flat", setup, fuse=False),
                "GENIUS": from_text("generate", setup, fuse=True),
                "GENIUS, both (ours)": from_text("both", setup, fuse=True),
                "GENIUS, scan (ours)": from_text("scan", setup, fuse=True),
            }
            for kind, scheme in (("structured", structured_ids), ("numeric", numeric_ids)):
                rival = workload.with_random_decoder(*scheme(items), options.seed)
                setup = Setup.build(rival, items, options.beams, Path(folder))
                systems[f"GRACE's {kind} IDs"] = from_text("generate", setup, fuse=False)
            times = measure_in_turns(systems, draw, batch, options.rounds)
        for name, spent in times.items():
            curves[name][items] = 1000 / median(spent)
        columns = [Column("system")]
        columns += [Column(f"{size:,} items", "", 2, "high") for size in curves["GENIUS"]]
        rows: list[list[Cell]] = [[name, *speeds.values()] for name, speeds in curves.items()]
        plot = lines(title, curves, "candidates", "queries per second")
        yield [Table(title, columns, rows, note)], [plot]


def text_queries(engine: Engine, seed: int) -> list[Query]:
    """Texts of items, with an instruction that asks for images. Raises UserError if no item has a
    text.
    """
    index = engine.index
    rows = np.random.default_rng(seed).permutation(
        np.flatnonzero(index.modalities != Modality.IMAGE)
    )[:TEXTS]
    texts = [item.text for item in index.items(rows) if item.text]
    if not texts:
        raise UserError(
            "no item of the run has a text, so there are no text queries; name another run"
        )
    asking = [
        known.text for known in index.instructions if known[:2] == (Modality.TEXT, Modality.IMAGE)
    ]
    return [Query(text=text, instruction=asking[0] if asking else "") for text in texts]


def whole_query(engine: Engine, options: SpeedOptions) -> Measured:
    """What one person waits for: each stage, and whole searches. The pictures are random, and new
    in every round, because the engine remembers those that it has seen.
    """
    encoder, device = engine.encoder, engine.device
    text, _ = encoder.wording(INSTRUCTION, TEXT)
    present = torch.ones(1, dtype=torch.bool)
    none = torch.zeros(0)
    encoded = engine.encode([Query(text=TEXT, instruction=INSTRUCTION)])

    def draw(count: int, number: int) -> Image.Image:
        rng = np.random.default_rng((options.seed, number))
        small = rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)
        return Image.fromarray(small).resize(SIDES, Image.Resampling.BICUBIC)

    @torch.inference_mode()
    def image_tower(picture: Image.Image) -> None:
        encoder(encoder.preprocess([picture]).to(device), present, none, ~present).image.cpu()

    @torch.inference_mode()
    def text_tower(_: Image.Image) -> None:
        encoder(none, ~present, encoder.tokenize([text]).to(device), present).text.cpu()

    def search(mode: str, _: Image.Image) -> object:
        return engine.retrieve(encoded, SearchOptions(mode=mode))

    def whole(text: str, pictured: bool, picture: Image.Image) -> object:
        unseen = ImageOps.mirror(picture) if text else picture
        asked = Query(text, unseen if pictured else None, INSTRUCTION)
        return engine.search([asked], SearchOptions(trace=True))  # as on the page

    stages: dict[str, Callable[[Image.Image], Any]] = {
        "resize a picture, image tower": image_tower,
        "text tower": text_tower,
        **{f"search, {mode}": partial(search, mode) for mode in MODES},
        "whole query: text": partial(whole, TEXT, False),
        "whole query: picture": partial(whole, "", True),
        "whole query: picture and text": partial(whole, TEXT, True),
    }
    times = measure_in_turns(stages, draw, 1, options.rounds)
    rows: list[list[Cell]] = [[name, median(spent), min(spent)] for name, spent in times.items()]
    columns = [Column("one query"), Column("median", "ms", 1), Column("least", "ms", 1)]
    return [Table("One query", columns, rows, f"Batch 1, {engine.index.n:,} items.")], []
