"""Ids as integers, and sets of them."""

import random

import pytest

from genius.collections.keys import KeySet, id_key, key_dataset, key_id


@pytest.mark.parametrize("name", ["0:0", "9:1234", "10:9999999", "999999:999999999999"])
def test_a_key_converts_back_to_its_id(name):
    key = id_key(name)
    assert key_id(key) == name and 0 <= key < 2**63
    assert key_dataset(key) == int(name.split(":")[0])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "9",
        "9:",
        ":1",
        "9:-1",
        "9:01",
        "09:1",
        "9:1:1",
        "a:1",
        "9:1 ",
        "９:1",
        "9:1\n",
        "1000000:1",
    ]
    + ["1:" + "1" * 13],
)
def test_invalid_ids_are_refused(name):
    with pytest.raises(ValueError, match="dataset:number"):
        id_key(name)


def test_a_key_set_agrees_with_a_set():
    rng = random.Random(0)
    keys = KeySet()
    reference = set()
    for _ in range(20_000):
        key = id_key(f"{rng.randrange(3)}:{rng.randrange(9_000)}")
        assert (key in keys) == (key in reference)
        assert keys.add(key) == (key not in reference)
        reference.add(key)
