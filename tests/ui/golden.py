"""Views that are compared with what they were: tests/ui/golden/NAME.json, without the words of
their sentences.

GENIUS_GOLDEN=1 pytest tests/ui writes the files anew; look at what changed.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"
# of a sentence: what it quotes and its numbers
FACT = re.compile(r"“[^”]*”|[−+±<>]?\d[\d.,]*(?: (?:%|ms|s|MB)\b)?")


def check_golden(name: str, view: Any) -> None:
    """Assert that a view is plain JSON, and what it was."""
    seen = summary(json.loads(json.dumps(view, ensure_ascii=False)))
    file = FOLDER / f"{name}.json"
    if os.environ.get("GENIUS_GOLDEN"):
        file.write_text(json.dumps(seen, ensure_ascii=False, indent=1) + "\n")
    assert seen == json.loads(file.read_text(encoding="utf-8"))


def summary(view: Any) -> Any:
    """The view with the facts of its sentences, which have more than four words, and without its
    pictures.
    """
    if isinstance(view, dict):
        return {key: summary(value) for key, value in view.items()}
    if isinstance(view, list):
        return [summary(value) for value in view]
    if isinstance(view, float):
        return round(view, 6)
    if not isinstance(view, str):
        return view
    if view.startswith("data:"):
        return "a picture"
    return view if view.count(" ") < 4 else " … ".join(["a sentence", *FACT.findall(view)])
