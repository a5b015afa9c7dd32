import threading

import numpy as np
import pytest
from PIL import Image, ImageDraw
from safetensors.numpy import save_file
from scipy.fft import dctn

from genius.errors import UserError
from genius.schema import Query
from genius.search.engine import Engine
from genius.search.ood_detector import FILE, MIN_IMAGES, VARIANCE_FLOOR, OODDetector, texture
from tests.search.tiny import publish_tiny_run

N, Q, T = 900, 400, 8
FEATURES = len(texture(Image.new("RGB", (1, 1))))  # of the texture of a real image


def turn() -> np.ndarray:
    """(t, t) a rotation, so that no direction is an axis."""
    return np.linalg.qr(np.random.default_rng(7).normal(size=(T, T)))[0]


def points(n: int, seed: int) -> np.ndarray:
    """(n, t) of one kind: wide in some directions, narrow in others, away from the origin."""
    return (np.random.default_rng(seed).normal(size=(n, T)) * np.geomspace(3, 0.5, T)) @ turn() + 5


def drawing(seed: int, side: int = 100) -> Image.Image:
    """Flat discs on a flat ground."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (side, side), tuple(rng.integers(0, 255, 3).tolist()))
    for x, y, radius in rng.uniform(0.1, 0.9, (5, 3)) * [side, side, side / 3]:
        ImageDraw.Draw(image).ellipse(
            (x - radius, y - radius, x + radius, y + radius), tuple(rng.integers(0, 255, 3).tolist())
        )
    return image


def grainy(seed: int) -> Image.Image:
    """The same, seen through grain as a photograph is."""
    grain = np.random.default_rng(seed).normal(size=(100, 100, 3)) * 12
    return Image.fromarray((np.asarray(drawing(seed)) + grain).clip(0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def ood_detector() -> OODDetector:
    return OODDetector.fit([points(N, seed=0)], points(Q, seed=1))


@pytest.fixture(scope="module")
def of_drawings() -> OODDetector:
    textures = np.array([texture(drawing(seed)) for seed in range(300)])
    return OODDetector.fit([textures[:200]], textures[200:])


def test_texture_is_that_of_a_cosine_transform_of_each_block():
    planes = np.asarray(grainy(3).resize((64, 64), Image.Resampling.BICUBIC, reducing_gap=2.0)) / 255
    red, green, blue = planes.transpose(2, 0, 1)
    planes = np.stack([(red + green + blue) / 3, (red - green) / 2, (red + green) / 4 - blue / 2], axis=-1)
    expected = []
    for side in (64, 32):
        planes = planes.reshape(side, len(planes) // side, side, -1, 3).mean(axis=(1, 3))
        blocks = [planes[y : y + 4, x : x + 4] for y in range(0, side, 4) for x in range(0, side, 4)]
        logs = np.log([np.abs(dctn(block, axes=(0, 1), norm="ortho")).ravel() / 4 + 0.5 / 255 for block in blocks])
        expected += [logs.mean(0), logs.std(0)]
    np.testing.assert_allclose(texture(grainy(3)), np.concatenate(expected), atol=1e-3)


def test_few_of_the_same_kind_are_beyond_the_threshold(ood_detector):
    assert 0.005 < ood_detector.exceed_thresholds(points(5000, seed=2)).mean() < 0.04


def test_distances_are_those_of_the_inverse_correlations(ood_detector):
    indexed, asked = points(N, seed=0), points(20, seed=3)
    inverse = np.linalg.inv(np.corrcoef(indexed.T) + VARIANCE_FLOOR * np.eye(T))
    away = (asked - indexed.mean(0)) / indexed.std(0)
    expected = np.sqrt(np.einsum("bi,ij,bj->b", away, inverse, away))
    np.testing.assert_allclose(ood_detector.distances(asked)[:, 0], expected, rtol=1e-3)


def test_a_texture_is_finite_and_depends_on_grain_but_not_on_size():
    flat = texture(Image.new("RGB", (70, 50), "teal"))
    small, large, seen_grainy = (texture(image) for image in (drawing(1), drawing(1, side=400), grainy(1)))
    assert np.isfinite(flat).all() and flat.shape == small.shape
    assert np.abs(small - large).mean() < np.abs(small - seen_grainy).mean() / 3


def test_a_finer_pattern_has_a_higher_frequency():
    def stripes(width: int) -> Image.Image:
        columns = (np.arange(64) // width % 2 * 255).astype(np.uint8)
        return Image.fromarray(np.broadcast_to(columns[None, :, None], (64, 64, 3)).copy())

    waves = {width: texture(stripes(width))[:48].reshape(4, 4, 3)[0, :, 0] for width in (1, 2)}
    assert waves[1].argmax() in (0, 3) and waves[1][3] > waves[2][3] and waves[2][1] > waves[1][1]


def test_grainy_pictures_are_far_from_drawings_and_other_drawings_are_not(of_drawings):
    assert np.mean([of_drawings.is_out_of_distribution(drawing(seed)) for seed in range(1000, 1100)]) < 0.1
    assert np.mean([of_drawings.is_out_of_distribution(grainy(seed)) for seed in range(1000, 1100)]) > 0.9


def test_a_detector_of_equal_images_still_judges_others():
    same = np.array([texture(drawing(1))] * MIN_IMAGES)
    ood_detector = OODDetector.fit([same], same)
    assert not ood_detector.is_out_of_distribution(drawing(1)) and ood_detector.is_out_of_distribution(grainy(1))


def test_too_few_images_give_no_detector():
    many, few = points(MIN_IMAGES, seed=0), points(MIN_IMAGES - 1, seed=1)
    assert OODDetector.fit([few], many) is None and OODDetector.fit([many], few) is None
    assert OODDetector.fit([np.array([])], many) is None and OODDetector.fit([], many) is None
    assert OODDetector.fit([many], many) is not None


def test_images_between_two_datasets_are_far_and_those_of_either_are_not():
    one, other = points(N, seed=0), points(N, seed=1) + 40
    both = OODDetector.fit([one, other], np.concatenate([points(Q, seed=2), points(Q, seed=3) + 40]))
    assert (
        both.exceed_thresholds(points(500, seed=4)).mean() < 0.06
        and both.exceed_thresholds(points(500, seed=5) + 40).mean() < 0.06
    )
    assert both.exceed_thresholds(points(500, seed=6) + 20).all()
    blurred = OODDetector.fit([np.concatenate([one, other])], points(Q, seed=2))
    assert not blurred.exceed_thresholds(points(500, seed=6) + 20).all()


def test_a_dataset_with_few_images_is_joined_to_the_largest():
    one, few = points(N, seed=0), points(MIN_IMAGES - 1, seed=1) + 1
    joined, together = (
        OODDetector.fit(datasets, points(Q, seed=2)) for datasets in ([few, one], [np.concatenate([one, few])])
    )
    assert np.array_equal(joined.means, together.means) and np.array_equal(joined.thresholds, together.thresholds)


def test_a_dataset_that_no_validation_image_is_near_to_is_judged_by_its_own_images():
    detector = OODDetector.fit([points(N, seed=0), points(N, seed=1) + 40], points(Q, seed=2))
    assert detector.exceed_thresholds(points(500, seed=3) + 40).mean() < 0.1


def test_a_saved_detector_judges_as_before(of_drawings, tmp_path):
    assert OODDetector.load(tmp_path) is None
    of_drawings.save(tmp_path)
    loaded = OODDetector.load(tmp_path)
    assert loaded.thresholds == of_drawings.thresholds
    asked = np.array([texture(grainy(seed)) for seed in range(5)])
    assert np.array_equal(loaded.distances(asked), of_drawings.distances(asked))


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"mean": np.zeros(3), "whitening": np.zeros((3, 2)), "threshold": np.array(1.0)},
        {"mean": np.zeros(3), "whitening": np.zeros((3, 3)), "threshold": np.array(1.0)},
        {"mean": np.zeros((0, FEATURES)), "whitening": np.zeros((0, FEATURES, FEATURES)), "threshold": np.zeros(0)},
        None,
    ],
)
def test_a_damaged_detector_file_is_refused(arrays, tmp_path):
    if arrays is None:
        (tmp_path / FILE).write_bytes(b"nothing of the kind")
    else:
        save_file(arrays, tmp_path / FILE)
    with pytest.raises(UserError, match=f"{FILE} is not a detector .* build the index again"):
        OODDetector.load(tmp_path)


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    return Engine.load(publish_tiny_run(tmp_path_factory.mktemp("familiar") / "run", n=9).path, "cpu")


def test_a_search_judges_each_query_with_an_image(engine, of_drawings, monkeypatch):
    monkeypatch.setattr(engine, "ood_detector", of_drawings)
    queries = [
        Query(image=grainy(0)),
        Query(text="A red dog."),
        Query(image=drawing(0)),
        Query(text="blue", image=drawing(0)),
    ]
    judge, threads = of_drawings.is_out_of_distribution, []

    def judged(_: OODDetector, image: Image.Image) -> bool:
        threads.append(threading.current_thread())
        return judge(image)

    monkeypatch.setattr(OODDetector, "is_out_of_distribution", judged)
    results = engine.search(queries)
    assert [result.out_of_distribution for result in results] == [True, None, False, False]
    assert ["judge" in result.milliseconds for result in results] == [True, False, True, True]
    assert set(threads) == {threading.current_thread()}  # the one that runs the models goes on


def test_a_run_without_a_detector_judges_nothing(engine):
    assert engine.ood_detector is None
    assert engine.search([Query(image=drawing(0))])[0].out_of_distribution is None
