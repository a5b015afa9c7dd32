"""genius/evaluation/speed/clock.py with a clock that stands still but for what systems take."""

import statistics

import pytest

from genius.evaluation.speed.clock import LEAST, Times, measure_in_turns, rotated


class Clock:
    """Seconds that pass when a system says so."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def system(name, clock, seconds, asked):
    """Takes seconds[i] for its i-th call, and writes down who was asked what."""
    calls = iter(seconds)

    def search(queries):
        asked.append((name, queries))
        clock.seconds += next(calls)

    return search


def measured(seconds, rounds, patience=1e9, queries=4):
    clock, asked = Clock(), []
    systems = {name: system(name, clock, spent, asked) for name, spent in seconds.items()}
    times = measure_in_turns(systems, lambda number: [number] * queries, rounds, patience, clock)
    return times, asked


def test_medians_least_and_most_are_of_all_rounds_but_the_first_in_ms_a_query():
    spent = [99.0, 0.4, 2.0, 0.8, 1.2]

    times, _ = measured({"a": spent}, rounds=4)

    per_query = [1000 * seconds / 4 for seconds in spent[1:]]
    assert times["a"].median == pytest.approx(statistics.median(per_query))
    assert (times["a"].least, times["a"].most) == pytest.approx((100.0, 500.0))
    assert times["a"].rounds == 4


def test_systems_take_turns_and_every_round_begins_with_another_one():
    _, asked = measured({name: [1.0] * 4 for name in "abc"}, rounds=3)

    assert [name for name, _ in asked] == list("abcbcacababc")


def test_all_systems_of_a_round_get_the_same_queries_and_no_other_round_does():
    _, asked = measured({name: [1.0] * 4 for name in "abc"}, rounds=3)

    rounds = [[queries for _, queries in asked[start : start + 3]] for start in range(0, 12, 3)]
    assert all(queries == first for first, *others in rounds for queries in others)
    assert len({tuple(first) for first, *_ in rounds}) == 4


def test_a_system_that_used_up_its_patience_drops_out_but_never_before_its_least_rounds():
    times, _asked = measured({"slow": [5.0] * 10, "fast": [0.5] * 10}, rounds=9, patience=12.0)
    impatient, _ = measured({"slow": [5.0] * 10}, rounds=9, patience=0.0)

    assert times["slow"].rounds == 3  # 15 s after three rounds
    assert times["fast"].rounds == 9
    assert impatient["slow"].rounds == LEAST


def test_rotation_keeps_everyone_in_order():
    assert [rotated([1, 2, 3], by) for by in range(5)] == [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3], [2, 3, 1]]


def test_times_are_ready_for_json():
    assert Times.of([3.0, 1.0]).to_json() == {"median": 2.0, "least": 1.0, "most": 3.0, "rounds": 2}
