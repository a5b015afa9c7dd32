"""Small reports of a run, as its stages and evaluations write them."""

from __future__ import annotations

import json
from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)>"
SYSTEMS = {"dense": 0.5, "beam": 0.4, "beam + re-rank": 0.6, "fast + re-rank": 0.55}
TRAINING = {
    "encoder": [
        {"epoch": 0, "loss": 4.5, "val_hit_at_1": 0.1, "val_hit_at_5": 0.3, "seconds": 90.2},
        {"epoch": 1, "loss": 2.25, "val_hit_at_1": 0.2, "val_hit_at_5": 0.5, "seconds": 91.0},
    ],
    "quantizer": [{"epoch": 0, "contrastive": 2.7, "quantization": 0.0025, "val_hit_at_5": 0.4, "seconds": 3.0}],
    "decoder": [
        {"epoch": 0, "loss": 2.4, "seconds": 7.9},
        {"epoch": 1, "loss": 2.0, "val_recall": 0.66, "val_recall_by_geometry": 0.6, "seconds": 7.1},
    ],
}
HEALTH = {
    "items": 43_728,
    "ids": 43_713,
    "largest_bucket": 4,
    "items_alone": 0.999,
    "modality_purity": 1.0,
    "levels": [
        {"level": 0, "codes": 3, "used": 3, "perplexity": 2.604},
        {"level": 1, "codes": 256, "used": 250, "perplexity": 224.78},
    ],
    "val_hit_at_5": 0.68,
    "val_hit_at_5_quantized": 0.676,
}
SPEED = {
    "command": "python -m genius.evaluation.speed OUT",
    "beams": 50,
    "batches": [1, 32],
    "machine": {"processor": "A processor", "threads": 2, "gpu": None},
    "cells": [
        {
            "ids": ids,
            "batch": batch,
            "items": items,
            "system": system,
            "milliseconds": {"median": factor * batch + items / 10_000},
        }
        for ids in ("uniform", "realistic")
        for batch in (1, 32)
        for items in (100_000, 10_000)
        for system, factor in (("generate", 600), ("set", 20))
        if (system, items) != ("generate", 100_000)
    ],
    "equal": {
        "items": 62_351,
        "queries": 700,
        "cut": 5,
        "batches": [1, 32],
        "systems": [
            {
                "system": "set + re-rank",
                "hit_rate": 0.1686,
                "bytes_per_item": 527.7,
                "milliseconds": {"1": {"median": 22.6}, "32": {"median": 10.0}},
            }
        ],
    },
}


def rates(rate: float) -> dict:
    return {
        "headline": rate,
        "interval": [rate - 0.05, rate + 0.05],
        "share_of_dense": rate / SYSTEMS["dense"],
        "hit": {"1": rate / 2, "5": rate, "10": rate + 0.1, "50": rate + 0.2},
    }


def pool(scope: str, easier: float = 0.0) -> dict:
    systems = {system: rates(rate + easier) for system, rate in SYSTEMS.items()}
    return {
        "scope": scope,
        "items": "test",
        "rows": [
            {"task": 0, "dataset": "drawn", "cut": 5, "queries": 1_190, "systems": systems},
            {"task": 7, "dataset": HOSTILE, "cut": 10, "queries": 90, "systems": systems},
        ],
        "average": {
            "systems": systems,
            "differences": {"beam + re-rank − dense": {"headline": 0.1, "interval": [0.02, 0.18]}},
            "milliseconds": {
                "dense": {"encode": 5.0, "scan": 1.0},
                "beam": {"encode": 5.0, "fuse": 0.5, "beam": 40.0, "expand": 0.1},
            },
        },
    }


RETRIEVAL = {
    "command": "python -m genius.evaluation RUN",
    "collection": "the world of seed 0",
    "split": "test",
    "beams": [10, 50],
    "seed": 0,
    "index": {"items": 12_663},
    "machine": "cpu, 2 threads",
    "batch": {"encoded": 64, "searched": 32},
    "pools": [pool("global"), pool("local", easier=0.1)],
}
UPLOADS = {
    "command": "python -m training.benchmarks.uploads RUN $GENIUS_DATA",
    "answers": [
        {
            "instruction": "What is this?",
            "way": "as the page answers",
            "uploads": 200,
            "hit": {"1": 0.4, "5": 0.7, "10": 0.8},
            "interval": {"1": [0.35, 0.45], "5": [0.65, 0.75], "10": [0.75, 0.85]},
        }
    ],
    "similar": [
        {
            "set": "fashion",
            "uploaded": "Casual Shoes",
            "categories": "shoes",
            "uploads": 20,
            "hit": {"1": 0.5, "5": 0.9, "10": 1.0},
        }
    ],
    "far": [{"pictures": "noise", "count": 100, "far": 1.0}],
}


def cell(mean: float, published: float | None = None) -> dict:
    return {"published": published, "mean": mean, "interval": [mean - 0.05, mean + 0.05], "values": [mean]}


