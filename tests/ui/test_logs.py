import json
import logging

import pytest

from genius.ui import logs
from genius.ui.monitoring import CALL_LOG, Monitor


@pytest.fixture(autouse=True)
def logging_as_before():
    loggers = [logging.getLogger(), logs.SERVER_LOG, CALL_LOG]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    yield
    logging.captureWarnings(False)
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def entries(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_json_log_has_one_object_per_line_whatever_is_logged(capsys):
    logs.configure(as_json=True)
    logs.SERVER_LOG.info("Loading %s", "a\nb\u2028c\udc80\0", extra={"event": "loading", "fields": {"run": "a"}})
    try:
        raise ValueError("broken\nin two lines")
    except ValueError:
        logging.getLogger("anything").exception("a callback failed")
    loading, failed = entries(capsys)
    assert (loading["level"], loading["event"], loading["run"]) == ("info", "loading", "a")
    assert loading["message"] == "Loading a\nb\u2028c\udc80\0" and loading["time"].endswith("+00:00")
    assert (failed["level"], failed["event"], failed["logger"]) == ("error", "message", "anything")
    assert "ValueError: broken" in failed["traceback"]


def test_every_line_that_a_call_logs_has_its_request_id(capsys):
    logs.configure(as_json=True)
    with Monitor().record_call("run", "on_search", "17"):
        logging.getLogger("anything").warning("slow")
    logging.getLogger("anything").warning("later")
    warning, call, later = entries(capsys)
    assert warning["request_id"] == call["request_id"] == "17" and "request_id" not in later
    assert (call["event"], call["function"], call["status"]) == ("call", "on_search", "answered")


def test_a_text_log_says_what_the_server_does_and_not_each_call(capsys):
    logs.configure(as_json=False)
    logs.SERVER_LOG.info("Serving at %s", "http://address")
    with Monitor().record_call("run", "on_search", None):
        pass
    assert capsys.readouterr().out == "Serving at http://address\n"
