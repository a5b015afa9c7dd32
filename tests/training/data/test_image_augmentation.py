import numpy as np
import pytest
import torch
from PIL import Image

from genius.errors import UserError
from training.data.image_augmentation import Crops, PixelCache, Squares, augmented


def seen_through(images: torch.Tensor, side: int, min_crop: float, flip: bool) -> torch.Tensor:
    return augmented(
        images, Crops.draw(len(images), min_crop, flip, np.random.default_rng(0)), side
    )


def test_augmented_images_keep_their_content():
    images = torch.zeros(6, 3, 32, 32)
    images[:, 0] = 0.9
    seen = seen_through(images, 20, min_crop=0.55, flip=True)
    assert seen.shape == (6, 3, 20, 20)
    assert seen.min() >= 0 and seen.max() <= 1
    assert (seen[:, 0] > 0.6).all() and (seen[:, 1:] == 0).all()


@pytest.mark.parametrize("flip", [True, False])
def test_images_are_flipped_only_where_it_is_asked_for(flip):
    images = torch.linspace(0, 1, 32).expand(50, 3, 32, 32)  # darker on the left
    seen = seen_through(images, 16, min_crop=0.5, flip=flip)
    turned = seen[..., 0].mean((1, 2)) > seen[..., -1].mean((1, 2))
    assert turned.any() == flip and not turned.all()


def test_a_crop_keeps_at_least_its_minimal_share():
    images = torch.linspace(0, 1, 64).expand(200, 3, 64, 64)
    kept = [
        (seen[..., -1] - seen[..., 0]).mean((1, 2)).min().item()
        for seen in (seen_through(images, 32, crop, flip=False) for crop in (0.2, 0.9))
    ]
    assert kept[0] < 0.5 < 0.6 < kept[1]


@pytest.mark.parametrize(("mode", "seen"), [("squash", "both"), ("shortest", "middle")])
def test_cached_images_are_square_in_the_way_the_encoder_sees_them(
    collection, tmp_path, mode, seen
):
    pixels = np.zeros((20, 60, 3), dtype=np.uint8)
    pixels[:, :20, 0] = 255  # the left third is red
    Image.fromarray(pixels).save(collection.root / "wide.png")
    cache = PixelCache(Squares(collection, 16, mode), ["wide.png", "wide.png"], tmp_path)
    image = cache("wide.png") / 255
    assert image.shape == (3, 16, 16)
    assert (image[0, :, 0].mean() > 0.9) == (seen == "both")  # a centre crop has lost the red


def test_a_second_cache_of_the_same_images_decodes_nothing(collection, tmp_path):
    Image.new("RGB", (9, 9), "red").save(collection.root / "again.png")
    PixelCache(Squares(collection, 16, "squash"), ["again.png"], tmp_path)
    (collection.root / "again.png").unlink()
    assert (
        PixelCache(Squares(collection, 16, "squash"), ["again.png"], tmp_path)("again.png")[0].min()
        == 255
    )


def test_a_broken_image_is_named_with_its_collection(collection, tmp_path):
    (collection.root / "broken.png").write_text("no picture")
    with pytest.raises(UserError, match=f"{collection.root}, image broken.png: "):
        PixelCache(Squares(collection, 16, "squash"), ["broken.png"], tmp_path)
    assert not list(tmp_path.glob("*.npy"))
