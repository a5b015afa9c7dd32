"""Vehicles."""

from __future__ import annotations

from genius.demo_world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.demo_world.things.thing import Thing

GLASS, GLARE = "#bfe6f6", "#f2fbff"
TYRE, STEEL = "#2b2b33", "#cfd4db"
LAMP, UNLIT_LAMP, TAIL_LAMP = "#ffdf5e", "#f3efe2", "#e2453c"
LEATHER, WICKER, CREAM = "#7a4a2c", "#c8935a", "#fbf3df"
BRASS, FIRE = "#e8b84a", "#f47a1f"
SKIN, UMBER, CLOTH = "#f2c49c", "#5a3517", "#47557a"
OUTLINE = 1.8


def car(paint: Paint, style: str) -> str:
    driving = style == "driving"
    body = solid(
        '<path d="M3 76 C1 63 6 57 17 55 C23 38 33 29 49 29 C66 29 74 38 81 53 C93 55 98 62 98 72 L98 78 '
        'Q98 86 90 86 L11 86 Q4 86 3 76 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    windows = path(
        "M27 53 C31 42 37 37 47 37 L47 54 L28 55 Q26 55 27 53 Z M52 37 C63 37 68 43 73 52 Q73 54 71 54 L52 54 Z",
        GLASS,
        paint.line,
        1.5,
    )
    glare = stroke("M34 51 L40 41 M58 51 L62 42", GLARE, 2.4)
    door = stroke("M49.5 36 L49.5 80 M75 58 C78 66 76 74 71 78", paint.line, 1.2) + stroke("M54 61 L60 61", STEEL, 2.6)
    bumpers = rect(0, 76, 10, 6, 3, STEEL, paint.line, 1.3) + rect(90, 76, 10, 6, 3, STEEL, paint.line, 1.3)
    lamps = ellipse(93, 66, 4, 5, LAMP if driving else UNLIT_LAMP, paint.line, 1.4) + ellipse(
        6, 66, 2.6, 4, TAIL_LAMP, paint.line, 1.2
    )
    wheels = _wheel(24, 84, 12, paint) + _wheel(76, 84, 12, paint)
    driver = _head(62, 47, 6.2) if driving else ""
    drawn = body + windows + glare + driver + door + bumpers + lamps + wheels
    return _moving(drawn, 66) if driving else drawn


