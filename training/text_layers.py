"""The last layers of a text tower, which may learn with the heads; what reaches them is computed once for each text.

LiT (Zhai et al. 2022) locks the image tower alone. What the layers below make of a text is kept on the disk while the
encoder is trained.

Shapes: b texts, n tokens of the longest of them, u width of the tower, w all texts, t their tokens.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from open_clip.hf_model import HFTextEncoder
from torch import Tensor, nn
from tqdm import tqdm

from genius.encoding.features import batched
from genius.errors import UserError
from genius.files import disk_errors_explained, write_array
from genius.models.encoder import Encoder
from genius.trie.ids import expand_ranges
from training.checkpoint import fingerprint
from training.distributed import main_process_first
from training.tower_features import tower_digest

TOGETHER = 64  # texts of similar length that pass layers together


class TextLayers:
    """The last layers of a Hugging Face text tower with its pooling; their weights are the tower's own."""

    def __init__(self, encoder: Encoder, count: int):
        """Raises UserError for a tower whose last layers cannot go on from what reaches them."""
        self.encoder, tower = encoder, getattr(encoder.clip, "text", None)
        stacks = [
            (owner, name, layers)
            for owner in (tower.transformer.modules() if isinstance(tower, HFTextEncoder) else ())
            for name, layers in owner.named_children()
            if isinstance(layers, nn.ModuleList) and len(layers) >= count
        ]
        if not stacks:
            raise UserError(
                f"{type(tower).__name__} has no {count} layers that can be trained apart from the rest; set "
                "encoder.locked.text_layers to 0, or take an encoder.text_tower"
            )
        self.owner, self.name, self.layers = max(stacks, key=lambda stack: len(stack[2]))
        self.trained = self.layers[-count:]
        tokens = encoder.tokenize(["a", "a text of more words"]).to(encoder.device)
        with torch.no_grad():
            if not torch.allclose(self(self.states(tokens)), encoder.split().text_outputs(tokens), atol=1e-3):
                raise UserError(
                    "the last layers of this text tower need more than the states of those below; set "
                    "encoder.locked.text_layers to 0"
                )

    @torch.no_grad()
    def states(self, tokens: Tensor) -> Tensor:
        """Tokens (b, n) -> what reaches the trained layers (b, n, u), zero for padding."""
        caught: list[Tensor] = []
        hook = self.trained[0].register_forward_pre_hook(lambda _, inputs: caught.append(inputs[0]))
        try:
            self.encoder.clip.encode_text(tokens)
        finally:
            hook.remove()
        return caught[0] * (tokens != self.padding)[..., None]

    def __call__(self, states: Tensor) -> Tensor:
        """States (b, n, u), zero for padding -> outputs of the tower (b, u), with gradients."""
        lengths = states.any(-1).sum(1)
        order = lengths.argsort()
        groups = order.tensor_split(-(-len(order) // TOGETHER))
        outputs = torch.cat([self._outputs(states[group, : int(lengths[group].max())]) for group in groups])
        return outputs[order.argsort()]

    def _outputs(self, states: Tensor) -> Tensor:
        """As a call, of texts of similar length."""
        padding = self.padding
        tokens = torch.where(states.any(-1), padding + 1, padding)  # for the tower's mask alone
        tower = self.encoder.clip.text
        hooks = [
            self.trained[0].register_forward_pre_hook(lambda _, inputs: (states, *inputs[1:])),
            tower.proj.register_forward_hook(lambda _, inputs, __: inputs[0]),  # replaces the head's result
        ]
        setattr(self.owner, self.name, self.trained)
        try:
            return tower(tokens)
        finally:
            setattr(self.owner, self.name, self.layers)
            for hook in hooks:
                hook.remove()

    @property
    def padding(self) -> int:
        """The token behind the end of a text."""
        return self.encoder.clip.text.config.pad_token_id


class TextStates:
    """What reaches the trained layers, of w texts: fp16, in a file."""

    def __init__(self, layers: TextLayers, texts: Sequence[str], folder: Path):
        """Computes the file unless the folder has it. Raises UserError for a full disk."""
        encoder = layers.encoder
        parts = list(batched(texts, TOGETHER))
        masks = [(encoder.tokenize(part) != layers.padding) for part in parts]
        self._lengths = np.concatenate([mask.sum(1).numpy() for mask in masks])  # (w,)
        self._ends = self._lengths.cumsum()

        def blocks() -> Iterator[np.ndarray]:
            for part, mask in zip(tqdm(parts, desc="text states", unit="batch"), masks, strict=True):
                yield layers.states(encoder.tokenize(part).to(encoder.device)).cpu()[mask].half().numpy()

        width = encoder.clip.text.config.hidden_size
        file = folder / f"{fingerprint(tower_digest(encoder, 'texts'), len(layers.trained), list(texts))}.npy"
        with main_process_first(), disk_errors_explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                aside = file.with_suffix(".partial")
                write_array(aside, (int(self._ends[-1]), width), np.float16, blocks())
                aside.rename(file)
        self._states = np.load(file, mmap_mode="r")

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """Of these texts (b,) -> (b, n, u) fp32, zero for padding."""
        lengths, ends = self._lengths[rows], self._ends[rows]
        longest = int(lengths.max(initial=1))
        padded = np.zeros((len(rows), longest, self._states.shape[1]), dtype=np.float32)
        padded[np.arange(longest) < lengths[:, None]] = self._states[expand_ranges(ends - lengths, ends)[1]]
        return padded
