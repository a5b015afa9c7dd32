"""Mammals."""

from __future__ import annotations

from genius.collections.world.form import closed_eye, eye, limb, merged, oval, placed, tube
from genius.collections.world.paint import Paint, ellipse, path, rect, stroke
from genius.collections.world.things.thing import Thing

PINK, ROSE, NOSE, IVORY, GOLD = "#f4adb2", "#e0707f", "#2a2228", "#fffaf0", "#f3c53c"


def cat(paint: Paint, style: str) -> str:
    if style == "walking":
        far = merged(limb((36, 64, 9), (42, 80, 5.5), (39, 91, 4.8)) + limb((60, 64, 8), (56, 80, 5.5), (52, 91, 4.8)),
                     paint.dark, paint.line)
        body = merged(limb((26, 60, 16), (66, 57, 15)) + limb((22, 66, 10), (17, 80, 6), (20, 91, 5))
                      + limb((67, 62, 9), (73, 80, 5.5), (72, 91, 5)), paint.fill, paint.line)
        return (tube("M17 54 C2 44 4 22 16 12", paint.fill, paint.line, 8) + far + body
                + ellipse(23, 93, 6, 3, paint.light) + ellipse(75, 93, 6, 3, paint.light)
                + placed(_cat_head(paint, False), 74, 37, .9))
    if style == "sleeping":
        return (merged(oval(47, 68, 45, 28), paint.fill, paint.line) + stroke("M24 90 C8 80 14 56 36 58", paint.line, 1.5)
                + placed(_cat_head(paint, True), 69, 71, .95, 8)
                + tube("M10 80 C16 94 36 93 56 91", paint.fill, paint.line, 8))
    body = merged("M35 48 C22 60 16 78 21 90 Q24 96 34 96 L66 96 Q77 96 79 89 C83 76 76 60 63 48 Z",
                  paint.fill, paint.line)
    bib = path("M38 54 Q49 62 60 54 Q62 68 49 77 Q36 68 38 54 Z", paint.light)
    paws = "".join(ellipse(x, 92, 7.5, 4.6, paint.light, paint.line) for x in (41, 57))
    return (tube("M72 90 C94 94 100 74 90 58", paint.fill, paint.line, 8) + body + bib
            + stroke("M26 92 C22 78 30 70 36 72 M74 92 C78 78 70 70 63 72 M49 78 V90", paint.line, 1.4) + paws
            + placed(_cat_head(paint, False), 49, 36, 1.1))


def _cat_head(paint: Paint, asleep: bool) -> str:
    skull = merged("M-20 -6 L-21 -29 Q-20 -32 -17 -30 L-5 -18 Q0 -19 5 -18 L17 -30 Q20 -32 21 -29 L20 -6 "
                   "Q28 4 22 11 Q14 20 0 20 Q-14 20 -22 11 Q-28 4 -20 -6 Z", paint.fill, paint.line)
    ears = path("M-17 -12 L-17.5 -25 L-8 -16 Z M17 -12 L17.5 -25 L8 -16 Z", PINK)
    eyes = "".join(closed_eye(x, 0, paint.line, 5) if asleep else eye(x, -1, 5) for x in (-10, 10))
    muzzle = ellipse(-5, 10, 7, 5.4, paint.light) + ellipse(5, 10, 7, 5.4, paint.light)
    nose = path("M-3.4 5 Q0 3.8 3.4 5 Q2.4 8.4 0 9 Q-2.4 8.4 -3.4 5 Z", ROSE, paint.line, .8)
    return (skull + ears + eyes + muzzle + nose
            + stroke("M0 9 V11 Q-1 14 -5 13 M0 11 Q1 14 5 13 M-15 8 L-27 5 M-15 11 L-26 13 M15 8 L27 5 M15 11 L26 13",
                     paint.line, 1.1))


