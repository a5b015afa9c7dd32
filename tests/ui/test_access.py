import pytest

from genius.errors import UserError
from genius.ui.access import check_editing, check_origins, read_logins


def test_there_is_no_login_by_default():
    assert read_logins(None) == []


@pytest.mark.parametrize("auth", ["", " "])
def test_an_empty_login_is_refused_because_its_variable_may_be_unset(auth):
    with pytest.raises(UserError, match="--auth .* is empty"):
        read_logins(auth)


def test_a_login_that_is_too_long_for_a_path_is_a_login():
    assert read_logins("ada:" + "secret" * 1_000) == [("ada", "secret" * 1_000)]
    with pytest.raises(UserError, match="NAME:PASSWORD") as caught:
        read_logins("secret" * 1_000)
    assert "secret" not in str(caught.value)


def test_a_file_of_logins_that_is_no_text_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "logins").write_bytes("ada:sécret".encode("latin-1"))
    with pytest.raises(UserError, match="must be a text in UTF-8") as caught:
        read_logins(str(tmp_path / "logins"))
    assert "cret" not in str(caught.value) and caught.value.__suppress_context__


def test_one_login_is_given_on_the_command_line():
    assert read_logins("ada:se:cret") == [("ada", "se:cret")]


def test_several_logins_come_from_a_file(tmp_path):
    (tmp_path / "logins").write_text("ada:one\n\ngrace:two\n")
    assert read_logins(str(tmp_path / "logins")) == [("ada", "one"), ("grace", "two")]


@pytest.mark.parametrize("auth", ["ada", "ada:", ":secret"])
def test_a_malformed_login_is_refused_without_repeating_it(auth):
    with pytest.raises(UserError, match="NAME:PASSWORD") as caught:
        read_logins(auth)
    assert "ada" not in str(caught.value) and "secret" not in str(caught.value)


def test_an_empty_file_of_logins_is_refused(tmp_path):
    (tmp_path / "logins").write_text("\n")
    with pytest.raises(UserError):
        read_logins(str(tmp_path / "logins"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "genius.example.org"])
def test_editing_on_the_network_needs_a_login_or_a_flag(host):
    with pytest.raises(UserError, match="--auth NAME:PASSWORD, or pass --allow-anonymous-editing"):
        check_editing(host, [], allow_anonymous=False)
    check_editing(host, [("ada", "one")], allow_anonymous=False)
    check_editing(host, [], allow_anonymous=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost"])
def test_editing_on_this_machine_alone_needs_no_login(host):
    check_editing(host, [], allow_anonymous=False)


def test_only_an_origin_may_embed_the_page():
    check_origins(["https://example.org", "http://example.org:8080"])
    for wrong in ("example.org", "https://example.org/", "https://example.org/path", "*", "null"):
        with pytest.raises(UserError, match="--embed-in takes an origin"):
            check_origins([wrong])
