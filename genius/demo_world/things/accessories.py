"""Accessories: hats, shoes, bags and what else is carried or put on. Styles are cuts, or how a thing is held."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.demo_world.things.cloth import CREAM, GOLD, WOOD, both, buttons, cloth, cord, folds, shade, stitches
from genius.demo_world.things.thing import Thing

SOLE = "#40343a"


def hat(paint: Paint, style: str) -> str:
    if style == "peaked":
        crown = cloth("M3 90 Q-1 28 38 26 Q72 26 76 80 Q40 84 3 90 Z", paint)
        peak = cloth("M42 90 Q50 75 72 73 Q95 77 99.5 92 Q99 96 94 95 Q70 88 42 90 Z", paint, paint.dark)
        panels = folds("M38 27 Q16 38 16 86 M38 27 Q56 44 53 76", paint)
        holes = ellipse(29, 50, 2, 2, paint.line) + ellipse(56, 46, 2, 2, paint.line)
        button = ellipse(38, 26, 5, 3, paint.light, paint.line)
        return (
            crown
            + panels
            + holes
            + stitches("M5 84 Q26 80 45 78", paint)
            + peak
            + button
            + stitches("M48 86 Q54 79 72 77.5 Q90 81 95 91", paint)
        )
    brim = solid('<ellipse cx="50" cy="77" rx="48" ry="18"/>', paint.fill, paint.line, 1.6)
    crown = cloth("M24 74 Q22 34 34 27 Q43 23 50 30 Q57 23 66 27 Q78 34 76 74 Q50 86 24 74 Z", paint)
    band = cloth("M23.6 62 Q50 73 76.4 62 L76.2 75 Q50 87 23.8 75 Z", paint, paint.dark)
    shadow = shade("M20 78 Q50 98 80 78 Q84 84 70 88 Q50 94 30 88 Q16 84 20 78 Z")
    flower = "".join(
        ellipse(x, y, 3.4, 3.4, CREAM, paint.line, 1) for x, y in ((27, 72), (31, 68), (35, 72), (33, 77), (29, 77))
    ) + ellipse(31, 73, 2.4, 2.4, GOLD)
    return brim + shadow + crown + folds("M50 31 Q47 40 50 50", paint) + band + flower


def sneaker(paint: Paint, style: str) -> str:
    sole = cloth("M4 88 Q3 84 8 84 L93 84 Q98 84 98 89 Q97 96 88 96 L12 96 Q5 96 4 88 Z", paint, CREAM)
    stripe = stroke("M6.5 90.5 L96 90.5", paint.base, 2.2)
    toe = cloth("M82 84 Q80 73 87 69.5 Q97 73 97 84 Z", paint, CREAM)
    if style == "low":
        tongue = cloth("M40 52 Q40 35 47 33 Q54 33 58 46 Z", paint)
        upper = cloth("M6 84 Q3 62 8 45 Q12 40 17 45 Q28 56 43 46 Q57 60 78 65 Q97 69 97 84 Z", paint)
        tab = cloth("M6 57 Q6.6 50 8 45 Q12 40 17 45 Q19 49 18 57 Z", paint, paint.dark)
        laces = _laces(((43, 58, 7, -9), (53, 64, 7, -9), (63, 68, 7, -9)), paint)
        return tongue + upper + toe + tab + laces + stitches("M34 52 Q42 75 72 80", paint) + sole + stripe
    tongue = cloth("M38 24 Q40 6 48 6 Q56 8 54 30 Z", paint, paint.light)
    upper = cloth("M7 84 Q10 50 7 16 Q26 8 46 18 L50 38 Q58 60 80 66 Q97 70 97 84 Z", paint)
    tab = cloth("M8.2 36 Q8.2 26 7 16 L15 13.2 Q17 26 17 36 Z", paint, paint.dark)
    laces = _laces(((38, 24, 11, -4), (40, 35, 11, -4), (43, 46, 11, -4), (49, 57, 11, -4), (58, 66, 11, -4)), paint)
    patch = ellipse(28, 42, 7.5, 7.5, CREAM, paint.line) + ellipse(28, 42, 4, 4, paint.base)
    return tongue + upper + toe + tab + patch + laces + stitches("M35 60 Q40 76 66 79", paint) + sole + stripe


def boot(paint: Paint, style: str) -> str:
    if style == "ankle":
        upper = cloth("M8 86 Q6 60 12 30 Q32 25 52 30 Q52 46 58 52 Q95 58 97 86 Z", paint)
        opening = path("M12 30 Q32 23 52 30 Q32 36 12 30 Z", paint.dark, paint.line)
        elastic = cloth("M24 33.5 Q33 31.5 43 33.5 Q42 52 36 64 Q31 66 28 62 Q23 50 24 33.5 Z", paint, paint.dark)
        ribs = folds("M28.5 37 L31 58 M33.5 36 L33.5 60 M38.5 37 L36 58", paint)
        tab = stroke("M11 36 Q7 21 14 21 Q19 22 17 34", paint.dark, 3.6)
        sole = path("M7 84 L97 84 Q99 91 94 91.5 L54 91.5 L40 87.5 L39 96 L8 96 Z", SOLE, paint.line)
        return (
            upper
            + opening
            + elastic
            + ribs
            + tab
            + stitches("M64 83 Q64 63 79 60", paint)
            + folds("M52 38 Q56 54 66 58", paint)
            + sole
        )
    upper = cloth("M20 82 Q26 62 23 42 Q19 24 20 6 Q38 1 56 6 Q59 28 54 44 Q51 60 60 64 Q86 68 91 82 Z", paint)
    cuff = cloth("M18 4 Q38 -1 58 4 L58 17 Q38 22 18 17 Z", paint, paint.light)
    strap = cloth("M23 62 Q39 69 54 60 L58 67 Q41 76 22 69 Z", paint, paint.dark)
    buckle = rect(34, 63, 9, 9.5, 2, "none", GOLD, 2.4)
    sole = path("M19 81 L92 81 Q94 87.5 89 88 L58 88 L40 84 L36 96 L22 96 Z", SOLE, paint.line)
    return upper + folds("M54 44 Q46 50 38 49 M25 50 Q32 54 36 52", paint) + cuff + strap + buckle + sole


def sock(paint: Paint, style: str) -> str:
    body = cloth(
        "M24 16 Q27 40 22 56 Q14 72 17 82 Q21 95 38 96 L76 96 Q97 95 97 78 Q96 63 80 62 Q67 61 66 48 L67 16 Z", paint
    )
    heel = cloth("M19.5 62 Q14 72 17 82 Q20 92 30 95 Q42 86 38 74 Q32 64 19.5 62 Z", paint, paint.dark)
    toe = cloth("M78 96 Q70 80 80 62 Q96 63 97 78 Q97 95 78 96 Z", paint, paint.dark)
    cuff = cloth("M22 4 Q45 1 69 4 L69 21 Q45 25 22 21 Z", paint, paint.light)
    ribs = folds("M30 5 L30 21 M38 4 L38 22 M46 4 L46 22 M54 4 L54 22 M62 5 L62 21", paint)
    creases = folds("M66 52 Q58 58 50 57 M66 46 Q60 50 55 49", paint)
    return f'<g transform="translate(2.5 3) rotate(15 50 50) scale(.92)">{body}{heel}{toe}{cuff}{ribs}{creases}</g>'


def glove(paint: Paint, style: str) -> str:
    hand = cloth(
        "M27 78 Q26 62 20 46 L11 27 Q9 19 15 17 Q21 15 25 22 L33 39 L31 13 Q31 5 37.5 5 Q44 5 44.5 12 L46.5 "
        "37 L49 9 Q50 2 56 2 Q63 3 62 11 L59.5 38 L66 17 Q69 10 75 12 Q81 15 79 22 L71 49 Q74 55 79 49 L87 41 "
        "Q92 36 96 40 Q100 45 96 52 L79 72 Q75 76 73 80 Z",
        paint,
    )
    cuff = cloth("M25 75 Q50 81 75 75 L77 93 Q50 99 23 93 Z", paint, paint.light)
    ribs = folds("M33 78 L32 94 M41.5 79 L41 95.5 M50 79 L50 96 M58.5 79 L59 95.5 M67 78 L68 94", paint)
    return hand + folds("M34 48 L37 66 M46 47 L47 66 M58 48 L56 66", paint) + cuff + ribs


def handbag(paint: Paint, style: str) -> str:
    if style == "clutch":
        body = cloth("M5 42 Q50 38 95 42 L98 88 Q98 96 90 96 L10 96 Q2 96 2 88 Z", paint)
        flap = cloth("M4 40 Q50 34 96 40 Q97 46 92 50 L56 75 Q50 78 44 75 L8 50 Q3 46 4 40 Z", paint)
        loop = cord("M90 44 Q104 30 92 22 Q80 20 86 42", paint, paint.base, 2.6)
        shadow = shade("M8 54 L44 79 Q50 82 56 79 L92 54 L56 75 Q50 78 44 75 Z")
        clasp = solid('<circle cx="50" cy="72" r="5.5"/>', GOLD, paint.line)
        seam = stitches("M9 45 L47 71 Q50 73 53 71 L91 45", paint)
        return loop + body + shadow + flap + seam + clasp
    handle = cord("M16 54 Q10 4 50 4 Q90 4 84 54", paint, paint.base, 5)
    body = cloth("M12 50 Q50 45 88 50 L96 87 Q97 96 87 96 L13 96 Q3 96 4 87 Z", paint)
    flap = cloth("M11 49 Q50 44 89 49 L90 62 Q86 77 50 79 Q14 77 10 62 Z", paint)
    rings = "".join(ellipse(x, 53, 4, 4, "none", GOLD, 2.6) for x in (16, 84))
    tongue = cloth("M44 70 L56 70 L56 87 Q50 91 44 87 Z", paint, paint.dark)
    shadow = shade("M9 66 Q16 83 50 85 Q84 83 91 66 L90 62 Q86 77 50 79 Q14 77 10 62 Z")
    seam = stitches("M14 61 Q20 73 50 74.5 Q80 73 86 61", paint)
    return handle + body + shadow + flap + seam + rings + tongue + ellipse(50, 83.5, 2.6, 2.6, GOLD, paint.line, 1)


def umbrella(paint: Paint, style: str) -> str:
    if style == "folded":
        shaft = cord("M50 30 L50 13 Q50 3 42 3 Q34 3 34 12", paint, WOOD, 4.4)
        tip = cord("M50 88 L50 97", paint, GOLD, 2)
        canopy = cloth(
            "M32 32 Q36 25 42 30 Q46 24 52 29 Q58 24 62 30 Q68 27 69 34 Q66 62 53 91 L47 91 Q34 62 32 32 Z", paint
        )
        creases = shade("M42 31 Q44 60 49 88 Q52 60 52 30 Z", 0.09) + folds(
            "M42 31 Q44 60 49 88 M52 30 Q54 60 50.5 88 M62 31 Q62 56 52 88", paint
        )
        band = cloth("M34.5 50 Q50 57 66 49 L64.5 57 Q50 64 36.5 58 Z", paint, paint.dark) + buttons(((58, 57),), paint)
        return (
            '<g transform="translate(50.5 53) rotate(38) scale(1.12) translate(-50 -50)">'
            f"{shaft}{tip}{canopy}{creases}{band}</g>"
        )
    shaft = cord("M50 40 L50 84 Q50 93.5 42 93.5 Q34 93.5 34 86", paint, WOOD, 4)
    spike = stroke("M50 3 L50 8", paint.line, 3.6)
    canopy = cloth(
        "M2 56 Q4 8 50 7 Q96 8 98 56 Q90 47 82 56 Q74 47 66 56 Q58 46 50 56 Q42 46 34 56 Q26 47 18 56 Q10 47 2 56 Z",
        paint,
    )
    panels = shade(
        "M50 7 Q20 20 18 56 Q26 47 34 56 Q36 20 50 7 Z M50 7 L50 56 Q58 46 66 56 Q64 20 50 7 Z "
        "M50 7 Q80 20 82 56 Q90 47 98 56 Q96 8 50 7 Z",
        0.09,
    )
    ribs = folds("M50 8 Q20 20 18 56 M50 8 Q36 20 34 56 M50 8 L50 56 M50 8 Q64 20 66 56 M50 8 Q80 20 82 56", paint)
    return shaft + spike + canopy + panels + ribs


def scarf(paint: Paint, style: str) -> str:
    if style == "knotted":
        fringes = _fringe("M12.5 83.5 L37.5 91.5", paint) + _fringe("M62 91.5 L86 83.5", paint)
        tails = cloth("M40 46 Q24 60 10 81 L38 90 Q46 72 54 54 Z", paint) + cloth(
            "M44 48 Q54 70 61 90 L88 81 Q76 60 60 46 Z", paint
        )
        loop = cloth("M4 24 Q4 4 50 4 Q96 4 96 24 Q98 52 50 56 Q2 52 4 24 Z", paint)
        hole = path("M18 20 Q24 12 50 12 Q76 12 82 20 Q76 30 50 31 Q24 30 18 20 Z", paint.dark, paint.line)
        knot = cloth("M36 36 Q50 30 64 36 Q70 48 62 60 Q50 65 38 60 Q30 48 36 36 Z", paint)
        return (
            fringes
            + tails
            + loop
            + hole
            + folds("M10 32 Q20 44 34 47 M90 32 Q80 44 66 47", paint)
            + knot
            + folds("M42 38 Q40 48 43 58 M57 38 Q59 48 56 58", paint)
        )
    peg = solid('<circle cx="50" cy="32" r="8.5"/>', WOOD, paint.line) + ellipse(50, 32, 3, 3, GOLD, paint.line, 1)
    fringes = _fringe("M10 90 L39 90", paint) + _fringe("M62 78 L90 78", paint)
    left = cloth("M8 87 L13 40 Q15 3 50 3 Q56 13 52 24 Q39 26 39 42 L41 87 Z", paint)
    right = cloth("M60 75 L61 42 Q61 26 47 23 Q42 10 50 3 Q85 3 87 40 L92 75 Z", paint)
    bands = path("M9.3 74 L40.6 74 L40.9 81 L8.6 81 Z M60.3 62 L90 62 L91 69 L60.1 69 Z", paint.light, paint.line, 1.2)
    return (
        fringes
        + peg
        + left
        + right
        + bands
        + folds(
            "M23 34 Q20 52 19 71 M32 36 Q30 54 30 71 M70 34 Q70 46 71 59 M78 30 Q81 46 81 59 M50 8 Q56 14 53 22", paint
        )
    )


def backpack(paint: Paint, style: str) -> str:
    handle = cord("M39 14 Q38 4 50 4 Q62 4 61 14", paint, paint.dark, 4.4)
    sides = both("M20 58 Q5 58 4 72 L4 86 Q6 94 20 93 Z", paint, paint.dark)
    body = cloth("M15 40 Q15 9 50 9 Q85 9 85 40 L87 86 Q87 96 77 96 L23 96 Q13 96 13 86 Z", paint)
    flap = cloth("M15 40 Q15 9 50 9 Q85 9 85 40 L85 50 Q50 60 15 50 Z", paint)
    pocket = cloth("M25 66 Q50 70 75 66 L76 84 Q76 91 69 91 L31 91 Q24 91 24 84 Z", paint)
    zipper = stroke("M29 72 Q50 76 71 72", paint.line, 1.8) + rect(66, 72, 3, 7, 1.2, GOLD, paint.line, 1)
    straps = "".join(
        rect(x, 30, 7, 32, 2, WOOD, paint.line) + rect(x - 1, 50, 9, 7, 1.5, "none", GOLD, 2.2) for x in (30, 63)
    )
    shadow = shade("M14 52 Q50 63 86 52 L86 58 Q50 69 14 58 Z")
    return handle + sides + body + shadow + flap + stitches("M18 45 Q50 55 82 45", paint) + pocket + zipper + straps


def _laces(laces: tuple[tuple[float, float, float, float], ...], paint: Paint) -> str:
    """Straight laces: x, y and how far each reaches across and down."""
    return cord(" ".join(f"M{x} {y} l{across} {down}" for x, y, across, down in laces), paint, CREAM, 2.6)


def _fringe(d: str, paint: Paint) -> str:
    """Threads hanging across the end of a scarf: a thick dashed line."""
    return "".join(
        f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{width}" stroke-dasharray="2.6 1.4"/>'
        for color, width in ((paint.line, 13), (paint.light, 10.5))
    )


THINGS = (
    Thing("hat", "garment", hat, ("brimmed", "peaked")),
    Thing("sneaker", "garment", sneaker, ("low", "high")),
    Thing("boot", "garment", boot, ("ankle", "knee-high")),
    Thing("sock", "garment", sock),
    Thing("glove", "garment", glove),
    Thing("handbag", "garment", handbag, ("strapped", "clutch")),
    Thing("umbrella", "garment", umbrella, ("open", "folded")),
    Thing("scarf", "garment", scarf, ("knotted", "hanging")),
    Thing("backpack", "garment", backpack),
)
