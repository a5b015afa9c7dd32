import pytest

from tests.ui.tiny_page import serving_hostile


@pytest.fixture(scope="session")
def tiny_page(tmp_path_factory):
    """run, engine, page, url: over a real engine that was not trained, whose captions try to run
    scripts.
    """
    with serving_hostile(tmp_path_factory.mktemp("tiny") / "run", named=True) as page:
        yield page


@pytest.fixture
def phone(browser):
    """A page on a phone."""
    view = {"width": 390, "height": 800}
    with browser.new_context(viewport=view, has_touch=True, is_mobile=True) as context:
        yield context.new_page()
