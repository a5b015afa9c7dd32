from types import SimpleNamespace

import numpy as np
import pytest

from genius.errors import UserError
from genius.schema import Modality
from genius.ui.common.components import target_choice, target_of


def test_only_what_the_index_holds_is_offered():
    index = SimpleNamespace(modalities=np.array([2, 0, 2], dtype=np.uint8))
    choice = target_choice(index, "target")
    assert [value for _, value in choice.choices] == ["any", "image", "pair"] and choice.value == "any"
    assert [target_of(value) for _, value in choice.choices] == [None, Modality.IMAGE, Modality.PAIR]


@pytest.mark.parametrize("name", ["sound", "IMAGE", None, 0, ["text"]])
def test_another_name_gets_one_sentence_with_the_choices(name):
    with pytest.raises(UserError, match="must be one of any, image, text, pair, not"):
        target_of(name)
