"""Settings that train every stage in seconds, and ways to end a training early."""

from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import Tensor

from genius.collections.mbeir import Collection
from genius.models.decoder import DecoderConfig
from genius.run import Run
from tests.search.tiny import tiny_encoder
from training.checkpoint import Checkpoints
from training.command_line import Arguments
from training.presets import SMALL
from training.settings import Settings, with_values
from training.stage import STAGES, run_stage
from training.stages import maps

DIM, LEVELS, CODES = 12, 4, 5

SIZES = {"dim": DIM, "levels": LEVELS, "codebook_size": CODES}
SHORT = {"epochs": 2, "batch": 16, "upsample_to": 0}
TINY: Settings = with_values(
    SMALL,
    {
        "encoder": {
            "architecture": tiny_encoder().config.model,
            **SHORT,
            "batch": 8,
            "group": 4,
            "modality_weight": 0.5,
            "instruction_swap_prob": 0.1,
        },
        "features": {"phrasings": 2, "batch": 8},
        "quantizer": {
            **SHORT,
            "kmeans_vectors": 100,
            "fusion": {"dim": DIM, "branch": 16, "hidden": 24},
            "quantizer": {**SIZES, "restart_ratio": 0.5},
        },
        "decoder": {
            **SHORT,
            "warmup_steps": 2,
            "decoder": {
                **SIZES,
                "width": 16,
                "layers": 1,
                "heads": 2,
                "head_width": 8,
                "ff_width": 24,
                "prefix": 2,
                "embedding_scale": 4.0,
                "dropout": DecoderConfig.dropout,
            },
        },
    },
)


def tiny(**changes) -> Settings:
    """TINY with changes of its stages, each a dictionary."""
    return with_values(TINY, changes)


def arguments(collection: Collection | Path, run: Path, settings: Settings = TINY) -> Arguments:
    root = collection.root if isinstance(collection, Collection) else collection
    return Arguments(root, run, "small", settings, "cpu")


def weights_of(run: Run | Path, part: str) -> dict[str, Tensor]:
    folder = (run if isinstance(run, Run) else Run(run)).folder(part)
    return load_file(folder / "model.safetensors")


def train_stage(
    name: str, collection: Collection | Path, run: Path, settings: Settings = TINY
) -> Run:
    """Train one stage of a run, which has those before it."""
    run_stage(name, STAGES[name].train, arguments(collection, run, settings))
    return Run(run)


def lay_out_by_principal_components(patch: pytest.MonkeyPatch) -> None:
    """Treat all vectors of maps as the few that are laid out without UMAP, which compiles itself
    for many seconds.
    """
    patch.setattr(maps, "MIN_VECTORS", 1_000_000)


def other_texts(root: Path) -> None:
    """Change the texts of all candidates of a collection."""
    for file in (root / "cand_pool").rglob("*.jsonl"):
        file.write_text(file.read_text(encoding="utf-8").replace('"txt": "', '"txt": "another '))


class Killed(BaseException):
    pass


def die(*_, **__) -> None:
    raise Killed


def killed_while(monkeypatch, stage: str, moment: str) -> None:
    """Let this stage die at this moment."""
    owner, name = {
        "before an epoch is saved": (Checkpoints, "save"),
        "after an epoch": (Checkpoints, "save"),
        "before it is published": (Run, "publish"),
        "before it is recorded": (Checkpoints, "clear"),
    }[moment]
    real = getattr(owner, name)

    def call(self, *given, **named):
        concerned = given[0] == STAGES[stage].parts[0] if owner is Run else self.stage == stage
        if concerned and moment != "after an epoch":
            raise Killed
        result = real(self, *given, **named)
        if concerned:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, call)
