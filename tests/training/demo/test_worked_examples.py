from genius.collections.layout import TASKS
from genius.demo_world.phrasings import PHRASINGS
from genius.demo_world.sampling import is_held_out
from genius.examples import read_examples
from training.demo.worked_examples import WORKED, main, write_examples


def test_twelve_examples_cover_all_eight_tasks_and_one_picture_has_three_instructions(tmp_path):
    write_examples(tmp_path)
    examples = read_examples(tmp_path)
    assert len(examples) == 12
    assert {(example.modality, given.target) for example in examples for given in example.instructions} >= set(
        TASKS.values()
    )
    (three,) = [example for example in examples if len(example.instructions) > 1]
    assert len(three.instructions) == 3 and three.picture is not None and not three.text
    assert {example.picture.size for example in examples if example.picture} == {(256, 256)}


def test_examples_are_small_and_reproducible(tmp_path):
    for name in ("one", "two"):
        main([str(tmp_path / name)])
    one, two = (sorted((tmp_path / name / "examples").iterdir()) for name in ("one", "two"))
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in two]
    assert sum(file.stat().st_size for file in one) < 300_000


def test_examples_use_training_phrasings_and_no_held_out_kinds():
    for worked in WORKED:
        for row in worked.rows:
            assert row.request(PHRASINGS)["instruction"] in PHRASINGS[row.dataset, row.task][0]
        for figure in worked.picture.figures if worked.picture else ():
            assert not is_held_out(figure.kind, figure.color), figure
