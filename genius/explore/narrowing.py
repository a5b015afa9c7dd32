"""How the generation of one ID narrows down what may be found, level by level, read from the search's own trace.

A probability is that of a code among the *valid* codes of its level: those that continue an existing ID. What the
decoder gave to all other codes, which the trie masks, is told apart.

Shapes: s items shown of a level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from genius.explore.beam_tree import BeamTree, beam_tree
from genius.explore.code_profile import spread
from genius.schema import SearchResult
from genius.trie.code_table import CodeTable, Matches

SHOWN = 6  # items of each level
ROUNDING = 1e-6  # of a share that was computed in float32
OTHERS = 4  # codes of each level that were considered but not chosen


@dataclass(frozen=True)
class CodeChoice:
    """A code that may follow a prefix."""

    code: int
    probability: float | None  # among the valid codes; None: it was not decoded
    items: int  # with the prefix and this code


@dataclass(frozen=True)
class CodeStep:
    """One level of the ID."""

    chosen: CodeChoice
    others: tuple[CodeChoice, ...]  # the most probable of the other codes that the search considered here
    masked: float | None  # share of the probability of all codes of the level that the trie masked; None: not decoded
    settled: bool  # one ID was left before this code, so that no other code was possible
    shown: tuple[int, ...]  # (s,) rows of items that remain possible, spread evenly over their IDs


@dataclass(frozen=True)
class Narrowing:
    """The steps that generate an ID or, in mode fast, the beginning of one."""

    items: int  # that may be found, before the first code
    shown: tuple[int, ...]  # (s,) rows of some of them
    steps: tuple[CodeStep, ...]
    place: int | None  # rank of the ID among the generated ones, from 1; None: it was not generated

    @property
    def codes(self) -> tuple[int, ...]:
        return tuple(step.chosen.code for step in self.steps)

    @property
    def left(self) -> int:
        """Items that remain possible at the end."""
        return self.steps[-1].chosen.items

    def branched(self, level: int, code: int, after: Narrowing) -> Narrowing:
        """The same steps with another code at this level, and from there on those of another search.

        after: of a search for the same query in which every ID began with the codes up to this one. Raises KeyError if
        the search did not consider the code.
        """
        step = self.steps[level]
        known = {choice.code: choice for choice in (step.chosen, *step.others)}
        chosen = known.pop(code)
        here = replace(after.steps[level], chosen=chosen, others=_by_probability(known.values()), masked=step.masked)
        return replace(after, steps=(*self.steps[:level], here, *after.steps[level + 1 :]))


def narrowing(result: SearchResult, table: CodeTable, codes: Sequence[int] = ()) -> Narrowing:
    """The steps that generate an ID. codes: the ID; by default the best one that was generated.

    result: of a traced search over the items of `table`; it must have generated an ID.
    """
    tree = beam_tree(result.trace)
    codes = tuple(codes or result.generated[0].codes)
    place, decoded = next(
        (
            (place, beam.depth)
            for place, beam in enumerate(result.generated, 1)
            if beam.codes == codes[: len(beam.codes)]
        ),
        (None, len(codes)),
    )
    path = tree.lineage(codes)[:decoded].tolist()
    before = table.match(())
    steps, start = [], before
    for level, code in enumerate(codes):
        matches = table.match(codes[: level + 1])
        settled = bool((before.packed[0] == before.packed[-1]).all())  # they are sorted, so all have the same ID
        if level < len(path):
            number = path[level]
            chosen = CodeChoice(code, _probability(tree, number), len(matches))
            others, masked = _others(tree, number), float(tree.masked[number])
        else:
            chosen, others, masked = CodeChoice(code, None, len(matches)), (), None
        steps.append(CodeStep(chosen, others, masked, settled, sample(matches)))
        before = matches
    return Narrowing(len(start), sample(start), tuple(steps), place)


def sample(matches: Matches) -> tuple[int, ...]:
    """(s,) rows of items, spread evenly over the IDs."""
    return tuple(spread(matches.rows, SHOWN).tolist())


def _others(tree: BeamTree, number: int) -> tuple[CodeChoice, ...]:
    """The siblings of a prefix."""
    siblings = np.flatnonzero((tree.level == tree.level[number]) & (tree.parent == tree.parent[number]))
    return _by_probability(
        CodeChoice(int(tree.code[sibling]), _probability(tree, sibling), int(tree.items[sibling]))
        for sibling in siblings.tolist()
        if sibling != number
    )


def _by_probability(choices: Iterable[CodeChoice]) -> tuple[CodeChoice, ...]:
    return tuple(sorted(choices, key=lambda choice: -(choice.probability or 0.0))[:OTHERS])


def _probability(tree: BeamTree, number: int) -> float:
    """That of the last code of a prefix, among the valid codes; that of the only valid one is exactly 1."""
    share = float(np.exp(tree.step[number] - tree.log_valid[number]))
    return share if share < 1 - ROUNDING else 1.0
