"""Birds, and animals of the water and of the grass."""

from __future__ import annotations

from genius.demo_world.form import closed_eye, coat, eye, limb, merged, mirrored, oval, placed, tube
from genius.demo_world.paint import Paint, ellipse, path, stroke
from genius.demo_world.things.thing import Thing

BILL, BILL_LINE, SNOW, SKIN, SKIN_LINE, BARK = "#f59a23", "#7a3c0c", "#fdfbf5", "#a7c47c", "#35481f", "#8b6242"


def owl(paint: Paint, style: str) -> str:
    if style == "flying":
        wing = coat(
            "M56 40 C66 20 84 14 100 18 C101 28 99 34 95 38 C97 46 92 50 88 51 C88 58 82 62 78 61 "
            "C76 68 68 70 64 67 L56 68 Z",
            paint,
        )
        feathers = stroke("M95 38 Q86 40 80 34 M88 51 Q80 50 75 43 M78 61 Q72 58 69 50", paint.line, 1.4)
        tail = merged("M40 72 L33 91 Q41 90 42 95 Q50 91 58 95 Q59 90 67 91 L60 72 Z", paint.dark, paint.line)
        body = coat(oval(50, 60, 19, 25), paint)
        return (
            tail
            + mirrored(wing + feathers)
            + body
            + _plumage(paint, 50, 67, 0.8)
            + mirrored(_claw(44, 86))
            + placed(_owl_face(paint), 50, 36, 0.86)
        )
    branch = tube("M4 93.5 C30 91 70 95 96 91", BARK, "#3e2817", 3.4) + path(
        "M84 91 Q86 82 96 81 Q96 90 84 91 Z", "#6cb552", "#2c5a2a", 1.1
    )
    body = coat("M20 34 C10 60 20 92 50 92 C80 92 90 60 80 34 Z", paint)
    wing = coat("M18 40 C4 56 8 80 22 88 C33 80 31 56 18 40 Z", paint)
    feathers = stroke("M14 76 Q20 76 23 70 M17 84 Q23 82 26 77", paint.line, 1.3)
    return (
        branch
        + body
        + _plumage(paint, 50, 72, 1)
        + mirrored(wing + feathers + _claw(41, 91))
        + placed(_owl_face(paint), 50, 32, 1.12)
    )


def _owl_face(paint: Paint) -> str:
    head = coat(
        "M-27 -26 Q-14 -17 0 -18 Q14 -17 27 -26 Q30 -12 29 -2 C28 14 14 19 0 19 C-14 19 -28 14 -29 -2 "
        "Q-30 -12 -27 -26 Z",
        paint,
    )
    eyes = "".join(
        ellipse(x, 0, 12, 12, paint.light, paint.line, 1.2)
        + ellipse(x, 0, 8.4, 8.4, "#ffd24a", "#3b2a10", 1)
        + ellipse(x, 0, 5, 5.4, "#1d1a22")
        + ellipse(x - 1.6, -2, 1.8, 1.8, "#ffffff")
        for x in (-12, 12)
    )
    return head + eyes + path("M-4.4 5 Q0 2 4.4 5 L0 15 Z", BILL, BILL_LINE, 1.2)


def _plumage(paint: Paint, x: float, y: float, scale: float) -> str:
    return placed(
        ellipse(0, 0, 16, 17, paint.light)
        + stroke("M-10 -6 q3 5 6 0 M-3 -6 q3 5 6 0 M4 -6 q3 5 6 0 M-7 3 q3 5 6 0 M1 3 q3 5 6 0", paint.dark, 1.8),
        x,
        y,
        scale,
    )


def _claw(x: float, y: float) -> str:
    return tube(f"M{x - 4} {y - 1} v3 M{x} {y - 1} v4 M{x + 4} {y - 1} v3", BILL, BILL_LINE, 2.2)


