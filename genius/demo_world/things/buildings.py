"""Buildings."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.demo_world.things.thing import Thing

WOOD, STONE, STONE_LINE = "#8a5f3c", "#a9a6a0", "#5d5a58"
PANE, GLOW, NIGHT = "#bfe3f2", "#ffd978", "#3a3548"
LEAF, LEAF_LINE = "#5c9a4c", "#2f5a30"
SHADOW = "rgba(28,20,32,.3)"


def roofed(d: str, paint: Paint) -> str:
    """A roof in the color and the pattern of the walls, darker than they are."""
    return path(d, paint.fill) + path(d, SHADOW, paint.line, 1.5)


def house(paint: Paint, style: str) -> str:
    """A cottage seen from the front, its gable to the right, smoke above the chimney."""
    smoke = stroke("M26 13 C20 9 30 6 25 1", "#ffffff", 4.4)
    chimney = rect(20, 14, 13, 26, 1, "#b0644c", paint.line) + rect(18, 12, 17, 6, 1.5, "#8f4c3a", paint.line)
    walls = solid('<path d="M11 46 H89 V95 H11 Z"/>', paint.fill, paint.line)
    roof = roofed("M4 50 L18 24 H60 L48 50 Z", paint)
    gable = solid('<path d="M48 95 V49 L69 20 L90 49 V95 Z"/>', paint.fill, paint.line)
    edge = "M44 52.5 L69 17.5 L94 52.5"
    eaves = stroke(edge, paint.line, 6.6) + stroke(edge, paint.dark, 4.2)
    attic = ellipse(69, 43, 6.4, 6.4, GLOW, paint.line) + stroke("M69 37 V49 M63 43 H75", paint.line, 1.1)
    door = path("M62 95 V74 Q62 65 69 65 Q76 65 76 74 V95 Z", WOOD, paint.line) + ellipse(73.2, 81, 1.4, 1.4, GLOW)
    window = (
        rect(21, 58, 17, 17, 2, PANE, paint.line)
        + stroke("M29.5 58 V75 M21 66 H38", paint.line, 1.2)
        + rect(19, 74, 21, 3.8, 1.4, "#f6efe0", paint.line, 1)
    )
    bushes = path("M4 96 Q0 88 8 87 Q12 80 19 86 Q27 84 29 90 Q36 90 35 96 Z", LEAF, LEAF_LINE)
    return smoke + chimney + walls + roof + gable + eaves + attic + door + window + bushes


def lighthouse(paint: Paint, style: str) -> str:
    """A tall round tower on a rock, with a gallery and a lamp."""
    lit = style == "lit"
    beams = '<g opacity=".8">' + path("M46 21 L2 10 V32 Z M54 21 L98 10 V32 Z", "#ffe27a") + "</g>" if lit else ""
    rock = path("M12 96 Q12 89 21 89 Q26 84 34 86 H70 Q76 84 80 89 Q89 89 88 96 Z", "#8d8a8c", "#4c494e")
    cracks = stroke("M16 93 L20 91.5 L23 93.5 M77 92 L81 91 L84 93.5", "#5e5b60", 1.4)
    shaft = solid('<path d="M33 35 H67 L78 90 Q50 95 22 90 Z"/>', paint.fill, paint.line)
    door = path("M43.5 92 V80 Q43.5 72 50 72 Q56.5 72 56.5 80 V92 Q50 93 43.5 92 Z", WOOD, paint.line)
    windows = "".join(
        rect(x - 3.2, y, 6.4, 8.6, 3.2, GLOW if lit else NIGHT, paint.line, 1.2) for x, y in ((50, 55), (50, 41.5))
    )
    lantern = rect(39, 12, 22, 18, 1.5, "#fff0a0" if lit else "#cfe3ea", paint.line)
    lamp = ellipse(50, 22, 5, 5, "#ffffff") if lit else path("M46.5 29 Q45 19 50 18 Q55 19 53.5 29 Z", "#8fb0bd")
    bars = stroke("M44.4 13 V30 M55.6 13 V30", paint.line, 1.2)
    gallery = rect(27, 29, 46, 7.5, 2, paint.fill, paint.line) + stroke(
        "M28.5 29 V23 M35 29 V23 M65 29 V23 M71.5 29 V23 M28 22.6 H38 M62 22.6 H72", paint.line, 1.3
    )
    roof = roofed("M34 14 Q50 -7 66 14 Z", paint) + ellipse(50, 2.6, 2.2, 2.2, paint.dark, paint.line, 1.1)
    return beams + rock + cracks + shaft + door + windows + lantern + lamp + bars + gallery + roof


def windmill(paint: Paint, style: str) -> str:
    """A tapering mill with four sails of lattice and cloth."""
    body = solid('<path d="M33 36 H67 L80 95 H20 Z"/>', paint.fill, paint.line)
    cap = roofed("M30 38 Q29 15 50 14 Q71 15 70 38 Z", paint)
    balcony = rect(22, 72, 56, 3.6, 1.8, WOOD, paint.line)
    door = path("M44.5 95 V86 Q44.5 80 50 80 Q55.5 80 55.5 86 V95 Z", WOOD, paint.line)
    window = rect(45.5, 56, 9, 10.5, 4.2, GLOW, paint.line, 1.2)
    sails = "".join(
        f'<g transform="rotate({angle} 50 33)">'
        + rect(50.8, -11, 10, 31, 1, "#f7efdc", paint.line, 1.2)
        + rect(50.8, -11, 6.4, 31, 1, paint.fill, paint.line, 1)
        + stroke("M57 -4 H60 M57 4 H60 M57 12 H60", "#b79f7c", 1)
        + stroke("M50 33 V-12", "#6b4a2f", 2.6)
        + "</g>"
        for angle in (40, 130, 220, 310)
    )
    hub = ellipse(50, 33, 4, 4, "#c9a063", paint.line)
    grass = path("M12 96 Q14 91.5 21 93.4 H79 Q86 91.5 88 96 Z", LEAF, LEAF_LINE)
    return body + cap + balcony + window + grass + door + sails + hub


def castle(paint: Paint, style: str) -> str:
    """A keep between two towers with pointed roofs, battlements, a gate and flags."""
    keep = solid('<path d="M31 95 V24 H38 V30 H45 V24 H55 V30 H62 V24 H69 V95 Z"/>', paint.fill, paint.line)
    wall = solid(
        '<path d="M20 95 V55 H27 V60 H35 V55 H43 V60 H57 V55 H65 V60 H73 V55 H80 V95 Z"/>', paint.fill, paint.line
    )
    parts = []
    for x in (14.5, 85.5):
        parts.append(solid(f'<path d="M{x - 11} 95 V40 H{x + 11} V95 Z"/>', paint.fill, paint.line))
        parts.append(rect(x - 13, 37, 26, 7, 1.4, paint.light, paint.line))
        parts.append(roofed(f"M{x - 14} 38 L{x} 10 L{x + 14} 38 Z", paint))
        parts.append(rect(x - 3, 53, 6, 12, 3, NIGHT, paint.line, 1.1))
    flags = (
        stroke("M50 24 V4 M14.5 11 V3 M85.5 11 V3", paint.line, 1.5)
        + path("M50 4 L66 8.5 L50 13 Z", "#e8b93c", paint.line, 1.1)
        + path("M14.5 2 L24 5 L14.5 8 Z M85.5 2 L95 5 L85.5 8 Z", "#e8b93c", paint.line, 1)
    )
    windows = rect(40, 37, 6, 11, 3, GLOW, paint.line, 1.1) + rect(54, 37, 6, 11, 3, GLOW, paint.line, 1.1)
    gate = path("M38 95 V78 Q38 65 50 65 Q62 65 62 78 V95 Z", WOOD, paint.line, 1.6) + stroke(
        "M44 68.5 V95 M50 65.5 V95 M56 68.5 V95 M38.5 76 H61.5 M38 85 H62", "#4d3220", 1.3
    )
    return keep + windows + flags + wall + "".join(parts) + gate


def tower(paint: Paint, style: str) -> str:
    """A round tower with a wider room under a pointed roof, and ivy climbing up."""
    shaft = solid('<path d="M33 46 H67 V87 L72 95 H28 L33 87 Z"/>', paint.fill, paint.line)
    room = solid('<path d="M24 31 H76 V49 L68 57 H32 L24 49 Z"/>', paint.fill, paint.line)
    corbels = stroke("M33 57 V60 M41.5 57 V60 M50 57 V60 M58.5 57 V60 M67 57 V60", paint.line, 3.4)
    roof = roofed("M17 33 Q41 25 50 3 Q59 25 83 33 Q50 40 17 33 Z", paint)
    flag = stroke("M50 6 V-3", paint.line, 1.5) + path("M50 -3 L63 0.7 L50 4.4 Z", "#e8b93c", paint.line, 1)
    window = rect(43.5, 39, 13, 14, 6, GLOW, paint.line, 1.4) + stroke("M50 39 V53 M44 47 H56", paint.line, 1.1)
    slit = rect(40, 64, 4.8, 9, 2.4, NIGHT, paint.line, 1)
    door = path("M43 95 V85 Q43 78 50 78 Q57 78 57 85 V95 Z", WOOD, paint.line)
    ivy = stroke("M69 94 C60 86 70 78 63 70 C60 66 65 62 62 58", LEAF_LINE, 1.6) + "".join(
        ellipse(x, y, 3.3, 2.6, LEAF, LEAF_LINE, 0.9) for x, y in ((66, 90), (62, 84), (68, 79), (62, 73), (66, 66))
    )
    ground = path("M16 96 Q18 89 27 91.5 H73 Q82 89 84 96 Z", LEAF, LEAF_LINE)
    return shaft + room + corbels + roof + flag + window + slit + ground + door + ivy


def bridge(paint: Paint, style: str) -> str:
    """A humped stone bridge of two arches over water."""
    water = path("M2 96 V84 Q50 78 98 84 V96 Z", "#6fb6dc", "#2c6a92") + stroke(
        "M16 89 Q21 87 26 89 M24 93 Q29 91 34 93 M67 90 Q72 88 77 90 M76 94 Q81 92 86 94", "#e8f6fc", 1.4
    )
    span = solid(
        '<path d="M1 56 Q50 14 99 56 V92 H86 Q86 60 72 60 Q58 60 58 92 H42 Q42 60 28 60 Q14 60 14 92 H1 Z"/>',
        paint.fill,
        paint.line,
        1.6,
    )
    ring = "".join(f"M{x - 16} 91 Q{x - 16} 57 {x} 57 Q{x + 16} 57 {x + 16} 91" for x in (28, 72))
    rail = "M1 54 Q50 12 99 54"
    lines = (
        stroke(ring, paint.line, 3.6)
        + stroke(ring, paint.light, 1.8)
        + stroke(rail, paint.line, 9)
        + stroke(rail, paint.fill, 6.4)
    )
    posts = "".join(
        rect(x - 4, y, 8, 15, 1.6, paint.base, paint.line, 1.2)
        for x, y in ((4.5, 43), (27, 29), (50, 24), (73, 29), (95.5, 43))
    )
    pier = path("M41 90 H59 L63 96 H37 Z M0 90 H15 L18 96 H-1 Z M100 90 H85 L82 96 H101 Z", STONE, STONE_LINE)
    return water + span + lines + pier + posts


def temple(paint: Paint, style: str) -> str:
    """A temple's front: six steps wide, four columns and a pediment."""
    back = rect(14, 40, 72, 42, 0, paint.dark, paint.line)
    door = path("M42 82 V56 H58 V82 Z", NIGHT, paint.line)
    columns = "".join(
        solid(f'<path d="M{x - 6} 43 H{x + 6} L{x + 7} 82 H{x - 7} Z"/>', paint.fill, paint.line)
        + rect(x - 8.4, 39.5, 16.8, 4.6, 1.2, paint.light, paint.line, 1.1)
        for x in (16.5, 38.5, 61.5, 83.5)
    )
    beam = solid('<path d="M5 31 H95 V40 H5 Z"/>', paint.fill, paint.line)
    pediment = solid('<path d="M50 5 L98 31 H2 Z"/>', paint.fill, paint.line, 1.6)
    ornament = ellipse(50, 21.5, 5.6, 5.6, "#e8b93c", paint.line)
    steps = "".join(
        rect(x, y, 100 - 2 * x, 5, 1, paint.light, paint.line, 1.1) for x, y in ((6, 81.5), (3, 86), (0, 90.5))
    )
    return back + door + columns + beam + pediment + ornament + steps


