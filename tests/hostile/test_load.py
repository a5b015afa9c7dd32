"""Searches from many clients while the index changes: no errors, right answers, flat memory.

Settings come from the environment, so that the load can be put on any run, which is copied:

    GENIUS_LOAD_RUN=assets/photos GENIUS_LOAD_SEARCHES=1000 pytest -m hostile
    tests/hostile/test_load.py
"""

import json
import os
import random
import shutil
import threading
import time
from functools import partial
from pathlib import Path

import httpx
import numpy as np

from genius.collections.images import open_image
from genius.index import update
from genius.index.item_source import uploaded_items
from genius.schema import Modality, Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from tests.hostile.test_inputs import META
from tests.search.tiny import publish_tiny_run
from tests.ui.started import started
from tests.waiting import wait_until

RUN = os.environ.get("GENIUS_LOAD_RUN", "")
SEARCHES = int(os.environ.get("GENIUS_LOAD_SEARCHES", "10000"))
CLIENTS = 16
SWAPS = 100
OPTIONS = SearchOptions() if RUN else SearchOptions(beams=10, k=5)
# scores and cosines that are closer may change places by rounding, which depends on the batch
MARGIN = 1e-4
GROWTH = 40  # MB from a tenth of the searches to the end, by a straight line through samples


def traced(options: SearchOptions) -> SearchOptions:
    """Options of the search whose result `is_clear` reads: one result more, and every level."""
    return SearchOptions(
        beams=options.beams, k=options.k + 1, mode=options.mode, order=options.order, trace=True
    )


def is_clear(result: SearchResult, reranked: bool) -> bool:
    """No beam was kept, and no hit ranked, by less than the margin."""
    gaps = [-np.diff(level.score) for level in result.trace]
    if reranked:  # of the beams only the last kept one and the first of the others must be apart
        gaps = [
            gap[level.kept.sum() - 1 :][:1] for gap, level in zip(gaps, result.trace, strict=True)
        ]
        gaps.append(-np.diff([hit.cosine for hit in result.hits]))
    return np.concatenate(gaps).min() > MARGIN


def make_queries(engine, folder):
    """Queries made of items of the index, a third texts, a third images, a third pairs; and files
    of their pictures.
    """
    rng = random.Random(0)
    index = engine.index
    queries = []
    pictured = np.flatnonzero(index.modalities != Modality.TEXT)
    worded = np.flatnonzero(index.modalities)
    for number in range(24):
        (item,) = index.items([int(rng.choice(worded.tolist()))])
        file = folder / f"query-{number}.webp" if number % 3 else None
        if file:
            file.write_bytes(index.thumbnail(int(rng.choice(pictured.tolist()))))
        text = "" if number % 3 == 1 else item.text
        queries.append(
            (Query(text, open_image(file) if file else None, "Find it." * (number % 2)), file)
        )
    return queries


class Versions:
    """Publishes versions of the index, one item more or less each, and keeps what one thread gets
    from each.
    """

    def __init__(self, run, engine, queries):
        self.run, self.engine, self.queries = run, engine, queries
        self.models = update.Models(engine.encoder, engine.fusion, engine.quantizer, run=engine.run)
        self.rng = random.Random(1)
        self.added = []
        self.expected = []
        self.keep()

    def publish(self):
        number = len(self.expected)
        if number % 10 == 0:
            update.compact(self.run)
        elif self.added and number % 2:
            update.remove(self.run, [self.added.pop()])
        else:
            text = (
                f"{self.queries[self.rng.randrange(0, len(self.queries), 3)].text} "
                f"{self.rng.random():.6f}"
            )
            update.add(self.run, partial(uploaded_items, [(text, None)]), self.models)
            self.engine.snapshots.reload()
            self.added += [item.id for item in self.engine.index.items([self.engine.index.n - 1])]
        self.engine.snapshots.reload()
        self.keep()

    def keep(self):
        """None stands for a result that rounding decides."""
        wide, results = (
            self.engine.search(self.queries, options) for options in (traced(OPTIONS), OPTIONS)
        )
        self.expected.append(
            [
                [(hit.item.id, hit.cosine, hit.log_prob) for hit in result.hits]
                if is_clear(more, reranked=True)
                else None
                for more, result in zip(wide, results, strict=True)
            ]
        )

    def fits(self, number, hits, versions=slice(None)):
        expected = [version[number] for version in self.expected[versions]]
        return any(known is None or alike(hits, known) for known in expected)


