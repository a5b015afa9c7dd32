"""The address of the page holds the tab and the fields of its last search.

    ?q=a+red+mug&instruction=Find+one.    a search in words
    ?item=7:15171                         items like this one
    ?q=in+blue&picture=7:15171            a search with the picture of this item
    ?tab=codes&code=0.17.*.5              the items under a code pattern
    ?tab=map                              a tab
    ?tour=2                               a step of the guided tour (genius/ui/tour)

links.js writes it. Where the page itself opens a tab, as for a code, the browser's Back returns. A search with
an uploaded picture has no address.
"""

from collections.abc import Collection
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from genius.ui.common.components import UNQUEUED
from genius.ui.common.context import Shared, Signal

SEARCH_FIELDS = ("q", "instruction", "item", "picture")  # of a search
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


def write_address_after(event: Dependency, tab: str, **fields: Component) -> None:
    """After each success of an event, write these fields into the address: SEARCH_FIELDS or code.

    Empty ones are left out.
    """
    event.success(
        None,
        [*fields.values()],
        None,
        queue=False,
        api_visibility="private",
        js=f"(...values) => {{ genius.setFields({tab!r}, {[*fields]!r}, values); }}",
    )


def write_tab_when_chosen(tab: gr.Tab) -> None:
    """When a tab is chosen, write it and its last fields into the address."""
    tab.select(None, None, None, queue=False, api_visibility="private", js=f"() => {{ genius.setTab({tab.id!r}); }}")


def restore(page: gr.Blocks, shared: Shared, tabs: Collection[str]) -> None:
    """When the page is loaded, open what its address describes. tabs: the names of the tabs."""
    address, way_back = Signal("address"), WayBack("way-back")
    way_back.gone(None, None, shared.tabs, js=SELECT_TAB.format("genius.tabOfAddress()"), **UNQUEUED)
    page.load(
        lambda parameters: parse_address(parameters, tabs),
        address,
        [shared.tabs, shared.ask, shared.use_as_query, shared.open_code],
        js="() => [{message: genius.address}]",
        **UNQUEUED,
    )


def parse_address(address: Any, tabs: Collection[str]) -> tuple[Any, dict[str, str] | None, str | None, str | None]:
    """(tabs, ask, use_as_query, open_code) for the parameters of an address; unknown ones do nothing, and an unknown
    tab is Search.

    An address that names no tab leaves the page as it is: a visitor may have chosen one meanwhile.
    """
    parameters = address if isinstance(address, dict) else {}
    field = {name: value[:MAX_FIELD_LENGTH] for name, value in parameters.items() if isinstance(value, str)}
    names_tab, ask, item, code = field.get("tab") in tabs, None, None, None
    tab = field["tab"] if names_tab else "search"
    if field.get("tour"):
        return gr.skip(), None, None, None
    if tab == "search" and field.get("item"):
        item = field["item"]
    elif tab == "search" and any(field.get(name) for name in SEARCH_FIELDS):
        ask = {"text": field.get("q", ""), "instruction": field.get("instruction", "")}
        ask |= {"picture": field["picture"]} if field.get("picture") else {}
    elif tab == "codes" and field.get("code"):
        code = field["code"]
    return gr.update(selected=tab) if names_tab else gr.skip(), ask, item, code
