"""Checkpoints by path, or by their name on the Hugging Face hub: hf://OWNER/REPOSITORY[@REVISION]/FILE."""

from __future__ import annotations

from pathlib import Path

from genius.errors import UserError

SCHEME = "hf://"
CLIP_SF = f"{SCHEME}TIGER-Lab/UniIR/checkpoint/CLIP_SF/clip_sf_large.pth"
GENIUS = f"{SCHEME}Sungyeon/GENIUS/checkpoint/GENIUS_t5small.pth"


def local_file(name: str) -> Path:
    """The path itself, or the local copy of a file on the hub. Raises UserError if it cannot be downloaded."""
    if not name.startswith(SCHEME):
        return Path(name)
    owner, _, path = name.removeprefix(SCHEME).partition("/")
    repository, _, file = path.partition("/")
    if not (owner and repository and file):
        raise UserError(f"{name}: expected {SCHEME}OWNER/REPOSITORY/FILE")
    repository, _, revision = repository.partition("@")
    return fetch(f"{owner}/{repository}", file, revision or None)


def fetch(repository: str, file: str, revision: str | None) -> Path:
    """Download a file of a repository. Raises UserError as `local_file` does."""
    from huggingface_hub import errors, hf_hub_download

    try:
        return Path(hf_hub_download(repository, file, revision=revision))
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError) as error:
        raise UserError(
            f"the Hugging Face hub cannot be reached, and {file} of {repository} is not in its cache; "
            "download the file elsewhere and give its path"
        ) from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        raise UserError(
            f"the Hugging Face hub refuses {file} of {repository} ({str(error).splitlines()[0]}); "
            "check the name, or give the path of a local file"
        ) from error
