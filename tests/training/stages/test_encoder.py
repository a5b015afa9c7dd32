"""The encoder stage: what it starts from, its losses, and the baselines CLIP-FF, BLIP-SF and
BLIP-FF.
"""

from dataclasses import replace

import numpy as np
import open_clip
import pytest
import torch

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.run import Run
from tests.search.tiny import tiny_encoder
from tests.training.tiny import TINY, arguments, tiny, train_stage, weights_of
from training.data import encoder_inputs, image_augmentation
from training.data.encoder_inputs import FeatureFusionLoader
from training.data.pairs import CandidateTable, Pairs
from training.paper.ablations.variants import TABLES
from training.settings import Settings, with_values
from training.stages import encoder
from training.stages.curves import read_curves
from training.stages.encoder import new_encoder


def trained(collection, run, base: Settings = TINY, **changes) -> Run:
    """changes: of the encoder's settings."""
    return train_stage("encoder", collection, run, with_values(base, {"encoder": changes}))


def test_the_encoder_of_a_run_is_used_as_it_is(tmp_path):
    given = tiny_encoder()
    given.save(tmp_path)
    found = new_encoder(replace(TINY.encoder, pretrained=str(tmp_path)))
    weights = given.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in found.state_dict().items())


def test_an_encoder_that_cannot_encode_is_refused_before_any_image_is_opened(
    collection, tmp_path, monkeypatch
):
    model = TINY.encoder.architecture
    few = model | {"text_cfg": model["text_cfg"] | {"vocab_size": 9}}
    monkeypatch.setattr(image_augmentation, "open_item_image", None)
    with pytest.raises(UserError, match="cannot encode a text and an image .*vocab_size is 9"):
        trained(collection, tmp_path, architecture=few)


def test_other_positives_are_negatives_unless_they_are_masked(collection, tmp_path):
    losses = []
    # a query that is repeated has another positive in the batch
    repeated = {"epochs": 1, "batch": 64, "upsample_to": 100}
    for masked in (False, True):
        run = trained(collection, tmp_path / str(masked), PLAIN, mask_positives=masked, **repeated)
        losses.append(read_curves(run)["encoder"][0]["loss"])
    assert losses[0] > losses[1]


def test_an_encoder_limited_to_rows_sees_their_queries_alone(collection, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(encoder, "fit", lambda model, loader, splits, *_: seen.extend(splits))
    pairs = Pairs.read(collection, "train", CandidateTable.read(collection))
    row = int(pairs.rows[-1])
    trained(collection, tmp_path, rows=(f"{pairs.tasks[row]}:{pairs.datasets[row]}",))
    assert [set(found.rows.tolist()) for found in seen] == [{row}, {row}]
    assert len(seen[0]) == (pairs.rows == row).sum() < len(pairs)


def test_activations_that_are_computed_again_give_the_same_weights(
    collection, tmp_path, monkeypatch
):
    counted = []
    checkpoint = open_clip.transformer.checkpoint
    monkeypatch.setattr(
        open_clip.transformer,
        "checkpoint",
        lambda *a, **k: (counted.append(1), checkpoint(*a, **k))[1],
    )
    weights = []
    for again in (False, True):
        assert not counted
        once = {"epochs": 1, "bf16": False}
        run = trained(collection, tmp_path / str(again), grad_checkpointing=again, **once)
        weights.append(weights_of(run, "encoder"))
    assert counted
    torch.testing.assert_close(*weights)


def test_blip_cannot_compute_activations_again(collection, tmp_path):
    with pytest.raises(UserError, match="is for the models of open_clip; set it to false for BLIP"):
        trained(collection, tmp_path, settings_of("BLIP-SF", TINY), grad_checkpointing=True)


PLAIN = tiny(encoder={"modality_weight": 0.0, "instruction_swap_prob": 0.0, "bf16": False})


def settings_of(name: str, base: Settings = PLAIN) -> Settings:
    (variant,) = (variant for variant in TABLES["S9"].variants if variant.name == name)
    return variant.training(base).settings


@pytest.mark.parametrize("name", ["CLIP-FF", "BLIP-SF", "BLIP-FF"])
def test_training_reduces_the_loss(collection, tmp_path, name):
    run = trained(collection, tmp_path, settings_of(name), epochs=4, learning_rate=3e-3)
    losses = [epoch["loss"] for epoch in read_curves(run)["encoder"]]
    assert losses[-1] < losses[0] - 0.05  # after twelve steps
    load = Encoder if name == "BLIP-SF" else FeatureFusionEncoder
    assert load.load(run.folder("encoder")).embed([None], ["A text."]).isfinite().all()


def test_two_processes_embed_the_inputs_that_one_does(collection, tmp_path, monkeypatch):
    settings = with_values(settings_of("CLIP-FF"), {"encoder": {"augment": False}})
    model = FeatureFusionEncoder.over(encoder.new_encoder(settings.encoder), 2).eval()
    pairs = Pairs.read(collection, "train", CandidateTable.read(collection))
    given = arguments(collection, tmp_path, settings)
    loader = FeatureFusionLoader(collection, [pairs], given, model, None)
    # of all rows, whose targets are images, texts and both
    queries = np.arange(len(pairs))[::2][:9]

    def embedded() -> torch.Tensor:
        ((_, inputs),) = loader.load_pairs(
            pairs, [queries], np.random.default_rng(0), training=False
        )
        with torch.inference_mode():
            return inputs.embedding(model)

    expected = embedded()
    parts = []
    monkeypatch.setattr(encoder_inputs, "all_gather", lambda local, n: local)
    for process in range(2):
        monkeypatch.setattr(
            encoder_inputs,
            "local_slice",
            lambda n, process=process: slice(n * process // 2, n * (process + 1) // 2),
        )
        parts.append(embedded())
    assert [len(part) for part in parts] == [4, 5]
    assert torch.allclose(torch.cat(parts), expected, atol=1e-5)
    mixed = {(item.image is None, bool(item.text)) for item in loader.items}
    assert len(mixed) > 1, "images and texts are missing in different places"


def test_ids_are_refused_for_fused_features_in_one_sentence(collection, tmp_path):
    trained(collection, tmp_path, settings_of("CLIP-FF"), epochs=0)
    with pytest.raises(UserError, match="one embedding for image and text together"):
        train_stage("features", collection, tmp_path)
