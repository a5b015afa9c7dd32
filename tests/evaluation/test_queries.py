"""genius/evaluation/queries.py and pools.py on the micro collection."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from genius.errors import UserError
from genius.evaluation.pools import read_pools
from genius.evaluation.queries import TargetGroups, read_queries, training_targets
from genius.metrics.hit_rate import Qrels
from genius.schema import Modality
from tests.evaluation.micro import PHRASINGS

QRELS = "qrels/test/mbeir_shapes_task0_test_qrels.txt"
UNION = "cand_pool/global/mbeir_union_{}_cand_pool.jsonl"


def read(collection, engine, split="test", limit=None, seed=0, **options):
    return read_queries(collection, engine.index, split, limit=limit, seed=seed, **options)


def test_positives_are_the_rows_that_the_qrels_name_and_every_query_comes_once_by_task(
    collection, engine
):
    sets = read(collection, engine)
    assert [(queries.row.task, len(queries)) for queries in sets] == [(0, 4), (2, 4), (3, 4)]
    for queries in sets:
        for number, query in enumerate(queries.queries):
            start, end = queries.qrels.offsets[number : number + 2]
            named = [item.id for item in engine.index.items(queries.qrels.rows[start:end])]
            assert sorted(named) == sorted(query.positives)


def test_rows_are_selected_by_task_and_dataset(collection, engine):
    for names, chosen in ((["shapes"], [0, 3]), (["3:shapes", "titled"], [2, 3]), ([], [0, 2, 3])):
        assert [queries.row.task for queries in read(collection, engine, rows=names)] == chosen
    with pytest.raises(
        UserError,
        match="is of the row '4:shapes'; choose from 0:shapes, 2:titled, 3:shapes, or name a",
    ):
        read(collection, engine, rows=["titled", "4:shapes"])


def test_an_instruction_depends_on_seed_and_query_alone(collection, engine):
    whole, sample = read(collection, engine)[0], read(collection, engine, limit=2)[0]
    chosen = {query.id: text for query, text in zip(whole.queries, whole.instructions, strict=True)}
    for query, text in zip(sample.queries, sample.instructions, strict=True):
        assert chosen[query.id] == text
    by_seed = {tuple(read(collection, engine, seed=seed)[0].instructions) for seed in range(5)}
    assert len(by_seed) > 1 and {text for texts in by_seed for text in texts} == set(PHRASINGS)


def test_held_out_phrasings_are_used_alone_and_named_where_they_are_missing(
    collection, copy, engine
):
    with pytest.raises(UserError, match="held_out_instructions.tsv: is missing"):
        read(collection, engine, held_out=True)
    lines = [
        "text\timage\tshapes\t0\tA picture, please.\tIs there a picture?",
        "image\ttext\tshapes\t0\tPut this into words.",
        "text\timage,text\ttitled\t1\tBoth, please.",
    ]
    file = copy.root / "instructions/held_out_instructions.tsv"
    file.write_text("\n".join(lines[:2]) + "\n")
    with pytest.raises(
        UserError, match=r"titled has no instruction from text to image,text \(held_out_instr"
    ):
        read(copy, engine, held_out=True)
    file.write_text("\n".join(lines) + "\n")
    found = [read(copy, engine, seed=seed, held_out=True) for seed in range(5)]
    assert {text for sets in found for text in sets[0].instructions} == {
        "A picture, please.",
        "Is there a picture?",
    }
    assert found[0][1].instructions == ["Both, please."] * 4
    assert found[0][0].queries == read(collection, engine)[0].queries


def test_a_limit_takes_a_sample_that_the_order_of_the_file_does_not_change(
    collection, copy, engine
):
    file = copy.root / "query/test/mbeir_shapes_task0_test.jsonl"
    file.write_text("\n".join(reversed(file.read_text(encoding="utf-8").splitlines())) + "\n")
    sample = read(collection, engine, limit=2)[0]
    of_reversed = read(copy, engine, limit=2)[0]
    assert len(sample) == 2 and sample.queries == of_reversed.queries
    assert any(
        read(collection, engine, limit=2, seed=seed)[0].queries != sample.queries
        for seed in range(1, 6)
    )


def test_batches_hold_every_query_with_its_picture_and_instruction(collection, engine):
    pictures = read(collection, engine)[2]
    batches = list(pictures.opened(collection, 3))
    asked = [query for batch in batches for query in batch]
    assert [len(batch) for batch in batches] == [3, 1]
    assert all(query.image.size == (40, 30) and not query.text for query in asked)
    assert [query.instruction for query in asked] == pictures.instructions


def test_training_targets_are_the_positives_of_training_queries(collection, engine):
    named = {did for query in collection.queries("train") for did in query.positives}
    targets = np.flatnonzero(training_targets(collection, engine.index))
    assert {item.id for item in engine.index.items(targets)} == named
    groups = TargetGroups.of(
        Qrels.from_lists([[0, 1], [1], [2, 0], [0], []]), np.array([True, False, False])
    )
    # of both kinds: in neither group
    assert groups.every.tolist() == [False, False, False, True, False]
    # the last has no positive in the index
    assert groups.none.tolist() == [False, True, False, False, False]


def test_judgments_that_name_unknown_items_are_counted_and_their_queries_stay(
    collection, partly_unknown, engine
):
    pictures, *others = read(partly_unknown, engine)
    assert [query.id for query in pictures.queries] == ["0:3", "0:7", "0:11", "0:15"]
    assert pictures.unknown == 2 and not any(queries.unknown for queries in others)
    known = np.split(pictures.qrels.rows, pictures.qrels.offsets[1:-1])
    rows = engine.index.rows_of(["0:3", "0:99", "0:11", "0:15"]).tolist()
    assert [of.tolist() for of in known] == [[row] if row >= 0 else [] for row in rows]
    # what is asked for is the task's
    assert pictures.instructions == read(collection, engine)[0].instructions
    assert pictures.targets.tolist() == [Modality.IMAGE] * 4


def test_qrels_of_another_collection_a_missing_instruction_and_an_empty_split_are_refused(
    copy, engine
):
    shutil.rmtree(copy.root / "query/val")
    with pytest.raises(UserError, match="has no val queries"):
        read(copy, engine, split="val")
    instructions = "text\timage\tshapes\t0\tFind it.\nimage\ttext\tshapes\t0\tDescribe it.\n"
    (copy.root / "instructions/query_instructions.tsv").write_text(instructions)
    with pytest.raises(UserError, match=r"titled has no instruction from text to image,text"):
        read(copy, engine)
    for file in (copy.root / "qrels/test").glob("*"):
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        file.write_text(
            "".join(f"{query} 0 7:{at} 1 {task}\n" for at, (query, *_, task) in enumerate(lines))
        )
    with pytest.raises(UserError, match="no test query of .* has a positive in the index"):
        read(copy, engine, rows=["shapes"])


def test_every_phrasing_can_be_chosen_and_a_query_with_fewer_repeats_them(collection, engine):
    pictures, *_, texts = read(collection, engine)
    for number in range(4):
        expected = replace(pictures, instructions=[PHRASINGS[number % 3]] * 4)
        assert pictures.rephrased(number) == expected
    assert texts.rephrased(2).instructions == ["Describe this."] * 4


def test_the_target_modality_is_that_of_a_positive_of_the_queries_own_dataset(engine, copy):
    """The qrels name a pair of another dataset first; the instruction still asks for a picture."""
    file = copy.root / QRELS
    file.write_text("0:3 0 1:16 1 0\n" + file.read_text(encoding="utf-8"))
    found = read(copy, engine)[0]
    assert (
        dict(zip([query.id for query in found.queries], found.instructions, strict=True))["0:3"]
        in PHRASINGS
    )


# pools


def named(pools):
    return {(str(kind), number): rows for (kind, number), rows in pools.items()}


def test_every_row_has_its_four_pools(collection, engine):
    rows = collection.rows()
    everything = np.arange(engine.index.n)
    found = named(read_pools(collection, engine.index, rows, "test"))
    tested = np.unique(
        engine.index.rows_of(item.id for item in collection.candidates("union_test"))
    )
    for number, row in enumerate(rows):
        local = np.unique(engine.index.rows_of(item.id for item in collection.local_pool(row)))
        assert found["global pool, all items", number].tolist() == everything.tolist()
        assert found["global pool, test items", number].tolist() == tested.tolist()
        assert found["local pool, all items", number].tolist() == local.tolist()
        assert (
            found["local pool, test items", number].tolist()
            == np.intersect1d(local, tested).tolist()
        )
    assert len(found) == 4 * len(rows)


def test_pools_are_limited_to_all_items_or_to_those_of_the_split(collection, engine):
    found = read_pools(collection, engine.index, collection.rows(), "test", "test")
    assert {str(kind) for kind, _ in found} == {"global pool, test items", "local pool, test items"}
    with pytest.raises(UserError, match="no pool of val items; choose from all, test"):
        read_pools(collection, engine.index, collection.rows(), "test", "val")


class IndexOf:
    """Some items, in the order of their ids."""

    def __init__(self, ids):
        self.ids = {id: row for row, id in enumerate(sorted(ids))}
        self.n = len(self.ids)

    def rows_of(self, ids):
        return np.array([self.ids.get(id, -1) for id in ids])


@pytest.mark.parametrize("split", ["test", "val"])
def test_an_index_of_one_pool_is_searched_as_that_pool(collection, split):
    """As the shipped run, whose index lacks what was for training alone."""
    index = IndexOf(item.id for item in collection.candidates("union_test"))
    rows = collection.rows()
    found = named(read_pools(collection, index, rows, split))
    assert len(found) == 2 * len(rows)
    for number, row in enumerate(rows):
        local = {item.id for item in collection.local_pool(row)} & index.ids.keys()
        assert found["global pool, test items", number].tolist() == list(range(index.n))
        assert found["local pool, test items", number].tolist() == sorted(
            index.ids[id] for id in local
        )


def test_items_missing_from_the_index_and_empty_pools_are_refused(collection, copy, engine):
    partly = IndexOf([item.id for item in collection.candidates("union_test")][1:])
    with pytest.raises(UserError, match="none of its pools holds exactly the indexed items"):
        read_pools(collection, partly, collection.rows(), "test")
    file = copy.root / UNION.format("test")
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole.replace('"1:19"', '"1:99"'))
    with pytest.raises(UserError, match="holds items that the index does not"):
        read_pools(copy, engine.index, copy.rows(), "test")
    file.write_text("".join(line for line in whole.splitlines(keepends=True) if '"1:' not in line))
    with pytest.raises(UserError, match="titled task 2: the local pool, test items is empty"):
        read_pools(copy, engine.index, copy.rows(), "test")
