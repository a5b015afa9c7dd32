"""What all tabs use: panels that never run data, uploads that nothing has opened, choices that several tabs offer."""

import json
import threading
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
from PIL.Image import Image

from genius.collections.images import PAGE, Part, open_image
from genius.errors import UserError, quoted
from genius.index.store import Index
from genius.schema import Modality
from genius.search.checks import MAX_TEXT
from genius.search.engine import Engine
from genius.ui.common.formatting import suggest_instructions
from genius.ui.gradio_hooks import upload_path
from genius.ui.security import UPLOAD_LIFETIME

UI_FOLDER = Path(__file__).parents[1]
UNLIMITED = {"api_visibility": "private", "show_progress": "hidden", "concurrency_limit": None}  # answered at once
# Of events that come while one is answered, only the last is answered, too
LATEST = {**UNLIMITED, "trigger_mode": "always_last"}
LATEST_WITH_PROGRESS = {**LATEST, "show_progress": "minimal"}
UNQUEUED = {"api_visibility": "private", "show_progress": "hidden", "queue": False}  # faster, but errors are not shown
SEARCHES = {"concurrency_id": "search", "concurrency_limit": 32}  # all that search take turns together
TARGETS = {"any": None} | {modality.name.lower(): modality for modality in Modality}
SCOPES = {"everything": False, "added": True}  # what is searched: only what was added since training?
MAX_CACHED_UPLOADS = 8  # decoded uploads, at most 3 MB each
LARGEST_SIDE = 1_024  # pixels of a query's picture; far more than an encoder sees, and it bounds memory under load
# A phone's camera that looks away from its owner; unmirrored, so that what is written stays readable.
CAMERA = gr.WebcamOptions(mirror=False, constraints={"video": {"facingMode": {"ideal": "environment"}}})
BEAMS_NOTE = "How many beginnings of IDs (the beam) are followed at once. More finds more but takes longer."
EXPERT = "expert"  # class of what only “Show numbers” shows
KINDS = {Modality.IMAGE: "Pictures", Modality.TEXT: "Texts", Modality.PAIR: "Both"}  # of results
EDGES = ("left", "top", "right", "bottom")


class Panel(gr.HTML):
    """Draws JSON data with a script.

    name: the elem_id, unique on the page. script: path within genius/ui, such as "search/cards.js"; it defines
    `draw`, a function from the data to DOM nodes, for which the head of the page has helpers (common/nodes.js).
    scripts: others that it uses.

    gr.HTML evaluates whatever its template interpolates, even from data. So the template here is
    constant, and the script builds nodes by createElement and text nodes: a caption stays a caption.
    """

    def __init__(self, name: str, script: str, value: Any = None, scripts: tuple[str, ...] = (), **layout: Any):
        drawing = "\n".join(
            (UI_FOLDER / file).read_text(encoding="utf-8") for file in ("common/panel.js", *scripts, script)
        )
        super().__init__(
            value,
            html_template='<div class="panel"></div>',
            js_on_load=f"{drawing}\ndrawPanel(draw);",
            apply_default_css=False,
            elem_id=name,
            **layout,
        )

    def postprocess(self, value: Any) -> str | None:
        """Data goes to the script as JSON text; None is the panel's empty state.

        Gradio's page copies and compares every value of a component several times at each event, a nested one leaf by
        leaf through proxies, which took longer than all else; a text is one leaf.
        """
        return None if value is None else json_for_browser(value)


