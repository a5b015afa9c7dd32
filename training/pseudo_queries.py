"""Queries for images without texts: imagined, and answered by the encoder itself.

A folder of images names neither queries nor targets, yet fusion, quantizer and decoder have to learn where people's
queries lie, and those of words lie in another part of the encoder's space than images do (the modality gap). So
queries are made from what is there, and the encoder teaches what answers them:

- *Words.* Every image is taken apart into everyday words and names of ImageNet's classes: matching pursuit over the
  words' embeddings, images and words each less their own mean, which takes the gap away (Bhalla et al. 2024,
  "Interpreting CLIP with sparse linear concept embeddings"). A few of an image's words make a text such as "dog, snow
  and ball", which goes behind an instruction through the text tower, as a person's text will: training meets true
  text features.
- *Images.* Every image is a query for images, too: beside an instruction it is another view of itself.
- *Answers.* What dense search by this encoder finds first among the images answers a query, so that IDs learn to
  find what the encoder finds; near-duplicates answer together.

What lies between a query and its answers is learned as everywhere, by interpolation (Eq. 11) in the decoder's
training. Queries and judgements are ordinary files of the collection: people can read what was imagined.

Shapes: m images, v words, c words of an image, d embedding dim, q queries, k answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from open_clip import IMAGENET_CLASSNAMES
from torch import Tensor
from tqdm import tqdm

from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.collections.writer import further_queries
from genius.encoding.image_loader import ImagePreprocessor, load_images
from genius.errors import UserError
from genius.models.encoder import Encoder, query_text
from genius.schema import Item, LabelledQuery, Modality
from training.image_augmentation import open_item_image
from training.pairs import Candidates

TEXT_TO_IMAGE, IMAGE_TO_IMAGE = 0, 4  # M-BEIR's tasks
PHRASE = "a photo of {}"
TAKEN = 6  # words that an image is taken apart into
PATTERNS = (
    ("{}", "a photo of {}"),
    ("{} and {}", "{} with {}", "{} {}"),
    ("{}, {} and {}", "{} {} with {}"),
    ("{}, {}, {} and {}", "{} {} with {} and {}"),
)  # of one to four words
EVERYDAY = """
    man woman boy girl child baby people crowd couple family friends team player face hand hair smile dog puppy cat
    horse cow sheep bird fish animal tree flower grass leaves forest field garden park mountain hill rock sand beach sea
    ocean wave lake river water snow ice rain sky cloud sun sunset night street road city building house room kitchen
    window door wall fence bridge stairs bench table chair bed car truck bus bicycle motorcycle train boat airplane ball
    toy game book phone computer camera sign letters map food fruit vegetables bread cake meat soup drink bottle cup
    plate shirt dress trousers jacket coat hat shoes boots glasses bag jewellery uniform costume swimming running
    jumping walking sitting standing lying sleeping playing climbing riding skating skiing surfing dancing singing
    eating drinking cooking reading working fighting holding throwing catching looking smiling red orange yellow green
    blue purple pink brown black white grey gold wooden metal stone striped spotted shiny dark bright small large old
    new round tall indoors outdoors portrait close-up drawing painting logo pattern market restaurant shop office school
    church museum stadium playground party wedding concert race parade"""  # what photographs often show
FEWEST = 20  # images
HELD_OUT = 10  # one image of so many asks, and answers, in the validation split
BLOCK = 1024  # rows that meet all words or all images at a time


@dataclass(frozen=True)
class Recipe:
    """Which queries are made; `python -m training.benchmarks.own_folder` measures what each part is worth."""

    texts: int = 4  # of each image
    images: bool = True  # every image is a query, too
    answers: int = 3  # of dense search for each query; 0: the image that it was made from
    sample: int = 20_000  # images that ask and answer, at most


RECIPE = Recipe()


@dataclass(frozen=True)
class Imagined:
    """A query before it is answered."""

    image: int  # the number of the image that it was made from
    text: str = ""  # empty: the image itself asks


def imagine(collection: Collection, encoder: Encoder, seed: int, batch: int, recipe: Recipe, workers: int = 0) -> None:
    """Write training and validation queries into a collection of images.

    batch: things that are encoded together. workers: processes that open images; 0: threads.

    Raises UserError if there are fewer than FEWEST images, one cannot be opened, or instructions are missing.
    """
    rng = np.random.default_rng(seed)
    images, phrasings = sample_images(collection, recipe.sample, rng), collection.instructions()
    datasets = [key_dataset(id_key(item.id)) for item in images]
    names = {number: collection.dataset_name(number) for number in sorted(set(datasets))}
    for number, name in names.items():
        if (number, Modality.TEXT, Modality.IMAGE) not in phrasings:
            raise UserError(
                f"{collection.root} has no instruction for {name}, text to image; add a line to its "
                "instructions/query_instructions.tsv"
            )
    vectors = embed_images(encoder, collection, images, batch, workers)
    words = visual_words()
    concepts = matching_pursuit(vectors, embed_texts(encoder, [PHRASE.format(word) for word in words], batch), TAKEN)
    order = rng.permutation(len(images))
    splits = {"val": np.sort(order[: len(order) // HELD_OUT]), "train": np.sort(order[len(order) // HELD_OUT :])}
    written = dict.fromkeys(names, 0)
    with further_queries(collection.root) as writer:
        for split, rows in splits.items():
            asked = [
                query
                for row in rows
                for query in imagined(int(row), [words[word] for word in concepts[row]], recipe, rng)
            ]
            texts = [
                query_text(phrasings[datasets[query.image], Modality.TEXT, Modality.IMAGE][0], query.text)
                for query in asked
                if query.text
            ]
            asking = vectors[[query.image for query in asked]]
            asking[torch.tensor([bool(query.text) for query in asked])] = embed_texts(encoder, texts, batch)
            answers = rows[nearest(asking, vectors[rows], recipe.answers).numpy()]
            for query, found in zip(asked, answers, strict=True):
                number = datasets[query.image]
                written[number] += 1
                writer.query(labelled(query, f"{number}:{written[number]}", images, found), names[number], split)
    print(f"imagined: {sum(written.values()):,} queries for {len(images):,} images")


def sample_images(collection: Collection, most: int, rng: np.random.Generator) -> list[Item]:
    """Images of a collection in its order, all if they are not too many. Raises UserError for fewer than FEWEST."""
    rows = np.flatnonzero(Candidates.read(collection).modalities == Modality.IMAGE)
    if len(rows) < FEWEST:
        raise UserError(
            f"{collection.root} has no queries and {len(rows)} images without texts; training needs at "
            f"least {FEWEST} images, or texts beside them"
        )
    chosen = set(rng.permutation(rows)[:most].tolist())
    return [item for row, item in enumerate(collection.all_candidates()) if row in chosen]


@torch.inference_mode()
def embed_images(
    encoder: Encoder, collection: Collection, images: Sequence[Item], batch: int, workers: int = 0
) -> Tensor:
    """(m, d). Raises UserError that names an image which cannot be opened."""
    parts = [images[start : start + batch] for start in range(0, len(images), batch)]
    loaded = load_images(
        parts,
        lambda part: [item.image for item in part],
        ImagePreprocessor(partial(open_item_image, collection), encoder.config.preprocess),
        workers,
    )
    return torch.cat(
        [
            encoder(pixels.to(encoder.device), there, torch.zeros(0), ~there).embedding().cpu()
            for _, pixels, there in tqdm(loaded, desc="look at images", unit="batch", total=len(parts))
        ]
    )


def embed_texts(encoder: Encoder, texts: Sequence[str], batch: int) -> Tensor:
    """(q, d)"""
    vectors = torch.zeros(len(texts), encoder.dim)
    for start in range(0, len(texts), batch):
        part = texts[start : start + batch]
        vectors[start : start + batch] = encoder.encode([None] * len(part), part).embedding()
    return vectors


def visual_words() -> list[str]:
    """(v,) words for what can be seen."""
    return list(dict.fromkeys([*EVERYDAY.split(), *IMAGENET_CLASSNAMES]))


def matching_pursuit(images: Tensor, words: Tensor, count: int) -> np.ndarray:
    """Embeddings (m, d) and (v, d) -> (m, c) numbers of words, weightiest first: matching pursuit."""
    words = F.normalize(words - words.mean(0), dim=-1)
    found = []
    for rest in (images - images.mean(0)).split(BLOCK):
        picked = []
        for _ in range(count):
            weight, word = (rest @ words.T).max(1)
            rest = rest - weight[:, None] * words[word]
            picked.append(word)
        found.append(torch.stack(picked, dim=1))
    return torch.cat(found).numpy()


def imagined(image: int, words: Sequence[str], recipe: Recipe, rng: np.random.Generator) -> list[Imagined]:
    """The queries that one image gives; weightier words are drawn more often, and in any order."""
    words = list(dict.fromkeys(words))
    share = 1 / np.arange(1, len(words) + 1)
    queries = [Imagined(image)] if recipe.images else []
    for _ in range(recipe.texts):
        patterns = PATTERNS[rng.integers(min(len(PATTERNS), len(words)))]
        pattern = patterns[rng.integers(len(patterns))]
        drawn = rng.choice(words, size=pattern.count("{}"), replace=False, p=share / share.sum())
        queries.append(Imagined(image, pattern.format(*drawn)))
    return list(dict.fromkeys(queries))


def nearest(queries: Tensor, images: Tensor, answers: int) -> Tensor:
    """Embeddings (q, d) and (m, d) -> (q, k) the numbers of the images that dense search finds first."""
    return torch.cat([(part @ images.T).topk(min(answers, len(images))).indices for part in queries.split(BLOCK)])


def labelled(query: Imagined, name: str, images: Sequence[Item], answers: Sequence[int]) -> LabelledQuery:
    """The query as a collection keeps it; without answers, the image it was made from is the answer."""
    positives = tuple(images[row].id for row in answers) or (images[query.image].id,)
    if query.text:
        return LabelledQuery(name, Modality.TEXT, TEXT_TO_IMAGE, query.text, positives=positives)
    return LabelledQuery(name, Modality.IMAGE, IMAGE_TO_IMAGE, image=images[query.image].image, positives=positives)
