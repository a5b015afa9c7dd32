"""CLIP score fusion (CLIP-SF): images and texts become vectors of one space.

The embedding of something with an image and a text is the normalised sum of both features
(paper, section 4.1; UniIR's CLIPScoreFusion). Any open_clip architecture serves.

Shapes: b batch, d embedding dim, s image side, n tokens.
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.error import URLError

import open_clip
import torch
import torch.nn.functional as F
from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
from open_clip.tokenizer import HFTokenizer
from open_clip.transform import PreprocessCfg, image_transform_v2
from open_clip.transformer import TextTransformer
from PIL import Image
from torch import Tensor, nn

from genius.errors import UserError
from genius.models.saving import load_model, save_model

BYTES = 512  # tokens of CLIP's byte-pair encoding before its first merge
SPECIAL = 2  # its start and its end of a text
CLIP_VOCABULARY = 49_408
LOCAL = "local-dir:"
OPEN_CLIP_SOURCES = ("hf-hub:", LOCAL)  # places of a configuration with its weights


@dataclass(frozen=True)
class EncoderConfig:
    """What rebuilds an encoder without any file but its weights."""

    model: dict[str, Any]  # open_clip's: embed_dim, vision_cfg, text_cfg, …
    preprocess: dict[str, Any] = field(default_factory=lambda: asdict(PreprocessCfg()))
    source: str = "from scratch"  # where the weights came from


@dataclass
class Features:
    """What the encoder says of b things. A missing part is masked, and zero."""

    image: Tensor  # (b, d) as projected, not normalised
    text: Tensor  # (b, d)
    image_mask: Tensor  # (b,) bool
    text_mask: Tensor  # (b,) bool

    def embedding(self) -> Tensor:
        """(b, d) for dense search and re-ranking: the normalised sum of what is there."""
        return F.normalize(self.image + self.text, dim=-1)

    def of(self, chosen: Tensor) -> Features:
        """Of some of them; chosen (c,) numbers."""
        return Features(self.image[chosen], self.text[chosen], self.image_mask[chosen], self.text_mask[chosen])

    def to(self, device: torch.device | str) -> Features:
        return Features(
            self.image.to(device), self.text.to(device), self.image_mask.to(device), self.text_mask.to(device)
        )


def normalize_text(text: str) -> str:
    """M-BEIR's form of a text: one sentence, capital first, with an end mark. Empty stays empty."""
    text = text.replace("\r", "").strip().strip('"')
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."


def query_text(instruction: str, text: str) -> str:
    """The text of a query for the encoder: the instruction as a sentence of its own, then the query's own text.

    As in the published code: "find it" and "a red car" become "Find it. a red car."
    """
    return normalize_text(f"{normalize_text(instruction)} {text}")


class ShortTokenizer(open_clip.SimpleTokenizer):
    """CLIP's tokenizer with the first merges only: it knows fewer whole words, and still reads any text.

    Merges are ordered by frequency, so what is left is the tokenizer that training would have stopped at.
    """

    def __init__(self, vocabulary: int, context_length: int):
        """Raises UserError if the vocabulary has no room for the bytes."""
        super().__init__(context_length=context_length)
        if vocabulary < BYTES + SPECIAL:
            raise UserError(f"text_cfg.vocab_size is {vocabulary}; CLIP's tokenizer needs at least {BYTES + SPECIAL}")
        merges = vocabulary - BYTES - SPECIAL
        tokens = list(self.encoder)
        self.encoder = {token: at for at, token in enumerate(tokens[: BYTES + merges] + tokens[-SPECIAL:])}
        self.decoder = {at: token for token, at in self.encoder.items()}
        self.bpe_ranks = {merge: rank for merge, rank in self.bpe_ranks.items() if rank < merges}
        self.vocab_size = vocabulary
        self.all_special_ids = list(self.encoder.values())[-SPECIAL:]
        self.sot_token_id, self.eot_token_id = self.all_special_ids


