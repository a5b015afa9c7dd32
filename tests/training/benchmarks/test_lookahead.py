"""training/benchmarks/lookahead.py: the search by exact masses against a slow one, and the report."""

import itertools
import shutil

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from genius.errors import UserError
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from genius.models.ranker import Ranker, RankerConfig
from genius.reading import read_json
from genius.run import Run
from training.benchmarks import lookahead
from training.benchmarks.lookahead import (
    NearestBelow,
    ValidationQueries,
    beams_by,
    main,
    mass_beams,
    nearest_items,
    ranker_vectors,
)
from training.prefix_mass import PrefixMass

SIZES, ITEMS, TEMPERATURE = (3, 4, 5), 80, 0.05


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(size, size=ITEMS) for size in SIZES], axis=1)


@pytest.fixture(scope="module")
def features() -> torch.Tensor:
    return F.normalize(torch.randn(ITEMS, 6, generator=torch.Generator().manual_seed(0)), dim=-1)


@pytest.fixture(scope="module")
def mass(features, codes) -> PrefixMass:
    return PrefixMass(features.numpy(), codes, SIZES, "cpu")


Z = F.normalize(torch.randn(9, 6, generator=torch.Generator().manual_seed(1)), dim=-1)


@pytest.mark.parametrize("width", (1, 3, 20, 200))
def test_the_prefixes_with_most_below_them_are_kept(mass, features, codes, width):
    (low, high), position = mass_beams(mass, Z, TEMPERATURE, width), mass.position.numpy()
    for query, z in enumerate(Z):
        teacher = (features @ z / TEMPERATURE).double().softmax(0).numpy()
        beams = [()]
        for level in range(len(SIZES)):
            grown = {tuple(one[: level + 1]) for one in codes.tolist() if tuple(one[:level]) in beams}
            weight = {prefix: teacher[(codes[:, : level + 1] == prefix).all(1)].sum() for prefix in grown}
            beams = sorted(grown, key=weight.get, reverse=True)[:width]
        rows = [
            set(np.flatnonzero((position >= first) & (position < end)).tolist())
            for first, end in zip(low[query].tolist(), high[query].tolist(), strict=True)
        ]
        assert rows == [set(np.flatnonzero((codes == beam).all(1)).tolist()) for beam in beams]


@pytest.mark.parametrize("scanned", (0, 2, 5, 1000))
@pytest.mark.parametrize("width", (1, 3, 200))
def test_a_prefix_of_few_items_is_as_near_as_the_nearest_of_them(mass, codes, width, scanned, monkeypatch):
    monkeypatch.setattr(lookahead, "MAX_SCANNED", scanned)
    monkeypatch.setattr(lookahead, "PRODUCTS", 7)
    torch.manual_seed(0)
    quantizer = ResidualQuantizer(QuantizerConfig(dim=6, levels=3, codebook_size=5))
    for codebook in quantizer.codebooks:
        codebook.copy_(torch.randn_like(codebook) / 3)
    valid = np.minimum(codes, 4)
    nearest = NearestBelow(mass.trie, quantizer, valid[mass.position.argsort().numpy()])
    low, _ = beams_by(nearest.scores_of(Z), mass.trie, len(Z), width)
    ids = valid[mass.position.argsort().numpy()]
    for query, z in enumerate(Z):

        def near(vector, z=z):
            return float(2 * z @ vector - vector @ vector)

        def score(prefix, near=near):
            below = ids[(ids[:, : len(prefix)] == prefix).all(1)]
            vectors = below if len(below) <= scanned else [prefix]
            return max(near(quantizer.decode(torch.tensor([list(map(int, vector))]))[0]) for vector in vectors)

        beams = [()]
        for level in range(len(SIZES)):
            grown = {tuple(one[: level + 1]) for one in ids.tolist() if tuple(one[:level]) in beams}
            beams = sorted(grown, key=score, reverse=True)[:width]
        assert [tuple(one) for one in ids[low[query].numpy()].tolist()] == beams


def test_the_nearest_items_are_those_of_sorting_all(mass, features):
    low, high = nearest_items(mass, Z, 7)
    rows = torch.argsort(mass.position)[low]
    assert rows.tolist() == (Z @ features.T).topk(7).indices.tolist() and (high == low + 1).all()


def drawn_ranker(dim: int) -> Ranker:
    ranker = Ranker(RankerConfig(dim))
    with torch.no_grad():
        ranker.weight.copy_(torch.tensor([2.0, -0.5, 3.0, 9.0, 9.0]))
        ranker.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
    return ranker


def test_inner_products_of_the_rankers_vectors_are_its_scores():
    rng = np.random.default_rng(3)
    embeddings, fused, quantized = rng.normal(size=(3, ITEMS, 6)).astype(np.float32)
    modalities = rng.integers(3, size=ITEMS)
    queries = ValidationQueries(Z, F.normalize(torch.randn(9, 6), dim=-1), [], np.zeros(9), np.zeros(9, dtype=bool))
    ranker = drawn_ranker(6)
    vectors, items = ranker_vectors(ranker, queries, embeddings, fused, torch.from_numpy(quantized), modalities)
    for query, item in itertools.product(range(9), range(0, ITEMS, 7)):
        z, embedding = Z[query].numpy(), queries.embeddings[query].numpy()
        parts = [
            embedding @ embeddings[item],
            z @ fused[item],
            2 * z @ quantized[item] - quantized[item] @ quantized[item],
            0.0,
            0.0,
        ]
        (score,), _ = ranker(torch.tensor([parts], dtype=torch.float32), torch.tensor([modalities[item]]))
        torch.testing.assert_close(vectors[query] @ items[item], score, atol=1e-4, rtol=1e-4)
    norms = vectors.norm(dim=-1)
    torch.testing.assert_close(norms, norms.mean().expand(9))


def test_the_command_reports_recall_that_grows_with_the_beams(trained_run, collection, tmp_path):
    run = shutil.copytree(trained_run, tmp_path / "run")
    Run(run).publish(
        "ranker",
        drawn_ranker(ResidualQuantizer.load(Run(run).folder("quantizer")).config.dim).save,
        ("encoder", "fusion", "quantizer", "decoder"),
    )
    main([str(collection.root), str(run), "--beams", "1,50", "--temperatures", "0.05,0.01", "--limit", "3"])
    report = read_json(run / "reports" / "lookahead.json", dict)
    names = ["geometry", "nearest below, 16", "decoder", "mass, τ = 0.01", "mass, τ = 0.05", "all items"]
    names += ["mass by the ranker, τ = 0.5", "all items by the ranker"]
    assert list(dict.fromkeys(entry["scores"] for entry in report["measured"])) == names
    for name in names:
        few, many = (entry["recall"] for entry in report["measured"] if entry["scores"] == name)
        assert 0 <= few <= many <= 1
    assert "lookahead COLLECTION RUN" in report["command"]
    assert "| geometry" in (run / "reports" / "lookahead.md").read_text()


@pytest.mark.parametrize("text", ("0", "2,-1", "x", "", "inf", "nan"))
def test_impossible_temperatures_are_refused(text, tmp_path):
    with pytest.raises(UserError, match="expected numbers above 0, separated by commas"):
        main([str(tmp_path), str(tmp_path), "--temperatures", text])
