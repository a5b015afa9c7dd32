"""genius/evaluation/instructions.py on the micro collection; judgments that a pool does not hold."""

import shutil
from collections import Counter

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.instructions import first_codes, measure_following, most_frequent_first_codes, swap_instructions
from genius.evaluation.queries import EncodedRow, read_queries
from genius.evaluation.report import report_of
from genius.schema import Modality
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.evaluation.micro import PHRASINGS


@pytest.fixture(scope="module")
def sets(collection, engine):
    return read_queries(collection, engine.index, "test", limit=None, seed=0)


def measured(engine, collection, sets):
    held_out = [None] * len(sets)
    if collection.has_held_out_instructions():
        held_out = read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="held-out")
    encoded = [EncodedRow.encode(engine, queries.opened(collection, 3)) for queries in sets]
    return measure_following(engine, collection, sets, held_out, encoded, 0)


def test_swapped_queries_differ_only_in_instruction_and_target_modality(collection, engine, sets):
    pictures, pairs, texts = [swap_instructions(queries, collection.instructions(), seed=0) for queries in sets]
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


def test_shares_agree_with_the_codes_one_query_at_a_time(engine, collection, sets, tmp_path):
    found = measured(engine, collection, sets)
    for queries, row in zip(sets, found, strict=True):
        codes = [
            int(engine.search([query])[0].first_code_probabilities.argmax())
            for batch in queries.opened(collection, 1)
            for query in batch
        ]
        targets = engine.index.modalities[queries.qrels.rows[queries.qrels.offsets[:-1]]]
        assert row.asked == np.mean(np.array(codes) == targets)
    other = swap_instructions(sets[0], collection.instructions(), seed=0)
    codes = first_codes(engine, [engine.encode(next(other.opened(collection, 9)))])
    assert found[0].swapped == (codes == Modality.PAIR).mean()
    assert [row.swapped is None for row in found] == [False, False, True]
    assert {row.held_out for row in found} == {None}
    copy = Collection(shutil.copytree(collection.root, tmp_path / "copy"))
    usual = copy.root / "instructions/query_instructions.tsv"
    shutil.copy(usual, usual.with_name("held_out_instructions.tsv"))  # the same phrasings: the same shares
    assert [row.held_out for row in measured(engine, copy, sets)] == [row.asked for row in found]


def test_the_usual_first_code_of_a_modality_is_the_most_frequent_one_of_its_items():
    codes = np.array([[3, 0], [3, 1], [0, 0], [2, 0], [2, 1], [1, 1]])

    class Emerged:
        modalities, code_sizes = np.array([0, 0, 0, 1, 1, 2]), (4, 2)

        def pool(self):
            return Pool.build(pack(codes, self.code_sizes), self.code_sizes, np.arange(6), "cpu")

    assert most_frequent_first_codes(Emerged()).tolist() == [3, 2, 1]


@pytest.fixture(scope="module")
def partly_unknown(collection, tmp_path_factory) -> Collection:
    """Of 0:7 the only answer is no candidate, of 0:11 one of two."""
    root = shutil.copytree(collection.root, tmp_path_factory.mktemp("unknown") / "collection")
    file = root / "qrels/test/mbeir_shapes_task0_test_qrels.txt"
    file.write_text(file.read_text().replace("0:0 1 0", "0:99 1 0").replace("0:4 1 0", "7:4 1 0"))
    return Collection(root)


@pytest.fixture(scope="module")
def phrased(engine, partly_unknown):
    return evaluate(engine, partly_unknown, EvaluationOptions(beams=(4,), every_phrasing=True))


def test_the_mean_over_phrasings_agrees_with_the_benchmarks_count_one_phrasing_at_a_time(
    phrased, engine, partly_unknown
):
    """As M-BEIR's evaluation counts: 1 if any relevant one is among the first k."""
    ids, rates = [item.id for item in engine.index.items(range(engine.index.n))], []
    first, *_ = read_queries(partly_unknown, engine.index, "test", limit=None, seed=0)
    for phrasing in PHRASINGS:
        hits = []
        for query in first.queries:
            features = engine.encoder.encode([None], [f"{phrasing} {query.text}"])
            cosines = engine.index.embeddings.astype(np.float64) @ features.embedding()[0].numpy().astype(np.float64)
            retrieved = [ids[row] for row in np.argsort(-cosines, kind="stable")]
            hits.append(float(bool(set(query.positives) & set(retrieved[:5]))))
        rates.append(np.mean(hits))
    row, *_, texts = phrased.phrasings
    assert (row.phrasings, texts.phrasings) == (3, 1)
    assert row.systems["dense"] == (pytest.approx(np.mean(rates)), min(rates), max(rates))
    for system, figures in texts.systems.items():  # one phrasing: as in the tables
        assert set(figures) == {phrased.pools[0].rows[2].systems[system].rate[0]}
    report = report_of(phrased, "", "", "", "")
    (table,) = [table for table in report.tables if table.title == "Hit rate over all phrasings of the instructions"]
    assert table.rows[0][2:4] == [3, row.systems["dense"]] and table.rows[-1][0] == "average"
    assert "2 judgments name items that are not in the index." in report.note


def test_unknown_judgments_are_counted_and_first_codes_are_those_of_the_beam_searches(phrased):
    row, *others = phrased.pools[0].rows
    assert (row.queries, row.outside, row.without_positive) == (4, 2, 1)
    assert not any(other.outside for other in others)
    assert (row.queries_seen, row.queries_new) == (0, 3)  # what has no answer is neither
    assert max(system.hit[50] for system in row.systems.values()) <= 0.75
    beams = [row.systems["beam"].beam.first_code for row in phrased.pools[0].rows[1:]]
    assert [row.asked for row in phrased.following[1:]] == beams
