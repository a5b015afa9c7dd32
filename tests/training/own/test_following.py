"""What changes in the folders of a run is so in the run, too: when the command runs again, or while
it watches.
"""

import json
import shutil
import time
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from genius.collections.__main__ import check
from genius.collections.mbeir import Collection
from genius.files import sha256
from genius.index import update
from genius.index.__main__ import main as index_command
from genius.search.engine import Engine
from tests.index.test_removal import holders
from tests.training.own.folders import index_of, items_of, make, photographs
from training.own import folder, following

pytestmark = pytest.mark.usefixtures("photos")


def test_a_watched_folder_is_followed_by_a_server_one_line_a_change_and_errors_end_nothing(
    tmp_path, run, monkeypatch, capfd
):
    pictures = photographs(tmp_path / "pictures", 8)
    engines = []
    loads = []
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
                photographs(pictures, 9, first=8)
            case 4:  # since the look before nothing has changed, so it was taken in
                follow(9)
                pictures.rename(tmp_path / "away")
            case 8:
                (tmp_path / "away").rename(pictures)
                (pictures / "00.png").unlink()
                photographs(pictures, 10, first=9)
                (pictures / "broken.png").write_text("no picture")
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
        make(pictures, run, "--watch")
    printed = capfd.readouterr()
    _, said = printed.out.split("Ctrl+C ends it\n")
    assert [line.partition(" ")[2] for line in said.splitlines()] == [
        "items: 1 new, 0 gone; pictures: 1 new, 0 changed, 0 gone",
        f"error: {pictures} is missing; name a folder of images, or a table of them",
        "items: 1 new, 1 gone; pictures: 1 new, 0 changed, 1 gone, 1 unreadable",
    ]
    assert len(loads) == 1


def test_run_again_it_takes_in_what_changed_in_its_folder(tmp_path, run, capsys):
    pictures = photographs(tmp_path / "pictures", 8)
    index = make(pictures, run)
    before = {item.image: item.id for item in index.items(range(8))}
    thumbnail = index.thumbnail(index.rows_of([before["images/pictures/00.png"]])[0])
    gone = thumbnail[20:200], index.embeddings[0].tobytes()
    assert index.fused is None, "pictures alone are ordered by cosine"
    kept = (pictures / "02.png").read_bytes()
    assert {"features", "collection"} < {file.parts[0] for file in holders(run, kept, *gone)}
    del index
    (pictures / "00.png").unlink()
    photographs(pictures, 12, first=8)
    (pictures / "08.png").rename(pictures / "01.png")
    capsys.readouterr()
    make(f"{pictures}/", run)
    assert "pictures: 3 new, 1 changed, 1 gone" in capsys.readouterr().out
    assert holders(run, *gone) == []
    after = {item.image: item.id for item in items_of(run)}
    assert len(after) == 10 and "images/pictures/00.png" not in after
    assert sum(before.get(image) == name for image, name in after.items()) == 6
    collection = Collection(run / "collection" / "pictures")
    assert set(after.values()) == {item.id for item in collection.all_candidates()}
    capsys.readouterr()
    make(pictures, run)
    assert "new" not in capsys.readouterr().out


def said_of(run, picture: str) -> dict:
    """What the index says of a picture."""
    items = {item.image: item for item in items_of(run)}
    return json.loads(items[f"images/pictures/{picture}"].source)


def test_the_count_of_versions_follows_the_folder(tmp_path, run, capsys):
    pictures = photographs(tmp_path / "pictures", 8)
    soft = Image.fromarray(np.random.default_rng(0).integers(60, 200, (5, 7, 3), dtype=np.uint8))
    photo = soft.resize((240, 180), Image.Resampling.BICUBIC)
    photo.save(pictures / "photo.png")
    make(pictures, run)
    assert "versions" not in said_of(run, "photo.png")
    photo.resize((120, 90)).save(pictures / "small.jpg")
    make(pictures, run)
    assert said_of(run, "photo.png")["versions"] == 2
    (pictures / "small.jpg").unlink()
    capsys.readouterr()
    make(pictures, run)
    assert "versions" not in said_of(run, "photo.png")
    assert "1 described anew" in capsys.readouterr().out
    photo.resize((120, 90)).save(pictures / "small.jpg")
    make(pictures, run, "--keep-versions")
    assert "versions" not in said_of(run, "photo.png") and said_of(run, "small.jpg")


