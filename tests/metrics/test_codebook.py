"""The health of anybody's codes, read from the tables that people have."""

import json

import numpy as np
import pandas as pd
import pytest

from genius.errors import UserError
from genius.metrics.codebook import health, read_ids

CODES = np.array([[0, 3], [0, 3], [1, 0], [1, 2]])
NAMES = ["a", "b", "c", "d"]


def write_json_lines(file):
    file.write_text(
        "".join(json.dumps({"item_id": n, "sid": c}) + "\n" for n, c in zip(NAMES, CODES.tolist()))
    )


def columns(**columns) -> pd.DataFrame:
    return pd.DataFrame({"id": NAMES, **columns})


WRITERS = {
    "levels.csv": columns(c0=CODES[:, 0], c1=CODES[:, 1]).to_csv,
    "text.tsv": lambda file: columns(codes=[f"<a_{a}><b_{b}>" for a, b in CODES]).to_csv(
        file, sep="\t"
    ),
    "lists.jsonl": write_json_lines,
    "names.json": lambda file: file.write_text(
        json.dumps({n: [f"<a_{a}>", f"<b_{b}>"] for n, (a, b) in zip(NAMES, CODES)})
    ),
    "rows.npy": lambda file: np.save(file, CODES),
}


@pytest.mark.parametrize("name", WRITERS)
def test_tables_of_other_tools_are_read(name, tmp_path):
    WRITERS[name](tmp_path / name)
    ids = read_ids(tmp_path / name)
    assert np.array_equal(ids.codes, CODES) and ids.code_sizes == (2, 4)
    assert ids.names is None if name == "rows.npy" else ids.names.tolist() == NAMES


def test_health_counts_dead_codes_and_collisions_and_tells_agreement_with_labels_in_two_lines():
    table = columns(c0=CODES[:, 0], c1=CODES[:, 1], kind=["cat", "cat", "dog", "dog"])
    found = health(table, labels="kind")
    assert (
        found["agreement"][0] == pytest.approx(1)
        and found["largest_bucket"] == 2
        and found["ids"] == 3
    )
    assert [(level["used"], level["codes"]) for level in found["levels"]] == [(2, 2), (3, 4)]
    assert found["levels"][0]["perplexity"] == pytest.approx(2)
    assert str(found).splitlines()[0] == "level 0: 2 of 2 codes used, perplexity 2.0"
    assert health(CODES, sizes=(2, 8))["levels"][1]["codes"] == 8


@pytest.mark.parametrize(
    "texts",
    [
        ["<s0_12><s1_7>", "<s0_3><s1_255>"],
        ["<s1_12> <s2_7>", "<s1_3> <s2_255>"],
        ["<|sid_0_12|><|sid_1_7|>", "<|sid_0_3|><|sid_1_255|>"],
        ["<C0-12><C1-7>", "<C0-3><C1-255>"],
        ["12-7", "3-255"],
        ["['<a_12>', '<b_7>']", "['<a_3>', '<b_255>']"],
        [["12", "7"], ["3", "255"]],
        [np.array([12, 7]), np.array([3, 255])],
    ],
)
def test_each_token_is_one_code_whatever_names_its_level(texts):
    assert read_ids(pd.DataFrame({"id": ["a", "b"], "codes": texts})).codes.tolist() == [
        [12, 7],
        [3, 255],
    ]


@pytest.mark.parametrize("text", ["<s1_7><s0_12>", "<s0_7><s0_12>", "<s2_7><s3_12>", "<s0_7> 12"])
def test_levels_that_are_named_in_another_order_are_refused(text):
    with pytest.raises(
        UserError, match=r"row 0 names its levels .*; expected 0, 1, … or 1, 2, … in this order"
    ):
        read_ids(columns(codes=[text] * 4))


@pytest.mark.parametrize(
    "text", ["-1 7", "[-1, 7]", "12.0 7.0", "a3 b7", "1,024 7", "0x1 7", "<|b|><a_1>", "７ 1"]
)
def test_signs_fractions_and_letters_are_no_codes(text):
    with pytest.raises(
        UserError, match=r"row 0 has '.*', which is no code; expected whole numbers from 0 on"
    ):
        read_ids(columns(codes=[text] * 4))


@pytest.mark.parametrize(
    "held, codes",
    [
        ({"a": [12, 7], "b": [3, 25]}, [[12, 7], [3, 25]]),
        ({"a": "12 7", "b": "3 25"}, [[12, 7], [3, 25]]),
        ([{"id": "a", "codes": [12, 7]}], [[12, 7]]),
        ({"a": {"b": 1}}, "row 0 has {'b': 1}, which is no code"),
        ([{"codes": [1]}, 5], "row 0 has {'codes': "),
        ({"a": [1, float("nan")]}, "row 0 has an empty cell"),
        ({"a": [True, 1]}, "row 0 has True, which is no code"),
        ({}, "it has no rows"),
        ("12 7", "expected an object of names and codes, or a list"),
    ],
)
def test_json_is_names_and_codes_or_a_list_of_codes(held, codes, tmp_path):
    (tmp_path / "ids.json").write_text(json.dumps(held))
    if isinstance(codes, list):
        assert read_ids(tmp_path / "ids.json").codes.tolist() == codes
    else:
        with pytest.raises(UserError, match=codes):
            read_ids(tmp_path / "ids.json")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "table, said",
    [
        (columns(codes=["1 2", "1 2", "1", "1 2"]), "row 2 has 1 codes, the first 2"),
        (columns(codes=[[1, 2], [1], [1, 2], [1, 2]]), "row 1 has 1 codes, the first 2"),
        (columns(codes=[[1, 2], None, [1, 2], [1, 2]]), "row 1 has no codes"),
        (
            columns(codes=[[1, 2], [1, np.nan], [1, 2], [1, 2]]),
            "row 1 has an empty cell, which is no code",
        ),
        (
            columns(codes=["<a_1>", "<a_1>", "<b_1>", "<a_1>"]),
            "row 2 names its codes b, the first a",
        ),
        (columns(c0=[0, 1, -1, 0]), "whole numbers from 0 on"),
        (columns(c0=pd.array([0, 1, None, 0], dtype="Int64")), "whole numbers from 0 on"),
        (columns(c0=[0, 1, 70_000, 0]), "at most 65,536"),
        (columns(text="x"), "no column is codes"),
        (np.zeros(3), "whole numbers"),
        (np.array([[1, np.nan]]), "whole numbers"),
        (np.array([[1e20, 1]]), "at most 65,536"),
    ],
)
def test_what_is_no_table_of_codes_is_refused_in_one_sentence(table, said):
    with pytest.raises(UserError, match=said) as refused:
        health(table)
    assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match=r"there is no column 'kind'; the table has id, c0"):
        health(columns(c0=[0, 1, 2, 3]), labels="kind")
