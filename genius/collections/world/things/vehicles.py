"""Vehicles."""

from __future__ import annotations

from genius.collections.world.paint import Paint, ellipse, path, rect, solid, stroke
from genius.collections.world.things.thing import Thing

GLASS, GLARE = "#bfe6f6", "#f2fbff"
TYRE, STEEL = "#2b2b33", "#cfd4db"
LAMP, UNLIT_LAMP, TAIL_LAMP = "#ffdf5e", "#f3efe2", "#e2453c"
LEATHER, WICKER, CREAM = "#7a4a2c", "#c8935a", "#fbf3df"
OUTLINE = 1.8


def car(paint: Paint, style: str) -> str:
    driving = style == "driving"
    body = solid('<path d="M3 76 C1 63 6 57 17 55 C23 38 33 29 49 29 C66 29 74 38 81 53 C93 55 98 62 98 72 L98 78 '
                 'Q98 86 90 86 L11 86 Q4 86 3 76 Z"/>', paint.fill, paint.line, OUTLINE)
    windows = path("M27 53 C31 42 37 37 47 37 L47 54 L28 55 Q26 55 27 53 Z "
                   "M52 37 C63 37 68 43 73 52 Q73 54 71 54 L52 54 Z", GLASS, paint.line, 1.5)
    glare = stroke("M34 51 L40 41 M58 51 L62 42", GLARE, 2.4)
    door = stroke("M49.5 36 L49.5 80 M75 58 C78 66 76 74 71 78", paint.line, 1.2) + stroke("M54 61 L60 61", STEEL, 2.6)
    bumpers = rect(0, 76, 10, 6, 3, STEEL, paint.line, 1.3) + rect(90, 76, 10, 6, 3, STEEL, paint.line, 1.3)
    lamps = ellipse(93, 66, 4, 5, LAMP if driving else UNLIT_LAMP, paint.line, 1.4) \
        + ellipse(6, 66, 2.6, 4, TAIL_LAMP, paint.line, 1.2)
    wheels = _wheel(24, 84, 12, paint) + _wheel(76, 84, 12, paint)
    drawn = body + windows + glare + door + bumpers + lamps + wheels
    return _moving(drawn, 66) if driving else drawn


