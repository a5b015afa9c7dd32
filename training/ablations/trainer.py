"""Train what differs between variants, measure it, and keep the results, so that a killed command can resume.

    RUN/ablations/results/KEY-FACTS-seedN.json    what was measured of one training; KEY is a checksum of its settings,
                                                  FACTS of what it was made from and measured on, see `facts_of`
    RUN/ablations/queries/                        features of the test queries
    RUN/ablations/ids-…/                          fusion, quantizer and features of the trainings that run; deleted
                                                  when done

Shapes: n candidates, d embedding dim.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles
from genius.encoding.quantize import quantize_all
from genius.files import remove_folder, write_json
from genius.models.encoder import Features
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from training import decoder, quantizer
from training.ablations.measure import Searcher, first_code_clusters, measure
from training.ablations.query_columns import Column, search_facts
from training.ablations.variants import TrainingJob
from training.checkpoint import fingerprint
from training.decoder import TargetIDs
from training.features import FeatureSet
from training.id_schemes import SCHEMES, SchemeInputs
from training.side_run import share_features

FOLDER, RESULTS, QUERIES = "ablations", "results", "queries"
RESULT_FORM = 2  # of the keys of a result: those of another form are not used
EMBEDDING = "embedding"  # digest of the fusion of trainings that have none
SPLITS = ("train", "val")


class NoFusion(nn.Module):
    """z is the encoder's own embedding, as for the IDs of other retrievers."""

    def __init__(self):
        super().__init__()
        self.device = nn.Parameter(torch.zeros(0), requires_grad=False)

    def forward(self, features: Features) -> Tensor:
        """(b, d), normalized."""
        return features.embedding()


