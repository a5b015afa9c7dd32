"""The endpoints as a program meets them; what it gets, and the log says, of what fails."""

import base64
import io
from dataclasses import replace

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from PIL import Image

from genius.schema import Modality

LINK = {"path": "http://127.0.0.1:9/x.png", "meta": {"_type": "gradio.FileData"}}


@pytest.fixture(scope="module")
def client(served):
    client = Client(served.url, verbose=False, download_files=False)
    yield client
    client.close()


def refused(client, *given, **named):
    with pytest.raises(AppError) as caught:
        client.predict(*given, **named)
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


def test_the_tab_documents_each_public_endpoint_and_its_calls_can_be_copied(served, client):
    info, documented = (served.client.get(path).json() for path in ("/gradio_api/info", "/api"))
    assert {f"/{one['name']}" for one in documented} == set(info["named_endpoints"])
    assert info["unnamed_endpoints"] == {}
    for endpoint in documented:
        assert endpoint["summary"] and all(one["meaning"] for one in endpoint["parameters"])
        assert client.predict(**endpoint["arguments"], api_name=f"/{endpoint['name']}") is not None


def test_a_search_by_text_and_picture_reaches_the_engine_as_asked(client, served, photo):
    found = client.predict(
        text="mug",
        picture=handle_file(photo),
        instruction="Find one.",
        k=3,
        beams=7,
        modality="text",
        api_name="/search",
    )
    query, options = served.engine.queries[-1]
    assert (query.text, query.instruction, query.image.size) == ("mug", "Find one.", (256, 256))
    assert (options.k, options.beams, options.modality) == (3, 7, Modality.TEXT)
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3] and len(found["generated"]) == 7
    assert found["modality_probabilities"] == {"image": 0.93, "text": 0.05, "pair": 0.02}
    assert found["first_code_probabilities"] == [0.93, 0.05, 0.02]


def test_a_search_says_how_well_it_matches_and_what_was_not_read(client, served, monkeypatch):
    found = served.engine.search
    weak = lambda *given: [replace(result, match="weak") for result in found(*given)]  # noqa: E731
    monkeypatch.setattr(served.engine, "search", weak)
    answer = client.predict(text="not a dog", added=True, api_name="/search")
    assert answer["match"] == "weak"
    only_added, nothing_fits, not_understood = answer["notes"]
    assert "added since training" in only_added and nothing_fits.startswith(
        "Perhaps nothing here fits well."
    )
    assert not_understood.startswith("Words like “not” are not understood")


def test_an_item_is_told_in_full_with_its_picture(client):
    item = client.predict("3:2", api_name="/item")
    assert (
        item["id"] == "3:2"
        and item["modality"] == "pair"
        and item["text"]
        and len(item["codes"]) == 9
    )
    picture = base64.b64decode(item["picture"].removeprefix("data:image/webp;base64,"))
    assert Image.open(io.BytesIO(picture)).format == "WEBP"


def test_the_items_of_a_pattern_come_in_pages(client):
    whole = client.predict("1.3", 6, 0, api_name="/code_items")
    assert whole["pattern"] == "1.3" and whole["count"] > 6
    assert all(item["codes"][:2] == [1, 3] for item in whole["items"])
    assert client.predict("1.3", 3, 3, api_name="/code_items")["items"] == whole["items"][3:]


def test_neighbours_are_the_nearest_and_not_the_item_itself(client):
    near = client.predict("3:2", 5, api_name="/neighbours")
    cosines = [item["cosine"] for item in near]
    assert (
        len(near) == 5
        and cosines == sorted(cosines, reverse=True)
        and "3:2" not in [item["id"] for item in near]
    )


def test_no_endpoint_fetches_a_link(client):
    for given, endpoint in (
        ({"id": LINK}, "/item"),
        ({"pattern": LINK}, "/code_items"),
        ({"text": LINK}, "/search"),
    ):
        assert "links and embedded data are not accepted" in refused(
            client, **given, api_name=endpoint
        )


# What fails

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
