"""The reader: which readings are possible, and that neither padding nor other requests change
one.
"""

import torch

from genius.models.reader import TAGS, Reader, ReaderConfig
from genius.schema import READINGS, READINGS_OF_PICTURES, READINGS_OF_WORDS

WIDTH = 7


def tiny_reader() -> Reader:
    torch.manual_seed(0)
    return Reader(ReaderConfig(WIDTH, 5, {"image similar": "Find similar pictures."})).eval()


def test_a_request_has_the_readings_of_its_kind():
    states = torch.randn(2, 4, WIDTH)
    mask = torch.ones(2, 4, dtype=torch.bool)
    readings, tags = tiny_reader()(states, mask, torch.tensor([False, True]))
    names = list(READINGS)
    for row, possible in zip(readings, (READINGS_OF_WORDS, READINGS_OF_PICTURES), strict=True):
        assert {
            name for name, value in zip(names, row.tolist(), strict=True) if value > -torch.inf
        } == set(possible)
    torch.testing.assert_close(readings.exp().sum(1), torch.ones(2))
    assert tags.shape == (2, 4, len(TAGS))
    torch.testing.assert_close(tags.exp().sum(2), torch.ones(2, 4))


def test_padding_changes_nothing():
    states = torch.randn(1, 3, WIDTH)
    reader = tiny_reader()
    alone, tags = reader(states, torch.ones(1, 3, dtype=torch.bool), torch.tensor([True]))
    padded = torch.cat([states, torch.full((1, 4, WIDTH), 9.0)], dim=1)
    mask = torch.arange(7)[None] < 3
    beside, padded_tags = reader(padded, mask, torch.tensor([True]))
    torch.testing.assert_close(beside, alone)
    torch.testing.assert_close(padded_tags[:, :3], tags)


def test_it_is_saved_with_its_sentences(tmp_path):
    reader = tiny_reader()
    reader.save(tmp_path)
    loaded = Reader.load(tmp_path)
    assert loaded.config == reader.config
    for name, weight in reader.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name])
