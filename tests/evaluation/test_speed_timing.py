"""genius/evaluation/speed/timing.py with a clock that advances only while a system works."""

import socket

import pytest
import torch

from genius.evaluation.speed import timing
from genius.evaluation.speed.timing import (
    MIN_ROUNDS,
    describe_machine,
    measure_in_turns,
    median_ratio,
)


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
    clock = Clock()
    calls = []
    systems = {name: system(name, clock, spent, calls) for name, spent in seconds.items()}
    times = measure_in_turns(
        systems, lambda size, number: [number] * size, batch, rounds, patience, clock
    )
    return times, calls


def test_times_are_milliseconds_per_query_without_the_warm_up():
    times, _ = measured({"a": [99.0, 0.4, 2.0, 0.8, 1.2]}, rounds=4)
    assert times["a"] == pytest.approx([100.0, 500.0, 200.0, 300.0])
    assert measured({}, rounds=2) == ({}, [])


def test_systems_take_turns_and_each_round_starts_with_the_next_one():
    _, calls = measured({name: [1.0] * 4 for name in "abc"}, rounds=3)

    assert [name for name, _ in calls] == list("abcbcacababc")
    rounds = [[queries for _, queries in calls[start : start + 3]] for start in range(0, 12, 3)]
    assert all(queries == first for first, *others in rounds for queries in others)
    # every round has its own
    assert [first for first, *_ in rounds] == [[0], [1] * 4, [2] * 4, [3] * 4]


def test_a_slow_system_drops_out_after_its_patience_but_not_before_its_minimum_of_rounds():
    times, _ = measured({"slow": [5.0] * 10, "fast": [0.5] * 10}, rounds=9, patience=12.0)
    impatient, _ = measured({"slow": [5.0] * 10}, rounds=9, patience=0.0)

    assert len(times["slow"]) == 3  # 15 s after three rounds
    assert len(times["fast"]) == 9
    assert len(impatient["slow"]) == MIN_ROUNDS


def test_two_systems_are_compared_round_by_round():
    """The machine is ten times slower in the second round; the ratio of the medians would be 20 /
    15.
    """
    slow = [20.0, 200.0, 20.0]
    fast = [10.0, 100.0, 15.0, 15.0, 15.0]
    assert median_ratio(slow, fast) == 2.0
    assert median_ratio(fast, slow) == 0.5


def test_the_machine_is_named_but_not_the_host(monkeypatch, tmp_path):
    cpu = torch.device("cpu")
    assert torch.__version__ in describe_machine(
        cpu
    ) and socket.gethostname() not in describe_machine(cpu)
    monkeypatch.setattr(timing, "CPUINFO", tmp_path / "none")  # as on macOS
    assert timing.processor_name() and socket.gethostname() not in timing.processor_name()
