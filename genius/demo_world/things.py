"""Every kind of thing the demo world can draw.

Its drawings are SVG files, one per style: `drawings/car-driving.svg` shows a car. A drawing fits a box of 100 × 100
units, y downwards, facing right, and can be opened in a browser or a vector editor. Paint replaces the variables of its
fills and strokes: --fill (the color with its pattern), --base (the color alone), --light, --dark, --line, --shadow.
Each element has a line of its own. Elements of class "seam" lie below a patterned fill, so that nothing shows between
the tiles of the pattern; a plain thing is drawn without them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from genius.demo_world.paint import Paint, mixed

DRAWINGS = Path(__file__).parent / "drawings"
SEAM = ' class="seam"'


@dataclass(frozen=True)
class Thing:
    """A kind of thing."""

    name: str
    family: str
    styles: tuple[str, ...] = ("",)  # poses of animals and vehicles, cuts of garments; "" if there is only one
    rests: float = 96  # y of the lowest point: where it touches the ground
    flies: bool = False  # at home in the air

    def draw(self, paint: Paint, style: str) -> str:
        """SVG elements of one style, in a box of 100 × 100 units."""
        lines = _lines(f"{self.name}-{style}" if style else self.name)
        if paint.fill == paint.base:
            markup = "".join(line for line in lines if SEAM not in line)
        else:
            markup = "".join(lines).replace(SEAM, "")
        shadow = mixed(paint.dark, "#1c1420", 0.35)
        return re.sub(
            r"var\(--(\w+)\)", lambda name: shadow if name[1] == "shadow" else getattr(paint, name[1]), markup
        )


@cache
def _lines(drawing: str) -> tuple[str, ...]:
    """The elements of a file, without the root and the definitions, which are there for viewing it alone."""
    return tuple((DRAWINGS / f"{drawing.replace(' ', '-')}.svg").read_text(encoding="utf-8").splitlines()[2:-1])


KINDS = (
    Thing("cat", "animal", ("sitting", "walking", "sleeping")),
    Thing("dog", "animal", ("sitting", "running", "sleeping")),
    Thing("horse", "animal", ("standing", "galloping")),
    Thing("rabbit", "animal", ("sitting", "hopping")),
    Thing("elephant", "animal", ("standing", "sitting")),
    Thing("giraffe", "animal", ("standing", "grazing")),
    Thing("owl", "animal", ("perched", "flying"), flies=True),
    Thing("penguin", "animal", ("standing", "sliding")),
    Thing("turtle", "animal", ("walking", "resting")),
    Thing("fish", "animal", ("swimming",), flies=True),
    Thing("butterfly", "animal", ("flying",), flies=True),
    Thing("snail", "animal", ("crawling",)),
    Thing("car", "vehicle", ("parked", "driving")),
    Thing("bus", "vehicle", ("parked", "driving")),
    Thing("truck", "vehicle", ("parked", "driving")),
    Thing("bicycle", "vehicle", ("parked", "driving")),
    Thing("airplane", "vehicle", flies=True),
    Thing("sailboat", "vehicle"),
    Thing("train", "vehicle", ("parked", "driving")),
    Thing("balloon", "vehicle", flies=True),
    Thing("rocket", "vehicle", ("standing", "launching")),
    Thing("helicopter", "vehicle", flies=True),
    Thing("guitar", "instrument"),
    Thing("drum", "instrument"),
    Thing("trumpet", "instrument"),
    Thing("piano", "instrument"),
    Thing("violin", "instrument"),
    Thing("harp", "instrument"),
    Thing("house", "building"),
    Thing("lighthouse", "building", ("dark", "lit")),
    Thing("windmill", "building"),
    Thing("castle", "building"),
    Thing("tower", "building"),
    Thing("bridge", "building"),
    Thing("temple", "building"),
    Thing("tent", "building"),
    Thing("shirt", "garment", ("short-sleeved", "long-sleeved")),
    Thing("dress", "garment", ("short", "long")),
    Thing("trousers", "garment", ("full-length", "cropped")),
    Thing("skirt", "garment", ("short", "long")),
    Thing("coat", "garment", ("hooded", "collared")),
    Thing("hat", "garment", ("brimmed", "peaked")),
    Thing("sneaker", "garment", ("low", "high")),
    Thing("boot", "garment", ("ankle", "knee-high")),
    Thing("sock", "garment"),
    Thing("glove", "garment"),
    Thing("handbag", "garment", ("strapped", "clutch")),
    Thing("umbrella", "garment", ("open", "folded")),
    Thing("scarf", "garment", ("knotted", "hanging")),
    Thing("backpack", "garment"),
    Thing("apple", "food"),
    Thing("cupcake", "food"),
    Thing("ice cream", "food"),
    Thing("donut", "food"),
    Thing("mug", "food"),
    Thing("teapot", "food"),
    Thing("pumpkin", "food"),
    Thing("cheese", "food"),
    Thing("tree", "plant", ("round", "conifer")),
    Thing("tulip", "plant"),
    Thing("cactus", "plant", ("round", "branched")),
    Thing("mushroom", "plant"),
    Thing("sunflower", "plant"),
    Thing("palm", "plant"),
    Thing("chair", "furniture", ("upright", "rocking")),
    Thing("sofa", "furniture"),
    Thing("table", "furniture"),
    Thing("lamp", "furniture", ("unlit", "lit")),
    Thing("bed", "furniture"),
    Thing("bookcase", "furniture"),
    Thing("clock", "furniture"),
)

THINGS: dict[str, Thing] = {thing.name: thing for thing in KINDS}
