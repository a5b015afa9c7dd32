import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from genius.errors import UserError
from genius.hub import push
from genius.reports import Column, Report, Table
from genius.run import Run
from tests.fake_hub import TOKEN, fake_hub

ROOT = Path(__file__).resolve().parent.parent
USE = """
import sys
from genius.errors import UserError
from genius.hub import main
from genius.search.engine import Engine
main([sys.argv[1], "ada/birds"])
print(*[hit.item.id for hit in Engine.load("hf://ada/birds", "cpu").search("a red dog").hits])
for address in ("hf://ada/nothing", "hf://birds/of/prey"):
    try:
        Engine.load(address, "cpu")
    except UserError as error:
        print(error)
"""


@pytest.fixture
def run(tiny_run, tmp_path) -> Run:
    """A copy of the tiny run with a report, facts about folders of its owner, and files that are nobody's business."""
    shutil.copytree(tiny_run.path, tmp_path / "run")
    run = Run(tmp_path / "run")
    run.record(collection="/home/ada/birds", sources=["/home/ada/more"])
    (run.path / "reports").mkdir()
    table = Table("Hits", [Column("row"), Column("hit@5", "%")], [["one | two", 0.5]])
    Report("Retrieval", "What is found.\n\nHow.", "genius evaluate", "1", [table], headline="50 %").write(
        run.path / "reports" / "retrieval.json"
    )
    (run.path / "notes.txt").write_text("secret")
    return run


def test_a_run_that_was_pushed_is_loaded_from_the_hub_and_answers_as_before(run, engine, tmp_path):
    with fake_hub() as (address, repositories):
        settings = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0"}
        command = [sys.executable, "-c", USE, run.path]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    pushed, found, missing, no_name = done.stdout.splitlines()
    assert pushed == "hf://ada/birds" and found.split() == [hit.item.id for hit in engine.search("a red dog").hits]
    assert missing.startswith("'hf://ada/nothing' was not loaded (") and "hf://birds/of/prey" in no_name
    ((repo, files),) = repositories.items()
    named = {f"{part['folder']}/{name}" for part in run.manifest["parts"].values() for name in part["files"]}
    beside = {"manifest.json", "README.md", "reports/retrieval.json", "reports/retrieval.md"}
    assert repo == "ada/birds" and files.keys() == named | beside
    assert json.loads(files["manifest.json"])["parts"] == run.manifest["parts"]
    assert not any(b"/home/ada" in data or b"secret" in data for data in files.values())
    card = files["README.md"].decode()
    assert 'Engine.load("hf://ada/birds")' in card and "## Retrieval" in card and "| one \\| two |" in card


def test_a_damaged_run_and_a_link_out_of_it_are_not_uploaded(run):
    (run.path / "CREDITS.md").symlink_to("/etc/hostname")
    with pytest.raises(UserError, match="is a link that leaves the run"):
        push(run, "ada/birds")
    next(run.path.glob("encoder-*/model.safetensors")).write_bytes(b"other")
    with pytest.raises(UserError, match="is not the file that training wrote"):
        push(run, "ada/birds")
