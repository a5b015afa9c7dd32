"""Train what variants change, search the test queries, and keep the results, so that a killed command can resume.

    RUN/ablations/results/KEY-FACTS-seedN.json    the ranks of one training; KEY is a checksum of its settings, FACTS of
                                                  what it was trained and measured on
    RUN/ablations/work-…/                         what several trainings share: fusion, quantizer and fused features;
                                                  deleted when all of them are measured

Shapes: n items of the index, q queries of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from pydantic import TypeAdapter
from torch import nn
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles, batched
from genius.encoding.quantize import quantize_all
from genius.errors import UserError
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.pools import read_pools
from genius.evaluation.queries import QuerySet, read_queries
from genius.evaluation.systems import K
from genius.files import remove_folder, write_text
from genius.metrics.hit_rate import CUTS, first_hits, headline_cut, hit_rate
from genius.models.encoder import Encoder, Features
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.search.dense import flat_search
from genius.search.engine import Engine
from genius.texts import query_text
from training import decoder, encoder, quantizer
from training.ablations.id_schemes import SCHEMES, SchemeInputs
from training.ablations.variants import COUNTERPARTS, Job, Search, Training
from training.checkpoint import fingerprint
from training.command_line import Arguments
from training.decoder import TargetIDs
from training.features import FeatureSet, share_features
from training.pairs import CandidateTable
from training.stage import is_done, recorded_settings, records_stamp, run_stage

FOLDER, RESULTS, SCHEME = "ablations", "results", "scheme.npz"
SPLIT, SPLITS, BATCH = "test", ("train", "val"), 64
EMBEDDING = "embedding"  # digest of the fusion of trainings that have none
SYSTEMS = {False: "beam", True: "beam + re-rank"}

Row = tuple[int, str]  # task and dataset of a column of the paper


class NoFusion(nn.Module):
    """z is the encoder's own embedding, as for the IDs of other retrievers."""

    def __init__(self):
        super().__init__()
        self.device = nn.Parameter(torch.zeros(0), requires_grad=False)

    def forward(self, features: Features) -> torch.Tensor:
        """(b, d), normalized."""
        return features.embedding()


@dataclass(frozen=True)
class Result:
    """What was found for a column of the paper."""

    row: Row
    dataset: str  # that stands for it
    queries: int
    rates: dict[str, dict[int, float]]  # name of the search -> k -> hit rate

    def rate(self, search: Search, cut: int) -> float:
        """Hit rate at a cut; 0: at the usual one of the dataset."""
        return self.rates[search.name][cut or headline_cut(self.dataset)]


RESULTS_TYPE = TypeAdapter(list[Result])


