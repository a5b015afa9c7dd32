"""The index stage: features fused elsewhere, and resuming."""

import json

import numpy as np
import pytest

from genius.collections.images import open_image
from genius.collections.keys import id_key
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.index.store import Index
from genius.index.writing import write_index
from genius.run import Run
from tests.training.tiny import Killed, arguments, die, tiny, train_stage
from training import __main__ as pipeline
from training.data.pairs import CandidateTable
from training.stages import index


def test_a_run_whose_fusion_was_trained_elsewhere_has_the_same_index(copied_run, collection):
    run = Run(copied_run)
    folder = run.path / "features" / "candidates"
    before = run.digest("index")
    (folder / "fused.npy").unlink()
    state = json.loads((folder / "progress.json").read_text(encoding="utf-8"))
    (folder / "progress.json").write_text(json.dumps(state | {"fusion": ""}))

    assert train_stage("index", collection, run.path).digest("index") == before


def test_a_killed_index_of_one_pool_resumes_to_its_items_with_their_own_codes_and_thumbnails(
    trained_run, copied_run, collection, monkeypatch
):
    pooled = tiny(index={"pool": "union_test", "thumbnail_side": 20})
    with monkeypatch.context() as kill, pytest.raises(Killed):
        kill.setattr(index, "write_index", die)
        train_stage("index", collection, copied_run, pooled)
    (copied_run / "indexing" / "other facts").mkdir()
    part = Index.load(train_stage("index", collection, copied_run, pooled).folder("index"))

    whole = Index.load(Run(trained_run).folder("index"))
    items = list(collection.candidates("union_test"))
    rows = whole.rows_of([item.id for item in items])
    assert 0 < part.n < whole.n and part.items(range(part.n)) == items
    assert (part.codes(range(part.n)) == whole.codes(rows)).all()
    assert np.array_equal(part.embeddings[:], whole.embeddings[:][rows])
    assert np.array_equal(part.distances[:], whole.distances[:][rows])
    assert [
        (picture := part.thumbnail(row)) and open_image(picture).size for row in range(part.n)
    ] == [item.image and (20, 15) for item in items]
    assert not (copied_run / "indexing").exists()


def test_a_killed_index_stage_starts_again_if_its_pool_has_changed_meanwhile(
    copied_run, root, monkeypatch
):
    pools = root / "cand_pool" / "global"
    records = [
        json.loads(line)
        for line in (pools / "mbeir_union_test_cand_pool.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    pool = pools / "mbeir_few_cand_pool.jsonl"  # in no union pool, as `shipped` of the photos

    def write_pool(credit: str, chosen: slice) -> None:
        pool.write_text(
            "".join(json.dumps(own | {"src_content": credit}) + "\n" for own in records[chosen])
        )

    write_pool("by A", slice(0, 6))
    few = tiny(index={"pool": "few"})

    def killed_at_its_end(*arguments, **options):
        write_index(*arguments, **options)
        raise Killed

    with monkeypatch.context() as kill, pytest.raises(Killed):
        kill.setattr(index, "write_index", killed_at_its_end)
        train_stage("index", root, copied_run, few)
    write_pool("by B", slice(1, 6))
    made = Index.load(train_stage("index", root, copied_run, few).folder("index"))
    found = made.items(np.arange(made.n))
    assert found == list(Collection(root).candidates("few")) and {
        item.source for item in found
    } == {"by B"}


def test_an_index_offers_only_the_instructions_of_the_datasets_in_it(collection):
    asked = {
        dataset: {
            text
            for (own, _, _), texts in collection.instructions().items()
            if own == dataset
            for text in texts
        }
        for dataset in (0, 1)
    }
    for dataset, texts in asked.items():
        keys = np.array([id_key(f"{dataset}:{number}") for number in (3, 1)])
        assert {
            instruction.text for instruction in index.instructions_for(keys, collection)
        } == texts
    everything = np.array([id_key("0:1"), id_key("1:1")])
    offered = index.instructions_for(everything, collection)
    assert len(offered) == sum(map(len, collection.instructions().values()))


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ("none", "pool none of .* has no items; add some, or set index.pool"),
        ("union_tset", "has no pool 'union_tset'; it has .*union_test"),
    ],
)
def test_an_empty_or_unknown_pool_is_refused_before_training(root, tmp_path, pool, said):
    (root / "cand_pool" / "global" / "mbeir_none_cand_pool.jsonl").write_text("")
    with pytest.raises(UserError, match=said):
        pipeline.train(arguments(root, tmp_path / "run", tiny(index={"pool": pool})))
    with pytest.raises(UserError, match=said):
        index.pool_rows(Collection(root), pool, CandidateTable.read(Collection(root)))
    assert not (tmp_path / "run").exists()
