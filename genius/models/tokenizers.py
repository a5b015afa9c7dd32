"""The tokenizer that an encoder's configuration names: CLIP's, a shorter one made of it, or one of
Hugging Face.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import open_clip
from open_clip.tokenizer import HFTokenizer
from pydantic import ValidationError

from genius.errors import UserError
from genius.models.encoder_config import CLIP_VOCABULARY, TokenizerOptions
from genius.models.towers import has_words
from genius.reading import first_problem

BYTE_TOKENS = 512  # tokens of CLIP's byte-pair encoding before its first merge
SPECIAL_TOKENS = 2  # start and end of a text

Tokenizer: TypeAlias = open_clip.SimpleTokenizer | HFTokenizer


def make_tokenizer(text: Mapping[str, Any], known: int | None) -> Tokenizer:
    """The tokenizer of a model's text settings, `text_cfg` of open_clip.

    known: tokens that the text tower has embeddings for, of a Hugging Face tower. Raises UserError
    if the tokenizer has options other than TokenizerOptions, holds no words, or words that the
    tower does not know.
    """
    length = text.get("context_length", 77)
    options = _options(text)
    if "hf_tokenizer_name" in text:
        name = text["hf_tokenizer_name"]
        tokenizer = HFTokenizer(
            name,
            context_length=length,
            tokenizer_mode=text.get("tokenizer_mode"),
            trust_remote_code=False,  # otherwise transformers may ask on the terminal
            # a folder that lacks a file is not completed from the hub
            local_files_only=Path(name).is_dir(),
            **options,
        )
        if not has_words(tokenizer.tokenizer):
            raise UserError(f"{name} holds no tokenizer")
        if known is not None:
            _check_tokens(tokenizer, known)
        return tokenizer
    vocabulary = text.get("vocab_size", CLIP_VOCABULARY)
    if vocabulary < CLIP_VOCABULARY:
        return ShortTokenizer(vocabulary, length)
    return clip_tokenizer(length, json.dumps(options))


def _options(text: Mapping[str, Any]) -> dict[str, Any]:
    """The checked `tokenizer_kwargs`. Raises UserError."""
    try:
        options = TokenizerOptions.model_validate(text.get("tokenizer_kwargs") or {})
    except ValidationError as error:
        raise UserError(
            f"text_cfg.tokenizer_kwargs cannot be used ({first_problem(error)})"
        ) from None
    return options.model_dump(exclude_unset=True, exclude_none=True)


@lru_cache(4)
def clip_tokenizer(length: int, options: str = "{}") -> open_clip.SimpleTokenizer:
    """CLIP's tokenizer, which takes a quarter of a second to read. options: JSON, a
    `tokenizer_kwargs` of open_clip.
    """
    return open_clip.SimpleTokenizer(context_length=length, **json.loads(options))


class ShortTokenizer(open_clip.SimpleTokenizer):
    """CLIP's tokenizer cut to a smaller vocabulary: fewer words are one token, and any text can
    still be read.

    Merges are ordered by frequency, so keeping the first ones gives the tokenizer of a shorter
    training.
    """

    encoder: dict[str, int]
    bpe_ranks: dict[tuple[str, str], int]

    def __init__(self, vocabulary: int, context_length: int):
        """Raises UserError if the vocabulary is too small for all bytes."""
        super().__init__(context_length=context_length)
        merges = vocabulary - BYTE_TOKENS - SPECIAL_TOKENS
        if merges < 0:
            raise UserError(
                f"text_cfg.vocab_size is {vocabulary}; CLIP's tokenizer needs "
                f"{vocabulary - merges} or more"
            )
        tokens = list(self.encoder)
        kept = tokens[: BYTE_TOKENS + merges] + tokens[-SPECIAL_TOKENS:]
        self.encoder = {token: number for number, token in enumerate(kept)}
        self.decoder = {number: token for token, number in self.encoder.items()}
        self.bpe_ranks = {merge: rank for merge, rank in self.bpe_ranks.items() if rank < merges}
        self.vocab_size = vocabulary
        self.all_special_ids = list(self.encoder.values())[-SPECIAL_TOKENS:]
        self.sot_token_id, self.eot_token_id = self.all_special_ids


def _check_tokens(tokenizer: HFTokenizer, known: int) -> None:
    """Raise UserError if a word has a token that the text tower has no embedding for.

    Special tokens may: those that every text has show when the first one is encoded, and others
    never occur.
    """
    words = set(tokenizer.tokenizer.get_vocab().values()) - set(tokenizer.tokenizer.all_special_ids)
    largest = max(words, default=0)
    if largest >= known:
        raise UserError(
            f"the tokenizer has a token {largest:,} and the text tower knows {known:,}; use the "
            "tokenizer that the tower was trained with, or copy the run again"
        )
