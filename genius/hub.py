"""Share a run on the Hugging Face hub: upload it, and load it by its address.

    python -m genius.hub RUN USER/NAME [--private]    log in before: hf auth login

`Engine.load("hf://USER/NAME")` loads it, or "hf://USER/NAME@REVISION" (a branch, a tag or a commit)
a version of it. Both name every file that they send or fetch: those of the manifest, whose
checksums are compared before and after, and, where they lie in the run, its reports, examples and
credits. Of these, the hub loses what the run no longer has; but older commits of the repository
still hold it: HfApi().super_squash_history("USER/NAME") forgets them.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    hf_hub_download,
    snapshot_download,
)
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from genius.commands import command_parser
from genius.errors import UserError, exit_on_user_error, quoted
from genius.locks import write_lock
from genius.models.model_hubs import is_hub_unreachable
from genius.reading import one_line
from genius.reports import Report
from genius.run import BESIDE, BUILT_FROM, Run

SCHEME = "hf://"
# begins the name of a part's file
PART_FILE = re.compile(rf"({'|'.join(BUILT_FROM)})-[0-9a-f]{{8}}/")
MOST_ROWS = 25  # of a report's first table, which is all of it that the card shows
CARD = """---
library_name: genius-explorer
tags: [generative-retrieval, multimodal-search, semantic-ids]
---

# {name}

A run of GENIUS Explorer: a search engine that generates the IDs of items. It holds {parts}.

```python
from genius.search.engine import Engine

engine = Engine.load("hf://{repo}")
engine.search("what you look for")
```
"""


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("genius.hub", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a trained run")
    parser.add_argument("repo", metavar="USER/NAME", help="where it is stored on the hub")
    parser.add_argument(
        "--private", action="store_true", help="for yourself alone, if the hub does not have it yet"
    )
    options = parser.parse_args(arguments)
    print(push(Run(options.run), options.repo, options.private))


def push(run: Run, repo: str, private: bool = False) -> str:
    """Upload a run, and delete on the hub what it no longer has; returns its address.

    Raises UserError for a damaged run, one that is being changed, or if the hub refuses it.
    """
    with write_lock(run.path):
        run = Run(run.path)
        for part in run.manifest["parts"]:
            run.folder(part)  # compares checksums
        files = run.files()
        for file in files:
            if not (run.path / file).resolve().is_relative_to(run.path.resolve()):
                raise UserError(
                    f"{run.path / file} is a link that leaves the run; put the file itself there"
                )
        written = {"manifest.json": shared_manifest(run), "README.md": model_card(run, repo)}
        operations: list[CommitOperationAdd | CommitOperationDelete]
        operations = [CommitOperationAdd(name, text.encode()) for name, text in written.items()]
        operations += [CommitOperationAdd(file, run.path / file) for file in files]
        with hub_errors(
            f"{quoted(repo)} was not uploaded", "check USER/NAME, and log in: hf auth login"
        ):
            api = HfApi()
            api.create_repo(repo, private=private, exist_ok=True)
            if private and not api.repo_info(repo).private:
                raise UserError(
                    f"{quoted(repo)} exists and is public, so nothing was uploaded; make it "
                    "private on the hub, or name another repository"
                )
            gone = set(filter(is_of_a_run, api.list_repo_files(repo))).difference(files)
            operations += [CommitOperationDelete(file, is_folder=False) for file in sorted(gone)]
            api.create_commit(repo, operations, commit_message="Upload a run of GENIUS Explorer")
    return SCHEME + repo


def is_of_a_run(file: str) -> bool:
    """Whether a file of a repository is one that `push` uploads; others, which somebody put there,
    stay.
    """
    return bool(PART_FILE.match(file)) or any(fnmatch(file, pattern) for pattern in BESIDE)


def shared_manifest(run: Run) -> str:
    """The manifest with the names alone of folders outside the run, which are nobody else's
    business.
    """
    shared = dict(run.manifest)
    if "sources" in shared:
        shared["sources"] = [Path(source).name for source in shared["sources"]]
    if "collection" in shared:
        shared["collection"] = Path(shared["collection"]).name
    return json.dumps(shared)


def model_card(run: Run, repo: str) -> str:
    """What the run holds, how it is loaded, and the beginning of each of its reports."""
    parts = [
        CARD.format(name=repo.rpartition("/")[2], repo=repo, parts=", ".join(run.manifest["parts"]))
    ]
    for file in sorted((run.path / "reports").glob("*.json")):
        report = Report.load(file)
        note, tables = report.note.partition("\n\n")[0], report.tables[:1]
        tables = [replace(table, rows=table.rows[:MOST_ROWS]) for table in tables]
        start = replace(
            report, note=f"{report.headline}\n\n{note}".strip(), tables=tables
        ).to_markdown()
        headings = re.sub(r"^#", "##", start, flags=re.MULTILINE)  # below that of the card
        parts.append(f"{headings}\n[The whole report](reports/{file.stem}.md)\n")
    return "\n".join(parts)


def local_run(run: Path | str) -> Path:
    """The folder of a run; one on the hub is downloaded first, unless the cache of huggingface_hub
    has it.

    Raises UserError if the hub does not have it, or cannot be reached.
    """
    if not (isinstance(run, str) and run.startswith(SCHEME)):
        return Path(run)
    repo, _, revision = run.removeprefix(SCHEME).partition("@")
    with hub_errors(
        f"{quoted(run)} was not loaded", "check the address hf://USER/NAME and the network"
    ):
        folder = Path(hf_hub_download(repo, "manifest.json", revision=revision or None)).parent
        parts = Run(folder).manifest["parts"].values()
        files = [f"{entry['folder']}/{name}" for entry in parts for name in entry["files"]]
        # of the same commit
        snapshot_download(repo, revision=folder.name, allow_patterns=[*files, *BESIDE])
    return folder


@contextmanager
def hub_errors(what: str, advice: str) -> Iterator[None]:
    """Raises UserError in place of the errors of a hub or a network; others pass."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (HfHubHTTPError, HFValidationError)) or is_hub_unreachable(error):
            raise UserError(f"{what} ({one_line(error)}); {advice}") from error
        raise


if __name__ == "__main__":
    with exit_on_user_error():
        main()
