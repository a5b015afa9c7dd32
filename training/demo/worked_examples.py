"""The worked examples of the demo: twelve queries that cover all eight tasks of the world.

    python -m training.demo.worked_examples RUN

Pictures are drawn from their description; instructions are phrasings of the training split.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from genius.collections.images import open_image
from genius.demo_world.phrasings import PHRASINGS
from genius.demo_world.picture import Picture, render
from genius.demo_world.placement import Figure
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import command_parser
from training.distributed import expect_one_process
from training.example_writing import PIXELS, QUALITY, Row, Worked, write_worked

WORKED = (
    Worked(
        "Three instructions",
        (Row("drawn_mscoco", 3), Row("drawn_nights", 4), Row("drawn_oven", 8)),
        picture=Picture(
            (Figure("penguin", "pink", "plain", "standing", "large"),), scene="beach", time="dusk", variant=1
        ),
    ),
    Worked(
        "In your own words",
        (Row("drawn_mscoco", 0),),
        "Two golden tables right of a pink starry clock in a snowfield at sunrise",
    ),
    Worked(
        "What does it show?",
        (Row("drawn_mscoco", 3, 1),),
        picture=Picture(
            (Figure("penguin", "white", "striped", "standing"), Figure("sofa", "pink", "spotted")),
            "left of",
            "snowfield",
            variant=5,
        ),
    ),
    Worked(
        "More like this",
        (Row("drawn_nights", 4, 1),),
        picture=Picture(
            (Figure("harp", "white", "starry", size="large"),), scene="beach", time="dusk", variant=3, frame="print"
        ),
    ),
    Worked(
        "What is it called?",
        (Row("drawn_oven", 6, 1),),
        "What do you call this animal?",
        Picture((Figure("owl", "brown", "plain", "perched", "large"),), scene="forest", time="night", variant=11),
    ),
    Worked(
        "The same, but …",
        (Row("drawn_fashioniq", 7, 1),),
        "I want it knee-high.",
        Picture((Figure("boot", "black", "plain", "ankle", "large"),), scene="city", variant=2, frame="magazine"),
    ),
    Worked("In the press", (Row("drawn_edis", 2, 2),), "Port Quillton stands up for three locomotives"),
    Worked("A question", (Row("drawn_webqa", 1),), "Where does the striped pink guitar come from?"),
    Worked(
        "What it needs",
        (Row("drawn_infoseek", 8),),
        "What does this require?",
        Picture((Figure("butterfly", "yellow", "plain", "flying", "large"),), scene="snowfield", variant=38),
    ),
    Worked(
        "Another place",
        (Row("drawn_cirr", 7, 1),),
        "Put it in a snowfield, by day.",
        Picture((Figure("balloon", "blue", "plain"),), scene="harbour", time="dawn", variant=9, frame="film"),
    ),
    Worked("In the shop", (Row("drawn_fashion200k", 0),), "Red tartan umbrella for rainy walks"),
    Worked("An illustrated page", (Row("drawn_webqa", 2),), "How old is the yellow hot-air balloon?"),
)


def write_examples(run: Path) -> None:
    """Write the examples into a run."""
    write_worked(run, WORKED, PHRASINGS, _webp)


def _webp(picture: Picture) -> bytes:
    stream = io.BytesIO()
    open_image(render(picture, PIXELS)).save(stream, "WEBP", quality=QUALITY, method=6)
    return stream.getvalue()


def main(argv: Sequence[str] | None = None) -> None:
    parser = command_parser("training.demo.worked_examples", "Write the demo's worked examples into a run.")
    parser.add_argument("run", type=Path, help="a trained run")
    write_examples(parser.parse_args(argv).run)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
