import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from genius import runtime
from genius.errors import UserError
from genius.run import Run
from genius.schema import MODES, Modality, Query, SearchOptions
from genius.search import candidates, retriever, scan
from genius.search import engine as engine_module
from genius.search.dense import flat_search
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.search.scan import SHARES
from tests.search.tiny import publish_tiny_run, tiny_decoder

STAGES = ["encode", "fuse", "beam", "scan", "rerank", "fetch", "explain"]
PICTURE = Image.new("RGB", (50, 40), "teal")
QUERIES = [
    Query(text="A red dog."),
    Query(image=PICTURE, instruction="Find a text."),
    Query(text="the same, but blue", image=PICTURE, instruction="Change it."),
    Query(text="boat"),
]


def shown(result) -> tuple:
    """What two answers to one query must have in common; times differ."""
    return (
        result.hits,
        result.generated,
        result.query_codes,
        result.candidates,
        result.first_code_probabilities.tolist(),
    )


def close(result, other) -> bool:
    """Alike but for rounding in models that saw another batch."""
    return (
        [hit.row for hit in result.hits] == [hit.row for hit in other.hits]
        and [id.codes for id in result.generated] == [id.codes for id in other.generated]
        and np.allclose(
            *([id.score for id in each.generated] for each in (result, other)), atol=1e-4
        )
    )


