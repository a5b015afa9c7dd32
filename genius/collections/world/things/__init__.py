"""Every kind of thing the world can draw, by its name."""

from __future__ import annotations

from genius.collections.world.things import (
    accessories,
    animals,
    food,
    furniture,
    garments,
    instruments,
    plants,
    vehicles,
)
from genius.collections.world.things.thing import Thing

MODULES = (animals, vehicles, instruments, garments, accessories, food, plants, furniture)
THINGS: dict[str, Thing] = {thing.name: thing for module in MODULES for thing in module.THINGS}
assert len(THINGS) == sum(len(module.THINGS) for module in MODULES), "two kinds of thing share a name"
