from contextlib import ExitStack

import pytest

from tests.search import tiny
from tests.ui.fake_engine import HOSTILE
from tests.ui.tiny_page import serving


@pytest.fixture(scope="session")
def tiny_page(tmp_path_factory):
    """run, engine, page, url: over a real engine that was not trained, whose captions try to run
    scripts.
    """
    with ExitStack() as stack:
        # only until the run is made: other tests make runs, too
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tiny, "WORDS", [HOSTILE, *tiny.WORDS[:4]])
            page = stack.enter_context(serving(tmp_path_factory.mktemp("tiny") / "run", named=True))
        yield page


@pytest.fixture
def phone(browser):
    """A page on a phone."""
    view = {"width": 390, "height": 800}
    with browser.new_context(viewport=view, has_touch=True, is_mobile=True) as context:
        yield context.new_page()
