"""genius/evaluation/instruction_following.py on the micro collection."""

import shutil
from collections import Counter

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.instructions import first_codes, measure_following, most_frequent_first_codes, swap_instructions
from genius.evaluation.queries import read_queries
from genius.schema import Modality
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.evaluation.micro import PHRASINGS


@pytest.fixture(scope="module")
def sets(collection, engine):
    return read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="seeded")


def measured(engine, collection, sets):
    held_out = [None] * len(sets)
    if collection.has_held_out_instructions():
        held_out = read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="held-out")
    encoded = [[engine.encode(batch) for batch in queries.opened(collection, 3)] for queries in sets]
    return measure_following(engine, collection, sets, held_out, encoded, seed=0, decoder_weight=None)


def test_swapped_queries_differ_only_in_instruction_and_target_modality(collection, engine, sets):
    pictures, pairs, texts = (swap_instructions(queries, collection.instructions(), seed=0) for queries in sets)

    assert pictures.queries == sets[0].queries  # text to pair, of the other dataset
    assert pictures.instructions == ["Find the titled picture."] * 4
    assert pictures.targets.tolist() == [Modality.PAIR] * 4
    assert set(pairs.instructions) <= set(PHRASINGS) and pairs.targets.tolist() == [Modality.IMAGE] * 4
    assert not len(texts)  # no other instruction is for pictures


def test_the_swapped_instruction_depends_on_seed_and_query_alone(sets):
    phrasings = {(0, Modality.TEXT, target): [f"{target.name} {number}" for number in range(3)] for target in Modality}
    found = [swap_instructions(sets[0], phrasings, seed).instructions for seed in (0, 0, *range(1, 9))]

    assert found[0] == found[1]
    chosen = Counter(text.split()[0] for instructions in found for text in instructions)
    assert set(chosen) == {"TEXT", "PAIR"}  # never the kind that answers the query


def test_shares_agree_with_the_codes_one_query_at_a_time(engine, collection, sets):
    found = measured(engine, collection, sets)

    for queries, row in zip(sets, found["rows"], strict=True):
        codes = [
            int(engine.search([query])[0].first_code_probabilities.argmax())
            for batch in queries.opened(collection, 1)
            for query in batch
        ]
        targets = engine.index.modalities[queries.qrels.rows[queries.qrels.offsets[:-1]]]
        assert row["asked"] == np.mean(np.array(codes) == targets)
    other = swap_instructions(sets[0], collection.instructions(), seed=0)
    codes = first_codes(engine, [engine.encode(next(other.opened(collection, 9)))], None)
    assert found["rows"][0]["swapped"] == (codes == Modality.PAIR).mean()
    assert [row["swapped"] is None for row in found["rows"]] == [False, False, True]
    assert {row["held_out"] for row in found["rows"]} == {None} and found["average"]["held_out"] is None


def test_held_out_phrasings_are_measured_if_there_are_any(engine, collection, sets, tmp_path):
    copy = Collection(shutil.copytree(collection.root, tmp_path / "copy"))
    usual = copy.root / "instructions/query_instructions.tsv"
    shutil.copy(usual, usual.with_name("held_out_instructions.tsv"))  # the same phrasings: the same shares

    found = measured(engine, copy, sets)

    assert [row["held_out"] for row in found["rows"]] == [row["asked"] for row in found["rows"]]


def test_the_report_uses_the_instructions_of_the_beam_searches(engine, collection):
    report = evaluate(engine, collection, EvaluationOptions(beams=(3,)))

    assert [row["asked"] for row in report["following"]["rows"]] == [
        row["beam"]["beam"]["first_code"] for row in report["pools"][0]["rows"]
    ]


def test_the_usual_first_code_of_a_modality_is_the_most_frequent_one_of_its_items():
    codes = np.array([[3, 0], [3, 1], [0, 0], [2, 0], [2, 1], [1, 1]])

    class Emerged:
        modalities, code_sizes = np.array([0, 0, 0, 1, 1, 2]), (4, 2)

        def pool(self):
            return Pool.build(pack(codes, self.code_sizes), self.code_sizes, np.arange(6), "cpu")

    assert most_frequent_first_codes(Emerged()).tolist() == [3, 2, 1]