def write_table(file, rows: list[str]) -> None:
    file.write_text("\n".join(["image,caption", *rows]))


def test_what_is_removed_is_in_no_file_of_the_run_and_does_not_come_back(tmp_path, run, capsys):
    pictures = photographs(tmp_path / "pictures", 8)
    rows = [
        "00.png,a dog",
        "01.png,the xylophonist at home",
        "copy.png,the xylophonist at home",
        "02.png,snow",
    ]
    write_table(pictures / "captions.csv", rows)
    shutil.copy(pictures / "01.png", pictures / "copy.png")
    index = make(pictures, run)
    items = index.items(range(index.n))
    private = [
        item.id for item in items if "xylophonist" in item.text or "01.png" in (item.image or "")
    ]
    thumbnail = index.thumbnail(index.rows_of(private[:1])[0])
    secrets = (
        b"xylophonist",
        (pictures / "01.png").read_bytes()[:200],
        thumbnail[20:200],
        sha256(pictures / "01.png").encode(),
    )
    where = {part for file in holders(run, *secrets) for part in file.parts}
    assert len(private) >= 2
    assert {"images", "cand_pool", "query", "files.tsv", "items.sqlite"} <= where
    del index
    killed = run / "collection" / f".pictures.new.{'a' * 32}"  # it was building
    shutil.copytree(run / "collection" / "pictures", killed)
    assert index_command([str(run), "remove", *private]) == 0
    assert holders(run, *secrets) == []
    left = [item.id for item in items if item.id not in private]
    collection = Collection(run / "collection" / "pictures")
    assert [item.id for item in collection.all_candidates()] == left
    asked = {
        query.text for split in ("train", "val", "test") for query in collection.queries(split)
    }
    assert asked - {""} == {"a dog", "snow"}
    assert check(collection.root, images=True) == 0

    capsys.readouterr()
    make(pictures, run)
    assert "new" not in capsys.readouterr().out and holders(run, *secrets) == []
    write_table(pictures / "captions.csv", [*rows, "07.png,a boat"])
    make(pictures, run)
    printed = capsys.readouterr().out
    assert "2 removed from the run before, so left out" in printed
    assert "items: 2 new, 0 gone; pictures: 1 new, 0 changed, 0 gone" in printed
    assert holders(run, *secrets) == [] and index_of(run).n == len(left) + 2


@pytest.mark.parametrize("named", ["pictures/", ""])
def test_a_table_beside_its_run_is_read_without_the_run(tmp_path, capsys, named):
    """named: in which folder the table says that they are; without it, they are looked up by
    name.
    """
    run = tmp_path / "run"
    photographs(tmp_path / "pictures", 8)
    table = tmp_path / "table.csv"
    rows = [f"{named}{number:02d}.png,thing {number}" for number in range(9)]

    def items() -> dict[str, str]:
        return {item.id: item.image or item.text for item in items_of(run)}

    write_table(table, rows[:8])
    make(table, run)
    before = items()
    manifest = (run / "manifest.json").read_bytes()
    capsys.readouterr()
    make(table, run)
    assert "have changed" not in capsys.readouterr().out
    assert (run / "manifest.json").read_bytes() == manifest
    shutil.copytree(run, tmp_path / "another run")
    photographs(tmp_path / "pictures", 9, first=8)
    write_table(table, rows)
    make(table, run)
    said = capsys.readouterr().out
    assert "folders: a run or a collection, not read; the first: another run" in said
    assert "items: 2 new, 0 gone; pictures: 1 new, 0 changed, 0 gone" in said
    assert items().items() > before.items()


def test_a_picture_that_arrives_while_the_encoder_is_downloaded_is_found_by_the_next_run(
    tmp_path, run, monkeypatch
):
    pictures = photographs(tmp_path / "pictures", 4)
    publish = folder.publish_encoder

    def slow(arguments):
        photographs(pictures, 5, first=4)
        publish(arguments)

    monkeypatch.setattr(folder, "publish_encoder", slow)
    assert [make(pictures, run).n for _ in range(2)] == [4, 5]
