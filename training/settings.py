"""The settings of every stage; the defaults are those of the published code, the presets are in presets.py.

A setting is changed from the command line with --set STAGE.NAME=VALUE. Settings marked "ours" are in neither the
published code nor the paper; they are off in the presets `paper` and `paper-text`.
"""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from genius.errors import UserError
from genius.models.decoder import DecoderConfig
from genius.models.fusion import FusionConfig
from genius.models.quantizer import QuantizerConfig

AUGMENTATIONS = ("elementwise", "scalar", "none")  # Eq. 11 as in the code, as in the paper, and without it
RESIZE_MODES = ("shortest", "longest", "squash")
HEADS = ("mlp", "linear", "residual")
FUSIONS = ("score", "feature")
# the training queries of the published mbeir_union_up_train.jsonl, which all three trainings read
MBEIR_UPSAMPLING = {"webqa": 100_000, "edis": 50_000, "nights": 50_000, "fashioniq": 50_000, "cirr": 50_000}

Upsampling = int | dict[str, int]  # see Pairs.epoch: queries of each row, or of the datasets that are named


@dataclass(frozen=True)
class TowerSettings:
    """How image_tower and text_tower become one encoder, see Encoder.from_towers (ours)."""

    dim: int = 256  # of the embeddings
    image_size: int = 224  # side of the images, pixels
    head: str = "mlp"  # behind each tower: mlp, linear or residual
    hidden: int = 1024  # units of a residual head
    image_dropout: float = 0.0  # in the image head
    text_dropout: float = 0.0  # in a residual text head
    resize_mode: str = "shortest"  # how an image becomes a square: shortest, longest or squash
    bridge: bool = False  # keep what the image tower's classifier knows, see class_bridge.py
    bridge_temperature: float = 1.0  # of the classifier's softmax
    bridge_cut: float = 0.0  # smaller probabilities do not count

    def __post_init__(self):
        expect(self.head in HEADS, f"head is one of {', '.join(HEADS)}, not {self.head!r}")
        expect(self.resize_mode in RESIZE_MODES, f"resize_mode is one of {', '.join(RESIZE_MODES)}")
        expect(min(self.dim, self.image_size, self.hidden) >= 1, "dim, image_size and hidden are at least 1")
        expect(0 <= self.image_dropout < 1, "image_dropout is a probability below 1")
        expect(0 <= self.text_dropout < 1, "text_dropout is a probability below 1")
        expect(not self.text_dropout or self.head == "residual", "text_dropout is 0 where head is not residual")
        expect(self.bridge_temperature > 0, "bridge_temperature is above 0")
        expect(0 <= self.bridge_cut < 1, "bridge_cut is a probability below 1")


@dataclass(frozen=True)
class LockedSettings:
    """Locked-tower training (ours; LiT, Zhai et al. 2022): only the heads behind the pretrained towers are trained.

    Epochs, batch, learning rate, weight decay and loss of the heads are the encoder's settings of these names. Swapped
    instructions are drawn once for each phrasing of a query, before training.
    """

    enabled: bool = False
    views: int = 4  # of each image: the image itself and random crops, by encoder.min_crop and horizontal_flip
    phrasings: int = 4  # instruction phrasings with which each query is encoded
    input_dropout: float = 0.0  # of tower outputs
    class_pictures: int = 0  # pseudo-pictures of each class of the bridge, one for validation; see class_pictures.py

    def __post_init__(self):
        expect(self.views >= 1 and self.phrasings >= 1, "views and phrasings are at least 1")
        expect(self.class_pictures in (0, *range(2, 101)), "class_pictures is 0, or at least 2 and at most 100")
        expect(0 <= self.input_dropout < 1, "input_dropout is a probability below 1")