ABLATIONS = {
    "command": "python -m training.ablations COLLECTION RUN",
    "run": "run",
    "collection": "world",
    "size": "Scale small: K × M = 64 × 7.",
    "standing": ["drawn_mscoco task 0 for mscoco", f"{HOSTILE} task 3 for mscoco"],
    "claims": [
        {
            "block": "paper",
            "claim": "Modality helps (5.5)",
            "table": "4",
            "verdict": "holds",
            "difference": "+9.0 [+1.0, +17.0]",
        }
    ],
    "tables": [
        {
            "number": "4",
            "name": "Table 4",
            "title": "Key components",
            "scope": "global",
            "columns": ["drawn_mscoco text → image", f"{HOSTILE} image → text"],
            "extras": ["seeds"],
            "blocks": [
                {
                    "block": "paper",
                    "name": "The paper's decoder",
                    "rows": [
                        {"name": "GENIUS", "cells": [cell(0.5, 0.554), cell(0.6, 0.827)], "extras": {"seeds": "3"}},
                        {"name": "w/o L_cl", "cells": [cell(0.1, 0.0), cell(0.2, 0.001)], "extras": {"seeds": "3"}},
                    ],
                },
                {
                    "block": "ours",
                    "name": "Our decoder",
                    "rows": [{"name": "GENIUS", "cells": [cell(0.7), None], "extras": {"seeds": "1"}}],
                },
            ],
        }
    ],
}
ENCODERS = ABLATIONS | {"claims": []}
HOSTILE_SUITE = {
    "command": "python -m training.benchmarks.hostile OUT",
    "machine": "Linux on 2 cores",
    "parts": {
        "inputs": {
            "tests": 12,
            "seconds": 61.5,
            "outcomes": {"refused in a sentence": 1_200, "answered": 34},
            "measured": {},
            "skipped": [],
            "failures": ["test_a_text: traceback: 1 (inputs)"],
        },
        "load": {
            "tests": 2,
            "seconds": 400.2,
            "outcomes": {"answered": 10_000},
            "measured": {"searches": 10_000, "p99, ms": 812.5, "memory, MB, after each 500": [300, 310]},
            "skipped": ["test_slow_uploads: no network namespace"],
            "failures": [],
        },
    },
    "files": {
        "tests/hostile/inputs/test_uploads.py": {
            "tests": 12,
            "seconds": 61.5,
            "processor_seconds": 40.0,
            "outcomes": {"refused in a sentence": 1_200, "answered": 34},
            "measured": {},
            "skipped": [],
            "failures": ["test_a_text: traceback: 1 (inputs)"],
            "code": "0123abcd",
        }
    },
    "not_run": ["tests/hostile/load/test_swaps.py"],
}
CAPTIONS = {
    "command": "python -m genius.evaluation.caption_table RUN",
    "note": "Recall at 1, 5 and 10.",
    "lines": [
        {"set": "MSCOCO", "of": "MSCOCO", "method": "GRACE", "trained": "MSCOCO", "paper": True, "unseen": False}
        | {"rates": [0.1, 0.2, 0.3], "queries": None, "candidates": None},
        {"set": "drawn_mscoco", "of": "MSCOCO", "method": "GENIUS", "trained": "world", "paper": False, "unseen": True}
        | {"rates": [0.2, 0.4, 0.6], "intervals": [[0.1, 0.3], [0.3, 0.5], [0.5, 0.7]]}
        | {"queries": 190, "candidates": 1200},
    ],
}
THROUGHPUT = {
    "command": "python -m genius.evaluation.speed.throughput RUN",
    "machine": {"processor": "A processor", "threads": 2, "gpu": None},
    "beams": 50,
    "batch": 32,
    "decoder_parameters": 2_500_000,
    "images": 800,
    "cells": [
        {"system": system, "items": items, "levels": levels, "rounds": 3, "per_second": speed / items}
        for system, levels, speed in (("CLIP + flat", 0, 1e6), ("GENIUS", 9, 1e5), (HOSTILE, 2, 1e5))
        for items in (1_000, 10_000)
    ],
}
SHARED_CODES = {
    "command": "python -m genius.evaluation.shared_codes RUN",
    "collection": "world",
    "couples": 40,
    "levels": 3,
    "agreement": [
        {"first": "image", "second": "text", "dataset": HOSTILE, "couples": 40}
        | {
            "levels": [
                {"level": level, "same": 0.5, "interval": [0.4, 0.6], "by_chance": 0.01}
                | {"same_so_far": 0.5 / level, "by_chance_so_far": 0.01 / level}
                for level in (1, 2)
            ]
        }
    ],
    "elsewhere": [
        {"factor": "kind", "items": 900}
        | {
            "levels": [
                {"level": 1, "right": 0.75, "without_codes": 0.1, "pairs": 2},
                {"level": 2, "right": None, "without_codes": None, "pairs": 0},
            ]
        }
    ],
    "examples": [],
}
REPORTS = {
    "retrieval": RETRIEVAL,
    "speed": SPEED,
    "training": TRAINING,
    "health": HEALTH,
    "ablations": ABLATIONS,
    "captions": CAPTIONS,
    "throughput": THROUGHPUT,
    "shared_codes": SHARED_CODES,
    "encoders": ENCODERS,
    "uploads": UPLOADS,
    "hostile": HOSTILE_SUITE,
}


def write_reports(run: Path, *names: str) -> Path:
    """All of them, or those named."""
    folder = run / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or REPORTS:
        (folder / f"{name}.json").write_text(json.dumps(REPORTS[name]))
    return run
