"""Mammals."""

from __future__ import annotations

from genius.demo_world.form import closed_eye, coat, eye, limb, merged, oval, placed, tail, tube
from genius.demo_world.paint import Paint, ellipse, path, rect, stroke
from genius.demo_world.things.thing import Thing

PINK, ROSE, NOSE, IVORY, GOLD = "#f4adb2", "#e0707f", "#2a2228", "#fffaf0", "#f3c53c"


def cat(paint: Paint, style: str) -> str:
    if style == "walking":
        far = merged(
            limb((36, 64, 9), (42, 80, 5.5), (39, 91, 4.8)) + limb((60, 64, 8), (56, 80, 5.5), (52, 91, 4.8)),
            paint.dark,
            paint.line,
        )
        body = coat(
            "M10 58 C10 43 22 41 34 44 C46 47 56 42 66 42 C80 44 84 60 78 68 C70 74 60 68 48 69 "
            "C36 70 28 77 18 73 C12 70 10 64 10 58 Z"
            + limb((22, 66, 10), (17, 80, 6), (20, 91, 5))
            + limb((67, 62, 9), (73, 80, 5.5), (72, 91, 5)),
            paint,
        )
        return (
            tail("M17 54 C2 44 4 22 16 12", paint, 8)
            + far
            + body
            + ellipse(22, 92.4, 7, 4, paint.light, paint.line)
            + ellipse(74, 92.4, 7, 4, paint.light, paint.line)
            + placed(_cat_head(paint, False), 74, 37, 0.9)
        )
    if style == "sleeping":
        return (
            coat(oval(47, 68, 45, 28), paint)
            + stroke("M24 90 C8 80 14 56 36 58", paint.line, 1.5)
            + placed(_cat_head(paint, True), 69, 71, 0.95, 8)
            + tail("M10 80 C16 94 36 93 56 91", paint, 8)
        )
    body = coat("M35 48 C22 60 16 78 21 90 Q24 96 34 96 L66 96 Q77 96 79 89 C83 76 76 60 63 48 Z", paint)
    bib = path("M38 54 Q49 62 60 54 Q62 68 49 77 Q36 68 38 54 Z", paint.light)
    paws = "".join(ellipse(x, 92, 7.5, 4.6, paint.light, paint.line) for x in (41, 57))
    return (
        tail("M72 90 C94 94 100 74 90 58", paint, 8)
        + body
        + bib
        + stroke("M26 92 C22 78 30 70 36 72 M74 92 C78 78 70 70 63 72 M49 78 V90", paint.line, 1.4)
        + paws
        + placed(_cat_head(paint, False), 49, 36, 1.1)
    )


def _cat_head(paint: Paint, asleep: bool) -> str:
    skull = coat(
        "M-20 -6 L-21 -29 Q-20 -32 -17 -30 L-5 -18 Q0 -19 5 -18 L17 -30 Q20 -32 21 -29 L20 -6 "
        "Q28 4 22 11 Q14 20 0 20 Q-14 20 -22 11 Q-28 4 -20 -6 Z",
        paint,
    )
    ears = path("M-17 -12 L-17.5 -25 L-8 -16 Z M17 -12 L17.5 -25 L8 -16 Z", PINK)
    eyes = "".join(closed_eye(x, 0, paint.line, 5) if asleep else eye(x, -1, 5) for x in (-10, 10))
    muzzle = ellipse(-5, 10, 7, 5.4, paint.light) + ellipse(5, 10, 7, 5.4, paint.light)
    nose = path("M-3.4 5 Q0 3.8 3.4 5 Q2.4 8.4 0 9 Q-2.4 8.4 -3.4 5 Z", ROSE, paint.line, 0.8)
    return (
        skull
        + ears
        + eyes
        + muzzle
        + nose
        + stroke(
            "M0 9 V11 Q-1 14 -5 13 M0 11 Q1 14 5 13 M-15 8 L-27 5 M-15 11 L-26 13 M15 8 L27 5 M15 11 L26 13",
            paint.line,
            1.1,
        )
    )