@dataclass(frozen=True)
class EncoderSettings:
    """Contrastive training of CLIP-SF (Eq. 2). With 0 epochs the pretrained weights are used unchanged."""

    architecture: str | dict[str, Any] = "ViT-L-14-quickgelu"  # an open_clip name or model configuration, or BLIP's
    fusion: str = "score"  # feature: one embedding of image and text, for dense search alone, see feature_fusion.py
    pretrained: str = "openai"  # open_clip tag, checkpoint file, or encoder folder of a run; empty: random weights
    epochs: int = 20
    batch: int = 420  # pairs: the published 105 on each of four GPUs
    group: int = 1  # queries of one (task, dataset) row that are drawn together: harder negatives (ours)
    upsample_to: Upsampling = field(default_factory=MBEIR_UPSAMPLING.copy)
    rows: tuple[str, ...] = ()  # trained on these benchmark rows alone, TASK:DATASET or DATASET; empty: all
    drop_last: bool = True  # the last batch of an epoch is dropped if it is smaller
    learning_rate: float = 1e-5
    weight_decay: float = 0.2
    warmup: float = 0.0  # share of all steps
    clip_grad_norm: float = 0.0  # 0: gradients are not clipped
    max_logit_scale: float = 0.0  # upper limit of the learned 1/τ; 0: no limit
    average: float = 0.0  # decay of the running average of the weights that is kept; 0: the last weights are (ours)
    symmetric_loss: bool = False  # also candidate -> query, as in CLIP
    mask_positives: bool = False  # other positives in a batch are not negatives (ours)
    augment: bool = False  # random crops and brightness, and the next two (ours)
    min_crop: float = 0.55  # smallest share of the area that a crop keeps
    horizontal_flip: bool = True  # false where left and right have a meaning
    cache_images: bool = True  # decoded images are kept on disk while training; else they are opened each time
    half: bool = False  # weights are stored, and used from then on, in half precision (ours)
    eight_bit: bool = False  # large matrices are stored, and used from then on, in 8 bits, the rest as with half (ours)
    bf16: bool = True  # mixed precision, on devices with instructions for it
    grad_checkpointing: bool = False  # activations are computed again for gradients, not kept: less memory (ours)
    modality_weight: float = 0.0  # of the loss of classifying the target's modality, see instruction_swaps.py (ours)
    instruction_swap_prob: float = 0.0  # probability that a query gets another row's instruction (ours)
    image_tower: str = ""  # pretrained timm model, package or file (ours), with text_tower; empty: an open_clip model
    text_tower: str = ""  # pretrained Hugging Face model, package or folder (ours)
    towers: TowerSettings = field(default_factory=TowerSettings)
    locked: LockedSettings = field(default_factory=LockedSettings)

    def __post_init__(self):
        expect(self.epochs >= 0, "epochs is at least 0")
        expect(self.fusion in FUSIONS, f"fusion is one of {', '.join(FUSIONS)}, not {self.fusion!r}")
        expect(not self.locked.enabled or self.fusion == "score", "locked.enabled is false where fusion is feature")
        expect(
            not (self.locked.enabled and self.grad_checkpointing),
            "grad_checkpointing is false where locked.enabled is true",
        )
        expect(self.batch >= 2 and self.group >= 1, "batch is at least 2 and group at least 1")
        expect(self.learning_rate > 0, "learning_rate is above 0")
        expect(self.weight_decay >= 0, "weight_decay is at least 0")
        expect(0 <= self.warmup <= 1, "warmup is between 0 and 1")
        expect(0 <= self.average < 1, "average is at least 0 and below 1")
        expect(0 < self.min_crop <= 1, "min_crop is above 0 and at most 1")
        expect(min(self.clip_grad_norm, self.max_logit_scale) >= 0, "clip_grad_norm and max_logit_scale are at least 0")
        expect(self.modality_weight >= 0, "modality_weight is at least 0")
        expect(0 <= self.instruction_swap_prob < 1, "instruction_swap_prob is a probability below 1")
        expect(
            self.modality_weight > 0 or not self.instruction_swap_prob,
            "modality_weight is above 0 where instruction_swap_prob is",
        )


