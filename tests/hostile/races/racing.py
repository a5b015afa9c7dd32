"""Commands at once: what they leave is what they leave one after the other, and a loser gets a sentence."""

from __future__ import annotations

import time
from itertools import combinations_with_replacement, permutations
from pathlib import Path

from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.hostile.commands import COMMANDS, SECONDS, Laboratory, Started, begin, differences, present
from tests.hostile.file_layer import SLOW, Plan

STATE = "add"  # a trained run to which items were added
COMMON = ("encoder", "features", "quantizer", "decoder", "index", "maps", "add", "remove", "compact", "evaluation")
COMMON += ("growing", "training")
PAIRS = list(combinations_with_replacement(COMMON, 2))
FILES = 4  # that share the pairs
ALONE = ("collections", "locked", "folder", "published", "ship")  # with themselves, each from its own state


def race(lab: Laboratory, one: str, other: str, counts, state: str = STATE) -> None:
    names, root = (one, other), lab.start(state)
    children = [begin(COMMANDS[name].run, root, Plan(SLOW)) for name in names]
    ended = [child.end() for child in children]
    found = present(root)
    for name, child in zip(names, ended, strict=True):
        assert child.status == 0 or child.refused, (name, child.status, child.output)
        counts("races", "answered" if child.status == 0 else "refused in a sentence")
    assert any(child.status == 0 for child in ended), [child.output for child in ended]
    orders = [order for order in permutations(range(2)) if all(ended[i].status == 0 for i in order)]
    orders += [(i,) for i in range(2) if ended[i].status == 0 and ended[1 - i].status != 0]
    wrong = []
    for order in orders:
        expected = in_turn(lab, tuple(names[i] for i in order), state)
        if not (different := differences(expected, found)):
            counts("races", "identical")
            return
        wrong.append((order, different))
    raise AssertionError((names, wrong, [child.output[-400:] for child in ended]))


def in_turn(lab: Laboratory, names: tuple[str, ...], state: str = STATE) -> dict[str, str]:
    """What the commands leave one after the other."""
    key = " then ".join((state, *names))
    if key not in lab.results:
        root = lab.start(state)
        for name in names:
            lab.attempt(name)
        lab.results[key] = present(root)
    return lab.results[key]


def beside_a_page(lab: Laboratory, name: str, counts) -> None:
    """A command while an engine searches and follows the run, as a served page does."""
    expected, root = in_turn(lab, (name,)), lab.start(STATE)
    page = begin(serve, root)
    wait_for(root / "ready", page)
    ended = lab.attempt(name, Plan(SLOW))
    found = present(root)
    (root / "stop").touch()
    served = page.end()
    assert served.status == 0, served.output
    assert ended.status == 0, ended.output
    assert not (wrong := differences(expected, found)), wrong
    counts("races", "identical")
    counts("races", "answered", int(served.output.split()[-1]))


def serve(root: Path) -> None:
    """Search, and follow the run, until a file says to stop."""
    engine, searches = Engine.load(root / "run", "cpu"), 0
    (root / "ready").touch()
    while not (root / "stop").exists():
        engine.versions.reload()
        (found,) = engine.search(
            [Query(text="a red boat", instruction="Find the picture.")], SearchOptions(beams=4, k=5)
        )
        assert len(found.hits) == 5
        searches += 1
    print(searches)


def wait_for(file: Path, child: Started) -> None:
    started = time.monotonic()
    while not file.exists():
        assert child.process.is_alive() and time.monotonic() < started + SECONDS, child.end(0).output
        time.sleep(0.02)