class Trainer:
    """Trains and measures on the features, index and test queries of one run."""

    def __init__(self, run: Run, collection: Collection, limit: int, device: str):
        """limit: test queries of each column. Raises UserError if items were added to the index after training."""
        self.run, self.collection, self.limit, self.device = run, collection, limit, device
        self.settings, self.engine = recorded_settings(run), Engine.load(run.path, device)
        self.index, self.candidates = self.engine.index, CandidateTable.read(collection)
        self.data = {
            split: FeatureSet.read(run, collection, self.candidates, split, self.settings.seed) for split in SPLITS
        }
        self.item_rows = self.candidates.rows([item.id for item in self.index.items(range(self.index.n))])
        if (self.item_rows < 0).any():
            raise UserError(f"{run.path} has items that were added after training; build its index again")
        sets = read_queries(collection, self.index, SPLIT, limit=limit, seed=0, phrasing="seeded")
        self.columns = counterparts(sets)
        if not self.columns:
            raise UserError(f"{collection.root} has no {SPLIT} queries of the tasks in the paper's tables")
        self.facts = fingerprint(
            [run.digest("encoder"), records_stamp(collection.root)],
            [self.data[split].sources for split in SPLITS],
            [repr([row, queries.queries, queries.instructions]) for row, queries in self.columns.items()],
        )

    def results(self, job: Job, seed: int) -> list[Result]:
        """What was measured of a training, by column."""
        return RESULTS_TYPE.validate_json(self._file(job, seed).read_bytes())

    def train_all(self, jobs: Iterable[Job], seeds: Sequence[int]) -> None:
        """Train and measure all that has no result yet; trainings that share IDs come one after the other."""
        missing = [(seed, job) for seed in seeds for job in jobs if not self._file(job, seed).exists()]
        missing.sort(key=lambda entry: (entry[0], entry[1].training.ids))
        folder = self.run.path / FOLDER
        works = [folder / f"work-{job.training.ids}-{self.facts}-seed{seed}" for seed, job in missing]
        for leftover in set(folder.glob("work-*")) - set(works):  # of a process that was killed
            remove_folder(leftover)
        for number, ((seed, job), work) in enumerate(zip(missing, works, strict=True)):
            print(f"── ablation {number + 1} of {len(missing)}: {job.training.key}, seed {seed}", flush=True)
            measure = self._measure_encoder if job.training.encoder else self._measure_decoder
            results = measure(job, seed, work)
            (folder / RESULTS).mkdir(parents=True, exist_ok=True)
            write_text(self._file(job, seed), RESULTS_TYPE.dump_json(results).decode())
            if work not in works[number + 1 :]:
                remove_folder(work)

    def _file(self, job: Job, seed: int) -> Path:
        return self.run.path / FOLDER / RESULTS / f"{job.training.key}-{self.facts}-seed{seed}.json"

    def _measure_decoder(self, job: Job, seed: int, work: Path) -> list[Result]:
        """Train IDs, if no other variant has, and a decoder of them; then search."""
        training, settings = job.training, job.training.settings.decoder
        ids, code_sizes = self._make_ids(training, seed, work)
        if training.scheme:
            settings = replace(settings, decoder=replace(settings.decoder, levels=len(code_sizes), sizes=code_sizes))
        data, val = self._features(work)
        model, _ = decoder.fit(Run(work / training.key), data, val, ids, settings, seed, self.device)
        fusion = NoFusion() if training.scheme else Fusion.load(Run(work).folder("fusion"))
        index = self.index.with_ids(ids.codes[self.item_rows], code_sizes)
        engine = Engine(self.engine.encoder, fusion, nn.Identity(), model, index, self.device)
        columns = self._columns_of(job)
        options = EvaluationOptions(
            SPLIT,
            tuple(sorted({search.beams for search in job.searches})),
            self.limit,
            systems=tuple(SYSTEMS.values()),
            details=False,
            rows=tuple(f"{queries.row.task}:{queries.row.dataset}" for queries in columns.values()),
            items=SPLIT,
        )
        found, results = evaluate(engine, self.collection, options), []
        for row, queries in columns.items():
            rates = {}
            for search in job.searches:
                figures = found.pool(search.scope, SPLIT, search.beams).row(queries.row.task, queries.row.dataset)
                rates[search.name] = figures.systems[SYSTEMS[search.reranked]].hit
            results.append(Result(row, queries.row.dataset, len(queries), rates))
        remove_folder(work / training.key)
        return results

    def _make_ids(self, training: Training, seed: int, work: Path) -> tuple[TargetIDs, tuple[int, ...]]:
        """The IDs of all candidates, trained or made where they are not there yet, and the codes of each level."""
        made = work / "made.txt"
        if not made.exists():
            share_features(self.run, work)
            if training.scheme:
                self._make_scheme(training, seed, work)
            else:
                data, val = self._features(work)
                quantizer.fit(Run(work), data, val, training.settings.quantizer, seed, self.device)
            write_text(made, training.ids)
        if training.scheme:
            scheme = np.load(work / SCHEME)
            return TargetIDs(scheme["codes"], None, EMBEDDING, training.ids), tuple(scheme["sizes"].tolist())
        run = Run(work)
        model, fusion = ResidualQuantizer.load(run.folder("quantizer")).to(self.device), run.digest("fusion")
        fused = self._files(work)["candidates"].fused(fusion)[:, 0]
        codes = quantize_all(fused, self.candidates.modalities, model)
        return TargetIDs(codes, model.cpu(), fusion, run.digest("quantizer")), model.config.code_sizes

    def _make_scheme(self, training: Training, seed: int, work: Path) -> None:
        """Codes of a scheme, and embeddings in the place of fused features."""
        files = self._files(work)
        for of_part in files.values():
            of_part.fuse(NoFusion(), EMBEDDING)
        items, config = list(self.collection.all_candidates()), training.settings.quantizer.quantizer
        known = np.zeros(len(items), dtype=bool)
        known[self.data["train"].pairs.positives] = True
        inputs = SchemeInputs(
            files["candidates"].embedding[:].astype(np.float32),
            [item.text or "" for item in items],
            [item.image for item in items],
            known,
            config.levels,
            config.codebook_size,
            seed,
        )
        made = SCHEMES[training.scheme](inputs)
        np.savez(work / SCHEME, codes=made.codes, sizes=made.code_sizes)

    def _files(self, work: Path) -> dict[str, FeatureFiles]:
        return {name: FeatureFiles(work / "features" / name) for name in (*SPLITS, "candidates")}

    def _features(self, work: Path) -> list[FeatureSet]:
        """The training and validation pairs with the features of a side run."""
        files = self._files(work)
        return [
            FeatureSet(self.candidates, self.data[split].pairs, files[split], files["candidates"]) for split in SPLITS
        ]

    def _measure_encoder(self, job: Job, seed: int, work: Path) -> list[Result]:
        """Train an encoder and search exactly; embeddings stay in memory."""
        settings = replace(job.training.settings, seed=seed)
        arguments = Arguments(self.collection.root, work, "", settings, self.device)
        if not is_done("encoder", arguments):
            run_stage("encoder", encoder.train, arguments)
        load = FeatureFusionEncoder.load if settings.encoder.fusion == "feature" else Encoder.load
        model, parts = load(Run(work).folder("encoder")).to(self.device), []
        for rows in batched(tqdm(range(self.index.n), desc="embed candidates", unit="item"), BATCH):
            items = self.index.items(rows)
            images = [open_image(self.collection.image_path(item.image)) if item.image else None for item in items]
            parts.append(model.embed(images, [item.text for item in items]).half().cpu().numpy())
        embeddings, columns = np.concatenate(parts), self._columns_of(job)
        pools = read_pools(self.collection, self.index, [queries.row for queries in columns.values()], SPLIT, SPLIT)
        pools_of = {
            (number, kind.scope): pool.rows
            for pool in pools.shared
            for number, kinds in pool.uses.items()
            for kind in kinds
        }
        results = []
        for number, (row, queries) in enumerate(columns.items()):
            batches = [
                model.embed(
                    [query.image for query in batch], [query_text(query.instruction, query.text) for query in batch]
                )
                for batch in queries.opened(self.collection, BATCH)
            ]
            asked, rates = torch.cat(batches).float().cpu().numpy(), {}
            for search in job.searches:
                found = flat_search(embeddings, asked, K, pools_of[number, search.scope])[1]
                ranks = first_hits(found, queries.qrels)
                rates[search.name] = {cut: hit_rate(ranks, cut) for cut in CUTS}
            results.append(Result(row, queries.row.dataset, len(queries), rates))
        return results

    def _columns_of(self, job: Job) -> dict[Row, QuerySet]:
        return {row: queries for row, queries in self.columns.items() if row in job.rows}


def counterparts(sets: Sequence[QuerySet]) -> dict[Row, QuerySet]:
    """The paper's column -> the queries of the row of the collection that stands for it.

    It is that of the same dataset, whose name ends with the paper's, else the first of the same task that stands for no
    other column. Columns without one are left out.
    """
    chosen: dict[Row, int] = {}
    for by_name in (True, False):
        for task, dataset in COUNTERPARTS:
            for number, queries in enumerate(sets):
                fits = queries.row.task == task and (queries.row.dataset.endswith(dataset) or not by_name)
                if fits and (task, dataset) not in chosen and number not in chosen.values():
                    chosen[task, dataset] = number
    return {row: sets[chosen[row]] for row in COUNTERPARTS if row in chosen}
