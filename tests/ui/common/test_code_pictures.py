from typing import ClassVar

import pytest

from genius.explore.code_names import CodeName
from genius.ui.common.code_pictures import pictures
from tests.ui.fake_engine import FakeEngine


class Namer:
    """Names of two prefixes; the items of one were removed since."""

    names: ClassVar = {
        (0, 17): CodeName(("boat",), ("1:0", "1:300")),
        (0, 18): CodeName((), ("9:1",)),
        (1, 4): CodeName(("cup",), ()),
    }

    def name(self, prefix):
        return self.names.get(prefix)


@pytest.fixture(scope="module")
def index():
    return FakeEngine().index


def test_a_code_has_the_pictures_that_are_stored_with_its_name(index):
    found = pictures(Namer(), index, "0.17")
    assert found["prefix"] == "0.17" and len(found["pictures"]) == 2
    assert all(one["picture"].startswith("data:image/webp;base64,") and one["label"] for one in found["pictures"])


@pytest.mark.parametrize("prefix", ["0.18", "1.4", "0.99"])
def test_a_code_without_pictures_has_an_empty_answer_so_that_it_is_asked_once(index, prefix):
    assert pictures(Namer(), index, prefix) == {"prefix": prefix, "pictures": []}


@pytest.mark.parametrize("prefix", [None, 3, "", "0.", "0.x", "../0", "0" * 99, ["0"], "0.17\n"])
def test_what_is_no_prefix_gets_no_answer(index, prefix):
    assert pictures(Namer(), index, prefix) is None