def dog(paint: Paint, style: str) -> str:
    if style == "running":
        far = merged(
            limb((34, 58, 10), (28, 76, 6), (14, 91, 4.5)) + limb((58, 60, 9), (70, 78, 5.5), (84, 89, 4.5)),
            paint.dark,
            paint.line,
        )
        body = coat(
            "M11 52 C11 38 28 36 40 39 C52 41 58 30 68 32 C81 36 82 56 75 63 C67 71 55 66 47 62 "
            "C39 58 32 70 22 68 C14 66 11 60 11 52 Z"
            + limb((23, 56, 12), (14, 72, 6.5), (4, 81, 5))
            + limb((66, 58, 10), (82, 68, 6), (95, 74, 5)),
            paint,
        )
        return (
            tail("M15 47 C4 42 0 30 4 20", paint, 7)
            + far
            + body
            + placed(_dog_head(paint, False, 48, True), 67, 32, 0.95)
        )
    if style == "sleeping":
        body = coat(limb((26, 73, 21), (64, 76, 17)) + limb((64, 88, 7), (88, 90, 5.5)), paint)
        return (
            tail("M12 90 C0 92 -1 80 6 76", paint, 6)
            + body
            + stroke("M30 94 H46 M22 94 C8 86 16 64 34 68 C46 72 44 86 36 93", paint.line, 1.5)
            + placed(_dog_head(paint, True, 0, False), 67, 68, 1.05, 8)
        )
    body = coat(
        limb((36, 76, 19), (54, 50, 15)) + oval(32, 80, 20, 16) + limb((62, 56, 10), (63, 78, 7), (65, 90, 6)), paint
    )
    return (
        tail("M18 88 C2 86 -1 70 6 60", paint, 7)
        + body
        + stroke("M30 92 C20 82 30 66 42 70 C52 74 52 84 46 90", paint.line, 1.5)
        + ellipse(46, 92, 10, 4.4, paint.light, paint.line)
        + ellipse(68, 92, 8, 4.4, paint.light, paint.line)
        + placed(_dog_head(paint, False, 0, False), 56, 28, 1.22)
    )


def _dog_head(paint: Paint, asleep: bool, ear: float, panting: bool) -> str:
    """ear: degrees by which the ear flies."""
    far_ear = merged(oval(10, -13, 7, 5, 30), paint.dark, paint.line)
    tongue = path("M12 14 Q11 26 17 25 Q22 23 20 13 Z", ROSE, paint.line, 1) if panting else ""
    collar = stroke("M-15 15 Q-4 24 9 19", "#c8323c", 4.5) + ellipse(-1, 23.5, 3, 3, GOLD, "#6b4a10", 1)
    skull = coat(oval(0, 0, 19, 17.5) + limb((8, 5, 11), (22, 7, 8.5)), paint)
    muzzle = path("M14 4 Q22 0 29 4 Q32 10 26 14 Q18 17 13 13 Q10 8 14 4 Z", paint.light)
    face = closed_eye(8, -4, paint.line, 4) if asleep else eye(8, -5, 4)
    nose = ellipse(27.5, 2.5, 4.6, 3.8, NOSE) + ellipse(26.5, 1.4, 1.4, 0.9, "#ffffff")
    flap = merged("M2 -2 C-10 -8 -19 4 -18 20 C-17 31 -6 32 -2 22 C1 14 4 6 2 -2 Z", paint.dark, paint.line)
    return (
        far_ear
        + collar
        + tongue
        + skull
        + muzzle
        + stroke("M27 6 Q26 14 12 13", paint.line, 1.4)
        + face
        + nose
        + placed(flap, -6, -13, 1, ear)
    )


