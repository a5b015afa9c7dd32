"""The converter of published checkpoints, on files of the documented layout.

Small sizes by default; `pytest -m slow tests/training/paper/test_published.py` does the same at the
published sizes (ViT-L/14, K = 4096, M = 9, T5-small; 11 GB of disk, 7 of memory).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import open_clip
import pytest
import torch
from huggingface_hub import errors
from PIL import Image

from genius.errors import UserError
from genius.index.writing import write_index
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder, Features
from genius.models.fusion import Fusion
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.search.tiny import INSTRUCTIONS, tiny_items
from tests.training.paper import published_files as files
from tests.training.paper.published_files import SMALL, TRUE, Sizes, Weights
from tests.training.paper.published_formulas import (
    Formulas,
    fused,
    image_feature,
    log_probabilities,
    quantized,
    text_feature,
    tokens_of,
)
from training.paper.published import checkpoint_file
from training.paper.published.__main__ import main
from training.paper.published.checkpoint_file import CLIP_SF, Checkpoint, local_file
from training.presets import PAPER
from training.settings import Settings, with_values

MARGIN = 1e-4  # of distances: nearer codewords than this may be told apart either way
CLOSE = 1e-4


@dataclass(frozen=True)
class Converted:
    """A run that the command wrote, the weights it was written from, and the files that held
    these.
    """

    sizes: Sizes
    run: Run
    clip: Weights
    genius: Weights
    folder: Path


def settings_of(sizes: Sizes) -> Settings:
    """The preset paper in these sizes."""
    if sizes == TRUE:
        return PAPER
    ids = {"dim": sizes.dim, "levels": sizes.levels, "codebook_size": sizes.codes}
    decoder = {
        name: getattr(sizes, name)
        for name in ("width", "layers", "heads", "head_width", "ff_width", "prefix")
    }
    architecture = {
        "embed_dim": sizes.dim,
        "quick_gelu": True,
        "vision_cfg": {"image_size": sizes.image, "patch_size": sizes.patch}
        | {"width": sizes.vision_width, "layers": sizes.vision_layers},
        "text_cfg": {
            "context_length": sizes.context,
            "vocab_size": sizes.vocabulary,
            "width": sizes.text_width,
        }
        | {"layers": sizes.text_layers, "heads": sizes.text_width // 64},
    }
    fusion = {"dim": sizes.dim, "branch": sizes.branch, "hidden": sizes.hidden}
    of_ids = {
        "quantizer": {"fusion": fusion, "quantizer": ids},
        "decoder": {"decoder": ids | decoder},
    }
    return with_values(PAPER, of_ids | {"encoder": {"architecture": architecture}})


def run_main(
    folder: Path,
    destination: Path,
    *more: str,
    genius: str | Path = "genius.pth",
    sizes: Sizes = SMALL,
) -> Run:
    """The command on the files of a folder."""
    given = [
        "--clip-sf",
        str(folder / "clip.pth"),
        "--genius",
        str(folder / genius),
        *more,
        str(destination),
    ]
    main(given, settings_of(sizes))
    return Run(destination)


def convert(folder: Path, sizes: Sizes) -> Converted:
    clip = files.clip_weights(sizes)
    genius = files.genius_weights(sizes)
    files.save(folder / "clip.pth", clip)
    files.save(folder / "genius.pth", genius)
    return Converted(sizes, run_main(folder, folder / "run", sizes=sizes), clip, genius, folder)


@pytest.fixture(scope="module", params=["small", pytest.param("true", marks=pytest.mark.slow)])
def converted(request) -> Iterator[Converted]:
    # gigabytes at true size, which pytest's own folders would keep
    with TemporaryDirectory() as folder:
        yield convert(Path(folder), {"small": SMALL, "true": TRUE}[request.param])


@pytest.fixture(scope="module")
def small() -> Iterator[Converted]:
    with TemporaryDirectory() as folder:
        yield convert(Path(folder), SMALL)


def features(sizes: Sizes, b: int = 48) -> tuple[np.ndarray, np.ndarray]:
    """(images, texts) (b, d) each; of every three things one has no image and one no text."""
    rng = np.random.default_rng(5)
    image, text = rng.normal(size=(2, b, sizes.dim)) * 10 / np.sqrt(sizes.dim)
    image[0::3], text[1::3] = 0, 0
    return image.astype(np.float32), text.astype(np.float32)


def as_features(image: np.ndarray, text: np.ndarray) -> Features:
    return Features(
        torch.from_numpy(image),
        torch.from_numpy(text),
        torch.from_numpy(image.any(-1)),
        torch.from_numpy(text.any(-1)),
    )


def vectors(sizes: Sizes, b: int = 6) -> np.ndarray:
    """(b, d) what the decoder is given."""
    z = np.random.default_rng(6).normal(size=(b, sizes.dim))
    return (z / np.linalg.norm(z, axis=-1, keepdims=True)).astype(np.float32)


def some_codes(sizes: Sizes, b: int = 6) -> np.ndarray:
    return np.random.default_rng(7).integers(
        (3,) + (sizes.codes,) * (sizes.levels - 1), size=(b, sizes.levels)
    )


def test_images_and_texts_become_the_vectors_of_openais_clip(converted):
    sizes = converted.sizes
    weights = Formulas(converted.clip, "clip_model.")
    encoder = Encoder.load(converted.run.folder("encoder"))
    pictures = [
        Image.effect_noise((sizes.image + 9, sizes.image), 90).convert("RGB"),
        Image.linear_gradient("L").convert("RGB"),
    ]
    texts = ["A photograph of a boat.", "Why?"]
    found = encoder.encode(pictures, texts)
    pixels = encoder.preprocess(pictures).double().numpy()
    tokens = encoder.tokenize(texts).numpy()
    expected = [
        np.stack([image_feature(weights, own, sizes.vision_layers) for own in pixels]),
        np.stack([text_feature(weights, own, sizes.text_layers) for own in tokens]),
    ]
    for got, wanted in zip((found.image, found.text), expected, strict=True):
        far = np.abs(got.double().numpy() - wanted).max() / np.abs(wanted).max()
        assert far < CLOSE, far
        # it does depend on the input
        assert np.abs(wanted[0] - wanted[1]).max() > 0.1 * np.abs(wanted).max()


def test_codes_are_those_of_the_published_formulas(converted):
    sizes = converted.sizes
    weights = Formulas(converted.genius, "quantizer.")
    fusion = Fusion.load(converted.run.folder("fusion"))
    quantizer = ResidualQuantizer.load(converted.run.folder("quantizer"))
    image, text = features(sizes)
    with torch.inference_mode():
        z = fusion(as_features(image, text))
        codes = quantizer.encode(z, torch.arange(len(z)) % 3).numpy()
    expected_z = fused(weights, image.astype(np.float64), text.astype(np.float64))
    expected, margins = quantized(weights, expected_z, sizes.levels)

    np.testing.assert_allclose(z.double().numpy(), expected_z, atol=1e-5)
    # once one code is open, so is what follows
    told = np.logical_and.accumulate(margins > MARGIN, axis=1)
    assert told.mean() > 0.8
    np.testing.assert_array_equal(codes[told], expected[told])


def test_every_step_has_the_published_log_probabilities(converted):
    """Teacher-forced, and step by step as the search decodes."""
    sizes = converted.sizes
    weights = Formulas(converted.genius)
    z = vectors(sizes)
    codes = some_codes(sizes)
    pairs = zip(z.astype(np.float64), codes, strict=True)
    expected = np.stack(
        [log_probabilities(weights, z_i, ids, sizes.codes, sizes.layers) for z_i, ids in pairs]
    )
    decoder = IDDecoder.load(converted.run.folder("decoder"))
    search = IncrementalDecoder(decoder)
    before = (None, None)
    with torch.inference_mode():
        forced = (
            decoder(torch.from_numpy(z), torch.from_numpy(codes)).double().log_softmax(-1).numpy()
        )
        cache = search.start(torch.from_numpy(z), beams=1)
        steps = []
        for level in range(sizes.levels):
            steps.append(search.step(cache, *before).double().numpy())  # (b, k)
            before = torch.zeros(len(z), 1, dtype=torch.long), torch.from_numpy(codes[:, [level]])

    np.testing.assert_allclose(forced, expected, atol=CLOSE)
    first = tokens_of(np.zeros(sizes.levels, dtype=np.int64), sizes.codes)
    for level, found in enumerate(steps):
        wanted = expected[:, level, first[level] : first[level] + found.shape[1]]
        np.testing.assert_allclose(found, wanted, atol=CLOSE)


def test_the_published_sizes_give_the_published_models(converted):
    encoder = Encoder.load(converted.run.folder("encoder")).config
    decoder = IDDecoder.load(converted.run.folder("decoder")).config
    quantizer = ResidualQuantizer.load(converted.run.folder("quantizer")).config
    assert (quantizer.modality_code, quantizer.distance) == ("emergent", "published")
    assert decoder.vocabulary == converted.sizes.tokens
    assert (decoder.geometry, decoder.decoder_weight, decoder.prefix_hidden) == (False, 1.0, 0)
    if converted.sizes == TRUE:
        assert encoder.model == open_clip.get_model_config("ViT-L-14-quickgelu")
        assert decoder == PAPER.decoder.decoder
        assert decoder.vocabulary == 32_774


def test_a_converted_run_is_searched(small, tmp_path):
    encoder = Encoder.load(small.run.folder("encoder"))
    fusion = Fusion.load(small.run.folder("fusion"))
    quantizer = ResidualQuantizer.load(small.run.folder("quantizer"))
    items = tiny_items(9, tmp_path)
    pictures = [
        Image.open(tmp_path / item.image).convert("RGB") if item.image else None for item in items
    ]
    with torch.inference_mode():
        found = encoder.encode(pictures, [item.text for item in items])
        codes = quantizer.encode(fusion(found)).numpy()
    written = partial(write_index, items=items, codes=codes, embeddings=found.embedding().numpy())
    shown = {"image_path": tmp_path.joinpath, "instructions": INSTRUCTIONS}
    write = partial(written, code_sizes=quantizer.config.code_sizes, **shown)
    small.run.publish("index", write, ("encoder", "fusion", "quantizer"))
    (result,) = Engine.load(small.run.path, "cpu").search(
        [Query(text=items[1].text)], SearchOptions(beams=50, k=9)
    )
    assert {hit.codes for hit in result.hits} <= {tuple(own) for own in codes.tolist()}
    assert result.hits[0].item == items[1] and result.hits[0].cosine > 0.999


def test_every_name_is_mapped_or_listed_as_left_out(small, capsys):
    left_out = small.run.manifest["left_out"]
    assert small.run.manifest["normalize_embeddings"] is True
    beside = {"optimizer", "scheduler", "config", "epoch", "scaler"}
    assert left_out["clip_sf"].keys() == beside
    assert left_out["genius"].keys() - beside == {
        name
        for name in small.genius
        if name.endswith((".cluster_size", ".embed_avg"))
        or name.startswith(("contra_projector.", "quantizer.vq."))
    } - {"quantizer.vq._codebook.embed"}
    files.save(
        small.folder / "more.pth",
        small.genius | {"quantizer.clip_model.visual.proj": torch.ones(2)},
    )
    run_main(small.folder, small.folder / "again", genius="more.pth")
    said = capsys.readouterr().out
    assert "left out   genius, not a weight: optimizer, scheduler, epoch, scaler, config\n" in said
    assert (
        "moving averages of training: quantizer.residual_rq.layers.*._codebook.cluster_size (4), "
        "quantizer.residual_rq.layers.*._codebook.embed_avg (4)\n" in said
    )
    assert "a copy of the encoder: quantizer.clip_model.visual.proj\n" in said


def refused(small: Converted, tmp_path: Path, genius: Weights, *more: str) -> str:
    """What the command says of this decoder's checkpoint."""
    file = files.save(tmp_path / "changed.pth", genius, moments=False)
    with pytest.raises(UserError) as error:
        run_main(small.folder, tmp_path / "run", *more, genius=file)
    assert not (tmp_path / "run").exists()
    return str(error.value)


