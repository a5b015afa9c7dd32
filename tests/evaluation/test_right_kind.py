"""genius/evaluation/right_kind.py on the micro collection, against counting one query at a time."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from genius.evaluation.queries import read_queries
from genius.evaluation.right_kind import (
    FIRST,
    SEARCHES,
    SYSTEMS,
    asked,
    kinds_of_first_codes,
    main,
    measure,
    right_shares,
    swap_instructions,
)
from genius.reports import Report
from genius.schema import Modality
from genius.search.dense import flat_search
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.evaluation.micro import PHRASINGS


@pytest.fixture(scope="module")
def sets(collection, engine):
    return read_queries(collection, engine.index, "test", limit=None, seed=0)


def test_swapped_queries_differ_only_in_instruction_and_target_modality(collection, engine, sets):
    pictures, pairs, texts = [
        swap_instructions(queries, collection.instructions(), seed=0) for queries in sets
    ]
    assert pictures.queries == sets[0].queries  # text to pair, of the other dataset
    assert pictures.instructions == ["Find the titled picture."] * 4
    assert pictures.targets.tolist() == [Modality.PAIR] * 4
    assert (
        set(pairs.instructions) <= set(PHRASINGS) and pairs.targets.tolist() == [Modality.IMAGE] * 4
    )
    assert not len(texts)  # no other instruction is for pictures


def test_the_swapped_instruction_depends_on_seed_and_query_alone(sets):
    phrasings = {
        (0, Modality.TEXT, target): [f"{target.name} {number}" for number in range(3)]
        for target in Modality
    }
    found = [
        swap_instructions(sets[0], phrasings, seed).instructions for seed in (0, 0, *range(1, 9))
    ]
    assert found[0] == found[1]
    chosen = Counter(text.split()[0] for instructions in found for text in instructions)
    assert set(chosen) == {"TEXT", "PAIR"}  # never the kind that answers the query


def test_results_of_the_target_modality_are_counted_among_those_there_are():
    kinds = np.array([[0, 1, 1], [1, -1, -1], [1, 0, -1]])
    assert right_shares(kinds, np.array([1, 1, 0])).tolist() == [2 / 3, 1, 1 / 2]


def test_the_kind_of_a_first_code_is_that_of_most_of_its_items():
    codes = np.array([[3, 0], [3, 1], [0, 0], [3, 0], [2, 1], [0, 1]])

    class Emerged:
        modalities = np.array([0, 0, 1, 1, 2, 1])
        code_sizes = (4, 2)

        def pool(self):
            return Pool.build(pack(codes, self.code_sizes), self.code_sizes, np.arange(6), "cpu")

    assert kinds_of_first_codes(Emerged())[[0, 2, 3]].tolist() == [1, 2, 0]


def kinds_by_hand(engine, system, query):
    """The kinds of the first results of a query, or of its first code."""
    if system == "dense":
        embedding = engine.encode([query]).embeddings.numpy()
        rows = flat_search(engine.index.embeddings, embedding, FIRST)[1][0]
        return engine.index.modalities[rows]
    if system == "first code":
        return engine.search([query])[0].first_code_probabilities.argmax()
    return [hit.item.modality for hit in engine.search([query], SEARCHES[system])[0].hits]


def test_the_tables_agree_with_searches_for_one_query_at_a_time(engine, copy):
    file = copy.root / "instructions/query_instructions.tsv"
    known = file.read_text(encoding="utf-8")
    file.with_name("held_out_instructions.tsv").write_text(known.replace("ind", "etch"))
    sets = asked(engine, copy, "test", None, 0)
    averages, *by_row = measure(engine, copy, sets, 0)
    assert [len(of_rows) for of_rows in sets.values()] == [3, 3, 2, 3]
    assert [column.name for column in averages.columns[1:]] == [
        f"instruction: {name}" for name in sets
    ]
    for column, (name, of_rows) in enumerate(sets.items(), 1):
        opened = [list(chain.from_iterable(queries.opened(copy, 9))) for queries in of_rows]
        for query in chain.from_iterable(opened):
            assert bool(query.instruction) == (name != "none")
            is_held_out = name == "held out" and query.instruction[0] == "F"
            assert ("etch" in query.instruction) == is_held_out
        for number, system in enumerate(SYSTEMS):
            shares = [
                np.mean(
                    [
                        np.mean(np.equal(kinds_by_hand(engine, system, query), target))
                        for query, target in zip(batch, queries.targets, strict=True)
                    ]
                )
                for queries, batch in zip(of_rows, opened, strict=True)
            ]
            table = by_row[column - 1]
            assert [line[3 + number][0] for line in table.rows] == pytest.approx(shares)
            assert averages.rows[number][0] == system
            mean, low, high = averages.rows[number][column]
            assert low <= mean <= high and mean == pytest.approx(np.mean(shares))


def test_there_are_no_swapped_instructions_where_none_is_for_another_kind(engine, copy):
    file = copy.root / "instructions/query_instructions.tsv"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if "titled" not in line))
    for queries in copy.root.glob("query/*/*titled*"):
        queries.unlink()
    sets = asked(engine, copy, "test", None, 0)
    assert list(sets) == ["known", "none"] and len(measure(engine, copy, sets, 0)) == 3


def test_the_command_writes_what_it_prints_and_needs_no_held_out_instructions(own_run, capsys):
    main([str(own_run), "--limit", "2", "--device", "cpu"])
    written = Report.load(own_run / "reports" / "right_kind.json")
    assert [len(table.rows) for table in written.tables] == [len(SYSTEMS), 3, 2, 3]
    assert written.to_markdown() in capsys.readouterr().out and "--limit 2" in written.command