class Encoder(nn.Module):
    """open_clip with masks for what is missing."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        cfg = dict(config.model)
        # open_clip keeps the text tower apart where it is not its own transformer
        custom = cfg.pop("custom_text", False) or "hf_model_name" in cfg["text_cfg"]
        parted = open_clip.CoCa if "multimodal_cfg" in cfg else open_clip.CustomTextCLIP
        self.clip = (parted if custom else open_clip.CLIP)(**cfg)
        self.dim: int = cfg["embed_dim"]
        self._reads_short = custom and padding_is_inert(self.clip.text)

    @classmethod
    def from_open_clip(cls, architecture: str, pretrained: str = "") -> Encoder:
        """An open_clip model with its weights as they are.

        architecture: open_clip's name, with a pretrained tag (downloaded) or a local checkpoint file; or
        hf-hub:OWNER/REPOSITORY or local-dir:FOLDER, which hold configuration and weights (pretrained is not read).
        Raises UserError if there is no such architecture or the weights cannot be had.
        """
        pretrained = "" if architecture.startswith(OPEN_CLIP_SOURCES) else pretrained
        with _quiet_hub():
            return cls._from_open_clip(architecture, pretrained)

    @classmethod
    def _from_open_clip(cls, architecture: str, pretrained: str) -> Encoder:
        try:
            model = open_clip.get_model_config(architecture)
            quick = open_clip.get_pretrained_cfg(architecture, pretrained).get("quick_gelu", False)
            clip = open_clip.create_model(
                architecture, pretrained or None, require_pretrained=True, force_quick_gelu=quick
            )  # else a tag may get another activation
            if quick:
                model["quick_gelu"] = True
            if "hf_model_name" in model["text_cfg"]:
                model["text_cfg"]["hf_model_pretrained"] = False  # its weights are among the checkpoint's
            if "hf_tokenizer_name" in model["text_cfg"] and architecture.startswith(LOCAL):
                model["text_cfg"]["hf_tokenizer_name"] = str(Path(architecture.removeprefix(LOCAL)).resolve())
            encoder = cls(
                EncoderConfig(
                    model,
                    dict(open_clip.get_model_preprocess_cfg(clip)),
                    source=f"{architecture} {Path(pretrained).name}".strip(),
                )
            )
            encoder.clip.load_state_dict(clip.state_dict())
            encoder.eval().check()
        except Exception as error:  # open_clip, the hub and the network raise many kinds
            named = f"{architecture} with weights {pretrained!r}" if pretrained else architecture
            if out_of_reach(error):
                raise UserError(
                    f"open_clip cannot fetch {named}: the hub is out of reach from here, and nothing was "
                    "fetched before; get the file where there is a network, and give its path"
                ) from error
            raise UserError(
                f"open_clip cannot give {named} ({textwrap.shorten(str(error), 200)}); name an "
                "architecture of open_clip and a tag or a checkpoint file, hf-hub:OWNER/REPOSITORY or "
                "local-dir:FOLDER"
            ) from error
        return encoder

    def check(self) -> None:
        """Encode a text and an image once, so that what is missing shows before a long pass.

        Raises UserError if that fails, for instance because the tokenizer cannot be fetched.
        """
        try:
            self.encode([Image.new("RGB", (32, 32))], ["a"])
        except Exception as error:  # tokenizers, the hub and the network raise many kinds
            raise UserError(
                f"the encoder cannot encode a text and an image ({textwrap.shorten(str(error), 200)})"
            ) from error

    @property
    def device(self) -> torch.device:
        return self.clip.logit_scale.device

    @cached_property
    def _transform(self):
        return image_transform_v2(PreprocessCfg(**self.config.preprocess), is_train=False)

    @cached_property
    def _tokenizer(self):
        text = self.config.model["text_cfg"]
        length = text.get("context_length", 77)
        if "hf_tokenizer_name" in text:
            return HFTokenizer(
                text["hf_tokenizer_name"],
                context_length=length,
                tokenizer_mode=text.get("tokenizer_mode"),
                **text.get("tokenizer_kwargs", {}),
            )
        vocabulary = text.get("vocab_size", CLIP_VOCABULARY)
        if vocabulary < CLIP_VOCABULARY:
            return ShortTokenizer(vocabulary, length)
        return open_clip.SimpleTokenizer(context_length=length, **text.get("tokenizer_kwargs", {}))

    def preprocess(self, images: Sequence[Image.Image]) -> Tensor:
        """RGB images -> (b, 3, s, s) as the model was trained to see them."""
        return torch.stack([self._transform(image) for image in images])

    def tokenize(self, texts: Sequence[str]) -> Tensor:
        """Texts, normalised here -> (b, n) tokens; what is too long is cut.

        n is the context length, or where the text tower allows it that of the longest of these texts.
        """
        tokens = self._tokenizer([normalize_text(text) for text in texts])
        return tokens[:, : int(tokens.argmax(-1).max()) + 1] if self._reads_short else tokens

    def forward(self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor) -> Features:
        """Encode b things of which some lack an image or a text.

        pixels: (images there, 3, s, s); tokens: (texts there, n); masks: (b,) bool, say where they belong.
        """
        return Features(
            self._spread(self.clip.encode_image, pixels, image_mask),
            self._spread(self._encode_text, tokens, text_mask),
            image_mask,
            text_mask,
        )

    def _encode_text(self, tokens: Tensor) -> Tensor:
        """(b, n) tokens -> (b, d). Of a tower that reads short: open_clip's arithmetic with its mask cut to n."""
        if not self._reads_short:
            return self.clip.encode_text(tokens)
        tower, n = self.clip.text, tokens.shape[1]
        x = tower.token_embedding(tokens) + tower.positional_embedding[:n]
        x = tower.transformer(x, attn_mask=tower.attn_mask[:n, :n])
        x = x[torch.arange(len(x), device=x.device), tokens.argmax(-1)]  # the end token has the highest number
        return tower.ln_final(x) @ tower.text_projection

    def _spread(self, encode, values: Tensor, mask: Tensor) -> Tensor:
        """Encode what is there into its rows of a (b, d) tensor; the other rows are zero."""
        out = torch.zeros(len(mask), self.dim, device=self.device)
        if len(values):
            out[mask] = encode(values).float()
        return out

    @torch.inference_mode()
    def encode(self, images: Sequence[Image.Image | None], texts: Sequence[str]) -> Features:
        """b images (None: missing) and b texts ("": missing) -> features. The caller chooses b."""
        assert len(images) == len(texts)
        there = [image for image in images if image is not None]
        worded = [text for text in texts if normalize_text(text)]
        image_mask = torch.tensor([image is not None for image in images], dtype=torch.bool)
        text_mask = torch.tensor([bool(normalize_text(text)) for text in texts], dtype=torch.bool)
        pixels = self.preprocess(there) if there else torch.zeros(0)
        tokens = self.tokenize(worded) if worded else torch.zeros(0, dtype=torch.long)
        return self(*(part.to(self.device) for part in (pixels, image_mask, tokens, text_mask)))

    def save(self, folder: Path, half: bool = False) -> None:
        save_model(self, self.config, folder, half=half)

    @classmethod
    def load(cls, folder: Path) -> Encoder:
        return load_model(cls, EncoderConfig, folder)


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Silence the hub's client and open_clip, which log dozens of lines where the hub is out of reach."""
    root, clients = logging.getLogger(), [logging.getLogger(name) for name in ("huggingface_hub", "urllib3", "httpx")]
    levels = [client.level for client in clients]

    def not_open_clip(record: logging.LogRecord) -> bool:  # which logs to the root logger
        return Path(record.pathname).parent.name != "open_clip"

    root.addFilter(not_open_clip)
    for client in clients:
        client.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        root.removeFilter(not_open_clip)
        for client, level in zip(clients, levels, strict=True):
            client.setLevel(level)


def padding_is_inert(tower: nn.Module) -> bool:
    """Whether padding behind a text's end changes nothing: open_clip's own causal tower, read at the end token."""
    return (
        isinstance(tower, TextTransformer)
        and tower.attn_mask is not None
        and tower.pool_type == "argmax"
        and tower.cls_emb is None
        and not tower.use_pad_mask
        and not tower.output_tokens
        and isinstance(tower.text_projection, nn.Parameter)
    )


def out_of_reach(error: BaseException | None) -> bool:
    """Whether an error comes, in the end, from a hub or a network that does not answer."""
    while error is not None:
        if isinstance(error, (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, URLError)):
            return True
        error = error.__cause__ or error.__context__
    return False
