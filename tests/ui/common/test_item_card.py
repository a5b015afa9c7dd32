from pathlib import Path

import gradio as gr
import pytest

from genius.errors import UserError
from genius.ui.common.context import Context, ServedRun, Shared
from genius.ui.common.item_card import ItemCard, item_card_view, on_code, on_query
from tests.ui.fake_engine import FakeEngine


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


def event(**data):
    return gr.EventData(None, data)


def test_a_card_has_what_its_script_draws(engine):
    drawn = item_card_view(engine, engine.index.item(5).id)
    assert (drawn["id"], drawn["modality"], drawn["name"]) == (engine.index.item(5).id, "pair", "Pair")
    assert drawn["picture"].startswith("data:image/webp;base64,") and len(drawn["codes"]) == 9
    assert len(drawn["neighbours"]) == 8
    for near in drawn["neighbours"]:
        assert (near["picture"] is None) == (near["modality"] == "text") and near["cosine"].startswith("0.")


def test_gradio_can_copy_a_card_that_a_callback_skips(engine):
    with gr.Blocks() as blocks:
        with gr.Tabs() as tabs:
            pass
        card = ItemCard("card", Context(engine, ServedRun(Path("made-up")), Shared.create(tabs)))
    wired = len(blocks.fns)
    copy = ItemCard(**{**card.constructor_args, "render": False})  # as gr.Blocks.postprocess_data does for gr.skip()
    assert copy.elem_id == "card" and len(blocks.fns) == wired > 0


def test_a_card_says_where_its_item_is_from_if_that_is_known(engine):
    assert item_card_view(engine, engine.index.item(6).id)["provenance"] is None
    shown = item_card_view(engine, engine.index.item(5).id)
    link = "https://example.org/dog"
    known = {"credit": "Ada Example", "licence": "CC BY 2.0", "origin": link, "link": link}
    assert shown["provenance"] == known and shown["facts"] == [("kind", "dog")]


def test_a_code_opens_the_pattern_that_ends_there():
    assert on_code(event(codes=[0, 17, 240])) == "0.17.240"


@pytest.mark.parametrize("codes", [None, "0.17", [0, "*"], [True], {"0": 1}])
def test_what_is_no_list_of_codes_gets_one_sentence(codes):
    with pytest.raises(UserError, match="Invalid ID"):
        on_code(event(codes=codes))


def test_the_button_passes_the_id_on():
    assert on_query(event(id="7:12")) == "7:12"
