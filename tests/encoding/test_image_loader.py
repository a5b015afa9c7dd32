import threading

import pytest
import torch

from genius.encoding.image_loader import load_images
from genius.errors import UserError

LIMIT = 60  # seconds


def test_the_next_part_is_loaded_while_the_caller_works_on_one():
    started = {name: threading.Event() for name in "abcdef"}

    def load(path: str) -> torch.Tensor:
        started[path].set()
        return torch.full((3, 1, 1), ord(path))

    parts = load_images(["ab", "cd", "ef"], list, load)
    for part, following in (("ab", "cd"), ("cd", "ef"), ("ef", "")):
        name, pixels, kept = next(parts)
        assert (
            name == part
            and pixels[:, 0, 0, 0].tolist() == [ord(path) for path in part]
            and kept.all()
        )
        assert all(started[path].wait(LIMIT) for path in following)
        assert part != "ab" or not started["e"].is_set()  # one part ahead, for each takes memory
    assert list(parts) == []


@pytest.mark.parametrize("parts", [[], [""], ["", "a", ""]])
def test_parts_without_images_keep_their_place(parts):
    loaded = load_images(parts, list, lambda path: torch.zeros(3, 1, 1))
    assert [(part, len(pixels), len(kept)) for part, pixels, kept in loaded] == [
        (part, len(part), len(part)) for part in parts
    ]


def test_an_image_that_cannot_be_read_ends_the_loading_with_its_error():
    def load(path: str) -> torch.Tensor:
        if path == "c":
            raise UserError("c is no image")
        return torch.zeros(3, 1, 1)

    parts = load_images(["ab", "cd", "ef"], list, load)
    assert next(parts)[0] == "ab"
    with pytest.raises(UserError, match="c is no image"):
        next(parts)


def test_images_are_prepared_on_one_core_each_and_the_caller_keeps_its_cores():
    cores = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        ((_, pixels, _),) = load_images(
            ["ab"], list, lambda path: torch.full((3, 1, 1), torch.get_num_threads())
        )
        assert pixels.unique().tolist() == [1] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(cores)
