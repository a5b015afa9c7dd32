"""One command makes a folder of images searchable: by the shipped models, by an open_clip model, or
by its own.
"""

import json
import math
import shutil
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from genius.collections.__main__ import check
from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.explore.code_names import CodeName, read_names, save_names
from genius.files import sha256, write_json
from genius.index import update
from genius.index.__main__ import main as index_command
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.pretrained import open_clip_encoder
from genius.models.quantizer import ResidualQuantizer
from genius.run import BUILT_FROM, Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.collections.samples import write_source
from tests.index.test_removal import holders
from tests.search.tiny import DIM, tiny_decoder, tiny_encoder, tiny_fusion, tiny_quantizer
from tests.training.tiny import Killed, die, lay_out_by_principal_components
from training import presets
from training.data import pseudo_queries
from training.data.requests import Phrasing
from training.own import folder, following, own_models
from training.own.folder import main
from training.presets import LINKED, SMALL, settings_for
from training.stages import block_index, reader

WORDS = ["dog", "snow", "ball", "tree", "red", "street"]
SIZES = """quantizer.epochs=2 quantizer.batch=64 quantizer.kmeans_iterations=3
    decoder.epochs=1 decoder.batch=64 decoder.decoder.layers=1 decoder.decoder.width=16
    decoder.decoder.heads=2 decoder.decoder.head_width=8
    decoder.decoder.ff_width=24 decoder.decoder.prefix=2"""
TRAIN = ["--train", *(word for change in SIZES.split() for word in ("--set", change))]


