"""Plants: what grows in the ground, and what grows in a pot."""

from __future__ import annotations

import math

from genius.demo_world.paint import Paint, ellipse, path, solid, stroke
from genius.demo_world.things.thing import Thing

SHINE = "rgba(255,255,255,.38)"  # where light falls on a crown or a cap
SHADE = "rgba(28,12,40,.28)"  # what lies in the shadow of a part above it
BARK, BARK_LINE = "#8a5a36", "#3c2412"
LEAF, LEAF_LINE = "#57a548", "#22502a"
SAND, SAND_LINE = "#dcb877", "#80602e"
FLOWER = 39  # y of the middle of the sunflower's head


def tree(paint: Paint, style: str) -> str:
    return _conifer(paint) if style == "conifer" else _round_tree(paint)


def _round_tree(paint: Paint) -> str:
    trunk = solid(
        '<path d="M43 60 C45 76 44 88 33 96 Q44 94 48 96 Q54 93 67 96 C57 88 56 76 58 60 Z"/>', BARK, BARK_LINE, 1.7
    )
    boughs = path("M46 78 L30 64 L36 60 L50 71 L62 58 L68 61 L55 78 Z", BARK, BARK_LINE, 1.3)
    crown = solid(
        '<path d="M26 70 C11 73 1 62 6 51 C-2 41 5 27 17 26 C18 11 34 4 45 10 C55 0 74 3 78 17 '
        'C92 17 100 32 93 43 C101 54 92 69 78 67 C72 77 56 78 50 70 C44 78 31 78 26 70 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    clumps = path(
        "M26 70 C11 73 1 62 6 51 C11 61 22 63 29 57 C34 66 47 66 52 58 C58 65 72 64 76 54 C84 57 91 52 93 43 "
        "C101 54 92 69 78 67 C72 77 56 78 50 70 C44 78 31 78 26 70 Z",
        SHADE,
    )
    lobes = stroke(
        "M17 26 C23 24 29 26 32 31 M78 17 C71 16 65 20 63 27 M93 43 C87 38 80 39 77 43 "
        "M45 10 C50 12 53 16 54 21 M36 49 C36 42 43 39 48 43",
        paint.line,
        1.4,
    )
    gloss = path("M12 42 C10 34 15 30 21 31 C23 20 33 14 42 18 C35 20 30 25 29 34 C22 33 16 36 12 42 Z", SHINE)
    return trunk + boughs + crown + clumps + lobes + gloss


def _conifer(paint: Paint) -> str:
    trunk = solid('<path d="M43 78 L41 96 Q50 94 59 96 L57 78 Z"/>', BARK, BARK_LINE, 1.7)
    tiers = "".join(
        solid(f'<path d="{d}"/>', paint.fill, paint.line, 1.8) + path(shadow, SHADE)
        for d, shadow in (
            (
                "M50 38 C58 58 72 72 92 80 C90 87 82 88 77 84 C73 91 64 91 60 86 C56 92 44 92 40 86 C36 91 27 91 23 84 "
                "C18 88 10 87 8 80 C28 72 42 58 50 38 Z",
                "M32 66 Q50 78 68 66 L71 69.5 Q50 83 29 69.5 Z",
            ),
            (
                "M50 20 C57 38 68 52 84 59 C82 65 75 66 70 63 C67 69 59 69 55 64 C52 68 48 68 45 64 C41 69 33 69 30 63 "
                "C25 66 18 65 16 59 C32 52 43 38 50 20 Z",
                "M36 45.5 Q50 55 64 45.5 L67 50 Q50 61 33 50 Z",
            ),
            (
                "M50 1 C56 18 63 30 75 37 C73 42 67 43 63 40 C60 46 54 46 50 41 C46 46 40 46 37 40 C33 43 27 42 25 37 "
                "C37 30 44 18 50 1 Z",
                "",
            ),
        )
    )
    gloss = path(
        "M47 11 Q44 24 34 34 Q42 32 47 11 Z M38 50 Q32 56 26 58 Q34 59 38 50 Z M34 71 Q27 77 19 80 Q30 80 34 71 Z",
        SHINE,
    )
    return trunk + tiers + gloss