def horse(paint: Paint, style: str) -> str:
    if style == "galloping":
        trunk = (
            "M12 40 C16 31 28 30 38 32 C48 33 52 30 57 23 C62 15 68 9 76 9 L84 22 C84 32 82 40 77 47 "
            "C72 56 60 60 48 58 C38 58 28 63 20 59 C12 55 10 46 12 40 Z"
        )
        far = limb((30, 54, 10), (34, 70, 5.6), (25, 80, 4.2), (18, 89, 3.8)) + limb(
            (62, 51, 9), (78, 64, 5), (69, 75, 3.8)
        )
        near = limb((22, 49, 12), (21, 66, 6), (12, 75, 4.4), (6, 83, 3.8)) + limb(
            (69, 47, 10), (85, 58, 5.2), (94, 69, 3.8)
        )
        hooves = [_hoof(paint, *at) for at in ((17.5, 89.5, 30), (67, 77, 40), (5.5, 84, 40), (94, 69.5, -40))]
        mane = (
            "M80 7 C72 1 62 2 58 8 C50 4 46 8 42 14 C38 14 35 18 34 23 C42 22 46 24 46 30 C54 32 60 28 63 22 "
            "C68 20 74 16 80 7 Z"
        )
        plume = "M17 36 C13 24 3 24 -1 32 C3 34 1 40 -1 46 C5 50 13 50 19 46 Z"
        x, y = 77, 17
    else:
        trunk = (
            "M11 47 C13 36 24 33 34 35 C44 37 50 37 54 31 C59 22 60 11 68 6 L81 18 C81 28 80 36 79 44 "
            "C79 54 76 61 70 64 C58 67 44 66 37 64 C28 70 18 69 14 62 C10 57 10 52 11 47 Z"
        )
        far = limb((34, 58, 10), (32, 71, 5.8), (36, 80, 4.3), (35, 91, 3.8)) + limb(
            (60, 58, 9), (58, 75, 4.8), (57, 91, 3.8)
        )
        near = limb((24, 54, 13), (18, 71, 6.4), (22, 81, 4.6), (21, 91, 4)) + limb(
            (69, 56, 10), (71, 75, 5), (70, 91, 4)
        )
        hooves = [_hoof(paint, foot, 91.5, 0) for foot in (35, 57, 21, 70)]
        mane = (
            "M77 4 C68 0 59 4 57 13 C51 15 50 21 52 25 C46 27 44 34 46 41 C54 41 60 36 62 30 "
            "C67 27 69 21 69 17 C74 15 77 10 77 4 Z"
        )
        plume = "M13 42 C1 42 1 56 3 64 C4 72 1 78 -1 83 C9 84 17 76 17 65 C17 57 19 52 19 46 Z"
        x, y = 74, 15
    body = coat(trunk + near + limb((x, y, 9.5), (x + 17, y + 14, 6.8)), paint)
    return (
        merged(far, paint.dark, paint.line)
        + "".join(hooves[:2])
        + merged(plume, paint.dark, paint.line)
        + body
        + "".join(hooves[2:])
        + placed(_horse_face(paint), x, y)
        + merged(mane, paint.dark, paint.line)
    )


def _hoof(paint: Paint, x: float, y: float, turn: float) -> str:
    return placed(path("M-4.6 -1 H4.6 L6 4 H-5.4 Z", "#4a372c", paint.line, 1.2), x, y, 1, turn)


def _horse_face(paint: Paint) -> str:
    ear = coat("M-1 -8 L4 -16 Q8 -11 7 -5 Z", paint)
    muzzle = path(limb((15, 12.6, 6.4), (17, 14, 6.6)), paint.light)
    cheek = stroke("M-3 9 Q6 12 8 3", paint.line, 1.3)
    mouth = ellipse(21, 13, 1.2, 1.7, paint.line) + stroke("M20 18.5 Q16 18 14 15.5", paint.line, 1.2)
    return ear + cheek + muzzle + mouth + eye(5, -1, 3.5)


def rabbit(paint: Paint, style: str) -> str:
    if style == "hopping":
        far = merged(
            limb((60, 56, 8), (72, 76, 5.2)) + limb((30, 66, 11), (24, 82, 6), (15, 91, 5)), paint.dark, paint.line
        )
        body = coat(
            "M7 58 C5 40 22 30 40 34 C52 36 62 32 72 36 C84 44 80 60 66 66 C54 70 44 76 28 76 "
            "C14 76 8 68 7 58 Z"
            + limb((66, 56, 10), (82, 68, 6), (91, 73, 5))
            + limb((20, 66, 12), (9, 80, 6.6), (3, 90, 5)),
            paint,
        )
        return (
            far
            + ellipse(7, 44, 9, 9, IVORY, paint.line)
            + body
            + stroke("M20 78 C32 80 42 70 38 58 C36 52 30 49 24 50", paint.line, 1.5)
            + placed(_rabbit_ears(paint), 65, 28, 0.94, -50)
            + placed(_rabbit_face(paint), 73, 36, 1)
        )
    body = coat(oval(42, 72, 30, 24) + limb((56, 62, 15), (62, 80, 9), (65, 91, 5)), paint)
    return (
        ellipse(12, 80, 10, 10, IVORY, paint.line)
        + body
        + stroke("M24 92 C14 76 28 60 42 66 C52 71 52 84 44 90", paint.line, 1.5)
        + ellipse(40, 91.5, 14, 4.6, paint.light, paint.line)
        + ellipse(68, 92, 7.5, 4.2, paint.light, paint.line)
        + placed(_rabbit_ears(paint), 60, 31, 1)
        + placed(_rabbit_face(paint), 61, 45, 1.12)
    )


