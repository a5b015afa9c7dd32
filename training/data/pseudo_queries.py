"""Pseudo-queries for images without texts, with dense search as the teacher.

A folder of images has neither queries nor targets, but fusion, quantizer and decoder must learn
where queries lie in the encoder's space, and texts lie in another part of it than images (the
modality gap). So queries are generated from the images, and the encoder finds their targets:

- *Texts.* Every image is decomposed into everyday words and names of ImageNet's classes by matching
  pursuit over the embeddings of the words. Images and words are centered by their own means, which
  removes the gap (Bhalla et al. 2024, "Interpreting CLIP with sparse linear concept embeddings"). A
  few of these words make a text such as "dog, snow and ball", which passes through the text tower
  with an instruction, as the text of a visitor will.
- *Images.* Every image is also a query for images: with an instruction it has another fused feature
  than alone.
- *Targets.* The targets of a query are its first results in dense search by this encoder, so that
  the IDs learn to find what the encoder finds, and near-duplicates are targets together.

Queries and qrels are ordinary files of the collection, which people can read.

Shapes: m images, v words, c words of an image, d embedding dim, q queries, k targets.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from open_clip import IMAGENET_CLASSNAMES
from torch import Tensor

from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.collections.writer import further_queries
from genius.encoding.features import batched
from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.schema import LabeledQuery, Modality
from training.data.pairs import CandidateTable, candidates_at

TEXT_TO_IMAGE, IMAGE_TO_IMAGE = 0, 4  # M-BEIR's tasks
PHRASE = "a photo of {}"
WORDS = 6  # of an image
PATTERNS = (
    ("{}", "a photo of {}"),
    ("{} and {}", "{} with {}", "{} {}"),
    ("{}, {} and {}", "{} {} with {}"),
    ("{}, {}, {} and {}", "{} {} with {} and {}"),
)  # of one to four words
EVERYDAY = Path(__file__).with_name("everyday_words.txt")  # what photographs often show
MIN_IMAGES, MAX_IMAGES = 20, 20_000  # that are used as queries and targets
TEXTS, TARGETS = 4, 3  # texts of an image; results of dense search that are the targets of a query
HELD_OUT = 10  # one image in this number belongs to the validation split, one to the test split
BLOCK = 1024  # rows compared with all words or all images at a time


def check_images(collection: Collection) -> None:
    """Raises UserError if the collection has fewer than MIN_IMAGES images, or no instruction for
    queries by text.
    """
    rows = image_rows(collection)
    if len(rows) < MIN_IMAGES:
        raise UserError(
            f"{collection.root} has no queries and {len(rows)} images without texts; training "
            f"needs at least {MIN_IMAGES} images, or texts"
        )
    phrasings = collection.instructions()
    for number in sorted(
        {key_dataset(id_key(item.id)) for item in candidates_at(collection, rows)}
    ):
        if (number, Modality.TEXT, Modality.IMAGE) not in phrasings:
            raise UserError(
                f"{collection.root} has no instruction for {collection.dataset_name(number)}, text "
                "to image; add a line to its instructions/query_instructions.tsv"
            )


def write_pseudo_queries(
    collection: Collection, encoder: Encoder, embeddings: np.ndarray, seed: int, batch: int
) -> None:
    """Write the queries of all splits into a collection of images that passes `check_images`.

    embeddings (n, d): of all candidates, in the order of the collection. batch: texts per forward
    pass.
    """
    rng = np.random.default_rng(seed)
    sampled = np.sort(rng.permutation(image_rows(collection))[:MAX_IMAGES])
    images = candidates_at(collection, sampled)
    phrasings = collection.instructions()
    datasets = [key_dataset(id_key(item.id)) for item in images]
    names = {number: collection.dataset_name(number) for number in sorted(set(datasets))}
    vectors = torch.from_numpy(embeddings[sampled].astype(np.float32))
    words = visual_words()
    concepts = matching_pursuit(
        vectors, embed_texts(encoder, [PHRASE.format(word) for word in words], batch), WORDS
    )
    held_out = len(images) // HELD_OUT
    parts = np.split(rng.permutation(len(images)), [held_out, 2 * held_out])
    splits = dict(zip(("val", "test", "train"), map(np.sort, parts), strict=True))
    written = dict.fromkeys(names, 0)
    with further_queries(collection.root) as writer:
        for split, rows in splits.items():
            queries = [  # (q,) each an image, and a text that was made from it, or none
                (row, text)
                for row in rows.tolist()
                for text in ("", *texts_of_image([words[word] for word in concepts[row]], rng))
            ]
            texts = [
                encoder.wording(phrasings[datasets[row], Modality.TEXT, Modality.IMAGE][0], text)[0]
                for row, text in queries
                if text
            ]
            asked = vectors[[row for row, _ in queries]]  # (q, d)
            asked[torch.tensor([bool(text) for _, text in queries])] = embed_texts(
                encoder, texts, batch
            )
            targets = rows[nearest(asked, vectors[rows], TARGETS).numpy()]
            for (row, text), targets_of_query in zip(queries, targets, strict=True):
                number = datasets[row]
                written[number] += 1
                name = f"{number}:{written[number]}"
                positives = tuple(images[target].id for target in targets_of_query)
                if text:
                    asking = Modality.TEXT, TEXT_TO_IMAGE, text, None
                else:
                    asking = Modality.IMAGE, IMAGE_TO_IMAGE, "", images[row].image
                writer.query(LabeledQuery(name, *asking, positives), names[number], split)
    print(f"pseudo-queries: {sum(written.values()):,} for {len(images):,} images")


def image_rows(collection: Collection) -> np.ndarray:
    """(m,) places of the images among the candidates, ascending."""
    return np.flatnonzero(CandidateTable.read(collection).modalities == Modality.IMAGE)


def embed_texts(encoder: Encoder, texts: Sequence[str], batch: int) -> Tensor:
    """(q, d) embeddings of q texts."""
    return torch.cat(
        [encoder.encode([None] * len(part), part).embedding() for part in batched(texts, batch)]
    )


def visual_words() -> list[str]:
    """(v,) words for visible things."""
    return list(
        dict.fromkeys([*EVERYDAY.read_text(encoding="utf-8").split(), *IMAGENET_CLASSNAMES])
    )


def matching_pursuit(images: Tensor, words: Tensor, count: int) -> np.ndarray:
    """Decompose images into words: embeddings (m, d), (v, d) -> numbers of words (m, c), the
    largest weight first.
    """
    words = F.normalize(words - words.mean(0), dim=-1)
    words_of = []
    for residual in (images - images.mean(0)).split(BLOCK):
        picked = []
        for _ in range(count):
            weight, word = (residual @ words.T).max(1)
            residual = residual - weight[:, None] * words[word]
            picked.append(word)
        words_of.append(torch.stack(picked, dim=1))
    return torch.cat(words_of).numpy()


def texts_of_image(words: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Different texts of the words of one image; earlier words are drawn more often, and in any
    order.
    """
    words = list(dict.fromkeys(words))
    texts = []
    share = 1 / np.arange(1, len(words) + 1)
    for _ in range(TEXTS):
        patterns = PATTERNS[rng.integers(min(len(PATTERNS), len(words)))]
        pattern = patterns[rng.integers(len(patterns))]
        drawn = rng.choice(words, size=pattern.count("{}"), replace=False, p=share / share.sum())
        texts.append(pattern.format(*drawn))
    return list(dict.fromkeys(texts))


def nearest(queries: Tensor, images: Tensor, count: int) -> Tensor:
    """Dense search: embeddings (q, d) and (m, d) -> numbers of the first images (q, k)."""
    return torch.cat(
        [(part @ images.T).topk(min(count, len(images))).indices for part in queries.split(BLOCK)]
    )
