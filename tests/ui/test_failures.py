"""What programs and visitors get for requests that fail, and what the log says."""

import pytest

BIG = "x" * 100_000
FAULT = "Something went wrong on the server; its log has the details."
UNREADABLE = "The request contains invalid Unicode or too many nested values."


@pytest.mark.parametrize(
    "endpoint, given, sentence",
    [
        ("search", {"text": "mug", "k": 10**400}, "whole number from 1 to 500, not 1000"),
        ("search", {"text": "mug", "beams": 10**400}, "whole number from 1 to 200, not 1000"),
        ("search", {"text": "mug\ud800"}, UNREADABLE),
        ("search", {"modality": "<b>'sound'"}, "any, image, text, pair, not \"<b>'sound'\"."),
        ("search", {"picture": {"path": "/etc/passwd", "meta": 1}}, "Upload the"),
        ("item", {"id": "3:2\0junk"}, "There is no item '3:2\\x00junk' in this index."),
        ("item", {"id": {"a": 1}}, "There is no item {'a': 1} in this index."),
        ("item", {}, "The arguments do not fit this endpoint; the API tab lists them."),
        ("code_items", {"pattern": "0.<b>"}, "'<b>' is not a code"),
    ],
)
def test_programs_get_one_sentence_as_it_is(ask, endpoint, given, sentence):
    assert sentence in ask(endpoint, **given)["error"]


@pytest.mark.parametrize(
    "path, sent, status, sentence",
    [
        ("/call/nowhere", {"json": {"data": []}}, 404, ""),
        ("/call/v2/item", {"json": {"other": 1}}, 400, "The arguments do not fit this endpoint"),
        ("/call/search", {"json": {"data": BIG}}, 400, ""),
        ("/queue/join", {"json": {"data": [], "fn_index": 10**6, "session_hash": "a"}}, 404, ""),
        ("/queue/join", {"json": {"data": []}}, 404, ""),
        ("/upload", {"json": {}}, 400, ""),
        ("/upload", {"files": {"files": ("", b"")}}, 422, "The upload has no file"),
        (
            "/upload",
            {"content": b"x", "headers": {"content-type": "multipart/form-data"}},
            400,
            "boundary",
        ),
        ("/nowhere", {"json": {}}, 404, "This page has no such address."),
    ],
)
def test_a_request_that_reaches_no_endpoint_gets_one_sentence_and_one_line_in_the_log(
    served, caplog, path, sent, status, sentence
):
    answer = served.client.post(f"/gradio_api{path}", **sent)
    assert answer.status_code == status and len(answer.text) < 1_000
    assert sentence in answer.json()["error"] and answer.json()["detail"] == answer.json()["error"]
    assert len(caplog.records) == 1 and not caplog.records[0].exc_info


def test_a_fault_of_ours_has_a_traceback_in_the_log_and_no_details_in_the_answer(ask, caplog):
    assert ask("search", text="bug") == {"error": FAULT}
    (record,) = caplog.records
    assert record.exc_info
