"""The command that takes the READMEs' pictures explains what it needs."""

import socket

import pytest

from genius.errors import UserError
from training.benchmarks import page_pictures


def test_the_directory_to_write_into_must_exist(tmp_path):
    with pytest.raises(UserError, match="is not a directory"):
        page_pictures.main([str(tmp_path / "missing")])


@pytest.mark.browser
def test_a_page_that_is_not_served_is_reported(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UserError, match="python app.py"):
            page_pictures.main([str(tmp_path), address])
    assert not list(tmp_path.iterdir())
