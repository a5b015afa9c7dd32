"""The commands of the README do what it says, as they are printed there."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200), "yellow": (230, 210, 40)}
SHAPES = ("square", "bar", "column")


def draw_folder(folder: Path, count: int = 60) -> None:
    """Pictures of coloured shapes, and a CSV with a text for each."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = ["image,text"]
    for number in range(count):
        colour, shape = list(COLOURS)[number % 4], SHAPES[number % 3]
        pixels = rng.integers(220, 255, (48, 48, 3), dtype=np.uint8)
        high, wide = {"square": (24, 24), "bar": (10, 40), "column": (40, 10)}[shape]
        top, left = rng.integers(0, 48 - high), rng.integers(0, 48 - wide)
        pixels[top : top + high, left : left + wide] = COLOURS[colour]
        Image.fromarray(pixels).save(folder / f"{number}.png")
        lines.append(f"{number}.png,A {colour} {shape} number {number}.")
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")


def commands(heading: str) -> list[str]:
    """The lines of the first shell block under a heading, without their comments."""
    block = re.search(rf"^## {heading}$.*?```bash\n(.*?)```", README, re.DOTALL | re.MULTILINE)[1]
    return [line.split("#")[0].strip() for line in block.splitlines()]


def test_the_readme_begins_with_the_two_commands():
    assert commands("Two commands") == [
        "pip install -r requirements.txt && python app.py",
        "pip install -r requirements.txt && pytest",
    ]


def test_every_file_and_module_that_the_readme_names_exists():
    for module in set(re.findall(r"python -m ([a-z_.]+)", README)):
        path = ROOT / Path(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    for path in set(re.findall(r"^(genius/\S+|training/|app\.py)", README, re.MULTILINE)):
        assert (ROOT / path).exists(), path


def test_the_example_of_the_search_core_runs_as_it_stands(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    torch.manual_seed(0)
    names: dict = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["found"].low.shape == (8, 50) and len(names["pool"].table) == 10_000
    assert "tensor" in capsys.readouterr().out


@pytest.mark.slow
def test_a_newcomer_gets_from_folders_to_a_served_run(tmp_path):
    draw_folder(tmp_path / "photos")
    draw_folder(tmp_path / "shop")
    *steps, serve = commands("Your own collection")
    for line in steps:
        line = line.replace("/data/shop", "shop").replace("python", sys.executable, 1)
        done = subprocess.run(
            line,
            shell=True,
            cwd=tmp_path,
            text=True,
            capture_output=True,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert serve == "python app.py --run my-run"
    assert "beam + re-rank" in (tmp_path / "my-run" / "reports" / "retrieval.md").read_text()
