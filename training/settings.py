"""The settings of every stage; the defaults are those of the published code, the presets are in
presets.py.

A setting is changed from the command line with --set STAGE.NAME=VALUE. Settings marked "ours" are
in neither the published code nor the paper; they are off in the presets `paper` and `paper-text`.
"""

import json
from collections.abc import Iterable
from dataclasses import field, is_dataclass, replace
from typing import Annotated, Any, Literal, get_origin, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from genius.errors import UserError
from genius.models.decoder import DecoderConfig
from genius.models.encoder_config import TowerSettings
from genius.models.fusion import FusionConfig
from genius.models.quantizer import QuantizerConfig
from genius.reading import Positive, Probability, Share, first_problem

NUMBERS = ConfigDict(allow_inf_nan=False)
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]
BatchSize = Annotated[int, Field(ge=2)]  # of a batch: one alone has nothing to differ from
Weight = Annotated[float, Field(ge=0)]
Weights = Annotated[tuple[Share, ...], Field(min_length=1)]
# Eq. 11 as in the code, as in the paper, and without it the training queries of the published
# mbeir_union_up_train.jsonl, which all three trainings read
Augmentation = Literal["elementwise", "scalar", "none"]
MBEIR_UPSAMPLING = {
    "webqa": 100_000,
    "edis": 50_000,
    "nights": 50_000,
    "fashioniq": 50_000,
    "cirr": 50_000,
}

# see Pairs.epoch: queries of each row, or of the datasets that are named
Upsampling = int | dict[str, int]


@dataclass(frozen=True, config=NUMBERS)
class LockedSettings:
    """Locked-tower training (ours; LiT, Zhai et al. 2022): only the heads behind the pretrained
    towers are trained.

    Epochs, batch, learning rate, weight decay and loss of the heads are the encoder's settings of
    these names. Swapped instructions are drawn once for each phrasing of a query, before training.
    """

    enabled: bool = False
    # of each image: the image itself and random crops, by encoder.min_crop and horizontal_flip
    views: Count = 4
    phrasings: Count = 4  # instruction phrasings with which each query is encoded
    input_dropout: Probability = 0.0  # of tower outputs
    # of each class of the bridge, see class_pictures.py
    class_pictures: Annotated[int, Field(ge=0, le=100)] = 0

    def __post_init__(self) -> None:
        expect(
            self.class_pictures != 1,
            "class_pictures is 0, or at least 2: one of each class is for validation",
        )


@dataclass(frozen=True, config=NUMBERS)
class PairSettings:
    """What all trainings on pairs of a query and a target share."""

    upsample_to: Upsampling = field(default_factory=MBEIR_UPSAMPLING.copy)
    # trained on these benchmark rows alone, TASK:DATASET or DATASET; empty: all
    rows: tuple[str, ...] = ()
    drop_last: bool = True  # the last batch of an epoch is dropped if it is smaller
    half: bool = False  # weights are stored, and used from then on, in half precision (ours)


@dataclass(frozen=True, config=NUMBERS)
class ChoiceSettings(PairSettings):
    """As well, of trainings whose best epoch may be kept."""

    keep_best: bool = False  # keep the epoch that is best on validation instead of the last (ours)
    # with keep_best: stop after so many epochs no better than the best; 0: never (ours)
    patience: CountOrNone = 0

    def __post_init__(self) -> None:
        expect(self.keep_best or not self.patience, "keep_best is true where patience is above 0")