def bus(paint: Paint, style: str) -> str:
    driving = style == "driving"
    body = solid('<path d="M2 30 Q2 16 16 16 L84 16 Q95 16 96 28 L98 60 L98 80 Q98 87 91 87 L9 87 Q2 87 2 80 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    roof = rect(18, 11, 34, 6, 2.5, paint.dark, paint.line, 1.4)
    windows = "".join(rect(x, 26, 15, 20, 3, GLASS, paint.line, 1.5) for x in (8, 26, 44))
    door = rect(62, 26, 15, 57, 3, GLASS, paint.line, 1.5) + stroke("M69.5 27 L69.5 82", paint.line, 1.3)
    windscreen = path("M82 26 L91 26 Q93 26 93.3 28 L95.5 50 L82 50 Z", GLASS, paint.line, 1.5)
    glare = stroke("M12 41 L18 30 M30 41 L36 30 M48 41 L54 30 M65 44 L68 34 M85 44 L89 33", GLARE, 2.2)
    lamps = ellipse(94, 68, 3.6, 4.2, LAMP if driving else UNLIT_LAMP, paint.line, 1.4) \
        + rect(2, 64, 4, 9, 1.6, TAIL_LAMP, paint.line, 1.2)
    skirt = stroke("M7 80 L58 80", paint.dark, 2.4) + stroke("M7 53 L58 53", paint.light, 2.6)
    wheels = _wheel(24, 85, 11, paint) + _wheel(82, 85, 11, paint)
    drawn = roof + body + windows + door + windscreen + glare + skirt + lamps + wheels
    return _moving(drawn, 68) if driving else drawn


def truck(paint: Paint, style: str) -> str:
    driving = style == "driving"
    chassis = rect(3, 74, 93, 9, 3, TYRE)
    pipe = stroke("M66 74 L66 26 L63 22", paint.line, 5) + stroke("M66 74 L66 26 L63 22", STEEL, 2.6)
    box = solid('<rect x="1" y="12" width="60" height="64" rx="4"/>', paint.fill, paint.line, OUTLINE)
    trim = stroke("M3 20 L59 20 M3 68 L59 68", paint.dark, 2.4)
    cab = solid('<path d="M69 38 Q69 34 73 34 L83 34 Q87 34 89 39 L94 54 Q99 56 99 62 L99 82 L69 82 Z"/>',
                paint.fill, paint.line, OUTLINE)
    window = path("M74 40 L82 40 Q84 40 85 42 L89 55 L74 55 Z", GLASS, paint.line, 1.5) \
        + stroke("M77 52 L81 43", GLARE, 2.2)
    details = stroke("M72 59 L72 79 M87 59 L87 68", paint.line, 1.2) + stroke("M75 62 L79 62", STEEL, 2.4)
    front = rect(93, 78, 9, 6, 2.4, STEEL, paint.line, 1.3) \
        + ellipse(96, 69, 3.2, 4, LAMP if driving else UNLIT_LAMP, paint.line, 1.3)
    wheels = "".join(_wheel(x, 85, 11, paint) for x in (15, 39, 82))
    drawn = chassis + pipe + box + trim + cab + window + details + front + wheels
    return _moving(drawn, 69) if driving else drawn


def bicycle(paint: Paint, style: str) -> str:
    driving = style == "driving"
    wheels = _spoked(22, paint) + _spoked(78, paint)
    guard = path("M22 73 L1 66 C4 52 16 46 26 49 C34 51 40 56 43 64 Z", paint.fill, paint.line, 1.5)
    frame = "M22 73 L46 74 L36 38 L22 73 M46 74 L70 36 M38 44 L68 44 M78 73 L66 26"
    tubes = stroke(frame, paint.line, 8.4) + stroke(frame, paint.fill, 5.6)
    saddle = stroke("M36 38 L34 29", STEEL, 3.4) \
        + path("M22 25 Q20 20 26 20 C34 20 40 23 47 25 Q48 29 42 29 L30 31 Q24 31 22 25 Z", LEATHER, paint.line, 1.4)
    handlebar = stroke("M66 27 L64 18 L56 15", paint.line, 5) + stroke("M66 27 L64 18", STEEL, 2.4) \
        + stroke("M60 16.5 L55 14.5", LEATHER, 4)
    basket = path("M71 22 L97 22 L93 43 L75 43 Z", paint.fill, paint.line, 1.6) \
        + rect(69, 19, 30, 5, 2.2, paint.light, paint.line, 1.3)
    crank = stroke("M46 74 L54 85 M50 86 L59 84", paint.line, 3.4) + ellipse(46, 74, 7, 7, STEEL, paint.line, 1.6) \
        + ellipse(46, 74, 2, 2, paint.line)
    stand = "" if driving else stroke("M44 78 L33 95", paint.line, 3)
    lamp = ellipse(88, 48, 3.6, 3.6, LAMP if driving else UNLIT_LAMP, paint.line, 1.3)
    drawn = wheels + guard + stand + tubes + saddle + handlebar + crank + lamp + basket
    return _moving(drawn, 48) if driving else drawn


def airplane(paint: Paint, style: str) -> str:
    far_wing = path("M52 40 L40 8 Q39 5 43 5 L49 6 L70 40 Z", paint.dark, paint.line, OUTLINE)
    far_tail = path("M16 46 L8 32 L15 32 L28 44 Z", paint.dark, paint.line, 1.5)
    fin = solid('<path d="M6 46 L-1 14 Q-1 11 2 11 L11 11 Q14 11 16 14 L34 40 Z"/>', paint.fill, paint.line, OUTLINE)
    body = solid('<path d="M3 44 Q2 38 9 38 L72 37 C88 37 99 44 101 53 C102 60 92 64 78 65 L46 66 C26 65 8 56 3 44 '
                 'Z"/>', paint.fill, paint.line, OUTLINE)
    cockpit = path("M80 41 C88 42 93 45 96 49 L84 50 Q79 49 80 41 Z", GLASS, paint.line, 1.4) \
        + stroke("M85 44 L88 48", GLARE, 1.8)
    windows = "".join(ellipse(x, 46.5, 2.7, 3.2, GLASS, paint.line, 1.1) for x in (31, 40, 49, 58, 67))
    engine = solid('<rect x="42" y="70" width="22" height="11" rx="5.5"/>', paint.light, paint.line, 1.5)
    wing = solid('<path d="M42 56 L69 56 Q73 57 70 61 L40 92 Q38 95 34 95 L27 95 Q24 95 25 91 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    tail = path("M8 46 L24 46 Q27 47 25 49 L12 58 Q10 59 7 59 L4 59 Q2 58 3 56 Z", paint.light, paint.line, 1.5)
    return '<g transform="rotate(-9 50 50)">' + far_wing + far_tail + fin + body + cockpit + windows + engine + wing \
        + tail + "</g>"


def sailboat(paint: Paint, style: str) -> str:
    mast = stroke("M47 76 L47 4", paint.line, 4.6) + stroke("M47 76 L47 4", WICKER, 2.4)
    pennant = path("M47 1 L66 6 L47 11 Z", TAIL_LAMP, paint.line, 1.3)
    main = solid('<path d="M44 10 C24 26 10 48 5 68 Q24 72 44 68 Z"/>', paint.fill, paint.line, OUTLINE)
    jib = solid('<path d="M50 15 C66 28 84 48 94 69 Q74 73 50 68 Z"/>', CREAM, paint.line, OUTLINE)
    seams = stroke("M29 27 Q37 29 44 27 M15 46 Q30 50 44 46", paint.line, 1) \
        + stroke("M61 30 L50 34 M76 49 L50 55", paint.light, 2.2)
    hull = solid('<path d="M3 75 Q30 79 50 78 Q76 78 99 71 C96 84 88 95 76 96 L24 96 C12 95 5 86 3 75 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    rail = stroke("M4 76 Q30 80 50 79 Q76 79 98 72", paint.light, 3)
    portholes = "".join(ellipse(x, 87, 2.8, 2.8, GLASS, paint.line, 1.3) for x in (30, 46, 62))
    return mast + pennant + main + jib + seams + hull + rail + portholes


def train(paint: Paint, style: str) -> str:
    driving = style == "driving"
    frame = rect(4, 72, 88, 9, 3, TYRE) + path("M86 72 L93 72 L101 93 L84 93 Z", paint.dark, paint.line, 1.6) \
        + stroke("M89 79 L89 90 M93 79 L95 90", paint.line, 1.2)
    chimney = solid('<path d="M70 42 L72 24 L66 14 Q66 11 69 11 L88 11 Q91 11 91 14 L85 24 L86 42 Z"/>',
                    paint.dark, paint.line, OUTLINE)
    dome = solid('<path d="M45 42 L45 35 Q45 26 53 26 Q61 26 61 35 L61 42 Z"/>', "#e8b84a", paint.line, 1.6)
    boiler = solid('<rect x="34" y="36" width="60" height="38" rx="8"/>', paint.fill, paint.line, OUTLINE)
    bands = stroke("M50 37 L50 73 M66 37 L66 73", "#e8b84a", 2.2)
    nose = rect(88, 40, 8, 30, 4, paint.dark, paint.line, 1.5) \
        + ellipse(97, 47, 4, 5, LAMP if driving else UNLIT_LAMP, paint.line, 1.4)
    cab = solid('<path d="M4 22 L38 22 L38 76 L4 76 Z"/>', paint.fill, paint.line, OUTLINE)
    roof = path("M-1 22 Q0 13 9 13 L33 13 Q42 13 43 22 Q43 25 40 25 L2 25 Q-1 25 -1 22 Z", paint.dark, paint.line, 1.6)
    window = rect(12, 31, 18, 18, 3, "#ffe9a0" if driving else GLASS, paint.line, 1.6) \
        + stroke("M16 45 L22 35", GLARE, 2.2)
    wheels = _wheel(20, 83, 13, paint) + _wheel(50, 83, 13, paint) + _wheel(75, 87, 9, paint)
    rod = stroke("M20 85 L50 85 L72 85", paint.line, 5) + stroke("M20 85 L50 85 L72 85", STEEL, 2.6)
    drawn = frame + chimney + dome + boiler + bands + nose + cab + roof + window + wheels + rod
    if not driving:
        return drawn
    return _cloud(((58, 12, 9), (44, 8, 8), (30, 7, 7), (17, 5, 5.5)), "#ffffff") + _moving(drawn, 47)


def balloon(paint: Paint, style: str) -> str:
    ropes = stroke("M34 66 L42 84 M66 66 L58 84 M46 70 L47 84 M54 70 L53 84", paint.line, 1.5)
    envelope = solid('<path d="M50 0 C74 0 90 17 90 36 C90 53 76 62 66 71 L34 71 C24 62 10 53 10 36 C10 17 26 0 50 0 '
                     'Z"/>', paint.fill, paint.line, OUTLINE)
    gores = stroke("M50 0 C24 12 24 52 40 71 M50 0 C76 12 76 52 60 71", paint.line, 1.3)
    shine = path("M20 34 C20 22 27 13 35 9 C28 18 25 28 25 40 Q20 40 20 34 Z", "#ffffff55")
    skirt = path("M33 69 L67 69 L64 75 Q50 78 36 75 Z", paint.dark, paint.line, 1.5)
    flame = path("M50 74 Q55 79 50 83 Q45 79 50 74 Z", LAMP)
    basket = solid('<path d="M39 84 L61 84 L59 95 Q58 98 54 98 L46 98 Q42 98 41 95 Z"/>', WICKER, "#5a3517", 1.5)
    weave = stroke("M41 89 L59 89 M42 93 L58 93 M46 85 L47 97 M54 85 L53 97", "#8a5a2c", 1.1)
    rim = rect(37, 82, 26, 4, 2, "#a86f38", "#5a3517", 1.2)
    return flame + ropes + envelope + gores + shine + skirt + basket + weave + rim


def rocket(paint: Paint, style: str) -> str:
    nozzle = path("M42 80 L58 80 L62 90 L38 90 Z", "#5b6070", paint.line, 1.5)
    fins = solid('<path d="M35 54 C22 60 16 74 17 96 L30 88 L40 84 Z M65 54 C78 60 84 74 83 96 L70 88 L60 84 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    body = solid('<path d="M50 0 C66 12 74 32 72 54 C71 66 67 76 62 83 L38 83 C33 76 29 66 28 54 C26 32 34 12 50 0 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    nose = path("M50 0 C58 6 64 14 68 24 Q50 30 32 24 C36 14 42 6 50 0 Z", paint.dark, paint.line, 1.5)
    porthole = ellipse(50, 43, 11, 11, STEEL, paint.line, 1.5) + ellipse(50, 43, 7.6, 7.6, GLASS, paint.line, 1.3) \
        + stroke("M46 44 Q46 39 50 38.5", GLARE, 2)
    belt = stroke("M31 68 Q50 74 69 68", paint.light, 3.4)
    keel = path("M50 66 Q55 78 50 94 Q45 78 50 66 Z", paint.dark, paint.line, 1.5)
    drawn = nozzle + fins + body + nose + porthole + belt + keel
    if style == "standing":
        return drawn
    fire = path("M37 66 C32 78 40 86 50 97 C60 86 68 78 63 66 Z", "#f47a1f") \
        + path("M42 66 C39 76 45 82 50 90 C55 82 61 76 58 66 Z", LAMP)
    smoke = _cloud(((12, 86, 10), (88, 86, 10), (27, 84, 12), (73, 84, 12), (42, 90, 7), (58, 90, 7)), "#f3f0ee")
    return smoke + fire + f'<g transform="translate(13 -2) scale(.74)">{drawn}</g>'


def helicopter(paint: Paint, style: str) -> str:
    boom = solid('<path d="M50 40 L10 34 L4 22 Q2 18 6 18 L11 18 Q13 18 14 20 L22 31 L54 34 L52 58 Z"/>',
                 paint.fill, paint.line, OUTLINE)
    tail_rotor = ellipse(7, 32, 3, 3, STEEL, paint.line, 1.3) + stroke("M0 22 L14 42", paint.line, 3.2)
    mast = rect(59, 14, 6, 16, 2, STEEL, paint.line, 1.4)
    rotor = path("M20 11 Q20 8.5 24 8.5 L100 8.5 Q104 8.5 104 11 Q104 13.5 100 13.5 L24 13.5 "
                 "Q20 13.5 20 11 Z", paint.dark, paint.line, 1.4) + rect(56, 6, 12, 9, 3.5, STEEL, paint.line, 1.4)
    engine = path("M46 32 Q47 23 56 23 L70 23 Q77 24 80 33 Z", paint.dark, paint.line, 1.5)
    body = solid('<path d="M36 50 C37 36 48 29 64 29 C84 29 100 42 100 58 C100 72 90 78 74 78 L58 78 C44 78 35 66 36 50 '
                 'Z"/>', paint.fill, paint.line, OUTLINE)
    glass = path("M75 36 C88 39 96 48 96.5 58 L77 58 Q73 58 73 54 L73 38 Q73 35.5 75 36 Z", GLASS, paint.line, 1.5) \
        + stroke("M79 50 L84 43", GLARE, 2.6)
    door = rect(52, 38, 15, 32, 3.5, paint.light, paint.line, 1.4) + rect(54.5, 41, 10, 13, 2.4, GLASS, paint.line, 1.2)
    skids = stroke("M54 77 L50 90 M80 77 L84 90", paint.line, 3.4) \
        + stroke("M34 91 L96 91 Q101 91 102 86", paint.line, 5.4) + stroke("M34 91 L96 91 Q101 91 102 86", STEEL, 2.6)
    return boom + tail_rotor + mast + engine + skids + body + glass + door + rotor


def _wheel(cx: float, cy: float, radius: float, paint: Paint) -> str:
    return ellipse(cx, cy, radius, radius, TYRE, "#17171c", 1) \
        + ellipse(cx, cy, 0.58 * radius, 0.58 * radius, paint.light, paint.line, 1.2) \
        + ellipse(cx, cy, 0.2 * radius, 0.2 * radius, paint.line)


def _spoked(cx: float, paint: Paint) -> str:
    """A bicycle's wheel: a thick painted tyre, so that the colour is seen."""
    spokes = "".join(f"M{cx - x:g} {73 - y:g} L{cx + x:g} {73 + y:g}"
                     for x, y in ((0, 18), (12.7, 12.7), (18, 0), (12.7, -12.7)))
    return ellipse(cx, 73, 19.5, 19.5, "#ffffff66", paint.line, 7) + stroke(spokes, "#8b919c", 1) \
        + ellipse(cx, 73, 19.5, 19.5, "none", paint.fill, 4.4) + ellipse(cx, 73, 3, 3, STEEL, paint.line, 1.3)


def _moving(drawn: str, lamp: float) -> str:
    """A vehicle on its way: its lamp (whose y is given) shines, lines of speed and dust are behind it."""
    beam = path(f"M88 {0.84 * lamp + 12:.1f} L104 {0.84 * lamp + 7:.1f} L104 {0.84 * lamp + 29:.1f} Z", "#fff0a0cc")
    speed = stroke("M-2 46 L12 46 M-3 58 L9 58 M-2 70 L8 70", "#ffffff", 2.6)
    return beam + f'<g transform="translate(12 15.4) scale(.84)">{drawn}</g>' + speed \
        + _cloud(((10, 91, 5), (2, 91, 4), (-1, 85, 2.4)), "#e6dccb")


def _cloud(puffs: tuple[tuple[float, float, float], ...], colour: str) -> str:
    """Round puffs (x, y, radius) of dust, smoke or steam."""
    outline = "".join(ellipse(x, y, radius, radius, colour, "#8d8794", 1.4) for x, y, radius in puffs)
    return outline + "".join(ellipse(x, y, radius - 0.7, radius - 0.7, colour) for x, y, radius in puffs)


ROAD = ("parked", "driving")

THINGS = (
    Thing("car", "vehicle", car, ROAD), Thing("bus", "vehicle", bus, ROAD), Thing("truck", "vehicle", truck, ROAD),
    Thing("bicycle", "vehicle", bicycle, ROAD), Thing("airplane", "vehicle", airplane, flies=True),
    Thing("sailboat", "vehicle", sailboat), Thing("train", "vehicle", train, ROAD),
    Thing("balloon", "vehicle", balloon, flies=True), Thing("rocket", "vehicle", rocket, ("standing", "launching")),
    Thing("helicopter", "vehicle", helicopter, flies=True))
