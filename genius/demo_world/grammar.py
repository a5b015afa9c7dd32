"""What people write about pictures: captions, headlines, product texts, encyclopedia entries, questions, edits.

Every function draws anew what it says and how; `Words` keeps it away from words that another text holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genius.demo_world import lexicon
from genius.demo_world.knowledge import CARE, FAME, Entity, Town
from genius.demo_world.picture import Figure, Picture
from genius.demo_world.things import THINGS
from genius.demo_world.words import Words, sentence


@dataclass(frozen=True)
class Said:
    """How likely each factor is to be said; what is not said stays open."""

    kind: float = 0.96  # else only the family
    colour: float = 0.8
    pattern: float = 0.75
    style: float = 0.5
    size: float = 0.4
    count: float = 0.95
    scene: float = 0.85
    time: float = 0.5
    weather: float = 0.4


EVERYTHING = Said(1, 1, 1, 1, 1, 1, 1, 1, 1)
FIRST_GLANCE = Said(colour=0.85, pattern=0.65, style=0.45, size=0.3)
IN_BRIEF = Said(1, 0.4, 0.15, 0.3, 0, 0.6, 0.25, 0, 0)  # what a visitor types: little but the kind
VAGUE = 0.7  # of the wishes that can be, are said vaguely
LOOKS = Said(1, 1, 1, 0.4, 0, 1)

EVENTS = (  # what happens in the news, each in three forms
    ("unveils", "presents", "shows off"),
    ("rescues", "saves", "brings to safety"),
    ("bans", "outlaws", "forbids"),
    ("buys", "acquires", "purchases"),
    ("honours", "celebrates", "pays tribute to"),
    ("searches for", "looks for", "hunts"),
    ("restores", "repairs", "mends"),
    ("sells", "auctions", "gives away"),
    ("defends", "stands up for", "speaks for"),
    ("welcomes", "greets", "cheers"),
)
ROLES = (
    "mayor",
    "council",
    "fire brigade",
    "school class",
    "museum",
    "orchestra",
    "baker",
    "coast guard",
    "choir",
    "gardener",
    "postman",
    "chess club",
)
CRAZE = ("Visitors flock to see", "Crowds gather around", "All eyes are on", "Long queues form for", "Children draw")
QUALITIES = (
    "airy",
    "soft",
    "sturdy",
    "easy-care",
    "lightweight",
    "hand-finished",
    "weatherproof",
    "classic",
    "playful",
)
BRANDS = ("Norrland", "Pavo", "Tilde & Sons", "Mirabel", "Ostrava", "Quayside", "Linnet", "Hartwood")
OCCASIONS = (
    "for weekends",
    "for the office",
    "for rainy walks",
    "for summer parties",
    "for travelling",
    "for every day",
    "for long evenings",
)


def thing(words: Words, figure: Figure, said: Said, alone: bool = True) -> str:
    """A noun phrase: "two large striped cats, asleep". alone: with its article or count."""
    count = figure.count if words.happens(said.count) else 1
    plain_count = count == 1
    named = lexicon.KINDS[figure.kind] if words.happens(said.kind) else lexicon.FAMILIES[THINGS[figure.kind].family]
    noun = lexicon.noun(words.pick(named), count)
    before, after = [], []
    if figure.size in lexicon.SIZES and words.happens(said.size):
        before.append(words.pick(lexicon.SIZES[figure.size]))
    looks = []
    if words.happens(said.colour):
        looks.append(words.pick(lexicon.COLOURS[figure.colour]))
    if words.happens(said.pattern if figure.pattern != "plain" else said.pattern * 0.35):
        looks.append(words.pick(lexicon.PATTERNS[figure.pattern]))
    if len(looks) == 2 and words.happens(0.5):
        looks.reverse()
    if looks and words.happens(0.15):
        after.append(", " + " and ".join(looks) + ",")
    else:
        before += looks
    if figure.style in lexicon.STYLES and words.happens(said.style):
        after.append(words.pick(lexicon.STYLES[figure.style]))
    article = ""
    if alone:
        article = words.pick(lexicon.COUNTS[count]) if not plain_count or words.happens(0.2) else "a"
    return " ".join([article, *before, noun, *after])


def caption(words: Words, picture: Picture, said: Said) -> str:
    """One sentence about a picture."""
    subject = what(words, picture, said)
    places = setting(words, picture, said)
    where = " ".join(places)
    first, *others = places or [""]
    forms = [
        f"{subject} {where}",
        f"{first}, {subject} {' '.join(others)}" if first else subject,
        f"this is {subject} {where}",
        f"a picture of {subject} {where}",
        f"{subject} can be seen {where}",
        f"{where}: {subject}" if where else f"look, {subject}",
    ]
    return sentence(words.any(forms))


def what(words: Words, picture: Picture, said: Said) -> str:
    """The things of a picture, and how they stand to each other."""
    subject = thing(words, picture.figures[0], said)
    if len(picture.figures) == 2 and words.happens(0.9):
        subject += f" {words.pick(lexicon.RELATIONS[picture.relation])} {thing(words, picture.figures[1], said)}"
    return subject


def setting(words: Words, picture: Picture, said: Said) -> list[str]:
    """Place, time and weather as phrases, in any order."""
    phrases = []
    if picture.scene and words.happens(said.scene):
        phrases.append(words.pick(lexicon.SCENES[picture.scene]))
    if picture.scene and words.happens(said.time if picture.time != "day" else said.time * 0.5):
        phrases.append(words.pick(lexicon.TIMES[picture.time]))
    if picture.scene and words.happens(said.weather if picture.weather != "clear" else said.weather * 0.5):
        phrases.append(words.pick(lexicon.WEATHERS[picture.weather]))
    if words.happens(0.3):
        words.rng.shuffle(phrases)
    return phrases


def headline(words: Words, picture: Picture, town: Town, event: int, person: str, said: Said) -> str:
    """A headline about what happened in a town. The event and the person are not to be seen."""
    subject = what(words, picture, said)
    where = " ".join(setting(words, picture, said))
    act = words.pick(EVENTS[event])
    role = words.any(ROLES)
    return sentence(
        words.any(
            (
                f"{person} {act} {subject} in {town.name} {where}",
                f"{town.name}: {role} {act} {subject} {where}",
                f"{town.name} {act} {subject} {where}",
                f"{words.any(CRAZE)} {subject} in {town.name} {where}",
                f"{role} of {town.name} {act} {subject}, says {person}",
                f"{where}, {town.name} {act} {subject}" if where else f"{town.name}, {role} {act} {subject}",
            )
        )
    )


def product(words: Words, figure: Figure, said: Said, brand: str) -> str:
    """A product text as a shop writes it."""
    item = thing(words, figure, said, alone=False)
    quality, occasion = words.any(QUALITIES), words.any(OCCASIONS)
    return sentence(
        words.any(
            (
                f"{brand} {item}",
                f"{quality} {item} by {brand}",
                f"{item} {occasion}",
                f"{brand}: {quality} {item} {occasion}",
                f"{item}, {quality}",
                f"our {item}",
            )
        )
    )


def entry(words: Words, known: Entity) -> str:
    """What an encyclopedia says first about something: its name and its looks."""
    looks = thing(words, known.figure, LOOKS)
    family = lexicon.noun(words.any(lexicon.FAMILIES[known.family]), 1)
    return sentence(
        words.any(
            (
                f"the {known.name} is {looks}",
                f"{known.name}: {looks}, {_a(words)} {family}",
                f"{looks} goes by the name of {known.name}",
                f"the {family} called {known.name} is {looks}",
                f"{known.name}, {looks}, is a well known {family}",
            )
        )
    )


def passage(words: Words, known: Entity, aspect: str) -> str:
    """An encyclopedia's sentence about one aspect of something; its looks say what it is about."""
    it = (
        f"the {known.name}, {thing(words, known.figure, LOOKS)},"
        if words.happens(0.6)
        else f"{thing(words, known.figure, LOOKS)} named {known.name}"
    )
    fact = known.facts[aspect]
    return sentence(
        words.any(
            {
                "origin": (f"{it} comes from {fact}", f"{it} was first seen in {fact}", f"{fact} is the home of {it}"),
                "finder": (
                    f"{it} was described by {fact}",
                    f"{fact} was the discoverer of {it}",
                    f"{it} owes its fame to {fact}",
                ),
                "age": (
                    f"{it} has existed since the {fact} century",
                    f"{it} dates back to the {fact} century",
                    f"since the {fact} century people know {it}",
                ),
                "fame": (f"{it} is famous for {fact}", f"{it} is prized for {fact}", f"people love {it} for {fact}"),
                "care": (f"{it} needs {fact}", f"{it} thrives on {fact}", f"{fact} keeps {it} in good shape"),
            }[aspect]
        )
    )


