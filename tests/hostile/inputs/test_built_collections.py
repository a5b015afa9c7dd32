"""Generated sources: each is refused in a sentence, or built into a collection that passes the check."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genius.collections.checker import Checker
from genius.collections.from_folders import build
from tests.collections.samples import picture
from tests.hostile.inputs.collection_stages import attempt

EXAMPLES = 200
IMAGES = ("a.png", "b.png", "images/c.png", "d.jpg", "e.webp")
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.lists(st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)
TEXT = st.one_of(st.text(max_size=15), st.sampled_from(["a dog", "a cat", "a\tb", "\0", '"', "\u2028"]))
RECORD = st.fixed_dictionaries(
    {"img_path": st.sampled_from(IMAGES)},
    optional={
        "txt": TEXT,
        "captions": st.lists(TEXT, max_size=3),
        "split": st.sampled_from(["train", "val", "test", "dev", "candidates", "", "other"]),
        "id": VALUES,
        "qa": st.lists(st.fixed_dictionaries({"q": TEXT, "a": TEXT}), max_size=2),
        "kind": st.sampled_from(["natural", "iconic"]),
        "class_id": st.one_of(st.integers(0, 2), VALUES),
        "attributes": st.dictionaries(st.text(max_size=6), VALUES, max_size=3),
        "color": VALUES,
    },
)
PAIR = st.fixed_dictionaries({"query_id": st.sampled_from(IMAGES), "txt": TEXT, "target_id": st.sampled_from(IMAGES)})


def dumped(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@settings(settings.get_profile("hostile"), max_examples=EXAMPLES)
@given(
    records=st.lists(RECORD, min_size=1, max_size=8, unique_by=lambda record: record["img_path"]),
    pairs=st.lists(PAIR, max_size=3),
    bad=st.sampled_from([None, None, None, b"", b"text", b"\x89PNG"]),
    table=st.booleans(),
)
def test_what_is_built_passes_the_check(tmp_path_factory, counts, records, pairs, bad, table):
    folder = tmp_path_factory.mktemp("sources")
    for number, name in enumerate(IMAGES):
        (folder / "zoo" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "zoo" / name).write_bytes(picture(number) if number or bad is None else bad)
    if table:
        (folder / "zoo" / "manifest.jsonl").write_text(dumped(records))
        if pairs:
            (folder / "zoo" / "cir_pairs.jsonl").write_text(dumped(pairs))
    outcome = attempt(lambda: build([str(folder / "zoo")], folder / "built"))
    counts("inputs", outcome.kind)
    assert outcome.kind in ("answered", "refused in a sentence"), outcome
    assert (folder / "built").exists() == (outcome.kind == "answered")
    assert {path.name for path in folder.iterdir()} <= {"zoo", "built"}
    if outcome.kind == "answered":
        assert list(Checker(folder / "built", images=True).problems()) == []


@pytest.mark.parametrize("arguments", [["a.png"], ["manifest.jsonl", "loop"]])
def test_a_source_that_is_no_folder_is_refused(tmp_path, counts, arguments):
    (tmp_path / "a.png").write_bytes(picture(1))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    outcome = attempt(lambda: build([str(tmp_path / name) for name in arguments], tmp_path / "built"))
    counts("inputs", outcome.kind)
    assert outcome.kind == "refused in a sentence" and not (tmp_path / "built").exists()