def alike(hits, expected):
    numbers = [[hit[1:] for hit in group] for group in (hits, expected)]
    return [hit[0] for hit in hits] == [hit[0] for hit in expected] and np.allclose(
        *numbers, atol=MARGIN
    )


def search(client, query, file):
    """Raises for any answer but results."""
    picture = None
    if file:
        sent = client.post(
            "/gradio_api/upload", files={"files": (file.name, file.read_bytes())}
        ).raise_for_status()
        picture = {"path": sent.json()[0]} | META
    data = [query.text, picture, query.instruction, OPTIONS.k, OPTIONS.beams, "any"]
    event = (
        client.post("/gradio_api/call/search", json={"data": data})
        .raise_for_status()
        .json()["event_id"]
    )
    kind, data = client.get(f"/gradio_api/call/search/{event}").text.strip().split("\n")[-2:]
    if kind != "event: complete":
        raise RuntimeError(data)
    return [
        (hit["id"], hit["cosine"], sum(hit["log_probabilities"]))
        for hit in json.loads(data.removeprefix("data: "))[0]["hits"]
    ]


class Load:
    """Clients, each from an address of its own, that search in threads until each has had its
    number of answers.
    """

    def __init__(self, url, queries, clients, searches):
        self.queries = queries
        self.answers = []
        self.errors = []
        self.threads = [
            threading.Thread(target=self._ask, args=(url, number, searches // clients), daemon=True)
            for number in range(clients)
        ]
        for thread in self.threads:
            thread.start()

    def running(self):
        time.sleep(0.02)
        return any(thread.is_alive() for thread in self.threads)

    def _ask(self, url, number, searches):
        rng = random.Random(number)
        transport = httpx.HTTPTransport(local_address=f"127.0.1.{number + 1}")
        with httpx.Client(base_url=url, transport=transport, timeout=300) as client:
            for _ in range(searches):
                asked = rng.randrange(len(self.queries))
                try:
                    self.answers.append((asked, search(client, *self.queries[asked])))
                except Exception as error:
                    self.errors.append(repr(error))

    def judge(self, versions):
        assert not self.errors, self.errors[:3]
        wrong = [answer for answer in self.answers if not versions.fits(*answer)]
        assert not wrong, wrong[:3]


def abandon(url, number):
    """Post searches; half of the clients never come for the answer, half leave while they wait."""
    transport = httpx.HTTPTransport(local_address="127.0.2.2")
    with httpx.Client(base_url=url, transport=transport, timeout=60) as client:
        for turn in range(number):
            posted = client.post(
                "/gradio_api/call/search", json={"data": ["abandoned", None, "", 100, 50, "any"]}
            )
            assert posted.status_code in (200, 503), posted.text
            if posted.status_code == 200 and turn % 2:
                with client.stream("GET", f"/gradio_api/call/search/{posted.json()['event_id']}"):
                    pass  # the connection is closed here


def test_searches_while_the_index_changes_and_others_are_abandoned_are_right_and_memory_is_flat(
    tmp_path,
):
    run = tmp_path / "run"
    shutil.copytree(RUN, run) if RUN else publish_tiny_run(run, n=200)
    engine = Engine.load(run, "cpu")
    memory = []
    queries = make_queries(engine, tmp_path)
    with started(run) as server:
        # a full pipe would stop the server
        threading.Thread(target=server.process.stdout.read, daemon=True).start()
        versions = Versions(run, engine, [query for query, _ in queries])
        load = Load(str(server.client.base_url), queries, CLIENTS, SEARCHES)
        abandon(str(server.client.base_url), 4)
        while load.running():
            if len(versions.expected) <= min(SWAPS, len(load.answers) * SWAPS // SEARCHES):
                versions.publish()
            if len(load.answers) >= (len(memory) + 1) * SEARCHES // 40:
                status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
                memory.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
        load.judge(versions)
        last = slice(len(versions.expected) - 1, None)
        # the server follows the run
        wait_until(lambda: versions.fits(0, search(server.client, *queries[0]), last))
    flat = memory[4:]
    assert np.polyfit(range(len(flat)), flat, 1)[0] * len(flat) < GROWTH, memory