def post(words: Words, text: str) -> str:
    """A sentence as it stands on the web."""
    return words.any(("Did you know? {}", "A reader writes: {}", "Blog entry: {}", "Heard on a forum: {}")).format(text)


ASKED = {  # aspect -> questions; {it} is what is asked about
    "origin": ("where does {it} originate?", "which town brought forth {it}?", "what is the birthplace of {it}?"),
    "finder": ("who discovered {it}?", "which person made {it} known?", "whose finding is {it}?"),
    "age": ("how long has {it} been around?", "in which era did {it} appear?", "how old is {it}?"),
    "fame": ("what is {it} valued for?", "why do people admire {it}?", "what made {it} popular?"),
    "care": ("how should {it} be looked after?", "what does {it} require?", "what treatment suits {it}?"),
}
NAMED = ("what is the name of {it}?", "what do you call {it}?", "what exactly is {it}?", "can you identify {it}?")


def question(words: Words, known: Entity, aspect: str) -> str:
    """A question about an entity by its looks (text alone)."""
    looks = thing(words, known.figure, LOOKS, alone=False)
    asked = words.any(ASKED[aspect]).format(it=f"the {looks}")
    hint = {"fame": FAME, "care": CARE}.get(aspect)
    if hint is not None and words.happens(0.3):
        asked = f"{asked[:-1]}, is it {hint[known.facts[aspect]]}?"
    return sentence(asked)


