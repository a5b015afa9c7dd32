"""Encoders that fuse the tokens of image and text, and BLIP's towers, on tiny configurations."""

from dataclasses import asdict

import numpy as np
import open_clip
import pytest
import torch
import torch.nn.functional as F
from open_clip.transform import PreprocessCfg
from PIL import Image

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.feature_fusion import FeatureFusionEncoder
from tests.search.tiny import tiny_encoder
from training.paper.ablations.variants import BLIP_LARGE

SIDE, DIM = 32, 12
TEXT = {"context_length": 16, "vocab_size": 49408, "width": 20, "heads": 2, "layers": 2}
VIT = {"image_size": SIDE, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
ARCHITECTURES = {
    "clip": {"vision_cfg": VIT},
    "resnet": {
        "vision_cfg": {"image_size": SIDE, "timm_model_name": "resnet10t", "timm_proj": "linear"}
    },
    "custom": {"custom_text": True, "vision_cfg": VIT},
    "blip": {
        "blip": True,
        "vision_cfg": {"image_size": SIDE, "layers": 2, "width": 24, "heads": 3, "patch_size": 16},
    },
}


def build(name: str) -> Encoder:
    torch.manual_seed(0)
    model = {"embed_dim": DIM, "text_cfg": TEXT} | ARCHITECTURES[name]
    return Encoder(EncoderConfig(model, asdict(PreprocessCfg(size=SIDE)))).eval()


@pytest.fixture(scope="module", params=ARCHITECTURES)
def fused(request) -> FeatureFusionEncoder:
    fused = FeatureFusionEncoder.over(build(request.param), layers=2).eval()
    with torch.no_grad():
        # as after training: at first, attention hardly tells tokens apart
        for weight in fused.parameters():
            if weight.ndim == 2:
                weight.add_(0.2 * torch.randn_like(weight))
    return fused


def picture(seed: int) -> Image.Image:
    return Image.fromarray(
        np.random.default_rng(seed).integers(0, 255, (40, 50, 3), dtype=np.uint8)
    )


def test_the_embedding_depends_on_the_image_and_the_text(fused):
    images = [picture(0), picture(1), picture(0), picture(1)]
    texts = ["A dog.", "A dog.", "Two cats.", "Two cats."]
    found = fused.embed(images, texts)
    assert torch.allclose(found.norm(dim=1), torch.ones(4), atol=1e-5)
    assert (torch.cdist(found, found) + torch.eye(4)).min() > 1e-4


def test_a_batch_equals_its_items_one_by_one_whatever_is_missing_or_padded(fused):
    images = [picture(0), None, picture(2), None, picture(3)]
    texts = ["One.", "A much longer text about a dog and two cats.", "", "Three words.", "Where?"]
    alone = [fused.embed([image], [text]) for image, text in zip(images, texts, strict=True)]
    assert torch.allclose(fused.embed(images, texts), torch.cat(alone), atol=2e-5)


def test_a_missing_image_is_zeros_and_a_missing_text_is_empty(fused):
    pixels, there, tokens, _ = fused.inputs([picture(0)], ["A dog."])
    with torch.inference_mode():
        no_image = fused(torch.zeros_like(pixels), there, tokens, there)
        no_text = fused(pixels, there, fused.tokenize([""]), there)
    assert torch.allclose(fused.embed([None], ["A dog."]), no_image, atol=1e-6)
    assert torch.allclose(fused.embed([picture(0)], [""]), no_text, atol=1e-6)


def test_tokens_behind_the_end_of_a_text_change_nothing(fused):
    pixels, there, tokens, _ = fused.inputs([picture(0), picture(1)], ["A dog.", "Two cats."])
    padded = F.pad(tokens, (0, TEXT["context_length"] - tokens.shape[1]))
    noisy = torch.where(torch.arange(padded.shape[1]) > padded.argmax(1)[:, None], 7, padded)
    with torch.inference_mode():
        found, expected = (fused(pixels, there, some, there) for some in (noisy, tokens))
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_saved_encoder_loads_as_what_it_is(fused, tmp_path):
    fused.save(tmp_path)
    loaded = FeatureFusionEncoder.load(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    images = [picture(0), None]
    texts = ["A dog.", "A cat."]
    assert torch.equal(loaded.embed(images, texts), fused.embed(images, texts))
    with pytest.raises(
        UserError, match="one embedding for image and text together .* encoder.fusion=score"
    ):
        Encoder.load(tmp_path)


def test_an_encoder_of_features_is_no_feature_fusion(tmp_path):
    tiny_encoder().save(tmp_path)
    with pytest.raises(UserError, match="encoder.fusion=feature"):
        FeatureFusionEncoder.load(tmp_path)


def test_the_towers_keep_their_weights():
    encoder = build("clip")
    fused = FeatureFusionEncoder.over(encoder, layers=1)
    weights = encoder.clip.state_dict()
    assert all(
        torch.equal(weight, weights[name]) for name, weight in fused.clip.state_dict().items()
    )


def test_the_mean_is_over_the_tokens_that_are_there():
    fused = FeatureFusionEncoder.over(build("clip"), layers=1).eval()
    fused.fusion.forward = lambda inputs_embeds, attention_mask: type(
        "Out", (), {"last_hidden_state": inputs_embeds}
    )
    inputs = pixels, _, tokens, _ = fused.inputs([picture(0)], ["A dog."])
    with torch.inference_mode():
        clip = fused.clip
        n = int(tokens.argmax()) + 1
        states = clip.token_embedding(tokens[:, :n]) + clip.positional_embedding[:n]
        states = (
            clip.ln_final(clip.transformer(states, attn_mask=clip.attn_mask[:n, :n]))
            @ clip.text_projection
        )
        pooled, patches = clip.visual(pixels)
        expected = torch.cat([states[0], pooled, patches[0] @ clip.visual.proj]).mean(0)
        found = fused(*inputs)[0]
    assert torch.allclose(found, F.normalize(expected, dim=0), atol=1e-6)


def test_a_tower_without_tokens_is_refused():
    encoder = build("resnet")
    encoder.config.model["vision_cfg"] = {"image_size": SIDE, "layers": (1, 1, 1, 1), "width": 8}
    with pytest.raises(UserError, match="ModifiedResNet gives no tokens"):
        FeatureFusionEncoder.over(Encoder(encoder.config), layers=1)


def test_blip_score_fusion_has_features_of_image_and_text():
    encoder = build("blip")
    both, image, text = (
        encoder.encode(*inputs)
        for inputs in (([picture(0)], ["A dog."]), ([picture(0)], [""]), ([None], ["A dog."]))
    )
    assert torch.allclose(both.embedding(), F.normalize(image.image + text.text, dim=-1), atol=1e-6)
    tokens = encoder.tokenize(["A dog."])
    with torch.inference_mode():
        first = encoder.clip.text.tower(tokens[:, : int(tokens.argmax()) + 1]).last_hidden_state[
            :, 0
        ]
        assert torch.allclose(text.text, encoder.clip.text.proj(first), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "millions", "dim"),
    [("ViT-L-14-quickgelu", 439, 768), (BLIP_LARGE, 446, 768)],
    ids=["CLIP-FF", "BLIP-FF"],
)
def test_the_published_encoders_can_be_built_without_a_network(model, millions, dim):
    model = open_clip.get_model_config(model) if isinstance(model, str) else model
    with torch.device("meta"):  # shapes alone
        fused = FeatureFusionEncoder(EncoderConfig(model | {"fusion": {"layers": 2}}))
    assert fused.dim == dim
    assert round(sum(weight.numel() for weight in fused.parameters()) / 1e6) == millions
