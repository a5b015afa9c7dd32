"""The ten datasets of the demo world, each modeled on one of M-BEIR's, with sixteen (task, dataset) rows.

A dataset is a list of entries; an entry is a few candidates and the queries that they answer. An entry depends only on
the seed and its number, so entries can be made in any order, and none is kept in memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from genius.demo_world import grammar
from genius.demo_world.changes import edited, other, other_color, other_pattern, restyled, with_first
from genius.demo_world.entries import ROLES, DemoEntry, ImageFile
from genius.demo_world.grammar import BRIEFLY, FIRST_GLANCE, Mention
from genius.demo_world.knowledge import ASPECTS, Entity, draw_person, entity, towns
from genius.demo_world.picture import Picture
from genius.demo_world.placement import RELATIONS, Figure
from genius.demo_world.sampling import draw_figure, draw_setting, draw_variant, is_held_out, seeded_rng
from genius.demo_world.things import THINGS
from genius.demo_world.words import WordPicker, content_words

NEWS = ("building", "vehicle", "instrument", "animal")
EVERYDAY = ("animal", "vehicle", "food", "plant", "furniture", "instrument")
STILL_LIFE = ("furniture", "food", "instrument", "plant")
OUTDOORS = ("animal", "plant", "vehicle")
HEADLINE = Mention(kind=0.7, color=0.3, pattern=0.2, style=0.15, size=0.1, count=0.6, scene=0.2, time=0.25, weather=0.2)
REPORT = Mention(kind=0.85, color=0.45, pattern=0.3, style=0.2, size=0.15, count=0.8, scene=0.3, time=0.4, weather=0.3)
BRIEF = 0.6  # share of brief queries for everyday pictures
SHOP = Mention(1, 0.97, 0.9, 0.85, 0.1, 1)


def visualnews(entry: DemoEntry) -> None:
    """News photograph and headline: tasks 0 and 3."""
    rng, words = entry.rng, WordPicker(entry.rng)
    picture, headline = _story(entry, NEWS, HEADLINE)
    text = headline(words)
    photo = entry.drawing(picture, "a")
    image = entry.candidate((0,), picture, drawing=photo)
    written = entry.candidate((3,), picture, text=text)
    for split in entry.role.query_splits:
        entry.query(0, split, [image], picture, text=headline(WordPicker(rng)))
        entry.query(3, split, [written], picture, drawing=photo)


def mscoco(entry: DemoEntry) -> None:
    """Everyday picture and five captions: tasks 0 and 3."""
    words, rng = WordPicker(entry.rng), entry.rng
    picture = _scene(entry, EVERYDAY, pair=0.6)
    photo = entry.drawing(picture, "a")
    image = entry.candidate((0,), picture, drawing=photo)
    captions = dict.fromkeys(grammar.caption(words, picture, FIRST_GLANCE) for _ in range(5))
    written = [entry.candidate((3,), picture, text=text) for text in captions]
    for split in entry.role.query_splits:
        for _ in range(3 if split == "train" else 1):
            how = BRIEFLY if rng.random() < BRIEF else FIRST_GLANCE
            entry.query(0, split, [image], picture, text=grammar.caption(WordPicker(rng), picture, how))
        entry.query(3, split, written, picture, drawing=photo)


def fashion200k(entry: DemoEntry) -> None:
    """Shop picture and product text: tasks 0 and 3."""
    rng = entry.rng
    figure = replace(draw_figure(rng, ("garment",), entry.role.unseen, single=True), size="large")
    picture = Picture((figure,), variant=draw_variant(rng))
    brand = rng.choice(grammar.BRANDS)
    photo = entry.drawing(picture, "a")
    image = entry.candidate((0,), picture, drawing=photo)
    written = entry.candidate((3,), picture, text=grammar.product(WordPicker(rng), figure, SHOP, brand))
    for split in entry.role.query_splits:
        entry.query(0, split, [image], picture, text=grammar.product(WordPicker(rng), figure, SHOP, brand))
        entry.query(3, split, [written], picture, drawing=photo)


def edis(entry: DemoEntry) -> None:
    """News text to photograph with headline: task 2."""
    picture, headline = _story(entry, NEWS, REPORT)
    text = headline(WordPicker(entry.rng))
    item = entry.candidate((2,), picture, text=text, drawing=entry.drawing(picture, "a"))
    for split in entry.role.query_splits:
        entry.query(2, split, [item], picture, text=headline(WordPicker(entry.rng, content_words(text))))


def nights(entry: DemoEntry) -> None:
    """Picture to a picture of the same figures elsewhere: task 4. A decoy has the same place, but other figures."""
    rng = entry.rng
    picture = replace(_scene(entry, STILL_LIFE, pair=0.25), frame="print")
    scene, time, weather = draw_setting(rng)
    twin = replace(picture, scene=scene, time=time, weather=weather, variant=draw_variant(rng))
    target = entry.candidate((4,), twin, drawing=entry.drawing(twin, "b"))
    first = picture.figures[0]
    changed = rng.choice(
        (
            replace(first, pattern=other_pattern(rng, first.pattern)),
            replace(first, color=other_color(rng, first, entry.role.unseen)),
            replace(first, count=other(rng, (1, 2, 3, 4), first.count)),
        )
    )
    decoy = replace(with_first(picture, changed), variant=draw_variant(rng))
    entry.candidate((4,), decoy, drawing=entry.drawing(decoy, "c"))
    for split in entry.role.query_splits:
        entry.query(4, split, [target], picture, drawing=entry.drawing(picture, "a"))


def fashioniq(entry: DemoEntry) -> None:
    """Garment and requested change to the changed garment: task 7. Some query garments are candidates too."""
    rng = entry.rng
    before = _worn(rng, draw_figure(rng, ("garment",), entry.role.unseen, single=True))
    after = _worn(rng, restyled(rng, before.figures[0], entry.role.unseen))
    target = entry.candidate((7,), after, drawing=entry.drawing(after, "b"))
    shown = entry.drawing(before, "a")
    if rng.random() < 0.4:
        entry.candidate((7,), before, drawing=shown)
    for split in entry.role.query_splits:
        entry.query(
            7,
            split,
            [target],
            after,
            drawing=shown,
            text=grammar.restyle(WordPicker(rng), before.figures[0], after.figures[0]),
        )


def cirr(entry: DemoEntry) -> None:
    """Scene and edit to the edited scene: task 7. Some query scenes are candidates too."""
    rng = entry.rng
    before = replace(_scene(entry, OUTDOORS, pair=0), frame="film")
    after = edited(rng, before, OUTDOORS, entry.role.unseen)
    target = entry.candidate((7,), after, drawing=entry.drawing(after, "b"))
    shown = entry.drawing(before, "a")
    if rng.random() < 0.4:
        entry.candidate((7,), before, drawing=shown)
    for split in entry.role.query_splits:
        entry.query(7, split, [target], after, drawing=shown, text=grammar.edit(WordPicker(rng), before, after))


def webqa(entry: DemoEntry) -> None:
    """A question that describes an entity to the passage (task 1) or captioned picture (task 2) with the answer."""
    rng, known = entry.rng, _known(entry)
    aspects = rng.sample(ASPECTS, 4)
    page = _portrait(entry, known, "browser")
    answers = []
    for task, aspect in ((1, aspects[0]), (1, aspects[1]), (2, aspects[2]), (2, aspects[3])):
        text = grammar.post(WordPicker(rng), grammar.passage(WordPicker(rng), known, aspect))
        item = entry.candidate((task,), page.picture, text=text, drawing=page if task == 2 else None)
        answers.append((task, aspect, text, item))
    for split in _query_splits(entry):
        for task in (1, 2):
            for _ in range(9 if split == "train" else 1):
                _, aspect, text, item = rng.choice([answer for answer in answers if answer[0] == task])
                entry.query(
                    task,
                    split,
                    [item],
                    page.picture,
                    text=grammar.question(WordPicker(rng, content_words(text)), known, aspect),
                )


def oven(entry: DemoEntry) -> None:
    """A picture and "what is it" to the encyclopedia entry (task 6) or illustrated page (task 8)."""
    rng, known = entry.rng, _known(entry)
    page = _portrait(entry, known)
    text = entry.candidate((6,), page.picture, text=grammar.entry(WordPicker(rng), known))
    pair = entry.candidate((8,), page.picture, text=grammar.entry(WordPicker(rng), known), drawing=page)
    for split in _query_splits(entry):
        for number in range(8 if split == "train" else 1):
            photo = entry.drawing(_sighting(rng, known), f"{split}{number}")
            for task, item in ((6, text), (8, pair)):
                entry.query(
                    task,
                    split,
                    [item],
                    photo.picture,
                    drawing=photo,
                    text=grammar.pictured_question(WordPicker(rng), known, None),
                )


def infoseek(entry: DemoEntry) -> None:
    """A picture and a question about it to the passage (task 6) or illustrated page (task 8) with the answer."""
    rng, known = entry.rng, _known(entry)
    page = _portrait(entry, known)
    aspects = rng.sample(ASPECTS, 3)
    texts = {
        aspect: entry.candidate((6,), page.picture, grammar.passage(WordPicker(rng), known, aspect))
        for aspect in aspects
    }
    pairs = {
        aspect: entry.candidate((8,), page.picture, grammar.passage(WordPicker(rng), known, aspect), page)
        for aspect in aspects
    }
    for split in _query_splits(entry):
        for number in range(11 if split == "train" else 1):
            photo = entry.drawing(_sighting(rng, known), f"{split}{number}")
            aspect = rng.choice(aspects)
            for task, items in ((6, texts), (8, pairs)):
                entry.query(
                    task,
                    split,
                    [items[aspect]],
                    photo.picture,
                    drawing=photo,
                    text=grammar.pictured_question(WordPicker(rng), known, aspect),
                )


@dataclass(frozen=True)
class DemoDataset:
    """How entries are made, and how many there are at the default scale.

    If `train` is 0 the entries are entities: candidates in all splits, and training queries ask about three in five.
    """

    name: str
    make: Callable[[DemoEntry], None]
    tasks: tuple[int, ...]
    test: int
    val: int
    train: int = 0  # entries whose candidates are only in the training pool
    shared: int = 0  # training entries that are in all pools

    def numbers(self, growth: float) -> Iterator[tuple[str, int, int]]:
        """Yield (role, first number, end number) for `growth` times the default number of candidates.

        A larger world has more candidates but the same queries; a smaller one has fewer of both.
        """
        known, share = not self.train, min(1.0, growth)
        kept = {
            role: max(2, round(count * share))
            for role, count in (("test", self.test), ("val", self.val), ("shared", self.shared), ("train", self.train))
            if count
        }
        pooled = self.test + self.val + self.shared
        kept["extra"] = max(0, round(pooled * growth) - pooled)
        start = 0
        for role, count in kept.items():
            named = "known" if known and role == "extra" else f"known {role}" if known else role
            yield named, start, start + count
            start += count


DATASETS = (  # in the order of their ids
    DemoDataset("drawn_visualnews", visualnews, (0, 3), 190, 126, 2000, 350),
    DemoDataset("drawn_mscoco", mscoco, (0, 3), 190, 126, 1800, 90),
    DemoDataset("drawn_fashion200k", fashion200k, (0, 3), 190, 126, 2000, 350),
    DemoDataset("drawn_webqa", webqa, (1, 2), 190, 190),
    DemoDataset("drawn_edis", edis, (2,), 190, 126, 1800, 350),
    DemoDataset("drawn_nights", nights, (4,), 190, 126, 2000, 150),
    DemoDataset("drawn_oven", oven, (6, 8), 190, 290),
    DemoDataset("drawn_infoseek", infoseek, (6, 8), 190, 126),
    DemoDataset("drawn_fashioniq", fashioniq, (7,), 190, 126, 2400, 250),
    DemoDataset("drawn_cirr", cirr, (7,), 190, 126, 2200, 250),
)


def make_entry(seed: int, dataset_id: int, number: int, role: str) -> DemoEntry:
    """Entry `number` of a dataset; the same for the same arguments."""
    dataset = DATASETS[dataset_id]
    entry = DemoEntry(seed, dataset.name, dataset_id, number, ROLES[role], seeded_rng(seed, dataset.name, number))
    dataset.make(entry)
    return entry


def _scene(entry: DemoEntry, families: Sequence[str], pair: float) -> Picture:
    """A picture of one kind or, with probability `pair`, of two."""
    rng = entry.rng
    figures = [draw_figure(rng, families, entry.role.unseen)]
    if rng.random() < pair:
        figures = [
            replace(figures[0], count=min(2, figures[0].count)),
            draw_figure(rng, families, entry.role.unseen, single=True),
        ]
        while figures[1].kind == figures[0].kind:
            figures[1] = draw_figure(rng, families, entry.role.unseen, single=True)
    scene, time, weather = draw_setting(rng)
    relation = rng.choice(RELATIONS) if len(figures) == 2 else ""
    return Picture(tuple(figures), relation, scene, time, weather, draw_variant(rng))


def _story(entry: DemoEntry, families: Sequence[str], rates: Mention) -> tuple[Picture, Callable[[WordPicker], str]]:
    """A picture of an event in a town, and a function that writes headlines about it."""
    rng = entry.rng
    town, event, person = rng.choice(towns()), rng.randrange(len(grammar.EVENTS)), draw_person(rng)
    picture = replace(_scene(entry, families, pair=0.35), scene=town.scene, frame="press")
    return picture, lambda words: grammar.headline(words, picture, town, event, person, rates)


def _known(entry: DemoEntry) -> Entity:
    return entity(entry.seed, entry.dataset, entry.number)


def _query_splits(entry: DemoEntry) -> tuple[str, ...]:
    """Splits with queries about an entity: its own, and train for three in five without a held-out combination."""
    figure = _known(entry).figure
    seen = entry.number % 5 < 3 and not is_held_out(figure.kind, figure.color) and entry.role.query_splits
    return (*(("train",) if seen else ()), *entry.role.query_splits)


def _portrait(entry: DemoEntry, known: Entity, frame: str = "plate") -> ImageFile:
    """The picture on a page about an entity."""
    figure = replace(known.figure, size="large")
    return entry.drawing(Picture((figure,), variant=draw_variant(entry.rng), frame=frame), "page")


def _sighting(rng: random.Random, known: Entity) -> Picture:
    """A picture of an entity in some scene."""
    scene, time, weather = draw_setting(rng)
    figure = replace(
        known.figure, size=rng.choice(("medium", "large")), style=rng.choice(THINGS[known.figure.kind].styles)
    )
    return Picture((figure,), "", scene, time, weather, draw_variant(rng))


def _worn(rng: random.Random, figure: Figure) -> Picture:
    """A garment outside the shop."""
    scene = rng.choice(("room", "stage", "city", "meadow"))
    return Picture((replace(figure, size="large"),), "", scene, "day", "clear", draw_variant(rng), frame="magazine")
