"""The converter of published checkpoints, on files of the documented layout.

Small sizes by default; `pytest -m slow tests/training/paper/test_published.py` does the same at the
published sizes (ViT-L/14, K = 4096, M = 9, T5-small; 4 GB of disk, 7 of memory).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import open_clip
import pytest
import torch
import torch.nn.functional as F
from huggingface_hub import errors
from PIL import Image
from torch import Tensor
from transformers import T5Config, T5ForConditionalGeneration

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
from training.paper import checkpoint_file
from training.paper.checkpoint_file import CLIP_SF, Checkpoint, local_file
from training.paper.published import main
from training.presets import PAPER
from training.settings import Settings, with_values

CLOSE = {"atol": 1e-4, "rtol": 1e-4}


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


def below(weights: Weights, prefix: str) -> Weights:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in weights.items()
        if name.startswith(prefix)
    }


@torch.inference_mode()
def test_images_and_texts_become_the_vectors_of_openais_clip(converted):
    """Which open_clip computes from weights of these names."""
    architecture = settings_of(converted.sizes).encoder.architecture
    if isinstance(architecture, str):
        architecture = open_clip.get_model_config(architecture)
    clip = open_clip.CLIP(**architecture).eval()
    clip.load_state_dict(below(converted.clip, "clip_model."))
    encoder = Encoder.load(converted.run.folder("encoder"))
    pictures = [Image.effect_noise((50, 40), 90).convert("RGB"), Image.new("RGB", (9, 9), "red")]
    texts = ["A photograph of a boat.", "Why?"]
    found = encoder.encode(pictures, texts)
    torch.testing.assert_close(
        found.image, clip.encode_image(encoder.preprocess(pictures)), **CLOSE
    )
    torch.testing.assert_close(found.text, clip.encode_text(encoder.tokenize(texts)), **CLOSE)


def fused(weights: Weights, image: Tensor, text: Tensor) -> Tensor:
    """The published formula: features (b, d) in float64 -> z (b, d)."""

    def linear(x: Tensor, name: str) -> Tensor:
        return F.linear(x, weights[f"{name}.weight"].double(), weights[f"{name}.bias"].double())

    both = torch.cat(
        [
            linear(text, "text_projection_layer").relu(),
            linear(image, "image_projection_layer").relu(),
        ],
        dim=-1,
    )
    mixed = linear(linear(both, "combiner_layer").relu(), "output_layer")
    share = linear(linear(both, "dynamic_scalar.0").relu(), "dynamic_scalar.3").sigmoid()
    return F.normalize(mixed + share * text + (1 - share) * image, dim=-1)


@torch.inference_mode()
def test_fusion_and_codebooks_are_the_published_ones(converted):
    fusion = Fusion.load(converted.run.folder("fusion"))
    quantizer = ResidualQuantizer.load(converted.run.folder("quantizer"))
    image, text = torch.randn(2, 8, converted.sizes.dim, generator=torch.Generator().manual_seed(5))
    here = torch.ones(8, dtype=torch.bool)
    z = fusion(Features(image, text, here, here))
    expected = fused(below(converted.genius, "quantizer.encoder."), image.double(), text.double())
    torch.testing.assert_close(z.double(), expected, **CLOSE)
    for level, codebook in enumerate(quantizer.codebooks):
        name = f"quantizer.residual_rq.layers.{level}._codebook.embed"
        assert torch.equal(codebook, converted.genius[name][0])


@torch.inference_mode()
def test_every_step_has_the_log_probabilities_of_the_published_t5(converted):
    """Teacher-forced, and step by step as the search decodes."""
    sizes = converted.sizes
    config = T5Config(
        vocab_size=sizes.tokens,
        d_model=sizes.width,
        d_kv=sizes.head_width,
        d_ff=sizes.ff_width,
        num_layers=0,
        num_decoder_layers=sizes.layers,
        num_heads=sizes.heads,
    )
    t5 = T5ForConditionalGeneration(config).eval()
    t5.load_state_dict(below(converted.genius, "id_generator."))
    project = below(converted.genius, "embed_projector.0.")
    draw = torch.Generator().manual_seed(6)
    z = F.normalize(torch.randn(6, sizes.dim, generator=draw), dim=-1)
    codes = torch.randint(3, (6, sizes.levels), generator=draw)
    first = [3, *(6 + level * sizes.codes for level in range(sizes.levels - 1))]  # tokens of code 0
    before = F.pad((codes + torch.tensor(first))[:, :-1], (1, 0))
    prefix = F.linear(z, **project).unflatten(-1, (sizes.prefix, sizes.width))
    expected = t5(inputs_embeds=prefix, decoder_input_ids=before).logits.log_softmax(-1)

    decoder = IDDecoder.load(converted.run.folder("decoder"))
    torch.testing.assert_close(decoder(z, codes).log_softmax(-1), expected, **CLOSE)
    search = IncrementalDecoder(decoder)
    cache = search.start(z, beams=1)
    chosen = (None, None)
    for level, start in enumerate(first):
        found = search.step(cache, *chosen)  # (b, k)
        wanted = expected[:, level, start : start + found.shape[1]]
        torch.testing.assert_close(found, wanted, **CLOSE)
        chosen = torch.zeros(len(z), 1, dtype=torch.long), codes[:, [level]]


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
    file = files.save(tmp_path / "changed.pth", genius)
    with pytest.raises(UserError) as error:
        run_main(small.folder, tmp_path / "run", *more, genius=file)
    assert not (tmp_path / "run").exists()
    return str(error.value)


LAYERS = "quantizer.residual_rq.layers"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"id_generator.decoder.block.1.layer.0.layer_norm.weight": None},
            "lacks the weight id_generator.decoder.block.1.layer.0.layer_norm.weight",
        ),
        (
            {f"{LAYERS}.2._codebook.embed": torch.zeros(1, 6, 24)},
            r"2._codebook.embed has the shape \(1, 6, 24\), expected \(1, 7, 24\)",
        ),
        ({f"{LAYERS}.2._codebook.initted": torch.zeros(1)}, "level 2 was not initialized"),
        (
            {"quantizer.vq._codebook.embed": torch.zeros(1, 3, 24)},
            "expected one codebook under two names",
        ),
        (
            {"id_generator.lm_head.weight": torch.zeros(27, 16)},
            "id_generator.lm_head.weight and id_generator.shared.weight differ",
        ),
        (
            {f"{LAYERS}.2._codebook.embed": torch.full((1, 7, 24), torch.nan)},
            "has NaN or infinite values",
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


def test_a_refusal_of_the_hub_is_one_sentence(monkeypatch):
    def fail(*given, **named):
        raise errors.LocalEntryNotFoundError("gone")

    monkeypatch.setattr(checkpoint_file, "hf_hub_download", fail)
    with pytest.raises(
        UserError, match=r"d.pth of a/b was not downloaded \(gone\); .* and give its path"
    ):
        local_file("hf://a/b/d.pth")
    with pytest.raises(UserError, match="expected hf://OWNER/REPOSITORY/FILE"):
        local_file("hf://a/b")
