"""The presets: settings of all stages under a name.

`paper` reproduces the published code and `paper-text` the text of the paper; training/README.md
lists where they depart from their source, and why. The others are ours, for two CPU cores: `small`
and `toy` train everything from scratch, `toy` made the run of the toy world; `photos` trains heads
behind pretrained towers. The run of photographs has earlier heads, see
training/demo/photos/__main__.py. `shipped` begins with the models of that run.

    presets.toml    what each of them changes, in the words of --set
"""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

from genius.errors import UserError
from genius.run import Run, shipped_run
from training.settings import Settings, with_values

MIN_CODES, MAX_CODES = 16, 4096  # per level, where sizes follow the collection
MAX_LEVELS = 9
QUANTIZER_SAMPLES, DECODER_SAMPLES = 300_000, 120_000  # samples of either stage over all epochs
MIN_EPOCHS, MAX_EPOCHS = 4, 40
PATIENCE = 1 / 8  # of all epochs
# in the settings of a run that has the shipped encoder, in place of an architecture
SHIPPED = "assets/photos"
PHOTO_RUN = shipped_run("photos")
LINKED = ("encoder", "fusion", "quantizer", "decoder")  # the parts of it that other runs share

PRESETS: dict[str, Settings] = {}  # each of the file is based on an earlier one, or on the defaults
for _name, _changes in tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
).items():
    PRESETS[_name] = with_values(PRESETS.get(_changes.pop("based_on", ""), Settings()), _changes)
PAPER, SMALL, PHOTOS, TOY = (PRESETS[name] for name in ("paper", "small", "photos", "toy"))


def photo_run() -> Run:
    """The shipped run of photographs. Raises UserError if one of its models is not there."""
    run = Run(PHOTO_RUN)
    if missing := [part for part in LINKED if not run.has(part)]:
        raise UserError(
            f"the run of photographs, whose models are the default, is not at {PHOTO_RUN} "
            f"or lacks its {missing[0]}; "
            "restore it, or name an open_clip model: --model ARCHITECTURE --pretrained TAG|FILE"
        )
    return run


def encoder_config(run: Run) -> dict[str, Any]:
    return json.loads((run.folder("encoder") / "config.json").read_text(encoding="utf-8"))


def embedding_dim(run: Run) -> int:
    """Dimension of the embeddings of the run's encoder."""
    return encoder_config(run)["model"]["embed_dim"]


def reads_apart(run: Run) -> bool:
    """Whether the run's encoder reads instructions apart from texts."""
    return encoder_config(run).get("apart", False)


def settings_for(
    settings: Settings, dim: int, items: int, pairs: int, apart: bool = False
) -> Settings:
    """Settings for this dimension of embeddings, number of items, and number of training pairs.

    apart: the encoder reads instructions apart from texts. A level has about √items codes, so that
    two levels separate most items and the others near-duplicates. The fewer pairs, the more epochs.
    """
    codes = 2 ** round(math.log2(max(items, 1)) / 2)
    size = {
        "dim": dim,
        "codebook_size": min(max(codes, MIN_CODES), MAX_CODES),
        "levels": min(3 + math.ceil(math.log2(max(items, 2)) / 3), MAX_LEVELS),
    }
    fusion = {"dim": dim, "branch": 2 * dim, "hidden": 4 * dim, "instruction": apart}
    quantizer = {"fusion": fusion, "quantizer": size, "upsample_to": 0} | epochs_for(
        QUANTIZER_SAMPLES, pairs
    )
    decoder = {"decoder": size, "upsample_to": 0} | epochs_for(DECODER_SAMPLES, pairs + items)
    return with_values(settings, {"quantizer": quantizer, "decoder": decoder})


def epochs_for(samples: int, pairs: int) -> dict[str, int]:
    epochs = min(max(samples // max(pairs, 1), MIN_EPOCHS), MAX_EPOCHS)
    return {"epochs": epochs, "patience": max(1, int(PATIENCE * epochs))}
