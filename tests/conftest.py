"""Settings of all tests."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch starts: several processes share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Each process has its own, within that of the process that started it, whose environment it has:
# a server that ends deletes its files, and equal ones of other servers
os.environ["GRADIO_TEMP_DIR"] = tempfile.mkdtemp(
    prefix="uploads-", dir=os.environ.get("GRADIO_TEMP_DIR")
)
atexit.register(shutil.rmtree, os.environ["GRADIO_TEMP_DIR"], ignore_errors=True)

HERE = Path(__file__).parent
SLOW = 3_600  # seconds that a test marked slow may take; others: `timeout` in pyproject.toml
MOST = 4  # processes; each needs two gigabytes
# files, and then folders
LONG = ("test_readme.py", "test_package.py", "test_hub.py", "test_export.py")
LONG += ("training", "ui", "evaluation", "hostile", "index", "search")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_FLAGS = [
    "--no-sandbox",
    "--use-gl=swiftshader",  # WebGL, for large plots
    "--enable-unsafe-swiftshader",
    # a camera that shows a test picture, where a page is allowed to see it
    "--use-fake-device-for-media-stream",
]


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """A run that was not trained, to be read only."""
    from tests.search.tiny import publish_tiny_run

    return publish_tiny_run(tmp_path_factory.mktemp("tiny") / "run")


@pytest.fixture(scope="session")
def engine(tiny_run):
    """A real engine over a tiny run. Who changes it, changes it back."""
    from genius.search.engine import Engine

    return Engine.load(tiny_run.path, "cpu")


@pytest.fixture(scope="session")
def collection(tmp_path_factory):
    """A tiny one, of every task of M-BEIR."""
    from tests.evaluation.micro import write_micro_collection

    return write_micro_collection(tmp_path_factory.mktemp("micro") / "collection")


@pytest.fixture(scope="session")
def profile(tmp_path_factory):
    """What a visitor's browser keeps on disk: above all the page's scripts, compiled."""
    return tmp_path_factory.mktemp("profile")


@pytest.fixture(scope="module")
def context(profile):
    """The visitor of headless Chromium, the system's or playwright's own: a browser with a profile.

    Not longer than a module: an event loop comes with it.
    """
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        programs = [*map(shutil.which, BROWSERS), playwright.chromium.executable_path]
        program = next(
            (program for program in programs if program and Path(program).exists()), None
        )
        if program is None:
            pytest.skip("no Chromium on this machine; install it to run the browser tests")
        opened = playwright.chromium.launch_persistent_context(
            profile, executable_path=program, args=BROWSER_FLAGS
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def browser(context):
    """For contexts of other visitors, or of other devices; they keep nothing."""
    return context.browser


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, for the time in which tests wait for a browser or a server."""
    return min((os.cpu_count() or 1) + 1, MOST)


def pytest_collection_modifyitems(items):
    items.sort(key=place)
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))


def place(item: pytest.Item) -> int:
    """Long files begin first: all processes but one would wait for one that begins last."""
    part = item.path.relative_to(HERE).parts[0]
    return LONG.index(part) if part in LONG else len(LONG)