def _rabbit_ears(paint: Paint) -> str:
    ears = coat(oval(-10, -11, 7, 20, -14) + oval(10, -11, 7, 20, 12), paint)
    return ears + path(oval(-10, -12, 3.4, 14, -14) + oval(10, -12, 3.4, 14, 12), PINK)


def _rabbit_face(paint: Paint) -> str:
    skull = coat("M0 -16 C13 -16 19 -6 19 2 C22 10 12 17 0 17 C-12 17 -22 10 -19 2 C-19 -6 -13 -16 0 -16 Z", paint)
    cheeks = ellipse(-5, 8, 6.5, 5.6, paint.light) + ellipse(5, 8, 6.5, 5.6, paint.light)
    teeth = rect(-2.6, 11, 5.2, 4.6, 1, "#ffffff", paint.line, 0.8)
    return (
        skull
        + cheeks
        + teeth
        + path("M-3 2.6 H3 L0 6.4 Z", ROSE, ROSE, 1.4)
        + eye(-9, -3, 4.4)
        + eye(9, -3, 4.4)
        + stroke(
            "M0 6 V9 Q-1 11.6 -5 11 M0 9 Q1 11.6 5 11 M-13 7 L-24 5 M-13 10 L-23 12 M13 7 L24 5 M13 10 L23 12",
            paint.line,
            1,
        )
    )


def elephant(paint: Paint, style: str) -> str:
    if style == "sitting":
        body = coat(
            limb((38, 70, 25), (48, 46, 22))
            + limb((44, 84, 12), (66, 87, 9))
            + oval(56, 28, 22, 21)
            + limb((68, 34, 11), (79, 37, 8), (87, 35, 6.6), (92, 28, 5.8), (94, 19, 5.2), (92, 9, 4.8)),
            paint,
        )
        arm = coat(limb((54, 60, 10), (68, 70, 8)), paint)
        return (
            tube("M16 86 Q4 90 3 80", paint.dark, paint.line, 3)
            + body
            + arm
            + merged(oval(72, 86, 7, 9.6, 10), paint.light, paint.line)
            + stroke("M70 79 L72 82 M76 80 L76 83", paint.line, 1.4)
            + _tusk(70, 38, -18)
            + _elephant_ear(paint, 40, 30, 1.05)
            + eye(66, 22, 4)
        )
    far = merged(limb((34, 70, 10), (34, 87, 9)) + limb((60, 70, 10), (61, 87, 9)), paint.dark, paint.line)
    body = coat(
        "M4 52 C4 26 26 14 48 18 C60 20 66 30 66 50 L66 62 C66 80 22 80 12 70 C6 66 4 60 4 52 Z"
        + limb((20, 66, 13), (20, 86, 10))
        + limb((54, 68, 12), (50, 86, 10))
        + oval(68, 40, 22, 22)
        + limb((80, 46, 12), (89, 64, 8), (90, 80, 6), (97, 86, 4.4)),
        paint,
    )
    nails = "".join(ellipse(x, 94, 2.2, 2, IVORY, paint.line, 0.8) for x in (15, 20, 25, 45, 50, 55))
    return (
        far
        + tube("M6 44 Q-1 54 2 66", paint.dark, paint.line, 3)
        + body
        + nails
        + stroke("M88 60 L95 58 M89 69 L97 68 M88 77 L95 77", paint.line, 1.2)
        + _tusk(78, 54, 0)
        + _elephant_ear(paint, 50, 40, 1.15)
        + eye(77, 35, 4)
    )


def _elephant_ear(paint: Paint, x: float, y: float, scale: float) -> str:
    outer = coat("M8 -18 C-10 -24 -22 -10 -18 6 C-15 18 -4 24 6 18 C14 10 16 -6 8 -18 Z", paint)
    inner = path("M5 -12 C-7 -17 -15 -8 -12 4 C-10 12 -3 16 4 12 C9 6 10 -5 5 -12 Z", paint.light)
    return placed(outer + inner, x, y, scale)


