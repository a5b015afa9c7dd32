import numpy as np
from PIL import Image

from genius.collections.images import open_image
from genius.search import ood_detector
from genius.search.ood_detector import OODDetector, texture
from training import ood_fitting as fitting
from training.ood_fitting import EvenSample, fit_ood_detector, recompress, textures


def test_the_detector_is_fitted_on_images_of_items_by_dataset_and_of_validation_queries(collection, monkeypatch):
    fitted = []
    monkeypatch.setattr(OODDetector, "fit", lambda datasets, asked: fitted.append((*datasets, asked)))
    fit_ood_detector(collection, collection.candidates("union_test"))

    ((*indexed, asked),) = fitted
    paths: dict[str, dict[str, None]] = {"0": {}, "1": {}}
    for item in collection.candidates("union_test"):
        if item.image:
            paths[item.id.split(":")[0]][item.image] = None
    queries = [query.image for query in collection.queries("val") if query.image]
    for found, own in zip([*indexed, asked], [*map(list, paths.values()), queries], strict=True):
        plain = [texture(open_image(collection.image_path(path))) for path in own]
        alike = [np.array_equal(mine, other) for mine, other in zip(found, plain, strict=True)]
        assert alike == [found is asked or number % 6 not in (2, 5) for number in range(len(own))]


def test_a_collection_without_images_has_no_detector(collection):
    assert fit_ood_detector(collection, []) is None
    assert textures(collection, [], compress=True).shape == (0,)


def test_a_detector_needs_enough_images(collection, monkeypatch):
    assert fit_ood_detector(collection, collection.all_candidates()) is None
    monkeypatch.setattr(ood_detector, "MIN_IMAGES", 2)
    assert fit_ood_detector(collection, collection.all_candidates()).thresholds.min() > 0


def test_an_even_sample_of_many_images_is_taken_without_repetition(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE", 3)

    def sample(paths) -> list[str]:
        chosen = EvenSample()
        for path in paths:
            chosen.add(path)
        return list(chosen.paths)

    assert sample(["a", "b", "a", "c", "d", "e", "f"]) == ["a", "c", "e"]
    assert sample(["a", "a"]) == ["a"] and sample([]) == []
    many = [int(path) for path in sample(map(str, range(1000)))]
    assert len(many) in range(3, 6) and set(np.diff(many)) == {many[1]}


def test_a_compressed_image_is_smaller_and_has_another_texture():
    image = Image.effect_noise((40, 30), 80).convert("RGB")
    again = recompress(image, 0.5, "WEBP")
    assert again.size == (20, 15) and again.mode == "RGB"
    assert not np.array_equal(texture(again), texture(image.resize((20, 15), Image.Resampling.LANCZOS)))
    assert recompress(Image.new("RGB", (1, 40)), 0.5, "JPEG").size == (1, 20)


def test_images_that_cannot_be_opened_are_left_out(collection):
    first, second = [item.image for item in collection.all_candidates() if item.image][:2]
    found = textures(collection, [first, "images/none.png", second], compress=False)
    assert np.array_equal(found, textures(collection, [first, second], compress=False)) and len(found) == 2
    assert textures(collection, ["images/none.png"], compress=False).shape == (0,)
