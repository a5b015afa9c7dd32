"""Strategies that spoil the good collection: its records, or its files."""

import json

from hypothesis import note
from hypothesis import strategies as st

from tests.hostile.inputs.collection_stages import good_files

NAMES = sorted(good_files())
LINES = [name for name in NAMES if name.endswith(".jsonl")]
TABLES = [name for name in NAMES if name.endswith((".tsv", ".txt"))]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["7:0", "7:11", "8:1", "0:0", "image", "text", "image,text", "images/1.png", "images", "", "\0", '"']
    ),
    st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
)
FIELDS = st.sampled_from(
    ["did", "txt", "img_path", "modality", "src_content", "qid", "query_txt", "query_img_path", "query_modality"]
    + ["query_src_content", "task_id", "pos_cand_list", "neg_cand_list"]
)


@st.composite
def spoiled(draw, changes):
    """The files of the good collection after one or two of these changes."""
    files = dict(good_files())
    for _ in range(draw(st.integers(1, 2))):
        change = draw(st.sampled_from(changes))
        note(change.__name__)
        change(draw, files)
    return files


def set_field(draw, files):
    change_record(draw, files, lambda record: record | {draw(FIELDS): draw(ODD)})


def set_text(draw, files):
    """Another text, or another source, where there is one: most of these are good."""
    field = draw(st.sampled_from(["txt", "query_txt", "src_content"]))
    text = draw(
        st.text(min_size=1, max_size=30) | st.sampled_from(['"', "\0", "[" * 5_000, '{"color": NaN}', "x" * 5_000])
    )
    change_record(draw, files, lambda record: record | {field: text} if record.get(field) else record)


def add_candidate(draw, files):
    """A text with an id of its own, in a pool."""
    name = draw(st.sampled_from([name for name in LINES if name.startswith("cand_pool/global")]))
    number, text = draw(st.integers(1_000, 10**12)), draw(st.text(min_size=1, max_size=10))
    record = {"did": f"{draw(st.integers(0, 9))}:{number}", "txt": text, "modality": "text"}
    files[name] = files.get(name, b"") + json.dumps(record).encode() + b"\n"


def drop_query(draw, files):
    """A query and its judgments."""
    name = draw(st.sampled_from([name for name in LINES if name.startswith("query")]))
    lines = files.get(name, b"").splitlines(keepends=True)
    if lines:
        gone = lines.pop(draw(st.integers(0, len(lines) - 1)))
        qrels = name.replace("query", "qrels", 1).replace(".jsonl", "_qrels.txt")
        start = (gone.split(b'"') + [b""] * 4)[3] + b" "  # the id is the first value
        judged = files.get(qrels, b"").splitlines(keepends=True)
        files[name] = b"".join(lines)
        files[qrels] = b"".join(line for line in judged if not line.startswith(start))


def shuffle_lines(draw, files):
    name = draw(st.sampled_from(LINES + TABLES))
    files[name] = b"".join(draw(st.permutations(files.get(name, b"").splitlines(keepends=True))))


def drop_field(draw, files):
    gone = draw(FIELDS)
    change_record(draw, files, lambda record: {name: value for name, value in record.items() if name != gone})


def swap_values(draw, files):
    """Two fields of a record exchange their values."""
    one, two = draw(FIELDS), draw(FIELDS)
    change_record(draw, files, lambda record: record | {one: record.get(two), two: record.get(one)})


def change_record(draw, files, changed):
    name = draw(st.sampled_from(LINES))
    lines = files.get(name, b"").splitlines()
    if lines:
        at = draw(st.integers(0, len(lines) - 1))
        try:
            record = json.loads(lines[at])
        except ValueError:
            return
        if isinstance(record, dict):
            lines[at] = json.dumps(changed(record)).encode()
    files[name] = b"\n".join(lines) + b"\n"


def set_cell(draw, files):
    name = draw(st.sampled_from(TABLES))
    separator = b"\t" if name.endswith(".tsv") else b" "
    lines = [line.split(separator) for line in files.get(name, b"").split(b"\n")]
    row = draw(st.sampled_from(lines))
    value = draw(st.one_of(st.text(max_size=12), st.sampled_from(["0", "-1", "7", "8", "7:0", "7:11", "7:299", "1e3"])))
    row[draw(st.integers(0, len(row) - 1))] = value.encode(errors="replace")
    files[name] = b"\n".join(separator.join(line) for line in lines)


def repeat_line(draw, files):
    name = draw(st.sampled_from(LINES + TABLES))
    lines = files.get(name, b"").splitlines(keepends=True)
    if lines:
        files[name] = files[name] + draw(st.sampled_from(lines))


def drop_line(draw, files):
    name = draw(st.sampled_from(LINES + TABLES))
    lines = files.get(name, b"").splitlines(keepends=True)
    if lines:
        del lines[draw(st.integers(0, len(lines) - 1))]
        files[name] = b"".join(lines)


def cut(draw, files):
    name = draw(st.sampled_from(NAMES))
    files[name] = files.get(name, b"")[: draw(st.integers(0, 400))]


def overwrite_bytes(draw, files):
    name, content = draw(st.sampled_from(NAMES)), draw(st.binary(min_size=1, max_size=8))
    at = draw(st.integers(0, 200))
    old = files.get(name, b"")
    files[name] = old[:at] + content + old[at + len(content) :]


def drop_file(draw, files):
    files.pop(draw(st.sampled_from(NAMES)), None)


def swap_files(draw, files):
    one, two = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
    files[one], files[two] = files.get(two, b""), files.get(one, b"")


def rename_file(draw, files):
    name = draw(st.sampled_from(NAMES))
    old, new = draw(st.sampled_from([("train", "test"), ("task0", "task3"), ("squares", "circles"), ("union", "all")]))
    if name in files:
        files[name.replace(old, new)] = files.pop(name)


def encode_otherwise(draw, files):
    name = draw(st.sampled_from(LINES + TABLES))
    encoding = draw(st.sampled_from(["utf-16", "utf-8-sig", "utf-32", "cp1252"]))
    text = files.get(name, b"").decode(errors="replace") + draw(st.sampled_from(["", "é\n"]))
    files[name] = text.encode(encoding, errors="replace")


def write_side_file(draw, files):
    name = draw(st.sampled_from(["world.json", "synonyms.json", "instructions/held_out_instructions.tsv"]))
    content = draw(
        st.one_of(
            st.binary(max_size=30),
            st.builds(lambda value: json.dumps(value).encode(), ODD),
            st.builds(
                lambda seed, digest: json.dumps({"seed": seed, "scale": 1000, "pixels": 32, "digest": digest}).encode(),
                st.integers() | st.text(max_size=3),
                st.text(max_size=3),
            ),
            st.builds(lambda word, other: json.dumps({word: [other]}).encode(), st.text(max_size=5), ODD),
        )
    )
    files[name] = content


RECORD_CHANGES = [
    set_text,
    set_text,
    add_candidate,
    add_candidate,
    drop_query,
    set_field,
    set_field,
    set_field,
    drop_field,
    swap_values,
    set_cell,
]
FILE_CHANGES = [
    drop_query,
    shuffle_lines,
    shuffle_lines,
    repeat_line,
    drop_line,
    cut,
    overwrite_bytes,
    drop_file,
    swap_files,
    rename_file,
    encode_otherwise,
    write_side_file,
]
