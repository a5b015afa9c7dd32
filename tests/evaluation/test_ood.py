import json
import shutil

import numpy as np
import pytest
from PIL import Image

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation.ood import folder_pictures, main, query_pictures
from genius.run import Run
from genius.search.ood_detector import OODDetector, texture


@pytest.fixture
def run_with_detector(collection, run, tmp_path):
    """A copy of the run whose detector was fitted to the collection's pictures."""
    copy = Run(shutil.copytree(run, tmp_path / "run"))
    known = np.array([texture(Image.open(file)) for file in sorted((collection.root / "images").iterdir())])

    def write(folder):
        shutil.copytree(run / copy.manifest["parts"]["index"]["folder"], folder, dirs_exist_ok=True)
        OODDetector.fit([np.repeat(known, 4, axis=0)], np.repeat(known, 4, axis=0)).save(folder)

    copy.publish("index", write, ("encoder", "fusion", "quantizer"))
    return copy.path


@pytest.fixture
def photographs(tmp_path):
    """Five noise pictures in two folders, and a text file."""
    folder = tmp_path / "photographs"
    (folder / "more").mkdir(parents=True)
    (folder / "notes.txt").write_text("no picture")
    rng = np.random.default_rng(0)
    for name in ("a.png", "b.JPG", "c.webp", "more/d.jpeg", "more/e.png"):
        Image.fromarray(rng.integers(0, 255, (60, 60, 3), dtype=np.uint8)).save(folder / name)
    return folder


def test_both_shares_are_printed_and_written(run_with_detector, photographs, collection, capsys):
    main([str(run_with_detector), str(photographs), "--limit", "3", "--device", "cpu"])

    report = json.loads((run_with_detector / "reports" / "outside.json").read_text())
    asked = [query for query in collection.queries("test") if query.image]
    assert report["outside"] == {"pictures": 3, "far": 1.0} and report["folder"] == "photographs"
    assert report["queries"]["pictures"] == len(asked) and report["queries"]["far"] < 0.5
    assert report["command"].startswith("python -m genius.evaluation.ood ")
    assert "out of distribution: 100.0% of 3 pictures" in capsys.readouterr().out


def test_the_sample_of_a_folder_does_not_depend_on_its_path(photographs, tmp_path):
    chosen = folder_pictures(photographs, 3, seed=0)
    moved = photographs.rename(tmp_path / "moved")
    assert [file.relative_to(moved) for file in folder_pictures(moved, 3, seed=0)] == [
        file.relative_to(photographs) for file in chosen
    ]
    assert len(folder_pictures(moved, 200, seed=0)) == 5
    assert any(folder_pictures(moved, 3, seed=seed) != folder_pictures(moved, 3, seed=0) for seed in range(1, 5))


def test_runs_folders_and_collections_without_what_is_needed_are_refused(run, photographs, collection, tmp_path):
    with pytest.raises(UserError, match="has no out-of-distribution detector"):
        main([str(run), str(photographs), "--device", "cpu"])
    with pytest.raises(UserError, match="holds no pictures"):
        folder_pictures(tmp_path / "nowhere", 5, seed=0)
    copy = Collection(shutil.copytree(collection.root, tmp_path / "copy"))
    for file in (copy.root / "query" / "test").iterdir():
        file.write_text(
            "".join(line + "\n" for line in file.read_text().splitlines() if json.loads(line)["query_img_path"] is None)
        )
    with pytest.raises(UserError, match="no test query with a picture"):
        query_pictures(copy)