def descending(values: list[float]) -> bool:
    return values == sorted(values, reverse=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_result_is_whole_and_agrees_with_itself(engine, mode):
    query_codes = engine.quantizer.encode(engine.encode(QUERIES).z).tolist()
    results = engine.search(QUERIES, SearchOptions(beams=6, k=5, mode=mode))
    for result, codes in zip(results, query_codes, strict=True):
        assert (result.mode, result.order, result.modality_code) == (mode, "cosine", "forced")
        assert result.query_codes == tuple(codes)
        assert len(result.generated) == 6 * (mode != "scan") and 1 <= len(result.hits) <= 5
        assert descending([id.score for id in result.generated])
        items = engine.index.n if mode != "generate" else sum(id.bucket for id in result.generated)
        assert result.candidates == items
        for rank, hit in enumerate(result.hits, start=1):
            assert hit.rank == rank and 1 <= hit.generated_rank <= result.candidates
            assert hit.item == engine.index.items([hit.row])[0]
            assert hit.codes == tuple(engine.index.codes([hit.row])[0])
            assert all(type(code) is int for code in hit.codes)
        assert descending([hit.cosine for hit in result.hits])
        assert result.first_code_probabilities.shape == (len(Modality),)
        left_out = {"generate": "scan", "scan": "beam"}.get(mode)
        assert list(result.milliseconds) == [stage for stage in STAGES if stage != left_out]
        assert min(result.milliseconds.values()) >= 0 and result.trace is None


def test_hits_are_the_items_of_the_generated_ids_with_their_true_cosines(engine):
    query = QUERIES[2]
    (result,) = engine.search([query], SearchOptions(beams=4, k=500, mode="generate"))
    ids = {id.codes for id in result.generated}
    rows = [row for row in range(engine.index.n) if tuple(engine.index.codes([row])[0]) in ids]
    assert sorted(hit.row for hit in result.hits) == rows
    embedding = engine.encode([query]).embeddings[0].numpy()
    for hit in result.hits:
        stored = engine.index.embeddings[hit.row].astype(np.float32)
        assert hit.cosine == pytest.approx(float(stored @ embedding), abs=1e-5)


def test_without_reranking_hits_come_in_generated_order(engine):
    for result in engine.search(QUERIES, SearchOptions(beams=10, k=8, order="score")):
        assert result.mode == "generate"  # which alone has scores for all that it finds
        assert [hit.generated_rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
        scores = {id.codes: id.score for id in result.generated}
        assert descending([scores[hit.codes] for hit in result.hits])


def test_with_all_ids_as_beams_reranking_is_dense_search(engine):
    _, rows = engine.dense(QUERIES, 7)
    for result, expected in zip(
        engine.search(QUERIES, SearchOptions(beams=200, k=7)), rows, strict=True
    ):
        assert [hit.row for hit in result.hits] == expected.tolist()


def test_a_query_is_answered_alike_alone_and_in_any_batch(engine, monkeypatch):
    options = SearchOptions(beams=6, k=5)
    together = engine.search(QUERIES, options)
    monkeypatch.setattr(engine_module, "BATCH_BEAMS", 18)  # three queries at once
    assert all(map(close, together, engine.search(QUERIES, options)))
    assert all(
        close(together[i], engine.search([query], options)[0]) for i, query in enumerate(QUERIES)
    )
    assert engine.search([], options) == []
    with pytest.raises(UserError, match="no query to encode"):
        engine.encode([])


def test_queries_from_sixteen_threads_get_the_answers_that_one_gets(engine):
    ways = [SearchOptions(beams=6, k=5), SearchOptions(beams=7, k=8, order="score")]
    expected = [engine.search(QUERIES, options) for options in ways]

    def ask(seed: int) -> bool:
        """Groups of one to four queries with the same options."""
        rng = random.Random(seed)
        alike = []
        for _ in range(20):
            way = rng.randrange(2)
            chosen = rng.choices(range(len(QUERIES)), k=rng.randint(1, 4))
            found = engine.search([QUERIES[i] for i in chosen], ways[way])
            alike += [
                close(result, expected[way][i]) for i, result in zip(chosen, found, strict=True)
            ]
        return all(alike)

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(ask, range(16)))


def test_the_trace_ends_in_the_generated_ids_and_changes_nothing(engine):
    options = SearchOptions(beams=5, order="score")
    plain, traced = (
        engine.search("A red dog.", replace(options, trace=trace)) for trace in (False, True)
    )
    assert shown(traced) == shown(plain)
    last = traced.trace[-1]
    assert last.code[last.kept].tolist() == [id.codes[-1] for id in traced.generated]


def test_the_decoder_weight_is_that_of_the_run_unless_an_option_sets_it(engine):
    usual = engine.decoder.config.decoder_weight
    options = SearchOptions(order="score")
    generated = {
        weight: engine.search("A red dog.", replace(options, decoder_weight=weight)).generated
        for weight in (None, usual, 0.25, 0.0)
    }
    assert generated[None] == generated[usual]
    assert generated[usual] != generated[0.25] != generated[0.0] != generated[usual]


def test_every_result_has_the_probability_of_each_of_its_codes_whether_or_not_it_was_generated(
    engine,
):
    for mode in MODES:
        for result in engine.search(QUERIES, SearchOptions(beams=3, k=40, mode=mode, trace=True)):
            known = {id.codes: id.log_prob for id in result.generated}
            for hit in result.hits:
                whole = engine.code_log_probs(result.z, hit.codes)
                assert [len(level) for level in whole] == list(engine.index.code_sizes)
                steps = [level[code] for level, code in zip(whole, hit.codes, strict=True)]
                np.testing.assert_allclose(hit.log_probs, steps, atol=1e-4)
                assert hit.log_prob == pytest.approx(known.get(hit.codes, hit.log_prob), abs=1e-3)
                assert all(np.exp(level).sum() == pytest.approx(1, abs=1e-4) for level in whole)


def test_both_finds_what_generation_and_the_scan_find_each_item_once(engine, monkeypatch):
    monkeypatch.setattr(candidates, "SCANNED", 4)
    encoded = engine.encode(QUERIES)
    generated, scanned, both = (
        engine.retrieve(encoded, SearchOptions(beams=3, k=1, mode=mode)).candidates
        for mode in ("generate", "scan", "both")
    )
    distances = torch.cdist(
        encoded.z, engine.quantizer.decode(torch.from_numpy(engine.index.codes(range(40))))
    )
    for query in range(len(QUERIES)):
        first, nearest, found = (
            each.row[each.query == query].tolist() for each in (generated, scanned, both)
        )
        assert found == first + [row for row in nearest if row not in first]
        assert both.generated_rank[both.query == query].tolist() == list(range(1, len(found) + 1))
        assert both.counts[query] == len(found) and len(nearest) == 4
        assert distances[query, nearest].max() <= distances[query].sort().values[3] + 1e-5
    again = engine.retrieve(encoded, SearchOptions(beams=3, k=7, mode="scan")).candidates
    assert again.counts.tolist() == [7] * len(QUERIES)  # as many as there are to be results


def test_of_a_large_pool_the_nearest_prefixes_are_scanned(engine, monkeypatch):
    encoded = engine.encode(QUERIES)
    options = SearchOptions(mode="scan", k=40)
    whole = engine.retrieve(encoded, options).candidates
    monkeypatch.setattr(scan, "MANY_ITEMS", 39)
    part = engine.retrieve(encoded, options).candidates
    assert (part.counts < whole.counts).all() and (part.counts >= 40 * SHARES[2]).all()
    assert part.row[0] == whole.row[0]


def test_a_pool_limits_what_is_found(engine):
    rows = np.array([3, 8, 21, 30])
    found = engine.retrieve(
        engine.encode(QUERIES), SearchOptions(beams=50, k=6), engine.index.pool(rows)
    )
    ranked, counts = found.ranked.rows, found.candidates.counts
    assert (np.sort(ranked[:, :4]) == rows).all() and (ranked[:, 4:] == -1).all()
    assert counts.tolist() == [4] * len(QUERIES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("modality", Modality)
def test_a_forced_modality_finds_the_best_items_of_that_modality(engine, modality, mode):
    options = SearchOptions(beams=200, k=6, modality=modality, mode=mode)
    kept = np.flatnonzero(engine.index.modalities == modality)
    _, expected = flat_search(
        engine.index.embeddings, engine.encode(QUERIES).embeddings.numpy(), 6, kept
    )
    plain = engine.search(QUERIES, SearchOptions(mode=mode))
    for result, unforced, rows in zip(
        engine.search(QUERIES, options), plain, expected, strict=True
    ):
        assert [hit.row for hit in result.hits] == rows.tolist()
        assert {hit.item.modality for hit in result.hits} == {modality}
        assert {found.codes[0] for found in result.generated} <= {int(modality)}
        assert all(hit.codes == tuple(engine.index.codes([hit.row])[0]) for hit in result.hits)
        np.testing.assert_allclose(
            result.first_code_probabilities, unforced.first_code_probabilities, rtol=1e-4
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_a_prefix_leaves_its_ids_with_the_scores_that_they_have_among_all(engine, mode, length):
    """With all IDs as beams, the IDs below a prefix are those of the unrestricted search, in its
    order.
    """
    for query in QUERIES:
        (free,) = engine.search([query], SearchOptions(beams=200, k=40, order="score"))
        prefix = free.generated[-1].codes[:length]
        (found,) = engine.search(
            [query], SearchOptions(beams=200, k=40, mode=mode, prefix=prefix, trace=True)
        )
        below = {one.codes: one.score for one in free.generated if one.codes[:length] == prefix}
        assert {hit.codes for hit in found.hits} == set(below)
        assert {hit.item.id for hit in found.hits} == {
            hit.item.id for hit in free.hits if hit.codes in below
        }
        if mode != "scan":
            assert [one.codes for one in found.generated] == list(below)
            np.testing.assert_allclose(
                [one.score for one in found.generated], list(below.values()), atol=1e-4
            )


@pytest.mark.parametrize(
    "options",
    [
        *({"prefix": prefix} for prefix in ((0, 99), (-1,), (2, 4, 4, 4, 4), (1 << 40,))),
        {"prefix": (1,), "modality": Modality.IMAGE},
    ],
)
def test_a_prefix_without_items_is_refused_in_one_sentence(engine, options):
    with pytest.raises(UserError, match="^No item that may be found has an ID that begins with "):
        engine.search(QUERIES[:1], SearchOptions(**options))


def test_a_modality_that_the_index_lacks_is_refused_in_one_sentence(tmp_path):
    # a picture and a text
    engine = Engine.load(publish_tiny_run(tmp_path / "run", n=2).path, "cpu")
    with pytest.raises(UserError, match="holds no items of the modality pair; search for another"):
        engine.search(QUERIES, SearchOptions(modality=Modality.PAIR))
    assert engine.search(QUERIES[:1], SearchOptions(modality=Modality.TEXT))[0].hits[0].row == 1
    for result in engine.search(QUERIES, SearchOptions(k=2)):  # and nothing says that it was meant
        probabilities = result.first_code_probabilities
        assert probabilities[Modality.PAIR] == 0
        assert probabilities.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "options", [SearchOptions(beams=6, k=5), SearchOptions(trace=True, modality=Modality.TEXT)]
)
def test_searching_by_the_vectors_of_a_result_repeats_it(engine, options):
    results = engine.search(QUERIES, options)
    vectors = EncodedQueries.from_vectors(
        np.stack([result.embedding for result in results]),
        np.stack([result.z for result in results]),
    )
    for again, result in zip(engine.search_encoded(vectors, options), results, strict=True):
        assert close(again, result) and again.query_codes == result.query_codes
        assert list(again.milliseconds) == ["beam", "scan", "rerank", "fetch", "explain"]
        assert (again.trace is None) == (result.trace is None)


def test_models_run_only_on_the_engines_thread(engine, monkeypatch):
    seen = set()

    def watch(owner, name):
        function = getattr(owner, name)

        def watched(*given, **named):
            seen.add((name, threading.current_thread()))
            return function(*given, **named)

        monkeypatch.setattr(owner, name, watched)

    watch(torch.nn.Module, "__call__")
    watch(engine.retriever.finder.decoder, "step")  # which is no module
    encoded = engine.encode(QUERIES)
    engine.retrieve(encoded, SearchOptions(beams=4))
    engine.dense(QUERIES, 3)
    engine.search(QUERIES)
    engine.search_encoded(encoded)
    assert seen == {(name, engine.batcher._thread) for name in ("__call__", "step")}


@pytest.mark.parametrize(
    "queries, options, words",
    [
        (
            [Query(instruction="Find.")],
            SearchOptions(),
            "Type a description, add a picture, or both.",
        ),
        (QUERIES, SearchOptions(beams=0), "beam size"),
        ([], SearchOptions(k=501), "number of results"),
    ],
)
def test_an_invalid_query_or_option_is_refused_before_anything_runs(
    engine, queries, options, words, monkeypatch
):
    monkeypatch.setattr(engine.encoder, "encode", None)
    with pytest.raises(UserError, match=words):
        engine.search(queries, options)
    if options.beams == 0:
        with pytest.raises(UserError, match=words):
            engine.search_encoded(engine.vectors_of(0), options)


def test_a_text_or_a_query_alone_has_one_answer_which_a_notebook_shows(engine):
    found = engine.search("A red dog.", SearchOptions(k=12))
    assert shown(found) == shown(engine.search([Query("A red dog.")], SearchOptions(k=12))[0])
    frame = found.frame()
    first = found.hits[0]
    assert frame["id"].tolist() == [hit.item.id for hit in found.hits]
    assert frame["rank"].tolist() == [*range(1, 13)]
    assert frame["codes"][0] == first.codes
    assert frame["kind"][0] == first.item.modality.name.lower()
    hostile = replace(first, item=replace(first.item, id="<b>", text="<script>&"))
    html = replace(found, hits=[hostile, *found.hits[1:]])._repr_html_()
    assert "<td>&lt;b&gt;</td><td>&lt;script&gt;&amp;</td>" in html
    assert "<script" not in html and "<b>" not in html
    pictures = sum(hit.item.image is not None for hit in found.hits)
    assert html.count("data:image/webp;base64,") == pictures > 0


def test_the_items_of_a_code_are_those_whose_ids_begin_with_it(engine):
    codes = engine.index.codes(range(engine.index.n))
    rows = np.flatnonzero((codes[:, :2] == codes[0, :2]).all(1))
    found = {item.id for item in engine.items(*codes[0, :2].tolist())}
    assert found == {item.id for item in engine.index.items(rows)}
    with pytest.raises(UserError, match="has an ID that begins with '0 · 99'"):
        engine.items(0, 99)


def test_a_run_searches_once_when_it_is_loaded(tiny_run, monkeypatch):
    answer = Engine._answer
    used = []

    def noted(*arguments):
        found = answer(*arguments)
        used.extend(found)
        return found

    monkeypatch.setattr(Engine, "_answer", noted)
    Engine.load(tiny_run.path, "cpu")
    assert len(used) == 1


def test_a_run_of_published_weights_re_ranks_by_normalized_embeddings(
    tmp_path, engine, monkeypatch
):
    used = []
    rank_candidates = retriever.rank_candidates
    run = publish_tiny_run(tmp_path / "run", n=6)
    run.record(normalize_embeddings=True)
    published = Engine.load(run.path, "cpu")

    def rank(*given):
        used.append(given[2].normalize)
        return rank_candidates(*given)

    monkeypatch.setattr(retriever, "rank_candidates", rank)
    for each in (engine, published):
        each.search("A red dog.")
    assert used == [False, True]


def test_loading_a_run_leaves_the_malloc_of_the_process_alone(tiny_run, monkeypatch):
    monkeypatch.setattr(runtime, "ctypes", None)
    Engine.load(tiny_run.path, "cpu")


def test_a_missing_part_is_named(tmp_path):
    run = Run(tmp_path)
    run.publish("maps", lambda folder: (folder / "maps.npz").touch())
    with pytest.raises(UserError, match="holds no quantizer"):
        Engine.load(tmp_path)


@pytest.mark.parametrize(
    "changes, words",
    [
        (
            {"codebook_size": 6},
            r"disagree about the code sizes \(quantizer \(3, 5, 5, 5\), decoder \(3, 6, 6, 6\)",
        ),
        ({"dim": 13}, "disagree about the embedding size .*decoder 13"),
    ],
)
def test_parts_of_different_shapes_are_refused(tmp_path, changes, words):
    run = publish_tiny_run(tmp_path / "run", n=6)
    run.publish("decoder", tiny_decoder(**changes).save, ("quantizer",))
    with pytest.raises(UserError, match=words):
        Engine.load(run.path, "cpu")


def test_an_unknown_device_is_refused(tiny_run):
    with pytest.raises(UserError, match="device 'abacus' cannot be used"):
        Engine.load(tiny_run.path, "abacus")
