"""Vectors that somebody else made, and IDs that somebody else made, are explored and searched like
a run of our own.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import torch.nn.functional as F
from PIL import Image
from pyarrow import parquet

from genius.collections.mbeir import Collection
from genius.collections.vectors import open_vectors
from genius.errors import UserError
from genius.explore.code_profile import Profiles
from genius.explore.items import describe_item
from genius.explore.map_data import read_maps
from genius.index.__main__ import main as index_command
from genius.index.store import Index
from genius.models.pretrained import open_clip_encoder
from genius.run import Run
from genius.schema import Modality, Query, SearchOptions
from genius.search.engine import Engine
from tests.search.tiny import DIM, WORDS, publish_tiny_run
from tests.training.tiny import lay_out_by_principal_components
from training.own import ids
from training.own.folder import main
from training.stages import decoder

N = 60
CHANGES = ("epochs=1", "batch=32", "decoder.layers=1", "decoder.width=16", "decoder.prefix=2")
SMALL_DECODER = [f"--set=decoder.{change}" for change in CHANGES]


def vectors(groups: int = 4) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(groups, DIM))[np.arange(N) % groups] + 0.1 * rng.normal(size=(N, DIM))
    ).astype(np.float32)


def serve_ids(table: Path, run: Path, new: Path) -> None:
    ids.main([str(table), str(run), str(new), *SMALL_DECODER])


@pytest.fixture(scope="module", autouse=True)
def layout():
    with pytest.MonkeyPatch.context() as patch:
        lay_out_by_principal_components(patch)
        yield


@pytest.fixture(scope="module")
def run(layout, tmp_path_factory):
    """Vectors with a table of names, texts and one picture, made without an encoder."""
    path = tmp_path_factory.mktemp("vectors")
    np.save(path / "x.npy", vectors())
    rows = [
        {"id": f"thing {n}", "caption": f"a {['red', 'blue'][n % 2]} thing", "shape": n % 4}
        for n in range(N)
    ]
    rows[3]["image"] = "3.png"
    Image.new("RGB", (9, 9), "red").save(path / "3.png")
    (path / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main([str(path / "table.jsonl"), str(path / "run"), "--vectors", str(path / "x.npy")])
    return path / "run"


def test_vectors_without_an_encoder_have_codes_a_map_neighbours_and_more_like_this(run):
    engine = Engine.load(run, "cpu")
    assert (
        engine.index.n == N
        and engine.index.items([5])[0].text == "a blue thing"
        and engine.index.thumbnail(3)
    )
    (result,) = engine.search_encoded(engine.vectors_of(5), SearchOptions(k=5))
    near = {hit.row for hit in result.hits}
    assert result.hits[0].row == 5 and {row % 4 for row in near} == {1}
    known = describe_item(engine, 5)
    assert {near["row"] % 4 for near in known["neighbours"]} == {1} and ("shape", "1") in known[
        "facts"
    ]
    maps = read_maps(run)
    assert len(maps.keys) == N and maps.views[0].depth == 0 and np.isfinite(maps.places).all()
    profiles = Profiles(engine, engine.index)
    pictures = np.flatnonzero(engine.index.modalities == Modality.IMAGE)
    assert profiles.words.naming(pictures).words == ()  # words of pictures need an encoder


def test_what_needs_an_encoder_says_so_in_one_sentence(run, tmp_path):
    engine = Engine.load(run, "cpu")
    with pytest.raises(UserError, match="made of vectors, without the encoder that made them"):
        engine.search([Query(text="a red thing")])
    Image.new("RGB", (9, 9)).save(tmp_path / "new.png")
    with pytest.raises(UserError, match="made of vectors, without the encoder"):
        index_command([str(run), "add", str(tmp_path)])


def test_a_vector_that_was_removed_stays_out_when_a_longer_file_is_read(tmp_path, capsys):
    command = [str(tmp_path / "run"), "--vectors", str(tmp_path / "x.npy")]
    np.save(tmp_path / "x.npy", vectors())
    main(command)
    assert index_command([command[0], "remove", "0:5"]) == 0
    np.save(tmp_path / "x.npy", np.concatenate([vectors(), np.ones((1, DIM), np.float32)]))
    main(command)
    assert "1 removed from the run before, so left out" in capsys.readouterr().out
    index = Engine.load(command[0], "cpu").index
    assert index.n == N and index.rows_of(["0:5", f"0:{N}"]).tolist() == [-1, N - 1]
    assert np.allclose(index.embeddings[N - 1], DIM**-0.5, atol=1e-3)


def test_the_same_command_again_does_nothing_and_another_file_needs_another_run(run, capsys):
    command = [str(run.parent / "table.jsonl"), str(run), "--vectors"]
    before = Run(run).manifest
    main([*command, str(run.parent / "x.npy")])
    assert Run(run).manifest == before
    with pytest.raises(UserError, match="was made from"):
        main([*command, str(run.parent / "other.npy")])


@pytest.mark.parametrize(
    "write, said",
    [
        (lambda file: np.save(file, np.zeros(5)), r"shape \(5,\)"),
        (
            lambda file: np.save(file, np.eye(4)[[0, 1, 1]] * [[1], [0], [1]]),
            r"row 1 \(from 0\) is zero",
        ),
        (lambda file: np.save(file, np.full((3, 4), np.nan)), "holds what is no number"),
        (lambda file: file.write_text("hello"), "cannot be read"),
        (lambda file: np.save(file, np.eye(5)), "has 3 rows for 5 vectors"),
    ],
)
def test_bad_vectors_are_refused_in_one_sentence_and_leave_no_index(write, said, tmp_path):
    write(tmp_path / "x.npy")
    (tmp_path / "table.csv").write_text("title\na\nb\nc\n")
    with pytest.raises(UserError, match=said) as refused:
        table, run, file = (str(tmp_path / name) for name in ("table.csv", "run", "x.npy"))
        main([table, run, "--vectors", file])
    assert "\n" not in str(refused.value) and not Run(tmp_path / "run").has("index")


def test_vectors_are_searched_by_words_with_the_model_that_made_them_and_with_no_other(
    tmp_path, model
):
    encoder = open_clip_encoder(f"local-dir:{model}", "").for_inference()
    made = encoder.encode([None] * 24, [f"{word} {n}" for n in range(4) for word in WORDS[:6]]).text
    unit = F.normalize(made, dim=1).numpy()
    np.save(tmp_path / "x.npy", made.numpy())
    command = [str(tmp_path / "run"), f"--model=local-dir:{model}", "--vectors"]
    main([*command, str(tmp_path / "x.npy")])
    result = Engine.load(tmp_path / "run", "cpu").search(
        Query(f"{WORDS[1]} 2"), SearchOptions(k=24, beams=24, order="cosine")
    )
    assert [hit.row for hit in result.hits] == np.argsort(-(unit @ unit[13])).tolist()

    np.save(tmp_path / "y.npy", made[:, 1:].numpy())
    with pytest.raises(UserError, match=f"has vectors of {DIM - 1} numbers, .* makes {DIM}"):
        main([str(tmp_path / "other"), *command[1:], str(tmp_path / "y.npy")])


def test_ids_from_elsewhere_get_a_decoder_and_a_map_of_their_own_and_say_what_they_lack(
    run, tmp_path
):
    codes = np.stack([np.arange(N) % 4, np.arange(N) // 4], axis=1)
    table = tmp_path / "ids.csv"
    table.write_text(
        "id,codes\n" + "".join(f"thing {n},{a} {b}\n" for n, (a, b) in enumerate(codes))
    )
    serve_ids(table, run, tmp_path / "new")

    engine = Engine.load(tmp_path / "new", "cpu")
    assert engine.index.code_sizes == (4, 15)
    assert np.array_equal(engine.index.codes(range(N)), codes)
    assert engine.index.items(range(N)) == Engine.load(run, "cpu").index.items(range(N))
    (result,) = engine.search_encoded(engine.vectors_of(5), SearchOptions(k=N, beams=N, trace=True))
    assert result.mode == "generate" and len(result.hits) == N and result.trace
    assert [view.depth for view in read_maps(tmp_path / "new").views] == [0]
    with pytest.raises(UserError, match="no codewords, so nothing can be scanned"):
        engine.search_encoded(engine.vectors_of(5), SearchOptions(mode="scan"))
    with pytest.raises(UserError, match="was made of something else"):
        table.write_text(table.read_text(encoding="utf-8").replace(",0 0", ",3 14"))
        serve_ids(table, run, tmp_path / "new")
    table.write_text("id,codes\nthing 0,1 2\n")
    with pytest.raises(UserError, match="no codes for 59 of 60 items, such as 0:1"):
        serve_ids(table, run, tmp_path / "other")


def test_ids_of_a_run_with_an_encoder_are_searched_by_words_and_take_no_items(tmp_path):
    run = publish_tiny_run(tmp_path / "run", fused=True)
    np.save(tmp_path / "ids.npy", np.arange(40).reshape(-1, 1) // [10, 1] % 10)
    serve_ids(tmp_path / "ids.npy", run.path, tmp_path / "new")
    engine = Engine.load(tmp_path / "new", "cpu")
    (result,) = engine.search([Query(text="a dog")], SearchOptions(k=3))
    assert len(result.hits) == 3 and result.query_codes == ()
    assert engine.index.fused is None, "those of the run belong to its own codes"
    with pytest.raises(
        UserError, match="no codewords, so nothing can be scanned, quantized or added"
    ):
        index_command([str(tmp_path / "new"), "add", str(tmp_path / "run" / "pictures")])


def test_ids_are_learned_from_the_queries_whose_targets_are_still_items(
    path, tmp_path, monkeypatch, capsys
):
    """path: a trained run, of which an item is gone and to which one was added."""
    given = []
    fit = decoder.fit
    monkeypatch.setattr(ids.decoder, "fit", lambda *parts: [given.append(parts), fit(*parts)][1])
    (tmp_path / "more").mkdir()
    Image.effect_noise((32, 32), 90).save(tmp_path / "more" / "new.png")
    collection = Collection(Run(path).manifest["collection"])
    gone = next(
        query.positives[0] for query in collection.queries("train") if len(query.positives) == 1
    )
    shutil.copytree(path / "features", tmp_path / "features")
    assert (
        index_command([str(path), "remove", gone])
        == index_command([str(path), "add", str(tmp_path / "more")])
        == 0
    )
    # which a removal erases, and training makes again
    shutil.copytree(tmp_path / "features", path / "features")
    index = Index.load(Run(path).folder("index"))
    np.save(tmp_path / "ids.npy", np.arange(index.n).reshape(-1, 1) // [10, 1] % 10)
    serve_ids(tmp_path / "ids.npy", path, tmp_path / "new")

    n = index.n
    said = f"trained on {n:,} candidates and has {n:,} items, {n - 1:,} of them in common: "
    assert said in capsys.readouterr().out
    _, data, val, targets, settings, *_ = given[0]
    names = [item.id for item in index.items(range(n))]
    first = collection.rows()[0]
    for split, known in (("train", data), ("val", val)):
        encoded = np.load(path / "features" / split / "embedding.npy")
        asked = {
            query.text: ({*query.positives} - {gone}, vector)
            for query, vector in zip(collection.queries(split, first), encoded)
        }
        of_row = np.flatnonzero(known.pairs.rows == 0)
        assert {known.pairs.texts[q] for q in of_row} == {
            text for text, (positives, _) in asked.items() if positives
        }
        for q in of_row:
            targeted = known.pairs.positives[known.pairs.offsets[q] : known.pairs.offsets[q + 1]]
            positives, vector = asked[known.pairs.texts[q]]
            assert {names[row] for row in targeted} == positives
            assert np.allclose(known.query_files.fused("")[q, 0], vector, atol=1e-2)
    assert settings.self_queries and len(targets.codes) == n
    assert Engine.load(tmp_path / "new", "cpu").index.n == n


def test_a_parquet_file_holds_vectors_texts_and_pictures(tmp_path):
    table = pyarrow.table({"title": [f"thing {n}" for n in range(N)], "embedding": list(vectors())})
    parquet.write_table(table, tmp_path / "x.parquet")
    main([str(tmp_path / "run"), "--vectors", str(tmp_path / "x.parquet")])
    engine = Engine.load(tmp_path / "run", "cpu")
    assert engine.index.items([7])[0].text == "thing 7"
    assert np.allclose(
        engine.index.embeddings[7] @ vectors()[7], np.linalg.norm(vectors()[7]), rtol=1e-3
    )
    parquet.write_table(pyarrow.table({"v": [[1.0, 2.0], [1.0]]}), tmp_path / "bad.parquet")
    with pytest.raises(UserError, match="have different lengths; expected 2 numbers each"):
        list(open_vectors(tmp_path / "bad.parquet").normalized())
