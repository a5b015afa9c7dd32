"""One run for all tests of a process, and how its mutants are tried."""

from collections.abc import Iterable

import pytest
import torch

from tests.hostile.artifacts.tiny_run import write_run
from tests.hostile.artifacts.trial import Mutant, Trials

SHOWN = 40  # bad mutants


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    torch.set_num_threads(1)  # threads do not survive a fork
    return write_run(tmp_path_factory.mktemp("artifacts") / "run")


@pytest.fixture(scope="session")
def trials(run):
    return Trials(run)


@pytest.fixture
def attempt(trials, counts):
    """attempt(mutants) tries and counts them; bad ones are printed."""

    def attempt_all(mutants: Iterable[Mutant]) -> None:
        bad = 0
        for mutant in mutants:
            outcome, text = trials.outcome(mutant)
            counts("artifacts", outcome)
            if outcome in ("wrong result", "raw error", "out of time", "out of memory") and (bad := bad + 1) <= SHOWN:
                print(f"{mutant.file}: {mutant.name} (sealed: {mutant.sealed}): {outcome}: {text}")

    return attempt_all
