"""What is installed: the wheel holds all that serves and trains, and `genius` starts it from any
folder.
"""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from genius.__main__ import main
from genius.commands import SUBCOMMANDS, program

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SEARCH = """
import sys
import genius
from genius.__main__ import main
from genius.run import shipped_run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
engine = Engine.load(shipped_run("photos"), "cpu")
query = Query(text="a fresh pineapple", instruction="Show me a photo of this.")
(result,) = engine.search([query], SearchOptions(k=5))
print(genius.__file__, len(result.hits), *result.hits[0].codes)
sys.argv = ["genius", "folder", "--help"]
main()
"""


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        env={"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        folder,
        folder=ROOT,
    )
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def python(wheel) -> Path:
    """The interpreter of an environment with the wheel alone, which finds the libraries of this
    one.
    """
    environment = wheel.parent / "environment"
    site = next(p for p in sys.path if p.endswith("-packages"))
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=wheel.parent)
    python = environment / "bin/python"
    command = (
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
        wheel,
    )
    run(sys.executable, *command, folder=wheel.parent)
    (packages,) = environment.glob("lib/*/site-packages")
    (packages / "libraries.pth").write_text(site)
    return python


def test_the_wheel_holds_every_file_of_the_packages_and_the_shipped_runs(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = run("git", "ls-files", "genius", "training", "assets/photos", folder=ROOT).split()
    expected = {f"genius/{file}" if file.startswith("assets") else file for file in tracked}
    assert expected <= held
    assert not any(file.startswith(("tests/", "app.py")) for file in held)


def test_an_installed_package_serves_and_trains_from_an_empty_folder(python, tmp_path):
    assert "other commands" in run(python.parent / "genius", "--help", folder=tmp_path)
    found, _, words = run(python, "-c", SEARCH, folder=tmp_path).partition("\n")
    assert "genius folder FOLDER... RUN" in words
    place, hits, *codes = found.split()
    assert Path(place).is_relative_to(python.parents[1]) and hits == "5" and len(codes) > 1
    assert not list(tmp_path.iterdir())


# of runpy: this process has imported it
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_the_help_of_a_command_says_the_name_under_which_it_was_called(name, capsys, monkeypatch):
    module, _ = SUBCOMMANDS[name]
    monkeypatch.setattr(sys, "argv", ["genius", name, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    text = capsys.readouterr().out
    assert text.startswith(f"usage: genius {name} ") and f"python -m {module} " not in text
    monkeypatch.setattr(sys, "argv", ["training/decoder.py"])
    assert program("training.decoder") == "python -m training.decoder"


def test_requirements_are_those_of_the_package_and_its_extras():
    listed = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    extras = PROJECT["optional-dependencies"]
    wanted = [
        each for name, extra in extras.items() if name not in ("cluster", "heic") for each in extra
    ]
    declared = [*PROJECT["dependencies"], *wanted]
    assert sorted(line.partition("#")[0].strip() for line in listed) == sorted(declared)


def test_wherever_torch_comes_from_the_index_for_cpus_torchvision_does_too():
    """That of PyPI needs the CUDA libraries of PyPI's torch, or it cannot be imported."""
    workflows = (ROOT / ".github/workflows").glob("*.yml")
    for file in (ROOT / "README.md", *workflows):
        installs = re.findall(
            r"pip install (.*) --index-url \S+/whl/cpu\b", file.read_text(encoding="utf-8")
        )
        assert set(installs) == {"torch torchvision"}, file
    declared = {re.split(r"\W", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert {"torch", "torchvision"} <= declared
