"""Odd values: those that somebody thought of, and strategies that generate more."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

META = {"meta": {"_type": "gradio.FileData"}}
TEXTS = {
    "empty": "",
    "spaces": " \t\n\r\u00a0\u2003",
    "newlines": "\n" * 5_000,
    "NUL": "a\0b",
    "NUL alone": "\0",
    "escape sequence": "\x1b[2J\x1b]0;x\x07",
    "byte order mark": "\ufeffdog",
    "noncharacter": "\uffff\ufffe",
    "high surrogate": "dog \ud800",
    "low surrogate": "\udfff dog",
    "surrogate pair": "\ud83d\ude00",
    "right-to-left override": "\u202egod\u202c",
    "zero width": "\u200b\u200d\u2060",
    "combining marks": "a" + "\u0301" * 5_000,
    "zalgo": "d\u0336\u0489\u0334o\u0337g",
    "emoji family": "👨‍👩‍👧‍👦" * 100,
    "flags": "🇩🇪" * 1_000,
    "private use": "\ue000\U000f0000\U0010ffff",
    "ideographs": "犬" * 3_000,
    "arabic ligature": "\ufdfa" * 500,
    "ten thousand": "a" * 10_000,
    "one more": "a" * 10_001,
    "a million": "x" * 1_000_000,
    "a million of two bytes": "é" * 1_000_000,
    "words": "dog " * 2_400,
    "script": "<script>alert(1)</script>",
    "event handler": '<img src=x onerror="alert(1)">',
    "template": "${alert(1)} {{7*7}} <%= 7*7 %>",
    "entity": "&lt;b&gt; &#x27; &amp;",
    "quotes": "'\"`´‘’“”«»",
    "SQL": "' OR 1=1; DROP TABLE items; --",
    "format": "%s%n%x{0}{}{self.__class__}",
    "path": "../../../../etc/passwd",
    "link": "http://169.254.169.254/latest/meta-data",
    "command": "$(id); `id` | id & id",
    "JSON": '{"text": "dog"}]}',
    "number": "1e999",
    "token": "<|endoftext|><|startoftext|>",
    "spreadsheet": '=HYPERLINK("http://x","y")',
    "wildcards": "*.*.*.*",
    "separators": "·" * 200,
    "digits": "9" * 190,
    "other digits": "٣.٤.५",
    "superscript": "²",
    "id with NUL": "0:1\0junk",
    "id with a space": "0:1 ",
    "id with wildcard": "0:%",
    "id of a fullwidth digit": "0:１",
}
NUMBERS = [
    *(0, -1, 1, 2.5, -0.0, 501, 2**31, 2**63, -(2**63), 2**64, 10**400, -(10**400), 1e308, 5e-324, 10**4_000),
    *(float("nan"), float("inf"), float("-inf"), True, False, None, "", "5", "five", "٣", "10" * 2_000, [], [5], {}),
    *({"value": 5}, [[]], "\0", "\ud800"),
]
FILES = {
    "path": "/etc/passwd",
    "no meta": {"path": "/etc/passwd"},
    "file of the machine": {"path": "/etc/passwd", **META},
    "traversal": {"path": "../../../../../../etc/passwd", **META},
    "device": {"path": "/dev/zero", **META},
    "process": {"path": "/proc/self/environ", **META},
    "file URL": {"path": "file:///etc/passwd", **META},
    "URL in path": {"path": "http://127.0.0.1:9/x.png", **META},
    "URL": {"path": "x.png", "url": "http://169.254.169.254/x.png", **META},
    "URL alone": {"url": "http://127.0.0.1:9/x.png", **META},
    "data URL": {"path": "x.png", "url": "data:image/png;base64,iVBORw0KGgo=", **META},
    "data in path": {"path": "data:image/png;base64,iVBORw0KGgo=", **META},
    "empty path": {"path": "", **META},
    "NUL in path": {"path": "x\0.png", **META},
    "surrogate in path": {"path": "\ud800.png", **META},
    "long path": {"path": "x/" * 5_000, **META},
    "no path": dict(META),
    "path of None": {"path": None, **META},
    "path of a number": {"path": 7, **META},
    "path of a list": {"path": ["/etc/passwd"], **META},
    "path within path": {"path": {"path": "/etc/passwd", **META}, **META},
    "stream": {"path": "x", "is_stream": True, **META},
    "wrong fields": {"path": "x", "size": "big", "orig_name": 5, "mime_type": [], **META},
    "other type": {"path": "/etc/passwd", "meta": {"_type": "gradio.Other"}},
    "list of files": [{"path": "/etc/passwd", **META}] * 3,
    "many": [{"path": "/etc/passwd", **META}] * 1_000,
    "text": "data:image/png;base64,iVBORw0KGgo=",
    "number": 5,
}


def nested(depth: int, inner: Any = 1) -> Any:
    """A list in a list in a list …"""
    for _ in range(depth):
        inner = [inner]
    return inner


SHAPES = {
    "null": None,
    "true": True,
    "zero": 0,
    "fraction": 2.5,
    "NaN": float("nan"),
    "huge number": 10**400,
    "negative": -1,
    "empty text": "",
    "text": "x",
    "NUL": "0:1\0",
    "surrogate": "\ud800",
    "long text": "x" * 1_000_000,
    "empty list": [],
    "list": [1, "x", None],
    "list of lists": [[], [[]]],
    "deep list": nested(80),
    "long list": [0] * 100_000,
    "empty object": {},
    "object": {"a": 1, "": None, "__class__": "x"},
    "update": {"__type__": "update", "value": "x", "choices": [[1, 2]]},
    "message": {"message": {"text": [], "instruction": {}}},
    "files": FILES["file of the machine"],
}

# ---- strategies

any_character = st.characters(exclude_categories=())  # with surrogates
of_a_plane = st.integers(0, 16).flatmap(
    lambda plane: st.text(
        st.characters(min_codepoint=plane << 16, max_codepoint=plane << 16 | 0xFFFF, exclude_categories=()), max_size=40
    )
)
long_texts = st.builds(lambda one, times: one * times, any_character, st.sampled_from([9_999, 10_001, 1_000_000]))
texts = st.one_of(of_a_plane, of_a_plane, st.text(any_character, max_size=60), st.sampled_from([*TEXTS.values()]))
ids = st.one_of(
    st.builds(lambda id, end: id + end, st.sampled_from(["0:1", "0:39", "0:-1", "1:1", ""]), texts),
    st.builds(lambda start, id: start + id, texts, st.just("0:1")),
)
patterns = st.one_of(
    st.lists(st.one_of(st.integers(-1, 300).map(str), st.just("*"), texts), max_size=8).map(".".join), texts
)
numbers = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.sampled_from(NUMBERS), st.integers(400, 4_000).map(lambda n: 10**n)
)
values = st.recursive(
    st.one_of(st.none(), numbers, texts, st.sampled_from([*SHAPES.values()])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
files = st.one_of(
    st.sampled_from([*FILES.values()]),
    st.fixed_dictionaries(
        {"path": st.one_of(texts, texts.map("/tmp/".__add__), values)},
        optional={
            "url": st.one_of(texts, st.sampled_from(["http://127.0.0.1:9/", "file:///etc/passwd", "data:,"])),
            "meta": st.sampled_from([META["meta"], {}, None, {"_type": 5}]),
            "size": numbers,
            "orig_name": texts,
            "mime_type": texts,
            "is_stream": st.booleans(),
        },
    ),
)
FIELDS = (
    "index",
    "id",
    "value",
    "column",
    "codes",
    "key",
    "modality",
    "page",
    "points",
    "total",
    "group",
    "instruction",
)
events = st.one_of(
    values,
    st.dictionaries(
        st.sampled_from(FIELDS),
        st.one_of(values, st.integers(-50, 50), ids, patterns, st.lists(st.integers(-3, 300), max_size=9)),
        min_size=1,
        max_size=4,
    ),
)
