import json
import shutil
from types import SimpleNamespace
from unittest.mock import create_autospec

import pytest
from huggingface_hub import CommitOperationDelete, HfApi
from huggingface_hub.errors import LocalEntryNotFoundError
from huggingface_hub.utils import filter_repo_objects, validate_repo_id

from genius import hub
from genius.errors import UserError
from genius.hub import main, push
from genius.index import update
from genius.reports import Column, Report, Table
from genius.run import Run
from genius.search.engine import Engine

Files = dict[str, bytes]


@pytest.fixture
def repositories(tmp_path, monkeypatch) -> dict[str, Files]:
    """The files of each repository of a hub that stands in for huggingface_hub's, whose calls it
    takes.
    """
    repositories: dict[str, Files] = {}

    def commit(repo, operations, **_):
        for operation in operations:
            if isinstance(operation, CommitOperationDelete):
                del repositories[repo][operation.path_in_repo]
                continue
            with operation.as_file() as stream:
                repositories[repo][operation.path_in_repo] = stream.read()

    def download(repo, patterns) -> str:
        validate_repo_id(repo)
        if repo not in repositories:
            raise LocalEntryNotFoundError(f"no {repo}")
        folder = tmp_path / "cache" / repo / "commit"
        for name in filter_repo_objects(repositories[repo], allow_patterns=patterns):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(repositories[repo][name])
        return str(folder)

    api = create_autospec(HfApi, instance=True)
    api.create_repo.side_effect = lambda repo, **_: repositories.setdefault(repo, {})
    api.create_commit.side_effect = commit
    api.list_repo_files.side_effect = lambda repo: list(repositories[repo])
    api.repo_info.side_effect = lambda repo: SimpleNamespace(private=repo.startswith("ada/private"))
    monkeypatch.setattr(hub, "HfApi", lambda: api)
    for name, stand_in in (
        ("hf_hub_download", lambda repo, name, **_: f"{download(repo, name)}/{name}"),
        ("snapshot_download", lambda repo, allow_patterns, **_: download(repo, allow_patterns)),
    ):
        monkeypatch.setattr(hub, name, create_autospec(getattr(hub, name), side_effect=stand_in))
    return repositories


@pytest.fixture
def run(tiny_run, tmp_path) -> Run:
    """A copy of the tiny run with a report, facts about folders of its owner, and files that are
    nobody's business.
    """
    shutil.copytree(tiny_run.path, tmp_path / "run")
    run = Run(tmp_path / "run")
    run.record(collection="/home/ada/birds", sources=["/home/ada/more"])
    (run.path / "reports").mkdir()
    table = Table("Hits", [Column("row"), Column("hit@5", "%")], [["one | two", 0.5]])
    Report(
        "Retrieval", "What is found.\n\nHow.", "genius evaluate", "1", [table], headline="50 %"
    ).write(run.path / "reports" / "retrieval.json")
    (run.path / "notes.txt").write_text("secret")
    return run


def test_a_run_that_was_pushed_is_loaded_from_the_hub_and_answers_as_before(
    run, engine, repositories, capsys
):
    main([str(run.path), "ada/birds"])
    assert capsys.readouterr().out == "hf://ada/birds\n"
    found, expected = (
        each.search("a red dog").hits for each in (Engine.load("hf://ada/birds", "cpu"), engine)
    )
    assert [hit.item.id for hit in found] == [hit.item.id for hit in expected]
    for address in ("hf://ada/nothing", "hf://birds/of/prey"):
        with pytest.raises(UserError, match=rf"^'{address}' was not loaded \("):
            Engine.load(address, "cpu")
    ((repo, files),) = repositories.items()
    named = {
        f"{part['folder']}/{name}"
        for part in run.manifest["parts"].values()
        for name in part["files"]
    }
    beside = {"manifest.json", "README.md", "reports/retrieval.json", "reports/retrieval.md"}
    assert repo == "ada/birds" and files.keys() == named | beside
    assert json.loads(files["manifest.json"])["parts"] == run.manifest["parts"]
    assert not any(b"/home/ada" in data or b"secret" in data for data in files.values())
    card = files["README.md"].decode()
    assert (
        'Engine.load("hf://ada/birds")' in card
        and "## Retrieval" in card
        and "| one \\| two |" in card
    )


def test_what_a_run_no_longer_has_is_deleted_on_the_hub_and_files_of_others_stay(run, repositories):
    push(run, "ada/birds")
    files = repositories["ada/birds"]
    files[".gitattributes"] = files["own/notes.md"] = b"of the owner"
    (item,) = Engine.load(run.path, "cpu").index.items([1])
    assert any(item.text.encode() in data for data in files.values())
    update.remove(run.path, [item.id])
    (run.path / "reports" / "retrieval.md").unlink()
    push(run, "ada/birds")
    own = {"manifest.json", "README.md", ".gitattributes", "own/notes.md"}
    assert files.keys() == own | set(Run(run.path).files()) and "reports/retrieval.md" not in files
    assert not any(item.text.encode() in data for data in files.values())
    assert item.id not in [
        hit.item.id for hit in Engine.load("hf://ada/birds", "cpu").search(item.text).hits
    ]


def test_what_is_to_be_private_is_not_uploaded_to_a_public_repository(run, repositories):
    main([str(run.path), "ada/private-birds", "--private"])
    assert "manifest.json" in repositories["ada/private-birds"]
    repositories["ada/birds"] = {}
    with pytest.raises(
        UserError,
        match="^'ada/birds' exists and is public, so nothing was uploaded; make it private",
    ):
        main([str(run.path), "ada/birds", "--private"])
    assert repositories["ada/birds"] == {}


def test_a_damaged_run_and_a_link_out_of_it_are_not_uploaded(run):
    (run.path / "CREDITS.md").symlink_to("/etc/hostname")
    with pytest.raises(UserError, match="is a link that leaves the run"):
        push(run, "ada/birds")
    next(run.path.glob("encoder-*/model.safetensors")).write_bytes(b"other")
    with pytest.raises(UserError, match="is not the file that training wrote"):
        push(run, "ada/birds")