@dataclass(frozen=True, config=NUMBERS)
class EncoderSettings(PairSettings):
    """Contrastive training of CLIP-SF (Eq. 2). With 0 epochs the pretrained weights are used
    unchanged.
    """

    # an open_clip name or model configuration, or BLIP's
    architecture: str | dict[str, Any] = "ViT-L-14-quickgelu"
    # feature: for dense search alone, see feature_fusion.py
    fusion: Literal["score", "feature"] = "score"
    # open_clip tag, checkpoint file, or encoder folder of a run; empty: random weights
    pretrained: str = "openai"
    epochs: CountOrNone = 20
    batch: BatchSize = 420  # pairs: the published 105 on each of four GPUs
    # queries of one (task, dataset) row that are drawn together: harder negatives (ours)
    group: Count = 1
    learning_rate: Positive = 1e-5
    weight_decay: Weight = 0.2
    warmup: Share = 0.0  # share of all steps
    clip_grad_norm: Weight = 0.0  # 0: gradients are not clipped
    max_logit_scale: Weight = 0.0  # upper limit of the learned 1/τ; 0: no limit
    # decay of the running average of the weights that is kept; 0: the last ones are (ours)
    average: Probability = 0.0
    symmetric_loss: bool = False  # also candidate -> query, as in CLIP
    mask_positives: bool = False  # other positives in a batch are not negatives (ours)
    augment: bool = False  # random crops and brightness, and the next two (ours)
    # smallest share of the area that a crop keeps
    min_crop: Annotated[float, Field(gt=0, le=1)] = 0.55
    horizontal_flip: bool = True  # false where left and right have a meaning
    # decoded images are kept on disk while training; else they are opened each time
    cache_images: bool = True
    # large matrices are stored, and used from then on, in 8 bits, the rest as with half (ours)
    eight_bit: bool = False
    bf16: bool = True  # mixed precision, on devices with instructions for it
    # activations are computed again for gradients, not kept: less memory (ours)
    grad_checkpointing: bool = False
    # of the loss of classifying the target's modality, see InstructionSwaps (ours)
    modality_weight: Weight = 0.0
    # probability that a query gets another row's instruction (ours)
    instruction_swap_prob: Probability = 0.0
    # pretrained timm model, package or file (ours), with text_tower; empty: an open_clip model
    image_tower: str = ""
    text_tower: str = ""  # pretrained Hugging Face model, package or folder (ours)
    # how both become one encoder (ours)
    towers: TowerSettings = field(default_factory=TowerSettings)
    locked: LockedSettings = field(default_factory=LockedSettings)

    def __post_init__(self) -> None:
        locked, swaps = self.locked.enabled, self.instruction_swap_prob
        expect(
            not locked or self.fusion == "score", "locked.enabled is false where fusion is feature"
        )
        expect(
            not locked or not self.grad_checkpointing,
            "grad_checkpointing is false where locked.enabled is true",
        )
        expect(
            not swaps or self.modality_weight > 0,
            "modality_weight is above 0 where instruction_swap_prob is",
        )


@dataclass(frozen=True, config=NUMBERS)
class FeatureSettings:
    phrasings: Count = 1  # instruction phrasings that are encoded for each training query
    batch: Count = 256


@dataclass(frozen=True, config=NUMBERS)
class QuantizerSettings(ChoiceSettings):
    """Fusion and quantizer: L_cl + β·L_rq + γ·L_mse (Eq. 8)."""

    fusion: FusionConfig = field(default_factory=FusionConfig)
    quantizer: QuantizerConfig = field(default_factory=QuantizerConfig)
    epochs: Count = 21
    batch: BatchSize = 8000  # pairs: the published 2000 on each of four GPUs
    learning_rate: Positive = 1e-4
    temperature: Positive = 0.01
    # 1 on four GPUs whose gathered features get a quarter of the gradient
    contrastive_weight: Weight = 0.25
    rq_weight: Weight = 100.0  # β
    mse_weight: Weight = 100.0  # γ
    rq_sum: bool = False  # Eq. 7 sums over levels and elements; the code averages
    # the paper compares quantized vectors as they are; the code normalizes them first
    mse_raw: bool = False
    symmetric_loss: bool = True  # Eq. 3 is one-way; the code is symmetric
    mask_positives: bool = False  # other positives in a batch are not negatives (ours)
    # for the codebooks' start: queries and targets of the published first batch
    kmeans_vectors: BatchSize = 16_000
    kmeans_iterations: Count = 1000


