"""A disk that is full from any write of a stage of training on."""

import pytest

from tests.hostile.disks.failing import fill_at_every_write


@pytest.mark.parametrize("name", ["features", "quantizer", "decoder", "index"])
def test_a_disk_that_is_full_at_any_write_gets_a_sentence_and_loses_nothing(name, lab, counts):
    fill_at_every_write(lab, name, counts)