def dog(paint: Paint, style: str) -> str:
    if style == "running":
        far = merged(limb((34, 58, 10), (28, 76, 6), (14, 91, 4.5)) + limb((58, 60, 9), (70, 78, 5.5), (84, 89, 4.5)),
                     paint.dark, paint.line)
        body = merged(limb((27, 53, 15), (60, 52, 16), (70, 42, 12)) + limb((23, 56, 12), (13, 72, 6.5), (2, 82, 5))
                      + limb((66, 58, 10), (82, 68, 6), (95, 74, 5)), paint.fill, paint.line)
        return (tube("M15 47 C4 42 0 30 4 20", paint.fill, paint.line, 7) + far + body
                + placed(_dog_head(paint, False, 48, True), 67, 32, .95))
    if style == "sleeping":
        body = merged(limb((26, 73, 21), (64, 76, 17)) + limb((64, 88, 7), (88, 90, 5.5)), paint.fill, paint.line)
        return (tube("M12 90 C0 92 -1 80 6 76", paint.fill, paint.line, 6) + body
                + stroke("M30 94 H46 M22 94 C8 86 16 64 34 68 C46 72 44 86 36 93", paint.line, 1.5)
                + placed(_dog_head(paint, True, 0, False), 67, 68, 1.05, 8))
    body = merged(limb((36, 76, 19), (54, 50, 15)) + oval(32, 80, 20, 16) + limb((62, 56, 10), (63, 78, 7), (65, 90, 6)),
                  paint.fill, paint.line)
    return (tube("M18 88 C2 86 -1 70 6 60", paint.fill, paint.line, 7) + body
            + path("M60 56 Q72 56 70 72 Q62 70 60 56 Z", paint.light)
            + stroke("M30 92 C20 82 30 66 42 70 C52 74 52 84 46 90", paint.line, 1.5)
            + ellipse(46, 92, 10, 4.4, paint.light, paint.line) + ellipse(68, 92, 8, 4.4, paint.light, paint.line)
            + placed(_dog_head(paint, False, 0, False), 56, 28, 1.22))


def _dog_head(paint: Paint, asleep: bool, ear: float, panting: bool) -> str:
    """ear: degrees by which the ear flies."""
    far_ear = merged(oval(10, -13, 7, 5, 30), paint.dark, paint.line)
    tongue = path("M12 14 Q11 26 17 25 Q22 23 20 13 Z", ROSE, paint.line, 1) if panting else ""
    collar = stroke("M-15 15 Q-4 24 9 19", "#c8323c", 4.5) + ellipse(-1, 23.5, 3, 3, GOLD, "#6b4a10", 1)
    skull = merged(oval(0, 0, 19, 17.5) + limb((8, 5, 11), (22, 7, 8.5)), paint.fill, paint.line)
    muzzle = path("M14 4 Q22 0 29 4 Q32 10 26 14 Q18 17 13 13 Q10 8 14 4 Z", paint.light)
    face = closed_eye(8, -4, paint.line, 4) if asleep else eye(8, -5, 4)
    nose = ellipse(27.5, 2.5, 4.6, 3.8, NOSE) + ellipse(26.5, 1.4, 1.4, .9, "#ffffff")
    flap = merged("M2 -2 C-10 -8 -19 4 -18 20 C-17 31 -6 32 -2 22 C1 14 4 6 2 -2 Z", paint.dark, paint.line)
    return (far_ear + collar + tongue + skull + muzzle + stroke("M27 6 Q26 14 12 13", paint.line, 1.4) + face + nose
            + placed(flap, -6, -13, 1, ear))


