import json

import pytest

from genius.errors import UserError
from genius.run import Run


def write(text: str):
    return lambda folder: (folder / "model.safetensors").write_text(text)


@pytest.fixture
def run(tmp_path) -> Run:
    run = Run(tmp_path / "run")
    run.publish("encoder", write("encoder"))
    run.publish("fusion", write("fusion"), ("encoder",))
    return run


def test_a_published_part_is_found_again_with_its_files(run):
    again = Run(run.path)
    assert (again.folder("fusion") / "model.safetensors").read_text() == "fusion"
    assert again.has("encoder") and not again.has("decoder")


def test_a_failing_writer_leaves_the_run_as_it_was(run):
    before = (run.path / "manifest.json").read_text()

    def failing(folder):
        (folder / "model.safetensors").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run.publish("encoder", failing)
    assert (run.path / "manifest.json").read_text() == before
    assert not list(run.path.glob(".tmp-*"))
    assert Run(run.path).folder("fusion").exists()


def test_a_part_built_from_another_encoder_is_refused(run):
    run.publish("encoder", write("another encoder"))
    with pytest.raises(UserError, match="the fusion of .* was built from another encoder"):
        Run(run.path).folder("fusion")


def test_the_same_bytes_published_again_change_nothing(run):
    digest = run.digest("encoder")
    run.publish("encoder", write("encoder"))
    assert Run(run.path).digest("encoder") == digest
    assert Run(run.path).folder("fusion").exists()


def test_a_replaced_part_leaves_no_folder_behind(run):
    old = run.folder("encoder")
    run.publish("encoder", write("another encoder"))
    assert not old.exists()


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
def test_a_damaged_file_is_refused_by_name(run, damage):
    file = run.folder("encoder") / "model.safetensors"
    if damage == "delete":
        file.unlink()
    else:
        file.write_text("encodes" if damage == "flip" else "enc")
    with pytest.raises(UserError, match="model.safetensors"):
        Run(run.path).folder("encoder")


def test_a_missing_part_says_how_to_train_it(run):
    with pytest.raises(UserError, match="holds no decoder; train it with: python -m training"):
        run.folder("decoder")


@pytest.mark.parametrize("damage", ["flip", "delete"])
def test_publishing_again_repairs_a_damaged_part(run, damage):
    file = run.folder("encoder") / "model.safetensors"
    file.write_text("encodes") if damage == "flip" else file.unlink()
    run.publish("encoder", write("encoder"))
    assert Run(run.path).folder("fusion").exists() and file.read_text() == "encoder"


def test_what_a_killed_process_left_is_swept_away(run):
    (run.path / ".tmp-left").mkdir()
    run.publish("decoder", write("decoder"))
    assert not list(run.path.glob(".tmp-*"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 1}',
        '{"format": 99, "parts": {}}',
        '{"format": 1, "parts": []}',
        '{"format": 1, "parts": {"encoder": {}}}',
        '{"format": 1, "parts": {"encoder": {"folder": "..", "digest": "", "files": {}, "built_from": {}}}}',
        '{"format": 1, "parts": {"virus": {"folder": "x"}}}',
        '{"format": 1, "parts": {"encoder": {"folder": "../../etc"}}}',
    ],
)
def test_a_manifest_that_is_none_is_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UserError, match="manifest.json"):
        Run(tmp_path)


def test_facts_are_recorded_beside_the_parts(run):
    run.record(preset="small")
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["preset"] == "small" and set(manifest["parts"]) == {"encoder", "fusion"}