def bus(paint: Paint, style: str) -> str:
    driving = style == "driving"
    body = solid(
        '<path d="M1 26 Q1 11 16 11 L84 11 Q95 11 96 24 L99 60 L99 80 Q99 87 92 87 L8 87 Q1 87 1 80 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    roof = rect(18, 6, 32, 6, 2.5, paint.dark, paint.line, 1.4)
    windows = "".join(rect(x, 22, 15, 19, 3, GLASS, paint.line, 1.5) for x in (8, 27, 46))
    door = rect(66, 22, 12, 57, 3, GLASS, paint.line, 1.5) + stroke("M72 23 L72 78 M66 52 L78 52", paint.line, 1.3)
    windscreen = path("M83 22 L91 22 Q93 22 93.3 24 L96 47 L83 47 Z", GLASS, paint.line, 1.5)
    glare = stroke("M12 35 L17 26 M31 35 L36 26 M50 35 L55 26 M68.5 38 L70.5 29 M86 40 L90 29", GLARE, 2.2)
    heads = _head(17, 33, 5.4) + _head(54, 33, 5.4) + _head(90, 37, 5) if driving else ""
    lamps = ellipse(94, 68, 3.6, 4.2, LAMP if driving else UNLIT_LAMP, paint.line, 1.4) + rect(
        1, 62, 4, 10, 1.6, TAIL_LAMP, paint.line, 1.2
    )
    skirt = stroke("M7 81 L9 81 M39 81 L62 81", paint.dark, 2.4) + stroke("M6 48 L61 48", paint.light, 2.8)
    wheels = _wheel(24, 85, 11, paint) + _wheel(82, 85, 11, paint)
    drawn = roof + body + windows + door + windscreen + glare + heads + skirt + lamps + wheels
    return _moving(drawn, 68) if driving else drawn


def truck(paint: Paint, style: str) -> str:
    driving = style == "driving"
    chassis = rect(3, 74, 93, 9, 3, TYRE)
    pipe = stroke("M66 74 L66 26 L63 22", paint.line, 5) + stroke("M66 74 L66 26 L63 22", STEEL, 2.6)
    box = solid('<rect x="1" y="12" width="60" height="64" rx="4"/>', paint.fill, paint.line, OUTLINE)
    trim = stroke("M3 20 L59 20 M3 68 L59 68", paint.dark, 2.4)
    cab = solid(
        '<path d="M69 38 Q69 34 73 34 L83 34 Q87 34 89 39 L94 54 Q99 56 99 62 L99 82 L69 82 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    window = (
        path("M73.5 39 L82 39 Q84.5 39 85.5 41 L90.5 57 L73.5 57 Z", GLASS, paint.line, 1.5)
        + stroke("M76.5 52 L80 43", GLARE, 2.2)
        + (_head(81.5, 50, 5) if driving else "")
    )
    details = stroke("M72.5 60 L72.5 79 M88 60 L88 69", paint.line, 1.2) + stroke("M75.5 63 L80 63", STEEL, 2.4)
    front = rect(93, 78, 9, 6, 2.4, STEEL, paint.line, 1.3) + ellipse(
        96, 69, 3.2, 4, LAMP if driving else UNLIT_LAMP, paint.line, 1.3
    )
    wheels = "".join(_wheel(x, 85, 11, paint) for x in (15, 39, 82))
    drawn = chassis + pipe + box + trim + cab + window + details + front + wheels
    return _moving(drawn, 69) if driving else drawn


def bicycle(paint: Paint, style: str) -> str:
    driving = style == "driving"
    rims = "".join(f"M{cx - 19.5} 73 a19.5 19.5 0 1 1 39 0 a19.5 19.5 0 1 1 -39 0 " for cx in (22, 78))
    spokes = "".join(
        f"M{cx - x:g} {73 - y:g} L{cx + x:g} {73 + y:g}"
        for cx in (22, 78)
        for x, y in ((0, 18), (12.7, 12.7), (18, 0), (12.7, -12.7))
    )
    wheels = (
        path(rims, "#ffffff66", paint.line, 7)
        + stroke(spokes, "#8b919c", 1)
        + stroke(rims, paint.fill, 4.4)
        + ellipse(22, 73, 3, 3, STEEL, paint.line, 1.3)
        + ellipse(78, 73, 3, 3, STEEL, paint.line, 1.3)
    )
    guard_and_basket = path(
        "M22 73 L1 66 C4 52 16 46 26 49 C34 51 40 56 43 64 Z M71 22 L97 22 L93 43 L75 43 Z", paint.fill, paint.line, 1.6
    )
    frame = "M22 73 L46 74 L36 38 L22 73 M46 74 L70 36 M38 44 L68 44 M78 73 L66 26"
    tubes = stroke(frame, paint.line, 8.4) + stroke(frame, paint.fill, 5.6)
    saddle = stroke("M36 38 L34 29", STEEL, 3.4) + path(
        "M22 25 Q20 20 26 20 C34 20 40 23 47 25 Q48 29 42 29 L30 31 Q24 31 22 25 Z", LEATHER, paint.line, 1.4
    )
    handlebar = (
        stroke("M66 27 L64 18 L56 15", paint.line, 5)
        + stroke("M66 27 L64 18", STEEL, 2.4)
        + stroke("M60 16.5 L55 14.5", LEATHER, 4)
    )
    brim = rect(69, 19, 30, 5, 2.2, paint.light, paint.line, 1.3)
    crank = (
        stroke("M46 74 L54 85 M50 86 L59 84", paint.line, 3.4)
        + ellipse(46, 74, 7, 7, STEEL, paint.line, 1.6)
        + ellipse(46, 74, 2, 2, paint.line)
    )
    stand = "" if driving else stroke("M44 78 L33 95", paint.line, 3)
    lamp = ellipse(88, 48, 3.6, 3.6, LAMP if driving else UNLIT_LAMP, paint.line, 1.3)
    drawn = wheels + lamp + guard_and_basket + stand + tubes + saddle + handlebar + crank + brim
    return _moving(drawn + _rider(paint), 48, 0.78) if driving else drawn


def _rider(paint: Paint) -> str:
    """Who rides the bicycle, in its colors."""
    leg, torso, arm = "M37 22 L60 42 L53 80", "M36 20 Q40 4 51 -2", "M51 0 L48 14 L61 17"
    trousers = (
        stroke(leg, paint.line, 12)
        + stroke(leg, CLOTH, 9.4)
        + path("M48 78 L58 79 Q64 82 63 86 L47 85 Z", LEATHER, paint.line, 1.4)
    )
    jersey = stroke(torso, paint.line, 22) + stroke(torso, paint.fill, 19)
    face = (
        ellipse(62, -14, 9, 9.5, SKIN, UMBER, 1.4)
        + ellipse(66.5, -14.5, 1.3, 1.8, "#2b2b33")
        + path("M49 -14 C48 -28 70 -33 73 -18 Q61 -21 57 -12 Z", paint.fill, paint.line, 1.6)
    )
    sleeve = stroke(arm, paint.line, 9) + stroke(arm, paint.base, 6.4) + ellipse(61.5, 16.5, 3.8, 3.8, SKIN, UMBER, 1.3)
    return trousers + jersey + face + sleeve


def airplane(paint: Paint, style: str) -> str:
    far_wing = path("M51.8 38.8 L36.3 11.4 Q35 8.9 38.6 8.3 L44.2 8.3 L68.2 36.2 Z", paint.dark, paint.line, OUTLINE)
    far_tail = path("M20 49.4 L10.7 37.9 L17 36.9 L30.6 45.9 Z", paint.dark, paint.line, 1.5)
    fin = solid(
        '<path d="M10.9 50.9 L-0.1 22.8 Q-0.5 20.1 2.2 19.6 L10.4 18.3 Q13.1 17.9 15.3 20.4 L35.4 41.4 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    body = solid(
        '<path d="M7.9 49.5 Q6.1 44.2 12.4 43.2 L69.5 33.2 C84.1 30.9 95.1 35.7 98.2 43.6 C100.1 49.8 91.6 '
        '54.9 79 57.8 L50.1 63.3 C31.8 65.3 14.1 59.7 7.9 49.5 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    cockpit = path(
        "M77.4 35.7 C84.8 35.4 89.8 37.4 93.1 40.6 L82.3 43.3 Q77.6 43.1 77.4 35.7 Z", GLASS, paint.line, 1.4
    ) + stroke("M82.4 37.7 L85.7 40.9", GLARE, 1.8)
    windows = "".join(
        ellipse(x, y, 2.5, 3, GLASS, paint.line, 1.1)
        for x, y in ((33.7, 47.7), (41.8, 46.4), (50, 45.1), (58.2, 43.8), (66.4, 42.5))
    )
    engine = solid(
        '<path d="M52 66.7 L62 65.1 Q67 64.3 67.8 69.3 Q68.6 74.3 63.6 75.1 L53.6 76.7 Q48.6 77.5 47.8 72.5 '
        'Q47 67.5 52 66.7 Z"/>',
        paint.light,
        paint.line,
        1.5,
    )
    wing = solid(
        '<path d="M45 54.8 L69.6 50.9 Q73.3 51.2 71.2 55.3 L48.4 87.8 Q47 90.8 43.4 91.4 L37 92.4 Q34.3 92.8 '
        '34.6 89 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    tail = path(
        "M12.7 50.6 L27.2 48.3 Q30.1 48.8 28.6 50.9 L18 60.9 Q16.4 62.1 13.6 62.5 L10.9 63 Q9 62.4 9.6 60.4 Z",
        paint.light,
        paint.line,
        1.5,
    )
    return far_wing + far_tail + fin + body + cockpit + windows + engine + wing + tail


def sailboat(paint: Paint, style: str) -> str:
    mast = stroke("M55 76 L55 4", paint.line, 4.6) + stroke("M55 76 L55 4", WICKER, 2.4)
    pennant = path("M55 1 L74 6 L55 11 Z", paint.light, paint.line, 1.3)
    main = solid('<path d="M52 9 C28 24 9 46 2 67 Q26 72 52 68 Z"/>', paint.fill, paint.line, OUTLINE)
    jib = solid('<path d="M59 15 C74 28 88 48 96 67 Q80 72 59 68 Z"/>', CREAM, paint.line, OUTLINE)
    seams = stroke("M31 27 Q41 30 52 27 M14 47 Q33 52 52 47", paint.line, 1) + stroke(
        "M69 31 L59 35 M82 49 L59 57", paint.base, 3
    )
    boom = stroke("M4 71.5 L55 73", paint.line, 4) + stroke("M4 71.5 L55 73", WICKER, 2)
    hull = solid(
        '<path d="M1 74 Q30 79 50 78 Q76 78 100 70 C97 83 89 94 77 96 L22 96 C11 95 3 86 1 74 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    rail = stroke("M3 75.5 Q30 80 50 79 Q76 79 98.5 71.5", paint.light, 3)
    portholes = "".join(ellipse(x, 87, 2.8, 2.8, GLASS, paint.line, 1.3) for x in (30, 46, 62))
    return boom + mast + pennant + main + jib + seams + hull + rail + portholes


def train(paint: Paint, style: str) -> str:
    driving = style == "driving"
    frame = (
        rect(4, 72, 88, 9, 3, TYRE)
        + path("M86 72 L93 72 L101 94 L84 94 Z", paint.dark, paint.line, 1.6)
        + stroke("M89 79 L89.5 91 M92.5 79 L95 91", paint.line, 1.2)
    )
    chimney = solid(
        '<path d="M69 36 L71 20 L64 8 Q64 4 68 4 L89 4 Q93 4 93 8 L86 20 L87 36 Z"/>', paint.fill, paint.line, OUTLINE
    )
    dome = solid('<path d="M46 36 L46 27 Q46 18 54 18 Q62 18 62 27 L62 36 Z"/>', BRASS, paint.line, 1.6)
    boiler = solid('<rect x="34" y="29" width="60" height="47" rx="9"/>', paint.fill, paint.line, OUTLINE)
    bands = stroke("M50 30 L50 75 M68 30 L68 75", BRASS, 2.2)
    nose = rect(88, 34, 8, 37, 4, paint.dark, paint.line, 1.5) + ellipse(
        97, 44, 4.4, 5.4, LAMP if driving else UNLIT_LAMP, paint.line, 1.4
    )
    cab = solid('<path d="M4 18 L40 18 L40 77 L4 77 Z"/>', paint.fill, paint.line, OUTLINE)
    roof = path("M-2 18 Q-1 7 9 7 L35 7 Q45 7 46 18 Q46 21 43 21 L1 21 Q-2 21 -2 18 Z", paint.dark, paint.line, 1.6)
    window = (
        rect(12, 28, 20, 18, 3, GLASS, paint.line, 1.6)
        + stroke("M15 42 L20 32", GLARE, 2.2)
        + (_head(23, 38, 5.6) if driving else "")
    )
    wheels = _wheel(19, 84, 12, paint) + _wheel(48, 84, 12, paint) + _wheel(73, 87, 9, paint)
    rod = stroke("M19 86 L48 86 L71 86", paint.line, 5) + stroke("M19 86 L48 86 L71 86", STEEL, 2.6)
    drawn = frame + chimney + dome + boiler + bands + nose + cab + roof + window + wheels + rod
    if not driving:
        return drawn
    return _moving(drawn, 44) + _cloud(((73, 12, 4.5), (64, 8, 6), (52, 8, 8), (36, 8, 9.5), (20, 9, 7.5)), "#ffffff")


def balloon(paint: Paint, style: str) -> str:
    ropes = stroke("M34 66 L42 84 M66 66 L58 84 M46 70 L47 84 M54 70 L53 84", paint.line, 1.5)
    envelope = solid(
        '<path d="M50 0 C74 0 90 17 90 36 C90 53 76 62 66 71 L34 71 C24 62 10 53 10 36 C10 17 26 0 50 0 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    gores = stroke("M50 0 C24 12 24 52 40 71 M50 0 C76 12 76 52 60 71", paint.line, 1.3)
    shine = path("M20 34 C20 22 27 13 35 9 C28 18 25 28 25 40 Q20 40 20 34 Z", "#ffffff55")
    swags = "M11 43 Q19 55 31 49 Q40 60 50 51 Q60 60 69 49 Q81 55 89 43"
    bunting = stroke(swags, paint.line, 4.6) + stroke(swags, paint.light, 2.4)
    skirt = path("M33 69 L67 69 L64 75 Q50 78 36 75 Z", paint.dark, paint.line, 1.5)
    flame = path("M50 74 Q55 79 50 83 Q45 79 50 74 Z", LAMP)
    basket = solid('<path d="M39 84 L61 84 L59 95 Q58 98 54 98 L46 98 Q42 98 41 95 Z"/>', WICKER, UMBER, 1.5)
    weave = stroke("M41 89 L59 89 M42 93 L58 93 M46 85 L47 97 M54 85 L53 97", "#8a5a2c", 1.1)
    rim = rect(37, 82, 26, 4, 2, "#a86f38", UMBER, 1.2)
    return flame + ropes + envelope + gores + bunting + shine + skirt + basket + weave + rim


def rocket(paint: Paint, style: str) -> str:
    nozzle = path("M42 80 L58 80 L62 90 L38 90 Z", "#5b6070", paint.line, 1.5)
    fins = solid(
        '<path d="M35 54 C22 60 16 74 17 96 L30 88 L40 84 Z M65 54 C78 60 84 74 83 96 L70 88 L60 84 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    body = solid(
        '<path d="M50 0 C66 12 74 32 72 54 C71 66 67 76 62 83 L38 83 C33 76 29 66 28 54 C26 32 34 12 50 0 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    nose = path("M50 0 C57 5 62 11.5 66 20 Q50 26 34 20 C38 11.5 43 5 50 0 Z", paint.dark, paint.line, 1.5)
    porthole = (
        ellipse(50, 43, 11, 11, STEEL, paint.line, 1.5)
        + ellipse(50, 43, 7.6, 7.6, GLASS, paint.line, 1.3)
        + stroke("M46 44 Q46 39 50 38.5", GLARE, 2)
    )
    belt = stroke("M31 68 Q50 74 69 68", paint.light, 3.4)
    keel = path("M50 66 Q55 78 50 94 Q45 78 50 66 Z", paint.dark, paint.line, 1.5)
    drawn = nozzle + fins + body + nose + porthole + belt + keel
    if style == "standing":
        return drawn
    fire = path("M38 70 C32 80 40 88 50 98 C60 88 68 80 62 70 Z", FIRE, "#b8431a", 1.2) + path(
        "M43 70 C40 79 45 84 50 91 C55 84 60 79 57 70 Z", LAMP
    )
    smoke = _cloud(((13, 90, 6), (87, 90, 6), (25, 88, 8.5), (75, 88, 8.5), (39, 91.5, 5), (61, 91.5, 5)), "#f3f0ee")
    return smoke + fire + f'<g transform="translate(8.5 -2) scale(.83)">{drawn}</g>'


def helicopter(paint: Paint, style: str) -> str:
    boom = solid(
        '<path d="M52 36 L12 32 L5 15 Q4 12 7 12 L13 12 Q15 12 16 14 L24 27 L56 27 L52 62 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    tail_rotor = (
        stroke("M1 20 L15 42", paint.line, 5)
        + stroke("M1 20 L15 42", STEEL, 2.4)
        + ellipse(8, 31, 3.2, 3.2, paint.light, paint.line, 1.3)
    )
    mast = rect(61, 10, 6, 14, 2, STEEL, paint.line, 1.4)
    rotor = rect(24, 5.5, 79, 5.4, 2.7, paint.dark, paint.line, 1.4) + rect(
        57.5, 3, 13, 9.5, 3.5, STEEL, paint.line, 1.4
    )
    engine = solid('<path d="M46 30 Q46 19 56 19 L72 19 Q80 20 83 31 Z"/>', paint.fill, paint.line, 1.6)
    body = solid(
        '<path d="M34 50 C35 34 47 25 64 25 C86 25 102 40 102 58 C102 74 91 82 75 82 L57 82 C42 82 33 68 34 50 Z"/>',
        paint.fill,
        paint.line,
        OUTLINE,
    )
    glass = path(
        "M77 34 C90 37 97.5 47 98 57 Q98 59 96 59 L79 59 Q75 59 75 55 L75 36 Q75 33.5 77 34 Z", GLASS, paint.line, 1.5
    ) + stroke("M80 51 L86 42", GLARE, 2.6)
    door = (
        rect(52, 36, 17, 37, 4, "none", paint.line, 1.5)
        + rect(55, 39.5, 11, 14, 2.6, GLASS, paint.line, 1.3)
        + stroke("M63 60 L66 60", STEEL, 2.4)
    )
    stripe = stroke("M36 62 L47 62 M74 66 L98 66", paint.light, 3)
    skids = (
        stroke("M53 80 L49 93 M81 80 L85 93", paint.line, 3.6)
        + stroke("M33 94 L94 94 Q99 94 100 89", paint.line, 5.4)
        + stroke("M33 94 L94 94 Q99 94 100 89", STEEL, 2.6)
    )
    return boom + tail_rotor + mast + engine + skids + body + stripe + glass + door + rotor


def _wheel(cx: float, cy: float, radius: float, paint: Paint) -> str:
    return ellipse(cx, cy, radius, radius, TYRE, "#17171c", 1) + ellipse(
        cx, cy, 0.4 * radius, 0.4 * radius, paint.line, paint.light, 0.36 * radius
    )


def _moving(drawn: str, lamp: float, scale: float = 0.88) -> str:
    """A vehicle on its way: its lamp (whose y is given) shines, lines of speed and dust are behind it."""
    left, top = 100 - 101 * scale, 96 - 96 * scale
    y = scale * lamp + top
    beam = path(f"M90 {y - 3:.1f} L104 {y - 8:.1f} L104 {y + 14:.1f} Z", "#fff0a0d0")
    speed = stroke(f"M-2.5 44 H{left - 2:.1f} M-2.5 55 H{left - 5:.1f} M-2.5 66 H{left - 7:.1f}", "#ffffff", 2.8)
    return (
        beam
        + f'<g transform="translate({left:.2f} {top:.2f}) scale({scale})">{drawn}</g>'
        + speed
        + _cloud(((left - 2, 90, 5.5), (left - 8.8, 91, 4.5), (left - 10.6, 84, 2.8)), "#e6dccb")
    )


def _cloud(puffs: tuple[tuple[float, float, float], ...], color: str) -> str:
    """Round puffs (x, y, radius) of dust, smoke or steam."""
    circles = "".join(
        f"M{x - r:g} {y:g} a{r:g} {r:g} 0 1 0 {2 * r:g} 0 a{r:g} {r:g} 0 1 0 {-2 * r:g} 0 Z" for x, y, r in puffs
    )
    return path(circles, color, "#8d8794", 2.6) + path(circles, color)  # the second hides the lines inside


def _head(x: float, y: float, radius: float) -> str:
    """Someone behind a window, looking to the right."""
    left, right, chest = x - 1.2 * radius, x + 1.1 * radius, y + 1.4 * radius
    return (
        path(f"M{left:.1f} {chest:.1f} Q{x:.1f} {y:.1f} {right:.1f} {chest:.1f} Z", CLOTH)
        + ellipse(round(x - 0.2 * radius, 2), round(y - 0.2 * radius, 2), radius, radius, UMBER)
        + ellipse(round(x + 0.2 * radius, 2), round(y + 0.15 * radius, 2), 0.76 * radius, 0.8 * radius, SKIN)
        + ellipse(round(x + 0.5 * radius, 2), round(y + 0.05 * radius, 2), 0.15 * radius, 0.2 * radius, "#2b2b33")
    )


ROAD = ("parked", "driving")

THINGS = (
    Thing("car", "vehicle", car, ROAD),
    Thing("bus", "vehicle", bus, ROAD),
    Thing("truck", "vehicle", truck, ROAD),
    Thing("bicycle", "vehicle", bicycle, ROAD),
    Thing("airplane", "vehicle", airplane, flies=True),
    Thing("sailboat", "vehicle", sailboat),
    Thing("train", "vehicle", train, ROAD),
    Thing("balloon", "vehicle", balloon, flies=True),
    Thing("rocket", "vehicle", rocket, ("standing", "launching")),
    Thing("helicopter", "vehicle", helicopter, flies=True),
)
