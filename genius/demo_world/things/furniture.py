"""Furniture, and what stands on it."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, mixed, path, rect, solid, stroke
from genius.demo_world.things.thing import Thing

SHINE = "rgba(255,255,255,.4)"  # a gloss on cloth or lacquer
SHADE = "rgba(28,12,40,.28)"  # what lies in the shadow of a part above it
WOOD, WOOD_DARK, WOOD_LINE = "#a9713f", "#7d4f28", "#452611"
BRASS, BRASS_LINE = "#d9ab4d", "#6b4a14"
LINEN, LINEN_LINE = "#fbf6ea", "#6f6a72"
PAPER = "#efe3c8"  # the backs of old books


def chair(paint: Paint, style: str) -> str:
    return _rocking_chair(paint) if style == "rocking" else _upright_chair(paint)


def _upright_chair(paint: Paint) -> str:
    back_legs = path("M29 54 H36 L35 84 H31 Z M64 54 H71 L69 84 H65 Z", WOOD_DARK, WOOD_LINE, 1.5)
    rails = stroke("M23 79 H77", WOOD_LINE, 5) + stroke("M23 79 H77", WOOD_DARK, 2.6)
    posts = solid(
        '<path d="M21 8 C19 0 28 0 28 6 L30 54 H24 Z M79 8 C81 0 72 0 72 6 L70 54 H76 Z"/>', WOOD, WOOD_LINE, 1.6
    )
    back = solid(
        '<path d="M26 9 C38 1 62 1 74 9 C76 22 75 34 73 43 C60 47 40 47 27 43 C25 34 24 22 26 9 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    buttons = "".join(
        ellipse(x, y, 1.5, 1.5, paint.dark, paint.line, 0.9)
        for x, y in ((38, 15), (62, 15), (50, 24), (38, 33), (62, 33))
    )
    legs = solid('<path d="M16 60 H26 L24 96 H18.5 Z M84 60 H74 L76 96 H81.5 Z"/>', WOOD, WOOD_LINE, 1.6)
    apron = path("M16 59 H84 L82 68 H18 Z", WOOD, WOOD_LINE, 1.6) + path("M17 60 H83 V63 H17 Z", SHADE)
    seat = solid(
        '<path d="M26 44 C40 42 60 42 74 44 C80 45 89 54 89 58 C89 64 80 64 50 64 C20 64 11 64 11 58 '
        'C11 54 20 45 26 44 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    return (
        back_legs
        + rails
        + posts
        + back
        + buttons
        + legs
        + apron
        + seat
        + stroke("M14 58 C30 60 70 60 86 58", paint.line, 1.1)
    )


def _rocking_chair(paint: Paint) -> str:
    far = stroke("M36 62 L38 86 M78 62 L79 84", WOOD_LINE, 6.4) + stroke("M36 62 L38 86 M78 62 L79 84", WOOD_DARK, 3.8)
    far_rocker = stroke("M14 82 Q50 98 98 79", WOOD_LINE, 6.4) + stroke("M14 82 Q50 98 98 79", WOOD_DARK, 3.8)
    back = solid('<path d="M6 14 C4 4 14 1 22 2 L38 4 C44 5 46 8 47 13 L56 56 L24 62 Z"/>', paint.fill, paint.line, 1.8)
    slats = stroke("M17 12 L32 56 M27 10 L40 54 M37 11 L48 52", paint.line, 1.3)
    seat = solid(
        '<path d="M22 58 L56 52 L86 55 Q92 57 90 62 L88 68 Q86 70 82 70 L30 72 Q24 71 23 66 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    arm = "M17 42 C34 37 56 37 74 40 C82 42 84 46 80 48"
    near = "M29 70 L24 90 M76 69 L80 89 M68 41 L72 66"
    wood = stroke(near, WOOD_LINE, 7) + stroke(near, WOOD, 4.2) + stroke(arm, WOOD_LINE, 7.4) + stroke(arm, WOOD, 4.6)
    rocker = stroke("M2 82 Q44 103 96 85", WOOD_LINE, 7.4) + stroke("M2 82 Q44 103 96 85", WOOD, 4.6)
    return far_rocker + far + back + slats + seat + stroke("M26 66 L88 62", paint.line, 1.1) + wood + rocker


def sofa(paint: Paint, style: str) -> str:
    feet = path("M12 86 H22 L20 96 H15 Z M88 86 H78 L80 96 H85 Z", WOOD, WOOD_LINE, 1.5)
    back = solid(
        '<path d="M14 70 V42 C14 33 20 30 30 30 C38 30 44 31 50 33 C56 31 62 30 70 30 C80 30 86 33 86 42 V70 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    seam = stroke("M50 33 V62", paint.line, 1.5)
    buttons = "".join(ellipse(x, 46, 1.6, 1.6, paint.dark, paint.line, 1) for x in (26, 38, 62, 74))
    base = solid('<rect x="12" y="74" width="76" height="16" rx="3"/>', paint.fill, paint.line, 1.8)
    cushions = "".join(
        solid(f'<rect x="{x}" y="60" width="35" height="17" rx="6"/>', paint.fill, paint.line, 1.8) for x in (16, 49)
    )
    arms = "".join(
        solid(f'<path d="{d}"/>', paint.fill, paint.line, 1.8)
        for d in (
            "M5 90 V66 C-1 62 0 50 10 49 C21 48 24 58 20 65 V90 Z",
            "M95 90 V66 C101 62 100 50 90 49 C79 48 76 58 80 65 V90 Z",
        )
    )
    scrolls = stroke(
        "M13 60 C14 55 7 54 6.5 59 C6.5 62 9 64 12 63 M87 60 C86 55 93 54 93.5 59 C93.5 62 91 64 88 63", paint.line, 1.2
    )
    shadow = path("M21 74 H79 V80 Q50 77 21 80 Z", SHADE)
    return feet + back + seam + buttons + base + shadow + cushions + arms + scrolls


def table(paint: Paint, style: str) -> str:
    back_legs = path("M24 50 H30 L29 82 H25 Z M76 50 H70 L71 82 H75 Z", WOOD_DARK, WOOD_LINE, 1.5)
    legs = solid(
        '<path d="M9 56 H20 L17.5 94 Q14 98 11.5 94 Z M91 56 H80 L82.5 94 Q86 98 88.5 94 Z"/>', WOOD, WOOD_LINE, 1.7
    )
    top = path("M21 22 H79 L97 42 H3 Z", paint.fill) + path("M21 22 H79 L97 42 H3 Z", SHINE, paint.line, 1.8)
    drape = solid(
        '<path d="M3 42 H97 L98 66 Q92 72 86 66 Q80 72 74 66 Q68 72 62 66 Q56 72 50 66 Q44 72 38 66 '
        'Q32 72 26 66 Q20 72 14 66 Q8 72 2 66 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    folds = stroke("M14 48 V65 M38 50 V65 M62 50 V65 M86 48 V65", paint.line, 1.1)
    return back_legs + legs + drape + folds + top + stroke("M3 42 H97", paint.line, 1.8)


def lamp(paint: Paint, style: str) -> str:
    lit = style == "lit"
    glow = path("M12 51 L5 88 C10 102 90 102 95 88 L88 51 Z", "rgba(255,234,120,.55)") if lit else ""
    foot = solid('<path d="M26 96 C26 89 36 88 42 87 H58 C64 88 74 89 74 96 Z"/>', BRASS, BRASS_LINE, 1.6)
    body = solid(
        '<path d="M43 57 C43 62 28 65 28 75 C28 83 38 87 43 89 H57 C62 87 72 83 72 75 C72 65 57 62 57 57 Z"/>',
        paint.fill,
        paint.line,
        1.7,
    )
    neck = rect(45.5, 50, 9, 8, 1.5, BRASS, BRASS_LINE, 1.4)
    chain = stroke("M74 52 V64", BRASS_LINE, 1.4) + ellipse(74, 66, 2.4, 2.4, BRASS, BRASS_LINE, 1.1)
    finial = rect(47.5, 1, 5, 8, 2.2, BRASS, BRASS_LINE, 1.3)
    shade = solid('<path d="M30 8 Q50 4 70 8 L91 50 Q50 58 9 50 Z"/>', paint.fill, paint.line, 1.8)
    light = (
        ellipse(50, 38, 26, 14, "rgba(255,240,160,.3)") + ellipse(50, 42, 15, 9, "rgba(255,246,190,.45)") if lit else ""
    )
    trim = stroke("M31.5 13 Q50 9.5 68.5 13", paint.light, 2.2)
    inside = path("M9 50 Q50 58 91 50 Q50 46 9 50 Z", "#fff3b0" if lit else paint.dark, paint.line, 1.5)
    rays = stroke("M11 33 L2 29 M18 17 L10 10 M89 33 L98 29 M82 17 L90 10", "#f3b62a", 3.2) if lit else ""
    return glow + foot + body + neck + finial + shade + light + trim + inside + chain + rays


def bed(paint: Paint, style: str) -> str:
    posts = solid('<path d="M3 96 V26 C0 20 4 16 8 18 C12 16 15 20 12 26 V96 Z"/>', WOOD, WOOD_LINE, 1.7)
    head = solid('<path d="M8 74 V30 C14 20 28 22 30 34 V74 Z"/>', paint.fill, paint.line, 1.8)
    rail = solid('<path d="M12 78 H94 V88 H12 Z"/>', WOOD, WOOD_LINE, 1.6)
    mattress = rect(12, 60, 80, 20, 5, LINEN, LINEN_LINE, 1.6)
    pillow = solid(
        '<path d="M13 60 C9 53 13 47 20 47 C28 43 38 44 41 48 C44 53 43 59 40 62 C33 65 18 65 13 60 Z"/>',
        LINEN,
        LINEN_LINE,
        1.6,
    )
    quilt = solid(
        '<path d="M34 89 C32 68 33 50 44 44 C58 37 86 40 95 51 V89 Q89.5 94 84 89 Q78.5 94 73 89 '
        'Q67.5 94 62 89 Q56.5 94 51 89 Q43 94 34 89 Z"/>',
        paint.fill,
        paint.line,
        1.8,
    )
    turned = solid(
        '<path d="M34 89 C32 68 33 50 44 44 L50 41.8 C41 50 40 68 41 91.4 Q37 91 34 89 Z"/>',
        paint.light,
        paint.line,
        1.5,
    )
    folds = stroke("M62 70 C61 76 61 82 62 87 M73 66 C72 74 72 82 73 87 M84 70 C83 76 83 82 84 87", paint.line, 1.1)
    foot = solid('<path d="M89 96 V48 C86 42 90 38 94 40 C98 38 101 42 98 48 V96 Z"/>', WOOD, WOOD_LINE, 1.7)
    return posts + head + rail + mattress + pillow + quilt + turned + folds + foot


def bookcase(paint: Paint, style: str) -> str:
    frame = solid('<path d="M14 8 H86 V96 H77 L74 92 H26 L23 96 H14 Z"/>', paint.fill, paint.line, 1.8)
    cornice = solid('<path d="M10 9 L13 2 Q50 -2 87 2 L90 9 Z"/>', paint.fill, paint.line, 1.7)
    backs = path("M20 12 H80 V35 H20 Z M20 39 H80 V62 H20 Z", mixed(paint.dark, "#1c1420", 0.35), paint.line, 1.5)
    books = "".join(
        rect(x, floor - high, wide, high, 1, color, paint.line, 1.1)
        for x, floor, wide, high, color in (
            (21, 35, 9, 20, paint.base),
            (30, 35, 9, 17, PAPER),
            (39, 35, 10, 21, paint.light),
            (49, 35, 9, 18, paint.base),
            (70, 35, 9, 19, PAPER),
            (37, 62, 9, 19, paint.base),
            (46, 62, 8, 16, PAPER),
            (54, 62, 10, 21, paint.base),
        )
    )
    leaning = path("M58.5 35 L63 16 L70 17.5 L66 35 Z", paint.base, paint.line, 1.1) + path(
        "M65 62 L70.5 43 L78 45 L73 62 Z", paint.light, paint.line, 1.1
    )
    globe = path("M24 62 L28.5 56 L33 62 Z", BRASS, BRASS_LINE, 1) + solid(
        '<circle cx="28.5" cy="51" r="6.5"/>', "#6fb7d6", "#23485c", 1.2
    )
    doors = "".join(
        solid(f'<rect x="{x}" y="66" width="29.5" height="24" rx="2"/>', paint.fill, paint.line, 1.5)
        for x in (20, 50.5)
    )
    knobs = "".join(ellipse(x, 78, 2, 2, BRASS, BRASS_LINE, 1.1) for x in (45, 55))
    return frame + cornice + backs + books + leaning + globe + doors + knobs


def clock(paint: Paint, style: str) -> str:
    feet = stroke("M26 84 L19 92 M74 84 L81 92", paint.line, 9) + stroke("M26 84 L19 92 M74 84 L81 92", paint.dark, 6)
    hammer = stroke("M50 18 V8", BRASS_LINE, 4.5) + rect(42, 4, 16, 6, 2.6, BRASS, BRASS_LINE, 1.4)
    bells = "".join(
        solid(
            f'<path d="M{x - 17} 20 C{x - 17} -2 {x + 17} -2 {x + 17} 20 Q{x} 25 {x - 17} 20 Z" '
            f'transform="rotate({turn} {x} 18)"/>',
            paint.fill,
            paint.line,
            1.8,
        )
        for x, turn in ((22, -36), (78, 36))
    )
    case = solid('<circle cx="50" cy="56" r="39.5"/>', paint.fill, paint.line, 1.9)
    face = ellipse(50, 56, 25, 25, "#fffaea", paint.line, 1.8)
    marks = stroke("M50 34.5 v4 M71.5 56 h-4 M50 77.5 v-4 M28.5 56 h4", "#3b3440", 2.6) + stroke(
        "M60.8 37.4 l-1 1.7 M68.6 45.2 l-1.7 1 M68.6 66.8 l-1.7 -1 M60.8 74.6 l-1 -1.7 "
        "M39.2 74.6 l1 -1.7 M31.4 66.8 l1.7 -1 M31.4 45.2 l1.7 1 M39.2 37.4 l1 1.7",
        "#8b8490",
        1.6,
    )
    hands = stroke("M50 56 L40 47", "#2b2630", 3.6) + stroke("M50 56 L61 42", "#2b2630", 2.4)
    gloss = path("M15 54 C15 40 22 29 33 23 C37 22 38 26 34 28 C25 33 20 43 20 54 C19 59 15 59 15 54 Z", SHINE)
    pin = ellipse(50, 56, 2.4, 2.4, "#d2383a", "#2b2630", 1)
    return feet + hammer + bells + case + gloss + face + marks + hands + pin


THINGS = (
    Thing("chair", "furniture", chair, ("upright", "rocking")),
    Thing("sofa", "furniture", sofa),
    Thing("table", "furniture", table),
    Thing("lamp", "furniture", lamp, ("unlit", "lit")),
    Thing("bed", "furniture", bed),
    Thing("bookcase", "furniture", bookcase),
    Thing("clock", "furniture", clock),
)
