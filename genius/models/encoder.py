"""CLIP score fusion (CLIP-SF): images and texts become vectors of one space.

The embedding of an input with an image and a text is the normalized sum of both features
(paper, section 4.1; UniIR's CLIPScoreFusion). Any open_clip architecture can be used.

Shapes: b batch, d embedding dim, s image side, n tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import open_clip
import torch
import torch.nn.functional as F
from open_clip.hf_model import HFTextEncoder
from open_clip.transform import PreprocessCfg, image_transform_v2
from open_clip.transformer import TextTransformer
from PIL import Image
from torch import Tensor, nn

from genius.errors import UserError
from genius.models.blip import BlipTowers
from genius.models.class_bridge import add_class_bridge
from genius.models.encoder_config import TEXT_FOLDER, EncoderConfig, StoredConfig, TowerFile
from genius.models.folding import fold_batch_norms
from genius.models.heads import SplitEncoder, add_residual_heads
from genius.models.model_hubs import quiet_hub
from genius.models.saving import load_model, save_model
from genius.models.tokenizers import Tokenizer, make_tokenizer
from genius.reading import check_text_size, one_line, read_json
from genius.texts import normalize_text, query_text, shorten_text

# of images that a CPU encodes together: more of them overflow its caches and need memory
GROUP_PIXELS = 4 * 224**2
# images; smaller groups are of large images, which a CPU encodes faster with the channels last
SMALL_GROUP = 16
GROUP_TEXTS = 32  # texts of similar length that a CPU encodes together, if padding costs time
TEXT_NAMES = ("hf_model_name", "hf_tokenizer_name")  # settings that open_clip reads these from


@dataclass
class Features:
    """The encoder's features of b inputs. A missing image or text is masked, and its feature is
    zero.
    """

    image: Tensor  # (b, d) as projected, not normalized
    text: Tensor  # (b, d)
    image_mask: Tensor  # (b,) bool
    text_mask: Tensor  # (b,) bool
    # (b, d) of queries whose encoder reads it apart, for the fusion alone
    instruction: Tensor | None = None

    def embedding(self) -> Tensor:
        """(b, d) for dense search and re-ranking: the L2-normalized sum of image and text
        features.
        """
        return F.normalize(self.image + self.text, dim=-1)

    def select(self, inputs: Tensor) -> "Features":
        """The features of some inputs (c,), given by number."""
        return self._of_parts(lambda part: part[inputs])

    def to(self, device: torch.device | str) -> "Features":
        """The features on another device."""
        return self._of_parts(lambda part: part.to(device))

    def _of_parts(self, change: Callable[[Tensor], Tensor]) -> "Features":
        return replace(
            self, **{name: change(part) for name, part in vars(self).items() if part is not None}
        )


class Encoder(nn.Module):
    """An open_clip model with masks for missing images and texts."""

    # in 8-bit storage: heads are small, and would lose most
    half_weights = ("clip.visual.head.", "clip.text.proj.")
    fuses_features = False  # see feature_fusion.py
    clip: Any  # an open_clip model, or BlipTowers; open_clip has no types

    def __init__(self, config: EncoderConfig):
        """Raises UserError if the config has a feature fusion and the class has none, or the
        reverse.
        """
        super().__init__()
        self.config = config
        cfg = dict(config.model)
        residual_heads, bridge = cfg.pop("residual_heads", None), cfg.pop("bridge", None)
        fused = cfg.pop("fusion", None) is not None
        if fused != self.fuses_features:
            raise UserError(
                "this encoder has one embedding for image and text together (feature "
                "fusion), for dense search alone; "
                "IDs need the features of each, so take an encoder with encoder.fusion=score"
                if fused
                else "this encoder has no feature fusion; train it with encoder.fusion=feature"
            )
        if cfg.pop("blip", False):
            self.clip = BlipTowers(**cfg, grounded=fused)
        else:
            self.clip = open_clip_model(cfg)
        if residual_heads:
            add_residual_heads(self.clip, **residual_heads)
        if bridge:
            add_class_bridge(self.clip, cfg["embed_dim"], **bridge)
        self.dim: int = cfg["embed_dim"]
        self._trims_padding = padding_is_inert(getattr(self.clip, "text", None))

    def for_inference(self) -> "Encoder":
        """Itself in eval mode with folded batch norms, which is faster; it can be neither trained
        nor saved now.
        """
        fold_batch_norms(self.eval().clip.visual)
        return self

    def split(self) -> SplitEncoder:
        """Towers and heads. Raises UserError if a tower has no head that can be split off."""
        return SplitEncoder(self.clip, self._encode_images, self._encode_texts)

    def check(self) -> None:
        """Encode one text and one image in eval mode, so that a missing file shows before a long
        pass.

        Raises UserError if that fails, for instance because the tokenizer cannot be downloaded.
        """
        training = self.training
        try:
            with quiet_hub():
                embedding = self.eval().embed([Image.new("RGB", (32, 32))], ["a"])
            if not embedding.isfinite().all():
                raise ValueError("it computes numbers that are not finite")
        except Exception as error:  # tokenizers, the hub and the network raise many types
            raise UserError(
                f"the encoder cannot encode a text and an image ({one_line(error)})"
            ) from error
        finally:
            self.train(training)

    @property
    def device(self) -> torch.device:
        return self.logit_scale.device

    @property
    def logit_scale(self) -> nn.Parameter:
        """The logarithm of 1/τ."""
        return self.clip.logit_scale

    @cached_property
    def _transform(self) -> Callable[[Image.Image], Tensor]:
        return image_transform_v2(PreprocessCfg(**self.config.preprocess), is_train=False)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        tower = getattr(self.clip, "text", None)
        known = (
            tower.transformer.get_input_embeddings().num_embeddings
            if isinstance(tower, HFTextEncoder)
            else None
        )
        return make_tokenizer(self.config.model["text_cfg"], known)

    @cached_property
    def _masks_padding(self) -> bool:
        """Whether padding after a text changes nothing: Hugging Face's towers with their own
        tokenizers.
        """
        tower = getattr(self.clip, "text", None)
        if not isinstance(tower, HFTextEncoder) or self.tokenizer.tokenizer_mode == "clips":
            return False
        tokenizer = self.tokenizer.tokenizer
        return tokenizer.padding_side == "right" and tokenizer.pad_token_id == self._pad_token

    def preprocess(self, images: Sequence[Image.Image]) -> Tensor:
        """RGB images -> (b, 3, s, s), resized and normalized as in the model's training."""
        return torch.stack([self._transform(image) for image in images])

    def tokenize(self, texts: Sequence[str]) -> Tensor:
        """Texts -> tokens (b, n) of the normalized texts; what exceeds the context length is cut.

        n is the context length or, if the text tower allows it, the length of the longest of these
        texts.
        """
        tokens = self.tokenizer([shorten_text(normalize_text(text)) for text in texts])
        if self._trims_padding:
            return tokens[:, : int(tokens.argmax(-1).max()) + 1]
        return self._without_padding(tokens) if self._masks_padding else tokens

    def forward(
        self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor
    ) -> Features:
        """Encode b inputs, some of which lack an image or a text.

        pixels (images, 3, s, s) and tokens (texts, n) of the inputs that have them; masks (b,)
        bool: which inputs do.
        """
        of_images = self.encode_present(self._encode_images, pixels, image_mask)
        of_texts = self.encode_present(self._encode_texts, tokens, text_mask)
        return Features(of_images, of_texts, image_mask, text_mask)

    @property
    def _groups_inputs(self) -> bool:
        """Whether a batch is encoded in groups: on a CPU, unless gradients or batch statistics need
        all of it.
        """
        return self.device.type == "cpu" and not self.training and not torch.is_grad_enabled()

    def _encode_images(self, pixels: Tensor) -> Tensor:
        """(b, 3, s, s) -> (b, d)."""
        if not self._groups_inputs:
            return self.clip.encode_image(pixels)
        size = max(1, GROUP_PIXELS // (pixels.shape[-2] * pixels.shape[-1]))
        if size < SMALL_GROUP:
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        return torch.cat([self.clip.encode_image(group) for group in even_groups(pixels, size)])

    def _encode_texts(self, tokens: Tensor) -> Tensor:
        """(b, n) -> (b, d)."""
        if self._trims_padding:
            return self._encode_trimmed_texts(tokens)
        if not self._groups_inputs or not self._masks_padding:
            return self.clip.encode_text(tokens)
        order = (tokens != self._pad_token).sum(1).argsort()
        groups = even_groups(tokens[order], GROUP_TEXTS)
        return torch.cat([self.clip.encode_text(self._without_padding(group)) for group in groups])[
            order.argsort()
        ]

    @property
    def _pad_token(self) -> int:
        return self.clip.text.config.pad_token_id

    def _without_padding(self, tokens: Tensor) -> Tensor:
        """(b, n) -> the tokens up to the end of the longest text."""
        return tokens[:, : int((tokens != self._pad_token).any(0).nonzero().max()) + 1]

    def _encode_trimmed_texts(self, tokens: Tensor) -> Tensor:
        """(b, n) -> (b, d)."""
        tower = self.clip.text
        x = causal_states(tower, tokens)
        # the end token has the highest number
        x = x[torch.arange(len(x), device=x.device), tokens.argmax(-1)]
        return tower.ln_final(x) @ tower.text_projection

    def encode_present(
        self, encode: Callable[[Tensor], Tensor], values: Tensor, mask: Tensor
    ) -> Tensor:
        """Encode values (m, …) into the m rows of a (b, d) tensor where mask (b,) is true; the
        other rows are zero.

        encode: (m, …) -> (m, d).
        """
        out = torch.zeros(len(mask), self.dim, device=self.device)
        if len(values):
            out[mask] = encode(values).float()
        return out

    def wording(self, instruction: str, text: str) -> tuple[str, str]:
        """What the text tower reads of a query: its text, and the instruction where it is read
        apart, or else "".
        """
        return (text, instruction) if self.config.apart else (query_text(instruction, text), "")

    @torch.inference_mode()
    def encode(
        self,
        images: Sequence[Image.Image | None],
        texts: Sequence[str],
        instructions: Sequence[str] = (),
    ) -> Features:
        """Encode b images (None: missing) and b texts ("": missing) in one batch.

        instructions: of b queries, which become features of their own or parts of the texts, see
        `wording`.
        """
        if not instructions:
            return self(*self.inputs(images, texts))
        worded = [self.wording(*query) for query in zip(instructions, texts, strict=True)]
        features = self(*self.inputs(images, [text for text, _ in worded]))
        if self.config.apart:
            features.instruction = self(
                *self.inputs([None] * len(texts), [apart for _, apart in worded])
            ).text
        return features

    def inputs(
        self, images: Sequence[Image.Image | None], texts: Sequence[str]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The arguments of `forward` for b images and texts: pixels (images, 3, s, s), mask (b,),
        tokens (texts, n) and mask (b,), on the encoder's device."""
        assert len(images) == len(texts)
        present_images = [image for image in images if image is not None]
        present_texts = [text for text in texts if normalize_text(text)]
        image_mask = torch.tensor([image is not None for image in images], dtype=torch.bool)
        text_mask = torch.tensor([bool(normalize_text(text)) for text in texts], dtype=torch.bool)
        pixels = self.preprocess(present_images) if present_images else torch.zeros(0)
        tokens = self.tokenize(present_texts) if present_texts else torch.zeros(0, dtype=torch.long)
        device = self.device
        return pixels.to(device), image_mask.to(device), tokens.to(device), text_mask.to(device)

    def embed(self, images: Sequence[Image.Image | None], texts: Sequence[str]) -> Tensor:
        """(b, d) normalized embeddings of images and texts, as `encode` takes them."""
        return self.encode(images, texts).embedding()

    def save(self, folder: Path, half: bool = False, eight_bit: bool = False) -> None:
        """Write config, weights and, for a Hugging Face text tower, the text folder.

        half: in half precision. eight_bit: large matrices of the towers in 8 bits, the rest in
        half precision.
        """
        text = self.config.model["text_cfg"]
        if "hf_tokenizer_name" in text:
            self.tokenizer.tokenizer.save_pretrained(folder / TEXT_FOLDER)
        if "hf_model_name" in text:
            self.clip.text.config.save_pretrained(folder / TEXT_FOLDER)
        stored = {name: TEXT_FOLDER for name in TEXT_NAMES if name in text}
        config = replace(self.config, model=self.config.model | {"text_cfg": text | stored})
        save_model(self, config, folder, half=half, eight_bit=eight_bit)

    @classmethod
    def load(cls, folder: Path) -> "Encoder":
        """A saved encoder in eval mode. Raises UserError if the folder does not hold one."""

        def build(config: EncoderConfig) -> Encoder:
            read_json(folder / "config.json", StoredConfig)
            text = config.model["text_cfg"]
            stored: dict[str, Any] = {
                name: str(folder / TEXT_FOLDER) for name in TEXT_NAMES if name in text
            }
            if "hf_model_name" in text:
                stored["hf_model_pretrained"] = False
            if stored and not (folder / TEXT_FOLDER).is_dir():
                raise UserError(
                    f"{folder / TEXT_FOLDER} is missing, the tokenizer of the encoder; "
                    "copy the run again"
                )
            for file in (folder / TEXT_FOLDER).glob("*"):
                check_text_size(file)
            for file in (folder / TEXT_FOLDER).glob("*config.json"):
                read_json(file, TowerFile)
            return cls(replace(config, model=config.model | {"text_cfg": text | stored}))

        encoder = load_model(build, EncoderConfig, folder)
        try:
            # also reads the tokenizer now: the folder may go while the encoder is in use
            encoder.check()
        except UserError as error:
            raise UserError(
                f"{folder} cannot be loaded ({error}); train this part again"
            ) from error
        return encoder


def open_clip_model(cfg: dict[str, Any]) -> nn.Module:
    """The model of an open_clip configuration."""
    cfg = dict(cfg)
    # as open_clip.create_model chooses the class
    custom = cfg.pop("custom_text", False) or "hf_model_name" in cfg["text_cfg"]
    custom_class = open_clip.CoCa if "multimodal_cfg" in cfg else open_clip.CustomTextCLIP
    clip = (custom_class if custom else open_clip.CLIP)(**cfg)
    if isinstance(clip, open_clip.CoCa):
        # unused; left as the memory was, perhaps not finite
        nn.init.zeros_(clip.text_decoder.text_projection)
    return clip


def causal_states(tower: Any, tokens: Tensor) -> Tensor:
    """(b, n) -> (b, n, ·): what the transformer of open_clip's text tower gives, with its attention
    mask cut to n.
    """
    n = tokens.shape[1]
    states = tower.token_embedding(tokens) + tower.positional_embedding[:n]
    return tower.transformer(states, attn_mask=tower.attn_mask[:n, :n])


def even_groups(inputs: Tensor, size: int) -> tuple[Tensor, ...]:
    """Split inputs (b, …) into groups (≤ size, …), none of which is much smaller than the
    others.
    """
    return inputs.tensor_split(-(-len(inputs) // size))


def padding_is_inert(tower: nn.Module | None) -> bool:
    """Whether padding after the end token changes nothing: open_clip's own causal tower, pooled at
    the end token.
    """
    return (
        isinstance(tower, TextTransformer)
        and tower.attn_mask is not None
        and tower.pool_type == "argmax"
        and tower.cls_emb is None
        and not tower.use_pad_mask
        and not tower.output_tokens
        and isinstance(tower.text_projection, nn.Parameter)
    )
