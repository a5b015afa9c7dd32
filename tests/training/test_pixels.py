import numpy as np
import pytest
import torch
from PIL import Image

from genius.errors import UserError
from training.pixels import PixelCache, augmented


def test_augmented_images_stay_pictures_of_the_same_thing():
    torch.manual_seed(0)
    images = torch.zeros(6, 3, 32, 32)
    images[:, 0] = 0.9
    seen = augmented(images, 20, crop=0.55, mirror=True)
    assert seen.shape == (6, 3, 20, 20)
    assert 0 <= seen.min() and seen.max() <= 1
    assert (seen[:, 0] > 0.6).all() and (seen[:, 1:] == 0).all()


@pytest.mark.parametrize("mirror", [True, False])
def test_pictures_are_mirrored_only_where_left_and_right_mean_nothing(mirror):
    torch.manual_seed(0)
    images = torch.linspace(0, 1, 32).expand(50, 3, 32, 32)                     # darker on the left
    seen = augmented(images, 16, crop=0.5, mirror=mirror)
    turned = seen[..., 0].mean((1, 2)) > seen[..., -1].mean((1, 2))
    assert turned.any() == mirror and not turned.all()


def test_a_crop_keeps_at_least_the_share_it_is_told():
    torch.manual_seed(0)
    images = torch.linspace(0, 1, 64).expand(200, 3, 64, 64)
    kept = [(seen[..., -1] - seen[..., 0]).mean((1, 2)).min().item() for seen in (
        augmented(images, 32, crop, mirror=False) for crop in (0.2, 0.9))]
    assert kept[0] < 0.5 < 0.6 < kept[1]


@pytest.mark.parametrize(("mode", "seen"), [("squash", "both"), ("shortest", "middle")])
def test_cached_images_are_square_in_the_way_the_encoder_sees_them(collection, tmp_path, mode, seen):
    pixels = np.zeros((20, 60, 3), dtype=np.uint8)
    pixels[:, :20, 0] = 255                                           # the left third is red
    Image.fromarray(pixels).save(collection.root / "wide.png")
    cache = PixelCache(collection, ["wide.png", "wide.png"], 16, mode, tmp_path)
    image, = cache.read(["wide.png"])
    assert image.shape == (3, 16, 16)
    assert (image[0, :, 0].mean() > 0.9) == (seen == "both")          # a centre crop has lost the red


def test_a_second_cache_of_the_same_images_decodes_nothing(collection, tmp_path):
    Image.new("RGB", (9, 9), "red").save(collection.root / "again.png")
    PixelCache(collection, ["again.png"], 16, "squash", tmp_path)
    (collection.root / "again.png").unlink()
    assert PixelCache(collection, ["again.png"], 16, "squash", tmp_path).read(["again.png"])[0, 0].mean() == 1


def test_a_broken_image_is_named_with_its_collection(collection, tmp_path):
    (collection.root / "broken.png").write_text("no picture")
    with pytest.raises(UserError, match=f"{collection.root}, image broken.png: "):
        PixelCache(collection, ["broken.png"], 16, "squash", tmp_path)
    assert not list(tmp_path.glob("*.npy"))