HEAD, BOOK = "id_generator.lm_head.weight", "quantizer.residual_rq.layers.2._codebook.embed"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"id_generator.decoder.block.1.layer.0.layer_norm.weight": None},
            "lacks the weight id_generator.decoder.block.1.layer.0.layer_norm.weight",
        ),
        (
            {BOOK: torch.zeros(1, 6, 24)},
            r"2._codebook.embed has the shape \(1, 6, 24\), expected \(1, 7, 24\)",
        ),
        (
            {"quantizer.residual_rq.layers.0._codebook.embed": torch.zeros(1, 4, 24)},
            r"expected \(1, 3, 24\)",
        ),
        (
            {"id_generator.shared.weight": torch.zeros(30, 16)},
            r"shape \(30, 16\), expected \(27, 16\)",
        ),
        (
            {"quantizer.residual_rq.layers.2._codebook.initted": torch.zeros(1)},
            "level 2 was not initialized",
        ),
        (
            {"quantizer.vq._codebook.embed": torch.zeros(1, 3, 24)},
            "expected one codebook under two names",
        ),
        (
            {HEAD: torch.zeros(27, 16)},
            "id_generator.lm_head.weight and id_generator.shared.weight differ",
        ),
        ({BOOK: torch.full((1, 7, 24), torch.nan)}, "has NaN or infinite values"),
        (
            {"id_generator.decoder.block.7.layer.0.layer_norm.weight": torch.ones(16)},
            "1 unknown weights .id_generator",
        ),
        (
            {"embed_projector.2.weight": torch.ones(3)},
            r"has 1 unknown weights \(embed_projector.2.weight\).*--leave-out embed_projector",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_by_name(small, tmp_path, change, said):
    weights = {
        name: tensor for name, tensor in (small.genius | change).items() if tensor is not None
    }
    assert re.search(said, message := refused(small, tmp_path, weights)), message


def test_unknown_weights_are_left_out_on_request(small, tmp_path):
    file = files.save(tmp_path / "more.pth", small.genius | {"head.bias": torch.ones(3)})
    run = run_main(small.folder, tmp_path / "run", "--leave-out", "head.*", genius=file)
    assert run.manifest["left_out"]["genius"]["head.bias"] == "by --leave-out"


def test_a_conversion_that_is_killed_at_its_last_part_leaves_no_run_that_trains(
    small, tmp_path, monkeypatch
):
    publish = Run.publish

    def killed(self, part, *given):
        publish(self, part, *given)
        if part == "decoder":
            raise KeyboardInterrupt

    monkeypatch.setattr(Run, "publish", killed)
    with pytest.raises(KeyboardInterrupt):
        run_main(small.folder, tmp_path / "run")
    found, whole = Run(tmp_path / "run").manifest, small.run.manifest
    assert all(found[name] == whole[name] for name in ("left_out", "normalize_embeddings"))


def test_an_encoder_of_another_size_is_refused(small, tmp_path):
    files.save(tmp_path / "clip.pth", files.clip_weights(replace(SMALL, dim=20)))
    with pytest.raises(
        UserError, match=r"clip.pth: clip_model.text_projection has the shape .*20.*, expected .*24"
    ):
        run_main(tmp_path, tmp_path / "run", genius=small.folder / "genius.pth")


def test_a_decoder_keeps_its_own_quantizer(small, tmp_path, capsys):
    files.save(tmp_path / "8.pth", files.quantizer_weights(SMALL, 8))
    run = run_main(small.folder, tmp_path / "run", "--rq", str(tmp_path / "8.pth"))
    assert "quantizer  that of genius\n" in capsys.readouterr().out
    assert run.digest("quantizer") == small.run.digest("quantizer")


def test_a_decoder_without_a_quantizer_needs_one(small, tmp_path, capsys):
    bare = {
        name: tensor for name, tensor in small.genius.items() if not name.startswith("quantizer.")
    }
    assert "has no quantizer; name the one" in refused(small, tmp_path, bare)
    rq = files.save(tmp_path / "rq.pth", files.quantizer_weights(SMALL))
    run = run_main(small.folder, tmp_path / "run", "--rq", str(rq), genius=tmp_path / "changed.pth")
    assert "quantizer  that of rq\n" in capsys.readouterr().out
    assert run.digest("quantizer") == small.run.digest("quantizer")


class Malicious:
    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def test_a_pickle_of_anything_else_is_refused_and_not_run(tmp_path):
    file = files.save(
        tmp_path / "bad.pth", {"a": torch.ones(1)}, epoch=Malicious(tmp_path / "was-run")
    )
    with pytest.raises(
        UserError, match="bad.pth pickles .*pathlib.Path.*nothing of this file was run"
    ):
        Checkpoint.read(file)
    assert not (tmp_path / "was-run").exists()


def test_the_configuration_is_ignored(tmp_path):
    """Its classes are allowed only while the file is read."""
    file = files.save(tmp_path / "file.pth", {"a": torch.ones(1)})
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file)
    assert Checkpoint.read(file).left_out.keys() == {
        "optimizer",
        "scheduler",
        "config",
        "epoch",
        "scaler",
    }
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"no zip", "not a checkpoint written by torch.save"),
        ({"a": torch.ones(2)}, "has no weights under 'model'"),
        ({"model": {"a": 1}}, "has no weights under 'model'"),
    ],
)
def test_a_file_without_weights_is_refused_in_one_sentence(tmp_path, content, said):
    file = tmp_path / "file.pth"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        torch.save(content, file)
    with pytest.raises(UserError, match=said):
        Checkpoint.read(file)


