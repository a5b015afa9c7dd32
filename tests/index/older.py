"""Runs as earlier versions of the program wrote them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from genius.index.layout import write_config
from genius.index.store import Index
from genius.run import Run


def hide(run: Path, ids: list[str]) -> None:
    """Remove items as earlier versions of the program did: they stay in the segments."""
    opened = Run(run)
    index = Index.load(opened.folder("index"))
    kept = np.setdiff1d(np.arange(index.n), index.rows_of(ids))
    trained = int((kept < index.config.trained).sum())

    def write(folder: Path) -> None:
        write_config(folder / "config.json", replace(index.config, n=len(kept), trained=trained))
        np.save(folder / "rows.npy", kept.astype(np.int32))
        for name, rows in (
            ("ids", index.packed),
            ("modalities", index.modalities),
            ("distances", index.distances),
        ):
            np.save(folder / f"{name}.npy", rows[kept])

    own = {"config.json", "ids.npy", "modalities.npy", "distances.npy"}
    opened.replace(
        "index",
        write,
        {name: name for name in opened.manifest["parts"]["index"]["files"].keys() - own},
    )
