"""A tab and a training stage are added as README.md says: one new thing, and one entry in one list."""

from pathlib import Path

import gradio as gr

from genius.ui import page as page_module
from genius.ui.common.context import ServedRun
from genius.ui.page import TabEntry, build
from genius.ui.serving import page_head
from tests.readmes import FRONT
from tests.ui.fake_engine import FakeEngine

CONTRIBUTING = FRONT.read_text().partition("## Contributing")[2].partition("\n## ")[0]


def test_a_tab_is_an_entry_in_the_list_of_tabs(monkeypatch):
    def notes_tab(context, tab):
        gr.Markdown(f"Notes about {context.engine.index.n} items", elem_id="notes")

    monkeypatch.setitem(page_module.TABS, "notes", TabEntry("Notes", notes_tab))
    components = build(FakeEngine(), ServedRun(Path("made-up"))).get_config_file()["components"]
    labels = [component["props"]["label"] for component in components if component["type"] == "tabitem"]
    assert labels == [entry.label for entry in page_module.TABS.values()] and labels[-1] == "Notes"
    assert any(component["props"].get("elem_id") == "notes" for component in components)
    assert "'notes'" in page_head()  # the addresses that lead to it
    assert "`TABS`" in CONTRIBUTING and "genius/ui/page.py" in CONTRIBUTING
