"""A run all of whose texts try to run a script: captions, facts, ids, instructions, names, titles, examples, reports.

Every script that gets through calls `ran(number)`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from genius.collections.keys import id_key
from genius.explore.map_data import PART, MappedQuery, Maps, View
from genius.run import Run
from genius.schema import Item, Modality
from tests.explore.report_tables.sample_reports import REPORTS, RETRIEVAL, pool
from tests.search import tiny

TEXTS = (
    "<script>ran(0)</script>",
    "<img src=x onerror=ran(1)>",
    "<svg onload=ran(2)><path/></svg>",
    "\"'><img src=x onerror=ran(3)>",
    "</script><script>ran(4)</script>",
    "</textarea></style></title><img src=x onerror=ran(5)>",
    "${ran(6)} {{constructor.constructor('ran(6)')()}} <%= ran(6) %>",
    '[click](javascript:ran(7)) ![x](x"onerror="ran(7))',
    "<a href=javascript:ran(8) id=x>click</a>",
    "<iframe srcdoc='<script>parent.ran(9)</script>'></iframe>",
    "<details open ontoggle=ran(10)>x</details>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror=ran(11)&gt;'>",
    "&lt;img src=x onerror=ran(12)&gt; &#60;script&#62;ran(12)&#60;/script&#62;",
    "\\u003cimg src=x onerror=ran(13)\\u003e \\x3cscript>ran(13)\\x3c/script>",
    "<base href=javascript:ran(14)//><meta http-equiv=refresh content='0;url=javascript:ran(14)'>",
    "$$\\href{javascript:ran(15)}{x}$$ \\(\\htmlData{x=1}{<img src=x onerror=ran(15)>}\\)",
    "<form action=javascript:ran(16)><button autofocus onfocus=ran(16)>x</button></form>",
    "<video><source onerror=ran(17)></video><object data=javascript:ran(17)></object>",
    "<style>@keyframes x{}</style><p style='animation:x 1s' onanimationstart=ran(18)>x</p>",
    "%{customdata}<b onmouseover=ran(19)>x</b><extra></extra><a href='javascript:ran(19)' target=_self>x</a>",
)
TITLE, FOLDER = TEXTS[0], TEXTS[1]  # of the run; a folder has no slash
ITEMS = 3 * len(TEXTS)
FACTS = ("kind", "credit", "licence", "origin", "color")  # of an item, as its card shows them
SHORT = [text for text in TEXTS if "/" not in text]  # fit for the name of a file


def items(number: int, pictures: Path) -> list[Item]:
    """Pictures, texts and pairs in turn, three with each text, each text as a dataset of its own."""
    made = []
    for at in range(ITEMS):
        text, modality = TEXTS[at // 3], Modality(at % 3)
        image = None if modality is Modality.TEXT else f"{at}.png"
        if image:
            noise = np.random.default_rng(at).integers(0, 255, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(noise).resize((40, 30)).save(pictures / image)
        facts = json.dumps(dict.fromkeys(FACTS, text))
        made.append(Item(f"{at // 3}:{at}", modality, "" if modality is Modality.IMAGE else text, image, facts))
    return made


def maps(ids: list[str]) -> Maps:
    keys, size = np.sort([id_key(id) for id in ids]), len(ids) + len(TEXTS)
    queries = tuple(
        MappedQuery(f"{at}:{at}", Modality.TEXT, text, text, (ids[at], ids[at + 1])) for at, text in enumerate(TEXTS)
    )
    places = np.random.default_rng(3).uniform(-1, 1, (2, size, 2)).astype(np.float32)
    views = (View(), View(tiny.LEVELS))
    return Maps(views, places, keys, queries, dict(enumerate(TEXTS)), "test", {"with": {}, "without": {}})


def reports() -> dict:
    rows = [
        {"task": 0, "dataset": text, "cut": 5, "queries": 10, "systems": pool("global")["rows"][0]["systems"]}
        for text in TEXTS
    ]
    named = dict.fromkeys(("command", "collection", "split", "machine"), TEXTS[3])
    hostile, (file, *_) = REPORTS["hostile"]["parts"]["load"], REPORTS["hostile"]["files"].values()
    return REPORTS | {
        "retrieval": RETRIEVAL | named | {"pools": [pool("global") | {"rows": rows}]},
        "speed": REPORTS["speed"]
        | {"command": TEXTS[2], "machine": {"processor": TEXTS[4], "threads": 2, "gpu": None}},
        "training": REPORTS["training"] | {"encoder": [{"epoch": 0, "loss": 1.0, TEXTS[5]: 0.5, "seconds": 1.0}]},
        "hostile": {
            "command": TEXTS[6],
            "machine": TEXTS[7],
            "parts": {
                text: hostile | {"outcomes": {TEXTS[9]: 3}, "measured": {text: 1.0, text + "s": [1, 2]}}
                for text in TEXTS
            },
            "files": {text: file | {"code": text} for text in TEXTS},
            "not_run": list(TEXTS),
        },
        "uploads": REPORTS["uploads"] | {"far": [{"pictures": text, "count": 1, "far": 1.0} for text in TEXTS]},
    }


def publish(folder: Path) -> Path:
    """The run, in a folder whose name is such a text too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "tiny_items", items)
        patch.setattr(tiny, "INSTRUCTIONS", [(query, Modality.IMAGE, text) for query in Modality for text in TEXTS])
        run = tiny.publish_tiny_run(folder / FOLDER)
    ids = [f"{at // 3}:{at}" for at in range(ITEMS)]
    run.publish(PART, maps(ids).save, ("fusion", "quantizer", "index"))
    about = {"title": TITLE, "paragraphs": list(TEXTS[:12]), "ask": list(TEXTS[12:16]), "ask_with_text": [TEXTS[16]]}
    run.record(collection=TEXTS[17], about=about)
    (run.path / "CREDITS.md").write_text("\n".join(TEXTS))
    write_examples(run)
    (run.path / "reports").mkdir()
    for name, report in reports().items():
        (run.path / "reports" / f"{name}.json").write_text(json.dumps(report))
    return run.path


def write_examples(run: Run) -> None:
    asked = [{"instruction": "Find the picture.", "target": "image"}]
    examples = [{"title": text, "text": text, "asked": [asked[0] | {"instruction": text}]} for text in TEXTS]
    (run.path / "examples").mkdir()
    (run.path / "examples" / "examples.json").write_text(json.dumps(examples))