def penguin(paint: Paint, style: str) -> str:
    if style == "sliding":
        feet = merged("M10 78 L-1 68 Q-3 75 2 78 Q-3 83 -1 88 Z", BILL, BILL_LINE)
        body = coat(limb((14, 82, 10), (44, 74, 20.5), (68, 73, 22)) + oval(75, 49, 22, 22), paint)
        belly = path(
            "M12 91 C30 80 52 86 66 78 C76 72 86 74 89 77 C84 88 76 94.4 66 94.6 L46 94.4 C34 94 22 93 12 91 Z",
            SNOW,
            paint.line,
            1,
        )
        wing = coat(limb((50, 66, 8.5), (32, 50, 6.5), (23, 40, 4)), paint)
        return feet + body + belly + wing + placed(_penguin_face(), 78, 48)
    feet = "".join(ellipse(x, 92.4, 11, 3.8, BILL, BILL_LINE, 1.2) for x in (38, 64))
    arms = coat(limb((29, 44, 8), (12, 66, 5.5), (9, 74, 4)) + limb((73, 44, 8), (88, 64, 5.5), (93, 71, 4)), paint)
    body = coat(
        "M51 4 C33 4 27 16 29 32 C18 46 16 70 22 84 Q28 93 51 93 Q74 93 80 84 C86 70 84 46 73 32 C75 16 69 4 51 4 Z",
        paint,
    )
    belly = path(
        "M55 41 C40 43 34 58 36 74 C38 87 46 91 56 91 C68 91 75 84 76 70 C77 54 70 42 55 41 Z", SNOW, paint.line, 1
    )
    return feet + arms + body + belly + placed(_penguin_face(), 54, 21)


def _penguin_face() -> str:
    mask = ellipse(-9, 1, 9, 9.6, SNOW) + ellipse(9, 1, 9, 9.6, SNOW)
    bill = path("M-8 7 Q0 2 8 7 Q4 16 0 16 Q-4 16 -8 7 Z", BILL, BILL_LINE, 1.2)
    return mask + eye(-8, 0, 4.2) + eye(8, 0, 4.2) + bill + stroke("M-7 8 Q0 11 7 8", BILL_LINE, 1)


def turtle(paint: Paint, style: str) -> str:
    if style == "resting":
        feet = merged(oval(19, 86, 12, 9) + oval(81, 86, 12, 9), SKIN, SKIN_LINE)
        shell = coat(
            "M3 80 C3 44 24 18 50 18 C76 18 97 44 97 80 C84 88 70 88 64 80 Q50 70 36 80 C30 88 16 88 3 80 Z", paint
        )
        scutes = stroke(
            "M36 22 L28 44 L39 60 H61 L72 44 L64 22 M28 44 L8 54 M72 44 L92 54 M39 60 L30 80 M61 60 L70 80",
            paint.line,
            2,
        )
        rim = tube("M4 80 C16 88 30 88 36 80 Q50 68 64 80 C70 88 84 88 96 80", paint.dark, paint.line, 5)
        hollow = path("M32 82 Q50 66 68 82 L67 94 Q50 97 33 94 Z", "#2d2430", paint.line, 1.4)
        head = merged(oval(50, 87, 14, 9.5), SKIN, SKIN_LINE)
        return (
            feet
            + hollow
            + head
            + shell
            + scutes
            + rim
            + closed_eye(44, 86, SKIN_LINE, 3.4)
            + closed_eye(56, 86, SKIN_LINE, 3.4)
            + stroke("M47.5 92 Q50 93.6 52.5 92", SKIN_LINE, 1.3)
        )
    far = merged(limb((28, 80, 7), (32, 91, 5)) + limb((56, 80, 7), (54, 91, 5)), "#7f9d58", SKIN_LINE)
    near = merged(
        "M6 76 L14 82 Q7 88 -1 87 Z"
        + limb((16, 80, 9), (12, 89.5, 6.4))
        + limb((68, 80, 9), (73, 89.5, 6.4))
        + limb((74, 76, 9), (88, 58, 11)),
        SKIN,
        SKIN_LINE,
    )
    shell = coat("M3 76 C3 42 22 20 42 20 C64 20 82 42 81 76 Q42 85 3 76 Z", paint)
    scutes = stroke(
        "M31 24 L23 45 L34 61 H52 L62 45 L54 24 M23 45 L7 55 M62 45 L78 54 M34 61 L29 79 M52 61 L57 79", paint.line, 2
    )
    return (
        far
        + near
        + shell
        + scutes
        + tube("M4 77 Q42 87 80 77", paint.dark, paint.line, 5)
        + eye(91, 54, 4)
        + stroke("M97 63 Q92 66 87 63", SKIN_LINE, 1.4)
    )


