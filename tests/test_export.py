import shutil
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest

from genius import export
from genius.collections.keys import id_key
from genius.errors import UserError
from genius.explore.code_names import CodeName, save_names
from genius.explore.map_data import Maps, Region, View
from genius.index import update
from genius.index.item_source import uploaded_items
from genius.index.store import load_index
from genius.run import Run

SCRIPT = "</script><img src=x onerror=alert(1)> “two\nlines”"


@pytest.fixture(scope="module")
def run(tiny_run, tmp_path_factory) -> Run:
    """The tiny run with a map, names of codes, and an item that was added later: it has no place,
    and is a script.
    """
    path = shutil.copytree(tiny_run.path, tmp_path_factory.mktemp("export") / "run")
    models = update.Models.load(path, "cpu")
    update.add(path, lambda dataset: uploaded_items([(SCRIPT, None)], dataset), models)
    run = Run(path)
    index = load_index(Run(path))
    keys = np.array([id_key(item.id) for item in index.items(range(40))])
    places = np.stack([np.linspace(-1, 1, 40), np.arange(40) % 7 / 7], axis=1, dtype=np.float32)
    regions = (Region(0, None, ("dots",), 40, 30, ""),)
    maps = Maps((View(0, 40),), places[None], keys, regions, np.zeros(40, int), {})
    run.publish("maps", maps.save, ("fusion", "quantizer"))
    names = {
        codes[:2]: CodeName((SCRIPT,), 1, 1, ())
        for codes in map(tuple, index.codes(range(41)).tolist())
    }
    run.publish("names", partial(save_names, names), ("encoder", "fusion", "quantizer"))
    return run


@pytest.mark.parametrize("pictures", [False, True])
def test_a_table_holds_what_the_index_does_and_pandas_opens_it(
    run, tmp_path, monkeypatch, pictures
):
    monkeypatch.setattr(export, "ROWS", 16)  # several row groups
    export.main([str(run.path), str(tmp_path / "out.parquet"), *["--pictures"] * pictures])
    frame = pd.read_parquet(tmp_path / "out.parquet")
    index = load_index(run)
    items = index.items(range(index.n))
    assert frame["id"].tolist() == [item.id for item in items]
    assert frame["text"].tolist() == [item.text for item in items]
    assert frame["kind"].tolist()[:3] == ["image", "text", "pair"]
    assert np.array_equal(np.stack(frame["codes"]), index.codes(range(index.n)))
    assert np.array_equal(np.stack(frame["embedding"]), np.asarray(index.embeddings[:], np.float32))
    assert frame["code_names"].map(list).tolist() == [[SCRIPT]] * index.n
    assert frame["x"].isna().tolist() == [False] * 40 + [True] and frame["x"][39] == 1
    if pictures:
        assert [picture and picture["bytes"] for picture in frame["picture"]] == [
            *map(index.thumbnail, range(index.n))
        ]
    else:
        assert frame["picture"].isna().tolist() == [item.image is None for item in items]


def test_embedding_atlas_opens_a_table(run, tmp_path):
    atlas = pytest.importorskip("embedding_atlas.cli", reason="embedding-atlas is not installed")
    table = tmp_path / "out.parquet"
    made = tmp_path / "atlas.zip"
    export.main([str(run.path), str(table)])
    columns = [
        "--text",
        "text",
        "--x",
        "x",
        "--y",
        "y",
        "--vector",
        "embedding",
        "--features",
        "code_names",
    ]
    atlas.main([str(table), *columns, "--export-application", str(made)], standalone_mode=False)
    with zipfile.ZipFile(made) as files, files.open("data/dataset.parquet") as stream:
        assert pd.read_parquet(stream)["text"].tolist() == pd.read_parquet(table)["text"].tolist()


@pytest.mark.parametrize(
    "words, message",
    [
        (["{run}", "out.csv"], "so name it out.parquet, not out.csv"),
        (["{run}/nothing", "out.parquet"], "is not a run"),
        (["{run}", "--site", "{run}"], "exists; name a new folder"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence_and_leaves_no_file(
    run, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        export.main([word.format(run=run.path) for word in words])
    assert not list(tmp_path.iterdir())


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.slow)])
def test_a_site_opens_without_a_server_and_reads_nothing_as_markup(run, tmp_path, browser, width):
    export.main([str(run.path), "--site", str(tmp_path / "site")])
    page = browser.new_page(viewport={"width": width, "height": 800})
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    address = (tmp_path / "site" / "index.html").as_uri()
    page.goto(address)
    page.get_by_text("41 items").wait_for()
    page.locator("#children a", has_text="1 Text").click()
    page.locator("#path", has_text="1 Text").wait_for()
    page.locator("#children", has_text=SCRIPT.split("\n")[0]).wait_for()
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    page.locator("#items button", has_text=SCRIPT.split("\n")[0]).click()
    page.locator("dialog", has_text="ID: 1 · ").wait_for()
    page.keyboard.press("Escape")
    page.locator("#to-map").click()
    page.locator("#path a").first.click()
    region = page.locator("#contents button", has_text="dots")
    assert region.inner_text() == "dots 40" and page.locator("#keep option").all_inner_texts() == [
        "everything"
    ]
    region.click()
    assert page.evaluate("[chosen, view.scale]") == [0, 2.5]
    region.click()
    assert page.evaluate("[chosen, view.scale]") == [None, 1]
    page.locator("#canvas").focus()
    for key in (*["+"] * 9, "-", *["ArrowRight"] * 2, *["ArrowLeft"] * 2):
        page.keyboard.press(key)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("[view.x, view.y] = [places[0], places[1]]")
    page.keyboard.press("Enter")
    page.locator("dialog[open]").wait_for()
    assert wrong == [] and {url.partition(":")[0] for url in asked} <= {"file", "data"}
    page.close()
