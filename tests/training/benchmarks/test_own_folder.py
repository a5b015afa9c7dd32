from pathlib import Path

import pytest

from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.reports import Report
from genius.run import Run
from tests.collections.samples import write_source
from tests.search.tiny import tiny_encoder
from training import folder, pseudo_queries
from training.benchmarks import own_folder


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A shipped run with a tiny encoder, few words, and one epoch of each stage."""
    Run(tmp_path / "photos").publish("encoder", tiny_encoder().save)
    monkeypatch.setattr(folder, "PHOTOS", tmp_path / "photos")
    monkeypatch.setattr(pseudo_queries, "visual_words", lambda: ["dog", "snow", "ball", "tree", "red", "street"])
    monkeypatch.setattr(folder, "MAX_EPOCHS", 1)
    monkeypatch.setattr(folder, "MIN_EPOCHS", 1)


def test_captions_are_searched_among_photographs_without_texts(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(own_folder, "TRAINING_IMAGES", 20)
    records = [
        {"img_path": f"{n}.png", "captions": [f"one {n}", f"two {n}"], "split": "dev" if n < 6 else "train"}
        for n in range(40)
    ]
    source = write_source(tmp_path / "flickr8k", records)
    own_folder.main([str(source), str(tmp_path / "work"), "--limit", "8", "--device", "cpu"])
    run = tmp_path / "work" / "seed-0" / "run-default"
    collection = Collection(run / "collection" / "photographs")
    assert {query.text for query in collection.queries("test")} == {
        f"{word} {n}" for word in ("one", "two") for n in range(6)
    }
    assert sum(1 for _ in collection.all_candidates()) == 26
    (table,) = Report.load(run / "reports" / "own_folder.json").tables
    assert table.title == "8 captions, 26 images" and table.headings()[-1] == "of dense, @10"
    assert [row[0] for row in table.rows] == list(own_folder.SYSTEMS)
    assert table.rows[0][4:] == [1, 1]  # hit@50 of dense search among 26 images, and its share of itself


def test_the_sample_of_another_seed_has_a_folder_and_a_run_of_its_own(tmp_path, monkeypatch):
    records = [{"img_path": f"{n}.png", "captions": ["one"], "split": "dev" if n < 2 else "train"} for n in range(20)]
    source, runs, samples = write_source(tmp_path / "flickr8k", records), [], []
    monkeypatch.setattr(own_folder, "TRAINING_IMAGES", 5)
    monkeypatch.setattr(folder, "stage_arguments", lambda sources, run, *_, **__: samples.append(sources[0]) or run)
    monkeypatch.setattr(folder, "make_searchable", lambda sources, run, **_: runs.append(run) or exit())
    for seed in ("0", "1"):
        with pytest.raises(SystemExit):
            own_folder.main([str(source), str(tmp_path / "work"), "--seed", seed, "--device", "cpu"])
    names = [{file.name for file in Path(sample).iterdir()} for sample in samples]
    assert len(set(runs)) == 2 and names[0] != names[1] and list(map(len, names)) == [7, 7]


def test_a_killed_copy_leaves_no_half_of_a_picture(tmp_path, monkeypatch):
    def killed(source, destination):
        destination.write_bytes(b"half")
        raise KeyboardInterrupt

    source = write_source(tmp_path / "flickr8k", [{"img_path": "1.png"}])
    records = read_source(source).records
    with monkeypatch.context() as kill, pytest.raises(KeyboardInterrupt):
        kill.setattr(own_folder.shutil, "copyfile", killed)
        own_folder.copy(source, records, tmp_path / "copies")
    own_folder.copy(source, records, tmp_path / "copies")
    assert (tmp_path / "copies" / "1.png").read_bytes() == (source / "1.png").read_bytes()


def test_a_limit_of_no_captions_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(UserError, match="--limit 0: expected an integer of at least 1"):
        own_folder.main([str(tmp_path / "nowhere"), str(tmp_path / "work"), "--limit", "0"])
