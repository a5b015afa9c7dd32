"""The light of a time of day and a weather: the sky's colors, and what they make of every other color."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from genius.demo_world.paint import mixed

TIMES = ("dawn", "day", "dusk", "night")
WEATHERS = ("clear", "cloudy", "rainy", "snowy", "foggy")

SNOW = "#f3f7fd"


@dataclass(frozen=True)
class Hour:
    """The light of a time of day."""

    sky: tuple[str, str, str]  # top, middle, horizon
    shine: tuple[float, float, float]  # what it leaves of red, green and blue
    wash: float  # how far everything turns into the sky's middle color
    overcast: str  # the color of a closed cloud cover
    fog: str
    veil: tuple[str, float]  # over the things: color, opacity


@dataclass(frozen=True)
class Air:
    """What a weather does to the light."""

    cover: float  # how far the sky turns into the cloud cover
    shade: float  # how far the cloud cover turns into slate (above 0) or snow white (below 0)
    gray: float  # share of every color that is lost
    dim: float  # share of the light that is lost
    haze: float  # how much of itself a thing on the horizon loses
    white: float  # share of snow on the ground


HOURS = {
    "dawn": Hour(("#8db4ea", "#f6bfd0", "#ffe9b4"), (1.0, 0.91, 0.88), 0.05, "#c3b6c4", "#ead9d8", ("#ff9f8c", 0.13)),
    "day": Hour(("#3d8ede", "#86c4f3", "#dbf1fb"), (1.0, 1.0, 1.0), 0.0, "#aab7c3", "#d9dfe1", ("#ffffff", 0.0)),
    "dusk": Hour(("#3a2f78", "#c2527c", "#ff9a48"), (0.88, 0.64, 0.64), 0.07, "#7a5f78", "#a5869a", ("#8a2a4c", 0.25)),
    "night": Hour(("#060a22", "#101d4a", "#2d4384"), (0.40, 0.46, 0.70), 0.25, "#262f4e", "#4a587c", ("#0c1850", 0.38)),
}

AIRS = {
    "clear": Air(0.0, 0.0, 0.0, 0.0, 0.55, 0.0),
    "cloudy": Air(0.72, 0.0, 0.22, 0.08, 0.60, 0.0),
    "rainy": Air(0.92, 0.42, 0.38, 0.24, 0.72, 0.0),
    "snowy": Air(0.86, -0.38, 0.30, 0.03, 0.72, 0.76),
    "foggy": Air(0.95, 0.0, 0.34, 0.03, 1.5, 0.0),
}


@dataclass(frozen=True)
class Light:
    """The light of one hour in one weather."""

    time: str
    weather: str

    @property
    def hour(self) -> Hour:
        return HOURS[self.time]

    @property
    def air(self) -> Air:
        return AIRS[self.weather]

    @property
    def dark(self) -> bool:
        """Whether windows and lanterns are lit."""
        return self.time in ("dusk", "night")

    @cached_property
    def cover(self) -> str:
        """The color of the cloud cover, or of the fog."""
        if self.weather == "foggy":
            return self.hour.fog
        if self.air.shade < 0:
            return mixed(self.hour.overcast, self._shone(SNOW), -self.air.shade)
        return mixed(self.hour.overcast, self._shone("#36424e"), self.air.shade)

    @cached_property
    def sky(self) -> tuple[str, str, str]:
        """Top, middle, horizon. A cover leaves more of the hour's own color low in the sky."""
        top, middle, low = (
            mixed(color, self.cover, self.air.cover * share)
            for color, share in zip(self.hour.sky, (1.0, 0.88, 0.60), strict=True)
        )
        return top, middle, low

    @cached_property
    def haze(self) -> str:
        """What the distance fades into."""
        return mixed(self.sky[1], self.sky[2], 0.7)

    @cached_property
    def _washed(self) -> str:
        return mixed(self.hour.sky[1], "#2c50b0", 0.5) if self.time == "night" else self.hour.sky[1]

    def on(self, color: str, far: float = 0.0) -> str:
        """A color in this light, seen from a distance: 0 is near, 1 is the horizon."""
        seen = self._shone(color)
        level = sum(int(seen[at : at + 2], 16) * weight for at, weight in ((1, 0.3), (3, 0.59), (5, 0.11)))
        seen = mixed(seen, "#" + f"{round(level):02x}" * 3, self.air.gray)
        seen = mixed(seen, self._washed, self.hour.wash)
        seen = mixed(seen, mixed(self.cover, "#10141c", 0.5), self.air.dim)
        return mixed(seen, self.haze, min(0.95, far * self.air.haze))

    def ground(self, color: str, far: float = 0.0, lies: float = 1.0) -> str:
        """A color of what snow lies on; `lies` is the share of it that stays there."""
        return self.on(mixed(color, SNOW, self.air.white * lies), far)

    def veil(self) -> tuple[str, float]:
        """What lies over the things: the hour's color, and a little of the weather's."""
        color, opacity = self.hour.veil
        gray = {"clear": 0.0, "cloudy": 0.05, "rainy": 0.12, "snowy": 0.07, "foggy": 0.10}[self.weather]
        whole = 1 - (1 - opacity) * (1 - gray)
        return (mixed(color, self.cover, gray / (gray + opacity)) if whole else color), round(whole, 3)

    def _shone(self, color: str) -> str:
        parts = (int(color[at : at + 2], 16) * part for at, part in zip((1, 3, 5), self.hour.shine, strict=True))
        return "#" + "".join(f"{round(part):02x}" for part in parts)
