"""The toy world: pictures of coloured shapes, with captions, questions and changes, as a collection
in M-BEIR's format.

    python -m training.toy_world COLLECTION [--scenes 1500] [--seed 0]

A scene is six factors. Every judgment follows from them: the targets of a query are all the
candidates of its dataset that fit it. The factors of an item stand in its src_content; those of a
text are the ones that it names.

    toy_captions     task 0: caption to picture
                          3: picture to caption
    toy_questions         1: question to answer
                          2: question to picture and answer
                          6: picture and question to answer
                          8: picture and question to picture and answer
    toy_changes           4: picture to one of the same shapes
                          7: picture and change to the changed picture

The values of the factors and all words lie in toy_world.toml; what it calls held out is never
trained on.
"""

import hashlib
import io
import math
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from PIL import Image, ImageDraw

from genius.collections.building import RowCount, write_draft
from genius.collections.draft import Candidate, Draft, SourceImage
from genius.collections.layout import TASKS
from genius.collections.writer import CollectionWriter, new_collection
from genius.commands import command_parser
from genius.errors import UserError
from genius.evaluation.arguments import add_seed
from training.distributed import run_alone

SCENES = 1500  # of each dataset
MIN_SCENES, MAX_SCENES = 50, 100_000
SHARES = {"test": 0.1, "val": 0.06, "train": 0.84}  # in the order of their ids
PIXELS = 96  # side of a picture
CELL = 28  # side of the place of each shape
FINER = 3  # shapes are drawn this much larger, for smooth edges

PAPER, INK, STEP = (244, 244, 244), (190, 190, 190), 12  # of stripes and dots
WORLD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
COLOURS = {name: tuple(colour) for name, colour in WORLD["colours"].items()}
HELD_OUT = set(WORLD["held_out"])  # pairs of shape and colour that are never trained on
RADIUS, CENTRE = WORLD["radius"], WORLD["centre"]
BACKGROUNDS, QUESTIONS = WORLD["backgrounds"], WORLD["questions"]
NUMBERS, PLACES = (
    {int(number): of for number, of in WORLD[name].items()} for name in ("numbers", "places")
)


Points = list[tuple[float, float]]


def _turned(points: Points, turns: int) -> Points:
    """Points after this number of quarter turns."""
    return _turned([(-y, x) for x, y in points], turns - 1) if turns else points


def _star(points: int, inner: float) -> Points:
    """A polygon in the unit circle whose corners alternate between two radii."""
    angles = [math.pi * corner / points for corner in range(2 * points)]
    return [
        (radius * math.sin(angle), -radius * math.cos(angle))
        for radius, angle in zip([1.0, inner] * points, angles, strict=True)
    ]


def _heart() -> Points:
    """The usual parametric curve."""
    angles = [math.tau * step / 40 for step in range(40)]
    return [
        (
            math.sin(a) ** 3,
            (-13 * math.cos(a) + 5 * math.cos(2 * a) + 2 * math.cos(3 * a) + math.cos(4 * a)) / 16,
        )
        for a in angles
    ]


ARM = 0.36
SHAPES = {  # corners in the unit square
    "circle": _star(40, 1.0),
    "ring": _star(40, 1.0),  # a hole is cut out of it
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "diamond": [(0.0, -1.0), (0.7, 0.0), (0.0, 1.0), (-0.7, 0.0)],
    "triangle": [(0.0, -1.1), (1.0, 0.7), (-1.0, 0.7)],
    "cross": [
        point
        for turns in range(4)
        for point in _turned([(ARM, -1.0), (ARM, -ARM), (1.0, -ARM)], turns)
    ],
    "star": _star(5, 0.42),
    "heart": _heart(),
}
FACTORS: dict[str, tuple[Any, ...]] = {  # the values of each field of Scene
    "shape": tuple(SHAPES),
    "colour": tuple(COLOURS),
    "number": tuple(NUMBERS),
    "size": tuple(RADIUS),
    "position": tuple(CENTRE),
    "background": tuple(BACKGROUNDS),
}


