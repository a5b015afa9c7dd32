from pathlib import Path

import gradio as gr
import httpx

from genius.ui.runs import HostedRun
from genius.ui.serving import Hosting, serve


def test_sessions_keep_the_states_of_each_visitor_and_describe_no_components():
    with gr.Blocks(analytics_enabled=False) as page:
        count, shown = gr.State(0), gr.Number()
        gr.Button().click(lambda before: (before + 1, before + 1), count, [count, shown], queue=False)
    server = serve([HostedRun(Path("made-up"), lambda: page)], Hosting(port=0))
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as client:

        def counted(visitor):
            asked = {"data": [None], "session_hash": visitor, "fn_index": 0}
            return client.post("/gradio_api/run/predict", json=asked).json()["data"][1]

        assert [counted(visitor) for visitor in ("ada", "ada", "bob", "ada")] == [1, 2, 1, 3]
    for session in page.state_holder.session_data.values():
        assert {*session.config_values} <= {count._id}
    server.close()
