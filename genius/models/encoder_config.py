"""The configuration of an encoder, and the types that its files must have: a run may come from a
stranger.

Sizes are bounded, nothing is downloaded, and no file names code to run.
"""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from open_clip.transform import PreprocessCfg
from pydantic import BaseModel, ConfigDict, Field, with_config
from pydantic.dataclasses import dataclass as pydantic_dataclass

from genius.reading import EXACT, LOOSE, Positive, Probability, Size

CLIP_VOCABULARY = 49_408
# in the folder of an encoder: configuration and tokenizer of a Hugging Face text tower
TEXT_FOLDER = "text"

Side = Annotated[int, Field(ge=1, le=1024)]  # of an image, in pixels
Sides = Side | tuple[Side, Side]
Stored = Literal["text"]  # TEXT_FOLDER


class VisionConfig(BaseModel):
    """Settings of an image tower: no size that takes all memory when it is used, and nothing to
    download.

    There are many more, and open_clip refuses those with a bad name.
    """

    model_config = LOOSE
    image_size: Sides = 224
    # not hf-hub:… or local-dir:…
    timm_model_name: Annotated[str, Field(pattern=r"^[\w.]+$")] | None = None
    timm_model_pretrained: Literal[False] = False


class TokenizerOptions(BaseModel):
    """All of open_clip's `tokenizer_kwargs` that its models use.

    The rest reaches constructors that take a path to open or permission to run code, so nothing
    else is let through.
    """

    model_config = EXACT
    clean: Literal["canonicalize", "lower", "whitespace"] | None = None
    strip_sep_token: bool = False
    # of a tokenizer that marks it, such as NLLB's
    language: Annotated[str, Field(pattern=r"^\w{1,32}$")] | None = None


class TextConfig(BaseModel):
    """As VisionConfig, of a text tower."""

    model_config = LOOSE
    tokenizer_kwargs: TokenizerOptions | None = None
    context_length: Annotated[int, Field(ge=1, le=4096)] = 77
    vocab_size: Size = CLIP_VOCABULARY
    hf_model_name: Stored | None = None
    hf_tokenizer_name: Stored | None = None
    hf_model_pretrained: Literal[False] = False


class BridgeConfig(BaseModel):
    """As VisionConfig, of a class bridge."""

    model_config = EXACT
    labels: Annotated[str, Field(pattern=r"^[\w-]{1,32}$")]
    temperature: Annotated[float, Field(gt=0)]
    gain: Annotated[float, Field(gt=0)]


class ModelConfig(BaseModel):
    """As VisionConfig, of an open_clip model."""

    model_config = LOOSE
    embed_dim: Size
    vision_cfg: VisionConfig
    text_cfg: TextConfig
    bridge: BridgeConfig | None = None


class Preprocessing(BaseModel):
    """As VisionConfig, of open_clip's PreprocessCfg."""

    model_config = LOOSE
    size: Sides


class StoredConfig(BaseModel):
    """An EncoderConfig in a file, which may come from a stranger."""

    model_config = LOOSE
    model: ModelConfig
    preprocess: Preprocessing


class TowerFile(BaseModel):
    """A file of transformers that describes a text tower or its tokenizer, and names no code to
    run.
    """

    model_config = LOOSE
    auto_map: None = None
    # another may be a repository of compiled code
    attn_implementation: Literal["eager", "sdpa"] | None = None
    # the same
    attn_implementation_set: Literal["eager", "sdpa"] | None = Field(
        None, alias="_attn_implementation"
    )
    num_labels: Size = 2


@with_config(EXACT)
@dataclass(frozen=True)
class EncoderConfig:
    """All that rebuilds an encoder but its weights and the files in its text folder."""

    # open_clip's model configuration: embed_dim, vision_cfg, text_cfg, …; ours: residual_heads,
    # bridge, blip, fusion
    model: dict[str, Any]
    preprocess: dict[str, Any] = field(default_factory=lambda: asdict(PreprocessCfg()))
    source: str = "from scratch"  # where the weights came from
    # reads a query's instruction apart from its text; else both are one sentence (paper)
    apart: bool = False


@pydantic_dataclass(frozen=True, config=ConfigDict(allow_inf_nan=False))
class TowerSettings:
    """How two pretrained towers become one encoder, see pretrained.py."""

    dim: Size = 256  # of the embeddings
    image_size: Size = 224  # side of the images, pixels
    # behind each tower: open_clip's, with one hidden layer (2d units in the image head, the mean of
    # the tower's width and d in the text head, which has no bias) or without; or residual, see
    # heads.py
    head: Literal["mlp", "linear", "residual"] = "mlp"
    hidden: Size = 1024  # units of a residual head
    # before the last layer of the image head, where it has a hidden one
    image_dropout: Probability = 0.0
    text_dropout: Probability = 0.0  # as well, of a residual text head; open_clip's has none
    # how an image becomes a square
    resize_mode: Literal["shortest", "longest", "squash"] = "shortest"
    # keep what the image tower's classifier knows, if it has one, see class_bridge.py
    bridge: bool = False
    bridge_temperature: Positive = 1.0  # of the classifier's softmax
    bridge_gain: Positive = 1.0  # of the learned weight of the classes, once it is learned
    apart: bool = False  # instructions are read apart from texts, see EncoderConfig

    def __post_init__(self) -> None:
        """Raises ValueError for a text_dropout without residual heads."""
        if self.text_dropout and self.head != "residual":
            raise ValueError("expected that text_dropout is 0 where head is not residual")
