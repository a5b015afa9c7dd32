"""Pseudo-pictures of the classes that an image tower can name: trainings see what their photographs
do not show (ours).

A pseudo-picture is a vector that the tower might put out for a picture of a class: the mean output
for pictures that the classifier takes for this class, a share of another picture's, noise, and as
much along the classifier's row as makes the class as probable as in a photograph. `ClassCollection`
adds pseudo-pictures, entries with the names and definitions of the classes, and queries for them to
a collection, so that every stage learns from them. No index has them.

Shapes: n outputs, t width of a tower's outputs, c classes, p pseudo-pictures of a class, v views, b
block.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from genius.collections.layout import TASKS
from genius.collections.mbeir import BenchmarkRow, Collection
from genius.collections.records import Instructions
from genius.index.segments import ConcatenatedArray, Vectors
from genius.models.class_bridge import BridgedHead, ClassTexts
from genius.run import Run
from genius.schema import Item, LabeledQuery, Modality
from training.presets import encoder_config
from training.settings import LockedSettings, Settings

DATASET = "classes"
TRAINED = (0, 2, 3, 6, 8)  # tasks
QUERIES_BY_TEXT = ("{name}", "a photo of a {name}", "{names}", "{definition}")
QUESTIONS = ("What is this?", "What does this picture show?")
VALIDATED = 5  # every fifth class has validation queries: its last pseudo-picture asks
MAX_PICTURES = 100  # of a class
OTHER, NOISE = 0.2, 0.5  # of another picture's output, and of noise, in standard deviations
LEAST, MOST = 0.3, 0.95  # probability of the class of a pseudo-picture
# of the search for it, and the longest step along the row, in lengths of an output
HALVINGS, LONGEST = 12, 2.0
BLOCK = 2048  # outputs that are computed together


class ClassCollection(Collection):
    """A collection, and a dataset of the classes: for each an entry, pseudo-pictures, and pairs of
    both.
    """

    def __init__(self, root: Path | str, labels: str, pictures: int):
        """labels: a name of timm's, see ClassTexts. pictures: pseudo-pictures of each class."""
        super().__init__(root)
        self.labels, self.pictures = labels, pictures
        self._number = 1 + max((dataset for dataset, _, _ in super().instructions()), default=-1)

    def instructions(self) -> Instructions:
        """Those of the collection; the classes have all that any dataset has for a task."""
        instructions = super().instructions()
        for task in TRAINED:
            texts = [
                text
                for key, of_key in instructions.items()
                if key[1:] == TASKS[task]
                for text in of_key
            ]
            if texts:
                instructions[self._number, *TASKS[task]] = list(dict.fromkeys(texts))
        return instructions

    def rows(self) -> list[BenchmarkRow]:
        known = self.instructions()
        tasks = [task for task in TRAINED if (self._number, *TASKS[task]) in known]
        return super().rows() + [
            BenchmarkRow(self._number, task, DATASET, ("train", "val")) for task in tasks
        ]

    def all_candidates(self) -> Iterator[Item]:
        yield from super().all_candidates()
        for class_, entry in enumerate(ClassTexts.of(self.labels).entries):
            yield Item(self._id(Modality.TEXT, class_), Modality.TEXT, entry)
            for picture in range(self.pictures):
                path = picture_path(class_, picture)
                yield Item(self._id(Modality.IMAGE, class_, picture), Modality.IMAGE, image=path)
                yield Item(self._id(Modality.PAIR, class_, picture), Modality.PAIR, entry, path)

    def queries(self, split: str, row: BenchmarkRow | None = None) -> Iterator[LabeledQuery]:
        if row is None or row.dataset_id != self._number:
            yield from super().queries(split, row)
        for each in self.rows() if row is None else [row]:
            if each.dataset_id == self._number and split in each.splits:
                yield from self._queries(split, each.task)

    def _queries(self, split: str, task: int) -> Iterator[LabeledQuery]:
        """Words ask for all pseudo-pictures of their class; a pseudo-picture asks for the entry, or
        for other pairs.
        """
        asked, target = TASKS[task]
        texts = ClassTexts.of(self.labels)
        is_train = split == "train"
        pictures = range(self.pictures - 1) if is_train else [self.pictures - 1]
        for class_ in range(0, len(texts.names), 1 if is_train else VALIDATED):
            names, definition = texts.names[class_], texts.definitions[class_]
            words = [
                text.format(name=names[0], names=", ".join(names), definition=definition)
                for text in QUERIES_BY_TEXT
            ]
            by_text = asked == Modality.TEXT
            questions = words if by_text else QUESTIONS if asked == Modality.PAIR else [""]
            for number in range(len(words)) if by_text else pictures:
                answers = range(1 if target == Modality.TEXT else self.pictures)
                positives = tuple(
                    self._id(target, class_, each)
                    for each in answers
                    if each != number or target != asked
                )
                query = (task * len(texts.names) + class_) * MAX_PICTURES + number
                yield LabeledQuery(
                    f"{self._number}:{query}",
                    asked,
                    task,
                    questions[number % len(questions)],
                    None if by_text else picture_path(class_, number),
                    positives,
                )

    def _id(self, kind: Modality, class_: int, picture: int = 0) -> str:
        return f"{self._number}:{(class_ * len(Modality) + kind) * MAX_PICTURES + picture}"