@dataclass(frozen=True)
class FeatureSettings:
    phrasings: int = 1  # instruction phrasings that are encoded for each training query
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
    upsample_to: Upsampling = field(default_factory=MBEIR_UPSAMPLING.copy)
    rows: tuple[str, ...] = ()  # trained on these benchmark rows alone, see EncoderSettings; empty: all (ours)
    drop_last: bool = True  # the last batch of an epoch is dropped if it is smaller
    learning_rate: float = 1e-4
    temperature: float = 0.01
    contrastive_weight: float = 0.25  # 1 on four GPUs whose gathered features get a quarter of the gradient
    rq_weight: float = 100.0  # β
    mse_weight: float = 100.0  # γ
    rq_sum: bool = False  # Eq. 7 sums over levels and elements; the code averages
    mse_raw: bool = False  # the paper compares quantized vectors as they are; the code normalizes them first
    symmetric_loss: bool = True  # Eq. 3 is one-way; the code is symmetric
    mask_positives: bool = False  # other positives in a batch are not negatives (ours)
    keep_best: bool = False  # keep the epoch that is best on validation instead of the last (ours)
    patience: int = 0  # with keep_best: stop after so many epochs that are no better than the best; 0: never (ours)
    kmeans_vectors: int = 16_000  # for the codebooks' start: queries and targets of the published first batch
    kmeans_iterations: int = 1000
    half: bool = False  # weights are stored, and used from then on, in half precision (ours)

    def __post_init__(self):
        expect(self.epochs >= 1 and self.batch >= 2, "epochs is at least 1 and batch at least 2")
        check_patience(self)
        expect(self.learning_rate > 0, "learning_rate is above 0")
        expect(self.temperature > 0, "temperature is above 0")
        expect(
            min(self.contrastive_weight, self.rq_weight, self.mse_weight) >= 0,
            "contrastive_weight, rq_weight and mse_weight are at least 0",
        )
        expect(
            self.kmeans_vectors >= 2 and self.kmeans_iterations >= 1,
            "kmeans_vectors is at least 2 and kmeans_iterations at least 1",
        )


@dataclass(frozen=True)
class DecoderSettings:
    """Cross-entropy over IDs (Eq. 10) with query augmentation (Eq. 11)."""

    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    epochs: int = 31
    batch: int = 1024  # pairs: the published 256 on each of four GPUs
    upsample_to: Upsampling = field(default_factory=MBEIR_UPSAMPLING.copy)
    rows: tuple[str, ...] = ()  # trained on these benchmark rows alone, see EncoderSettings; empty: all (ours)
    drop_last: bool = True  # the last batch of an epoch is dropped if it is smaller
    learning_rate: float = 1e-4
    decay_all: bool = False  # weight decay also of norms, biases and the relative attention bias (ours)
    warmup_steps: int = 500  # half of all steps at most
    warmup_from_zero: bool = True  # the first step has learning rate 0, as published; else 1/warmup_steps of the peak
    augmentation: str = "elementwise"  # one of AUGMENTATIONS
    self_queries: bool = False  # every candidate is also its own query, unmixed (ours)
    keep_best: bool = False  # keep the epoch that is best on validation instead of the last (ours)
    patience: int = 0  # with keep_best: stop after so many epochs that are no better than the best; 0: never (ours)
    decoder_weights: tuple[float, ...] = (1.0,)  # decoder against geometry: the best on validation is kept (ours)
    half: bool = False  # weights are stored, and used from then on, in half precision (ours)
    bf16: bool = True  # mixed precision, on devices with instructions for it

    def __post_init__(self):
        expect(self.epochs >= 1 and self.batch >= 2, "epochs is at least 1 and batch at least 2")
        check_patience(self)
        expect(self.learning_rate > 0, "learning_rate is above 0")
        expect(self.warmup_steps >= 0, "warmup_steps is at least 0")
        expect(
            bool(self.decoder_weights) and all(0 <= weight <= 1 for weight in self.decoder_weights),
            "decoder_weights holds at least one weight, each between 0 and 1",
        )
        expect(
            self.augmentation in AUGMENTATIONS,
            f"augmentation is one of {', '.join(AUGMENTATIONS)}, not {self.augmentation!r}",
        )


