"""An encoder that reads instructions apart from texts: embeddings are what is shown, fused features
what is asked.
"""

import numpy as np
import pytest
import torch

from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.training.tiny import arguments, train_stage
from tests.training.tiny_towers import INSTRUCTIONS, locked_settings
from training import __main__ as pipeline
from training.data.pairs import CandidateTable
from training.settings import Settings, with_values
from training.stages import encoder as encoder_stage
from training.stages.optimization import contrastive_loss


@pytest.fixture(scope="module")
def settings(towers) -> Settings:
    encoder = locked_settings(*towers, towers={"apart": True}, epochs=8, mask_positives=True)
    return with_values(encoder, {"quantizer": {"fusion": {"instruction": True}}})


@pytest.fixture(scope="module")
def masks() -> list[torch.Tensor]:
    """(b, b) what is no negative, in each step of the encoder's training."""
    return []


@pytest.fixture(scope="module")
def trained(settings, colors, masks, tmp_path_factory) -> Run:
    """A run with every stage."""
    path = tmp_path_factory.mktemp("apart") / "run"

    def noting(query, target, scale, no_negative, symmetric):
        masks.append(no_negative)
        return contrastive_loss(query, target, scale, no_negative, symmetric)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder_stage, "contrastive_loss", noting)
        train_stage("encoder", colors, path, settings)
    for stage in ("features", "quantizer", "decoder", "index"):
        train_stage(stage, colors, path, settings)
    return Run(path)


@pytest.fixture(scope="module")
def engine(trained) -> Engine:
    return Engine.load(trained.path, "cpu")


def test_an_instruction_changes_the_fused_feature_and_not_the_embedding(engine):
    asked = [Query("red on blue", instruction=instruction) for instruction in ("", *INSTRUCTIONS)]
    encoded = engine.encode(asked)
    for embedding in encoded.embeddings:
        torch.testing.assert_close(embedding, encoded.embeddings[0])
    assert torch.cdist(encoded.z, encoded.z)[~torch.eye(4, dtype=torch.bool)].min() > 1e-3
    alone = engine.encoder.encode([None], ["red on blue"]).embedding()[0]
    torch.testing.assert_close(encoded.embeddings[0], alone, atol=1e-5, rtol=1e-5)


def test_by_cosine_a_search_finds_the_same_text(engine):
    (result,) = engine.search(
        [Query("red on blue", instruction=INSTRUCTIONS[0])], SearchOptions(order="cosine")
    )
    assert result.hits[0].item.text == "red on blue" and result.hits[0].cosine > 0.99


def test_features_hold_a_text_once_and_each_phrasing(trained, settings):
    queries, items = (
        FeatureFiles(trained.path / "features" / name) for name in ("train", "candidates")
    )
    assert (
        queries.phrasings == 2 and queries.text.shape[1] == 1 and queries.instruction.shape[1] == 2
    )
    encoder = Encoder.load(trained.folder("encoder"))
    known = encoder.encode([None] * 4, [*INSTRUCTIONS, "describe it"]).text.half().float().numpy()
    stored = np.unique(queries.instruction[:].reshape(-1, encoder.dim), axis=0).astype(np.float32)
    np.testing.assert_allclose(stored, np.unique(known, axis=0), atol=2e-3)
    assert items.instruction is None and items.features(slice(0, 3)).instruction is None
    assert queries.fused(trained.digest("fusion")).shape == queries.instruction.shape


def test_only_candidates_of_the_wanted_kind_are_negatives(trained, masks, colors):
    kinds = CandidateTable.read(colors).modalities
    shares = [1 - mask.float().mean().item() for mask in masks]
    assert len(set(kinds.tolist())) == 2 and 0.3 < np.mean(shares) < 0.55, (
        "half of the pairs, less other positives"
    )


@pytest.mark.parametrize("apart", [True, False])
def test_a_fusion_that_does_not_fit_the_encoder_is_refused(towers, colors, tmp_path, apart):
    wrong = locked_settings(*towers, towers={"apart": apart}, locked={"views": 1}, epochs=1)
    wrong = with_values(wrong, {"quantizer": {"fusion": {"instruction": not apart}}})
    train_stage("encoder", colors, tmp_path / "run", wrong)
    with pytest.raises(
        UserError, match=f"set quantizer.fusion.instruction to {str(apart).lower()}"
    ):
        train_stage("features", colors, tmp_path / "run", wrong)


def test_swapped_instructions_are_refused(settings, colors, tmp_path):
    swapped = with_values(settings, {"encoder": {"modality_weight": 0.5}})
    with pytest.raises(UserError, match=r"set encoder\.modality_weight to 0"):
        train_stage("encoder", colors, tmp_path / "run", swapped)


def test_such_a_run_gets_a_reader_and_another_does_not(trained, settings, colors, monkeypatch):
    asked = []
    monkeypatch.setattr(pipeline.reader, "train", lambda root, run, *_: asked.append(run))
    pipeline.train(arguments(colors, trained.path, settings))
    assert asked == [trained.path]
    monkeypatch.setattr(pipeline, "reads_apart", lambda run: False)
    pipeline.train(arguments(colors, trained.path, settings))
    assert asked == [trained.path]