def test_a_folder_that_is_not_a_run_is_left_alone(small, tmp_path):
    (tmp_path / "thesis.txt").write_text("")
    with pytest.raises(UserError, match="is not a run"):
        run_main(small.folder, tmp_path)


def test_names_on_the_hub_are_fetched_from_there(monkeypatch):
    asked = []
    monkeypatch.setattr(
        checkpoint_file,
        "hf_hub_download",
        lambda *given, **named: asked.append((*given, named["revision"])) or "/cache/file.pth",
    )
    assert local_file(CLIP_SF) == Path("/cache/file.pth")
    local_file("hf://a/b@1f2e/c/d.pth")
    assert asked == [
        ("TIGER-Lab/UniIR", "checkpoint/CLIP_SF/clip_sf_large.pth", None),
        ("a/b", "c/d.pth", "1f2e"),
    ]
    assert local_file("checkpoint/file.pth") == Path("checkpoint/file.pth")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            errors.LocalEntryNotFoundError("gone"),
            r"d.pth of a/b was not downloaded \(gone\); .* and give its path",
        ),
        (errors.OfflineModeIsEnabled("offline"), r"was not downloaded \(offline\)"),
        (errors.HFValidationError("bad name"), r"was not downloaded \(bad name\); check the name"),
    ],
)
def test_a_refusal_of_the_hub_is_one_sentence(monkeypatch, error, said):
    def fail(*given, **named):
        raise error

    monkeypatch.setattr(checkpoint_file, "hf_hub_download", fail)
    with pytest.raises(UserError, match=said):
        local_file("hf://a/b/d.pth")
    with pytest.raises(UserError, match="expected hf://OWNER/REPOSITORY/FILE"):
        local_file("hf://a/b")
