"""Commands at once: what they leave is what they leave one after the other, and a loser gets a sentence."""

from itertools import combinations_with_replacement, permutations

import pytest

from tests.hostile.commands import differences, present
from tests.hostile.file_layer import SLOW, Plan

STATE = "add"  # a trained run to which items were added
COMMON = ("quantizer", "index", "add", "remove", "compact", "training")
RACES = [(*pair, STATE) for pair in combinations_with_replacement(COMMON, 2)]
RACES += [("collections", "collections", "sources")]
RACES += [pytest.param("remove at once", "remove at once", "untrained", marks=pytest.mark.sample)]


@pytest.mark.parametrize("first, second, state", RACES)
def test_two_commands_at_once_leave_what_they_leave_in_turn(first, second, state, lab):
    names = (first, second)
    lab.start(state)
    children = [lab.begin(name, Plan(SLOW)) for name in names]
    ended = [child.end() for child in children]
    actual = present(lab.work)
    for name, child in zip(names, ended, strict=True):
        assert child.status == 0 or child.refused, (name, child.status, child.output)
    winners = [number for number in range(2) if ended[number].status == 0]
    assert winners, [child.output for child in ended]
    orders = [tuple(names[number] for number in order) for order in permutations(winners)]
    different = {order: differences(in_turn(lab, order, state), actual) for order in orders}
    assert not all(different.values()), (different, [child.output[-400:] for child in ended])


def in_turn(lab, names: tuple[str, ...], state: str) -> dict[str, str]:
    """What the commands leave one after the other."""
    key = " then ".join((state, *names))
    if key not in lab.results:
        lab.start(state)
        for name in names:
            lab.attempt(name)
        lab.results[key] = present(lab.work)
    return lab.results[key]
