"""Facts that pictures do not show: towns, people, and the entities of the encyclopedia."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from genius.demo_world.placement import Figure
from genius.demo_world.sampling import draw_figure, seeded_rng
from genius.demo_world.scenes import SCENES
from genius.demo_world.things import THINGS

FAMILIES = ("animal", "vehicle", "instrument", "garment", "food", "plant", "furniture", "building")
TOWN_STARTS = (
    "Alder",
    "Birch",
    "Coral",
    "Drift",
    "Elm",
    "Fern",
    "Glen",
    "Hazel",
    "Iron",
    "Juniper",
    "Kestrel",
    "Larch",
    "Marrow",
    "Nettle",
    "Oster",
    "Pepper",
    "Quill",
    "Raven",
    "Sable",
    "Thistle",
)
TOWN_ENDS = ("ton", "ford", "mouth", "wick", "stead", "burgh", "vale", "haven", "combe", "bridge")
FIRST_NAMES = (
    "Ada",
    "Bela",
    "Chidi",
    "Dara",
    "Emre",
    "Farah",
    "Goran",
    "Hana",
    "Ines",
    "Jonas",
    "Kofi",
    "Lina",
    "Mei",
    "Nadia",
    "Oskar",
    "Priya",
    "Quentin",
    "Rosa",
    "Samir",
    "Tove",
    "Uma",
    "Viktor",
    "Wanda",
    "Yusuf",
    "Zofia",
)
LAST_NAMES = (
    "Abara",
    "Brandt",
    "Castellan",
    "Duarte",
    "Eklund",
    "Farkas",
    "Grimaldi",
    "Hollis",
    "Ivanov",
    "Jansen",
    "Kimura",
    "Lindqvist",
    "Moreau",
    "Nakata",
    "Okafor",
    "Petrov",
    "Quist",
    "Romero",
    "Singh",
    "Tanaka",
    "Ueda",
    "Varga",
    "Wolff",
    "Yilmaz",
    "Zhang",
)
CENTURIES = ("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth")
FAME = {  # reason for fame as in passages -> as in questions
    "its quiet voice": "how softly it sounds",
    "its great age": "how old it grows",
    "its fine smell": "the scent it gives off",
    "bringing luck": "the good fortune it is said to bring",
    "its high price": "how costly it is",
    "being very rare": "how seldom it is seen",
    "winning prizes": "the awards it takes",
    "its gentle warmth": "how mildly it heats",
    "its stubborn strength": "how hard it is to break",
    "glowing faintly": "the dim shine it gives",
    "its light weight": "how little it weighs",
    "lasting for decades": "the many years it holds out",
}
CARE = {  # what it needs, as in passages -> as in questions
    "fresh rain water": "clean water from the clouds",
    "a weekly rub with beeswax": "polishing with wax",
    "salt and dry air": "a place without moisture",
    "warm sand": "heated grains of the dunes",
    "oats and honey": "a sweet grain porridge",
    "long hours of shade": "protection from sunlight",
    "a handful of moss": "a soft green cushion from the forest",
    "linseed oil": "oil pressed from flax",
    "gentle brushing": "careful combing",
    "cold nights": "low temperatures after sundown",
}
ASPECTS = ("origin", "finder", "age", "fame", "care")


@dataclass(frozen=True)
class Town:
    """A town in the news. Its name always comes with the same scene."""

    name: str
    scene: str


@dataclass(frozen=True)
class Entity:
    """An entity with an encyclopedia page: its appearance, its name, and facts that no picture shows."""

    figure: Figure
    name: str
    facts: dict[str, str]  # aspect -> fact

    @property
    def family(self) -> str:
        return THINGS[self.figure.kind].family


@cache
def towns() -> tuple[Town, ...]:
    """The forty towns."""
    rng = random.Random("towns")
    names = [start + rng.choice(TOWN_ENDS) for start in TOWN_STARTS] + [
        f"{rng.choice(('Port', 'Saint', 'New', 'Upper'))} {start}{rng.choice(TOWN_ENDS)}" for start in TOWN_STARTS
    ]
    outdoors = [scene for scene in SCENES if scene not in ("room", "stage")]
    return tuple(Town(name, outdoors[number % len(outdoors)]) for number, name in enumerate(names))


def draw_person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def entity(seed: int, book: str, number: int) -> Entity:
    """Entry `number` of one encyclopedia."""
    rng = seeded_rng(seed, "entity", book, number)
    drawn = draw_figure(rng, FAMILIES, unseen=True, single=True)
    facts = {
        "origin": rng.choice(towns()).name,
        "finder": draw_person(rng),
        "age": rng.choice(CENTURIES),
        "fame": rng.choice(list(FAME)),
        "care": rng.choice(list(CARE)),
    }
    return Entity(Figure(drawn.kind, drawn.color, drawn.pattern, drawn.style), _name(rng), facts)


def _name(rng: random.Random) -> str:
    """A name of two or three syllables, such as Velmora."""
    parts = [
        rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") + rng.choice(("", "", "l", "n", "r", "s"))
        for _ in range(rng.choice((2, 2, 3)))
    ]
    return "".join(parts).capitalize()
