import math

import numpy as np
import pytest
from PIL import Image

from genius.errors import UserError
from genius.schema import Query, SearchOptions
from genius.search.checks import (
    MAX_TEXT,
    check_query,
    checked_k,
    checked_options,
    checked_queries,
    resolve_options,
)


@pytest.mark.parametrize(
    "field, value",
    [
        *(("beams", value) for value in (0, 201, 2.5, math.nan, 1e308, True, "5", None)),
        ("k", 501),
        *(("decoder_weight", value) for value in (-0.1, 1.1, math.nan, True)),
        *(("mode", value) for value in ("fast", None, ["scan"])),
        ("order", ""),
        ("trace", 0),
        ("added", "false"),
        *(("prefix", value) for value in ([0, 1], (0, "1"), (True,))),
        *(("modality", value) for value in (0, "image")),
    ],
)
def test_an_invalid_option_is_named_with_its_value(field, value):
    with pytest.raises(UserError) as caught:
        checked_options(SearchOptions(**{field: value}))
    names = {"beams": "beam size", "k": "number of results", "decoder_weight": "decoder weight"}
    assert names.get(field, field) in str(caught.value) and repr(value) in str(caught.value)


def test_options_at_their_limits_pass_and_whole_floats_become_ints():
    options = checked_options(SearchOptions(beams=200.0, k=np.int64(500), decoder_weight=0))
    assert (options.beams, options.k) == (200, 500) and type(options.beams) is type(
        options.k
    ) is int
    assert checked_options(SearchOptions(beams=1, k=1, decoder_weight=1.0)).beams == 1
    assert checked_k(7.0) == 7


@pytest.mark.parametrize(
    "given, has_fused, mode, order",
    [
        ({}, True, "both", "fused"),
        ({}, False, "both", "cosine"),
        ({"order": "cosine"}, True, "both", "cosine"),
        ({"mode": "scan", "order": "score"}, True, "scan", "score"),
        ({"order": "score"}, True, "generate", "score"),
    ],
)
def test_what_options_leave_open_is_chosen_for_the_run(given, has_fused, mode, order):
    resolved = resolve_options(
        SearchOptions(k=7, prefix=(1,), **given), has_fused, decoder_weight=0.3
    )
    assert (resolved.mode, resolved.order, resolved.decoder_weight) == (mode, order, 0.3)
    assert (resolved.k, resolved.prefix) == (7, (1,))
    assert resolve_options(resolved, has_fused, 0.9) == resolved
    assert resolve_options(SearchOptions(decoder_weight=0), False, 0.3).decoder_weight == 0


@pytest.mark.parametrize(
    "query", [Query(), Query(text="\u200b"), Query(instruction="Find a picture.")]
)
def test_a_query_without_a_text_or_an_image_is_refused(query):
    with pytest.raises(UserError, match="^Type a description, add a picture, or both.$"):
        check_query(query)


def test_a_picture_is_opened_from_a_path_bytes_or_what_pillow_made_of_them(tmp_path):
    file = tmp_path / "photo.png"
    clear = Image.new("RGBA", (4, 3), (255, 0, 0, 0))
    clear.save(file)
    sources = [
        file,
        str(file),
        file.read_bytes(),
        clear,
        Image.open(file),
        Image.new("RGB", (4, 3), "white"),
    ]
    opened = [query.image for query in checked_queries([Query(image=source) for source in sources])]
    assert all(
        image.mode == "RGB" and image.getpixel((0, 0)) == (255, 255, 255) for image in opened
    )


@pytest.mark.parametrize(
    "source, message",
    [
        (5, "The picture must be a path, bytes or an opened picture, not 5."),
        ("none.jpg", "none.jpg is missing"),
        (b"text", "the image is not a readable PNG"),
        (Image.new("RGBA", (12_001, 1)), "the image has 12001 × 1 pixels"),
    ],
)
def test_what_is_no_picture_is_refused(source, message):
    with pytest.raises(UserError, match=message):
        checked_queries([Query(image=source)])


@pytest.mark.parametrize(
    "query, words",
    [
        (Query(text="x" * (MAX_TEXT + 1)), "description has 10,001 characters"),
        (Query(text="x", instruction="y" * 50_000), "instruction has 50,000 characters"),
        (Query(text={"a": 1}), "description must be a text"),
        (Query(text="half \ud83d"), "description contains an invalid Unicode character"),
    ],
)
def test_an_unreadable_or_long_text_is_refused(query, words):
    with pytest.raises(UserError, match=words):
        check_query(query)


def test_a_text_of_which_nothing_is_seen_is_none_beside_a_picture():
    picture = Image.new("RGB", (4, 4))
    assert [
        query.text for query in checked_queries([Query("\u200b", picture), Query(" a ", picture)])
    ] == ["", " a "]
