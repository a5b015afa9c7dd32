import ast

from tests.mutation import ROOT, Mutator, mirror_tests, mutants_of

SOURCE = '''
"""1 + 1"""
from __future__ import annotations

def f(x: int | None = 3) -> dict[1, 2]:
    """2 + 2"""
    y: Literal[4] = not x
    if x < 5 and y:
        print(6)
        raise ValueError(7)
    return x - 1.5
'''


def changes(source: str) -> list[str]:
    count = Mutator()
    count.visit(ast.parse(source))
    found = []
    for site in range(count.sites):
        mutator = Mutator(site)
        assert ast.unparse(mutator.visit(ast.parse(source))) != ast.unparse(ast.parse(source))
        found.append(mutator.change)
    return sorted(found)


def test_operators_constants_and_calls_are_mutated_but_no_annotations_texts_and_errors():
    expected = [
        "5: 3  ->  4",
        "7: not x  ->  x",
        "8: x < 5 and y  ->  x < 5 or y",
        "8: x < 5  ->  x <= 5",
        "8: 5  ->  6",
    ]
    expected += ["9: print(6)  ->  pass", "9: 6  ->  7", "11: x - 1.5  ->  x + 1.5", "11: 1.5  ->  3.0"]
    assert changes(SOURCE) == sorted(expected)


def test_a_module_is_tested_by_its_own_file_first_and_then_by_its_package():
    first, *others = mirror_tests("genius.trie.trie", ROOT / "genius/trie/trie.py")
    assert first == "tests/trie/test_trie.py" and "tests/trie/test_ids.py" in others
    settings = mirror_tests("training.settings", ROOT / "training/settings.py")
    assert settings == ["tests/training/test_settings.py", "tests/training/test_presets.py"]


def test_a_package_has_the_mutants_of_its_modules():
    assert {mutant.module for mutant in mutants_of("genius.trie")} >= {"genius.trie.ids", "genius.trie.trie"}