class Trainer:
    """Trains and measures on the features of one run."""

    def __init__(
        self, run: Run, collection: Collection, data: dict[str, FeatureSet], columns: Sequence[Column], device: str
    ):
        """data: by split, of the run."""
        self.run, self.collection, self.data, self.columns, self.device = run, collection, data, columns, device
        self.folder = run.path / FOLDER
        self.facts = facts_of(run, data, columns)

    def result_file(self, job: TrainingJob, seed: int) -> Path:
        return self.folder / RESULTS / result_name(job.key, self.facts, seed)

    def train_all(self, jobs: Iterable[TrainingJob], seeds: int) -> None:
        """Train and measure all that has no result yet; trainings that share IDs come one after the other."""
        wanted = [(seed, job) for seed in range(seeds) for job in jobs if not self.result_file(job, seed).exists()]
        wanted.sort(key=lambda one: (one[0], one[1].ids))
        sides = [self.folder / f"ids-{job.ids}-{fingerprint(self.facts)}-seed{seed}" for seed, job in wanted]
        for left in set(self.folder.glob("ids-*")) - set(sides):  # by a process that was killed
            remove_folder(left)
        for number, (seed, job) in enumerate(wanted):
            print(f"── ablation {number + 1} of {len(wanted)}: {job.key}, seed {seed}", flush=True)
            self._train(job, seed, sides[number])
            if sides[number] not in sides[number + 1 :]:
                remove_folder(sides[number])

    def _train(self, job: TrainingJob, seed: int, path: Path) -> None:
        ids = self._ids(job, seed, path)
        data, val = self._features(path)
        settings = job.settings.decoder
        if job.scheme:
            sizes = self._scheme_sizes(path)
            settings = replace(
                settings, decoder=replace(settings.decoder, levels=len(sizes), sizes=sizes, geometry=False)
            )
        checkpoints = path / "checkpoints" / "decoder"
        if read(path / "decoding.json").get("key") != job.key:  # of another decoder that was killed
            shutil.rmtree(checkpoints, ignore_errors=True)
            write_json(path / "decoding.json", {"key": job.key})
        started = time.perf_counter()
        model, checkpoint = decoder.fit(Run(path), data, val, ids, settings, seed, self.device)
        seconds = time.perf_counter() - started
        modalities = data.candidates.modalities
        searcher = Searcher(model, ids.codes, modalities, data.candidate_files.embedding, self.device)
        fusion = NoFusion() if job.scheme else Fusion.load(Run(path).folder("fusion"))
        with torch.inference_mode():
            vectors = {
                (number, condition): fusion.to(self.device)(features.to(self.device)).cpu()
                for number, column in enumerate(self.columns)
                for condition, features in column.features.items()
                if condition in job.conditions
            }
        result = {
            "key": job.key,
            "facts": self.facts,
            "seed": seed,
            "scheme": job.scheme,
            "code_sizes": list(model.config.code_sizes),
            "parameters": {"decoder": count(model), "fusion": 0 if job.scheme else count(fusion)},
            "decoder_weight": model.config.decoder_weight,
            "first_code": first_code_clusters(ids.codes, modalities, model.config.code_sizes[0]),
            "ids": len(np.unique(ids.codes, axis=0)),
            "items": len(ids.codes),
            "seconds": {"ids": read(path / "made.json")["seconds"], "decoder": seconds},
            "columns": measure(searcher, self.columns, vectors, job.beams),
        }
        self.result_file(job, seed).parent.mkdir(parents=True, exist_ok=True)
        write_json(self.result_file(job, seed), result)
        checkpoint.clear()

    def _ids(self, job: TrainingJob, seed: int, path: Path) -> TargetIDs:
        """The IDs of a training, made where they are not there yet."""
        if not (path / "made.json").exists():
            started = time.perf_counter()
            share_features(self.run, path)
            if job.scheme:
                self._make_scheme(job, seed, path)
            else:
                settings = job.settings.quantizer
                quantizer.fit(Run(path), *self._features(path), None, settings, seed, self.device)
            write_json(path / "made.json", {"seconds": time.perf_counter() - started})
        if job.scheme:
            return TargetIDs(np.load(path / "codes.npy"), None, EMBEDDING, job.ids)
        run, (data, _) = Run(path), self._features(path)
        model = ResidualQuantizer.load(run.folder("quantizer")).to(self.device)
        digest = run.digest("fusion")
        codes = quantize_all(data.candidate_files.fused(digest)[:, 0], data.candidates.modalities, model)
        return TargetIDs(codes, model.cpu(), digest, run.digest("quantizer"))

    def _make_scheme(self, job: TrainingJob, seed: int, path: Path) -> None:
        """Codes of a scheme, and embeddings in the place of fused features."""
        for files in self._files(path).values():
            files.fuse(NoFusion(), EMBEDDING)
        items = list(self.collection.all_candidates())
        data, config = self.data["train"], job.settings.quantizer.quantizer
        known = np.zeros(len(items), dtype=bool)
        known[data.pairs.positives] = True
        made = SCHEMES[job.scheme](
            SchemeInputs(
                data.candidate_files.embedding[:].astype(np.float32),
                [item.text or "" for item in items],
                [item.image for item in items],
                known,
                config.levels,
                config.codebook_size,
                seed,
            )
        )
        np.save(path / "codes.npy", made.codes)
        write_json(path / "sizes.json", {"sizes": list(made.code_sizes)})

    def _scheme_sizes(self, path: Path) -> tuple[int, ...]:
        return tuple(read(path / "sizes.json")["sizes"])

    def _files(self, path: Path) -> dict[str, FeatureFiles]:
        return {name: FeatureFiles(path / "features" / name) for name in (*SPLITS, "candidates")}

    def _features(self, path: Path) -> tuple[FeatureSet, FeatureSet]:
        """The training and validation pairs with the features of a side run."""
        files = self._files(path)
        return tuple(
            FeatureSet(self.data[split].candidates, self.data[split].pairs, files[split], files["candidates"])
            for split in SPLITS
        )


def facts_of(run: Run, data: dict[str, FeatureSet], columns: Sequence[Column]) -> dict[str, str]:
    """Checksums of what every result depends on beside its settings: encoder, candidates, pairs, and test queries.

    Those of the features are of the encoder, the records and the seed that they were made from.
    """
    files = {"candidates": data["train"].candidate_files} | {split: data[split].query_files for split in SPLITS}
    queries = [
        [column.paper, {condition: search_facts(own, column.pools) for condition, own in column.queries.items()}]
        for column in columns
    ]
    return (
        {"encoder": run.digest("encoder"), "form": str(RESULT_FORM)}
        | {name: fingerprint(own.progress["facts"], own.phrasings) for name, own in files.items()}
        | {"queries": fingerprint(queries)}
    )


def result_name(key: str, facts: dict[str, str], seed: int) -> str:
    """Name of the file of a result, by its settings, what it was made from, and its seed."""
    return f"{key}-{fingerprint(facts)}-seed{seed}.json"


def count(model: nn.Module) -> int:
    """Trained numbers."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def read(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is none."""
    return json.loads(file.read_text()) if file.exists() else {}
