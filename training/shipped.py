"""The models of the shipped run of photographs, which other runs begin with."""

import json

from genius.errors import UserError
from genius.run import Run, shipped_run

PHOTOS = shipped_run("photos")
SHIPPED = "assets/photos"  # in the settings of a run that has its encoder, in place of an architecture
LINKED = ("encoder", "fusion", "quantizer", "decoder", "ranker")  # the parts that make and find IDs


def photo_run() -> Run:
    """The shipped run of photographs. Raises UserError if one of its models is not there."""
    run = Run(PHOTOS)
    if missing := [part for part in LINKED if not run.has(part)]:
        raise UserError(
            f"the run of photographs, whose models are the default, is not at {PHOTOS} or lacks its {missing[0]}; "
            "restore it, or name an open_clip model: --model ARCHITECTURE --pretrained TAG|FILE"
        )
    return run


def embedding_dim(run: Run) -> int:
    """Dimension of the embeddings of the run's encoder."""
    return json.loads((run.folder("encoder") / "config.json").read_text())["model"]["embed_dim"]
