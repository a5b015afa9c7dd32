"""Train the reader of a run: it reads what a request asks for, and about what (ours).

    python -m training.reader COLLECTION RUN [--device cpu]

It learns from what people type (requests.py), with names and sentences of the collection as
contents, and from the collection's instructions. The run's encoder stays as it is. Prints how many
of the held-out phrasings it reads right.

Shapes: b requests, n words, u width of the text tower, r readings.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.collections.records import Instructions
from genius.encoding.features import batched
from genius.index.store import Index
from genius.models.encoder import Encoder
from genius.models.reader import Reader, ReaderConfig, word_states
from genius.models.saving import round_to_half
from genius.run import BUILT_FROM, Run, expect_run
from genius.schema import READINGS, Modality
from training.command_line import parse_run
from training.data.requests import (
    Contents,
    Request,
    instruction_requests,
    read_phrasings,
    requests_of,
)
from training.distributed import run_alone
from training.stage import only_trainer

PART = "reader"
EACH = 4  # requests of each phrasing, with other contents
OF_INSTRUCTIONS = 3  # times that each instruction of the collection is seen in an epoch
EPOCHS, BATCH = 12, 64
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.05
ITEMS = 4096  # that are read together
LEAST = 0.5  # mean probability of a reading over the instructions of a row that asks for it
NO_TAG = -100  # which cross entropy leaves out


def main(arguments: Sequence[str] | None = None) -> None:
    train(*parse_run("training.reader", __doc__, arguments))


def train(root: Path, path: Path, device: str, seed: int = 0) -> None:
    """Train the reader and publish it as a part of the run.

    Raises UserError if the run has no encoder, its text tower has no states of words, or another
    process changes it.
    """
    expect_run(path)
    started = time.perf_counter()
    with only_trainer(path):
        run = Run(path)
        collection = Collection(root)
        encoder = Encoder.load(run.folder("encoder")).for_inference().to(device)
        phrasings = read_phrasings()
        rng = Random(seed)
        contents = Contents.of(collection, phrasings)
        learned = [phrasing for phrasing in phrasings if not phrasing.is_held_out]
        requests = [
            *requests_of(learned, contents, EACH, rng),
            *instruction_requests(collection.instructions()),
        ]
        examples = Examples.encode(encoder, requests)
        print(
            f"reader: {len(requests):,} requests of {len(learned):,} phrasings, "
            f"{time.perf_counter() - started:.0f} s"
        )
        reader = Reader(ReaderConfig(examples.states[0].shape[1])).to(device)
        fit(reader, examples, seed)
        known = known_instructions(
            reader, encoder, collection.instructions(), held_by(run, collection)
        )
        reader.config = replace(reader.config, instructions=known)
        round_to_half(reader)
        if held_out := [phrasing for phrasing in phrasings if phrasing.is_held_out]:
            print(
                describe(
                    reader, Examples.encode(encoder, list(requests_of(held_out, contents, 1, rng)))
                )
            )
        run.publish(PART, partial(reader.save, half=True), tuple(sorted(BUILT_FROM[PART])))
        print(f"reader: {time.perf_counter() - started:.0f} s")


def held_by(run: Run, collection: Collection) -> Counter[tuple[int, Modality]]:
    """How many items of each dataset and modality the run's index holds or, without one, the
    collection.
    """
    items = collection.all_candidates()
    if run.has("index"):
        index = Index.load(run.folder("index"))
        items = chain.from_iterable(map(index.items, batched(range(index.n), ITEMS)))
    return Counter((key_dataset(id_key(item.id)), item.modality) for item in items)


@dataclass(frozen=True)
class Examples:
    """Requests with the states of their words."""

    states: list[Tensor]  # (n, u) of each request, in half precision
    tags: list[Tensor]  # (n,) of each request
    picture: Tensor  # (requests,) bool
    right: Tensor  # (requests, r) bool

    @classmethod
    def encode(cls, encoder: Encoder, requests: Sequence[Request]) -> "Examples":
        """The shortest are encoded first, so that little is padded."""
        order = sorted(range(len(requests)), key=lambda place: len(requests[place].words))
        states: dict[int, Tensor] = {}
        for places in batched(order, BATCH):
            of_words, masks = word_states(encoder, [requests[place].words for place in places])
            for place, of_request, mask in zip(places, of_words, masks, strict=True):
                states[place] = of_request[mask].half()
        device = encoder.device
        right = [[name in request.readings for name in READINGS] for request in requests]
        return cls(
            [states[place] for place in range(len(requests))],
            [torch.tensor(request.tags, device=device) for request in requests],
            torch.tensor([request.picture for request in requests], device=device),
            torch.tensor(right, device=device),
        )

    def __len__(self) -> int:
        return len(self.states)

    def batch(self, places: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """States (b, n, u), masks (b, n), pictures (b,), which readings are right (b, r), and tags
        (b, n).
        """
        states, tags = (
            [values[place] for place in places.tolist()] for values in (self.states, self.tags)
        )
        padded = pad_sequence(tags, batch_first=True, padding_value=NO_TAG)
        mask = padded != NO_TAG
        words = pad_sequence(states, batch_first=True).float()
        return words, mask, self.picture[places], self.right[places], padded


def fit(reader: Reader, examples: Examples, seed: int) -> None:
    """Train: −log of the probability of the right readings, and of the tag of each word."""
    torch.manual_seed(seed)
    is_instruction = examples.right.sum(1) > 1
    places = torch.arange(len(examples), device=examples.picture.device)
    places = places.repeat_interleave(torch.where(is_instruction, OF_INSTRUCTIONS, 1))
    optimizer = torch.optim.AdamW(reader.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * -(-len(places) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    reader.train()
    for _ in range(EPOCHS):
        for batch in places[torch.randperm(len(places))].split(BATCH):
            states, mask, picture, right, tags = examples.batch(batch)
            readings, of_words = reader(states, mask, picture)
            of_reading = -readings.masked_fill(~right, -torch.inf).logsumexp(1).mean()
            loss = of_reading + F.nll_loss(
                of_words.flatten(0, 1), tags.flatten(), ignore_index=NO_TAG
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    reader.eval()


@torch.inference_mode()
def known_instructions(
    reader: Reader,
    encoder: Encoder,
    instructions: Instructions,
    held: Mapping[tuple[int, Modality], int],
) -> dict[str, str]:
    """For a modality of queries and a reading an instruction: the plainest of the row with most
    candidates.

    held: how many items of a dataset and modality can be found. Only rows count whose instructions,
    on average, are read so.
    """
    known: dict[str, tuple[int, str]] = {}
    for (dataset, query, target), texts in instructions.items():
        has_picture = query != Modality.TEXT
        states, mask = word_states(encoder, [text.split() for text in texts])
        readings, _ = reader(
            states, mask, torch.full((len(texts),), has_picture, device=states.device)
        )
        for column, name in enumerate(READINGS):
            probabilities = readings[:, column].exp()
            key = f"{query.name.lower()} {name}"
            count = held[dataset, target]
            fits = READINGS[name] == target and probabilities.mean() > LEAST
            if fits and count > known.get(key, (0, ""))[0]:
                known[key] = count, texts[int(probabilities.argmax())]
    return {key: text for key, (_, text) in known.items()}


@torch.inference_mode()
def describe(reader: Reader, examples: Examples) -> str:
    """How many requests are read right, and of how many all words are, in %."""
    states, mask, picture, right, tags = examples.batch(
        torch.arange(len(examples), device=examples.picture.device)
    )
    readings, of_words = reader(states, mask, picture)
    modality = torch.tensor(list(READINGS.values()), device=readings.device)
    kinds = torch.stack([readings[:, modality == kind].logsumexp(1) for kind in Modality], dim=1)
    wanted = right.int().argmax(1)
    figures = torch.stack(
        [
            kinds.argmax(1) == modality[wanted],
            readings.argmax(1) == wanted,
            ((of_words.argmax(-1) == tags) | (tags == NO_TAG)).all(1),
        ],
        dim=1,
    ).float()
    groups = {"all": torch.ones_like(picture)}
    for column, name in enumerate(READINGS):
        for has_picture, word in ((False, "without"), (True, "with")):
            groups[f"{name} {word} picture"] = (wanted == column) & (picture == has_picture)
    lines = ["reader, held-out phrasings: right kind, right reading, all words, %"]
    for group, members in groups.items():
        if members.any():
            shares = "  ".join(f"{100 * share:5.1f}" for share in figures[members].mean(0).tolist())
            lines.append(f"  {group:28} {int(members.sum()):4}  {shares}")
    return "\n".join(lines)


if __name__ == "__main__":
    run_alone(main)