@dataclass(frozen=True)
class IndexSettings:
    """What the index contains and shows."""

    pool: str = ""  # index this candidate pool only, such as union_test; empty: every candidate
    thumbnail_side: int = 192  # the longer side, pixels

    def __post_init__(self):
        expect(self.thumbnail_side >= 1, "thumbnail_side is at least 1")


@dataclass(frozen=True)
class Settings:
    """The settings of one training, and the type of a preset."""

    encoder: EncoderSettings
    features: FeatureSettings
    quantizer: QuantizerSettings
    decoder: DecoderSettings
    index: IndexSettings = field(default_factory=IndexSettings)
    seed: int = 0

    def check(self) -> None:
        """Raises ValueError if the settings of different stages do not fit each other."""
        quantizer, decoder = self.quantizer.quantizer, self.decoder.decoder
        expect(
            self.quantizer.fusion.dim == quantizer.dim == decoder.dim,
            "quantizer.fusion.dim, quantizer.quantizer.dim and decoder.decoder.dim are equal",
        )
        expect(
            quantizer.code_sizes == decoder.code_sizes,
            "levels and codebook_size of quantizer.quantizer and decoder.decoder are equal",
        )
        expect(quantizer.levels >= 2, "levels is at least 2: the modality, or first cluster, and one of meaning")
        expect(self.seed >= 0, "the seed is at least 0")


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(f"expected that {sentence}")


def check_patience(settings: QuantizerSettings | DecoderSettings) -> None:
    expect(settings.patience >= 0, "patience is at least 0")
    expect(settings.keep_best or not settings.patience, "keep_best is true where patience is above 0")


def with_changes(settings: Settings, changes: Iterable[str]) -> Settings:
    """Apply changes of the form `stage.name=value`, in any order. Raises UserError if the result is inconsistent."""
    settings = with_stage_changes(settings, *changes)
    try:
        settings.check()
    except ValueError as error:
        raise UserError(f"the settings do not fit each other: {error}") from None
    return settings


def with_stage_changes(settings: Settings, *changes: str) -> Settings:
    """Apply changes, `stage.name=value` or deeper: `decoder.decoder.layers=2`, together.

    Each stage is checked with all of its changes; the stages need not fit each other. Of two values of one setting the
    last one holds.
    """
    values: dict[str, Any] = {}  # by name, those of a stage in a dictionary of their own
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            raise UserError(f"--set {change}: expected STAGE.NAME=VALUE, e.g. encoder.epochs=3")
        owner, place, names = settings, values, path.split(".")
        for depth, name in enumerate(names, 1):
            types = get_type_hints(type(owner))
            if name not in types:
                raise UserError(f"--set {change}: there is no {name!r}; choose from {', '.join(types)}")
            old = getattr(owner, name)
            if dataclasses.is_dataclass(old) == (depth == len(names)):
                raise UserError(f"--set {change}: expected a value like {json.dumps(old, default=str)}")
            if depth < len(names):
                owner, place = old, place.setdefault(name, {})
            else:
                place[name] = _parse_value(types[name], old, text, change)
    return _with_values(settings, values, changes)


def _with_values(owner: Any, values: dict[str, Any], changes: Sequence[str], path: str = "") -> Any:
    """The dataclass with these values, checked once; path: of the dataclass, with a dot at its end."""
    replaced = {}
    for name, value in values.items():
        old = getattr(owner, name)
        is_owner = dataclasses.is_dataclass(old)
        replaced[name] = _with_values(old, value, changes, f"{path}{name}.") if is_owner else value
    try:
        return replace(owner, **replaced)
    except ValueError as error:
        given = " ".join(f"--set {change}" for change in changes if change.startswith(path))
        raise UserError(f"{given}: {error}") from None


def _parse_value(kind: Any, old: Any, text: str, change: str) -> Any:
    """The text as JSON of this type, or else as a plain string. change: as it was given."""
    for attempt in (text, json.dumps(text)):
        try:
            return TypeAdapter(kind).validate_json(attempt, strict=True)
        except ValidationError:
            continue
    example = ["NAME"] if old == () and kind == tuple[str, ...] else old
    raise UserError(f"--set {change}: expected a value like {json.dumps(example, default=str)}")
