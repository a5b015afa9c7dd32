"""A run on disk: parts, and the manifest that ties them together.

README.md shows its files. A part is written to a temporary folder beside it, checksummed, then
renamed. A part records the digests of the parts it was built from: an index or a decoder of another
quantizer is refused.

Several processes may change a run at the same time: every change locks the run, reads the manifest
again, changes its own entries, and replaces the file (`Run.changing_manifest`). The files of a
replaced part are deleted unless somebody still holds a ReadLock on them; who lets go of them, or a
later change of that part, deletes them then (`Run.sweep`).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, field_validator

from genius.errors import UserError
from genius.files import (
    describe,
    disk_errors_explained,
    fsync,
    link_or_copy,
    remove_folder,
    sha256,
    write_json,
    written_aside,
)
from genius.locks import ReadLock, deletion_lock, manifest_lock, write_lock
from genius.reading import EXACT, LOOSE, Size, damage_explained, one_line, read_json

FORMAT = 1
BUILT_FROM = {  # every part, and the parts that it is built from, at least
    "encoder": set(),
    "fusion": {"encoder"},
    "quantizer": {"encoder", "fusion"},
    "decoder": {"quantizer"},
    "index": {"encoder", "fusion", "quantizer"},
    "maps": {"fusion", "quantizer"},
    "names": {"encoder", "fusion", "quantizer"},
    "reader": {"encoder"},
}
EXTRAS = ("maps", "names", "reader")  # what a run may hold in addition
RETIRED = "ranker"  # a part of older runs that nothing reads
PARTS = tuple(part for part in BUILT_FROM if part not in EXTRAS)  # what a search needs
# names of folders that `written_aside` and `remove_folder` make, also of each other's
TEMPORARY = re.compile(r"\.+[\w-]+(\.[0-9a-f]{32})+")
# the parts, in the folder of a run
BESIDE = ("reports/*.json", "reports/*.md", "examples/*", "CREDITS.md")
# bytes; of larger files (embeddings of millions) loading checks the size alone
MAX_HASHED = 256 * 2**20

Checksum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
PartName = Annotated[str, Field(pattern=f"^({'|'.join(BUILT_FROM)})$")]
# below its folder
FileName = Annotated[str, Field(pattern=r"^[\w-][\w.-]*(/[\w-][\w.-]*)*$", max_length=200)]


def shipped_run(name: str) -> Path:
    """Where a run that comes with the program lies: in an installed package inside it, in a
    checkout beside it.
    """
    installed = Path(__file__).parent / "assets"
    return (installed if installed.is_dir() else Path(__file__).parents[1] / "assets") / name


def is_run(folder: Path) -> bool:
    """Whether a run was begun there."""
    return (folder / "manifest.json").is_file()


def expect_run(folder: Path) -> None:
    """Raises UserError if there is no run."""
    if not is_run(folder):
        raise UserError(f"{folder} is not a run; train one with: python -m training COLLECTION RUN")


class FileEntry(BaseModel):
    """What the manifest says about a file."""

    model_config = EXACT
    bytes: Annotated[int, Field(ge=0)]
    sha256: Checksum


class PartEntry(BaseModel):
    """What the manifest says about a part."""

    model_config = EXACT
    folder: str
    digest: Checksum
    files: dict[FileName, FileEntry]
    built_from: dict[PartName, Checksum]


class RecordedStage(BaseModel):
    """Settings that a stage was trained with, as far as they are read by name; `training` writes
    more.
    """

    model_config = LOOSE
    rows: list[str] = []
    self_queries: bool = False  # of the decoder
    thumbnail_side: Size = 192  # of the index


class RecordedSettings(BaseModel):
    """The settings of all stages: those that are read by name have their types."""

    model_config = LOOSE
    encoder: RecordedStage = RecordedStage()
    quantizer: RecordedStage = RecordedStage()
    decoder: RecordedStage = RecordedStage()
    index: RecordedStage = RecordedStage()


class RecordedMatch(BaseModel):
    """What genius/search/match.py calls good and weak, see there."""

    model_config = LOOSE
    order: str
    models: dict[str, Checksum]
    weights: dict[str, list[FiniteFloat]]
    only_weak: list[str] = []


class Manifest(BaseModel):
    """The types of a manifest. It may hold other facts, too: those that are listed here are read by
    name.
    """

    model_config = LOOSE
    format: int
    parts: dict[PartName, PartEntry]
    collection: str = ""
    preset: str = ""
    settings: RecordedSettings = RecordedSettings()
    stages: dict[str, dict[str, Any]] = {}
    sources: list[str] = []
    # ids of removed items that files beside the index may still hold; see index/erasing.py
    erasing: list[str] = []
    normalize_embeddings: bool = False
    match: RecordedMatch | None = None

    @field_validator("parts", mode="before")
    @classmethod
    def _without_retired(cls, parts: Any) -> Any:
        return (
            {name: entry for name, entry in parts.items() if name != RETIRED}
            if isinstance(parts, dict)
            else parts
        )


class Run:
    """The directory that training produces and the app serves.

    `manifest` is what the file said when this object was made, and what this object changed since:
    a part that it publishes names the digests of the parts that it really used, whatever other
    processes publish meanwhile.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.manifest = self._read()

    def _read(self) -> dict[str, Any]:
        file = self.path / "manifest.json"
        if not file.exists():
            return {"format": FORMAT, "parts": {}}
        with damage_explained(f"{file} is not a run manifest", "train the run again"):
            manifest = read_json(file, Manifest).model_dump(exclude_unset=True)
        if manifest["format"] != FORMAT:
            raise UserError(
                f"{file} has format {manifest['format']}, this version reads {FORMAT}; "
                "train the run again"
            )
        for name, part in manifest["parts"].items():
            digest = part["digest"]
            if digest != digest_of(part["files"]) or part["folder"] != f"{name}-{digest[:8]}":
                raise UserError(
                    f"{file} describes a part {name!r} that training does not write; "
                    "train the run again"
                )
        return manifest

    @property
    def settings(self) -> RecordedSettings:
        """The settings that the run was trained with, as far as they are read by name; defaults
        where it has none.
        """
        return RecordedSettings.model_validate(self.manifest.get("settings", {}), strict=False)

    def files(self) -> list[str]:
        """What belongs to it besides the manifest: the files of its parts, its reports, examples
        and credits.
        """
        parts = [
            f"{entry['folder']}/{name}"
            for entry in self.manifest["parts"].values()
            for name in entry["files"]
        ]
        beside = (file for pattern in BESIDE for file in sorted(self.path.glob(pattern)))
        return parts + [file.relative_to(self.path).as_posix() for file in beside]

    def copy(self, folder: Path) -> None:
        """Make `folder`, which must not exist, the same run; it takes no space where the disk has
        hard links.

        Raises UserError if another process changes the run, or if the disk is full.
        """
        with (
            write_lock(self.path),
            disk_errors_explained(folder.parent),
            written_aside(folder, folder=True) as aside,
        ):
            now = Run(self.path)
            for name in now.files():
                link_or_copy((self.path / name).resolve(), aside / name)
            write_json(aside / "manifest.json", now.manifest)
            aside.rename(folder)

    def has(self, part: str) -> bool:
        return part in self.manifest["parts"]

    def is_current(self, part: str) -> bool:
        """Whether the run has this part, built from those that it has now."""
        return self.has(part) and all(
            self.has(needed) and self.digest(needed) == digest
            for needed, digest in self._part(part)["built_from"].items()
        )

    def digest(self, part: str) -> str:
        """Checksum of all files of a part. Raises UserError if the run has no such part."""
        return self._part(part)["digest"]

    def folder(self, part: str) -> Path:
        """Folder of a part, after checking its files and that it fits the parts it was built from.

        Raises UserError that names the file or the part that does not belong.
        """
        with self.reading(part) as folder:
            return folder

    @contextmanager
    def reading(self, part: str) -> Iterator[Path]:
        """As `folder`; no other process deletes the folder from before the check until the end of
        the block.

        Raises UserError if a file is missing, or is another than the manifest says.
        """
        entry = self._part(part)
        folder = self.path / entry["folder"]
        try:
            lock = ReadLock(folder)
            self._check_files(folder, entry["files"])
        except FileNotFoundError as error:
            missing = error.filename or folder
            raise UserError(
                f"{missing} is missing; the run is incomplete, train it again"
            ) from None
        except OSError as error:
            raise UserError(
                f"{error.filename or folder} cannot be read ({error.strerror or one_line(error)})"
            ) from None
        self._check_origin(part, entry["built_from"])
        try:
            yield folder
        finally:
            lock.release()

    def _check_files(self, folder: Path, files: dict[str, dict[str, Any]]) -> None:
        """Raises UserError that names the file which is not as recorded, or OSError."""
        below = {file.relative_to(folder) for file in folder.rglob("*") if not file.is_dir()}
        # hidden files, which some systems leave everywhere, do not count
        if unknown := {str(file) for file in below if not file.name.startswith(".")} - files.keys():
            raise UserError(
                f"{folder / min(unknown)} is not a file that training wrote; delete it, "
                "or copy the run again"
            )
        for name, recorded in files.items():
            file = folder / name
            if file.stat().st_size != recorded["bytes"] or (
                recorded["bytes"] <= MAX_HASHED and sha256(file) != recorded["sha256"]
            ):
                raise UserError(
                    f"{file} is not the file that training wrote; copy the run again, or delete "
                    f"{folder} and train again"
                )

    def _check_origin(self, part: str, built_from: dict[str, str]) -> None:
        """Raises UserError if the part was not built from the parts that the run has."""
        for needed, digest in built_from.items():
            if not self.has(needed) or self.digest(needed) != digest:
                command = f"python -m training{f'.{part}' if part in EXTRAS else ''}"
                if part != "names":  # which need no collection
                    command += f" {self.manifest.get('collection', 'COLLECTION')}"
                raise UserError(
                    f"the {part} of {self.path} was built from another {needed}; build it "
                    f"again: {command} {self.path}"
                )
        if missing := BUILT_FROM[part] - built_from.keys():
            raise UserError(
                f"{self.path / 'manifest.json'} does not say which {min(missing)} its {part} was "
                "built from; train the run again"
            )

    def _part(self, part: str) -> dict[str, Any]:
        parts = self.manifest["parts"]
        if not parts:  # as of a mistyped path
            raise UserError(
                f"{self.path} is not a run; train one with: python -m training COLLECTION RUN"
            )
        if part not in parts:
            raise UserError(
                f"{self.path} holds no {part}; train it with: python -m training "
                f"COLLECTION {self.path}"
            )
        return parts[part]

    def publish(
        self, part: str, write: Callable[[Path], None], built_from: tuple[str, ...] = ()
    ) -> Path:
        """Write a part to a temporary folder, checksum it, rename it, then point the manifest at
        it.

        write: fills an empty folder. built_from: the parts of this run it depends on, as this
        object read them. A failure or a kill at any point leaves the run as it was. Raises
        UserError if the disk is full.
        """
        return self._install(part, write, {needed: self.digest(needed) for needed in built_from})

    def replace(
        self, part: str, write: Callable[[Path], None], shared: Mapping[str, str] = {}, **facts: Any
    ) -> Path:
        """Publish a changed version of a part, if neither it nor what it was built from has changed
        meanwhile.

        write: fills an empty folder with the files that are new. shared: names that files of the
        present version have in the new one -> their present names; they are linked, not copied.
        facts: set in the manifest in the same step. Raises UserError if another process has
        published one of these parts since this object was made.
        """
        return self._install(
            part, write, self._part(part)["built_from"], shared, self._part(part), facts
        )

    def _install(
        self,
        part: str,
        write: Callable[[Path], None],
        built_from: dict[str, str],
        shared: Mapping[str, str] = {},
        present: dict[str, Any] | None = None,
        facts: Mapping[str, Any] = {},
    ) -> Path:
        """present: the entry that the manifest must still have for this part; None: whatever it has
        is replaced.
        """
        assert part in PARTS + EXTRAS, part
        unfinished = ""  # the folder that is renamed, until the manifest names it
        try:
            with (
                disk_errors_explained(self.path),
                written_aside(self.path / part, folder=True) as aside,
            ):
                write(aside)
                files = describe(aside)
                for name in files:
                    # safetensors makes files that only their owner can read
                    if (aside / name).stat().st_nlink == 1:
                        (aside / name).chmod(aside.stat().st_mode & 0o666)
                    fsync(aside / name)
                for name, before in shared.items():
                    assert present is not None, "what has the shared files"
                    link_or_copy(self.path / present["folder"] / before, aside / name)
                    files[name] = present["files"][before]
                digest = digest_of(files)
                folder = self.path / f"{part}-{digest[:8]}"
                entry = {
                    "folder": folder.name,
                    "digest": digest,
                    "files": files,
                    "built_from": built_from,
                }
                with self.changing_manifest() as manifest:
                    if present is not None:
                        self._check_unchanged(manifest["parts"], part, present)
                    # else the same bytes were published before
                    if not (folder.exists() and describe(folder) == files):
                        if folder.exists():  # but were damaged since
                            remove_folder(folder)
                        aside.rename(folder)
                        unfinished = folder.name
                    manifest["parts"][part] = entry
                    manifest.update(facts)
        except BaseException:
            self._sweep(re.escape(unfinished))
            raise
        self.manifest["parts"][part] = entry
        self.manifest.update(facts)
        self._sweep(rf"{part}-[0-9a-f]{{8}}")
        return folder

    def _check_unchanged(self, parts: dict[str, Any], part: str, present: dict[str, Any]) -> None:
        """parts: of the manifest as it is now. Raises UserError if the part, or one it was built
        from, is another.
        """
        expected = {part: present["digest"]} | present["built_from"]
        changed = [
            name for name, digest in expected.items() if parts.get(name, {}).get("digest") != digest
        ]
        if changed:
            raise UserError(
                f"another process has published a new {' and '.join(changed)} of {self.path} "
                "meanwhile; nothing was changed, try again"
            )

    def drop(self, part: str) -> None:
        """Go without a part from now on."""
        with self.changing_manifest() as manifest:
            manifest["parts"].pop(part, None)
        self.manifest["parts"].pop(part, None)
        self.sweep(part)

    def record(self, **facts: Any) -> None:
        """Set facts (collection, preset, settings, …) in the manifest."""
        with self.changing_manifest() as manifest:
            manifest.update(facts)
        self.manifest.update(facts)

    @contextmanager
    def changing_manifest(self) -> Iterator[dict[str, Any]]:
        """The manifest as it is on disk, to be changed in the block; no other process changes it
        meanwhile.

        The block must be short, and must not change the run in another way. If it raises, nothing
        is written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with disk_errors_explained(self.path), manifest_lock(self.path):
            manifest = self._read()
            yield manifest
            write_json(self.path / "manifest.json", manifest)

    def sweep(self, part: str) -> None:
        """Delete the versions of a part that the manifest no longer names and no one reads, and
        what killed processes have left; cheap if there are none.
        """
        present = self._read()["parts"].get(part, {}).get("folder")
        if is_run(self.path) and any(
            TEMPORARY.fullmatch(folder.name)
            or (folder.name.startswith(f"{part}-") and folder.name != present)
            for folder in self.path.iterdir()
        ):
            self._sweep(rf"{part}-[0-9a-f]{{8}}")

    def _sweep(self, unwanted: str) -> None:
        """Delete what processes that are gone have left, and folders that no one reads.

        unwanted: pattern of the names of folders; those that the manifest names stay.
        """
        with suppress(OSError, UserError), manifest_lock(self.path):
            named = {entry["folder"] for entry in self._read()["parts"].values()}
            for folder in self.path.iterdir():
                if TEMPORARY.fullmatch(folder.name) or (
                    re.fullmatch(unwanted, folder.name) and folder.name not in named
                ):
                    with suppress(OSError), deletion_lock(folder) as free:
                        if free:
                            remove_folder(folder)


def digest_of(files: dict[str, dict[str, Any]]) -> str:
    """The checksum of a part from what the manifest says about its files."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
