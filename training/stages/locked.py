"""Locked-tower training (LiT, Zhai et al. 2022): pretrained towers stay as they are, and heads
learn on their outputs.

The outputs are features that are computed once (tower_features.py), so an epoch takes seconds.

Shapes: b inputs, q queries, p phrasings, c candidates, k classes of the bridge, v views of an
image, d embedding dim, t and u the widths of the towers' outputs.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.features import EncoderFeatureCache, EncoderInput
from genius.errors import UserError
from genius.files import write_json
from genius.models.class_bridge import BridgedHead, ClassTexts
from genius.models.encoder import Encoder, Features
from genius.models.heads import fold_standardization
from genius.texts import normalize_text, query_text
from training.command_line import Arguments
from training.data.class_pictures import is_picture_path, with_pictures
from training.data.encoder_inputs import OWN_INSTRUCTION, Inputs, InstructionSwaps, needed_items
from training.data.pairs import Pairs, draw_phrasings
from training.distributed import barrier, is_main, local_slice
from training.stages.features import fill_files
from training.stages.tower_features import NAMES, Tower, Views, source_of

BATCH = 64  # views of images, or texts, that pass a tower together


class LockedEncoder(nn.Module):
    """An encoder of which only the heads are trained, on what reaches them; stands in for it in
    training.

    Its weights are those that are trained, so a checkpoint holds no towers. The towers stay in eval
    mode.
    """

    encoder: Encoder
    bridge: BridgedHead | None
    heads: tuple[nn.Module, nn.Module]  # of images and of texts
    # (2, k, u) outputs of the text tower for the names and definitions of the bridge's classes
    classes: Tensor

    def __init__(self, encoder: Encoder, input_dropout: float = 0.0):
        """Locks the towers. input_dropout: of their outputs. Raises UserError for a tower without a
        head.
        """
        super().__init__()
        split = encoder.split()
        bridge = split.image_head if isinstance(split.image_head, BridgedHead) else None
        heads = bridge.head if bridge else split.image_head, split.text_head
        vars(self).update(encoder=encoder, bridge=bridge, heads=heads)  # which are no submodules
        self.device = encoder.device
        self.dropout = nn.Dropout(input_dropout)
        # (t,) and (u,) mean and deviation
        self.standardization: list[tuple[Tensor, Tensor] | None] = [None, None]
        self._embedded: Tensor | None = None
        encoder.eval().requires_grad_(False)
        for head in heads:
            head.requires_grad_(True)
        if bridge is not None:
            bridge.weight.requires_grad_(True)
        self.logit_scale.requires_grad_(True)
        self.trained = nn.ParameterDict(
            {
                name.replace(".", "/"): weight
                for name, weight in encoder.named_parameters()
                if weight.requires_grad
            }
        )

    @property
    def logit_scale(self) -> nn.Parameter:
        return self.encoder.logit_scale

    def train(self, mode: bool = True) -> "LockedEncoder":
        super().train(mode)
        for head in self.heads:
            head.train(mode)
        return self

    def standardize(self, image: tuple[Tensor, Tensor], text: tuple[Tensor, Tensor]) -> None:
        """Give the heads standardized outputs from now on; mean and standard deviation: image (t,)
        each, text (u,) each.
        """
        for number, (head, (mean, std)) in enumerate(zip(self.heads, (image, text), strict=True)):
            first = next((layer for layer in head.modules() if isinstance(layer, nn.Linear)), None)
            if first is None or first.bias is None:  # into which the mean could be folded
                mean = torch.zeros_like(mean)
            self.standardization[number] = mean.to(self.device), std.to(self.device)

    @torch.no_grad()
    def fold(self) -> None:
        """Change the heads so that they take outputs that are not standardized; keep the embeddings
        of the classes.
        """
        self.eval()
        if self.bridge is not None:
            self.bridge.prototypes.copy_(self._embed_classes())
        for number, head in enumerate(self.heads):
            if mean_and_std := self.standardization[number]:
                fold_standardization(head, *mean_and_std)
                self.standardization[number] = None

    def forward(
        self, images: Tensor, image_mask: Tensor, texts: Tensor, text_mask: Tensor
    ) -> Features:
        """As Encoder.forward, of what the towers put out: images (·, t), texts (·, u)."""
        of_images = self.encoder.encode_present(self._project_images, images, image_mask)
        of_texts = self.encoder.encode_present(partial(self._project, 1), texts, text_mask)
        return Features(of_images, of_texts, image_mask, text_mask)

    def _project_images(self, outputs: Tensor) -> Tensor:
        """Outputs of the image tower (b, t) -> (b, d), with the classes of the bridge."""
        projected = self._project(0, outputs)
        if self.bridge is None:
            return projected
        return self.bridge.add_classes(
            projected, outputs, self._embed_classes(), self.bridge.weight
        )

    def _embed_classes(self) -> Tensor:
        """(k, d) normalized; the queries and the targets of a training step share them until the
        step's gradient.
        """
        if self._embedded is not None and torch.is_grad_enabled():
            return self._embedded
        embeddings = self._project(1, self.classes.flatten(0, 1)).unflatten(
            0, self.classes.shape[:2]
        )
        embedded = F.normalize(embeddings.mean(0), dim=-1)
        if embedded.requires_grad:
            self._embedded = embedded
            embedded.register_hook(self._forget_classes)
        return embedded

    def _forget_classes(self, gradient: Tensor) -> None:
        self._embedded = None

    def _project(self, number: int, outputs: Tensor) -> Tensor:
        """Outputs of a tower (b, t) or (b, u) -> (b, d)."""
        if mean_and_std := self.standardization[number]:
            outputs = (outputs - mean_and_std[0]) / mean_and_std[1]
        return self.heads[number](self.dropout(outputs))


class LockedLoader:
    """Batches of outputs of the towers, which stand in `Inputs` for pixels and tokens."""

    def __init__(
        self,
        collection: Collection,
        splits: Sequence[Pairs],
        arguments: Arguments,
        encoder: LockedEncoder,
        swaps: InstructionSwaps | None,
    ):
        """splits: the training queries, then those of validation, which are encoded with one
        phrasing.

        Computes the outputs that the run lacks. Raises UserError if the collection has no images or
        no texts.
        """
        settings, seed = arguments.settings.encoder, arguments.settings.seed
        self.settings, self.encoder, self.swaps, self._splits = settings, encoder, swaps, splits
        self.candidate_rows, self.items = needed_items(collection, splits)
        images = [[item.image for item in self.items], *(pairs.images for pairs in splits)]
        paths = [path for path in dict.fromkeys(chain(*images)) if path]
        files = [path for path in paths if not is_picture_path(path)]
        if not files:
            raise UserError(
                f"{collection.root} has no images among its training queries and "
                "candidates, so an image tower has "
                "nothing to learn from; set encoder.locked.enabled to false, or add images"
            )
        bridge = encoder.encoder.config.model.get("bridge")
        of_classes = ClassTexts.of(bridge["labels"]) if bridge else ClassTexts([], [])
        texts = self._number_texts(collection, of_classes, np.random.default_rng(seed))
        views = Views(collection, settings, seed)

        def outputs(
            kind: str, names: list[str], inputs: list[EncoderInput], array: str
        ) -> np.ndarray:
            source = source_of(encoder.encoder, kind, names, views)
            folder = arguments.run / "towers" / kind
            tower = Tower(encoder.encoder, kind)
            nothing = EncoderFeatureCache(keep=0)
            given = source, inputs, len(inputs), 1, tower, views, BATCH, arguments.workers, nothing
            made, _ = fill_files(folder, *given, (array,))
            if is_main():
                write_json(folder / NAMES, names)
            barrier()
            return made.arrays[array]

        of_images = [EncoderInput(name, [""]) for name in views.names(files)]
        self.photographs = outputs("images", files, of_images, "image")
        of_texts = [EncoderInput(None, [text]) for text in texts]
        self.text_outputs = outputs("texts", texts, of_texts, "text")[:, 0]
        if encoder.bridge is not None:
            of_names = torch.from_numpy(self.text_outputs[self._class_texts].astype(np.float32))
            encoder.classes = of_names.to(encoder.device)
        numbered_paths, self.image_outputs = with_pictures(
            files, self.photographs, encoder.bridge, settings.locked, seed
        )
        # (c,), (q,) of each split
        self._candidate_images, *self._query_images = numbered(images, numbered_paths)

    def _number_texts(
        self, collection: Collection, classes: ClassTexts, rng: np.random.Generator
    ) -> list[str]:
        """Draw phrasings, and note the number of each text among the distinct ones; returns these.

        Texts of similar length stand next to each other, so that little padding is encoded.
        """
        of_items = [normalize_text(item.text) for item in self.items]
        of_classes = [", ".join(names) for names in classes.names] + classes.definitions
        of_queries: list[np.ndarray] = []  # (q, p) of each split
        # (q, p) of each split: the number of the instruction that a phrasing has instead of its
        # own, or OWN_INSTRUCTION
        self._drawn: list[np.ndarray] = []
        apart = self.encoder.encoder.config.apart
        for pairs, phrasings in zip(self._splits, (self.settings.locked.phrasings, 1), strict=True):
            inputs = draw_phrasings(pairs, phrasings, rng, apart)
            worded = [list(map(normalize_text, each.texts)) for each in inputs]
            of_queries.append(np.array(worded, dtype=object))
            self._drawn.append(np.full(of_queries[-1].shape, OWN_INSTRUCTION))
        known = dict.fromkeys([*of_items, *of_classes, *of_queries[0].flat, *of_queries[1].flat])
        if self.swaps is not None:
            self._swap_instructions(self.swaps, of_queries[0], rng)
            known |= dict.fromkeys(of_queries[0].T.flat)
        known.pop("", None)
        if not known:
            raise UserError(f"{collection.root} has no texts")
        texts = sorted(known, key=len)
        self._candidate_texts, class_texts, *self._query_texts = numbered(
            [of_items, of_classes, *of_queries], texts
        )
        self._class_texts = class_texts.reshape(2, -1)  # names, definitions
        return texts

    def _swap_instructions(
        self, swaps: InstructionSwaps, texts: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Give some of the texts (q, p) of the training queries the instruction of another row."""
        pairs = self._splits[0]
        queries = np.arange(len(pairs))
        positives = pairs.draw_positives(queries, rng)
        for drawn, phrased in zip(self._drawn[0].T, texts.T, strict=True):
            drawn[:] = swaps.draw(queries, positives, rng)
            instructions = swaps.replaced([""] * len(queries), drawn, rng)
            for query in np.flatnonzero(drawn != OWN_INSTRUCTION):
                text = query_text(instructions[query], pairs.texts[query])
                phrased[query] = normalize_text(text)

    def load_pairs(
        self, pairs: Pairs, batches: Iterable[np.ndarray], rng: np.random.Generator, training: bool
    ) -> Iterator[tuple[Inputs, Inputs]]:
        """For each batch of query numbers (b,): the queries, and a random positive of each."""
        split = next(number for number, each in enumerate(self._splits) if each is pairs)
        images, texts = self._query_images[split], self._query_texts[split]
        for queries in batches:
            rows = pairs.draw_positives(queries, rng)
            place = queries, rng.integers(texts.shape[1], size=len(queries))
            query = queries, self._drawn[split][place], images[queries], texts[place]
            at = np.searchsorted(self.candidate_rows, rows)
            no_swaps = np.full(len(rows), OWN_INSTRUCTION)
            target = rows, no_swaps, self._candidate_images[at], self._candidate_texts[at]
            yield self._inputs(*query, rng, training), self._inputs(*target, rng, training)

    def _inputs(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: np.ndarray,
        texts: np.ndarray,
        rng: np.random.Generator,
        training: bool,
    ) -> Inputs:
        """This process's slice of the outputs of these images and texts (b,), −1 for none; each
        image in one view.
        """
        views, device = self.settings.locked.views, self.encoder.device
        image_mask = images >= 0
        text_mask = texts >= 0
        image_rows = images[image_mask] * views
        text_rows = texts[text_mask]
        if training:
            image_rows = image_rows + rng.integers(views, size=len(image_rows))
        image_rows = image_rows[local_slice(len(image_rows))]
        text_rows = text_rows[local_slice(len(text_rows))]
        image = self.image_outputs[image_rows].astype(np.float32)
        text = self.text_outputs[text_rows].astype(np.float32)
        arrays = image_mask, text_mask, image, text
        return Inputs(rows, instruction, *(torch.from_numpy(array).to(device) for array in arrays))


def numbered(groups: Sequence[Sequence | np.ndarray], names: Sequence[str]) -> list[np.ndarray]:
    """For each group of names an int32 array of its shape: the number of each name; −1 for none."""
    numbers = {name: number for number, name in enumerate(names)}
    shaped = [np.array(group, dtype=object) for group in groups]
    return [
        np.array([numbers[name] if name else -1 for name in group.flat], np.int32).reshape(
            group.shape
        )
        for group in shaped
    ]
