"""Epoch checkpoints: a stage that was killed resumes after its last complete epoch.

The random generators are seeded with (seed, epoch) at the start of each epoch, so a checkpoint
holds only weights and optimizer state; on the same CPU the result equals that of an uninterrupted
run.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from genius.errors import UserError
from genius.files import fsync, remove_folder, write_json
from training.distributed import barrier, is_main, rank


class Checkpoints:
    """The last and the best epoch of one stage, in RUN/checkpoints/STAGE."""

    def __init__(self, run: Path, stage: str, *facts: Any):
        """facts: what the stage depends on (settings, digests); `resume` refuses a checkpoint with
        others.
        """
        self.folder = run / "checkpoints" / stage
        self.stage = stage
        self.facts = fingerprint(*facts)

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Load the last epoch if there is one; -> the epoch to continue with.

        Raises UserError if the checkpoint was made with other settings or data.
        """
        state = self._state()
        if not state:
            return 0
        if state["facts"] != self.facts:
            raise UserError(
                f"{self.folder} was made with other settings or data; delete that folder to "
                f"restart the {self.stage}, or use the settings it was started with"
            )
        saved = self._read(state["epoch"])
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        print(f"{self.stage}: resuming after epoch {state['epoch']}")
        return state["epoch"] + 1

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, epoch: int, score: float = 0.0
    ) -> None:
        """Write the epoch, then update state.json; if killed in between, the previous epoch stays
        valid.

        The epoch with the highest score is kept, too, for `load_best`. Only the main process
        writes.
        """
        if is_main():
            file = self._file(epoch)
            file.parent.mkdir(parents=True, exist_ok=True)
            stream = BytesIO()  # torch's own writer of files does not say when a disk is full
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, stream)
            file.write_bytes(stream.getbuffer())
            fsync(file)
            best = self._state().get("best")
            if best is None or score > best["score"]:
                best = {"epoch": epoch, "score": score}
            write_json(
                self.folder / "state.json", {"epoch": epoch, "best": best, "facts": self.facts}
            )
            for old in {*self.folder.glob("epoch-*")} - {file, self._file(best["epoch"])}:
                old.unlink()
        barrier()

    def epochs(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, epochs: int, patience: int = 0
    ) -> Iterator[int]:
        """The epochs that are not done; before the first one, the last that is done is loaded, see
        `resume`.

        patience: end when so many epochs were saved after the one with the highest score; 0: never.
        """
        for epoch in range(self.resume(model, optimizer), epochs):
            if patience and epoch and epoch - 1 - self._state()["best"]["epoch"] >= patience:
                print(
                    f"{self.stage}: stopping, because the last epochs were no better on validation"
                )
                return
            yield epoch

    def load_best(self, model: nn.Module) -> int:
        """Load the weights of the epoch with the highest score; -> that epoch."""
        epoch = self._state()["best"]["epoch"]
        model.load_state_dict(self._read(epoch)["model"])
        return epoch

    def _file(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch}.pt"

    def _read(self, epoch: int) -> dict[str, Any]:
        return torch.load(self._file(epoch), map_location="cpu", weights_only=True)

    def _state(self) -> dict[str, Any]:
        file = self.folder / "state.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def clear(self) -> None:
        """Delete the checkpoints of a published stage."""
        barrier()
        if is_main():
            remove_folder(self.folder)


def fingerprint(*facts: Any) -> str:
    """A short checksum of dataclasses, strings and numbers."""
    text = json.dumps(facts, sort_keys=True, default=dataclasses.asdict)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def files_stamp(files: Iterable[tuple[str, Path]]) -> str:
    """A short checksum of names, sizes and times of change of files; those that are gone count for
    nothing.
    """
    states = []
    for name, file in files:
        with suppress(OSError):  # it is gone meanwhile, or a link to nothing
            status = file.stat()
            states.append([name, status.st_size, status.st_mtime_ns])
    return fingerprint(states)


def reseed(seed: int, epoch: int) -> np.random.Generator:
    """Seed torch for this epoch and process; -> numpy's generator for the epoch, the same on all
    processes.
    """
    torch.manual_seed(seed * 100_003 + epoch + (rank() << 32))
    return np.random.default_rng((seed, epoch))