def tulip(paint: Paint, style: str) -> str:
    stem = stroke("M50 54 C51 70 49 84 50 95", LEAF_LINE, 6.4) + stroke("M50 54 C51 70 49 84 50 94.6", LEAF, 3.8)
    left = solid('<path d="M49 95 C28 94 14 78 13 58 C27 64 42 76 49 95 Z"/>', LEAF, LEAF_LINE, 1.6)
    right = solid('<path d="M51 95 C70 94 86 82 89 64 C73 68 58 78 51 95 Z"/>', LEAF, LEAF_LINE, 1.6)
    veins = stroke("M46 90 C38 80 30 72 20 66 M55 90 C63 81 71 75 81 70", LEAF_LINE, 1.1)
    back = path(
        "M26 26 C30 14 36 8 40 6 C46 8 48 12 50 15 C52 12 54 8 60 6 C64 8 70 14 74 26 L50 44 Z",
        paint.dark,
        paint.line,
        1.7,
    )
    sides = "".join(
        solid(f'<path d="{d}"/>', paint.fill, paint.line, 1.8)
        for d in (
            "M50 60 C24 62 12 46 14 28 C14.5 17 17 9 19 3 C34 8 46 22 52 44 C54 54 54 58 50 60 Z",
            "M50 60 C76 62 88 46 86 28 C85.5 17 83 9 81 3 C66 8 54 22 48 44 C46 54 46 58 50 60 Z",
        )
    )
    front = solid(
        '<path d="M50 60.5 C34 60 27 48 30 36 C33 25 42 18 50 12 C58 18 67 25 70 36 C73 48 66 60 50 60.5 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    gloss = path(
        "M20 26 C20 19 21 14 23 11 C27 13 29 16 30 18 C25 24 24 30 25 38 C22 38 20 32 20 26 Z "
        "M36 40 C36 33 41 28 46 24 C43 31 41 36 41 44 C41 49 36 46 36 40 Z",
        SHINE,
    )
    return left + right + veins + stem + back + sides + front + gloss


def cactus(paint: Paint, style: str) -> str:
    return _branched_cactus(paint) if style == "branched" else _round_cactus(paint)


def _round_cactus(paint: Paint) -> str:
    pads = "".join(
        solid(
            f'<ellipse cx="{cx}" cy="{cy}" rx="{rx}" ry="{ry}" transform="rotate({turn} {cx} {cy})"/>',
            paint.fill,
            paint.line,
            1.8,
        )
        for cx, cy, rx, ry, turn in ((22, 34, 15.5, 20, -32), (76, 30, 16.5, 21.5, 30), (50, 59, 27, 27, 0))
    )
    spines = stroke(
        "M37 48 v4.5 M34.8 50.2 h4.4 M54 42 v4.5 M51.8 44.2 h4.4 M64 56 v4.5 M61.8 58.2 h4.4 "
        "M45 63 v4.5 M42.8 65.2 h4.4 M17 24 v4.5 M14.8 26.2 h4.4 M23 38 v4.5 M20.8 40.2 h4.4 "
        "M74 21 v4.5 M71.8 23.2 h4.4 M82 34 v4.5 M79.8 36.2 h4.4",
        paint.line,
        1.3,
    )
    buds = "".join(
        solid(
            f'<path d="M{x} {y} c-9 -4 -8 -11 -6 -14 l4 4 l2 -5 l2 5 l4 -4 c2 3 3 10 -6 14 Z"/>',
            "#f0609a",
            "#7a1f4a",
            1.3,
        )
        for x, y in ((11, 21), (88, 14), (48, 34))
    )
    pot = solid('<path d="M25 82 L30 93 Q31 96 35 96 H65 Q69 96 70 93 L75 82 Z"/>', "#c9673c", "#5d2712", 1.7)
    rim = solid('<rect x="21" y="75" width="58" height="9" rx="3"/>', "#d97a4a", "#5d2712", 1.7)
    return buds + pads + spines + pot + rim


