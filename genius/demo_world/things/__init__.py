"""Every kind of thing the world can draw, by its name."""

from __future__ import annotations

from genius.demo_world.things import (
    accessories,
    animals,
    buildings,
    food,
    furniture,
    garments,
    instruments,
    plants,
    vehicles,
    wildlife,
)
from genius.demo_world.things.thing import Thing

MODULES = (animals, wildlife, vehicles, instruments, buildings, garments, accessories, food, plants, furniture)
THINGS: dict[str, Thing] = {thing.name: thing for module in MODULES for thing in module.THINGS}
assert len(THINGS) == sum(len(module.THINGS) for module in MODULES), "two kinds of thing share a name"
