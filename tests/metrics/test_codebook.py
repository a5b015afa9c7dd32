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
    file.write_text("".join(json.dumps({"item_id": n, "sid": c}) + "\n" for n, c in zip(NAMES, CODES.tolist())))


def columns(**columns) -> pd.DataFrame:
    return pd.DataFrame({"id": NAMES, **columns})


WRITERS = {
    "levels.csv": columns(c0=CODES[:, 0], c1=CODES[:, 1]).to_csv,
    "text.tsv": lambda file: columns(codes=[f"<a_{a}><b_{b}>" for a, b in CODES]).to_csv(file, sep="\t"),
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
    assert found["agreement"][0] == pytest.approx(1) and found["largest_bucket"] == 2 and found["ids"] == 3
    assert [(level["used"], level["codes"]) for level in found["levels"]] == [(2, 2), (3, 4)]
    assert found["levels"][0]["perplexity"] == pytest.approx(2)
    assert str(found).splitlines()[0] == "level 0: 2 of 2 codes used, perplexity 2.0"
    assert health(CODES, sizes=(2, 8))["levels"][1]["codes"] == 8


@pytest.mark.parametrize(
    "table, said",
    [
        (columns(codes=["1 2", "1 2", "1", "1 2"]), "row 2 has 1 codes, the first 2"),
        (columns(codes=[[1, 2], [1], [1, 2], [1, 2]]), "inhomogeneous"),
        (columns(c0=[0, 1, -1, 0]), "whole numbers from 0 on"),
        (columns(c0=[0, 1, 0.5, 0]), "whole numbers from 0 on"),
        (columns(c0=[0, 1, 70_000, 0]), "at most 65,536"),
        (columns(text="x"), "no column is codes"),
        (np.zeros(3), "whole numbers"),
    ],
)
def test_what_is_no_table_of_codes_is_refused_in_one_sentence(table, said):
    with pytest.raises(UserError, match=said) as refused:
        health(table)
    assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match=r"there is no column 'kind'; the table has id, c0"):
        health(columns(c0=[0, 1, 2, 3]), labels="kind")