@dataclass(frozen=True, config=NUMBERS)
class DecoderSettings(ChoiceSettings):
    """Cross-entropy over IDs (Eq. 10) with query augmentation (Eq. 11)."""

    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    epochs: Count = 31
    batch: BatchSize = 1024  # pairs: the published 256 on each of four GPUs
    learning_rate: Positive = 1e-4
    # weight decay also of norms, biases and the relative attention bias (ours)
    decay_all: bool = False
    warmup_steps: CountOrNone = 500  # half of all steps at most
    # the first step has learning rate 0, as published; else 1/warmup_steps of the peak
    warmup_from_zero: bool = True
    augmentation: Augmentation = "elementwise"
    self_queries: bool = False  # every candidate is also its own query, unmixed (ours)
    # decoder against geometry: the best on validation is kept (ours)
    decoder_weights: Weights = (1.0,)
    bf16: bool = True  # mixed precision, on devices with instructions for it


@dataclass(frozen=True, config=NUMBERS)
class IndexSettings:
    """What the index contains and shows."""

    pool: str = ""  # index this candidate pool only, such as union_test; empty: every candidate
    thumbnail_side: Count = 192  # the longer side, pixels
    fused: bool = False  # keep fused features, which then order results (ours)


@dataclass(frozen=True, config=NUMBERS)
class Settings:
    """The settings of one training, and the type of a preset."""

    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    features: FeatureSettings = field(default_factory=FeatureSettings)
    quantizer: QuantizerSettings = field(default_factory=QuantizerSettings)
    decoder: DecoderSettings = field(default_factory=DecoderSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    seed: CountOrNone = 0

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
        expect(
            quantizer.levels >= 2,
            "levels is at least 2: the modality, or first cluster, and one of meaning",
        )


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(f"expected that {sentence}")


def with_changes(settings: Settings, changes: Iterable[str]) -> Settings:
    """Apply changes of the form `stage.name=value`, in any order. Raises UserError if the result is
    inconsistent.
    """
    settings = with_stage_changes(settings, *changes)
    try:
        settings.check()
    except ValueError as error:
        raise UserError(f"the settings do not fit each other: {error}") from None
    return settings


def with_stage_changes(settings: Settings, *changes: str) -> Settings:
    """Apply changes, `stage.name=value` or deeper: `decoder.decoder.layers=2`, together.

    Each stage is checked with all of its changes; the stages need not fit each other. Of two values
    of one setting the last one holds.
    """
    values: dict[str, Any] = {}  # by name, those of a stage in a dictionary of their own
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            raise UserError(f"--set {change}: expected STAGE.NAME=VALUE, e.g. encoder.epochs=3")
        owner = settings
        place = values
        names = path.split(".")
        for depth, name in enumerate(names, 1):
            types = get_type_hints(type(owner))
            if name not in types:
                raise UserError(
                    f"--set {change}: there is no {name!r}; choose from {', '.join(types)}"
                )
            old = getattr(owner, name)
            if is_dataclass(old) == (depth == len(names)):
                raise UserError(
                    f"--set {change}: expected a value like {json.dumps(old, default=str)}"
                )
            if depth < len(names):
                owner = old
                place = place.setdefault(name, {})
            else:
                place[name] = _parse_value(types[name], old, text, change)
    for stage, of_stage in values.items():
        try:
            settings = with_values(settings, {stage: of_stage})
        except ValueError as error:
            problem = str(error)
            if isinstance(error, ValidationError):
                problem = first_problem(error).removeprefix("Value error, ")
            given = " ".join(f"--set {change}" for change in changes if change.startswith(stage))
            raise UserError(f"{given}: {problem}") from None
    return settings


def with_values(old: Any, new: Any) -> Any:
    """The new value; for an old one that is a dataclass, this with the values of a dictionary, at
    any depth.
    """
    if not is_dataclass(old) or isinstance(old, type):
        return new
    return replace(
        old, **{name: with_values(getattr(old, name), value) for name, value in new.items()}
    )


def _parse_value(kind: Any, old: Any, text: str, change: str) -> Any:
    """The text as JSON of this type, or else as a plain string. change: as it was given."""
    # the settings say what there is to choose from
    kind = str if get_origin(kind) is Literal else kind
    for attempt in (text, json.dumps(text)):
        try:
            return TypeAdapter(kind).validate_json(attempt, strict=True)
        except ValidationError:
            continue
    example = ["NAME"] if old == () and kind == tuple[str, ...] else old
    raise UserError(f"--set {change}: expected a value like {json.dumps(example, default=str)}")