def _branched_cactus(paint: Paint) -> str:
    sand = path("M6 96 C12 88 30 86 50 86 C70 86 88 88 94 96 Z", SAND, SAND_LINE, 1.5)
    stones = ellipse(24, 93, 5, 3, "#a9977e", SAND_LINE, 1.2) + ellipse(78, 93.4, 4, 2.6, "#a9977e", SAND_LINE, 1.2)
    arms = "".join(
        solid(f'<path d="{d}"/>', paint.fill, paint.line, 1.8)
        for d in (
            "M40 68 C16 69 5 62 5 46 V33 C5 20 25 20 25 33 V43 C25 49 31 50 40 49 Z",
            "M60 58 C84 59 95 52 95 36 V24 C95 11 75 11 75 24 V33 C75 39 69 40 60 39 Z",
        )
    )
    body = solid('<path d="M34 90 V18 C34 -4 66 -4 66 18 V90 Q50 94 34 90 Z"/>', paint.fill, paint.line, 1.8)
    ribs = stroke(
        "M43 10 V86 M50 7 V87 M57 10 V86 M12 32 V46 C12 56 20 60 31 60 M18 30 V44 "
        "M88 23 V36 C88 46 80 50 69 50 M82 21 V34",
        paint.line,
        1,
    )
    spines = stroke(
        "M34 24 l-4 -2 M34 38 l-4 -2 M34 78 l-4 -2 M66 28 l4 -2 M66 66 l4 -2 M66 80 l4 -2 M5 44 l-4 -2 "
        "M12 62 l-3 3 M95 34 l4 -2 M88 53 l3 3",
        paint.line,
        1.5,
    )
    return sand + arms + body + ribs + spines + stones


def mushroom(paint: Paint, style: str) -> str:
    stalk = solid(
        '<path d="M38 46 C40 64 39 78 31 90 C34 97 66 97 69 90 C61 78 60 64 62 46 Z"/>', "#f3e6cd", "#6d5330", 1.7
    )
    skirt = path(
        "M37 60 C43 64 57 64 63 60 L69 71 Q64 69 62 74 Q57 70 54 75 Q50 71 46 75 Q43 70 38 74 Q36 69 31 71 Z",
        "#fff6e2",
        "#6d5330",
        1.4,
    )
    under = solid('<path d="M4 51 C14 66 86 66 96 51 C80 44 20 44 4 51 Z"/>', "#e6cfa6", "#6d5330", 1.5)
    gills = stroke(
        "M14 54 L38 50 M24 58 L42 51 M37 60.5 L46 51 M50 61.5 V51 M63 60.5 L54 51 M76 58 L58 51 M86 54 L62 50",
        "#a9844f",
        1.3,
    )
    cap = solid(
        '<path d="M4 51 C-2 22 26 3 50 3 C74 3 102 22 96 51 C86 57 75 50 50 50 C25 50 14 57 4 51 Z"/>',
        paint.fill,
        paint.line,
        1.9,
    )
    gloss = path("M14 38 C15 24 26 14 39 11 C44 11 43 15 39 16 C30 20 23 27 20 39 C18 44 13 44 14 38 Z", SHINE)
    grass = path(
        "M12 96 Q13 88 7 83 Q16 85 18 90 Q19 82 25 77 Q23 86 26 90 Q30 86 35 86 Q30 91 31 96 Z "
        "M66 96 Q67 89 64 84 Q71 86 72 91 Q76 82 84 79 Q80 86 81 91 Q86 87 92 88 Q87 91 86 96 Z",
        LEAF,
        LEAF_LINE,
        1.4,
    )
    return stalk + under + gills + skirt + cap + gloss + grass


def sunflower(paint: Paint, style: str) -> str:
    stem = stroke("M50 60 C52 74 49 86 50 94", LEAF_LINE, 7) + stroke("M50 60 C52 74 49 86 50 93.6", LEAF, 4.4)
    leaves = "".join(
        solid(f'<path d="{d}"/>', LEAF, LEAF_LINE, 1.5)
        for d in ("M49 94 C40 97 22 95 14 79 C29 75 45 81 49 94 Z", "M51 90 C58 94 78 91 86 76 C71 72 55 77 51 90 Z")
    )
    veins = stroke("M46 91 Q34 86 22 82 M54 88 Q66 83 78 78", LEAF_LINE, 1.1)
    behind = path(_petals(20), paint.dark, paint.line, 1.5)
    front = solid(f'<path d="{_petals(0)}"/>', paint.fill, paint.line, 1.6)
    disc = solid(f'<circle cx="50" cy="{FLOWER}" r="14"/>', "#6a3b1c", "#2e1608", 1.7)
    spiral = [(2.9 * math.sqrt(i + 0.6), 2.4 * i) for i in range(16)]  # seeds grow on Fermat's spiral
    seeds = " ".join(f"M{50 + r * math.cos(a):.1f} {FLOWER + r * math.sin(a):.1f} h.1" for r, a in spiral)
    return stem + leaves + veins + behind + front + disc + stroke(seeds, "#d3974a", 2.3)


