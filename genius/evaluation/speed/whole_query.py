"""What one person waits for: the stages of one query at batch 1; writes RUN/reports/whole_query.json and .md.

    python -m genius.evaluation.speed.whole_query RUN

The pictures are drawn at random, a new one for every query, because the engine remembers those that it has seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

from genius.errors import exit_on_user_error
from genius.evaluation.arguments import add_decoder_dtype, add_device, add_run, add_seed, command_line, command_parser
from genius.evaluation.speed.machine import describe_machine
from genius.evaluation.speed.timing import Times, measure_in_turns
from genius.evaluation.tables import table
from genius.files import write_report
from genius.runtime import keep_freed_memory
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from genius.texts import query_text

SIDES = (512, 384)  # of a picture, in pixels
TEXT, INSTRUCTION = "a red car in front of an old house, seen from the left", "Find a picture that shows this."
ROUNDS, PATIENCE = 15, 60.0


def measure(engine: Engine, seed: int) -> dict[str, Times]:
    """Milliseconds of each stage, and of whole searches, all in turns."""
    encoder, device, text = engine.encoder, engine.device, query_text(INSTRUCTION, TEXT)
    present, none = torch.ones(1, dtype=torch.bool), torch.zeros(0)

    def draw(count: int, number: int) -> Image.Image:
        rng = np.random.default_rng((seed, number))
        small = rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)
        return Image.fromarray(small).resize(SIDES, Image.Resampling.BICUBIC)

    @torch.inference_mode()
    def image_tower(picture: Image.Image) -> None:
        encoder(encoder.preprocess([picture]).to(device), present, none, ~present).image.cpu()

    @torch.inference_mode()
    def text_tower(_: Image.Image) -> None:
        encoder(none, ~present, encoder.tokenize([text]).to(device), present).text.cpu()

    encoded = engine.encode([Query(text=TEXT, instruction=INSTRUCTION)])

    def search(**chosen: Any) -> Callable[[Image.Image], object]:
        return lambda _: engine.retrieve(encoded, SearchOptions(**chosen))

    def whole(text: str, pictured: bool) -> Callable[[Image.Image], object]:
        def search_whole(picture: Image.Image) -> object:
            other = ImageOps.mirror(picture) if text else picture  # the engine remembers the features of a picture
            return engine.search([Query(text, other if pictured else None, INSTRUCTION)])

        return search_whole

    stages = {
        "resize a picture, image tower": image_tower,
        "text tower": text_tower,
        "search, as served": search(),
        **{f"search, {mode}": search(mode=mode) for mode in ("exact", "set", "fast")},
        "whole query: text": whole(TEXT, False),
        "whole query: picture": whole("", True),
        "whole query: picture and text": whole(TEXT, True),
    }
    return measure_in_turns(stages, draw, 1, ROUNDS, PATIENCE)


def markdown(report: dict[str, Any]) -> str:
    """The stages, one below the other."""
    machine = report["machine"]
    cells = [
        {"one query": stage, "ms, median": f"{times['median']:.1f}", "least": f"{times['least']:.1f}"}
        for stage, times in report["stages"].items()
    ]
    about = f"`{report['command']}`; {machine['processor']}, {machine['threads']} threads, torch {machine['torch']}"
    return f"# One query\n\n{about}\n\n{table(cells)}\n"


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.speed.whole_query", __doc__)
    add_run(parser)
    add_device(parser)
    add_decoder_dtype(parser)
    add_seed(parser, "the pictures")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device, options.decoder_dtype)
    report = {
        "command": command_line("genius.evaluation.speed.whole_query", arguments),
        "machine": describe_machine(engine.device),
        "items": engine.index.n,
        "stages": measure(engine, options.seed),
    }
    write_report(options.run / "reports" / "whole_query", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
