"""Odd texts, numbers, shapes, files, bodies and addresses, sent to a served run: each answer is
data or one sentence.

The log never has a traceback, and after all of them a control query is answered as before.
"""

import io
import json
from inspect import signature
from types import SimpleNamespace
from typing import Any, NamedTuple

import httpx
import pytest
from PIL import Image

from tests.ui.tiny_page import serving

META = {"meta": {"_type": "gradio.FileData"}}
LONGEST = 500  # characters of a sentence
TEXTS = ["", " \t\n\r\u00a0\u2003", "\n" * 5_000, "a\0b", "\0", "\x1b[2J\x1b]0;x\x07", "\ufeffdog"]
TEXTS += ["\uffff\ufffe", "dog \ud800", "\udfff dog", "\u202egod\u202c", "\u200b\u200d\u2060"]
TEXTS += ["a" + "\u0301" * 5_000, "👨‍👩‍👧‍👦" * 100, "\ue000\U000f0000\U0010ffff", "犬" * 3_000]
TEXTS += ["\ufdfa" * 500, "a" * 10_000, "a" * 10_001, "é" * 1_000_000, "·" * 200, "9" * 190]
TEXTS += ["<script>alert(1)</script>", "${alert(1)} {{7*7}} <%= 7*7 %>", "%s%n%x{0}{}"]
TEXTS += ["' OR 1=1; DROP TABLE items; --", "../../../../etc/passwd", "$(id); `id` | id & id"]
TEXTS += ["http://169.254.169.254/latest", '{"text": "dog"}]}', "1e999", "*.*.*.*", "٣.٤.५", "²"]
TEXTS += ["<|endoftext|><|startoftext|>"]
IDS = ["0:1\0", "0:1\0junk", "0:1 ", " 0:1", "0:01", "0:%", "0:1\ud800", "0:１", "0:-1", "1:1", "0"]
NUMBERS = [0, -1, 2.5, 501, 2**31, 2**64, -(2**63), 10**400, 1e308, float("nan"), float("inf")]
NUMBERS += [True, None, "", "5", "٣", "10" * 2_000, [5], {}, {"value": 5}, "\ud800"]
PATHS = ["/etc/passwd", "../../../../../etc/passwd", "/dev/zero", "file:///etc/passwd", "x\0.png"]
PATHS += ["http://127.0.0.1:9/x.png", "", "\ud800.png", "x/" * 5_000, None, 7, ["/etc/passwd"], {}]
FILES = [{"path": path, **META} for path in PATHS]
FILES += [
    {"path": "x.png", "url": url, **META}
    for url in ("http://169.254.169.254/x", "data:image/png;base64,iVBO")
]
FILES += [{"path": "/etc/passwd"}, META, {"path": "x", "is_stream": True, **META}]
FILES += [[FILES[0]] * 100, "x", 5]
SHAPES = [None, True, 2.5, 10**400, "", "0:1\0", "x" * 1_000_000, [], [1, "x", None], [[], [[]]]]
SHAPES += [[0] * 100_000, {}, {"a": 1, "": None, "__class__": "x"}, {"points": [None, 5, {}]}]
SHAPES += [{"__type__": "update", "value": "x"}, {"codes": [0, "x", None]}]
SHAPES += [{"id": {"a": 1}, "modality": [], "page": 2.0, "value": {}}, {"index": -1, "id": -1}]
SHAPES += [{"column": 10**30, "key": "\0", "total": [], "group": -1}]
SHAPES += [json.loads("[" * 80 + "]" * 80)]
ENDPOINTS = {  # valid arguments, and which of them are texts, ids and numbers
    "search": (["a dog", None, "Find the picture.", 5, 20, "any"], (0, 2, 5), (3, 4)),
    "item": (["0:1"], (0,), ()),
    "code_items": (["0.*", 5, 0], (0,), (1, 2)),
    "neighbours": (["0:1", 5], (0,), (1,)),
}


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


