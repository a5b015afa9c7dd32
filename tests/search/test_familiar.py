import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file

from genius.errors import UserError
from genius.schema import Query
from genius.search.engine import Engine
from genius.search.familiar import FEWEST, FILE, Familiarity
from tests.search.tiny import DIM, publish_tiny_run

N, Q, D = 900, 400, 8


def drawn(n: int, seed: int) -> np.ndarray:
    """(n, d) features of one kind of picture: wide in some directions, narrow in others, away from the origin."""
    rng = np.random.default_rng(seed)
    return ((rng.normal(size=(n, D)) * np.geomspace(3, 0.1, D)) @ turn() + 5).astype(np.float16)


def turn() -> np.ndarray:
    """(d, d) a rotation, so that no direction is an axis."""
    return np.linalg.qr(np.random.default_rng(7).normal(size=(D, D)))[0]


@pytest.fixture(scope="module")
def familiarity() -> Familiarity:
    return Familiarity.fit(drawn(N, seed=0), drawn(Q, seed=1))


def test_few_pictures_of_the_same_kind_are_far(familiarity):
    assert 0.005 < familiarity.far(drawn(5000, seed=2)).mean() < 0.04


def test_a_small_step_in_a_narrow_direction_is_far_and_the_same_step_in_a_wide_one_is_not(familiarity):
    wide, narrow = turn()[0], turn()[-1]
    assert familiarity.far(np.stack([familiarity.mean + 2 * narrow, familiarity.mean + 2 * wide])).tolist() == [
        True, False]


def test_a_feature_of_another_length_is_far(familiarity):
    assert familiarity.far(familiarity.mean[None] * [[1], [0], [2]]).tolist() == [False, True, True]


def test_distances_are_those_of_the_inverse_covariance(familiarity):
    indexed, asked = drawn(N, seed=0).astype(np.float64), drawn(20, seed=3)
    covariance = np.cov(indexed.T)
    inverse = np.linalg.inv(covariance + 0.01 * np.trace(covariance) / D * np.eye(D))
    away = asked - indexed.mean(0)
    expected = np.sqrt(np.einsum("bi,ij,bj->b", away, inverse, away))
    np.testing.assert_allclose(familiarity.distances(asked), expected, rtol=1e-3)


def test_pictures_that_are_all_alike_leave_a_distance_for_others():
    same = np.ones((FEWEST, D), np.float16)
    familiarity = Familiarity.fit(same, same)
    assert familiarity.far(np.stack([same[0], 2 * same[0]])).tolist() == [False, True]


def test_too_few_pictures_say_nothing():
    many, few = drawn(FEWEST, seed=0), drawn(FEWEST - 1, seed=1)
    assert Familiarity.fit(few, many) is None and Familiarity.fit(many, few) is None
    assert Familiarity.fit(few[:0], many) is None and Familiarity.fit(many, many) is not None


def test_what_was_saved_says_the_same(familiarity, tmp_path):
    assert Familiarity.load(tmp_path) is None
    familiarity.save(tmp_path)
    asked = drawn(300, seed=4)
    loaded = Familiarity.load(tmp_path)
    assert loaded.threshold == familiarity.threshold
    assert np.array_equal(loaded.distances(asked), familiarity.distances(asked))


@pytest.mark.parametrize("arrays", [
    {}, {"mean": np.zeros(3), "whitening": np.zeros((3, 2)), "threshold": np.array(1.0)},
    {"mean": np.zeros(3), "whitening": np.zeros((3, 3)), "threshold": np.zeros(2)}, None])
def test_a_file_of_something_else_is_refused(arrays, tmp_path):
    if arrays is None:
        (tmp_path / FILE).write_bytes(b"nothing of the kind")
    else:
        save_file(arrays, tmp_path / FILE)
    with pytest.raises(UserError, match=f"{FILE} does not hold distances .* build the index again"):
        Familiarity.load(tmp_path)


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    return Engine.load(publish_tiny_run(tmp_path_factory.mktemp("familiar") / "run", n=9).path, "cpu")


def test_a_search_says_of_each_query_with_a_picture_whether_it_is_far(engine, monkeypatch):
    near, other = Image.new("RGB", (40, 40), "teal"), Image.effect_noise((40, 40), 90).convert("RGB")
    feature = engine.encode([Query(image=near)]).features.image.numpy()
    monkeypatch.setattr(engine, "familiarity", Familiarity(feature[0], np.eye(DIM, dtype=np.float32), 1e-4))
    queries = [Query(image=other), Query(text="A red dog."), Query(image=near), Query(text="blue", image=near)]
    assert [result.far for result in engine.search(queries)] == [True, None, False, False]


def test_a_run_without_distances_says_nothing(engine):
    assert engine.familiarity is None
    assert engine.search([Query(image=Image.new("RGB", (40, 40)))])[0].far is None