def pictured_question(words: Words, known: Entity, aspect: str | None) -> str:
    """A question about what a picture shows; without an aspect it asks what it is."""
    family = lexicon.noun(words.any(lexicon.FAMILIES[known.family]), 1)
    it = words.any((f"this {family}", "this", "what is shown here", f"the {family} in the picture"))
    if aspect is None:
        return sentence(words.any(NAMED).format(it=it))
    return sentence(words.any(ASKED[aspect]).format(it=it))


def restyle(words: Words, before: Figure, after: Figure) -> str:
    """How a garment should differ from the one shown; people often say it vaguely."""
    changes = []
    said = {
        "colour": (lexicon.COLOURS, lexicon.SHADES),
        "pattern": (lexicon.PATTERNS, lexicon.PRINTS),
        "style": (lexicon.STYLES, {}),
    }
    for name, (options, vague) in said.items():
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        loosely = [phrases for values, phrases in vague.values() if new in values and old not in values]
        if loosely and words.happens(VAGUE):
            changes.append(words.pick(loosely[0]))
        else:
            instead = f" instead of {words.any(options[old])}" if old in options and words.happens(0.35) else ""
            changes.append(words.pick(options[new]) + instead)
    wanted = " and ".join(changes)
    return sentence(
        words.any(
            (
                f"is {wanted}",
                f"make it {wanted}",
                f"the same but {wanted}",
                f"I want it {wanted}",
                f"{wanted}, please",
                f"similar, yet {wanted}",
            )
        )
    )


def edit(words: Words, before: Picture, after: Picture) -> str:
    """How a picture should change; names only what differs."""
    old, new = before.figures[0], after.figures[0]
    changes = []
    if old.count != new.count:
        noun = lexicon.noun(words.pick(lexicon.KINDS[new.kind]), new.count)
        changes.append(
            words.any(("show {} of them", "let there be {}", "change the number to {}")).format(_number(new.count))
            if words.happens(0.6)
            else f"have {_number(new.count)} {noun}"
        )
    if old.colour != new.colour:
        changes.append(f"make it {words.pick(lexicon.COLOURS[new.colour])}")
    if old.kind != new.kind:
        changes.append(
            f"replace the {lexicon.noun(words.pick(lexicon.KINDS[old.kind]), old.count)} by "
            f"{thing(words, new, Said(colour=0, pattern=0, style=0, size=0))}"
        )
    if len(after.figures) > len(before.figures):
        changes.append(
            f"add {thing(words, after.figures[1], Said(1, 1, 0.6, 0, 0))} so that the first is "
            f"{words.pick(lexicon.RELATIONS[after.relation])} it"
        )
    if before.scene != after.scene:
        changes.append(
            f"{words.any(('put it', 'move everything', 'place it'))} {words.pick(lexicon.SCENES[after.scene])}"
        )
    if before.time != after.time:
        changes.append(f"{words.any(('let it be', 'show it', 'take it'))} {words.pick(lexicon.TIMES[after.time])}")
    if before.weather != after.weather:
        changes.append(f"{words.any(('have it', 'show it'))} {words.pick(lexicon.WEATHERS[after.weather])}")
    words.rng.shuffle(changes)
    return sentence(words.any(("{}", "{}, please", "like this, but {}")).format(" and ".join(changes)))


def factors(picture: Picture) -> Mapping[str, object]:
    """What a picture is made of, for src_content; what does not apply is left out."""
    first = picture.figures[0]
    made = {
        "kind": first.kind,
        "family": THINGS[first.kind].family,
        "colour": first.colour,
        "pattern": first.pattern,
        "style": first.style,
        "size": first.size,
        "count": first.count,
    }
    if len(picture.figures) == 2:
        second = picture.figures[1]
        made |= {
            "relation": picture.relation,
            "kind2": second.kind,
            "colour2": second.colour,
            "pattern2": second.pattern,
        }
    if picture.scene:
        made |= {"scene": picture.scene, "time": picture.time, "weather": picture.weather}
    return {name: value for name, value in made.items() if value != ""}


def _a(words: Words) -> str:
    return words.any(("a", "a kind of", "a sort of"))


def _number(count: int) -> str:
    return ("one", "two", "three", "four")[count - 1]
