"""One command makes a folder of images searchable, with a pretrained encoder as it is."""

import math
import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.files import write_json
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.collections.samples import write_source
from tests.search.tiny import DIM, tiny_encoder
from training import folder, pseudo_queries
from training.folder import main, settings_for
from training.presets import SMALL

WORDS = ["dog", "snow", "ball", "tree", "red", "street"]
SIZES = """quantizer.epochs=2 quantizer.batch=64 quantizer.kmeans_iterations=3 decoder.epochs=1 decoder.batch=64
    decoder.decoder.layers=1 decoder.decoder.width=16 decoder.decoder.heads=2 decoder.decoder.head_width=8
    decoder.decoder.ff_width=24 decoder.decoder.prefix=2"""
QUICK = [word for change in SIZES.split() for word in ("--set", change)]


def photographs(path, n: int = 24):
    path.mkdir()
    for number in range(n):
        pixels = np.random.default_rng(number).integers(256, size=(12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path / f"{number:02d}.png")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that open_clip loads as local-dir:FOLDER."""
    path, encoder = tmp_path_factory.mktemp("model"), tiny_encoder()
    write_json(
        path / "open_clip_config.json", {"model_cfg": encoder.config.model, "preprocess_cfg": encoder.config.preprocess}
    )
    weights = {name: weight.contiguous() for name, weight in encoder.clip.state_dict().items()}
    save_file(weights, path / "open_clip_model.safetensors")
    return path


@pytest.fixture(scope="module")
def encoded_images() -> list[int]:
    """How many images the encoder got in each pass of `made`."""
    return []


@pytest.fixture(scope="module")
def made(tmp_path_factory, model, encoded_images):
    """(the command, the run) of a folder without texts."""
    path = tmp_path_factory.mktemp("own")
    command = [str(photographs(path / "photos")), str(path / "run"), "--model", f"local-dir:{model}", *QUICK]
    forward = Encoder.forward

    def counting(self, pixels, *others):
        if len(pixels) > 1:  # one image: a check of the encoder
            encoded_images.append(len(pixels))
        return forward(self, pixels, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pseudo_queries, "visual_words", lambda: WORDS)
        patch.setattr(Encoder, "forward", counting)
        main(command)
    return command, path / "run"


def test_no_image_is_encoded_twice(made, encoded_images):
    """Each is a candidate, what pseudo-queries are made from, and a query; the image tower takes most of the time."""
    assert sum(encoded_images) == 24


def test_a_folder_of_images_alone_is_searched_by_words_and_by_images(made):
    _, run = made
    engine = Engine.load(run, "cpu")
    picture = Image.open(run / "collection" / "photos" / "images" / "photos" / "05.png").convert("RGB")
    words, alike = engine.search(
        [
            Query(text="a dog in the snow", instruction="Find a photo."),
            Query(image=picture, instruction="Find one like this."),
        ],
        SearchOptions(beams=24, k=24),
    )
    assert engine.index.n == 24
    assert {hit.item.image for hit in words.hits} <= {f"images/photos/{number:02d}.png" for number in range(24)}
    assert len(words.hits) >= 5 and "images/photos/05.png" in [hit.item.image for hit in alike.hits]


def test_the_weights_of_the_model_are_unchanged(made, model):
    _, run = made
    theirs = load_file(model / "open_clip_model.safetensors")
    ours = load_file(Run(run).folder("encoder") / "model.safetensors")
    assert {f"clip.{name}" for name in theirs} == ours.keys()
    assert all(torch.equal(weight, ours[f"clip.{name}"]) for name, weight in theirs.items())


def test_started_again_it_has_nothing_left_to_do(made, capsys):
    command, run = made
    before = {file: file.stat().st_mtime_ns for file in run.rglob("*") if file.is_file()}
    main(command)
    assert "──" not in capsys.readouterr().out
    assert {file: file.stat().st_mtime_ns for file in run.rglob("*") if file.is_file()} == before


def test_killed_while_generating_queries_it_generates_them_again(tmp_path, model, monkeypatch):
    class Killed(BaseException):
        pass

    def half(collection, *given):
        pseudo_queries.write_pseudo_queries(collection, *given)
        next((collection.root / "query" / "val").iterdir()).unlink()
        raise Killed

    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: WORDS)
    monkeypatch.setattr(folder, "write_pseudo_queries", half)
    command = [str(photographs(tmp_path / "photos")), str(tmp_path / "run"), "--model", f"local-dir:{model}", *QUICK]
    with pytest.raises(Killed):
        main(command)
    monkeypatch.setattr(folder, "write_pseudo_queries", pseudo_queries.write_pseudo_queries)
    main(command)
    assert {row.splits for row in Collection(tmp_path / "run" / "collection" / "photos").rows()} == {("train", "val")}
    assert Run(tmp_path / "run").has("index")


def test_other_sources_are_refused_for_the_same_run(made, tmp_path):
    command, _run = made
    with pytest.raises(UserError, match="was made from .*photos; name another RUN, or add to it"):
        main([str(photographs(tmp_path / "others", 2)), *command[1:]])


def test_texts_of_the_images_become_the_queries(tmp_path, model):
    records = [{"img_path": f"images/{number}.png", "txt": f"a thing of number {number}"} for number in range(60)]
    source = write_source(tmp_path / "shop", records)
    main([str(source), str(tmp_path / "run"), "--model", f"local-dir:{model}", *QUICK])
    asked = {query.text for query in Collection(tmp_path / "run" / "collection" / "shop").queries("train")}
    assert len(asked) > 1 and asked <= {"", *(record["txt"] for record in records)}
    assert Engine.load(tmp_path / "run", "cpu").index.n == 120


def test_folders_that_are_too_small_are_read_anew_once_their_owner_has_added_to_them(tmp_path, model, monkeypatch):
    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: WORDS)
    photos, shop = photographs(tmp_path / "photos", 19), tmp_path / "shop"
    records = [{"img_path": f"images/{number}.png", "txt": f"a thing of number {number}"} for number in range(4)]
    write_source(shop, [record | {"split": "train"} for record in records])
    commands = [
        [str(source), str(tmp_path / f"of {source.name}"), "--model", f"local-dir:{model}", *QUICK]
        for source in (photos, shop)
    ]
    with pytest.raises(UserError, match="19 images without texts; training needs at least 20"):
        main(commands[0])
    with pytest.raises(UserError, match="the texts give 8 train and 0 val queries, .* a column `split` of their table"):
        main(commands[1])

    shutil.copytree(photographs(tmp_path / "more", 21), photos, dirs_exist_ok=True)
    write_source(shop, [record | {"split": ("train", "val")[at % 2]} for at, record in enumerate(records)])
    for command in commands:
        main(command)

    assert Engine.load(tmp_path / "of photos", "cpu").index.n == 21
    assert Engine.load(tmp_path / "of shop", "cpu").index.n == 8


def test_a_mistyped_folder_leaves_nothing_and_the_right_one_can_follow(tmp_path, model, monkeypatch):
    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: WORDS)
    command = [str(tmp_path / "run"), "--model", f"local-dir:{model}", *QUICK]
    with pytest.raises(UserError, match="potos is not a folder"):
        main([str(tmp_path / "potos"), *command])
    assert not (tmp_path / "run").exists()
    main([str(photographs(tmp_path / "photos")), *command])
    assert Engine.load(tmp_path / "run", "cpu").index.n == 24


def test_a_model_that_cannot_be_loaded_is_refused_before_images_are_copied(tmp_path):
    source = photographs(tmp_path / "photos", 2)
    with pytest.raises(UserError, match="open_clip cannot load NoSuch-Net with weights 'openai'"):
        main([str(source), str(tmp_path / "run"), "--model", "NoSuch-Net", "--pretrained", "openai"])
    assert not (tmp_path / "run" / "collection").exists()


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A shipped run that has nothing but an encoder, whose tokenizer is in a folder of its own."""

    def write(encoder):
        tiny_encoder().save(encoder, half=True)
        (encoder / "text").mkdir()
        (encoder / "text" / "tokenizer.json").write_text("{}")

    run = Run(tmp_path / "assets" / "photos")
    run.publish("encoder", write)
    monkeypatch.setattr(folder, "PHOTOS", run.path)
    return run


def test_without_a_model_the_encoder_is_that_of_the_shipped_photographs(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: WORDS)
    command = [str(photographs(tmp_path / "pictures")), str(tmp_path / "run"), *QUICK]
    main(command)
    theirs = photos.folder("encoder")
    shutil.rmtree(photos.path)
    run = Run(tmp_path / "run")
    assert run.digest("encoder") == photos.digest("encoder") and run.folder("encoder").name == theirs.name
    assert (run.folder("encoder") / "text" / "tokenizer.json").is_file()
    assert Engine.load(run.path, "cpu").search([Query(text="a dog", instruction="Find a photo.")])[0].hits
    assert run.manifest["settings"]["encoder"]["architecture"] == "assets/photos"
    assert run.manifest["settings"]["encoder"]["pretrained"] == photos.digest("encoder")


def test_without_the_shipped_photographs_a_model_must_be_named(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "PHOTOS", tmp_path / "nothing")
    with pytest.raises(UserError, match="the run of photographs, whose encoder is the default, is not at .*nothing"):
        main([str(photographs(tmp_path / "pictures", 2)), str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("items", "codes", "levels"),
    [(1, 16, 4), (4000, 64, 7), (62_000, 256, 9), (1_000_000, 1024, 9), (5_600_000, 2048, 9), (10**9, 4096, 9)],
)
def test_sizes_follow_the_collection_and_the_encoder(items, codes, levels):
    settings = settings_for(SMALL, DIM, items, 5 * items)
    settings.check()
    assert settings.quantizer.quantizer.codebook_size == codes and settings.quantizer.quantizer.levels == levels
    assert settings.quantizer.fusion.dim == DIM and settings.decoder.decoder.dim == DIM
    assert codes == 4096 or abs(math.log2(max(codes, 16)) - max(math.log2(items) / 2, 4)) <= 0.5


def test_fewer_pairs_have_more_epochs():
    epochs = [settings_for(SMALL, DIM, 1000, pairs).quantizer.epochs for pairs in (0, 5000, 20_000, 1_000_000)]
    assert epochs == [40, 40, 15, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pretrained", "openai"], "--pretrained needs --model"),
        (["--model", "ViT-B-32"], "--model ViT-B-32 needs --pretrained"),
    ],
)
def test_a_model_needs_both_architecture_and_weights(tmp_path, capsys, options, message):
    with pytest.raises(SystemExit):
        main([str(tmp_path), str(tmp_path / "run"), *options])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.epochs=3", "the encoder is used as it is; choose another by --model"),
        ("seed=3", "expected --seed 3"),
        ("decoder.epoch=3", "there is no 'epoch'"),
        ("decoder.batch=1", "batch at least 2"),
    ],
)
def test_a_setting_that_cannot_be_changed_is_refused_before_anything_is_made(tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        main([str(tmp_path), str(tmp_path / "run"), "--device", "cpu", "--set", change])
    assert not (tmp_path / "run").exists()
