"""The command line: builds, checks, and says what is wrong in one line."""

import pytest

from genius.collections.__main__ import SHOWN, main
from genius.collections.layout import SPLITS
from tests.collections.samples import write_collection, write_source


def test_a_build_prints_one_line_per_row_and_passes_the_check(tmp_path, capsys):
    records = [
        {"img_path": f"{split}.png", "captions": ["one", "two"], "split": split} for split in SPLITS
    ]
    source = write_source(tmp_path / "zoo", records)
    assert main(["--benchmark", str(source), str(tmp_path / "built")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and all(line.startswith("zoo") for line in lines)
    assert (
        " ".join(lines[0].split())
        == "zoo task 0 text → image queries: train 2 val 2 test 2 candidates 3"
    )
    assert main(["--check", str(tmp_path / "built")]) == 0
    assert capsys.readouterr().out == "4 candidates, 12 queries, problems: 0\n"


def test_a_check_shows_the_first_problems_of_each_file_and_counts_the_rest(tmp_path, capsys):
    root = write_collection(tmp_path / "collection")
    with (root / "qrels/test/mbeir_shapes_task3_test_qrels.txt").open("a") as stream:
        stream.write("9:11 0\n" * (SHOWN + 3))
    assert main(["--check", str(root)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == SHOWN + 4
    assert lines[0].startswith(f"{root}/qrels/test/mbeir_shapes_task3_test_qrels.txt:3: expected")
    assert lines[-4] == f"warning: {root}/query/train: has 0 queries; training needs at least 2"
    assert lines[-2].endswith("_qrels.txt: 3 more problems")
    assert lines[-1].endswith(f"problems: {SHOWN + 3}, warnings: 2")


def test_a_check_opens_images_on_request(tmp_path, capsys):
    root = write_collection(tmp_path / "collection")
    (root / "images/a.png").write_bytes(b"text")
    assert main(["--check", str(root)]) == 0
    assert main(["--check", str(root), "--images"]) == 1
    assert (
        "the image 'images/a.png' cannot be used: a.png is not a readable PNG"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    "arguments", [[], ["one"], ["--check", "one", "two"], ["--images", "one", "two"]]
)
def test_wrong_arguments_are_explained(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2 and "only --check DIR" in capsys.readouterr().err
