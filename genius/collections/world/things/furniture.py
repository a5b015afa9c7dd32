"""Furniture, and what stands on it."""

from __future__ import annotations

from genius.collections.world.paint import Paint, ellipse, mixed, path, rect, solid, stroke
from genius.collections.world.things.thing import Thing

SHINE = "rgba(255,255,255,.4)"     # a gloss on cloth or lacquer
SHADE = "rgba(28,12,40,.28)"       # what lies in the shadow of a part above it
WOOD, WOOD_DARK, WOOD_LINE = "#a9713f", "#7d4f28", "#452611"
BRASS, BRASS_LINE = "#d9ab4d", "#6b4a14"
LINEN, LINEN_LINE = "#fbf6ea", "#6f6a72"


def chair(paint: Paint, style: str) -> str:
    return _rocking_chair(paint) if style == "rocking" else _upright_chair(paint)


def _upright_chair(paint: Paint) -> str:
    back_legs = path("M29 58 H36 V86 H31 Z M64 58 H71 L69 86 H64 Z", WOOD_DARK, WOOD_LINE, 1.5)
    rails = path("M24 74 H76 V79 H24 Z", WOOD_DARK, WOOD_LINE, 1.4)
    posts = solid('<path d="M22 10 C20 2 29 2 29 8 L30 60 H23 Z M78 10 C80 2 71 2 71 8 L70 60 H77 Z"/>', WOOD, WOOD_LINE, 1.6)
    back = solid('<path d="M27 10 C38 3 62 3 73 10 C75 24 74 38 72 49 C60 53 40 53 28 49 C26 38 25 24 27 10 Z"/>',
                 paint.fill, paint.line, 1.8)
    buttons = "".join(ellipse(x, y, 1.7, 1.7, paint.dark, paint.line, 1) for x, y in ((40, 21), (60, 21), (50, 35)))
    legs = solid('<path d="M17 68 H27 L25.5 96 H19 Z M83 68 H73 L74.5 96 H81 Z"/>', WOOD, WOOD_LINE, 1.6)
    apron = path("M16 66 H84 L82 74 H18 Z", WOOD, WOOD_LINE, 1.6)
    seat = solid('<path d="M26 50 C40 48 60 48 74 50 C80 51 88 61 88 65 C88 71 80 71 50 71 C20 71 12 71 12 65 C12 61 20 51 26 50 Z"/>',
                 paint.fill, paint.line, 1.8)
    return back_legs + rails + posts + back + buttons + legs + apron + seat + stroke("M15 64.5 C30 66.5 70 66.5 85 64.5", paint.line, 1.1)


def _rocking_chair(paint: Paint) -> str:
    far = stroke("M36 62 L38 86 M78 62 L79 84", WOOD_LINE, 6.4) + stroke("M36 62 L38 86 M78 62 L79 84", WOOD_DARK, 3.8)
    far_rocker = stroke("M14 82 Q50 98 98 79", WOOD_LINE, 6.4) + stroke("M14 82 Q50 98 98 79", WOOD_DARK, 3.8)
    back = solid('<path d="M6 14 C4 4 14 1 22 2 L38 4 C44 5 46 8 47 13 L56 56 L24 62 Z"/>', paint.fill, paint.line, 1.8)
    slats = stroke("M17 12 L32 56 M27 10 L40 54 M37 11 L48 52", paint.line, 1.3)
    seat = solid('<path d="M22 58 L56 52 L86 55 Q92 57 90 62 L88 68 Q86 70 82 70 L30 72 Q24 71 23 66 Z"/>', paint.fill, paint.line, 1.8)
    arm = "M17 42 C34 37 56 37 74 40 C82 42 84 46 80 48"
    near = "M29 70 L24 90 M76 69 L80 89 M68 41 L72 66"
    wood = stroke(near, WOOD_LINE, 7) + stroke(near, WOOD, 4.2) + stroke(arm, WOOD_LINE, 7.4) + stroke(arm, WOOD, 4.6)
    rocker = stroke("M2 82 Q44 103 96 85", WOOD_LINE, 7.4) + stroke("M2 82 Q44 103 96 85", WOOD, 4.6)
    return far_rocker + far + back + slats + seat + stroke("M26 66 L88 62", paint.line, 1.1) + wood + rocker