@dataclass(frozen=True)
class Scene:
    """What a picture shows: equal shapes around one place."""

    shape: str
    colour: str
    number: int
    size: str
    position: str
    background: str

    @classmethod
    def draw(cls, rng: random.Random, split: str) -> Self:
        """A random scene of this split."""
        scene = cls(**{factor: rng.choice(values) for factor, values in FACTORS.items()})
        return scene if scene.fits(split) else cls.draw(rng, split)

    def changed(self, rng: random.Random, factors: Sequence[str], split: str) -> Self:
        """The scene with other values of these factors."""
        others = {
            factor: [value for value in FACTORS[factor] if value != getattr(self, factor)]
            for factor in factors
        }
        scene = replace(self, **{factor: rng.choice(values) for factor, values in others.items()})
        return scene if scene.fits(split) else self.changed(rng, factors, split)

    def fits(self, split: str) -> bool:
        """Whether the split may have its pair of shape and colour."""
        return split != "train" or f"{self.colour} {self.shape}" not in HELD_OUT


def picture(scene: Scene, rng: random.Random, framed: bool = False) -> Image.Image:
    """Draw a scene; rng turns the arrangement and moves each shape a little."""
    image = _background(scene.background)
    if framed:
        ImageDraw.Draw(image).rectangle(
            (0, 0, PIXELS - 1, PIXELS - 1), outline=(90, 90, 90), width=3
        )
    side = CELL * FINER
    mask = Image.new("L", (side, side))
    draw_in = RADIUS[scene.size] * FINER
    pen = ImageDraw.Draw(mask)
    corners = [(side / 2 + x * draw_in, side / 2 + y * draw_in) for x, y in SHAPES[scene.shape]]
    pen.polygon(corners, fill=255)
    if scene.shape == "ring":
        pen.polygon([((x + side / 2) / 2, (y + side / 2) / 2) for x, y in corners], fill=0)
    mask = mask.resize((CELL, CELL), Image.Resampling.BOX)
    for x, y in _turned(PLACES[scene.number], rng.randrange(4)):
        left, top = (
            round(PIXELS * centre + CELL * (offset - 0.5)) + rng.randint(-1, 1)
            for centre, offset in zip(CENTRE[scene.position], (x, y), strict=True)
        )
        image.paste(COLOURS[scene.colour], (left, top), mask)
    return image


