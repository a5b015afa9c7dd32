"""The class bridge: what the classifier of an image tower can tell apart, as a vector of the shared
space (ours).

Heads that are trained on few pictures forget most of what a tower was trained to name. The bridge
keeps it: it adds the mean of the embeddings of all classes, weighted by their probabilities (ConSE,
Norouzi et al. 2014), to what the head makes of an image.

Shapes: b batch, t width of the tower's outputs, d embedding dim, c classes.
"""

import re
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from open_clip.timm_model import TimmModel
from timm.data import ImageNetInfo, infer_imagenet_subset
from torch import Tensor, nn

from genius.errors import UserError


class BridgedHead(nn.Module):
    """A head behind an image tower, and the tower's classifier, whose classes have embeddings."""

    classifier: Tensor  # (c, t)
    classifier_bias: Tensor  # (c,)
    prototypes: Tensor  # (c, d) normalized embeddings of the classes

    def __init__(
        self, head: nn.Module, classes: int, width: int, dim: int, temperature: float, gain: float
    ):
        """temperature: of the softmax. Classifier and embeddings are zero.

        gain: of `weight` once it is trained. The captions that it learns from name few of the
        things that a classifier knows, so it learns too little of them.
        """
        super().__init__()
        self.head, self.temperature, self.gain = head, temperature, gain
        self.register_buffer("classifier", torch.zeros(classes, width))
        self.register_buffer("classifier_bias", torch.zeros(classes))
        self.register_buffer("prototypes", torch.zeros(classes, dim))
        # of the classes, against what the head makes of an image
        self.weight = nn.Parameter(torch.ones(()))

    @torch.no_grad()
    def set_classifier(self, classifier: nn.Linear) -> None:
        """Take over a classifier. Raises RuntimeError if it is of another tower or of other
        classes.
        """
        self.classifier.copy_(classifier.weight)
        self.classifier_bias.copy_(classifier.bias)

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Outputs of the tower (b, t) -> (b, c)."""
        return (
            F.linear(outputs, self.classifier, self.classifier_bias) / self.temperature
        ).softmax(-1)

    def add_classes(
        self, projected: Tensor, outputs: Tensor, prototypes: Tensor, weight: Tensor
    ) -> Tensor:
        """What the head makes of outputs (b, t), projected (b, d), with the mean of the classes ->
        (b, d).

        prototypes (c, d): embeddings of the classes. weight (): of the classes, against what the
        head makes. The length of their mean says how certain the classifier is; its root lets an
        uncertain one say little.
        """
        classes = self.probabilities(outputs) @ prototypes
        # 1 where one class is certain
        certainty = classes.norm(dim=-1, keepdim=True).clamp(min=1e-6)
        return (
            projected + weight * projected.norm(dim=-1, keepdim=True) * classes / certainty.sqrt()
        )

    def forward(self, outputs: Tensor) -> Tensor:
        """(b, t) -> (b, d)."""
        return self.add_classes(
            self.head(outputs), outputs, self.prototypes, self.gain * self.weight
        )


@dataclass(frozen=True)
class ClassTexts:
    """What the classes of a classifier are called, and what they mean."""

    names: list[list[str]]  # (c,) each with its synonyms, the usual name first
    definitions: list[str]  # (c,)

    @classmethod
    def of(cls, labels: str) -> "ClassTexts":
        """The texts of one of timm's sets of ImageNet classes, such as imagenet-1k: WordNet's."""
        info = ImageNetInfo(labels)
        lemmas = info.label_descriptions(detailed=False)
        described = info.label_descriptions(detailed=True)
        definitions = [
            text.removeprefix(name).lstrip(": ")
            for text, name in zip(described, lemmas, strict=True)
        ]
        return cls([name.split(", ") for name in lemmas], definitions)

    @property
    def entries(self) -> list[str]:
        """ "Sax (saxophone): a single-reed woodwind with a conical bore." """
        return [
            entry_text(names[0], names[1:], text)
            for names, text in zip(self.names, self.definitions, strict=True)
        ]


def entry_text(name: str, synonyms: list[str], definition: str) -> str:
    """An entry of an encyclopedia, with three synonyms at most."""
    shown = ", ".join(synonyms[:3])
    return f"{name[:1].upper()}{name[1:]}{f' ({shown})' if shown else ''}: {definition}."


def classes_of(tower: Any) -> str:
    """timm's name of the classes that a tower's classifier tells apart; empty for none, or for
    classes without names.

    Their number is not enough: the tower's configuration must say so, by the names of all classes
    or else by the tag of its weights, such as augreg_in21k_ft_in1k.
    """
    labels = infer_imagenet_subset(
        {"num_classes": getattr(tower.get_classifier(), "out_features", 0)}
    )
    if labels is None:
        return ""
    names, tag = (tower.pretrained_cfg.get(fact) for fact in ("label_names", "tag"))
    if names:
        return labels if [*names] == ImageNetInfo(labels).label_names() else ""
    return labels if re.findall(r"in(\d+k)", tag or "")[-1:] == [labels.split("-")[1]] else ""


def add_class_bridge(clip: Any, dim: int, labels: str, temperature: float, gain: float) -> None:
    """Put a bridge around the image head of a model with a timm tower.

    Raises UserError for another tower, and for classes that have no names.
    """
    head: nn.Module = clip.visual.head if isinstance(clip.visual, TimmModel) else nn.Identity()
    first = next((layer for layer in head.modules() if isinstance(layer, nn.Linear)), None)
    if first is None:
        raise UserError(
            "a class bridge needs an image tower of timm with a head; this encoder has none"
        )
    try:
        classes = ImageNetInfo(labels).num_classes()
    except AssertionError:
        raise UserError(
            f"the classes {labels!r} of the class bridge have no names; expected "
            "imagenet-1k or another set of timm's"
        ) from None
    clip.visual.head = BridgedHead(head, classes, first.in_features, dim, temperature, gain)
