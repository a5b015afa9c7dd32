"""The command that trains and measures the encoder baselines, on a tiny collection."""

import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest
from open_clip.transform import PreprocessCfg

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation.queries import read_queries
from genius.explore.report_tables.ablation_tables import ablation_choices, ablation_tables
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.run import Run
from tests.search.tiny import tiny_encoder
from tests.training.tiny import TINY
from training.ablations.query_columns import CandidateRows, searched_pools
from training.benchmarks import encoders
from training.benchmarks.encoder_search import dense_search, embed_candidates, embed_queries
from training.benchmarks.encoders import (
    BLIP_LARGE,
    SYSTEMS,
    blip_architecture,
    chosen_systems,
    kept_search,
    main,
    trainings,
)
from training.pairs import CandidateTable
from training.presets import PAPER, SMALL
from training.settings import ExtrasSettings

CHANGES = ["--set", "encoder.epochs=1", "--device", "cpu", "--limit", "4"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    encoder = replace(TINY.encoder, extras=ExtrasSettings())
    monkeypatch.setitem(encoders.PRESETS, "small", replace(TINY, encoder=encoder))


def test_all_systems_are_trained_measured_and_reported_and_a_second_start_trains_nothing(
    collection, tmp_path, monkeypatch
):
    main([str(collection.root), str(tmp_path), *CHANGES])
    report = json.loads((tmp_path / "reports" / "encoders.json").read_text())
    whole, local = report["tables"]
    assert whole["columns"] == [name for name, system in SYSTEMS.items() if not system.single]
    assert local["columns"] == list(SYSTEMS)
    for made in report["tables"]:
        *rows, average = made["blocks"][0]["rows"]
        for at in range(len(made["columns"])):
            assert average["cells"][at]["mean"] == pytest.approx(np.mean([row["cells"][at]["mean"] for row in rows]))
    assert "BLIP-FF, single task" in (tmp_path / "reports" / "encoders.md").read_text()
    for choice in ablation_choices(report):
        (shown,) = ablation_tables(report, choice)
        assert shown.columns[0] == "Row" and len(shown.rows) == len(whole["blocks"][0]["rows"])

    monkeypatch.setattr(encoders, "run_stage", None)
    monkeypatch.setattr(encoders, "dense_search", None)
    main([str(collection.root), str(tmp_path), *CHANGES])
    again = json.loads((tmp_path / "reports" / "encoders.json").read_text())
    assert again == report


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("cand_pool/global/mbeir_union_test_cand_pool.jsonl", '"txt": "', '"txt": "another '),
        ("query/test/mbeir_titled_task2_test.jsonl", '"query_txt": "', '"query_txt": "another '),
        ("instructions/query_instructions.tsv", "Find", "Look for"),
    ],
)
def test_hit_rates_of_other_texts_queries_or_instructions_are_measured_again(
    collection, tmp_path, monkeypatch, file, before, after
):
    Run(tmp_path / "encoder").publish("encoder", tiny_encoder().save)
    searched = []
    monkeypatch.setattr(encoders, "dense_search", lambda *_: searched.append(1) or {})

    def measure(root):
        known = Collection(root)
        candidates = CandidateRows(CandidateTable.read(known))
        sets = read_queries(known, candidates, "test", limit=4, seed=0, phrasing="seeded")
        kept_search(tmp_path / "encoder", SYSTEMS["CLIP-SF"], known, candidates, sets, "cpu")

    root = shutil.copytree(collection.root, tmp_path / "collection")
    measure(root)
    measure(root)
    assert len(searched) == 1
    text = (root / file).read_text()
    assert before in text
    (root / file).write_text(text.replace(before, after))
    measure(root)
    assert len(searched) == 2


def test_dense_search_is_a_sort_of_all_cosines(collection):
    candidates = CandidateRows(CandidateTable.read(collection))
    sets = read_queries(collection, candidates, "test", limit=None, seed=0, phrasing="seeded")
    model = SYSTEMS["BLIP-FF"].settings(TINY.encoder).architecture
    preprocess = asdict(PreprocessCfg(size=model["vision_cfg"]["image_size"]))
    encoder = FeatureFusionEncoder.over(Encoder(EncoderConfig(model, preprocess)), 1).eval()
    found = dense_search(encoder, collection, sets, searched_pools(collection, candidates, sets))
    vectors = embed_candidates(encoder, collection, np.arange(candidates.n)).astype(np.float32)
    own = sets[-1]
    scores = embed_queries(encoder, collection, own) @ vectors.T
    for scope, items in (("global", collection.candidates("union_test")), ("local", collection.local_pool(own.row))):
        pool = np.unique(candidates.rows_of(item.id for item in items))
        pool = np.intersect1d(pool, candidates.rows_of(item.id for item in collection.candidates("union_test")))
        hits = []
        for query in range(len(own)):
            best = pool[np.argsort(-scores[query, pool], kind="stable")[:5]]
            hits.append(bool(set(best) & set(own.qrels.rows[own.qrels.owners == query])))
        assert found[f"{own.row.task}:{own.row.dataset}"][scope]["5"] == pytest.approx(np.mean(hits))


def test_a_single_task_encoder_is_trained_on_each_row_alone(collection):
    candidates = CandidateRows(CandidateTable.read(collection))
    sets = read_queries(collection, candidates, "test", limit=2, seed=0, phrasing="seeded")
    made = trainings(SYSTEMS["CLIP-SF, single task"], sets)
    assert [rows for _, rows, _ in made] == [(f"{own.row.task}:{own.row.dataset}",) for own in sets]
    assert len({name for name, _, _ in made}) == len(sets)
    assert SYSTEMS["CLIP-FF"].settings(SMALL.encoder, made[0][1]).rows == made[0][1]


def test_blip_is_as_large_as_clip_and_the_published_one_is_vit_large():
    assert blip_architecture(PAPER.encoder) is BLIP_LARGE
    small = blip_architecture(SMALL.encoder)
    assert small["embed_dim"] == 256 and small["vision_cfg"]["image_size"] == 80
    assert small["text_cfg"] == {"width": 256, "layers": 3, "heads": 4, "context_length": 32, "vocab_size": 49408}


def test_names_with_commas_are_told_apart_and_an_unknown_one_lists_the_others():
    names = "BLIP-SF,CLIP-SF, single task"
    assert [system.name for system in chosen_systems(names)] == ["CLIP-SF, single task", "BLIP-SF"]
    with pytest.raises(UserError, match="no 'CLIP-XF'; choose from CLIP-SF, single task; CLIP-SF"):
        chosen_systems("CLIP-XF")


def test_settings_under_which_encoders_cannot_be_compared_are_refused(collection, tmp_path):
    with pytest.raises(UserError, match="encoder.rows is set by the systems"):
        main([str(collection.root), str(tmp_path), "--set", 'encoder.rows=["shapes"]'])
    with pytest.raises(UserError, match="without pretrained towers"):
        main([str(collection.root), str(tmp_path), "--preset", "photos"])
    assert not Run(tmp_path).has("encoder")


def test_a_limit_of_no_queries_is_refused(tmp_path):
    with pytest.raises(UserError, match="--limit 0: expected an integer of at least 1"):
        main([str(tmp_path), str(tmp_path / "run"), "--limit", "0"])