def sofa(paint: Paint, style: str) -> str:
    feet = path("M12 86 H22 L20 96 H15 Z M88 86 H78 L80 96 H85 Z", WOOD, WOOD_LINE, 1.5)
    back = solid('<path d="M14 70 V42 C14 33 20 30 30 30 C38 30 44 31 50 33 C56 31 62 30 70 30 C80 30 86 33 86 42 V70 Z"/>',
                 paint.fill, paint.line, 1.8)
    seam = stroke("M50 33 V62", paint.line, 1.5)
    buttons = "".join(ellipse(x, 46, 1.6, 1.6, paint.dark, paint.line, 1) for x in (26, 38, 62, 74))
    base = solid('<rect x="12" y="74" width="76" height="16" rx="3"/>', paint.fill, paint.line, 1.8)
    cushions = "".join(solid(f'<rect x="{x}" y="60" width="35" height="17" rx="6"/>', paint.fill, paint.line, 1.8)
                       for x in (16, 49))
    arms = "".join(solid(f'<path d="{d}"/>', paint.fill, paint.line, 1.8) for d in (
        "M5 90 V66 C-1 62 0 50 10 49 C21 48 24 58 20 65 V90 Z", "M95 90 V66 C101 62 100 50 90 49 C79 48 76 58 80 65 V90 Z"))
    scrolls = stroke("M13 60 C14 55 7 54 6.5 59 C6.5 62 9 64 12 63 M87 60 C86 55 93 54 93.5 59 C93.5 62 91 64 88 63", paint.line, 1.2)
    return feet + back + seam + buttons + base + path("M21 74 H79 V80 Q50 77 21 80 Z", SHADE) + cushions + arms + scrolls


def table(paint: Paint, style: str) -> str:
    back_legs = path("M24 50 H30 L29 82 H25 Z M76 50 H70 L71 82 H75 Z", WOOD_DARK, WOOD_LINE, 1.5)
    legs = solid('<path d="M9 56 H20 L17.5 94 Q14 98 11.5 94 Z M91 56 H80 L82.5 94 Q86 98 88.5 94 Z"/>', WOOD, WOOD_LINE, 1.7)
    top = path("M21 22 H79 L97 42 H3 Z", paint.fill) + path("M21 22 H79 L97 42 H3 Z", SHINE, paint.line, 1.8)
    drape = solid('<path d="M3 42 H97 L98 66 Q92 72 86 66 Q80 72 74 66 Q68 72 62 66 Q56 72 50 66 Q44 72 38 66 Q32 72 26 66 '
                  'Q20 72 14 66 Q8 72 2 66 Z"/>', paint.fill, paint.line, 1.8)
    folds = stroke("M14 48 V65 M38 50 V65 M62 50 V65 M86 48 V65", paint.line, 1.1)
    return back_legs + legs + drape + folds + top + stroke("M3 42 H97", paint.line, 1.8)


def lamp(paint: Paint, style: str) -> str:
    lit = style == "lit"
    glow = (ellipse(50, 54, 50, 42, "rgba(255,236,140,.3)") + path("M14 52 L0 96 H100 L86 52 Z", "rgba(255,232,120,.5)")) if lit else ""
    foot = solid('<path d="M26 96 C26 89 36 88 42 87 H58 C64 88 74 89 74 96 Z"/>', BRASS, BRASS_LINE, 1.6)
    body = solid('<path d="M44 56 C44 62 32 66 32 75 C32 83 40 87 44 89 H56 C60 87 68 83 68 75 C68 66 56 62 56 56 Z"/>',
                 paint.fill, paint.line, 1.7)
    neck = rect(45.5, 50, 9, 8, 1.5, BRASS, BRASS_LINE, 1.4)
    chain = stroke("M66 52 V66", BRASS_LINE, 1.4) + ellipse(66, 68, 2.2, 2.2, BRASS, BRASS_LINE, 1.1)
    finial = rect(47.5, 1, 5, 8, 2.2, BRASS, BRASS_LINE, 1.3)
    shade = solid('<path d="M30 8 Q50 4 70 8 L91 50 Q50 58 9 50 Z"/>', paint.fill, paint.line, 1.8)
    inside = path("M9 50 Q50 58 91 50 Q50 46 9 50 Z", "#fff6c4" if lit else paint.dark, paint.line, 1.5)
    light = path("M30 9 Q50 5 70 9 L90 49 Q50 45 10 49 Z", "rgba(255,240,150,.34)") if lit else ""
    trim = stroke("M31.5 13 Q50 9.5 68.5 13", paint.light, 2.2)
    rays = stroke("M8 34 L-1 30 M16 18 L9 11 M92 34 L101 30 M84 18 L91 11", "#f3b62a", 3) if lit else ""
    return glow + foot + body + neck + finial + shade + light + trim + inside + chain + rays


def bed(paint: Paint, style: str) -> str:
    head = solid('<path d="M3 94 V34 C3 22 12 22 14 26 C20 26 24 30 24 38 V94 H17 V88 H10 V94 Q6 98 3 94 Z"/>', WOOD, WOOD_LINE, 1.8)
    rail = solid('<path d="M20 76 H92 V87 H20 Z"/>', WOOD, WOOD_LINE, 1.6)
    mattress = rect(18, 58, 74, 20, 5, LINEN, LINEN_LINE, 1.6)
    pillow = solid('<path d="M21 60 C17 50 20 42 27 42 C36 38 44 42 46 46 C49 52 47 58 44 62 C38 65 26 65 21 60 Z"/>',
                   LINEN, LINEN_LINE, 1.6)
    quilt = solid('<path d="M38 82 C36 68 38 54 48 51 C60 46 84 48 93 53 V82 Q88 86 83 82 Q78 86 73 82 Q68 86 63 82 '
                  'Q58 86 53 82 Q46 86 38 82 Z"/>', paint.fill, paint.line, 1.8)
    turned = solid('<path d="M38 82 C36 68 38 54 48 51 L57 49 C49 55 48 68 50 83 Q44 86 38 82 Z"/>', paint.light, paint.line, 1.5)
    foot = solid('<path d="M88 94 V54 C88 46 98 46 98 54 V94 Q93 98 88 94 Z"/>', WOOD, WOOD_LINE, 1.7)
    return head + rail + mattress + pillow + quilt + turned + foot


