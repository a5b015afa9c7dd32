"""A run on disk: parts, and the manifest that ties them together.

    RUN/manifest.json          names the folder of each part, with checksums; replaced atomically
    RUN/encoder-1a2b3c4d/      a part: written aside, checksummed, then renamed
    RUN/reports/               evaluation, health and training figures

A part records the digests of the parts it was built from, so that loading refuses
an index or a decoder that belongs to another quantizer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from genius.errors import UserError

FORMAT = 1
PARTS = ("encoder", "fusion", "quantizer", "decoder", "index")  # what a search needs
EXTRAS = ("maps",)  # what a run may hold besides
FIELDS = {"folder", "digest", "files", "built_from"}  # of a part in the manifest
HASHED = 256 * 2**20  # bytes; larger files (embeddings of millions) are checked by size when loading


class Run:
    """The directory that training produces and the app serves."""

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.manifest = self._read()

    def _read(self) -> dict[str, Any]:
        file = self.path / "manifest.json"
        if not file.exists():
            return {"format": FORMAT, "parts": {}}
        try:
            manifest = json.loads(file.read_text())
            parts, version = manifest["parts"], manifest["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{file} is not a run manifest ({error}); train the run again") from None
        if version != FORMAT:
            raise UserError(f"{file} has format {version}, this version reads {FORMAT}; train the run again")
        if not isinstance(parts, dict):
            raise UserError(f"{file} lists no parts; train the run again")
        for name, part in parts.items():
            if (
                name not in PARTS + EXTRAS
                or not isinstance(part, dict)
                or FIELDS - part.keys()
                or not re.fullmatch(rf"{name}-[0-9a-f]{{8}}", str(part["folder"]))
            ):
                raise UserError(f"{file} describes a part {name!r} that training does not write; train the run again")
        return manifest

    def has(self, part: str) -> bool:
        return part in self.manifest["parts"]

    def digest(self, part: str) -> str:
        """Checksum of all files of a part. Raises UserError if the run has no such part."""
        return self._part(part)["digest"]

    def folder(self, part: str) -> Path:
        """Folder of a part, after checking its files and that it fits the parts it was built from.

        Raises UserError that names the file or the part that does not belong.
        """
        entry = self._part(part)
        folder = self.path / entry["folder"]
        for name, recorded in entry["files"].items():
            file = folder / name
            if not file.is_file():
                raise UserError(f"{file} is missing; the run is incomplete, train it again")
            if file.stat().st_size != recorded["bytes"] or (
                recorded["bytes"] <= HASHED and sha256(file) != recorded["sha256"]
            ):
                raise UserError(
                    f"{file} is not the file that training wrote; copy the run again, or delete "
                    f"{folder} and train again"
                )
        for other, digest in entry["built_from"].items():
            if not self.has(other) or self.digest(other) != digest:
                raise UserError(
                    f"the {part} of {self.path} was built from another {other}; build it again: "
                    f"python -m training{f'.{part}' if part in EXTRAS else ''} "
                    f"{self.manifest.get('collection', 'COLLECTION')} {self.path}"
                )
        return folder

    def _part(self, part: str) -> dict[str, Any]:
        try:
            return self.manifest["parts"][part]
        except KeyError:
            raise UserError(
                f"{self.path} holds no {part}; train it with: python -m training COLLECTION {self.path}"
            ) from None

    def publish(self, part: str, write: Callable[[Path], None], built_from: tuple[str, ...] = ()) -> Path:
        """Write a part aside, checksum it, rename it, then point the manifest at it.

        write: fills an empty folder. built_from: the parts of this run it depends on.
        A failure or a kill at any point leaves the run as it was.
        """
        assert part in PARTS + EXTRAS, part
        before, entry = self.manifest["parts"].get(part), self.store(part, write)
        self.manifest["parts"][part] = entry | {"built_from": {other: self.digest(other) for other in built_from}}
        self.record()
        if before and before["folder"] != entry["folder"]:
            shutil.rmtree(self.path / before["folder"], ignore_errors=True)
        return self.path / entry["folder"]

    def store(self, part: str, write: Callable[[Path], None], shared: Iterable[str] = ()) -> dict[str, Any]:
        """Put a folder into the run that the manifest does not name yet; returns its folder, digest and files.

        write: fills an empty folder. shared: files that it has in common with the part as the manifest names it; they
        are linked, not copied. A failure or a kill at any point leaves the run as it was.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for left_over in self.path.glob(".tmp-*"):  # by a process that was killed
            shutil.rmtree(left_over, ignore_errors=True)
        aside = self._aside()
        aside.mkdir()
        try:
            write(aside)
            files = describe(aside)
            for name in files:
                fsync(aside / name)
            for name in shared:
                before = self.manifest["parts"][part]
                share(self.path / before["folder"] / name, aside / name)
                files[name] = before["files"][name]
            digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
            folder = self.path / f"{part}-{digest[:8]}"
            if folder.exists() and describe(folder) == files:  # the same bytes were published before
                shutil.rmtree(aside)
            else:
                if folder.exists():  # but were damaged since
                    folder.rename(self._aside())
                aside.rename(folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        return {"folder": folder.name, "digest": digest, "files": files}

    def discard(self, folder: Path) -> None:
        """Delete a folder of the run so that its name never stands for half of it."""
        gone = self._aside()
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _aside(self) -> Path:
        return self.path / f".tmp-{uuid.uuid4().hex}"

    def record(self, **facts: Any) -> None:
        """Add facts (collection, preset, seconds, …) to the manifest and replace it atomically."""
        self.manifest.update(facts)
        write_json(self.path / "manifest.json", self.manifest)


def describe(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and checksum of every file below a folder, by relative path."""
    return {
        str(file.relative_to(folder)): {"bytes": file.stat().st_size, "sha256": sha256(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def share(file: Path, link: Path) -> None:
    """One file under two names, or a copy where the disk cannot do that."""
    link.parent.mkdir(exist_ok=True)
    try:
        os.link(file, link)
    except OSError:
        shutil.copy2(file, link)


def write_json(file: Path, value: Any) -> None:
    """Write JSON so that a reader never sees half of it."""
    write_text(file, json.dumps(value, indent=1) + "\n")


def write_text(file: Path, text: str) -> None:
    """Write aside, then rename."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    aside.write_text(text, encoding="utf-8")
    fsync(aside)
    os.replace(aside, file)


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fsync(file: Path) -> None:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
