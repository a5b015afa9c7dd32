"""Metrics and the log: calls by outcome, searches by kind, and nothing about queries, items or
visitors.
"""

import json
import logging

import pytest

from genius.errors import UserError
from genius.schema import Query
from genius.ui import monitoring
from genius.ui.calls import Call
from genius.ui.monitoring import CALL_LOG, SERVER_LOG, Monitor, record_search


def metrics(served) -> dict[str, float]:
    """The samples at /metrics, by name and labels."""
    lines = served.client.get("/metrics").text.splitlines()
    samples = [line.rsplit(" ", 1) for line in lines if line[0] != "#"]
    return {name: float(value) for name, value in samples}


def test_a_search_is_counted_by_kind_and_outcome(ask, served):
    answered = 'genius_searches_total{kind="text",mode="both",outcome="answered",run="made-up"}'
    refused = 'genius_calls_total{function="search",outcome="refused",run="made-up"}'
    timed = 'genius_search_seconds_count{mode="both",run="made-up"}'
    before = metrics(served)
    assert "answer" in ask("search", text="mug")
    assert "error" in ask("search", text="mug", modality="zebra")
    after = metrics(served)
    grown = {name: after[name] - before.get(name, 0) for name in (answered, refused, timed)}
    assert grown == {answered: 1, refused: 1, timed: 1}


def test_metrics_tell_the_version_the_queue_the_memory_and_the_uploads(served):
    shown = metrics(served)
    assert shown['genius_index_info{run="made-up",version="index-00000000"}'] == 1
    assert shown['genius_index_items{run="made-up"}'] == served.engine.index.n
    assert shown['genius_queue_length{run="made-up"}'] == shown["genius_uploads_open"] == 0
    assert shown["process_resident_memory_bytes"] > 1e6


def test_metrics_tell_nothing_of_what_clients_send(ask, served):
    ask("search", text="secret words", instruction="secret instruction")
    ask("search", text="secret words", mode="secret mode")
    ask("secret", text="words")
    served.client.get("/items/secret")
    served.client.get("/secret/path")
    assert "secret" not in " ".join(metrics(served))


@pytest.mark.parametrize("mode", ["secret", ["set"], {"mode": 1}, 7])
def test_whatever_a_client_sends_the_metrics_stay_few(mode):
    monitor = Monitor()
    with monitor.record_call("run", "search", Call()), record_search(Query(), mode):
        pass
    labels = {"run": "run", "kind": "empty", "mode": "unknown", "outcome": "answered"}
    assert monitor.registry.get_sample_value("genius_searches_total", labels) == 1


@pytest.mark.parametrize(
    "error, outcome", [(UserError("No."), "refused"), (ValueError("broken"), "failed")]
)
def test_a_call_is_logged_once_with_its_id_kind_mode_status_and_time(caplog, error, outcome):
    caplog.set_level(logging.INFO, "genius.calls")
    calling = Monitor().record_call("run", "search", Call())
    query = Query("red mug")
    with pytest.raises(type(error)), calling, record_search(query, "scan"):
        raise error
    (record,) = caplog.records
    assert record.event == "search" and record.fields.pop("milliseconds") >= 0
    assert record.fields == {
        "run": "run",
        "function": "search",
        "status": outcome,
        "kind": "text",
        "mode": "scan",
    }
    assert "mug" not in record.getMessage()


@pytest.fixture
def logging_as_before():
    loggers = [logging.getLogger(), SERVER_LOG, CALL_LOG]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def entries(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_json_log_has_one_object_per_line_whatever_is_logged(capsys, logging_as_before):
    monitoring.configure_logs(as_json=True)
    SERVER_LOG.info(
        "Loading %s", "a\nb\u2028c\udc80\0", extra={"event": "loading", "fields": {"run": "a"}}
    )
    try:
        raise ValueError("broken\nin two lines")
    except ValueError:
        logging.getLogger("anything").exception("a callback failed")
    loading, failed = entries(capsys)
    assert (loading["level"], loading["event"], loading["run"]) == ("info", "loading", "a")
    assert loading["message"] == "Loading a\nb\u2028c\udc80\0" and loading["time"].endswith(
        "+00:00"
    )
    assert (failed["level"], failed["event"], failed["logger"]) == ("error", "message", "anything")
    assert "ValueError: broken" in failed["traceback"]


def test_a_text_log_says_what_the_server_does_and_not_each_call(capsys, logging_as_before):
    monitoring.configure_logs(as_json=False)
    SERVER_LOG.info("Serving at %s", "http://address")
    with Monitor().record_call("run", "search", Call()):
        pass
    assert capsys.readouterr().out == "Serving at http://address\n"
