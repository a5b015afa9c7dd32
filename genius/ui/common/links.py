"""The address of the page holds the tab and the fields of its last search.

    ?q=a+red+mug&instruction=Find+one.    a search in words
    ?item=7:15171                         items like this one
    ?q=in+blue&picture=7:15171            a search with the picture of this item
    ?example=2                            one of the run's examples, from 0 on
    ?q=a+red+mug&results=20&by=scan       a search with settings other than the run's own (search/history.py)
    ?q=a+red+mug&tab=codes&code=0.17.*.5  the items under a code pattern, and a search
    ?tab=map                              a tab
    ?tour=2                               a step of the guided tour (genius/ui/tour)

links.js writes it, as a new entry of the browser's history, and reads it when the page is loaded and after Back and
Forward. An uploaded picture is in no address; the entry keeps where it lies on the server, while it is kept there.
"""

import gradio as gr

from genius.ui.common.components import UNQUEUED
from genius.ui.common.context import Shared

# An update of gr.Tabs that is made in the browser, without the server; format it with an expression for the tab
SELECT_TAB = "signal => [{{__type__: 'update', selected: {}}}]"


def restore(page: gr.Blocks, shared: Shared) -> None:
    """Open what the address describes, when the page is loaded and after Back and Forward, and write what is shown."""
    gone = "addEventListener('popstate', () => trigger('gone', {}));"
    way_back = gr.HTML(None, html_template="<i></i>", visible="hidden", elem_id="way-back", js_on_load=gone)
    restored = [shared.tabs, shared.ask, shared.open_code, shared.tour]
    for trigger in (page.load, way_back.gone):
        trigger(None, None, restored, js="() => genius.restore()", trigger_mode="multiple", **UNQUEUED)
    shared.address.sent(None, shared.address, None, js="({message}) => { genius.setShown(message); }", **UNQUEUED)
