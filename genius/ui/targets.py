"""What a visitor may ask to find: whatever the query asks for, or items of one modality only."""

from __future__ import annotations

from typing import Any

import gradio as gr
import numpy as np

from genius.errors import UserError
from genius.index.store import Index
from genius.schema import Modality
from genius.ui.present import NAMES

TARGETS = {"any": None} | {modality.name.lower(): modality for modality in Modality}


def target_choice(index: Index, name: str) -> gr.Radio:
    """One of TARGETS, of the modalities that the index holds. name: its elem_id."""
    kinds = map(Modality, np.unique(index.modalities))
    return gr.Radio(
        [("As asked", "any"), *((NAMES[kind], kind.name.lower()) for kind in kinds)],
        value="any",
        label="Find",
        elem_id=name,
        info="As asked: the first code is generated like the others. Else only such items are found.",
    )


def target_of(name: Any) -> Modality | None:
    """The modality that one of TARGETS names. Raises UserError for another name."""
    if not isinstance(name, str) or name not in TARGETS:
        raise UserError(f"The modality must be one of {', '.join(TARGETS)}, not {name!r}.")
    return TARGETS[name]
