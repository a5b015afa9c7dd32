"""Garments: what is worn on the body. Styles are cuts."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, path, rect, stroke
from genius.demo_world.things.cloth import CREAM, GOLD, WOOD, both, buttons, cloth, fluff, folds, shade, stitches
from genius.demo_world.things.thing import Thing


def shirt(paint: Paint, style: str) -> str:
    if style == "short-sleeved":
        neck = path("M34 9 Q50 3 66 9 L60 20 L40 20 Z", paint.dark, paint.line)
        sleeves = both("M34 9 L22 13 Q8 20 2 44 Q11 53 23 54 L34 36 Z", paint)
        torso = cloth("M34 9 L26 12 Q28 40 25 92 Q50 98 75 92 Q72 40 74 12 L66 9 Q62 25 50 25 Q38 25 34 9 Z", paint)
        collar = cloth("M34 9 Q38 25 50 25 Q62 25 66 9 L61 7 Q59 19 50 19 Q41 19 39 7 Z", paint, paint.light)
        hems = stitches("M4.5 40 Q13 48 24 49.5 M95.5 40 Q87 48 76 49.5 M26 87.5 Q50 93 74 87.5", paint)
        pocket = path("M56 40 L69 40 L69 52 L62.5 56 L56 52 Z", paint.light, paint.line)
        return neck + sleeves + torso + collar + hems + pocket + folds("M28 62 Q33 66 32 74 M72 66 Q66 70 67 78", paint)
    sleeves = both("M33 11 Q17 14 13 32 L4 74 Q11 81 20 79 L33 44 Z", paint)
    cuffs = both("M3.5 72 Q11 79 21 77 L18.5 89 Q9 89 1.5 84 Z", paint, paint.light)
    torso = cloth("M36 8 L26 12 Q29 40 26 84 Q28 96 50 96 Q72 96 74 84 Q71 40 74 12 L64 8 L50 20 Z", paint)
    placket = path("M45.8 18 L54.2 18 L54.2 95.6 L45.8 95.6 Z", paint.light, paint.line, 1.2)
    neck = path("M37 7 Q50 1 63 7 L50 20 Z", paint.dark, paint.line)
    collar = both("M37 5 L31 13 L40 27 L50 18 Q41 14 37 5 Z", paint, paint.light)
    pocket = folds("M58 38 L69 38 L69 50 L63.5 53 L58 50 Z", paint)
    return (
        sleeves
        + cuffs
        + torso
        + placket
        + neck
        + collar
        + pocket
        + folds("M30 50 Q34 56 33 64 M70 62 Q66 68 67 76", paint)
        + buttons(tuple((50, y) for y in (32, 46, 60, 74, 88)), paint, paint.dark)
    )


def dress(paint: Paint, style: str) -> str:
    if style == "short":
        frill = path(
            "M9 82 L4 90 Q12 96 20 91 Q30 98 40 94 Q50 98.5 60 94 Q70 98 80 91 Q88 96 96 90 L91 82 Z", CREAM, paint.line
        )
        skirt = cloth(
            "M36 47 Q28 66 4 85 Q12 92 21 87 Q30 94 40 90 Q50 95 60 90 Q70 94 79 87 Q88 92 96 85 Q72 66 64 47 Z", paint
        )
        creases = folds("M40 58 Q34 74 21 86 M46 58 Q45 76 40 89 M54 58 Q55 76 60 89 M60 58 Q66 74 79 86", paint)
        sleeves = both("M37 7 Q25 5 20 14 Q17 23 22 29 Q29 29 34 25 Z", paint)
        bodice = cloth(
            "M37 6 L43 5 Q44 18 50 18 Q56 18 57 5 L63 6 Q64 18 69 25 Q66 36 64 48 L36 48 Q34 36 31 25 Q36 18 37 6 Z",
            paint,
        )
        sash = cloth("M35 44 Q50 48 65 44 L66 52 Q50 57 34 52 Z", paint, paint.dark)
        bow = both("M50 49 Q40 38 34 45 Q32 54 40 55 Q46 54 50 49 Z", paint, paint.light)
        knot = ellipse(50, 49, 2.8, 3.2, paint.dark, paint.line)
        return frill + skirt + creases + sleeves + bodice + sash + bow + knot
    gown = cloth(
        "M40 3 L43.5 3 Q44 12 50 17 Q56 12 56.5 3 L60 3 Q60 11 64.5 16 Q63 25 59.5 31 Q67 41 67 56 Q69 80 86 "
        "91 Q70 98 50 96 Q30 98 14 91 Q31 80 33 56 Q33 41 40.5 31 Q37 25 35.5 16 Q40 11 40 3 Z",
        paint,
    )
    slit = path("M54 58 Q60 78 54 96 Q64 97 72 94.5 Q61 80 54 58 Z", paint.light, paint.line)
    sash = cloth("M40 28 Q50 32 60 28 L61.5 35 Q50 40 38.5 35 Z", paint, paint.dark)
    return (
        gown
        + slit
        + folds(
            "M40 40 Q41 72 24 93 M47 42 Q48 74 38 95 M61 40 Q61 70 78 92 M38.5 19 Q43 25 49 19 M61.5 19 Q57 25 51 19",
            paint,
        )
        + sash
        + ellipse(50, 34, 3, 3.4, GOLD, paint.line)
    )


def trousers(paint: Paint, style: str) -> str:
    if style == "cropped":
        legs = cloth(
            "M26 30 L74 30 Q90 58 97 87 Q81 97 63 95 Q58 76 50 60 Q42 76 37 95 Q19 97 3 87 Q10 58 26 30 Z", paint
        )
        cuffs = both("M5.5 78 Q21 87 40.5 85 L37 96 Q17 98 1.5 88 Z", paint, paint.light)
        band = cloth("M27 18 Q50 22 73 18 L75 31 Q50 36 25 31 Z", paint, paint.dark)
        gathers = folds("M33 21 L32 31 M40.5 22 L40 32 M59.5 22 L60 32 M67 21 L68 31", paint)
        cord = stroke("M50 28 Q42 36 44 48 M50 28 Q58 36 55 46", CREAM, 2.4)
        creases = folds("M50 36 L50 60 M24 38 Q30 48 24 56 M76 38 Q70 48 76 56 M44 66 Q38 69 33 67", paint)
        return legs + cuffs + creases + band + gathers + cord
    legs = cloth("M30 10 L70 10 Q76 46 80 94 Q69 97 57 96 Q56 62 50 34 Q44 62 43 96 Q31 97 20 94 Q24 46 30 10 Z", paint)
    seams = stitches("M50 16 L50 34 M55.5 16 Q56 28 50 31 M21.5 89.5 L43 91.5 M78.5 89.5 L57 91.5", paint)
    creases = folds(
        "M29 24 Q38 24 39 15 M71 24 Q62 24 61 15 M33 34 Q33 60 31.5 86 M67 34 Q67 60 68.5 86 M50 34 Q44 40 38 40", paint
    )
    band = cloth("M30 3 Q50 6 70 3 L71.5 13 Q50 17 28.5 13 Z", paint, paint.dark)
    loops = "".join(rect(x, 3.5, 3.4, 11, 1, paint.base, paint.line, 1) for x in (35, 61.6))
    return legs + seams + creases + band + loops + ellipse(50, 10, 2.2, 2.2, GOLD, paint.line, 1)


def skirt(paint: Paint, style: str) -> str:
    if style == "short":
        hem = "L88 93 L80 87 L69 95 L60 89 L50 96 L40 89 L31 95 L20 87 L12 93 L2 84"
        pleats = cloth(f"M29 38 L71 38 Q84 62 98 84 {hem} Q16 62 29 38 Z", paint)
        shades = shade(
            "M31 40 L36 40 L20 87 L12 93 L2 84 Z M41 40 L45 40 L40 89 L31 95 Z M50 40 L54 40 L60 89 L50 "
            "96 Z M60 40 L64 40 L80 87 L69 95 Z",
            0.09,
        )
        band = cloth("M29 26 Q50 30 71 26 L72 39 Q50 44 28 39 Z", paint, paint.dark)
        return (
            pleats
            + shades
            + folds("M36 42 L20 87 M45 42 L40 89 M54 42 L60 89 M64 42 L80 87", paint)
            + band
            + buttons(((62, 35),), paint, GOLD, 2.6)
        )
    top = cloth("M35 9 L65 9 Q70 24 76 36 Q63 44 50 40 Q37 44 24 36 Q30 24 35 9 Z", paint)
    middle = cloth(
        "M27 35 L73 35 Q80 50 84 64 Q76 71 67 66 Q59 72 50 67 Q41 72 33 66 Q24 71 16 64 Q20 50 27 35 Z", paint
    )
    bottom = cloth(
        "M20 62 L80 62 Q88 76 92 91 Q84 98 76 93 Q67 99 58 94 Q50 99 42 94 Q33 99 24 93 Q16 98 8 91 Q12 76 20 62 Z",
        paint,
    )
    band = cloth("M35 2 Q50 5 65 2 L66 11 Q50 15 34 11 Z", paint, paint.dark)
    return (
        bottom
        + folds("M28 72 L24 91 M42 74 L42 92 M58 74 L58 92 M72 72 L76 91", paint)
        + middle
        + folds("M36 45 L33 64 M50 46 L50 65 M64 45 L67 64", paint)
        + top
        + folds("M44 17 L40 36 M56 17 L60 36", paint)
        + band
    )


def coat(paint: Paint, style: str) -> str:
    if style == "hooded":
        hood = cloth("M50 1 Q75 3 74 28 Q72 38 50 40 Q28 38 26 28 Q25 3 50 1 Z", paint)
        sleeves = both("M33 32 Q15 34 11 50 L3 76 Q11 84 22 81 L34 56 Z", paint)
        body = cloth("M32 31 Q50 40 68 31 Q76 34 77 44 L82 92 Q50 99 18 92 L23 44 Q24 34 32 31 Z", paint)
        inside = ellipse(50, 24, 15, 15, paint.dark, paint.line)
        furs = (
            fluff("M50 9 Q65 9 65 24 Q65 38 50 40 Q35 38 35 24 Q35 9 50 9", paint)
            + fluff("M4 78 Q12 84 21 81", paint)
            + fluff("M96 78 Q88 84 79 81", paint)
        )
        pockets = both("M26 66 L41 66 L41 81 Q33 84 25 81 Z", paint)
        toggles = stroke("M43 51 L57 51 M43 64 L57 64 M43 77 L57 77", paint.line, 1.8) + "".join(
            rect(45.5, y - 1.9, 9, 3.8, 1.9, WOOD, paint.line, 1) for y in (51, 64, 77)
        )
        return sleeves + body + folds("M50 42 L50 95", paint, 2) + pockets + hood + inside + furs + toggles
    sleeves = both("M34 12 Q18 14 15 32 L7 78 Q14 84 23 82 L34 48 Z", paint)
    cuffs = both("M7.5 74 Q15 80 24 78 L23 85 Q14 87 6 81 Z", paint, paint.dark)
    body = cloth("M35 9 L27 13 Q30 34 29 50 Q22 74 16 92 Q50 99 84 92 Q78 74 71 50 Q70 34 73 13 L65 9 L50 14 Z", paint)
    neck = path("M37 8 Q50 2 63 8 L51 34 Z", paint.dark, paint.line)
    lapels = both("M38 4 Q30 6 27 14 L25 24 L33 25 L31 31 L50 46 Q42 26 38 4 Z", paint, paint.light)
    belt = cloth("M28.5 50 Q50 55 71.5 50 L73.5 59 Q50 64 26.5 59 Z", paint, paint.dark)
    buckle = rect(45, 51.5, 10, 11, 2, "none", GOLD, 2.4)
    edges = folds("M51 46 Q54 70 52 95 M28 70 L37 67 M72 70 L63 67", paint, 2)
    return (
        sleeves
        + cuffs
        + body
        + edges
        + neck
        + lapels
        + belt
        + buckle
        + buttons(((44, 72), (60, 72), (44, 84), (61, 84)), paint, paint.dark, 2.5)
    )


THINGS = (
    Thing("shirt", "garment", shirt, ("short-sleeved", "long-sleeved")),
    Thing("dress", "garment", dress, ("short", "long")),
    Thing("trousers", "garment", trousers, ("full-length", "cropped")),
    Thing("skirt", "garment", skirt, ("short", "long")),
    Thing("coat", "garment", coat, ("hooded", "collared")),
)
