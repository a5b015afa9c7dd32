"""Metrics and log lines: calls by outcome, searches by kind, and nothing about queries, items or visitors."""

import asyncio
import logging
import re
from concurrent.futures import CancelledError

import gradio as gr
import httpx
import pytest

from genius.errors import UserError
from genius.schema import Query
from genius.ui.failures import error_for_caller
from genius.ui.monitoring import Monitor, outcome_of, record_search


def metrics(url: str) -> dict[str, float]:
    """The samples at /metrics, by name and labels."""
    text = httpx.get(f"{url}/metrics", trust_env=False, timeout=60).text
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[0] != "#"}


def test_a_search_is_counted_by_kind_and_outcome(ask, served):
    answered = 'genius_searches_total{kind="text",mode="set",outcome="answered",run="made-up"}'
    refused = 'genius_calls_total{function="on_search",outcome="refused",run="made-up"}'
    timed = 'genius_search_seconds_count{mode="set",run="made-up"}'
    before = metrics(served.url)
    assert ask("on_search", "mug", None, "", None, "", [], 20, 6, True, "set", "any", "cosine", 0.25, None)["success"]
    assert not ask("on_search", "mug", None, "", None, "", [], 20, 6, True, "set", "zebra", "cosine", 0.25, None)[
        "success"
    ]
    after = metrics(served.url)
    grown = {name: after[name] - before.get(name, 0) for name in (answered, refused, timed)}
    assert grown == {answered: 1, refused: 1, timed: 1}


def test_metrics_tell_the_version_the_queue_the_memory_and_the_uploads(served):
    shown = metrics(served.url)
    assert shown['genius_index_info{run="made-up",version="index-00000000"}'] == 1
    assert shown['genius_index_items{run="made-up"}'] == served.engine.index.n
    assert shown['genius_queue_length{run="made-up"}'] == shown["genius_uploads_open"] == 0
    assert shown["process_resident_memory_bytes"] > 1e6


def test_metrics_tell_nothing_of_what_clients_send(ask, served):
    ask(
        "on_search",
        "secret words",
        None,
        "secret instruction",
        None,
        "",
        [],
        20,
        6,
        True,
        "set",
        "any",
        "cosine",
        0.25,
        None,
    )
    ask("on_search", "secret words", None, "", None, "", [], 20, 6, True, "secret mode", "any", "cosine", 0.25, None)
    httpx.get(f"{served.url}/secret/path", trust_env=False, timeout=60)
    assert "secret" not in " ".join(metrics(served.url))


@pytest.mark.parametrize("mode", ["secret", ["set"], {"mode": 1}, 7])
def test_whatever_a_client_sends_the_metrics_stay_few(mode):
    monitor = Monitor()
    with monitor.record_call("run", "search", None), record_search(Query(), mode):
        pass
    assert 'genius_searches_total{kind="empty",mode="unknown",outcome="answered",run="run"} 1.0' in str(
        monitor.prometheus_text()
    )


def test_prometheus_can_read_them(served):
    answer = httpx.get(f"{served.url}/metrics", trust_env=False, timeout=60)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    line = re.compile(r'# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"\n]*",?)+\})? [-+.e0-9]+')
    assert all(line.fullmatch(one) for one in answer.text.splitlines())


def raised_by(error: BaseException) -> BaseException:
    """What a call of the page raises where `error` occurs in it."""
    try:
        try:
            raise error
        except Exception as caught:
            raise error_for_caller(caught, to_program=False) from None
    except BaseException as raised:
        return raised


@pytest.mark.parametrize(
    "error, outcome",
    [
        (UserError("No."), "refused"),
        (CancelledError(), "abandoned"),
        (ValueError("broken"), "failed"),
        (asyncio.CancelledError(), "abandoned"),
    ],
)
def test_an_error_has_the_outcome_of_its_cause(error, outcome):
    assert outcome_of(error) == outcome_of(raised_by(error)) == outcome
    assert outcome_of(gr.Error("Reload the page.")) == "refused"


def test_a_call_is_logged_once_with_its_id_kind_mode_status_and_time(caplog):
    caplog.set_level(logging.INFO, "genius.calls")
    calling, query = Monitor().record_call("run", "on_search", "17"), Query("red mug")
    with pytest.raises(UserError), calling, record_search(query, "fast"):
        raise UserError("No.")
    (record,) = caplog.records
    assert record.event == "search" and record.fields.pop("milliseconds") >= 0
    assert record.fields == {
        "run": "run", "function": "on_search", "status": "refused", "kind": "text", "mode": "fast",
    }  # fmt: skip
    assert "mug" not in record.getMessage()


def test_a_search_outside_a_call_is_not_counted():
    with record_search(Query("mug"), "set"):
        pass
