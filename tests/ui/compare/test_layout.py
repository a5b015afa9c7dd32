"""The Compare tab over a tiny run of real models."""

from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from PIL import Image

from genius.examples import Example, TargetedInstruction
from genius.schema import Modality
from genius.search.engine import Engine
from genius.ui.common.context import Context, ServedRun, Shared
from genius.ui.compare.layout import compare_tab, hnsw_choice
from tests.search.tiny import publish_tiny_run


def test_an_example_fills_the_form_and_removes_the_box_because_the_whole_picture_is_searched(tmp_path):
    picture = Image.new("RGB", (40, 30), "teal")
    example = Example("One", "", picture, (TargetedInstruction("Find one like this.", Modality.IMAGE),))
    engine = Engine.load(publish_tiny_run(tmp_path / "run").path, "cpu")
    with gr.Blocks() as page:
        shared = Shared.create(gr.Tabs())
        with gr.Tab("Compare", id="compare") as tab:
            compare_tab(Context(engine, ServedRun(Path("tiny"), examples=(example,)), shared), tab)
    event = next(event for event in page.fns.values() if event.name == "on_example")
    values = event.fn(0, 3, 5, False, 1.0)
    filled = {block.elem_id: value for block, value in zip(event.outputs, values, strict=True)}
    assert filled["compare-part"] is None and filled["compare-picture"] is picture
    assert filled["compare-instruction"] == "Find one like this." and filled["compare"]["systems"]


@pytest.mark.parametrize(
    "items, problem, ticked, can_be_ticked, says",
    [
        (5_000, None, True, True, "5,000 items is built once"),
        (2_000_000, None, False, True, "takes a while"),
        (5_600_000, "It would take 18.6 GB.", False, False, "It would take 18.6 GB."),
    ],
)
def test_hnsw_is_offered_where_its_graph_fits(items, problem, ticked, can_be_ticked, says):
    engine = SimpleNamespace(index=SimpleNamespace(n=items))
    choice = hnsw_choice(SimpleNamespace(engine=engine, hnsw_problem=problem))
    assert (choice.value, choice.interactive) == (ticked, can_be_ticked) and says in choice.info
