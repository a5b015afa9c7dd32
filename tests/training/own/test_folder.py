"""One command makes a folder of images searchable: by the shipped models, or by an open_clip
model.
"""

import math
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.explore.code_names import CodeName, read_names
from genius.index import update
from genius.index.__main__ import main as index_command
from genius.index.item_source import ItemSource
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.collections.samples import write_source
from tests.search.tiny import DIM
from tests.training.own.folders import index_of, items_of, make, photographs
from tests.training.tiny import Killed, die
from training.data.requests import Phrasing
from training.own import folder
from training.own.folder import main
from training.presets import LINKED, SMALL, settings_for
from training.stages import block_index, reader

pytestmark = pytest.mark.usefixtures("photos")


def test_a_folder_is_searched_by_words_and_by_images_with_the_shipped_models_and_no_training(
    photos, tmp_path, run, capsys
):
    make(photographs(tmp_path / "pictures"), run)
    assert capsys.readouterr().out.endswith(f"done: python app.py --run {run}\n")
    digests = {part: photos.digest(part) for part in LINKED}
    shutil.rmtree(photos.path)
    made = Run(run)
    assert {part: made.digest(part) for part in digests} == digests
    assert (made.folder("encoder") / "text" / "tokenizer.json").is_file()
    assert read_names(run) == {(0, 1): CodeName(("dog",), 5, 8, ())}
    assert not list((run / "collection").rglob("query/*"))

    engine = Engine.load(run, "cpu")
    picture = open_image(run / "collection" / "pictures" / "images" / "pictures" / "05.png")
    words, alike = engine.search(
        [Query(text="a dog in the snow", instruction="Find a photo."), Query(image=picture)],
        SearchOptions(k=24, order="cosine"),
    )
    assert engine.index.n == engine.index.config.trained == 24
    assert len(words.hits) == 24 and alike.hits[0].item.image == "images/pictures/05.png"


def test_killed_it_continues_and_a_server_picks_up_what_was_added_since(
    tmp_path, run, monkeypatch, capsys
):
    monkeypatch.setattr(block_index, "BLOCK", 10)
    pictures = photographs(tmp_path / "pictures")
    whole = make(pictures, tmp_path / "whole")
    encoded = []
    encode = Encoder.forward

    def counted(encoder, pixels, *others):
        encoded.extend([pixels] * (len(pixels) > 1))  # one image: a check of the encoder
        return encode(encoder, pixels, *others)

    monkeypatch.setattr(Encoder, "forward", counted)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(block_index, "append", die)
        make(pictures, run)
    said = f"the first 10 of 24 items can be searched: python app.py --run {run}"
    assert said in capsys.readouterr().out
    engine = Engine.load(run, "cpu")
    assert engine.index.n == 10

    index = make(pictures, run)
    assert engine.snapshots.reload() and engine.index.n == 24
    assert sum(map(len, encoded)) == 24
    assert items_of(run) == whole.items(range(24)) and index.config == whole.config
    assert np.array_equal(index.packed, whole.packed)
    assert np.array_equal(index.embeddings[:], whole.embeddings[:])


def test_what_was_added_or_removed_since_it_was_killed_stays_so_and_nothing_of_the_folders_is_lost(
    tmp_path, run, monkeypatch
):
    monkeypatch.setattr(block_index, "BLOCK", 10)
    first = photographs(tmp_path / "first", 10)
    second = photographs(tmp_path / "all", 24, first=10)
    command = [str(first), str(second), str(run)]
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(block_index, "append", die)
        main(command)
    others = photographs(tmp_path / "others", 25, first=24)
    assert index_command([str(run), "add", str(others), "--device", "cpu"]) == 0
    collection = Collection(run / "collection" / "first+all")
    known = ItemSource(
        lambda: [item for item in collection.all_candidates() if item.id == "1:9"],
        collection.image_path,
    )
    assert update.add(run, lambda _: known, update.Models.load(run, "cpu")).new == 1
    assert index_command([str(run), "remove", "0:3"]) == 0
    main(command)
    ids = [item.id for item in items_of(run)]
    expected = {f"0:{n}" for n in range(1, 11)} | {f"1:{n}" for n in range(1, 15)} | {"2:1"}
    assert sorted(ids) == sorted(expected - {"0:3"})  # which it had indexed


