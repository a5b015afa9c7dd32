"""genius/evaluation/speed/timing.py with a clock that advances only while a system works."""

import statistics

import pytest

from genius.evaluation.speed.timing import MIN_ROUNDS, measure_in_turns


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def system(name, clock, seconds, calls):
    """Takes seconds[i] for its i-th call, and records its queries."""
    durations = iter(seconds)

    def search(queries):
        calls.append((name, queries))
        clock.seconds += next(durations)

    return search


def measured(seconds, rounds, patience=1e9, batch=4):
    clock, calls = Clock(), []
    systems = {name: system(name, clock, spent, calls) for name, spent in seconds.items()}
    times = measure_in_turns(systems, lambda size, number: [number] * size, batch, rounds, patience, clock)
    return times, calls


def test_times_are_milliseconds_per_query_without_the_warm_up():
    spent = [99.0, 0.4, 2.0, 0.8, 1.2]

    times, _ = measured({"a": spent}, rounds=4)

    per_query = [1000 * seconds / 4 for seconds in spent[1:]]
    expected = {"median": statistics.median(per_query), "least": 100.0, "most": 500.0, "rounds": 4}
    assert times["a"] == pytest.approx(expected)


def test_without_systems_there_are_no_times():
    assert measured({}, rounds=2) == ({}, [])


def test_systems_take_turns_and_each_round_starts_with_the_next_one():
    _, calls = measured({name: [1.0] * 4 for name in "abc"}, rounds=3)

    assert [name for name, _ in calls] == list("abcbcacababc")


def test_all_systems_of_a_round_get_the_same_queries_and_every_round_has_its_own():
    _, calls = measured({name: [1.0] * 4 for name in "abc"}, rounds=3)

    rounds = [[queries for _, queries in calls[start : start + 3]] for start in range(0, 12, 3)]
    assert all(queries == first for first, *others in rounds for queries in others)
    assert [first for first, *_ in rounds] == [[0], [1] * 4, [2] * 4, [3] * 4]


def test_a_slow_system_drops_out_after_its_patience_but_not_before_its_minimum_of_rounds():
    times, _ = measured({"slow": [5.0] * 10, "fast": [0.5] * 10}, rounds=9, patience=12.0)
    impatient, _ = measured({"slow": [5.0] * 10}, rounds=9, patience=0.0)

    assert times["slow"]["rounds"] == 3  # 15 s after three rounds
    assert times["fast"]["rounds"] == 9
    assert impatient["slow"]["rounds"] == MIN_ROUNDS
