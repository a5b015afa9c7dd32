import pytest

from genius.schema import Modality
from genius.ui.common import formatting


@pytest.mark.parametrize(
    "one, other, length",
    [((1, 2, 3), (1, 2, 4), 2), ((1, 2, 3), (1, 2, 3), 3), ((0,), (1,), 0), ((), (1, 2), 0), ((5, 0, 5), (5, 1, 5), 1)],
)
def test_only_leading_codes_count_as_shared(one, other, length):
    assert formatting.shared_prefix(one, other) == length


def test_suggestions_come_once_those_that_fit_first_then_by_target():
    known = [
        (Modality.TEXT, Modality.PAIR, "b"),
        (Modality.TEXT, Modality.IMAGE, "a"),
        (Modality.IMAGE, Modality.TEXT, "c"),
        (Modality.TEXT, Modality.IMAGE, "a"),
    ]
    assert formatting.suggest_instructions(known, Modality.TEXT) == ["a", "b", "c"]
    assert formatting.suggest_instructions(known, Modality.IMAGE) == ["c", "a", "b"]
    assert formatting.suggest_instructions(known, None) == ["a", "c", "b"]
    assert formatting.suggest_instructions([], Modality.PAIR) == []
