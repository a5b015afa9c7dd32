"""How the codes of one ID narrow down what may be found, level by level.

A probability is the decoder's, of a code among the *valid* codes of its level: those that continue
an existing ID. What it gave to all other codes, which the trie masks, is told apart. The decoder
scores any ID that is given, so these are known for every result, whether or not the beam search
kept it; where it would have lost it is read from its trace.

Shapes: s items shown of a level, M levels, k codes of a level.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from genius.explore.beam_tree import beam_tree
from genius.explore.word_fits import spread
from genius.schema import SearchResult
from genius.trie.code_table import CodeTable, Matches

SHOWN = 6  # items of each level
ROUNDING = 1e-6  # of a share that was computed in float32
OTHERS = 4  # codes of each level that were considered but not chosen


@dataclass(frozen=True)
class CodeChoice:
    """A code that may follow a prefix."""

    code: int
    probability: float  # among the valid codes
    items: int  # with the prefix and this code


@dataclass(frozen=True)
class CodeStep:
    """One level of the ID."""

    chosen: CodeChoice
    others: tuple[CodeChoice, ...]  # the most probable of the other codes that were possible here
    masked: float  # share of the probability of all codes of the level that the trie masked
    settled: bool  # one ID was left before this code, so that no other code was possible
    shown: tuple[int, ...]  # (s,) rows of items that remain possible, spread evenly over their IDs


@dataclass(frozen=True)
class BeamRank:
    """Where the beginning of an ID stood at one level of the beam search."""

    rank: int | None  # from 1; None: beyond those that were recorded
    beams: int  # beginnings that were followed from there on

    @property
    def kept(self) -> bool:
        return self.rank is not None and self.rank <= self.beams


@dataclass(frozen=True)
class Narrowing:
    """The steps that generate an ID."""

    items: int  # that may be found, before the first code
    shown: tuple[int, ...]  # (s,) rows of some of them
    steps: tuple[CodeStep, ...]
    place: int | None  # rank of the ID among the generated ones, from 1; None: it was not generated
    # of its beginnings, until the beam search dropped one; empty: there was none
    ranks: tuple[BeamRank, ...]

    @property
    def codes(self) -> tuple[int, ...]:
        return tuple(step.chosen.code for step in self.steps)

    @property
    def left(self) -> int:
        """Items that remain possible at the end."""
        return self.steps[-1].chosen.items

    def branched(self, level: int, code: int, after: Self) -> Self:
        """The same steps with another code at this level, and from there on those of another
        search.

        after: of a search for the same query in which every ID began with the codes up to this one.
        Raises KeyError if the search did not consider the code.
        """
        step = self.steps[level]
        known = {choice.code: choice for choice in (step.chosen, *step.others)}
        chosen = known.pop(code)
        here = replace(
            after.steps[level],
            chosen=chosen,
            others=_by_probability(known.values()),
            masked=step.masked,
        )
        return replace(after, steps=(*self.steps[:level], here, *after.steps[level + 1 :]))


def narrowing(
    result: SearchResult, table: CodeTable, codes: Sequence[int], log_probs: Sequence[np.ndarray]
) -> Narrowing:
    """The steps that generate an ID with these codes (M,).

    result: of a search over the items of `table`. log_probs: of all codes of each level (k,) after
    those before, as `Engine.code_log_probs` gives them.
    """
    codes = tuple(codes)
    place = next(
        (place for place, found in enumerate(result.generated, 1) if found.codes == codes), None
    )
    start = before = table.match(())
    steps = []
    for level, (code, scores) in enumerate(zip(codes, log_probs, strict=True)):
        matches, (valid, counts) = table.match(codes[: level + 1]), before.children()
        log_probs_left = scores[valid].astype(np.float64)
        most = log_probs_left.max()  # which may be too small for its exponential
        shares = np.exp(log_probs_left - most)
        probabilities = shares / shares.sum()
        probabilities[probabilities >= 1 - ROUNDING] = 1  # of the only valid code
        columns = zip(valid.tolist(), probabilities.tolist(), counts.tolist(), strict=True)
        choices = {one: CodeChoice(one, share, items) for one, share, items in columns}
        chosen = choices.pop(code)
        others = _by_probability(choices.values())
        masked = max(0.0, 1 - float(np.exp(most) * shares.sum()))
        one_id = bool((before.packed[0] == before.packed[-1]).all())  # they are sorted
        steps.append(CodeStep(chosen, others, masked, one_id, sample(matches)))
        before = matches
    return Narrowing(len(start), sample(start), tuple(steps), place, beam_ranks(result, codes))


def beam_ranks(result: SearchResult, codes: Sequence[int]) -> tuple[BeamRank, ...]:
    """How far the beam search followed an ID, level by level; the last one is not kept where it
    dropped it.
    """
    if not result.trace:
        return ()
    tree = beam_tree(result.trace)
    kept = [int(level.kept.sum()) for level in result.trace]
    ranks = [
        BeamRank(int(tree.place[number]), kept[level])
        for level, number in enumerate(tree.lineage(codes))
    ]
    if len(ranks) < len(codes) and (not ranks or ranks[-1].kept):
        ranks.append(BeamRank(None, kept[len(ranks)]))
    return tuple(ranks)


def sample(matches: Matches) -> tuple[int, ...]:
    """(s,) rows of items, spread evenly over the IDs."""
    return tuple(spread(matches.rows, SHOWN).tolist())


def _by_probability(choices: Iterable[CodeChoice]) -> tuple[CodeChoice, ...]:
    return tuple(sorted(choices, key=lambda choice: -choice.probability)[:OTHERS])