def horse(paint: Paint, style: str) -> str:
    if style == "galloping":
        far_feet, near_feet = ((21, 92), (91, 74)), ((4, 80), (77, 72))
        far = limb((32, 56, 9), (34, 74, 5), far_feet[0] + (3.8,)) + limb((60, 54, 9), (77, 66, 4.8), far_feet[1] + (3.8,))
        near = limb((26, 52, 12), (18, 67, 6), near_feet[0] + (3.8,)) + limb((64, 52, 10), (83, 56, 5), near_feet[1] + (3.8,))
        trunk = limb((28, 46, 15), (60, 45, 14.5)) + limb((62, 40, 12), (78, 20, 8))
        head, mane = (79, 18, .95, -8), "M80 5 C62 2 50 8 40 22 C48 20 50 22 44 32 C54 30 60 32 66 24 C72 18 78 16 82 9 Z"
        tail = "M16 40 C10 24 -2 26 -3 40 C2 36 2 48 -2 54 C8 54 16 50 20 44 Z"
    else:
        far_feet, near_feet = ((37, 92), (57, 92)), ((21, 92), (68, 92))
        far = limb((34, 58, 9), (38, 74, 5), far_feet[0] + (4,)) + limb((58, 58, 9), (57, 74, 4.8), far_feet[1] + (4,))
        near = limb((26, 54, 13), (20, 73, 5.5), near_feet[0] + (4,)) + limb((66, 55, 10.5), (68, 74, 5), near_feet[1] + (4,))
        trunk = limb((28, 50, 16), (62, 50, 15.5)) + limb((64, 45, 13), (74, 18, 8.5))
        head, mane = (74, 16, 1, 8), "M76 2 C60 2 53 16 46 38 C52 38 56 40 60 34 C68 26 70 18 78 7 Z"
        tail = "M16 40 C0 42 4 62 2 80 C10 80 20 68 20 46 Z"
    hooves = [path(f"M{x - 4.6} {y - 1} H{x + 4.6} L{x + 6} {y + 4} H{x - 5.4} Z", "#3a2d2a", paint.line, 1)
              for x, y in far_feet + near_feet]
    return (merged(far, paint.dark, paint.line) + "".join(hooves[:2]) + merged(tail, paint.dark, paint.line)
            + merged(trunk + near, paint.fill, paint.line) + "".join(hooves[2:]) + placed(_horse_head(paint), *head)
            + merged(mane, paint.dark, paint.line))


def _horse_head(paint: Paint) -> str:
    ear = path("M-4 -6 L-3 -15 Q1 -12 3 -6 Z", paint.base, paint.line)
    skull = path(limb((0, 0, 9), (17, 11, 6.2)), paint.fill) + stroke("M3 -8.5 L20 5.6 Q26 13 18 17 L10 13", paint.line, 1.5)
    muzzle = path("M14 5 L20 5.4 Q25 11 20 16.6 L15 16.6 Q10 10 14 5 Z", paint.light)
    return ear + skull + muzzle + ellipse(20.5, 9.5, 1.1, 1.5, paint.line) + eye(4, -1, 3)


def rabbit(paint: Paint, style: str) -> str:
    if style == "hopping":
        far = merged(limb((60, 54, 8), (74, 74, 5)) + limb((30, 64, 11), (22, 82, 6), (10, 92, 4.5)), paint.dark, paint.line)
        body = merged(limb((28, 56, 22), (62, 48, 16)) + limb((66, 54, 9), (84, 70, 5.5))
                      + limb((22, 62, 16), (14, 78, 8), (1, 86, 5)), paint.fill, paint.line)
        return (far + ellipse(7, 42, 9, 9, IVORY, paint.line) + body
                + stroke("M14 76 C24 78 40 70 40 56", paint.line, 1.5)
                + placed(_rabbit_ears(paint), 72, 28, .9, -52) + placed(_rabbit_face(paint), 74, 36, .95))
    body = merged(oval(42, 72, 30, 24) + limb((56, 62, 15), (62, 80, 9), (65, 91, 5)), paint.fill, paint.line)
    return (ellipse(12, 80, 10, 10, IVORY, paint.line) + body
            + stroke("M24 92 C14 76 28 60 42 66 C52 71 52 84 44 90", paint.line, 1.5)
            + ellipse(40, 91.5, 14, 4.6, paint.light, paint.line) + ellipse(68, 92, 7.5, 4.2, paint.light, paint.line)
            + placed(_rabbit_ears(paint), 60, 31, 1) + placed(_rabbit_face(paint), 61, 45, 1.12))