def bookcase(paint: Paint, style: str) -> str:
    frame = solid('<path d="M10 10 H90 V96 H80 L76 92 H24 L20 96 H10 Z"/>', paint.fill, paint.line, 1.8)
    cornice = solid('<path d="M6 10 L9 3 Q50 -1 91 3 L94 10 Z"/>', paint.fill, paint.line, 1.7)
    backs = path("M17 15 H83 V36 H17 Z M17 40 H83 V60 H17 Z", mixed(paint.dark, "#1c1420", .45), paint.line, 1.5)
    books = "".join(rect(x, floor - high, wide, high, .8, colour, paint.line, 1.1) for x, floor, wide, high, colour in (
        (19, 36, 6, 17, paint.base), (25, 36, 8, 14, "#efe3c8"), (33, 36, 6, 18, paint.light), (39, 36, 7, 15, paint.base),
        (62, 36, 7, 16, "#efe3c8"), (69, 36, 6, 18, paint.base), (75, 36, 6, 13, paint.light),
        (31, 60, 7, 16, paint.light), (38, 60, 6, 14, paint.base), (44, 60, 9, 17, "#efe3c8"), (53, 60, 6, 15, paint.base)))
    leaning = path("M47 36 L53 20 L58.5 22 L53 36 Z M60 60 L66 44 L72 46 L66.5 60 Z", paint.base, paint.line, 1.1)
    globe = solid('<circle cx="24" cy="51" r="5.5"/>', "#6fb7d6", "#23485c", 1.1) + path("M20 60 L24 56 L28 60 Z", BRASS, BRASS_LINE, 1)
    doors = "".join(solid(f'<rect x="{x}" y="65" width="31" height="24" rx="2"/>', paint.fill, paint.line, 1.5) for x in (17.5, 51.5))
    knobs = ellipse(45, 77, 2, 2, BRASS, BRASS_LINE, 1.1) + ellipse(55, 77, 2, 2, BRASS, BRASS_LINE, 1.1)
    return frame + cornice + backs + books + leaning + globe + doors + knobs


def clock(paint: Paint, style: str) -> str:
    feet = stroke("M26 84 L18 94 M74 84 L82 94", paint.line, 9) + stroke("M26 84 L18 94 M74 84 L82 94", paint.dark, 6)
    hammer = stroke("M50 18 V8", BRASS_LINE, 4.5) + rect(42, 4, 16, 6, 2.6, BRASS, BRASS_LINE, 1.4)
    bells = "".join(solid(f'<path d="M{x - 17} 20 C{x - 17} -2 {x + 17} -2 {x + 17} 20 Q{x} 25 {x - 17} 20 Z" '
                          f'transform="rotate({turn} {x} 18)"/>', paint.fill, paint.line, 1.8) for x, turn in ((22, -36), (78, 36)))
    case = solid('<circle cx="50" cy="56" r="39.5"/>', paint.fill, paint.line, 1.9)
    face = ellipse(50, 56, 25, 25, "#fffaea", paint.line, 1.8)
    marks = stroke("M50 34.5 v4 M71.5 56 h-4 M50 77.5 v-4 M28.5 56 h4", "#3b3440", 2.6) + \
        stroke("M60.8 37.4 l-1 1.7 M68.6 45.2 l-1.7 1 M68.6 66.8 l-1.7 -1 M60.8 74.6 l-1 -1.7 "
               "M39.2 74.6 l1 -1.7 M31.4 66.8 l1.7 -1 M31.4 45.2 l1.7 1 M39.2 37.4 l1 1.7", "#8b8490", 1.6)
    hands = stroke("M50 56 L40 47", "#2b2630", 3.6) + stroke("M50 56 L61 42", "#2b2630", 2.4)
    gloss = path("M15 54 C15 40 22 29 33 23 C37 22 38 26 34 28 C25 33 20 43 20 54 C19 59 15 59 15 54 Z", SHINE)
    return feet + hammer + bells + case + gloss + face + marks + hands + ellipse(50, 56, 2.4, 2.4, "#d2383a", "#2b2630", 1)


THINGS = (
    Thing("chair", "furniture", chair, ("upright", "rocking")), Thing("sofa", "furniture", sofa),
    Thing("table", "furniture", table), Thing("lamp", "furniture", lamp, ("unlit", "lit")),
    Thing("bed", "furniture", bed), Thing("bookcase", "furniture", bookcase), Thing("clock", "furniture", clock))
