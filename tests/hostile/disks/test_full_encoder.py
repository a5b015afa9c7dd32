"""A disk that is full from any write of the encoder or the maps on."""

import pytest

from tests.hostile.disks.failing import fill_at_every_write


@pytest.mark.parametrize("name", ["encoder", "maps"])
def test_a_disk_that_is_full_at_any_write_gets_a_sentence_and_loses_nothing(name, lab, counts):
    fill_at_every_write(lab, name, counts)