def _petals(turn: float) -> str:
    """Nine broad pointed petals around the sunflower's middle; the first is turned by `turn` degrees."""
    inner, outer, half = 18, 38.3, math.pi / 9

    def at(radius: float, angle: float) -> str:
        return f"{50 + radius * math.sin(angle):.1f} {FLOWER - radius * math.cos(angle):.1f}"

    return "".join(
        f"M{at(inner * 0.6, a)} L{at(inner, a - half)} Q{at(outer * 0.86, a - half * 1.1)} {at(outer, a)} "
        f"Q{at(outer * 0.86, a + half * 1.1)} {at(inner, a + half)} Z"
        for a in (math.radians(turn) + 2 * half * i for i in range(9))
    )


def palm(paint: Paint, style: str) -> str:
    trunk = solid('<path d="M46 34 C55 54 52 78 37 96 H59 C65 78 65 54 56 34 Z"/>', "#b3814d", "#4d3015", 1.7)
    rings = stroke(
        "M51 50 Q56 52 61 49 M53 60 Q58 62.5 62.5 59 M52 70 Q57 72.5 62 69 M49 80 Q55 83 61 79.5 M44 89 Q52 92.5 59 89",
        "#6d4622",
        1.6,
    )
    nuts = "".join(
        solid(f'<circle cx="{x}" cy="{y}" r="5.5"/>', "#7a4a26", "#34190a", 1.4)
        for x, y in ((45, 37), (58, 37), (51.5, 42))
    )
    fronds = "".join(
        solid(f'<path d="{_frond(*tip)}"/>', paint.fill, paint.line, 1.6)
        for tip in ((27, 6, 12), (75, 6, 12), (8, 66, 38), (94, 66, 38), (0, 34, 30), (102, 34, 30))
    )
    veins = stroke("M48 32 Q23 10 8 34 M54 32 Q79 10 94 34 M47 33 Q20 24 12 62 M55 33 Q82 24 90 62", paint.line, 1.2)
    return trunk + rings + fronds + veins + nuts


def _frond(x: float, y: float, lift: float) -> str:
    """A feathered leaf that arches from the top of the palm's trunk to its tip at (x, y)."""
    root_y, teeth = 33, 5
    bend_x, bend_y = (51 + x) / 2, (root_y + y) / 2 - lift

    def at(t: float, drop: float) -> str:
        px = (1 - t) ** 2 * 51 + 2 * t * (1 - t) * bend_x + t * t * x
        py = (1 - t) ** 2 * root_y + 2 * t * (1 - t) * bend_y + t * t * y
        return f"{px:.1f} {py + drop:.1f}"

    steps = [1 - (i + 1) / (teeth + 1) for i in range(teeth)]
    points = [at(t + 0.02, 10 + 17 * math.sin(math.pi * t)) for t in steps]
    notches = [at(t - 0.05, 4 + 12 * math.sin(math.pi * t)) for t in steps]
    hem = " ".join(f"L{point} L{notch}" for point, notch in zip(points, notches, strict=True))
    return f"M51 {root_y} Q{bend_x:.1f} {bend_y:.1f} {x} {y} {hem} Z"


THINGS = (
    Thing("tree", "plant", tree, ("round", "conifer")),
    Thing("tulip", "plant", tulip),
    Thing("cactus", "plant", cactus, ("round", "branched")),
    Thing("mushroom", "plant", mushroom),
    Thing("sunflower", "plant", sunflower),
    Thing("palm", "plant", palm),
)