def json_for_browser(value: Any) -> str:
    """JSON text for a browser. Gradio's page would translate what follows its marker for translations, even in a
    caption, so the marker is escaped."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.replace("__i18n__", r"\u005f_i18n__")


def introduction(tab: str, text: str) -> Panel:
    """What a tab shows, in at most two lines at its top."""
    return Panel(f"{tab}-introduction", "common/introduction.js", {"text": text})


class Message(gr.HTML):
    """An output of a callback, upon which the browser does something each time, also for an equal value; None is not
    sent. name: the elem_id. act: statements of JavaScript with the value as `message`. at_first: statements that are
    run once, which may call `send(message)` or keep it for others.
    """

    def __init__(self, name: str, act: str, at_first: str = "", **layout: Any):
        script = (
            f"const tell = () => {{ const message = props.value?.message; if (props.value) {{ {act} }} }};\n"
            "const send = message => { props.value = {message, number: Math.random()}; tell(); };\n"
            f"watch('value', tell);\n{at_first}"
        )
        super().__init__(None, html_template="<i></i>", visible="hidden", elem_id=name, js_on_load=script, **layout)

    def postprocess(self, value: Any) -> dict[str, Any] | None:
        """With a unique number, because the browser only notices a value that differs from the last."""
        return None if value is None else {"message": value, "number": uuid.uuid4().hex}

    def preprocess(self, payload: Any) -> Any:
        """The value comes from the browser; listeners check it like any input."""
        return payload.get("message") if isinstance(payload, dict) else None

    def api_info(self) -> dict[str, Any]:
        return {"type": "object"}


class Download(Message):
    """A file that the browser saves: {"name", "type", "text"}. name: its elem_id."""

    def __init__(self, name: str):
        super().__init__(name, "saveButton({...message, label: ''}).click();")


class UploadedImage(gr.Image):
    """An image input that hands over the path of the upload, unopened.

    gr.Image decodes before the callback runs, with every decoder and without limits;
    genius.collections.images does it instead.
    """

    def get_block_name(self) -> str:
        return "image"  # draw it as Gradio draws gr.Image

    def preprocess(self, payload: Any) -> str | None:
        return None if payload is None else upload_path({"path": payload.path, "url": payload.url})


def query_picture(name: str, visible: bool = True) -> UploadedImage:
    """The picture of a query: a file, the camera or the clipboard; a thumbnail. name: its elem_id.

    Not a class: Gradio sends a browser only what a component's own constructor names.
    """
    return UploadedImage(
        label="Picture",
        sources=["upload", "webcam", "clipboard"],
        webcam_options=CAMERA,
        height=64,
        buttons=[],
        placeholder="Add a picture",
        alt_text="Your picture",
        elem_id=name,
        visible=visible,
    )


def query_text(name: str, **layout: Any) -> gr.Textbox:
    """The words of a query. name: its elem_id."""
    return gr.Textbox(
        label="Description",
        placeholder="Describe it, or ask about the picture",
        max_length=MAX_TEXT,
        lines=1,
        max_lines=4,
        elem_id=name,
        **layout,
    )


def query_instruction(index: Index, name: str, **layout: Any) -> gr.Dropdown:
    """The instruction of a query: one of the collection's, or the visitor's own. name: its elem_id."""
    choices = suggest_instructions(index.instructions, None)
    return gr.Dropdown(choices, value=None, label="Instruction", allow_custom_value=True, elem_id=name, **layout)


def open_upload(upload: str, part: Part | None = None) -> Image:
    """An uploaded picture, or a part of it. Raises UserError above the limits of the page."""
    return open_image(upload, max_side=LARGEST_SIDE, part=part, limits=PAGE)


class UploadCache:
    """Opens uploads, and remembers the last ones, so that a search need not decode what was just uploaded. They are
    forgotten at the latest when their unused files are deleted. Thread-safe."""

    def __init__(self, seconds: float = UPLOAD_LIFETIME):
        self.seconds = seconds
        self._opened = lru_cache(MAX_CACHED_UPLOADS)(open_upload)
        self._forgetting: threading.Timer | None = None

    def open(self, upload: str, part: Part | None) -> Image:
        """The picture, or a part of it, in an uploaded file, whose path includes the checksum of what is in it."""
        if not (self._forgetting and self._forgetting.is_alive()):
            self._forgetting = threading.Timer(self.seconds, self._opened.cache_clear)
            self._forgetting.daemon = True
            self._forgetting.start()
        return self._opened(upload, part)


def target_choice(index: Index, name: str) -> gr.Radio:
    """One of TARGETS, of the modalities that the index holds. name: its elem_id."""
    return gr.Radio(
        present_targets(index),
        value="any",
        label="Kind of result",
        elem_id=name,
        info="Auto: your words decide. Otherwise only items of this kind are found.",
    )


def present_targets(index: Index) -> list[tuple[str, str]]:
    """(label, one of TARGETS) of each choice that finds something in the index."""
    present = map(Modality, np.flatnonzero(np.bincount(index.modalities)).tolist())
    return [("Auto", "any"), *((KINDS[modality], modality.name.lower()) for modality in present)]


def weight_slider(engine: Engine, name: str) -> gr.Slider:
    """The decoder's weight in a search, hidden where codes have no codewords to be near to. name: its elem_id."""
    weight = engine.decoder.config.decoder_weight
    return gr.Slider(
        0,
        1,
        value=weight,
        step=0.05,
        label="Decoder weight",
        visible=engine.has_codewords,
        elem_id=name,
        info=f"1: IDs by the decoder, which predicts codes. 0: by distance to the codes. This run uses {weight:g}.",
    )


def target_of(name: Any) -> Modality | None:
    """The modality that one of TARGETS names. Raises UserError for another name."""
    if not isinstance(name, str) or name not in TARGETS:
        raise UserError(f"The modality must be one of {', '.join(TARGETS)}, not {quoted(name)}.")
    return TARGETS[name]


def part_of_picture(name: str, picture: str) -> Panel:
    """Lets a visitor draw a box on an UploadedImage. name: its elem_id. picture: that of the image.

    As an input it is what `part_of` reads: a box, or nothing for the whole picture, as for each new picture. Its event
    `select`: a box was drawn, or removed.
    """
    return Panel(name, "common/part.js", picture=picture)


def part_of(value: Any) -> Part | None:
    """The box that a browser sends, None for none. Raises UserError for what is no box within a picture."""
    if value in (None, ""):  # an empty panel has either
        return None
    box = [value.get(edge) for edge in EDGES] if isinstance(value, dict) else []
    if not all(type(edge) in (int, float) for edge in box) or len(box) != len(EDGES):
        raise UserError("The marked part is not a box; mark it again.")
    left, top, right, bottom = box
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise UserError("The marked part lies outside of the picture; mark it again.")
    return left, top, right, bottom
