"""The command that times the page says in a sentence what it lacks."""

import socket
from contextlib import contextmanager

import pytest

from genius.errors import UserError
from training.benchmarks import page_controls
from training.benchmarks.page_controls import main


def test_the_options_are_explained(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "usage: python -m training.benchmarks.page_controls [-h] [address]" in capsys.readouterr().out


def test_an_address_where_nothing_answers_is_one_sentence():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UserError, match=f"no page answers at {address} .*; start one with: python app.py"):
            main([address])
    with pytest.raises(UserError, match="no page answers at localhost:1"):
        main(["localhost:1"])


def test_without_a_browser_it_says_how_to_get_one(monkeypatch):
    @contextmanager
    def none():
        yield None

    monkeypatch.setattr(page_controls, "expect_page", lambda address: None)
    monkeypatch.setattr(page_controls, "chromium", none)
    with pytest.raises(UserError, match="there is no Chromium; install it, or get playwright's with"):
        main([])