def _rabbit_ears(paint: Paint) -> str:
    ears = merged(oval(-10, -11, 7, 20, -14) + oval(10, -11, 7, 20, 12), paint.fill, paint.line)
    return ears + path(oval(-10, -12, 3.4, 14, -14) + oval(10, -12, 3.4, 14, 12), PINK)


def _rabbit_face(paint: Paint) -> str:
    skull = merged("M0 -16 C13 -16 19 -6 19 2 C22 10 12 17 0 17 C-12 17 -22 10 -19 2 C-19 -6 -13 -16 0 -16 Z",
                   paint.fill, paint.line)
    cheeks = ellipse(-5, 8, 6.5, 5.6, paint.light) + ellipse(5, 8, 6.5, 5.6, paint.light)
    teeth = rect(-2.6, 11, 5.2, 4.6, 1, "#ffffff", paint.line, .8)
    return (skull + cheeks + teeth + path("M-3 2.6 H3 L0 6.4 Z", ROSE, ROSE, 1.4) + eye(-9, -3, 4.4) + eye(9, -3, 4.4)
            + stroke("M0 6 V9 Q-1 11.6 -5 11 M0 9 Q1 11.6 5 11 M-13 7 L-24 5 M-13 10 L-23 12 M13 7 L24 5 M13 10 L23 12",
                     paint.line, 1))


def elephant(paint: Paint, style: str) -> str:
    if style == "sitting":
        body = merged(limb((38, 70, 25), (48, 46, 22)) + limb((44, 84, 12), (66, 87, 9)) + oval(56, 28, 22, 21)
                      + limb((68, 32, 11), (83, 33, 7), (92, 24, 5.5), (93, 10, 4.6)), paint.fill, paint.line)
        arm = merged(limb((54, 60, 10), (68, 70, 8)), paint.fill, paint.line)
        return (tube("M16 86 Q4 90 3 80", paint.dark, paint.line, 3) + body + arm
                + merged(oval(72, 86, 7, 9.6, 10), paint.light, paint.line)
                + stroke("M70 79 L72 82 M76 80 L76 83", paint.line, 1.4)
                + _tusk(70, 38, -18) + _elephant_ear(paint, 40, 30, 1.05) + eye(66, 22, 4))
    far = merged(limb((34, 70, 10), (34, 87, 9)) + limb((60, 70, 10), (61, 87, 9)), paint.dark, paint.line)
    body = merged("M4 52 C4 26 26 14 48 18 C60 20 66 30 66 50 L66 62 C66 80 22 80 12 70 C6 66 4 60 4 52 Z"
                  + limb((20, 66, 13), (20, 86, 10)) + limb((54, 68, 12), (50, 86, 10)) + oval(68, 40, 22, 22)
                  + limb((80, 46, 12), (89, 64, 8), (90, 80, 6), (97, 86, 4.4)), paint.fill, paint.line)
    nails = "".join(ellipse(x, 94, 2.2, 2, IVORY, paint.line, .8) for x in (15, 20, 25, 45, 50, 55))
    return (far + tube("M6 44 Q-1 54 2 66", paint.dark, paint.line, 3) + body + nails
            + stroke("M88 60 L95 58 M89 69 L97 68 M88 77 L95 77", paint.line, 1.2)
            + _tusk(78, 54, 0) + _elephant_ear(paint, 50, 40, 1.15) + eye(77, 35, 4))


def _elephant_ear(paint: Paint, x: float, y: float, scale: float) -> str:
    outer = merged("M8 -18 C-10 -24 -22 -10 -18 6 C-15 18 -4 24 6 18 C14 10 16 -6 8 -18 Z", paint.fill, paint.line)
    return placed(outer + path("M5 -12 C-7 -17 -15 -8 -12 4 C-10 12 -3 16 4 12 C9 6 10 -5 5 -12 Z", paint.light), x, y, scale)


