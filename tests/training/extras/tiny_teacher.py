"""A sentence encoder in transformers' format whose words lie where a test puts them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

FRAME = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "photo", "of")


def write_teacher(folder: Path, senses: Iterable[Iterable[str]], split: Iterable[str] = ()) -> Path:
    """The words of one sense have one embedding. split: words that take three tokens."""
    senses = [list(words) for words in senses]
    pieces = [piece for word in split for piece in (word[0], f"##{word[1]}", f"##{word[2:]}")]
    vocabulary = [*FRAME, *(word for words in senses for word in words), *dict.fromkeys(pieces)]
    tokenizer = Tokenizer(models.WordPiece({token: at for at, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(folder)
    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=0,
            num_attention_heads=1,
            intermediate_size=4,
            max_position_embeddings=16,
        )
    )
    with torch.no_grad():
        for table in (model.embeddings.position_embeddings, model.embeddings.token_type_embeddings):
            table.weight.zero_()
        for words in senses:
            vector = torch.randn(16)
            for word in words:
                model.embeddings.word_embeddings.weight[vocabulary.index(word)] = vector
    model.save_pretrained(folder)
    return folder
