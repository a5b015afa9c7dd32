"""The address of the page holds the tab and the fields of its last search.

    ?q=a+red+mug&instruction=Find+one.    a search in words
    ?item=7:15171                         items like this one
    ?q=in+blue&picture=7:15171            a search with the picture of this item
    ?example=2                            one of the run's examples, from 0 on
    ?q=a+red+mug&tab=codes&code=0.17.*.5  the items under a code pattern, and a search
    ?tab=map                              a tab
    ?tour=2                               a step of the guided tour (genius/ui/tour)

links.js writes it, as a new entry of the browser's history, and reads it when the page is loaded and after Back and
Forward. An uploaded picture is in no address; the entry keeps where it lies on the server, while it is kept there.
"""

from typing import Any

import gradio as gr

from genius.ui.common.components import UNQUEUED
from genius.ui.common.context import Shared, Signal

FIELDS = {"text": "q"} | {name: name for name in ("instruction", "item", "picture", "example", "upload")}
MAX_FIELD_LENGTH = 2_000  # characters of a field
# An update of gr.Tabs that is made in the browser, without the server; format it with an expression for the tab
SELECT_TAB = "() => [{{__type__: 'update', selected: {}}}]"


class WayBack(gr.HTML):
    """Nothing to see; `.gone(…)` is an event when the visitor went back or forth in the browser's history."""

    def __init__(self, name: str):
        super().__init__(
            None,
            html_template="<i></i>",
            visible="hidden",
            elem_id=name,
            js_on_load="addEventListener('popstate', () => trigger('gone', {}));",
        )


def write_tab_when_chosen(tab: gr.Tab) -> None:
    """When a tab is chosen, write it into the address."""
    tab.select(None, None, None, queue=False, api_visibility="private", js=f"() => {{ genius.setTab({tab.id!r}); }}")


def restore(page: gr.Blocks, shared: Shared) -> None:
    """Open what the address describes, when the page is loaded and after Back and Forward, and write what is shown."""
    address, way_back = Signal("restored"), WayBack("way-back")
    for trigger in (page.load, way_back.gone):
        trigger(None, None, shared.tabs, js=SELECT_TAB.format("genius.tabOfAddress()"), **UNQUEUED)
        trigger(
            parse_address, address, [shared.ask, shared.open_code, shared.tour], js="() => genius.restore()", **UNQUEUED
        )
    shared.address.sent(None, shared.address, None, js="({message}) => { genius.setShown(message); }", **UNQUEUED)


def parse_address(message: Any) -> tuple[dict[str, Any] | None, str | None, dict[str, str] | None]:
    """(ask, open_code, tour) for what the browser wants to be restored; None for what stays as it is."""
    parts = message if isinstance(message, dict) else {}
    search, code, step = parts.get("search"), parts.get("codes"), parts.get("tour")
    ask = None
    if isinstance(search, dict):
        ask = {
            name: value[:MAX_FIELD_LENGTH]
            for name, field in FIELDS.items()
            if isinstance(value := search.get(field, ""), str)
        }
        ask |= {name: search.get(name) for name in ("part", "typed")}
    return (
        ask,
        code[:MAX_FIELD_LENGTH] if isinstance(code, str) else None,
        {"step": step} if isinstance(step, str) else None,
    )
