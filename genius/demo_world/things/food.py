"""Food, and what it is served in."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.demo_world.things.thing import Thing

SHINE = "rgba(255,255,255,.5)"  # a gloss on a wet or glazed surface
SHADE = "rgba(28,12,40,.28)"  # what lies in the shadow of a part above it
STEM, LEAF, LEAF_LINE = "#7a4a26", "#5fae4b", "#25552b"
DOUGH, CRUST, DOUGH_LINE = "#dba163", "#a86a2f", "#6b3d18"


def apple(paint: Paint, style: str) -> str:
    body = solid(
        '<path d="M50 31 C41 19 9 17 6 50 C4 74 25 96 38 96 C44 96 46 93.5 50 93.5 C54 93.5 56 96 62 96 '
        'C75 96 96 74 94 50 C91 17 59 19 50 31 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    dimple = path("M35 27.5 Q50 42 65 27.5 Q57 25.5 50 31 Q43 25.5 35 27.5 Z", SHADE)
    stem = path("M48 34 Q47 18 52 5 L59 7 Q53 19 53 34 Q50.5 36 48 34 Z", STEM, "#3d2210", 1.4)
    leaf = solid('<path d="M53 20 C57 5 74 0 90 5 C86 20 70 27 53 20 Z"/>', LEAF, LEAF_LINE)
    gloss = path("M15 50 C15 38 20 31 29 29 C33 29 33 33 30 35 C25 39 23 45 22 53 C21 58 15 57 15 50 Z", SHINE)
    return body + dimple + gloss + stem + leaf + stroke("M56 19 Q70 15 84 8", LEAF_LINE, 1.2)


def cupcake(paint: Paint, style: str) -> str:
    wrapper = solid('<path d="M17 62 L27 94 Q50 98.5 73 94 L83 62 Z"/>', "#f2dcb3", "#6d4726", 1.6)
    pleats = stroke("M28 68 L34.5 94 M39 68 L42.5 95 M50 68 V95.5 M61 68 L57.5 95 M72 68 L65.5 94", "#c99b62", 2.2)
    shadow = path("M18 66 Q50 82 82 66 L81 71 Q50 86 19.5 71 Z", SHADE)
    swirls = "".join(
        solid(f'<path d="{d}"/>', paint.fill, paint.line, 1.7)
        for d in (
            "M15 70 C3 68 2 50 16 47 C34 40 66 40 84 47 C98 50 97 68 85 70 C79 77 70 76 66 71 C60 78 42 79 36 72 "
            "C30 77 20 76 15 70 Z",
            "M23 54 C12 50 15 35 27 34 C40 28 62 28 74 34 C86 37 87 50 77 54 C62 62 38 61 23 54 Z",
            "M33 37 C25 33 29 22 38 21 C44 15 58 12 64 21 C73 24 74 34 67 37 C57 43 42 42 33 37 Z",
        )
    )
    folds = stroke("M24 50 Q48 60 73 47 M34 34 Q50 41 65 31", paint.line, 1.1)
    gloss = path(
        "M13 53 Q17 49 22 50 Q16 55 14 61 Q10 57 13 53 Z M25 39 Q28 36 32 37 Q27 41 26 46 Q22 43 25 39 Z", SHINE
    )
    cherry = (
        stroke("M51 8 Q53 1 62 -1", "#5a6a2c", 2)
        + solid('<circle cx="50" cy="15" r="9"/>', "#d22b45", "#5e0f1e", 1.5)
        + ellipse(46.8, 11.6, 2.4, 1.8, "#fff")
    )
    return wrapper + pleats + shadow + swirls + folds + gloss + cherry


def ice_cream(paint: Paint, style: str) -> str:
    cone = solid('<path d="M27 56 L50 96 L73 56 Z"/>', DOUGH, DOUGH_LINE, 1.8)
    waffle = stroke(
        "M35 59 L57.3 81.3 M47 59 L61.6 73.6 M59 59 L66.5 66.5 M65 59 L42.7 81.3 M53 59 L38.4 73.6 M41 59 L33.5 66.5",
        CRUST,
        1.6,
    )
    shadow = path("M27 56 L73 56 L66 68 Q50 76 34 68 Z", SHADE)
    wafer = path("M64 24 L78 -2 L87 3 L74 29 Z", DOUGH, DOUGH_LINE, 1.6) + stroke(
        "M70 19 L76.5 23 M75 9 L82 13", CRUST, 1.5
    )
    lower = solid(
        '<path d="M20 62 C8 60 12 51 15 48 C15 30 30 22 50 22 C70 22 85 30 85 48 C88 51 92 60 80 62 '
        'C76 66 70 66 67 62 C65 72 57 74 54 64 C48 69 40 69 36 63 C31 67 24 67 20 62 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    upper = solid(
        '<path d="M26 40 C15 38 20 31 23 28 C22 11 34 2 50 2 C66 2 78 11 77 28 C80 31 85 38 74 40 '
        'C69 44 64 43 61 39 C55 45 45 45 40 39 C36 44 30 43 26 40 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    gloss = path("M29 22 C29 14 34 8 41 7 C45 7 45 11 41 12 C37 14 35 18 34 23 C33 26 29 26 29 22 Z", SHINE)
    between = path("M21 42 Q50 56 79 42 Q76 50 60 50 Q40 52 21 42 Z", SHADE)
    return cone + waffle + shadow + wafer + lower + between + upper + gloss


def donut(paint: Paint, style: str) -> str:
    dough = solid(
        '<path fill-rule="evenodd" d="M50 8 A47 44 0 1 1 49.9 8 Z M50 42 A13 10.5 0 1 0 50.1 42 Z"/>',
        DOUGH,
        DOUGH_LINE,
        1.8,
    )
    rim = stroke("M38 57 A13 10.5 0 0 0 62 57", "#f0c68e", 2.2)
    glaze = solid(
        '<path fill-rule="evenodd" d="M50 8 C78 8 97 25 96 48 C95 58 91 56 88 64 C85 74 79 66 74 74 '
        "C70 82 63 76 56 80 C51 84 46 84 41 79 C35 74 31 83 25 74 C20 66 15 73 12 63 C9 55 4 58 4 47 "
        "C4 25 23 8 50 8 Z M50 36 C40 36 34 41 34 47 C34 55 39 54 42 58 C46 62 49 58 53 60 "
        'C58 62 60 56 63 54 C66 52 66 49 66 47 C66 41 60 36 50 36 Z"/>',
        paint.fill,
        paint.line,
        1.7,
    )
    sprinkles = "".join(
        stroke(d, color, 3)
        for d, color in (
            ("M27 30 l4 -4 M80 36 l2 5 M46 70 l6 1", "#ffffff"),
            ("M44 17 l6 -1 M19 56 l3 4 M70 64 l5 -3", "#ffd84d"),
            ("M66 22 l5 3 M16 40 l1 -5", "#54d0c4"),
            ("M33 66 l4 3 M82 55 l3 -4", "#ff6f91"),
        )
    )
    gloss = path("M14 38 C17 26 26 18 38 15 C42 15 42 18 39 19 C30 22 23 28 20 38 C18 43 13 43 14 38 Z", SHINE)
    return dough + rim + glaze + sprinkles + gloss


def mug(paint: Paint, style: str) -> str:
    handle = "M70 42 C104 34 104 82 66 78"
    loop = (
        stroke(handle, paint.line, 13) + stroke(handle, paint.fill, 9.6) + stroke("M74 42 C94 40 96 58 92 66", SHINE, 2)
    )
    body = solid(
        '<path d="M6 32 C6 60 7 78 12 90 C14 95 26 96.5 40 96.5 C54 96.5 66 95 68 90 C73 78 74 60 74 32 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    mouth = ellipse(40, 32, 34, 9.5, paint.light, paint.line, 1.8)
    drink = path("M9.5 34 A31 7.5 0 0 1 70.5 34 Q64 40 40 40 Q16 40 9.5 34 Z", "#6b3a1e", "#3a1c0c", 1.2)
    froth = ellipse(46, 34.5, 13, 2.6, "#c48a54")
    gloss = path("M13 50 Q13 68 18 84 Q22 86 22 82 Q18 66 19 50 Q16 46 13 50 Z", SHINE)
    steam = "M26 22 C18 15 34 11 26 2 M42 20 C34 13 50 8 42 -1 M57 22 C49 15 65 11 57 2"
    return (
        loop
        + body
        + mouth
        + drink
        + froth
        + gloss
        + stroke(steam, "rgba(90,100,120,.45)", 5)
        + stroke(steam, "#ffffff", 3)
    )


def teapot(paint: Paint, style: str) -> str:
    handle = "M22 44 C-6 34 -4 82 26 80"
    loop = stroke(handle, paint.line, 10) + stroke(handle, paint.fill, 6.8)
    spout = solid(
        '<path d="M66 78 C80 76 80 62 82 52 C83 44 86 38 84 35 C88 31 95 32 98 36 C100 39 95 41 94 46 '
        'C92 60 92 84 68 92 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    foot = rect(28, 89, 42, 7, 3, paint.dark, paint.line, 1.6)
    body = solid(
        '<path d="M49 32 C74 32 84 48 83 64 C82 82 68 92 49 92 C30 92 16 82 15 64 C14 48 24 32 49 32 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    lid = solid(
        '<path d="M25 37 C28 22 38 18 49 18 C60 18 70 22 73 37 C66 42 32 42 25 37 Z"/>', paint.fill, paint.line, 1.8
    )
    band = stroke("M25 37 C32 42 66 42 73 37", paint.light, 2.6)
    knob = solid('<circle cx="49" cy="12" r="7"/>', paint.light, paint.line, 1.6)
    gloss = path("M22 62 C22 53 27 45 34 44 C38 45 36 48 33 50 C29 54 28 59 28 65 C27 69 22 68 22 62 Z", SHINE)
    return loop + spout + foot + body + lid + band + knob + gloss


def pumpkin(paint: Paint, style: str) -> str:
    ribs = "".join(
        solid(f'<ellipse cx="{cx}" cy="{cy}" rx="{rx}" ry="{ry}"/>', paint.fill, paint.line, 1.8)
        for cx, cy, rx, ry in (
            (23, 61, 21, 31),
            (77, 61, 21, 31),
            (35, 61, 20, 34),
            (65, 61, 20, 34),
            (50, 61.5, 16.5, 34.5),
        )
    )
    gloss = path("M11 56 C11 46 15 39 20 38 C23 39 21 42 19 45 C17 49 17 54 17 58 C16 62 11 61 11 56 Z", SHINE)
    stem = solid(
        '<path d="M38 32 C43 24 43 14 40 7 C46 2 54 2 58 6 C56 14 57 24 63 31 C58 35 56 30 51 34 '
        'C46 30 43 36 38 32 Z"/>',
        "#6f8a3c",
        "#2f3d16",
        1.6,
    )
    leaf = solid(
        '<path d="M60 28 C62 18 70 20 72 13 C77 17 82 12 89 15 C88 20 96 22 94 29 C86 29 86 36 78 35 '
        'C72 36 66 34 60 28 Z"/>',
        LEAF,
        LEAF_LINE,
    )
    curl = stroke("M42 27 C30 27 20 24 22 16 C25 9 34 14 29 19", LEAF_LINE, 2)
    return curl + ribs + gloss + leaf + stroke("M62 28 Q76 27 86 21", LEAF_LINE, 1.1) + stem


def cheese(paint: Paint, style: str) -> str:
    outline = "M3 52 C10 40 36 20 72 14 C80 13 88 16 91 22 L97 50 Z"
    top = path(outline, paint.fill) + path(outline, SHINE, paint.line, 1.8)
    side = solid('<path d="M3 52 L97 50 L97 92 Q97 96 93 96 L7 96 Q3 96 3 92 Z"/>', paint.fill, paint.line, 1.8)
    rind = path("M97 50 L91 22 C96 26 99 32 99 40 L99 88 Q99 94 97 92 Z", paint.dark, paint.line, 1.6)
    holes = "".join(
        ellipse(cx, cy, rx, ry, paint.dark, paint.line, 1.4)
        + ellipse(cx + 1.2, cy + 1.6, round(rx * 0.66, 2), round(ry * 0.62, 2), SHADE)
        for cx, cy, rx, ry in ((24, 72, 9, 8), (57, 82, 11, 9), (80, 66, 8, 7.5))
    )
    upper = "".join(
        ellipse(cx, cy, rx, ry, paint.base, paint.line, 1.3)
        for cx, cy, rx, ry in ((44, 41, 8, 4), (74, 29, 7, 4), (71, 43, 4.5, 2.2))
    )
    bite = path("M36 52 A9 8.5 0 0 0 54 51.4 Z", paint.dark, paint.line, 1.4)
    return top + rind + side + upper + holes + bite


THINGS = (
    Thing("apple", "food", apple),
    Thing("cupcake", "food", cupcake),
    Thing("ice cream", "food", ice_cream),
    Thing("donut", "food", donut),
    Thing("mug", "food", mug),
    Thing("teapot", "food", teapot),
    Thing("pumpkin", "food", pumpkin),
    Thing("cheese", "food", cheese),
)