def test_the_collection_is_read_and_models_are_loaded_as_often_for_many_parts_as_for_one(
    tmp_path, monkeypatch
):
    pictures = photographs(tmp_path / "pictures")
    called = []

    def counted(owner, name):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: [called.append(name), real(*given)][1])

    counted(Collection, "all_candidates")
    for model in (Fusion, ResidualQuantizer):
        counted(model, "load")
    parts = []
    append = block_index.append
    monkeypatch.setattr(
        block_index, "append", lambda *given: [parts.append(len(given[2])), append(*given)][1]
    )
    make(pictures, tmp_path / "one")
    once = sorted(called)
    called.clear()
    monkeypatch.setattr(block_index, "BLOCK", 1)
    make(pictures, tmp_path / "many")
    assert sorted(called) == once
    assert parts == [1] * 15 + [2] * 4  # larger where there is more


def test_started_again_it_has_nothing_left_to_do_and_others_can_be_added(tmp_path, run):
    def files() -> dict:
        return {file: file.stat().st_mtime_ns for file in run.rglob("*") if file.is_file()}

    pictures = photographs(tmp_path / "pictures")
    make(pictures, run)
    before = files()
    make(pictures, run)
    assert files() == before

    others = photographs(tmp_path / "others", 30)
    assert index_command([str(run), "add", str(others), "--device", "cpu"]) == 0
    index = index_of(run)
    assert (index.n, index.config.trained) == (30, 24)  # the first 24 are the same pictures
    with pytest.raises(
        UserError, match="6 items were added to .*run, which an index of own models would lack"
    ):
        make(pictures, run, "--train")
    with pytest.raises(UserError, match="was made from .*pictures; name another RUN, or add to it"):
        make(others, run)


def test_a_run_inside_its_folder_is_refused_before_anything_is_written_or_downloaded(
    tmp_path, monkeypatch
):
    pictures = photographs(tmp_path / "pictures", 2)
    monkeypatch.setattr(folder, "run_stage", die)
    for run in (pictures, pictures / "run", pictures / "new" / "run"):
        with pytest.raises(
            UserError, match="lies inside the source .*pictures; name a directory outside it"
        ):
            make(tmp_path / "others.csv", pictures, str(run), "--model", "hf-hub:some/model")
    assert {file.name for file in pictures.iterdir()} == {"00.png", "01.png"}


def test_texts_that_the_encoder_does_not_read_are_counted_before_anything_is_encoded(
    tmp_path, run, capsys
):
    texts = ("一只狗", "ein Hund und eine Katze", "a dog")
    records = [{"img_path": f"{number}.png", "txt": text} for number, text in enumerate(texts)]
    shop = write_source(tmp_path / "shop", records)
    assert make(shop, run).n == 6  # pictures, and texts, which can be found, too
    assert "2 of 3 texts are not English" in capsys.readouterr().out
    with pytest.raises(UserError, match="was made with another --model, --pretrained or --seed"):
        make(shop, run, "--seed", "5")


