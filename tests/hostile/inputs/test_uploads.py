"""Uploads that are damaged, giant, of another format, or something else at once."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from genius.collections.images import open_image
from genius.errors import UserError
from tests.hostile.inputs import odd, pictures
from tests.hostile.inputs.pictures import oriented, photo, saved

CASES = list(pictures.cases())


def search(client, picture):
    return client.call("search", "", picture, "Find the picture.", 5, 20, "any")


@pytest.mark.sample
def test_every_upload_is_opened_or_refused_in_this_process(counts):
    for what, _, content, expected in CASES:
        try:
            open_image(content(), max_side=1_024)
        except UserError:
            outcome = pictures.REFUSED
        else:
            outcome = pictures.ANSWERED
        counts("inputs", outcome)
        assert outcome == expected or expected is None, what


@pytest.mark.parametrize("name, content, expected", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_upload_is_searched_with_or_refused(client, judge, name, content, expected):
    uploaded, picture = client.upload(content(), name)
    answer = judge(search(client, picture) if uploaded.success else uploaded, name)
    assert answer.outcome == expected or expected is None


@pytest.mark.parametrize("name", pictures.NAMES, ids=lambda name: ascii(name[:30]))
def test_the_name_of_a_file_does_not_matter(client, judge, name):
    uploaded, picture = client.upload(saved(photo(), "PNG"), name)
    judge(uploaded, name)
    if uploaded.success:
        assert judge(search(client, picture), name).success


@pytest.mark.parametrize("kind, options", [("JPEG", {}), ("PNG", {}), ("WEBP", {"lossless": True})])
def test_a_rotated_picture_is_answered_like_the_upright_one(client, judge, kind, options):
    found = []
    for orientation in range(1, 9):
        rotated = oriented(orientation, kind, **options)
        upright = saved(ImageOps.exif_transpose(Image.open(pictures.io.BytesIO(rotated))), "PNG")
        answers = [judge(search(client, client.upload(one)[1]), orientation) for one in (rotated, upright)]
        hits = [answer.content[0]["hits"] for answer in answers]
        assert hits[0] == hits[1]
        found.append(str(hits[0]))
    assert len(set(found)) > 4  # they are different pictures to the encoder


@pytest.mark.parametrize("file", odd.FILES.values(), ids=odd.FILES)
@pytest.mark.parametrize("page", ["search", "on_search"])
def test_a_forged_file_is_not_opened(client, judge, file, page):
    if page == "search":
        answer = judge(search(client, file), file)
    else:
        function = next(number for number, name in client.functions.items() if name == page)
        answer = judge(
            client.join(function, [None, file, None, None, "", [], 20, 5, True, "set", "any", "cosine", 0.25]), file
        )
    assert not answer.success


FORM = "multipart/form-data; boundary=y"
FORMS = {
    "nothing": {},
    "no name": {"files": {"files": ("", b"")}},
    "another field": {"files": {"other": ("x.png", b"x")}},
    "a text": {"data": {"files": "text"}},
    "no boundary": {"content": b"x", "headers": {"content-type": "multipart/form-data"}},
    "no part": {"content": b"x" * 1_000, "headers": {"content-type": FORM}},
    "no end": {"content": b"--y\r\n", "headers": {"content-type": FORM}},
    "no header": {"content": b"--y\r\n\r\n\r\n--y--", "headers": {"content-type": FORM}},
    "JSON": {"content": b"{}", "headers": {"content-type": "application/json"}},
    "1,200 files": {"files": [("files", (f"{number}.png", b"x")) for number in range(1_200)]},
    "a long id": {"files": {"files": ("x.png", b"x")}, "params": {"upload_id": "\0" * 500}},
    "a long type": {"files": {"files": ("x.png", b"x", "x" * 10_000)}},
}


@pytest.mark.parametrize("form", FORMS)
def test_an_upload_in_another_form(client, judge, form):
    judge(client.send("POST", "/gradio_api/upload", **FORMS[form]), form)


damages = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert"]), st.floats(0, 1), st.binary(min_size=1, max_size=8)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60)
@given(st.sampled_from(["PNG", "JPEG", "WEBP"]), damages, odd.texts)
@example("PNG", [("cut", 0.0, b"x")], "\ud800")
def test_a_generated_picture_is_searched_with_or_refused(client, judge, kind, damage, name):
    content = saved(photo(), kind)
    for what, where, data in damage:
        at = int(where * len(content))
        content = (
            content[:at] + {"flip": data + content[at + len(data) :], "cut": b"", "insert": data + content[at:]}[what]
        )
    name = name[:200].encode("utf-8", "replace").decode() or "x"
    uploaded, picture = client.upload(content, name)
    judge(search(client, picture) if uploaded.success else uploaded, kind, damage, name)


@settings(max_examples=50)
@given(odd.files)
def test_a_generated_file_is_not_opened(client, judge, file):
    assert not judge(search(client, file), file).success or file in (None, {}, "", [], 0, False)
