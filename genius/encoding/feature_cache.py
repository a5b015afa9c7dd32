"""A cache of features that need not be computed again.

Shapes: d embedding dim.
"""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

MAX_IMAGES = 100_000  # images; with d = 768, 300 MB

Lookup = Callable[[Sequence[str]], dict[str, Tensor]]  # paths or texts -> the features (d,) of those that it has


def no_features(names: Sequence[str]) -> dict[str, Tensor]:
    """A lookup without any features."""
    return {}


class EncoderFeatureCache:
    """Features of images that were encoded before, and of images and texts that a lookup has.

    One photograph is often a candidate and the query of several rows.
    """

    def __init__(self, images: Lookup = no_features, texts: Lookup = no_features, keep: int = MAX_IMAGES):
        """images: by relative path; texts: by normalized text. keep: images that were encoded and are kept."""
        self._lookup, self.texts, self._keep = images, texts, keep
        self._cached: dict[str, Tensor] = {}

    def images(self, paths: Sequence[str]) -> dict[str, Tensor]:
        """The features (d,) of those images that are cached, by path."""
        cached = {path: self._cached[path] for path in paths if path in self._cached}
        return cached | self._lookup([path for path in paths if path not in cached])

    def add_images(self, features: Mapping[str, Tensor]) -> None:
        """Keep the features of images, by path; when there are too many, earlier ones are dropped."""
        if len(self._cached) + len(features) > self._keep:
            self._cached.clear()
        if len(features) <= self._keep:
            self._cached.update(features)

    def with_image_lookup(self, lookup: Lookup) -> "EncoderFeatureCache":
        """The same lookups, and this one for images that they do not have; nothing is cached yet."""

        def both(paths: Sequence[str]) -> dict[str, Tensor]:
            features = self._lookup(paths)
            return features | lookup([path for path in paths if path not in features])

        return EncoderFeatureCache(both, self.texts)
