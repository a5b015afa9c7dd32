"""A disk that is full from any write of a command on."""

import pytest

from tests.hostile.disks.failing import fail_and_repeat, fill_at_every_write
from tests.hostile.file_layer import FULL, Plan


@pytest.mark.parametrize(
    "name", ["add", "remove", "compact", "collections", "ship", "published", "evaluation", "growing"]
)
def test_a_disk_that_is_full_at_any_write_gets_a_sentence_and_loses_nothing(name, lab, counts):
    fill_at_every_write(lab, name, counts)


@pytest.mark.sample
@pytest.mark.parametrize("at", [0, 4, 9])
def test_a_removal_on_a_full_disk_gets_a_sentence_and_loses_nothing(at, lab, counts):
    fail_and_repeat(lab, "remove at once", Plan(FULL, at), counts)
