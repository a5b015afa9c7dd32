"""Frames around pictures: press photographs, pages and film stills look different at first glance."""

from __future__ import annotations

SIDE = 256


def _border(width: float, color: str, radius: float = 0) -> str:
    """A frame along all four edges, its inner corners rounded."""
    inner, r = SIDE - 2 * width, radius
    hole = (
        f"M{width + r} {width} h{inner - 2 * r} a{r} {r} 0 0 1 {r} {r} v{inner - 2 * r} a{r} {r} 0 0 1 {-r} {r} "
        f"h{2 * r - inner} a{r} {r} 0 0 1 {-r} {-r} v{2 * r - inner} a{r} {r} 0 0 1 {r} {-r} Z"
    )
    return f'<path fill-rule="evenodd" fill="{color}" d="M0 0 H{SIDE} V{SIDE} H0 Z {hole}"/>'


def _holes(y: float) -> str:
    return "".join(f'<rect x="{x}" y="{y}" width="11" height="8" rx="2" fill="#f3f0e8"/>' for x in range(7, SIDE, 21))


FRAMES = {
    "": "",
    "press": (
        _border(6, "#fbfaf6") + f'<rect y="{SIDE - 25}" width="{SIDE}" height="25" fill="#fbfaf6"/>'
        f'<rect x="10" y="{SIDE - 18}" width="38" height="11" fill="#c8262c"/>'
        f'<rect x="54" y="{SIDE - 15}" width="130" height="5" fill="#4a4a50"/>'
    ),
    "plate": (
        _border(11, "#efe3c6") + '<rect x="9.5" y="9.5" width="237" height="237" fill="none" stroke="#8d6b3c" '
        'stroke-width="2"/><rect x="4" y="4" width="248" height="248" fill="none" stroke="#8d6b3c"/>'
    ),
    "browser": (
        f'<rect width="{SIDE}" height="22" fill="#3d4654"/><circle cx="12" cy="11" r="4.5" fill="#ee6a5e"/>'
        '<circle cx="26" cy="11" r="4.5" fill="#f5bd4f"/><circle cx="40" cy="11" r="4.5" fill="#61c454"/>'
        '<rect x="56" y="5" width="190" height="12" rx="6" fill="#eef1f5"/>' + _border(3, "#3d4654")
    ),
    "print": _border(9, "#ffffff", 22),
    "magazine": (
        f'<rect x="{SIDE - 20}" width="20" height="{SIDE}" fill="#f2c9c0"/>'
        f'<rect x="{SIDE - 14}" y="20" width="8" height="96" fill="#8c2f45"/>'
        f'<rect x="{SIDE - 14}" y="124" width="8" height="40" fill="#d98c8c"/>'
    ),
    "film": (
        f'<rect width="{SIDE}" height="16" fill="#17171b"/><rect y="{SIDE - 16}" width="{SIDE}" height="16" '
        f'fill="#17171b"/>' + _holes(4) + _holes(SIDE - 12)
    ),
}