def photographs(path, n: int = 24):
    path.mkdir()
    for number in range(n):
        pixels = np.random.default_rng(number).integers(256, size=(12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path / f"{number:02d}.png")
    return path


@pytest.fixture(autouse=True)
def photos(tmp_path, monkeypatch):
    """A shipped run, which has nothing but models, and a tokenizer in a folder of its own."""

    def write_encoder(encoder):
        tiny_encoder().save(encoder, half=True)
        (encoder / "text").mkdir()
        (encoder / "text" / "tokenizer.json").write_text("{}")

    save = {
        "encoder": write_encoder,
        "fusion": tiny_fusion().save,
        "quantizer": tiny_quantizer().save,
        "decoder": tiny_decoder(geometry=True).save,
        "names": lambda path: save_names({(0, 1): CodeName(("dog",), 5, 8, ("0:1",))}, path),
    }
    run = Run(tmp_path / "assets" / "photos")
    for part, write in save.items():
        run.publish(part, write, tuple(BUILT_FROM[part]))
    monkeypatch.setattr(presets, "PHOTO_RUN", run.path)
    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: WORDS)
    return run


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that open_clip loads as local-dir:FOLDER."""
    path = tmp_path_factory.mktemp("model")
    encoder = tiny_encoder()
    write_json(
        path / "open_clip_config.json",
        {"model_cfg": encoder.config.model, "preprocess_cfg": encoder.config.preprocess},
    )
    weights = {name: weight.contiguous() for name, weight in encoder.clip.state_dict().items()}
    save_file(weights, path / "open_clip_model.safetensors")
    return path


def test_a_folder_is_searched_by_words_and_by_images_with_the_shipped_models_and_no_training(
    photos, tmp_path, capsys
):
    command = [str(photographs(tmp_path / "pictures")), str(tmp_path / "run")]
    main(command)
    assert capsys.readouterr().out.endswith(f"done: python app.py --run {tmp_path / 'run'}\n")
    digests = {part: photos.digest(part) for part in LINKED}
    shutil.rmtree(photos.path)
    run = Run(tmp_path / "run")
    assert {part: run.digest(part) for part in digests} == digests
    assert (run.folder("encoder") / "text" / "tokenizer.json").is_file()
    assert read_names(run.path) == {(0, 1): CodeName(("dog",), 5, 8, ())}
    assert not list((run.path / "collection").rglob("query/*"))

    engine = Engine.load(run.path, "cpu")
    picture = open_image(run.path / "collection" / "pictures" / "images" / "pictures" / "05.png")
    words, alike = engine.search(
        [Query(text="a dog in the snow", instruction="Find a photo."), Query(image=picture)],
        SearchOptions(k=24, order="cosine"),
    )
    assert engine.index.n == engine.index.config.trained == 24
    assert len(words.hits) == 24 and alike.hits[0].item.image == "images/pictures/05.png"


def test_killed_it_continues_and_a_server_picks_up_what_was_added_since(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(block_index, "BLOCK", 10)
    pictures = photographs(tmp_path / "pictures")
    encoded = []
    main([str(pictures), str(tmp_path / "whole")])
    capsys.readouterr()

    encode = Encoder.forward

    def counted(encoder, pixels, *others):
        encoded.extend([pixels] * (len(pixels) > 1))  # one image: a check of the encoder
        return encode(encoder, pixels, *others)

    monkeypatch.setattr(Encoder, "forward", counted)
    command = [str(pictures), str(tmp_path / "run")]
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(block_index, "append", die)
        main(command)
    assert (
        "the first 10 of 24 items can be searched: python app.py --run" in capsys.readouterr().out
    )
    engine = Engine.load(tmp_path / "run", "cpu")
    assert engine.index.n == 10

    main(command)
    assert engine.snapshots.reload() and engine.index.n == 24
    assert sum(map(len, encoded)) == 24
    whole, run = (Index.load(Run(tmp_path / name).folder("index")) for name in ("whole", "run"))
    assert run.items(range(24)) == whole.items(range(24)) and run.config == whole.config
    assert np.array_equal(run.packed, whole.packed) and np.array_equal(
        run.embeddings[:], whole.embeddings[:]
    )


def test_a_watched_folder_is_followed_by_a_server_one_line_a_change_and_errors_end_nothing(
    tmp_path, monkeypatch, capfd
):
    pictures = photographs(tmp_path / "pictures", 8)
    run = tmp_path / "run"
    engines = []
    loads = []
    more = sorted(photographs(tmp_path / "more", 10).iterdir())[8:]
    monkeypatch.setattr(
        update.Models,
        "load",
        lambda *given, load=update.Models.load: loads.append(1) or load(*given),
    )

    def follow(n: int):
        assert engines[0].snapshots.reload() and engines[0].index.n == n

    def step(number: int):
        """What happens in the world before each look."""
        match number:
            case 0:
                engines.append(Engine.load(run, "cpu"))
            case 2:
                shutil.copy(more[0], pictures)
            case 4:  # since the look before nothing has changed, so it was taken in
                follow(9)
                pictures.rename(tmp_path / "away")
            case 8:
                (tmp_path / "away").rename(pictures)
                (pictures / "00.png").unlink()
                shutil.copy(more[1], pictures)
            case 10:
                follow(9)
                raise KeyboardInterrupt

    steps = iter(range(11))
    clock = SimpleNamespace(
        sleep=lambda seconds: step(next(steps)), monotonic=time.monotonic, strftime=time.strftime
    )
    # and not the module's sleep: other threads may be asleep
    monkeypatch.setattr(following, "time", clock)
    with pytest.raises(KeyboardInterrupt):
        main([str(pictures), str(run), "--watch"])
    printed = capfd.readouterr()
    _, said = printed.out.split("Ctrl+C ends it\n")
    assert [line.partition(" ")[2] for line in said.splitlines()] == [
        "items: 1 new, 0 gone; pictures: 1 new, 0 changed, 0 gone",
        f"error: {pictures} is missing; name a folder of images, or a table of them",
        "items: 1 new, 1 gone; pictures: 1 new, 0 changed, 1 gone",
    ]
    assert len(loads) == 1


def test_what_was_added_or_removed_since_it_was_killed_stays_so_and_nothing_of_the_folders_is_lost(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(block_index, "BLOCK", 10)
    first = photographs(tmp_path / "first", 10)
    second = photographs(tmp_path / "all", 24)
    for file in sorted(second.iterdir())[:10]:
        file.unlink()
    command = [str(first), str(second), str(tmp_path / "run")]
    run = tmp_path / "run"
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(block_index, "append", die)
        main(command)
    others = photographs(tmp_path / "others", 25)
    for file in sorted(others.iterdir())[:24]:
        file.unlink()
    assert index_command([str(run), "add", str(others), "--device", "cpu"]) == 0
    collection = Collection(run / "collection" / "first+all")
    known = ItemSource(
        lambda: [item for item in collection.all_candidates() if item.id == "1:9"],
        collection.image_path,
    )
    assert update.add(run, lambda _: known, update.Models.load(run, "cpu")).new == 1
    assert index_command([str(run), "remove", "0:3"]) == 0
    main(command)
    index = Index.load(Run(run).folder("index"))
    ids = [item.id for item in index.items(range(index.n))]
    expected = {f"0:{n}" for n in range(1, 11)} | {f"1:{n}" for n in range(1, 15)} | {"2:1"}
    assert len(ids) == len(set(ids)) and set(ids) == expected - {"0:3"}  # which it had indexed


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
    main([str(pictures), str(tmp_path / "one")])
    once = sorted(called)
    called.clear()
    monkeypatch.setattr(block_index, "BLOCK", 1)
    main([str(pictures), str(tmp_path / "many")])
    assert sorted(called) == once
    assert parts == [1] * 15 + [2] * 4  # larger where there is more


def test_started_again_it_has_nothing_left_to_do_and_others_can_be_added(tmp_path):
    command = [str(photographs(tmp_path / "pictures")), str(tmp_path / "run")]
    main(command)
    before = {
        file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*") if file.is_file()
    }
    main(command)
    assert {
        file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*") if file.is_file()
    } == before

    photographs(tmp_path / "others", 30)
    assert (
        index_command([str(tmp_path / "run"), "add", str(tmp_path / "others"), "--device", "cpu"])
        == 0
    )
    index = Index.load(Run(tmp_path / "run").folder("index"))
    assert (index.n, index.config.trained) == (30, 24)  # the first 24 are the same pictures
    with pytest.raises(
        UserError, match="6 items were added to .*run, which an index of own models would lack"
    ):
        main([*command, *TRAIN])
    with pytest.raises(UserError, match="was made from .*pictures; name another RUN, or add to it"):
        main([str(tmp_path / "others"), str(tmp_path / "run")])


def test_run_again_it_takes_in_what_changed_in_its_folder(tmp_path, capsys):
    pictures = photographs(tmp_path / "pictures", 8)
    run = tmp_path / "run"
    main([str(pictures), str(run)])
    photographs(tmp_path / "more", 12)
    files = sorted(pictures.iterdir())
    more = sorted((tmp_path / "more").iterdir())
    files[0].unlink()
    files[1].write_bytes(more[8].read_bytes())
    for file in more[9:]:
        shutil.copy(file, pictures / f"new {file.name}")
    index = Index.load(Run(run).folder("index"))
    before = {item.image: item.id for item in index.items(range(8))}
    thumbnail = index.thumbnail(index.rows_of([before["images/pictures/00.png"]])[0])
    gone = thumbnail[20:200], index.embeddings[0].tobytes()
    assert index.fused is None, "pictures alone are ordered by cosine"
    assert {"features", "collection"} < {
        file.parts[0] for file in holders(run, files[2].read_bytes(), *gone)
    }
    del index
    capsys.readouterr()
    main([f"{pictures}/", str(run)])
    assert (
        "pictures: 3 new, 1 changed, 1 gone" in capsys.readouterr().out
        and holders(run, *gone) == []
    )
    index = Index.load(Run(run).folder("index"))
    after = {item.image: item.id for item in index.items(range(index.n))}
    assert len(after) == 10 and f"images/pictures/{files[0].name}" not in after
    assert sum(before.get(image) == name for image, name in after.items()) == 6
    assert set(after.values()) == {
        item.id for item in Collection(run / "collection" / "pictures").all_candidates()
    }
    capsys.readouterr()
    main([str(pictures), str(run)])
    assert "new" not in capsys.readouterr().out


def said_of(run, picture: str) -> dict:
    """What the index says of a picture."""
    index = Index.load(Run(run).folder("index"))
    items = {item.image: item for item in index.items(range(index.n))}
    return json.loads(items[f"images/pictures/{picture}"].source)


def test_the_count_of_versions_follows_the_folder(tmp_path, capsys):
    pictures = photographs(tmp_path / "pictures", 8)
    run = tmp_path / "run"
    soft = Image.fromarray(np.random.default_rng(0).integers(60, 200, (5, 7, 3), dtype=np.uint8))
    photo = soft.resize((240, 180), Image.Resampling.BICUBIC)
    photo.save(pictures / "photo.png")
    main([str(pictures), str(run)])
    assert "versions" not in said_of(run, "photo.png")
    photo.resize((120, 90)).save(pictures / "small.jpg")
    main([str(pictures), str(run)])
    assert said_of(run, "photo.png")["versions"] == 2
    (pictures / "small.jpg").unlink()
    capsys.readouterr()
    main([str(pictures), str(run)])
    assert (
        "versions" not in said_of(run, "photo.png")
        and "1 described anew" in capsys.readouterr().out
    )
    photo.resize((120, 90)).save(pictures / "small.jpg")
    main([str(pictures), str(run), "--keep-versions"])
    assert "versions" not in said_of(run, "photo.png") and said_of(run, "small.jpg")


def test_what_is_removed_is_in_no_file_of_the_run_and_does_not_come_back(tmp_path, capsys):
    pictures = photographs(tmp_path / "pictures", 8)
    run = tmp_path / "run"
    rows = [
        "00.png,a dog",
        "01.png,the xylophonist at home",
        "copy.png,the xylophonist at home",
        "02.png,snow",
    ]
    (pictures / "captions.csv").write_text("\n".join(["image,caption", *rows]))
    shutil.copy(pictures / "01.png", pictures / "copy.png")
    main([str(pictures), str(run)])
    index = Index.load(Run(run).folder("index"))
    items = index.items(range(index.n))
    private = [
        item.id for item in items if "xylophonist" in item.text or "01.png" in (item.image or "")
    ]
    thumbnail = index.thumbnail(index.rows_of(private[:1])[0])
    secrets = (
        b"xylophonist",
        (pictures / "01.png").read_bytes()[:200],
        thumbnail[20:200],
        sha256(pictures / "01.png"),
    )
    secrets = [secret.encode() if isinstance(secret, str) else secret for secret in secrets]
    where = {part for file in holders(run, *secrets) for part in file.parts}
    assert (
        len(private) >= 2 and {"images", "cand_pool", "query", "files.tsv", "items.sqlite"} <= where
    )
    del index
    killed = run / "collection" / f".pictures.new.{'a' * 32}"  # it was building
    shutil.copytree(run / "collection" / "pictures", killed)
    assert index_command([str(run), "remove", *private]) == 0
    assert holders(run, *secrets) == []
    left = [item.id for item in items if item.id not in private]
    collection = Collection(run / "collection" / "pictures")
    assert [item.id for item in collection.all_candidates()] == left
    asked = [
        query.text
        for split in ("train", "val", "test")
        for query in collection.queries(split)
        if query.text
    ]
    assert set(asked) == {"a dog", "snow"}
    assert check(collection.root, images=True) == 0

    capsys.readouterr()
    main([str(pictures), str(run)])
    assert "new" not in capsys.readouterr().out and holders(run, *secrets) == []
    (pictures / "captions.csv").write_text("\n".join(["image,caption", *rows, "07.png,a boat"]))
    main([str(pictures), str(run)])
    printed = capsys.readouterr().out
    assert (
        "2 removed from the run before, so left out" in printed
        and "items: 2 new, 0 gone" in printed
    )
    assert "pictures: 1 new, 0 changed, 0 gone" in printed and holders(run, *secrets) == []
    assert Index.load(Run(run).folder("index")).n == len(left) + 2


def test_own_models_are_trained_without_what_was_removed(tmp_path):
    command = [str(photographs(tmp_path / "pictures")), str(tmp_path / "run")]
    main(command)
    assert index_command([command[1], "remove", "0:3"]) == 0
    main([*command, *TRAIN])
    index = Index.load(Run(tmp_path / "run").folder("index"))
    assert index.n == 23 and index.rows_of(["0:3"]).tolist() == [-1]


@pytest.mark.parametrize("pictures", ["pictures/", ""])
def test_a_table_beside_its_run_is_read_without_the_run(tmp_path, capsys, pictures):
    """pictures: in which folder the table says that they are; without it, they are looked up by
    name.
    """
    shop = tmp_path / "shop"
    run = tmp_path / "shop" / "run"
    shop.mkdir()
    photographs(shop / "pictures", 8)

    def write_table(n: int) -> None:
        rows = "".join(f"{pictures}{number:02d}.png,thing {number}\n" for number in range(n))
        (shop / "table.csv").write_text(f"image,caption\n{rows}")

    def items() -> dict[str, str]:
        index = Index.load(Run(run).folder("index"))
        return {item.id: item.image or item.text for item in index.items(range(index.n))}

    write_table(8)
    command = [str(shop / "table.csv"), str(run)]
    main(command)
    before = items()
    manifest = (run / "manifest.json").read_bytes()
    capsys.readouterr()
    main(command)
    assert "have changed" not in capsys.readouterr().out
    assert (run / "manifest.json").read_bytes() == manifest
    shutil.copytree(run, shop / "another run")
    photographs(tmp_path / "more", 9)
    shutil.copy(tmp_path / "more" / "08.png", shop / "pictures")
    write_table(9)
    main(command)
    said = capsys.readouterr().out
    assert "2 folders: a run or a collection, not read; the first: another run" in said
    assert "items: 2 new, 0 gone" in said and "pictures: 1 new, 0 changed, 0 gone" in said
    assert items().items() > before.items()


def test_a_run_inside_its_folder_is_refused_before_anything_is_written_or_downloaded(
    tmp_path, monkeypatch
):
    pictures = photographs(tmp_path / "pictures", 2)
    monkeypatch.setattr(folder, "run_stage", die)
    for run in (pictures, pictures / "run", pictures / "new" / "run"):
        with pytest.raises(
            UserError, match="lies inside the source .*pictures; name a directory outside it"
        ):
            main(
                [
                    str(tmp_path / "others.csv"),
                    str(pictures),
                    str(run),
                    "--model",
                    "hf-hub:some/model",
                ]
            )
    assert {file.name for file in pictures.iterdir()} == {"00.png", "01.png"}


def test_a_picture_that_arrives_while_the_encoder_is_downloaded_is_found_by_the_next_run(
    tmp_path, monkeypatch
):
    pictures = photographs(tmp_path / "pictures", 4)
    run = tmp_path / "run"
    late = photographs(tmp_path / "late", 5) / "04.png"
    publish = folder.publish_encoder

    def slow(arguments):
        shutil.copy2(late, pictures / "late.png")
        publish(arguments)

    monkeypatch.setattr(folder, "publish_encoder", slow)
    for n in (4, 5):
        main([str(pictures), str(run)])
        assert Index.load(Run(run).folder("index")).n == n


def test_texts_that_the_encoder_does_not_read_are_counted_before_anything_is_encoded(
    tmp_path, capsys
):
    records = [
        {"img_path": f"{number}.png", "txt": text}
        for number, text in enumerate(("一只狗", "ein Hund und eine Katze", "a dog"))
    ]
    command = [str(write_source(tmp_path / "shop", records)), str(tmp_path / "run")]
    main(command)
    assert "2 of 3 texts are not English" in capsys.readouterr().out
    # pictures, and texts, which can be found, too
    assert Engine.load(tmp_path / "run", "cpu").index.n == 6
    with pytest.raises(UserError, match="was made with another --model, --pretrained or --seed"):
        main([*command, "--seed", "5"])


def test_a_model_that_no_shipped_part_fits_is_searched_by_the_geometry_of_k_means_codes(
    tmp_path, model, monkeypatch
):
    phrasings = [
        Phrasing("own", True, "similar", "more of these"),
        Phrasing("own", False, "photo", "[{name}]"),
    ]
    monkeypatch.setattr(reader, "read_phrasings", lambda: phrasings * 5)
    run = tmp_path / "run"
    pictures = photographs(tmp_path / "pictures")
    main([str(pictures), str(run), "--model", f"local-dir:{model}"])
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


def test_vectors_are_searched_by_words_with_the_model_that_made_them_and_with_no_other(
    tmp_path, model, monkeypatch
):
    lay_out_by_principal_components(monkeypatch)
    encoder = open_clip_encoder(f"local-dir:{model}", "").for_inference()
    made = encoder.encode(
        [None] * 24, [f"{word} {n}" for n in range(4) for word in WORDS]
    ).text.numpy()
    unit = made / np.linalg.norm(made, axis=1, keepdims=True)
    np.save(tmp_path / "x.npy", made)
    main(
        [
            str(tmp_path / "run"),
            "--vectors",
            str(tmp_path / "x.npy"),
            "--model",
            f"local-dir:{model}",
        ]
    )
    engine = Engine.load(tmp_path / "run", "cpu")
    result = engine.search(Query("snow 2"), SearchOptions(k=24, beams=24, order="cosine"))
    assert [hit.row for hit in result.hits] == np.argsort(-(unit @ unit[13])).tolist()

    np.save(tmp_path / "y.npy", made[:, 1:])
    with pytest.raises(UserError, match=f"has vectors of {DIM - 1} numbers, .* makes {DIM}"):
        main(
            [
                str(tmp_path / "other"),
                "--vectors",
                str(tmp_path / "y.npy"),
                "--model",
                f"local-dir:{model}",
            ]
        )


@pytest.mark.parametrize("gain", [True, False])
def test_own_models_are_trained_on_generated_queries_and_kept_if_they_find_more(
    photos, tmp_path, capsys, monkeypatch, gain
):
    measured = []

    def hits(run, collection, device):
        measured.append((run, own_models_hits(run, collection, device)))
        better = gain == (run.name == "own")
        return {"val": np.array([better]), "test": np.array([not better, not better])}

    own_models_hits = own_models.hits
    monkeypatch.setattr(own_models, "hits", hits)
    run = tmp_path / "run"
    command = [str(photographs(tmp_path / "pictures")), str(run), *TRAIN]
    main(command)

    said = capsys.readouterr().out
    worse, better = (
        "100.0% without training, 0.0% by models",
        "0.0% without training, 100.0% by models",
    )
    chosen, told = (better, worse) if gain else (worse, better)
    assert (
        f"hit@5 of 1 validation queries: {chosen} of the folders' own, which "
        f"{'are' if gain else 'gain no'}" in said
    )
    # these choose nothing
    assert f"hit@5 of 2 held-out queries: {told} of the folders' own\n" in said
    assert [path.name for path, _ in measured] == ["run", "own"]
    assert all(found.keys() == {"val", "test"} for _, found in measured)
    assert all(0 < len(hits) <= 10 for _, found in measured for hits in found.values())
    assert Run(run).digest("encoder") == photos.digest("encoder")
    assert all(
        (Run(run).digest(part) != photos.digest(part)) == gain
        for part in ("fusion", "quantizer", "decoder")
    )
    assert Engine.load(run, "cpu").index.n == 24 and not (run / "own").exists()
    before = (run / "manifest.json").read_bytes()
    main(command)
    assert (run / "manifest.json").read_bytes() == before and len(measured) == 2


def test_killed_while_training_it_continues(tmp_path, monkeypatch):
    """While queries are generated, and while own models take the place of the shipped ones."""

    def half(collection, *given):
        pseudo_queries.write_pseudo_queries(collection, *given)
        next((collection.root / "query" / "val").iterdir()).unlink()
        raise Killed

    def published_one(run, side):
        run.publish(
            "fusion", lambda path: own_models.link_files(side.folder("fusion"), path), ("encoder",)
        )
        raise Killed

    monkeypatch.setattr(own_models, "hits", lambda run, *_: {"val": np.array([run.name == "own"])})
    run = tmp_path / "run"
    command = [str(photographs(tmp_path / "pictures")), str(run), *TRAIN]
    for name, stand_in in (("write_pseudo_queries", half), ("adopt", published_one)):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(own_models, name, stand_in)
            main(command)
    main(command)
    assert {row.splits for row in Collection(run / "collection" / "pictures").rows()} == {
        ("train", "val", "test")
    }
    assert Engine.load(run, "cpu").index.n == 24 and not (run / "own").exists()


def test_too_few_pictures_or_texts_are_searched_but_not_trained_on(tmp_path):
    records = [
        {"img_path": f"images/{number}.png", "txt": f"thing {number}", "split": "train"}
        for number in range(4)
    ]
    few = photographs(tmp_path / "few", 19)
    shop = write_source(tmp_path / "shop", records)
    for source, n, message in (
        (few, 19, "19 images without texts; training needs at least 20"),
        (shop, 8, "the texts give 8 train and 0 val queries, .* a column `split` of their table"),
    ):
        with pytest.raises(UserError, match=message):
            main([str(source), str(tmp_path / f"of {source.name}"), *TRAIN])
        assert Engine.load(tmp_path / f"of {source.name}", "cpu").index.n == n


def test_a_mistyped_or_empty_folder_leaves_nothing_and_the_right_one_can_follow(tmp_path):
    run = str(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("potos", "potos is missing; name a folder"),
        ("empty", "empty contains no images; a source needs"),
    ):
        with pytest.raises(UserError, match=message):
            main([str(tmp_path / name), run])
        assert not (tmp_path / "run").exists()
    main([str(photographs(tmp_path / "photos", 3)), run])
    assert Engine.load(run, "cpu").index.n == 3


def test_a_model_that_cannot_be_loaded_is_refused_before_images_are_copied(tmp_path):
    source = photographs(tmp_path / "photos", 2)
    with pytest.raises(UserError, match="open_clip cannot load NoSuch-Net with weights 'openai'"):
        main(
            [str(source), str(tmp_path / "run"), "--model", "NoSuch-Net", "--pretrained", "openai"]
        )
    assert not (tmp_path / "run" / "collection").exists()


def test_a_shipped_run_that_lacks_a_part_is_refused_in_one_sentence(photos, tmp_path):
    with photos.changing_manifest() as manifest:
        del manifest["parts"]["decoder"]
    with pytest.raises(
        UserError,
        match="the run of photographs, .*, is not at .*photos or lacks its decoder; restore it",
    ):
        main([str(photographs(tmp_path / "pictures", 2)), str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("items", "codes", "levels"),
    [
        (1, 16, 4),
        (4000, 64, 7),
        (62_000, 256, 9),
        (1_000_000, 1024, 9),
        (5_600_000, 2048, 9),
        (10**9, 4096, 9),
    ],
)
def test_sizes_follow_the_collection_and_the_encoder(items, codes, levels):
    settings = settings_for(SMALL, DIM, items, 5 * items)
    settings.check()
    assert (
        settings.quantizer.quantizer.codebook_size == codes
        and settings.quantizer.quantizer.levels == levels
    )
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
def test_a_model_needs_both_architecture_and_weights(tmp_path, capsys, options, message):
    with pytest.raises(SystemExit):
        main([str(tmp_path), str(tmp_path / "run"), *options])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.epochs=3", "the encoder is used as it is; choose another by --model"),
        ("seed=3", "expected --seed 3"),
        ("quantizer.epochs=3", "nothing is trained with it; add --train"),
        ("decoder.epoch=3", "there is no 'epoch'"),
        ("decoder.batch=1", "batch: Input should be greater than or equal to 2"),
    ],
)
def test_a_setting_that_cannot_be_changed_is_refused_before_anything_is_made(
    tmp_path, change, message
):
    with pytest.raises(UserError, match=message):
        main([str(tmp_path / "photos"), str(tmp_path / "run"), "--device", "cpu", "--set", change])
    assert not (tmp_path / "run").exists()