def tent(paint: Paint, style: str) -> str:
    """A camping tent with an open flap, ropes and pegs."""
    ropes = stroke("M42 22 L2 93 M84 29 L99 92", "#6b5138", 1.5) + stroke("M2 90 L4 96 M99 89 L97 96", "#6b5138", 2.4)
    side = solid('<path d="M40 20 Q64 28 84 27 L96 94 H68 Z"/>', paint.fill, paint.line, 1.6)
    front = solid('<path d="M40 20 Q28 62 8 94 H70 Q50 62 40 20 Z"/>', paint.fill, paint.line, 1.6)
    inside = path("M40 36 Q36 70 26 94 H55 Q43 70 40 36 Z", NIGHT, paint.line)
    flap = path("M40 36 Q45 66 57 94 H52 Q56 74 40 36 Z", paint.light, paint.line, 1.1) + path(
        "M40 36 Q37 64 30 94 H24 Q22 80 40 36 Z", paint.light, paint.line, 1.1
    )
    mat = path("M26 94 L22 96 H60 L55 94 Z", paint.dark, paint.line, 1)
    lantern = ellipse(40.5, 56, 2.6, 3.2, GLOW, "#7a5a20", 1) + stroke("M40.3 40 V52", "#a08a70", 0.9)
    pole = stroke("M40 21 V8", "#6b5138", 2.2) + path("M40 6 L57 11 L40 16 Z", "#e8b93c", paint.line, 1.1)
    return ropes + side + pole + front + inside + lantern + flap + mat


THINGS = (
    Thing("house", "building", house),
    Thing("lighthouse", "building", lighthouse, ("dark", "lit")),
    Thing("windmill", "building", windmill),
    Thing("castle", "building", castle),
    Thing("tower", "building", tower),
    Thing("bridge", "building", bridge),
    Thing("temple", "building", temple),
    Thing("tent", "building", tent),
)