def picture_path(class_: int, picture: int) -> str:
    """Stands for a path where a pseudo-picture is an item's image; there is no such file."""
    return f"{DATASET}:{class_}:{picture}"


def is_picture_path(path: str) -> bool:
    return path.startswith(f"{DATASET}:")


def training_collection(root: Path, settings: Settings, run: Run) -> Collection:
    """What the stages behind the encoder learn from: the collection, with the classes if the
    settings ask for them.
    """
    pictures = settings.encoder.locked.class_pictures
    collection = Collection(root)
    return (
        with_classes(collection, encoder_config(run)["model"], pictures) if pictures else collection
    )


def with_classes(collection: Collection, model: dict, pictures: int) -> Collection:
    """The collection, with the classes if an encoder of this configuration has a bridge."""
    if not pictures or "bridge" not in model:
        return collection
    return ClassCollection(collection.root, model["bridge"]["labels"], pictures)


def with_pictures(
    paths: list[str],
    photographs: np.ndarray,
    head: nn.Module | None,
    settings: LockedSettings,
    seed: int,
) -> tuple[list[str], Vectors]:
    """Paths (n,) and outputs of the image tower (n · v, t), and behind them those of all
    pseudo-pictures, if the settings ask for these and the head has a bridge.
    """
    pictures = settings.class_pictures
    if not pictures or not isinstance(head, BridgedHead):
        return paths, photographs
    made = class_outputs(photographs, head, pictures, settings.views, seed)
    classes = range(len(head.prototypes))
    further = [picture_path(class_, picture) for class_ in classes for picture in range(pictures)]
    return paths + further, ConcatenatedArray([photographs, made])


@torch.inference_mode()
def class_outputs(
    outputs: np.ndarray, head: BridgedHead, pictures: int, views: int, seed: int
) -> np.ndarray:
    """Pseudo-pictures (c · p · v, t), fp16, the views of one after the other; outputs (n, t): of
    photographs.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = head.classifier.cpu()
    bias = head.classifier_bias.cpu()
    c, t = rows.shape
    count, total, squares = torch.zeros(c), torch.zeros(t), torch.zeros(t)
    sums = torch.zeros(c, t)
    for start in range(0, len(outputs), BLOCK):
        block = torch.from_numpy(outputs[start : start + BLOCK].astype(np.float32))
        shares = ((block @ rows.T + bias) / head.temperature).softmax(-1)  # (b, c) probabilities
        count = count + shares.sum(0)
        sums = sums + shares.T @ block
        total = total + block.sum(0)
        squares = squares + block.square().sum(0)
    mean = total / len(outputs)
    std = (squares / len(outputs) - mean.square()).clamp(min=1e-6).sqrt()
    # a class that the photographs hardly show has an uncertain mean, so it gets less of it
    centers = (sums - count[:, None] * mean) / (count[:, None] + 3)
    # steepest ascent in standardized outputs
    directions = F.normalize((rows - rows.mean(0)) * std, dim=-1) * std
    longest = LONGEST * t**0.5
    made = []
    for classes in torch.arange(c).repeat_interleave(pictures * views).split(BLOCK):
        b = len(classes)
        others = outputs[torch.randint(len(outputs), (b,), generator=generator).numpy()].astype(
            np.float32
        )
        values = mean + centers[classes] + OTHER * (torch.from_numpy(others) - mean)
        values += NOISE * std * torch.randn(b, t, generator=generator)
        goal = LEAST + (MOST - LEAST) * torch.rand(b, generator=generator)
        steps = torch.stack([torch.zeros(b), torch.full((b,), longest)])
        logits = values @ rows.T + bias
        slopes = directions[classes] @ rows.T
        for _ in range(HALVINGS):
            middle = steps.mean(0)
            reached = ((logits + middle[:, None] * slopes) / head.temperature).softmax(-1)[
                torch.arange(b), classes
            ]
            steps = torch.where(
                reached < goal, torch.stack([middle, steps[1]]), torch.stack([steps[0], middle])
            )
        made.append((values + steps.mean(0)[:, None] * directions[classes]).half().numpy())
    return np.concatenate(made)
