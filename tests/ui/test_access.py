import pytest

from genius.errors import UserError
from genius.ui.access import read_people


def test_nobody_has_to_log_in_unless_asked():
    assert read_people(None) == read_people("") == []


def test_one_person_is_named_on_the_command_line():
    assert read_people("ada:se:cret") == [("ada", "se:cret")]


def test_several_people_stand_in_a_file(tmp_path):
    (tmp_path / "people").write_text("ada:one\n\ngrace:two\n")
    assert read_people(str(tmp_path / "people")) == [("ada", "one"), ("grace", "two")]


@pytest.mark.parametrize("auth", ["ada", "ada:", ":secret"])
def test_what_is_no_pair_is_refused_without_repeating_it(auth):
    with pytest.raises(UserError, match="NAME:PASSWORD") as caught:
        read_people(auth)
    assert "ada" not in str(caught.value) and "secret" not in str(caught.value)


def test_an_empty_file_lets_nobody_in_by_mistake(tmp_path):
    (tmp_path / "people").write_text("\n")
    with pytest.raises(UserError):
        read_people(str(tmp_path / "people"))