def test_a_model_that_no_shipped_part_fits_is_searched_by_the_geometry_of_k_means_codes(
    tmp_path, run, model, monkeypatch
):
    phrasings = [
        Phrasing("own", True, "similar", "more of these"),
        Phrasing("own", False, "photo", "[{name}]"),
    ]
    monkeypatch.setattr(reader, "read_phrasings", lambda: phrasings * 5)
    make(photographs(tmp_path / "pictures"), run, "--model", f"local-dir:{model}")
    theirs = load_file(model / "open_clip_model.safetensors")
    ours = load_file(Run(run).folder("encoder") / "model.safetensors")
    assert {f"clip.{name}" for name in theirs} == ours.keys()
    assert all(torch.equal(weight, ours[f"clip.{name}"]) for name, weight in theirs.items())

    engine = Engine.load(run, "cpu")
    quantizer = ResidualQuantizer.load(Run(run).folder("quantizer"))
    assert engine.has_reader and engine.search("a dog").reading.name == "photo"
    (result,) = engine.search(
        [Query(text="a dog", reading="none")], SearchOptions(k=24, beams=24, order="score")
    )
    assert np.allclose(result.z, result.embedding, atol=1e-6)
    quantized = quantizer.decode(torch.from_numpy(engine.index.codes(range(24)).astype(np.int64)))
    away = {
        item.id: float(np.linalg.norm(result.z - z))
        for item, z in zip(engine.index.items(range(24)), quantized.numpy(), strict=True)
    }
    found = [away[hit.item.id] for hit in result.hits]
    assert len(found) == 24 and found == pytest.approx(sorted(away.values()), abs=1e-4)


def test_a_mistyped_or_empty_folder_leaves_nothing_and_the_right_one_can_follow(tmp_path, run):
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("potos", "potos is missing; name a folder"),
        ("empty", "empty contains no images; a source needs"),
    ):
        with pytest.raises(UserError, match=message):
            make(tmp_path / name, run)
        assert not run.exists()
    assert make(photographs(tmp_path / "photos", 3), run).n == 3


def test_a_model_that_cannot_be_loaded_is_refused_before_images_are_copied(tmp_path, run):
    source = photographs(tmp_path / "photos", 2)
    with pytest.raises(UserError, match="open_clip cannot load NoSuch-Net with weights 'openai'"):
        make(source, run, "--model", "NoSuch-Net", "--pretrained", "openai")
    assert not (run / "collection").exists()


def test_a_shipped_run_that_lacks_a_part_is_refused_in_one_sentence(photos, tmp_path, run):
    with photos.changing_manifest() as manifest:
        del manifest["parts"]["decoder"]
    with pytest.raises(
        UserError,
        match="the run of photographs, .*, is not at .*photos or lacks its decoder; restore it",
    ):
        make(photographs(tmp_path / "pictures", 2), run)
    assert not run.exists()


@pytest.mark.parametrize(
    ("items", "codes", "levels"), [(1, 16, 4), (62_000, 256, 9), (10**9, 4096, 9)]
)
def test_sizes_follow_the_collection_and_the_encoder(items, codes, levels):
    settings = settings_for(SMALL, DIM, items, 5 * items)
    settings.check()
    ids = settings.quantizer.quantizer
    assert (ids.codebook_size, ids.levels) == (codes, levels)
    assert settings.quantizer.fusion.dim == DIM and settings.decoder.decoder.dim == DIM
    assert codes == 4096 or abs(math.log2(max(codes, 16)) - max(math.log2(items) / 2, 4)) <= 0.5


def test_fewer_pairs_have_more_epochs():
    epochs = [
        settings_for(SMALL, DIM, 1000, pairs).quantizer.epochs
        for pairs in (0, 5000, 20_000, 1_000_000)
    ]
    assert epochs == [40, 40, 15, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pretrained", "openai"], "--pretrained needs --model"),
        (["--model", "ViT-B-32"], "--model ViT-B-32 needs --pretrained"),
    ],
)
def test_a_model_needs_both_architecture_and_weights(tmp_path, run, capsys, options, message):
    with pytest.raises(SystemExit):
        make(tmp_path, run, *options)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.epochs=3", "the encoder is used as it is; choose another by --model"),
        ("seed=3", "expected --seed 3"),
        ("quantizer.epochs=3", "nothing is trained with it; add --train"),
        ("decoder.epoch=3", "there is no 'epoch'"),
    ],
)
def test_a_setting_that_cannot_be_changed_is_refused_before_anything_is_made(
    tmp_path, run, change, message
):
    with pytest.raises(UserError, match=message):
        make(tmp_path / "photos", run, "--device", "cpu", "--set", change)
    assert not run.exists()
