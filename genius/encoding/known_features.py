"""Features that need not be computed again.

Shapes: d embedding dim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

REMEMBERED = 100_000  # images; with d = 768, 300 MB

Lookup = Callable[[Sequence[str]], dict[str, Tensor]]  # paths or texts -> the features (d,) of those that it knows


def nothing(names: Sequence[str]) -> dict[str, Tensor]:
    """A lookup that knows nothing."""
    return {}


class KnownFeatures:
    """Features of images that were encoded before, and of images and texts that a lookup knows.

    One photograph is often a candidate and the query of several rows.
    """

    def __init__(self, images: Lookup = nothing, texts: Lookup = nothing):
        """images: by relative path; texts: by normalized text."""
        self._lookup, self.texts = images, texts
        self._remembered: dict[str, Tensor] = {}

    def images(self, paths: Sequence[str]) -> dict[str, Tensor]:
        """The features (d,) of those images that are known, by path."""
        remembered = {path: self._remembered[path] for path in paths if path in self._remembered}
        return remembered | self._lookup([path for path in paths if path not in remembered])

    def remember_images(self, features: Mapping[str, Tensor]) -> None:
        """Keep the features of images, by path; when there are too many, earlier ones are dropped."""
        if len(self._remembered) + len(features) > REMEMBERED:
            self._remembered.clear()
        self._remembered.update(features)

    def and_images(self, lookup: Lookup) -> KnownFeatures:
        """The same lookups, and this one for images that they do not know; nothing is remembered yet."""

        def both(paths: Sequence[str]) -> dict[str, Tensor]:
            found = self._lookup(paths)
            return found | lookup([path for path in paths if path not in found])

        return KnownFeatures(both, self.texts)
