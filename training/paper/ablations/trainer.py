"""Train what variants change, search the test queries, and keep the results, so that a killed
command can resume.

RUN/ablations/results/KEY-FACTS-seedN.json    the rates of one training; KEY is a checksum of its
                                              settings, FACTS of what it was trained and measured on
RUN/ablations/work-…/                         fusion, quantizer and fused features that several
                                              trainings share, deleted when all of them are measured
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL.Image import Image
from pydantic import TypeAdapter
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles, batched
from genius.encoding.quantize import quantize_all
from genius.errors import UserError
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.pools import rows_in
from genius.evaluation.queries import QuerySet, read_queries
from genius.evaluation.systems import K
from genius.files import remove_folder, write_text
from genius.metrics.hit_rate import CUTS, first_hits, headline_cut, hit_rate
from genius.models.absent import NoCodewords, NoCodewordsConfig
from genius.models.encoder import Encoder
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.search.dense import flat_search
from genius.search.engine import Engine
from genius.texts import query_text
from training.checkpoint import fingerprint
from training.command_line import Arguments
from training.data.class_pictures import training_collection
from training.data.pairs import CandidateTable
from training.paper.ablations.id_schemes import SCHEMES, Identifiers, SchemeInputs
from training.paper.ablations.variants import (
    BEAM_SIZES,
    BEAMS,
    COUNTERPARTS,
    FIVE,
    FULL,
    Training,
    Variant,
    search_name,
)
from training.settings import Settings, with_values
from training.stage import is_done, records_stamp, run_stage
from training.stages import decoder, encoder, quantizer
from training.stages.block_index import embedding_as_it_is
from training.stages.decoder import TargetIDs
from training.stages.features import FeatureSet, feature_folders, share_features

FOLDER, RESULTS = "ablations", "results"
SPLIT = "test"
SPLITS = ("train", "val")
BATCH = 64
EMBEDDING = "embedding"  # digest of the fusion of trainings that have none
SCOPES = ("global", "local")
SYSTEMS = {False: "beam", True: "beam + re-rank"}

Row = tuple[int, str]  # task and dataset of a column of the paper


@dataclass(frozen=True)
class Result:
    """What was found for a column of the paper."""

    row: Row
    dataset: str  # that stands for it
    # name of the search -> k -> hit rate; None: without queries
    rates: dict[str, dict[int, float | None]]

    def rate(self, search: str, cut: int) -> float:
        """Hit rate at a cut; 0: at the usual one of the dataset."""
        rate = self.rates[search][cut or headline_cut(self.dataset)]
        assert rate is not None
        return rate


RESULTS_TYPE = TypeAdapter(list[Result])


class Trainer:
    """Trains and measures on the features, index and test queries of one run."""

    def __init__(self, run: Run, collection: Collection, base: Settings, limit: int, device: str):
        """base: what the variants change. limit: test queries of each column.

        Raises UserError if items were added to the index after training.
        """
        self.run, self.collection, self.limit, self.device = run, collection, limit, device
        self.base = Variant(FULL, ()).training(base)
        self.engine = Engine.load(run.path, device)
        # perhaps with the classes of the bridge
        self.learned = training_collection(collection.root, base, run)
        self.index = self.engine.index
        self.candidates = CandidateTable.read(self.learned)
        self.data = {
            split: FeatureSet.read(run, self.learned, self.candidates, split, base.seed)
            for split in SPLITS
        }
        self.item_rows = self.candidates.rows(
            [item.id for item in self.index.items(range(self.index.n))]
        )
        if (self.item_rows < 0).any():
            raise UserError(
                f"{run.path} has items that were added after training; build its index again"
            )
        self.columns = counterparts(
            read_queries(collection, self.index, SPLIT, limit=limit, seed=0)
        )
        if not self.columns:
            raise UserError(
                f"{collection.root} has no {SPLIT} queries of the tasks in the paper's tables"
            )
        self.facts = fingerprint(
            [run.digest("encoder"), records_stamp(collection.root)],
            [self.data[split].sources for split in SPLITS],
            [
                repr([row, queries.queries, queries.instructions])
                for row, queries in self.columns.items()
            ],
        )

    def results(self, training: Training, seed: int) -> dict[Row, Result]:
        """What was measured of a training, by column."""
        results = RESULTS_TYPE.validate_json(self._file(training, seed).read_bytes())
        return {result.row: result for result in results}

    def train_all(self, trainings: Iterable[Training], seeds: Sequence[int]) -> None:
        """Train and measure all that has no result yet; trainings that share IDs come one after the
        other.
        """
        missing = [
            (seed, each)
            for seed in seeds
            for each in trainings
            if not self._file(each, seed).exists()
        ]
        missing.sort(key=lambda entry: (entry[0], entry[1].ids))
        folder = self.run.path / FOLDER
        works = [
            folder / f"work-{training.ids}-{self.facts}-seed{seed}" for seed, training in missing
        ]
        for leftover in set(folder.glob("work-*")) - set(works):  # of a process that was killed
            remove_folder(leftover)
        for number, ((seed, training), work) in enumerate(zip(missing, works, strict=True)):
            print(
                f"── ablation {number + 1} of {len(missing)}: {training.key}, seed {seed}",
                flush=True,
            )
            measure = self._measure_encoder if training.encoder else self._measure_decoder
            results = measure(training, seed, work)
            (folder / RESULTS).mkdir(parents=True, exist_ok=True)
            write_text(self._file(training, seed), RESULTS_TYPE.dump_json(results).decode())
            if work not in works[number + 1 :]:
                remove_folder(work)

    def _file(self, training: Training, seed: int) -> Path:
        return self.run.path / FOLDER / RESULTS / f"{training.key}-{self.facts}-seed{seed}.json"

    def _measure_decoder(self, training: Training, seed: int, work: Path) -> list[Result]:
        """Train IDs, if no other variant has, and a decoder of them; search, as the base with every
        beam size.
        """
        ids, code_sizes = self._make_ids(training, seed, work)
        settings = training.settings.decoder
        if training.scheme:
            settings = with_values(
                settings, {"decoder": {"levels": len(code_sizes), "sizes": code_sizes}}
            )
        data, val = self._features(work)
        model, _ = decoder.fit(
            Run(work / training.key), data, val, ids, settings, seed, self.device
        )
        if training.scheme:  # z is the encoder's own embedding, as for the IDs of other retrievers
            fusion = embedding_as_it_is(self.engine.encoder.dim)
        else:
            fusion = Fusion.load(Run(work).folder("fusion"))
        index = self.index.with_ids(ids.codes[self.item_rows], code_sizes)
        of_ids = ids.quantizer or NoCodewords(NoCodewordsConfig(index.config.dim, code_sizes))
        engine = Engine(self.engine.encoder, fusion, of_ids, model, index, self.device)
        columns = {
            column.row: self.columns[column.row] for column in FIVE if column.row in self.columns
        }
        rows = tuple(f"{queries.row.task}:{queries.row.dataset}" for queries in columns.values())
        sizes = BEAM_SIZES if training.key == self.base.key else (BEAMS,)
        options = EvaluationOptions(
            SPLIT,
            sizes,
            self.limit,
            systems=tuple(SYSTEMS.values()),
            details=False,
            rows=rows,
            items=SPLIT,
        )
        evaluation = evaluate(engine, self.collection, options)
        results = []
        for row, queries in columns.items():
            rates = {}
            for beams, scope in itertools.product(options.beams, SCOPES):
                figures = evaluation.pool(scope, SPLIT, beams).row(
                    queries.row.task, queries.row.dataset
                )
                for reranked, system in SYSTEMS.items():
                    hits = {cut: figures.figure(system, f"hit@{cut}") for cut in CUTS}
                    rates[search_name(scope, beams, reranked)] = hits
            results.append(Result(row, queries.row.dataset, rates))
        remove_folder(work / training.key)
        return results

    def _make_ids(
        self, training: Training, seed: int, work: Path
    ) -> tuple[TargetIDs, tuple[int, ...]]:
        """The IDs of all candidates, trained or made where they are not there yet, and the codes of
        each level.
        """
        made = work / "made.txt"
        if not made.exists():
            share_features(self.run, work)
            if training.scheme:  # embeddings in the place of fused features
                for folder in feature_folders(Run(work)):
                    FeatureFiles(folder).fuse(
                        embedding_as_it_is(self.engine.encoder.dim), EMBEDDING
                    )
            else:
                data, val = self._features(work)
                quantizer.fit(Run(work), data, val, training.settings.quantizer, seed, self.device)
            write_text(made, training.ids)
        if training.scheme:
            codes, code_sizes = self._scheme(training, seed)
            return TargetIDs(codes, None, EMBEDDING, training.ids), code_sizes
        run = Run(work)
        model = ResidualQuantizer.load(run.folder("quantizer")).to(self.device)
        fusion = run.digest("fusion")
        fused = self._features(work)[0].candidate_files.fused(fusion)[:, 0]
        codes = quantize_all(fused, self.candidates.modalities, model)
        return TargetIDs(
            codes, model.cpu(), fusion, run.digest("quantizer")
        ), model.config.code_sizes

    def _scheme(self, training: Training, seed: int) -> Identifiers:
        items = list(self.learned.all_candidates())
        config = training.settings.quantizer.quantizer
        known = np.zeros(len(items), dtype=bool)
        known[self.data["train"].pairs.positives] = True
        embeddings = self.data["train"].candidate_files.embedding[:].astype(np.float32)
        inputs = SchemeInputs(embeddings, items, known, config.levels, config.codebook_size, seed)
        return SCHEMES[training.scheme](inputs)

    def _features(self, work: Path) -> list[FeatureSet]:
        """The training and validation pairs with the features of a side run."""
        files = {name: FeatureFiles(work / "features" / name) for name in (*SPLITS, "candidates")}
        return [
            FeatureSet(self.candidates, self.data[split].pairs, files[split], files["candidates"])
            for split in SPLITS
        ]

    def _measure_encoder(self, training: Training, seed: int, work: Path) -> list[Result]:
        """Train an encoder and search exactly; embeddings stay in memory."""
        settings = replace(training.settings, seed=seed)
        arguments = Arguments(self.collection.root, work, "", settings, self.device)
        if not is_done("encoder", arguments):
            run_stage("encoder", encoder.train, arguments)
        load = FeatureFusionEncoder.load if settings.encoder.fusion == "feature" else Encoder.load
        model = load(Run(work).folder("encoder")).to(self.device)

        def embedded(images: Sequence[Image | None], texts: Sequence[str]) -> np.ndarray:
            return model.embed(images, texts).float().cpu().numpy()

        parts, results = [], []
        for rows in batched(tqdm(range(self.index.n), desc="embed candidates", unit="item"), BATCH):
            items = self.index.items(rows)
            images = [
                open_image(self.collection.image_path(item.image)) if item.image else None
                for item in items
            ]
            parts.append(embedded(images, [item.text for item in items]).astype(np.float16))
        embeddings = np.concatenate(parts)
        whole = rows_in(self.index, self.collection.candidates(f"union_{SPLIT}"))
        for row, queries in self.columns.items():
            asked = [
                embedded(
                    [query.image if isinstance(query.image, Image) else None for query in batch],
                    [query_text(query.instruction, query.text) for query in batch],
                )
                for batch in queries.opened(self.collection, BATCH)
            ]
            local = np.intersect1d(
                whole, rows_in(self.index, self.collection.local_pool(queries.row))
            )
            rates = {}
            for scope, pool in zip(SCOPES, (whole, local), strict=True):
                ranks = first_hits(
                    flat_search(embeddings, np.concatenate(asked), K, pool)[1], queries.qrels
                )
                rates[search_name(scope, 0, False)] = {cut: hit_rate(ranks, cut) for cut in CUTS}
            results.append(Result(row, queries.row.dataset, rates))
        return results


def counterparts(sets: Iterable[QuerySet]) -> dict[Row, QuerySet]:
    """The paper's column -> the queries of the row of the collection that stands for it.

    It is that of the same dataset, whose name ends with the paper's, else the first of the same
    task that stands for no other column. Columns without one are left out.
    """
    free = list(sets)
    chosen = {}
    for task, dataset in COUNTERPARTS:
        of_task = [queries for queries in free if queries.row.task == task]
        if of_task:
            chosen[task, dataset] = min(
                of_task, key=lambda queries: not queries.row.dataset.endswith(dataset)
            )
            free = [queries for queries in free if queries is not chosen[task, dataset]]
    return chosen
