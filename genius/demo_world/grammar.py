"""Generate texts about pictures: captions, headlines, product texts, encyclopedia entries, questions, edits.

Every call chooses anew which factors to mention and how; a `WordPicker` avoids the words of another text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genius.demo_world import lexicon
from genius.demo_world.knowledge import CARE, FAME, Entity, Town
from genius.demo_world.picture import Picture
from genius.demo_world.placement import Figure
from genius.demo_world.things import THINGS
from genius.demo_world.words import WordPicker, sentence


@dataclass(frozen=True)
class Mention:
    """The probability that a text mentions each factor."""

    kind: float = 0.96  # otherwise the family is named
    color: float = 0.8
    pattern: float = 0.75
    style: float = 0.5
    size: float = 0.4
    count: float = 0.95
    scene: float = 0.85
    time: float = 0.5
    weather: float = 0.4


FIRST_GLANCE = Mention(color=0.85, pattern=0.65, style=0.45, size=0.3)
BRIEFLY = Mention(1, 0.4, 0.15, 0.3, 0, 0.6, 0.25, 0, 0)  # what a user types: little more than the kind
VAGUE = 0.7  # share of wishes phrased vaguely, where a vague phrase exists
LOOKS = Mention(1, 1, 1, 0.4, 0, 1)

EVENTS = (  # news events, each with three verbs
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
ACTORS = (
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


def thing(words: WordPicker, figure: Figure, rates: Mention, alone: bool = True) -> str:
    """A noun phrase such as "two large striped cats, asleep". alone: with its article or count."""
    count = figure.count if words.chance(rates.count) else 1
    plain_count = count == 1
    named = lexicon.KINDS[figure.kind] if words.chance(rates.kind) else lexicon.FAMILIES[THINGS[figure.kind].family]
    noun = lexicon.noun(words.pick(named), count)
    before, after = [], []
    if figure.size in lexicon.SIZES and words.chance(rates.size):
        before.append(words.pick(lexicon.SIZES[figure.size]))
    looks = []
    if words.chance(rates.color):
        looks.append(words.pick(lexicon.COLORS[figure.color]))
    if words.chance(rates.pattern if figure.pattern != "plain" else rates.pattern * 0.35):
        looks.append(words.pick(lexicon.PATTERNS[figure.pattern]))
    if len(looks) == 2 and words.chance(0.5):
        looks.reverse()
    if looks and words.chance(0.15):
        after.append(", " + " and ".join(looks) + ",")
    else:
        before += looks
    if figure.style in lexicon.STYLES and words.chance(rates.style):
        after.append(words.pick(lexicon.STYLES[figure.style]))
    article = ""
    if alone:
        article = words.pick(lexicon.COUNTS[count]) if not plain_count or words.chance(0.2) else "a"
    return " ".join([article, *before, noun, *after])


def caption(words: WordPicker, picture: Picture, rates: Mention) -> str:
    """One sentence about a picture."""
    subject = what(words, picture, rates)
    places = setting(words, picture, rates)
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


def what(words: WordPicker, picture: Picture, rates: Mention) -> str:
    """The figures of a picture and their relation."""
    subject = thing(words, picture.figures[0], rates)
    if len(picture.figures) == 2 and words.chance(0.9):
        subject += f" {words.pick(lexicon.RELATIONS[picture.relation])} {thing(words, picture.figures[1], rates)}"
    return subject


def setting(words: WordPicker, picture: Picture, rates: Mention) -> list[str]:
    """Phrases for place, time and weather, sometimes shuffled."""
    phrases = []
    if picture.scene and words.chance(rates.scene):
        phrases.append(words.pick(lexicon.SCENES[picture.scene]))
    if picture.scene and words.chance(rates.time if picture.time != "day" else rates.time * 0.5):
        phrases.append(words.pick(lexicon.TIMES[picture.time]))
    if picture.scene and words.chance(rates.weather if picture.weather != "clear" else rates.weather * 0.5):
        phrases.append(words.pick(lexicon.WEATHERS[picture.weather]))
    if words.chance(0.3):
        words.rng.shuffle(phrases)
    return phrases


def headline(words: WordPicker, picture: Picture, town: Town, event: int, person: str, rates: Mention) -> str:
    """A headline about an event in a town. The picture does not show the event or the person."""
    subject = what(words, picture, rates)
    where = " ".join(setting(words, picture, rates))
    act = words.pick(EVENTS[event])
    role = words.any(ACTORS)
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


def product(words: WordPicker, figure: Figure, rates: Mention, brand: str) -> str:
    """A product description."""
    item = thing(words, figure, rates, alone=False)
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


def entry(words: WordPicker, known: Entity) -> str:
    """The first sentence of an encyclopedia entry: name and appearance."""
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


def passage(words: WordPicker, known: Entity, aspect: str) -> str:
    """A sentence about one aspect of an entity, which its appearance identifies."""
    it = (
        f"the {known.name}, {thing(words, known.figure, LOOKS)},"
        if words.chance(0.6)
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


def post(words: WordPicker, text: str) -> str:
    """A sentence as part of a web post."""
    return words.any(("Did you know? {}", "A reader writes: {}", "Blog entry: {}", "Heard on a forum: {}")).format(text)


QUESTIONS = {  # aspect -> questions; {it} is the entity
    "origin": ("where does {it} originate?", "which town brought forth {it}?", "what is the birthplace of {it}?"),
    "finder": ("who discovered {it}?", "which person made {it} known?", "whose finding is {it}?"),
    "age": ("how long has {it} been around?", "in which era did {it} appear?", "how old is {it}?"),
    "fame": ("what is {it} valued for?", "why do people admire {it}?", "what made {it} popular?"),
    "care": ("how should {it} be looked after?", "what does {it} require?", "what treatment suits {it}?"),
}
NAME_QUESTIONS = (
    "what is the name of {it}?",
    "what do you call {it}?",
    "what exactly is {it}?",
    "can you identify {it}?",
)


def question(words: WordPicker, known: Entity, aspect: str) -> str:
    """A question about an entity that is described by its appearance."""
    looks = thing(words, known.figure, LOOKS, alone=False)
    text = words.any(QUESTIONS[aspect]).format(it=f"the {looks}")
    hint = {"fame": FAME, "care": CARE}.get(aspect)
    if hint is not None and words.chance(0.3):
        text = f"{text[:-1]}, is it {hint[known.facts[aspect]]}?"
    return sentence(text)


def pictured_question(words: WordPicker, known: Entity, aspect: str | None) -> str:
    """A question about the entity in a picture; without an aspect, what it is."""
    family = lexicon.noun(words.any(lexicon.FAMILIES[known.family]), 1)
    it = words.any((f"this {family}", "this", "what is shown here", f"the {family} in the picture"))
    if aspect is None:
        return sentence(words.any(NAME_QUESTIONS).format(it=it))
    return sentence(words.any(QUESTIONS[aspect]).format(it=it))


def restyle(words: WordPicker, before: Figure, after: Figure) -> str:
    """How a garment should differ from the one shown, often phrased vaguely."""
    changes = []
    rates = {
        "color": (lexicon.COLORS, lexicon.SHADES),
        "pattern": (lexicon.PATTERNS, lexicon.PRINTS),
        "style": (lexicon.STYLES, {}),
    }
    for name, (options, vague) in rates.items():
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        loosely = [phrases for values, phrases in vague.values() if new in values and old not in values]
        if loosely and words.chance(VAGUE):
            changes.append(words.pick(loosely[0]))
        else:
            instead = f" instead of {words.any(options[old])}" if old in options and words.chance(0.35) else ""
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


def edit(words: WordPicker, before: Picture, after: Picture) -> str:
    """How a picture should change: its differences from the target."""
    old, new = before.figures[0], after.figures[0]
    changes = []
    if old.count != new.count:
        noun = lexicon.noun(words.pick(lexicon.KINDS[new.kind]), new.count)
        changes.append(
            words.any(("show {} of them", "let there be {}", "change the number to {}")).format(_number(new.count))
            if words.chance(0.6)
            else f"have {_number(new.count)} {noun}"
        )
    if old.color != new.color:
        changes.append(f"make it {words.pick(lexicon.COLORS[new.color])}")
    if old.kind != new.kind:
        changes.append(
            f"replace the {lexicon.noun(words.pick(lexicon.KINDS[old.kind]), old.count)} by "
            f"{thing(words, new, Mention(color=0, pattern=0, style=0, size=0))}"
        )
    if len(after.figures) > len(before.figures):
        changes.append(
            f"add {thing(words, after.figures[1], Mention(1, 1, 0.6, 0, 0))} so that the first is "
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
    """The factors of a picture, for src_content; factors that do not apply are left out."""
    first = picture.figures[0]
    made = {
        "kind": first.kind,
        "family": THINGS[first.kind].family,
        "colour": first.color,
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
            "colour2": second.color,
            "pattern2": second.pattern,
        }
    if picture.scene:
        made |= {"scene": picture.scene, "time": picture.time, "weather": picture.weather}
    return {name: value for name, value in made.items() if value != ""}


def _a(words: WordPicker) -> str:
    return words.any(("a", "a kind of", "a sort of"))


def _number(count: int) -> str:
    return ("one", "two", "three", "four")[count - 1]