def _tusk(x: float, y: float, turn: float) -> str:
    return placed(path("M-3 -3 Q2 8 15 6 Q9 1 5 -5 Z", IVORY, "#4a4238", 1.2), x, y, 1, turn)


def giraffe(paint: Paint, style: str) -> str:
    if style == "grazing":
        trunk = limb((19, 36, 10), (38, 31, 11.5)) + limb(
            (42, 28, 9), (58, 31, 6.6), (71, 41, 5.8), (80, 55, 5.4), (85, 69, 5.2)
        )
        far = limb((24, 38, 7), (25, 64, 3.6), (24, 91, 3.3)) + limb((38, 36, 7), (38, 64, 3.6), (39, 91, 3.3))
        near = limb((17, 38, 9), (13, 64, 4.4), (13, 91, 3.5)) + limb((42, 35, 9), (48, 64, 4.4), (52, 91, 3.5))
        head, (x, y, turn) = limb((86, 70, 6.8), (91, 84, 5)), (86, 70, 48)
        mane, tassel, hooves = "M44 20 C64 20 84 36 90 58", "M10 36 Q2 42 3 58", (24, 39, 13, 52)
        grass = path(
            "M68 96 Q70 89 66 85 Q73 88 75 92 Q77 86 82 84 Q81 90 84 92 Q88 87 92 86 Q90 92 92 96 Z",
            "#5fae4d",
            "#2c5a2a",
            1,
        )
    else:
        trunk = limb((30, 60, 10), (50, 55, 11.5)) + limb((54, 51, 9), (61, 38, 6.8), (66, 26, 6), (69, 13, 5.6))
        far = limb((36, 62, 8), (38, 77, 3.9), (37, 91, 3.3)) + limb((49, 60, 8), (49, 77, 3.9), (48, 91, 3.3))
        near = limb((28, 61, 9), (24, 77, 4.4), (25, 91, 3.5)) + limb((54, 58, 9), (59, 77, 4.4), (60, 91, 3.5))
        head, (x, y, turn) = limb((70, 13, 7.4), (86, 19, 5.6)), (70, 13, 0)
        mane, tassel, hooves, grass = "M46 42 C53 36 59 20 62 6", "M20 58 Q11 64 13 79", (37, 48, 25, 60), ""
    feet = [_hoof(paint, foot, 91.5, 0) for foot in hooves]
    return (
        tube(mane, paint.dark, paint.line, 4.6)
        + merged(far, paint.dark, paint.line)
        + feet[0]
        + feet[1]
        + tube(tassel, paint.dark, paint.line, 2.6)
        + placed(_giraffe_horns(paint), x, y, 1, turn)
        + coat(trunk + near + head, paint)
        + feet[2]
        + feet[3]
        + placed(_giraffe_face(paint), x, y, 1, turn)
        + grass
    )


def _giraffe_horns(paint: Paint) -> str:
    return tail("M-3 -5 L-4 -12 M4 -5 L4 -12", paint, 2) + "".join(
        ellipse(x, -12, 2.6, 2.6, paint.dark, paint.line, 1.4) for x in (-4, 4)
    )


def _giraffe_face(paint: Paint) -> str:
    ear = merged(oval(-9, -4, 7, 3.2, 20), paint.light, paint.line)
    return (
        ear
        + path(limb((14, 5.2, 5.4), (16, 6, 5.6)), paint.light)
        + ellipse(19, 4.4, 1, 1.4, paint.line)
        + stroke("M20 9 Q16 10 13 7.6", paint.line, 1.2)
        + eye(5, -1.5, 3.5)
    )


THINGS = (
    Thing("cat", "animal", cat, ("sitting", "walking", "sleeping")),
    Thing("dog", "animal", dog, ("sitting", "running", "sleeping")),
    Thing("horse", "animal", horse, ("standing", "galloping")),
    Thing("rabbit", "animal", rabbit, ("sitting", "hopping")),
    Thing("elephant", "animal", elephant, ("standing", "sitting")),
    Thing("giraffe", "animal", giraffe, ("standing", "grazing")),
)