PHOTO = Image.linear_gradient("L").resize((48, 32)).convert("RGB")
# what tests/collections/test_images.py does not open: their bytes, and whether they are searched
# with
UPLOADS = {
    **{kind: (saved(PHOTO, kind), True) for kind in ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF")},
    **{f"half a {kind}": (saved(PHOTO, kind)[:60], False) for kind in ("PNG", "JPEG", "WEBP")},
    **{kind: (saved(PHOTO, kind), False) for kind in ("ICO", "PPM", "TGA", "DDS", "PCX")},
    "SVG": (b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', False),
    "EPS": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) run", False),
    "PNG and HTML": (saved(PHOTO, "PNG") + b"<script>alert(1)</script>", True),
    "24 megapixels": (saved(Image.new("RGBA", (4_898, 4_898)), "PNG"), True),
    "10 MB and one byte": (saved(PHOTO, "PNG").ljust(10 * 2**20 + 1, b"\0"), False),
    "13 MB": (saved(PHOTO, "PNG").ljust(13 * 2**20, b"\0"), False),
}


class Answer(NamedTuple):
    """What a client got."""

    success: bool
    content: Any  # the data, or the message of an error

    @property
    def is_sentence(self) -> bool:
        text = self.content
        is_short = isinstance(text, str) and " " in text and len(text) <= LONGEST
        return is_short and "Traceback" not in text


class Client:
    """Sends what a program can send, past the limits of the browser, to a page that visitors may
    edit.
    """

    def __init__(self, page: SimpleNamespace):
        self.http = httpx.Client(base_url=page.url, timeout=60, trust_env=False)
        functions = (*page.page.public, *page.page.calls)
        self.arguments = {each.__name__: len(signature(each).parameters) for each in functions}

    def send(self, method: str, path: str, **request: Any) -> Answer:
        response = self.http.request(method, path, **request)
        try:
            content = response.json()
        except ValueError:
            content = response.text if response.is_success else None
        if not response.is_success and isinstance(content, dict):
            content = content.get("error", content.get("detail"))
        return Answer(response.status_code < 400, content)

    def post(self, path: str, body: Any) -> Answer:
        """The body as Python writes JSON: with NaN, infinity, numbers of any size and lone
        surrogates.
        """
        json_type = {"content-type": "application/json"}
        return self.send("POST", path, content=json.dumps(body), headers=json_type)

    def call(self, endpoint: str, *data: Any) -> Answer:
        """Call an endpoint by its name, as programs and the page do."""
        called = self.post(f"/gradio_api/call/{endpoint}", {"data": list(data)})
        if not called.success:
            return called
        event = ""
        address = f"/gradio_api/call/{endpoint}/{called.content['event_id']}"
        with self.http.stream("GET", address) as response:
            for line in response.iter_lines():
                name, _, value = line.partition(":")
                if name == "event":
                    event = value.strip()
                elif name == "data" and event == "complete":
                    return Answer(True, json.loads(value))
                elif name == "data" and event == "error":
                    error = json.loads(value)
                    return Answer(False, error.get("error") if isinstance(error, dict) else error)
        return Answer(False, None)

    def upload(self, content: bytes, name: str = "photo.png") -> tuple[Answer, Any]:
        """The answer, and the picture as an input of an endpoint."""
        answer = self.send("POST", "/gradio_api/upload", files={"files": (name, content)})
        return answer, {"path": answer.content[0] if answer.success else "", **META}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served") / "run", editable=True) as page:
        client = Client(page)
        expected = client.call("item", "0:2")
        assert expected.success
        yield client
        assert client.call("item", "0:2") == expected


@pytest.fixture
def check(caplog, capfd):
    """check(answer, …) fails with the rest of its arguments unless it is data or a sentence."""

    def checked(answer, *sent):
        logged = caplog.text + "".join(capfd.readouterr())
        caplog.clear()
        assert "Traceback" not in logged, (logged[-500:], repr(sent)[:500])
        assert answer.success or answer.is_sentence, (answer, repr(sent)[:500])
        return answer

    return checked


def search(served, picture):
    return served.call("search", "", picture, "Find the picture.", 5, 20, "any")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_an_argument_of_an_endpoint(endpoint, served, check):
    valid, texts, numbers = ENDPOINTS[endpoint]
    odd = [(place, text) for place in texts for text in TEXTS] + [
        (at, number) for at in numbers for number in NUMBERS
    ]
    for place, value in odd + [(place, shape) for place in range(len(valid)) for shape in SHAPES]:
        arguments = list(valid)
        arguments[place] = value
        check(served.call(endpoint, *arguments), endpoint, place, value)
    for count in (0, 1, 7, 10_000):
        check(served.call(endpoint, *[None] * count), endpoint)


@pytest.mark.parametrize("endpoint", ["item", "neighbours"])
def test_an_id_is_a_whole_text(endpoint, served, check):
    for item in IDS:
        assert not check(
            served.call(endpoint, item, *[5] * (endpoint == "neighbours")), item
        ).success


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_a_shape_at_every_call_of_the_page(number, served, check):
    for name, count in served.arguments.items():
        check(served.call(name, *[SHAPES[number]] * count), name, SHAPES[number])


def test_odd_ids_remove_nothing_and_odd_texts_are_added_or_refused(served, check):
    for text in (*TEXTS, *(item for item in IDS if item.strip() != "0:1")):
        check(served.call("remove_items", text), text)
        if len(text) < 10**5:
            check(served.call("add_items", [], text), text)
    assert check(served.call("item", "0:1")).success


@pytest.mark.parametrize(
    "file", FILES, ids=lambda file: str(file)[:40].encode("unicode_escape").decode()
)
def test_a_forged_file_is_not_opened(file, served, check):
    assert not check(search(served, file), file).success
    assert not check(served.call("add_items", [file], "dog"), file).success


@pytest.mark.parametrize("name", UPLOADS)
def test_an_upload_is_searched_with_or_refused(name, served, check):
    content, searched = UPLOADS[name]
    uploaded, picture = served.upload(content, "photo.png")
    answer = check(search(served, picture) if uploaded.success else uploaded, name)
    assert answer.success == searched
