"""Musical instruments."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.demo_world.things.thing import Thing

EBONY, ROSEWOOD, WOOD, PALE_WOOD, IVORY = "#2d2830", "#4a2f22", "#a5683a", "#dca567", "#fdf8ea"
BRASS, STEEL, STRING = "#f2c14e", "#cfd4db", "#fff6d8"
OUTLINE = 1.8


def guitar(paint: Paint, style: str) -> str:
    neck = rect(46, -2, 8, 60, 1.5, WOOD, paint.line, 1.5) + stroke(
        "M47 8 L53 8 M47 16 L53 16 M47 24 L53 24 M47 32 L53 32", STEEL, 1.2
    )
    pegs = "".join(ellipse(x, y, 3.2, 2.4, IVORY, paint.line, 1.2) for x in (40.5, 59.5) for y in (-21, -13.5, -6))
    head = path("M68.3 15.7 L76.4 -0.7 Q84.3 -0.1 88.2 6.6 L77 21.2 Z", paint.fill, paint.line, 1.5)
    body = solid(
        '<path d="M60.3 38.3 C71.3 40 78.8 49.9 73.4 58.5 C69.9 64.1 64.4 63.2 62.7 67.3 C61 71.4 67.8 80 62 '
        "89.2 C55.4 99.8 41.5 97.1 28.5 89 C15.5 80.9 7.1 69.6 13.7 59.1 C19.5 49.8 30.1 52.1 33 48.8 C36 "
        '45.5 32.8 40.9 36.3 35.3 C41.7 26.6 53.9 29.1 60.3 38.3 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    board = rect(46, 28, 8, 24, 1.5, WOOD, paint.line, 1.4)
    hole = ellipse(50, 63, 12, 12, EBONY, PALE_WOOD, 3)
    bridge = rect(34, 93, 32, 7, 2.6, WOOD, paint.line, 1.4)
    strings = stroke("M47.8 -6 L46.5 96 M50 -6 L50 96 M52.2 -6 L53.5 96", STRING, 1)
    # Only what has no pattern is turned by a transform: a turned pattern takes several times as long to draw.
    turned = '<g transform="translate(7.6 18) rotate(32 50 50) scale(.73)">'
    return turned + pegs + neck + "</g>" + head + body + turned + board + hole + bridge + strings + "</g>"


def drum(paint: Paint, style: str) -> str:
    shell = solid('<path d="M7 30 L7 80 C7 99 93 99 93 80 L93 30 Z"/>', paint.fill, paint.line, OUTLINE)
    zigzag = "M9 41 L23 88 L36 48 L50 92 L64 48 L77 88 L91 41"
    cords = stroke(zigzag, paint.line, 3.2) + stroke(zigzag, STRING, 1.7)
    hoops = "".join(
        stroke(curve, paint.line, 7) + stroke(curve, BRASS, 4.2)
        for curve in ("M6 31 C6 48 94 48 94 31", "M6 79 C6 97.5 94 97.5 94 79")
    )
    skin = ellipse(50, 30, 43.5, 10.5, IVORY, paint.line, OUTLINE) + ellipse(50, 31, 37, 7.5, "none", "#e3d8bd", 1.2)
    sticks = "M16 1 L53 30 M88 0 L60 27"
    tips = ellipse(54, 31, 4.8, 3.8, PALE_WOOD, EBONY, 1.3) + ellipse(59, 27.5, 4.8, 3.8, PALE_WOOD, EBONY, 1.3)
    return shell + cords + hoops + skin + stroke(sticks, EBONY, 5) + stroke(sticks, PALE_WOOD, 2.8) + tips


def trumpet(paint: Paint, style: str) -> str:
    tube = "M30 40 L64 40 C84 40 84 72 64 72 L28 72 C8 72 8 40 28 40 M8 40 L40 40"
    tubes = stroke(tube, paint.line, 14.5) + stroke(tube, paint.fill, 11)
    shine = stroke("M11 37.5 L30 37.5 M28 69.5 L31 69.5 M64 69.5 Q72 69 74 60", "#ffffff99", 1.8)
    stems = "M36 30 L36 18 M48 30 L48 18 M60 30 L60 18"
    casings = "".join(f"M{x} 33 q0 -4 5 -4 q5 0 5 4 v45 q0 4 -5 4 q-5 0 -5 -4 Z " for x in (31, 43, 55))
    valves = (
        stroke(stems, paint.line, 5)
        + stroke(stems, STEEL, 2.4)
        + "".join(ellipse(x, 17, 4.6, 3, IVORY, paint.line, 1.4) for x in (36, 48, 60))
        + solid(f'<path d="{casings}"/>', paint.fill, paint.line, 1.6)
    )
    rings = stroke(
        "M32.5 35 L39.5 35 M44.5 35 L51.5 35 M56.5 35 L63.5 35 M32.5 76 L39.5 76 M44.5 76 L51.5 76 M56.5 76 L63.5 76",
        paint.light,
        2.6,
    )
    bell = solid(
        '<path d="M62 33 C76 33 87 26 93 7 L97 7 C102 10 102 70 97 73 L93 73 C87 54 76 47 62 47 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    rim = ellipse(97, 40, 4.4, 33, paint.dark, paint.line, OUTLINE)
    mouthpiece = path("M-1 31 Q1 30 2 33 Q4 36 9 36 L9 44 Q4 44 2 47 Q1 50 -1 49 Z", STEEL, paint.line, 1.4)
    return '<g transform="translate(-1 14)">' + tubes + shine + bell + rim + valves + rings + mouthpiece + "</g>"


def piano(paint: Paint, style: str) -> str:
    legs = (
        path("M10 70 L22 70 L18 93 L13 93 Z M78 70 L90 70 L87 93 L82 93 Z", paint.dark, paint.line, 1.5)
        + ellipse(15.5, 93.5, 3, 2.5, BRASS, paint.line, 1.2)
        + ellipse(84.5, 93.5, 3, 2.5, BRASS, paint.line, 1.2)
    )
    pedals = path("M44 70 L56 70 L54 88 L46 88 Z", paint.dark, paint.line, 1.4) + stroke(
        "M44 92 L45.5 90 M50 93 L50 90 M56 92 L54.5 90", "#c9952c", 2.6
    )
    lid = solid(
        '<path d="M8 44 C2 30 2 14 10 3 C34 1 54 8 62 20 C70 32 84 28 93 44 Z"/>', paint.fill, paint.line, OUTLINE
    )
    prop = stroke("M72 46 L56 17", paint.line, 3) + stroke("M72 46 L56 17", PALE_WOOD, 1.4)
    plate = path("M12 46 L88 46 L84 40 L16 40 Z", BRASS, paint.line, 1.3)
    music = path(
        "M35 27 L49.5 29 L49.5 44 L35 44 Z M65 27 L50.5 29 L50.5 44 L65 44 Z", IVORY, paint.line, 1.3
    ) + stroke("M38 33 L46 34 M38 38 L46 38.5 M54 34 L62 33 M54 38.5 L62 38", "#8d8794", 1.1)
    case = solid(
        '<path d="M4 46 Q4 43 8 43 L92 43 Q96 43 96 46 L98 70 Q98 75 93 75 L7 75 Q2 75 2 70 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    keyboard = rect(9, 54, 82, 13, 1.5, IVORY, paint.line, 1.5) + stroke(
        "".join(f"M{9 + 82 / 14 * n:.1f} 54.5 V66.5 " for n in range(1, 14)), "#a39c92", 0.8
    )
    sharps = "".join(
        f"M{9 + 82 / 14 * n:.1f} 55.5 L{9 + 82 / 14 * n:.1f} 60.5 " for n in range(1, 14) if n % 7 not in (0, 3)
    )
    return legs + pedals + lid + plate + prop + music + case + keyboard + stroke(sharps, EBONY, 3.2)


def violin(paint: Paint, style: str) -> str:
    stick = "M9 99 C5 62 8 26 13 -8"
    bow = (
        stroke("M13.5 98 L17.5 -5", EBONY, 3)
        + stroke("M13.5 98 L17.5 -5", IVORY, 1.6)
        + stroke(stick, EBONY, 5)
        + stroke(stick, WOOD, 3)
        + rect(7, 84, 8.5, 12, 1.5, EBONY, "#17171c", 1)
    )
    neck = stroke("M46 -3 L66 -3 M46 5 L66 5", paint.line, 4.6) + path(
        "M51.5 -8 L60.5 -8 L60 20 L52 20 Z", paint.dark, paint.line, 1.5
    )
    scroll = ellipse(35.7, 4.6, 5.6, 5.6, paint.fill, paint.line, 1.4)
    curl = stroke("M59 -17 Q52 -19 52 -13 Q53 -8 58 -10 Q60 -13 56.5 -13.5", paint.light, 1.6)
    body = solid(
        '<path d="M49.3 35.3 C57.6 28.3 69.9 28.5 73.2 37.7 C74.7 41.9 72.2 44.6 75.9 47.5 C70.2 52.9 72.9 59 '
        "81.3 57.7 C81.2 61 88.5 61 91.8 68.5 C96.1 78.1 86.3 87.3 74.7 92.4 C63.2 97.6 49.8 98.7 45.5 89.1 "
        "C42.2 81.6 47.1 76.2 44.6 74.1 C51.1 68.7 48.4 62.6 40.5 63.2 C40.9 58.6 37.2 58.6 35.1 54.6 "
        'C30.5 46.1 38.6 36.8 49.3 35.3 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    curls = "M44 64 C39 64 40 70 42.5 76 C45 82 45.5 88 40.5 88 M68 64 C73 64 72 70 69.5 76 C67 82 66.5 88 71.5 88"
    holes = stroke(curls, paint.light, 4) + stroke(curls, EBONY, 2.4)
    board = path("M53 4 L59 4 L60.5 60 L51.5 60 Z", ROSEWOOD, paint.line, 1.3)
    tailpiece = path("M51 92 L61 92 L58.5 113 L53.5 113 Z", ROSEWOOD, paint.line, 1.3) + path(
        "M47.5 79 Q56 74 64.5 79 L63.5 83 L48.5 83 Z", PALE_WOOD, paint.line, 1.2
    )
    strings = stroke("M54.5 2 L53.8 94 M57.5 2 L58.2 94", STRING, 1)
    turned = '<g transform="translate(17.5 5.8) rotate(-24 50 50) scale(.745)">'
    return turned + bow + neck + "</g>" + scroll + body + turned + curl + holes + board + tailpiece + strings + "</g>"


def harp(paint: Paint, style: str) -> str:
    strings = "".join(
        f"M{x} {top} L{x} {bottom} "
        for x, top, bottom in (
            (25, 26, 84),
            (33, 32, 80),
            (41, 36, 74),
            (49, 36, 67),
            (57, 33, 59),
            (65, 30, 51),
            (73, 28, 43),
        )
    )
    wires = stroke(strings, paint.line, 2.2) + stroke(strings, STRING, 1.1)
    box = solid('<path d="M22 88 L80 24 Q86 20 92 26 Q95 31 90 37 L44 95 Z"/>', paint.fill, paint.line, OUTLINE)
    neck = solid(
        '<path d="M9 22 C6 8 16 1 24 7 C33 15 40 26 52 23 C64 20 70 10 82 11 C94 12 99 24 92 32 '
        'C84 36 82 25 74 26 C64 28 58 36 46 37 C34 38 26 28 20 26 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    column = solid('<path d="M8 20 Q14 14 22 20 L23 86 L9 86 Z"/>', paint.fill, paint.line, OUTLINE)
    flutes = stroke("M13 33 L13 75 M18 33 L18 75", paint.dark, 1.3)
    rings = rect(6, 24, 19, 5, 2, BRASS, paint.line, 1.3) + rect(7, 78, 18, 5, 2, BRASS, paint.line, 1.3)
    crown = ellipse(15, 10, 4, 4, BRASS, paint.line, 1.4) + ellipse(86, 20, 3, 3, BRASS, paint.line, 1.3)
    foot = solid(
        '<path d="M4 90 Q4 84 10 84 L40 84 Q48 86 52 92 Q53 96 48 96 L8 96 Q4 96 4 90 Z"/>',
        paint.dark,
        paint.line,
        OUTLINE,
    )
    return wires + box + column + flutes + neck + rings + crown + foot


THINGS = (
    Thing("guitar", "instrument", guitar),
    Thing("drum", "instrument", drum),
    Thing("trumpet", "instrument", trumpet),
    Thing("piano", "instrument", piano),
    Thing("violin", "instrument", violin),
    Thing("harp", "instrument", harp),
)
