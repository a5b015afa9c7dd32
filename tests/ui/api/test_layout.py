"""The endpoints as a program meets them."""

import base64
import io
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from PIL import Image

from genius.schema import Modality
from genius.ui.api.endpoints import endpoints
from genius.ui.common.about import About
from genius.ui.common.context import Context, ServedRun
from tests.ui.fake_engine import FakeEngine

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


def test_four_endpoints_are_public_and_nothing_else(served):
    info = httpx.get(f"{served.url}/gradio_api/info", trust_env=False, timeout=60).json()
    assert set(info["named_endpoints"]) == {"/search", "/item", "/code_items", "/neighbours"}
    assert info["unnamed_endpoints"] == {}


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


def test_first_codes_are_no_modalities_where_they_emerged(client):
    found = client.predict(text="emergent", api_name="/search")
    assert found["modality_probabilities"] is None and found["first_code_probabilities"] == [0.93, 0.05, 0.02]


def test_what_is_left_out_has_a_default(client, served):
    assert len(client.predict(text="mug", api_name="/search")["hits"]) == 10
    query, options = served.engine.queries[-1]
    assert query.image is None and options.ranking is None


def test_a_search_without_an_instruction_gets_the_first_one_of_the_run_as_on_the_page():
    engine, about = FakeEngine(), About(ask_by_text=("Picture this.",))
    search, *_ = endpoints(Context(engine, ServedRun(Path("made-up"), about=about), None))
    for instruction, used in (("", "Picture this."), ("Find one.", "Find one.")):
        assert search("a mug", instruction=instruction)["instruction"] == used
        assert engine.queries[-1][0].instruction == used


@pytest.mark.parametrize("number", [1, 6, 7])
def test_arguments_at_the_end_may_be_left_out_by_who_calls_without_gradios_client(served, number):
    given = ["A red dog.", None, "", 7, 20, "any", ""][:number]
    with httpx.Client(base_url=f"{served.url}/gradio_api/call", timeout=60, trust_env=False) as http:
        event = http.post("/search", json={"data": given}).json()["event_id"]
        assert "event: complete" in http.get(f"/search/{event}").text
        event = http.post("/item", json={"data": []}).json()["event_id"]
        assert "The arguments do not fit this endpoint" in http.get(f"/item/{event}").text


def test_the_published_order_can_be_asked_for(client, served):
    found = client.predict(text="mug", ranking="cosine", api_name="/search")
    assert served.engine.queries[-1][1].ranking == found["ranking"] == "cosine"
    assert found["hits"][0]["shares"] == {}


def test_an_item_is_told_in_full_with_its_picture(client):
    item = client.predict("3:2", api_name="/item")
    assert item["id"] == "3:2" and item["modality"] == "pair" and item["text"] and len(item["codes"]) == 9
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
    assert len(near) == 5 and cosines == sorted(cosines, reverse=True) and "3:2" not in [item["id"] for item in near]


@pytest.mark.parametrize(
    "given, endpoint, sentence",
    [
        ({"text": ""}, "/search", "Type a description, add a picture, or both."),
        ({"text": "mug", "modality": "song"}, "/search", "The modality must be one of any, image, text, pair"),
        ({"text": "mug", "k": 0}, "/search", "number of results"),
        ({"text": "mug", "beams": 201}, "/search", "The beam size must be a whole number from 1 to 200"),
        ({"text": "mug", "beams": 10**400}, "/search", "The beam size must be a whole number from 1 to 200"),
        ({"id": "nowhere"}, "/item", "There is no item"),
        ({"pattern": "0.x"}, "/code_items", "is not a code"),
        ({"pattern": "0", "limit": 1000}, "/code_items", "The limit must be a whole number from 0 to 100"),
        ({"pattern": "0", "offset": -1}, "/code_items", "The offset must be"),
        ({"id": "3:2", "k": 10**9}, "/neighbours", "number of results"),
    ],
)
def test_what_cannot_be_answered_gets_one_sentence(client, given, endpoint, sentence):
    assert sentence in refused(client, **given, api_name=endpoint)


@pytest.mark.parametrize(
    "picture",
    [
        LINK,
        {"path": "/etc/hostname"},
        {"path": "/etc/hostname", "meta": {"_type": "gradio.FileData"}},
        "/etc/hostname",
        [1],
        {"url": "data:image/png;base64,AAAA"},
    ],
)
def test_a_picture_that_was_not_uploaded_never_reaches_the_engine(client, served, picture):
    before = len(served.engine.queries)
    refused(client, text="mug", picture=picture, api_name="/search")
    assert len(served.engine.queries) == before


def test_no_endpoint_fetches_a_link(client):
    for given, endpoint in (({"id": LINK}, "/item"), ({"pattern": LINK}, "/code_items"), ({"text": LINK}, "/search")):
        assert "links and embedded data are not accepted" in refused(client, **given, api_name=endpoint)