def fish(paint: Paint, style: str) -> str:
    tail = merged("M26 52 C18 32 8 22 0 24 C8 42 8 62 0 80 C8 82 18 72 26 52 Z", paint.dark, paint.line)
    fins = merged("M34 28 C40 8 58 4 74 22 Z M44 76 C46 90 58 94 66 80 Z", paint.dark, paint.line)
    body = coat("M20 52 C30 24 56 14 76 24 C90 31 96 42 97 50 C96 62 88 73 76 79 C56 89 32 80 20 52 Z", paint)
    belly = path("M34 70 C50 80 76 76 92 60 C88 72 80 77 75 78.5 C60 86 44 82 34 70 Z", paint.light)
    fin = merged("M58 56 C46 50 36 56 34 64 C44 70 54 68 60 62 Z", paint.dark, paint.line)
    return (
        tail
        + fins
        + body
        + belly
        + stroke("M66 28 C60 40 60 58 67 74", paint.line, 1.8)
        + stroke("M44 15.5 L48 23 M53 12.5 L55 20 M62 14 L62 20 M4 34 L15 46 M4 70 L15 58", paint.line, 1.3)
        + fin
        + eye(79, 42, 6.4)
        + stroke("M96 54 Q90 60 85 57", paint.line, 1.8)
    )


def butterfly(paint: Paint, style: str) -> str:
    lower = coat("M51 50 C66 48 86 54 86 70 C86 76 82 80 80 84 C78 94 68 98 63 90 C56 82 50 66 51 50 Z", paint)
    upper = coat("M51 48 C54 24 74 2 92 5 C103 8 100 32 92 46 C84 57 64 57 51 52 Z", paint)
    edge = path("M92 5 C103 8 100 32 92 46 C90 50 86 52 82 53 C92 40 94 22 84 7 C87 5.4 90 4.6 92 5 Z", paint.dark)
    dots = path(
        "".join(oval(x, y, r, r) for x, y, r in ((93, 13, 2.4), (95.4, 22, 2), (94.4, 31, 2), (91.4, 40, 1.8))),
        "#ffffff",
    )
    veins = stroke("M56 46 Q68 36 78 20 M56 50 Q74 48 86 38 M56 56 Q68 66 70 82", paint.line, 1.3)
    feeler = stroke("M51 28 C53 16 58 10 64 7", "#2d2430", 1.6) + ellipse(64.6, 6.4, 2.2, 2.2, "#2d2430")
    body = merged(oval(50, 56, 4.4, 24) + oval(50, 31, 6, 6), "#4a3a40", "#1d1a22")
    rings = stroke("M46 56 H54 M46.4 64 H53.6 M47 71 H53", "#8b767c", 1.4)
    return (
        mirrored(lower + upper + edge + dots + veins + feeler)
        + body
        + rings
        + ellipse(47.6, 29.6, 1.5, 1.8, "#ffffff")
        + ellipse(52.4, 29.6, 1.5, 1.8, "#ffffff")
    )


def snail(paint: Paint, style: str) -> str:
    skin, line = "#ecc795", "#5a3b1c"
    stalks = tube("M84 58 L78 36 M88 58 L95 38", skin, line, 3.6)
    body = merged(
        "M-2 95 C6 88 14 86 22 84 L64 82 C74 78 72 66 76 58 C80 48 96 50 97 62 C98 78 94 90 84 95 Z", skin, line
    )
    shell = coat(oval(40, 50, 38, 38), paint)
    spiral = stroke(
        "M76 60 C68 80 44 84 28 74 C12 62 14 38 30 30 C46 22 62 34 60 50 C58 64 40 66 35 55 C32 46 42 41 46 48",
        paint.line,
        3,
    )
    face = stroke("M94 68 Q90 73 85 71", line, 1.5) + ellipse(82, 67, 2.6, 1.8, "#ee9d8c")
    return (
        stalks
        + body
        + shell
        + spiral
        + eye(78, 34, 4.4)
        + eye(95, 36, 4.4)
        + face
        + stroke("M10 92 H70", "#cf9f66", 1.4)
    )


THINGS = (
    Thing("owl", "animal", owl, ("perched", "flying"), flies=True),
    Thing("penguin", "animal", penguin, ("standing", "sliding")),
    Thing("turtle", "animal", turtle, ("walking", "resting")),
    Thing("fish", "animal", fish, ("swimming",), flies=True),
    Thing("butterfly", "animal", butterfly, ("flying",), flies=True),
    Thing("snail", "animal", snail, ("crawling",)),
)