def _tusk(x: float, y: float, turn: float) -> str:
    return placed(path("M-3 -3 Q2 8 15 6 Q9 1 5 -5 Z", IVORY, "#4a4238", 1.2), x, y, 1, turn)


def giraffe(paint: Paint, style: str) -> str:
    if style == "grazing":
        feet = ((22, 92), (33, 92), (45, 92), (68, 92))
        far = limb((30, 48, 9), (34, 72, 4.8), (33, 92, 3.8)) + limb((48, 50, 9), (46, 72, 4.8), (45, 92, 3.8))
        near = limb((24, 44, 12), (22, 70, 5), (22, 92, 3.8)) + limb((54, 46, 11), (63, 70, 5), (68, 92, 3.8))
        trunk = limb((26, 36, 14), (52, 34, 16)) + limb((56, 32, 14), (82, 50, 7.5), (86, 66, 6.5))
        mane, head = "M56 17 C74 24 90 40 94 62", (86, 72, 1, 52)
        grass = path("M78 96 Q80 88 77 84 Q83 88 84 92 Q86 84 90 82 Q89 90 92 92 Q95 87 99 86 Q96 92 97 96 Z", "#5fae4d", "#2c5a2a", 1)
    else:
        feet = ((25, 92), (36, 92), (51, 92), (61, 92))
        far = limb((34, 64, 8), (36, 78, 4.6), (36, 92, 3.8)) + limb((50, 64, 8), (51, 78, 4.6), (51, 92, 3.8))
        near = limb((28, 60, 12), (24, 78, 5), (25, 92, 3.8)) + limb((56, 58, 11), (60, 78, 5), (61, 92, 3.8))
        trunk = limb((30, 57, 14), (54, 52, 16)) + limb((57, 48, 13), (68, 14, 7))
        mane, head, grass = "M48 36 C54 28 58 18 60 8", (69, 13, 1.15, 6), ""
    hooves = [path(f"M{x - 4.4} {y - 1} H{x + 4.4} L{x + 5.4} {y + 4} H{x - 5.4} Z", "#4a372c", paint.line, 1) for x, y in feet]
    return (tube(mane, paint.dark, paint.line, 4) + merged(far, paint.dark, paint.line) + hooves[1] + hooves[2]
            + tube("M15 54 Q8 60 9 74" if not grass else "M13 34 Q4 40 5 56", paint.dark, paint.line, 3)
            + merged(trunk + near, paint.fill, paint.line) + hooves[0] + hooves[3] + placed(_giraffe_head(paint), *head) + grass)


def _giraffe_head(paint: Paint) -> str:
    horns = stroke("M-3 -5 L-4 -11 M4 -5 L4 -11", paint.line, 2.6) + "".join(
        ellipse(x, -11, 2.2, 2.2, paint.dark, paint.line, 1) for x in (-4, 4))
    ear = merged(oval(-9, -4, 6, 2.8, 20), paint.light, paint.line, 1.2)
    skull = path(limb((0, 0, 7.5), (15, 5, 5.2)), paint.fill) + stroke("M1 -8 L16 -.6 Q23 5 15 10.6 L4 7.5", paint.line, 1.5)
    return (ear + horns + skull + ellipse(15.5, 5, 5, 5, paint.light) + ellipse(17.5, 3.2, .9, 1.2, paint.line)
            + stroke("M19 7 Q15 9 12 7", paint.line, 1) + eye(4, -2, 3))


THINGS = (
    Thing("cat", "animal", cat, ("sitting", "walking", "sleeping")),
    Thing("dog", "animal", dog, ("sitting", "running", "sleeping")),
    Thing("horse", "animal", horse, ("standing", "galloping")),
    Thing("rabbit", "animal", rabbit, ("sitting", "hopping")),
    Thing("elephant", "animal", elephant, ("standing", "sitting")),
    Thing("giraffe", "animal", giraffe, ("standing", "grazing")))