def _background(kind: str) -> Image.Image:
    plain = {"white": (255, 255, 255), "black": (20, 20, 20)}
    image = Image.new("RGB", (PIXELS, PIXELS), plain.get(kind, PAPER))
    pen = ImageDraw.Draw(image)
    for start in range(0, PIXELS, STEP) if kind not in plain else ():
        if kind == "striped":
            pen.rectangle((0, start, PIXELS, start + STEP // 2 - 1), fill=INK)
        else:
            for top in range(0, PIXELS, STEP):
                pen.ellipse((start + 4, top + 4, start + 8, top + 8), fill=INK)
    return image


Mention = Mapping[str, Any]  # the factors that a text names, with their values


def words(mention: Mention) -> tuple[str, str, str]:
    """What is there, where it is, and what is behind it, as far as the mention says: "three small
    red stars".
    """
    shape = mention.get("shape", "shape")
    if mention.get("number") != 1:
        shape += "es" if shape.endswith("s") else "s"
    number = NUMBERS[mention["number"]] if "number" in mention else ""
    what = filter(None, (number, mention.get("size"), mention.get("colour"), shape))
    where = f"at the {mention['position']}" if "position" in mention else ""
    return " ".join(what), where, BACKGROUNDS.get(mention.get("background"), "")


def caption(mention: Mention, rng: random.Random | None = None) -> str:
    """A sentence that names these factors; rng: in a random order of its parts."""
    what, where, behind = words(mention)
    orders = (
        (what, where, behind),
        (where, what, behind),
        (behind, what, where),
        (what, behind, where),
    )
    text = " ".join(filter(None, rng.choice(orders) if rng else orders[0]))
    return text[0].upper() + text[1:] + "."


def phrase(mention: Mention) -> str:
    """A caption within a sentence."""
    return caption(mention)[:-1].lower()


def without(mention: Mention, asked: str) -> dict[str, Any]:
    """The other factors."""
    return {factor: value for factor, value in mention.items() if factor != asked}


def question(asked: str, mention: Mention = MappingProxyType({})) -> str:
    """A question for one factor of what the mention describes, or else a picture shows."""
    others = without(mention, asked)
    return f"{QUESTIONS[asked]}: {phrase(others)}?" if others else f"{QUESTIONS[asked]}?"


def answer(asked: str, mention: Mention) -> str:
    """The value that was asked for, and a whole description: "Three: three small red stars at the
    left on dots.".
    """
    value = mention[asked]
    if asked == "number":
        value = NUMBERS[value]
    elif asked == "position":
        value = f"at the {value}"
    return f"{value.capitalize()}: {phrase(mention)}."


def change(changes: Mention) -> str:
    """What is to be different: "The same, but red and at the top."."""
    parts = []
    for factor, value in changes.items():
        what, where, behind = words({factor: value})
        named = {
            "shape": f"as {what}",
            "number": f"{NUMBERS.get(value)} of them",
            "position": where,
            "background": behind,
        }
        parts.append(named.get(factor, str(value)))
    return f"The same, but {' and '.join(parts)}."


def instructions(task: int, held_out: bool = False) -> list[str]:
    """The instructions of a task."""
    *training, unseen = WORLD["wanted"][str(task)]
    verbs = WORLD["verbs"]["held_out" if held_out else "training"]
    objects = [unseen] if held_out else training
    return [f"{verb} {thing}." for thing in objects for verb in verbs]


@dataclass
class Painter:
    """Draws the pictures of one dataset into a collection."""

    writer: CollectionWriter
    dataset: str
    rng: random.Random
    drawn: int = 0

    def paint(self, scene: Scene, split: str) -> SourceImage:
        stream = io.BytesIO()
        picture(scene, self.rng, framed=self.dataset == "toy_changes").save(stream, "PNG")
        self.drawn += 1
        path = f"images/{self.dataset}/{self.drawn}.png"
        data = stream.getvalue()
        self.writer.image(path, data)
        return SourceImage(path, hashlib.sha256(data).digest(), frozenset((split,)), asdict(scene))


def having(candidates: Sequence[Candidate], mention: Mention) -> list[Candidate]:
    """The candidates that have all these factors."""
    return [candidate for candidate in candidates if mention.items() <= candidate.source.items()]


def true_of(candidates: Sequence[Candidate], factors: Mention) -> list[Candidate]:
    """The candidates that have only these factors."""
    return [candidate for candidate in candidates if candidate.source.items() <= factors.items()]


def captions(draft: Draft, painter: Painter, split: str, scenes: Sequence[Scene]) -> None:
    """A picture and two captions of each scene."""
    rng = painter.rng
    images = []
    texts = []
    pictures = []
    for scene in scenes:
        pictures.append(painter.paint(scene, split))
        images.append(draft.candidate((0,), (split,), image=pictures[-1]))
        for _ in range(2):
            mention = mentioned(scene, rng)
            texts.append(draft.candidate((3,), (split,), caption(mention, rng), source=mention))
    for scene, shown in zip(scenes, pictures, strict=True):
        for _ in range(2 if split == "train" else 1):
            mention = mentioned(scene, rng)
            draft.ask(0, split, having(images, mention), caption(mention, rng))
        draft.ask(3, split, true_of(texts, asdict(scene)), image=shown)


def questions(draft: Draft, painter: Painter, split: str, scenes: Sequence[Scene]) -> None:
    """Two answers about each scene, alone and beside a picture; questions that describe the scene
    or show it.
    """
    rng = painter.rng
    texts = []
    pages = []
    answers = []
    for scene in scenes:
        page = painter.paint(scene, split)
        answers.append(
            [(asked, mentioned(scene, rng, asked)) for asked in rng.sample(list(QUESTIONS), 2)]
        )
        for asked, mention in answers[-1]:
            text = answer(asked, mention)
            named, shown = mention | {"asked": asked}, asdict(scene) | {"asked": asked}
            texts.append(draft.candidate((1, 6), (split,), text, source=named))
            pages.append(draft.candidate((2, 8), (split,), text, page, shown))
    for scene, of_scene in zip(scenes, answers, strict=True):
        photo = painter.paint(scene, split)
        for asked, mention in of_scene:
            named = without(mention, asked) | {"asked": asked}
            shown = asdict(scene) | {"asked": asked}
            draft.ask(1, split, having(texts, named), question(asked, mention))
            draft.ask(2, split, having(pages, named), question(asked, mention))
            draft.ask(6, split, true_of(texts, shown), question(asked), photo)
            draft.ask(8, split, having(pages, shown), question(asked), photo)


def changes(draft: Draft, painter: Painter, split: str, scenes: Sequence[Scene]) -> None:
    """Framed pictures: each scene elsewhere, and with two changes, each of which hides the other's
    target.
    """
    rng = painter.rng
    images = []
    edits = []
    for scene in scenes:
        elsewhere = scene.changed(rng, ("position", "background"), split)
        edits.append(
            [
                scene.changed(rng, rng.sample(list(FACTORS), rng.choice((1, 2))), split)
                for _ in range(2)
            ]
        )
        for target in (elsewhere, *edits[-1]):
            images.append(draft.candidate((4, 7), (split,), image=painter.paint(target, split)))
    for scene, edited in zip(scenes, edits, strict=True):
        shown = painter.paint(scene, split)
        factors = asdict(scene)
        same = {factor: factors[factor] for factor in ("shape", "colour", "number", "size")}
        draft.ask(4, split, having(images, same), image=shown)
        for target in edited:
            wished = asdict(target)
            changed = {
                factor: wished[factor] for factor in FACTORS if wished[factor] != factors[factor]
            }
            draft.ask(7, split, having(images, wished), change(changed), shown)


def mentioned(scene: Scene, rng: random.Random, also: str = "shape") -> dict[str, Any]:
    """Shape and colour of a scene, the factor `also`, and some of its other factors."""
    always = ("shape", "colour", also)
    return {
        factor: value
        for factor, value in asdict(scene).items()
        if factor in always or rng.random() < 0.4
    }


DATASETS = {
    "toy_captions": (captions, (0, 3)),
    "toy_questions": (questions, (1, 2, 6, 8)),
    "toy_changes": (changes, (4, 7)),
}


def write_world(destination: Path, scenes: int = SCENES, seed: int = 0) -> list[RowCount]:
    """Write the collection; the same for the same arguments. scenes: of each dataset, in all
    splits.

    Raises UserError if there are too few for queries in every split, or if the destination is not
    empty.
    """
    if not MIN_SCENES <= scenes <= MAX_SCENES or seed < 0:
        raise UserError(
            f"--scenes is a number from {MIN_SCENES} to {MAX_SCENES:,}, and --seed at least 0"
        )
    rows = []
    with new_collection(destination) as writer:
        for number, (name, (fill, tasks)) in enumerate(DATASETS.items()):
            rng = random.Random(f"{seed} {name}")
            draft = Draft(number)
            painter = Painter(writer, name, rng)
            for split, share in SHARES.items():
                drawn = [Scene.draw(rng, split) for _ in range(round(scenes * share))]
                fill(draft, painter, split, drawn)
            rows += write_draft(writer, name, draft, {task: instructions(task) for task in tasks})
            for task in tasks:
                writer.instructions(
                    number, name, *TASKS[task], instructions(task, held_out=True), held_out=True
                )
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.toy_world", __doc__)
    parser.add_argument("collection", type=Path, help="the new directory")
    parser.add_argument(
        "--scenes", type=int, default=SCENES, help="of each dataset (default: %(default)s)"
    )
    add_seed(parser, "the drawings and texts")
    options = parser.parse_args(arguments)
    for row in write_world(options.collection, options.scenes, options.seed):
        print(row)


if __name__ == "__main__":
    run_alone(main)
