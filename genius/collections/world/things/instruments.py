"""Musical instruments."""

from __future__ import annotations

from genius.collections.world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.collections.world.things.thing import Thing

EBONY, WOOD, PALE_WOOD, IVORY = "#2d2830", "#a5683a", "#dca567", "#fdf8ea"
BRASS, STEEL, STRING = "#f2c14e", "#cfd4db", "#fff6d8"
OUTLINE = 1.8


def guitar(paint: Paint, style: str) -> str:
    neck = rect(46, 6, 8, 52, 1.5, WOOD, paint.line, 1.5) \
        + stroke("M47 20 L53 20 M47 27 L53 27 M47 34 L53 34 M47 41 L53 41", STEEL, 1.2)
    pegs = "".join(ellipse(x, y, 2.8, 2.2, IVORY, paint.line, 1.2) for x in (41, 59) for y in (-12, -5, 2))
    head = path("M43 8 L41 -15 Q50 -20 59 -15 L57 8 Z", paint.dark, paint.line, 1.6)
    body = solid('<path d="M50 46 C62 40 76 46 75 58 C74.5 66 69 68 70 73 C71 78 83 82 83 95 C83 110 68 117 50 117 '
                 'C32 117 17 110 17 95 C17 82 29 78 30 73 C31 68 25.5 66 25 58 C24 46 38 40 50 46 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    board = rect(46, 40, 8, 20, 1.5, WOOD, paint.line, 1.4)
    hole = ellipse(50, 72, 11, 11, EBONY, PALE_WOOD, 2.6)
    bridge = rect(36, 97, 28, 6, 2.4, WOOD, paint.line, 1.4)
    strings = stroke("M47.8 2 L46.5 99 M50 2 L50 99 M52.2 2 L53.5 99", STRING, 0.9)
    return '<g transform="translate(6.5 13.5) rotate(32 50 50) scale(.81)">' + pegs + neck + head + body + board \
        + hole + bridge + strings + "</g>"


def drum(paint: Paint, style: str) -> str:
    shell = solid('<path d="M8 42 L8 80 C8 101 92 101 92 80 L92 42 Z"/>', paint.fill, paint.line, OUTLINE)
    cords = stroke("M10 53 L22 86 L36 59 L50 91 L64 59 L78 86 L90 53", paint.line, 3.4) \
        + stroke("M10 53 L22 86 L36 59 L50 91 L64 59 L78 86 L90 53", STRING, 1.8)
    lower = "M7 80 C7 101 93 101 93 80"
    upper = "M7 43 C7 64 93 64 93 43"
    hoops = "".join(stroke(curve, paint.line, 9) + stroke(curve, BRASS, 6) for curve in (lower, upper))
    skin = ellipse(50, 41, 43, 15.5, IVORY, paint.line, OUTLINE) + ellipse(50, 42, 36, 11.5, "none", "#e3d8bd", 1.2)
    sticks = stroke("M17 8 L54 42 M87 6 L58 38", EBONY, 5) + stroke("M17 8 L54 42 M87 6 L58 38", PALE_WOOD, 2.8) \
        + ellipse(55, 43, 4.6, 3.8, PALE_WOOD, EBONY, 1.3) + ellipse(58, 38, 4.6, 3.8, PALE_WOOD, EBONY, 1.3)
    return shell + cords + hoops + skin + sticks


def trumpet(paint: Paint, style: str) -> str:
    loop = "M30 39 L66 39 C79 39 79 66 66 66 L27 66 C14 66 14 39 27 39"
    lead = "M6 39 L40 39"
    tubes = "".join(stroke(curve, paint.line, 11.5) for curve in (loop, lead)) \
        + "".join(stroke(curve, paint.fill, 8) for curve in (loop, lead))
    shine = stroke("M12 37 L62 37 M28 64 L64 64", "#ffffff88", 1.6)
    valves = "".join(stroke(f"M{x} 33 L{x} 20", STEEL, 3) + ellipse(x, 19, 4.2, 2.6, IVORY, paint.line, 1.3)
                     + rect(x - 4.5, 30, 9, 44, 3, paint.light, paint.line, 1.5) for x in (34, 46, 58))
    bell = solid('<path d="M60 34 C76 34 88 28 94 14 L96 14 C100 14 101 64 96 64 L94 64 C88 50 76 44 60 44 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    rim = ellipse(96, 39, 4.6, 26.5, paint.dark, paint.line, OUTLINE)
    mouthpiece = path("M-2 33 Q-3 32 0 32 L3 35 L9 36 L9 42 L3 43 L0 46 Q-3 46 -2 45 Z", STEEL, paint.line, 1.4)
    ring = ellipse(70, 76, 4, 4, "none", paint.line, 2.2)
    return '<g transform="translate(0 6) rotate(-8 50 50)">' + tubes + shine + bell + rim + valves + mouthpiece \
        + ring + "</g>"


def piano(paint: Paint, style: str) -> str:
    legs = path("M10 70 L22 70 L18 93 L13 93 Z M78 70 L90 70 L87 93 L82 93 Z", paint.dark, paint.line, 1.5) \
        + ellipse(15.5, 93.5, 3, 2.5, BRASS, paint.line, 1.2) + ellipse(84.5, 93.5, 3, 2.5, BRASS, paint.line, 1.2)
    pedals = path("M44 70 L56 70 L54 88 L46 88 Z", paint.dark, paint.line, 1.4) \
        + stroke("M46 89 L44 94 M50 89 L50 95 M54 89 L56 94", BRASS, 2.4)
    lid = solid('<path d="M8 44 C2 30 2 14 10 3 C34 1 54 8 62 20 C70 32 84 28 93 44 Z"/>',
                paint.fill, paint.line, OUTLINE)
    prop = stroke("M72 46 L56 17", paint.line, 3) + stroke("M72 46 L56 17", PALE_WOOD, 1.4)
    plate = path("M12 46 L88 46 L84 40 L16 40 Z", BRASS, paint.line, 1.3)
    music = path("M35 27 L49.5 29 L49.5 44 L35 44 Z M65 27 L50.5 29 L50.5 44 L65 44 Z", IVORY, paint.line, 1.3) \
        + stroke("M38 33 L46 34 M38 38 L46 38.5 M54 34 L62 33 M54 38.5 L62 38", "#8d8794", 1.1)
    case = solid('<path d="M4 46 Q4 43 8 43 L92 43 Q96 43 96 46 L98 70 Q98 75 93 75 L7 75 Q2 75 2 70 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    keyboard = rect(9, 54, 82, 13, 1.5, IVORY, paint.line, 1.5) \
        + stroke("".join(f"M{x:.1f} 54.5 L{x:.1f} 66.5 " for x in (9 + 82 / 14 * n for n in range(1, 14))), "#a39c92", 0.8)
    sharps = "".join(f"M{9 + 82 / 14 * n:.1f} 55.5 L{9 + 82 / 14 * n:.1f} 60.5 "
                     for n in range(1, 14) if n % 7 not in (0, 3))
    return legs + pedals + lid + plate + prop + music + case + keyboard + stroke(sharps, EBONY, 3.2)


def violin(paint: Paint, style: str) -> str:
    bow = stroke("M14 100 C10 60 14 22 20 -8", "#5a3517", 3.4) + stroke("M18 99 L24 -4", IVORY, 1.6) \
        + rect(12, 88, 8, 11, 1.5, EBONY, "#17171c", 1)
    scroll = ellipse(56, -11, 6.5, 6.5, paint.dark, paint.line, 1.5) + ellipse(56, -11, 2.2, 2.2, paint.line) \
        + stroke("M46 0 L66 0 M46 7 L66 7", paint.line, 4.4) + path("M52 -8 L60 -8 L59.5 14 L52.5 14 Z", paint.dark,
                                                                   paint.line, 1.4)
    body = solid('<path d="M56 38 C68 36 80 42 79 54 C78.5 60 75 61 73 63 C69 67 69 75 73 80 C76 83 84 85 84 97 '
                 'C84 110 70 116 56 116 C42 116 28 110 28 97 C28 85 36 83 39 80 C43 75 43 67 39 63 C37 61 33.5 60 '
                 '33 54 C32 42 44 36 56 38 Z"/>', paint.fill, paint.line, OUTLINE)
    holes = stroke("M46 66 C42 66 43 71 45 76 C47 81 48 86 43.5 87 M66 66 C70 66 69 71 67 76 C65 81 64 86 68.5 87",
                   EBONY, 2.4)
    board = path("M53 8 L59 8 L61 66 L51 66 Z", EBONY, paint.line, 1.3)
    tailpiece = path("M50 92 L62 92 L59 112 L53 112 Z", EBONY, paint.line, 1.3) \
        + path("M47 80 Q56 74 65 80 L64 84 L48 84 Z", PALE_WOOD, paint.line, 1.2)
    chin = ellipse(40, 108, 9, 6, EBONY, paint.line, 1.3)
    strings = stroke("M54 8 L53 94 M58 8 L59 94", STRING, 0.9)
    return '<g transform="translate(8 13) rotate(-24 50 50) scale(.8)">' + bow + scroll + body + holes + chin + board \
        + tailpiece + strings + "</g>"


def harp(paint: Paint, style: str) -> str:
    strings = "".join(f"M{x} {top} L{x} {bottom} " for x, top, bottom in (
        (25, 26, 84), (33, 32, 80), (41, 36, 74), (49, 36, 67), (57, 33, 59), (65, 30, 51), (73, 28, 43)))
    wires = stroke(strings, paint.line, 1.9) + stroke(strings, BRASS, 1.1)
    box = solid('<path d="M22 88 L80 24 Q86 20 92 26 Q95 31 90 37 L44 95 Z"/>', paint.fill, paint.line, OUTLINE)
    neck = solid('<path d="M9 22 C6 8 16 1 24 7 C33 15 40 26 52 23 C64 20 70 10 82 11 C94 12 99 24 92 32 '
                 'C84 36 82 25 74 26 C64 28 58 36 46 37 C34 38 26 28 20 26 Z"/>', paint.fill, paint.line, OUTLINE)
    column = solid('<path d="M8 20 Q14 14 22 20 L23 86 L9 86 Z"/>', paint.fill, paint.line, OUTLINE)
    rings = rect(6, 24, 19, 5, 2, BRASS, paint.line, 1.3) + rect(7, 78, 18, 5, 2, BRASS, paint.line, 1.3)
    crown = ellipse(15, 10, 4, 4, BRASS, paint.line, 1.4) + ellipse(86, 20, 3, 3, BRASS, paint.line, 1.3)
    foot = solid('<path d="M4 90 Q4 84 10 84 L40 84 Q48 86 52 92 Q53 96 48 96 L8 96 Q4 96 4 90 Z"/>',
                 paint.dark, paint.line, OUTLINE)
    return wires + box + column + neck + rings + crown + foot


THINGS = (
    Thing("guitar", "instrument", guitar), Thing("drum", "instrument", drum), Thing("trumpet", "instrument", trumpet),
    Thing("piano", "instrument", piano), Thing("violin", "instrument", violin), Thing("harp", "instrument", harp))
