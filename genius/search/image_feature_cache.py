"""Image features of the pictures that were searched with last.

The image tower is most of the work of a query with a picture. A picture that is asked about again, with another
instruction or another text, or with several instructions at once, passes it once. Only the features are kept.

Shapes: b queries, d dim.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from PIL import Image
from torch import Tensor

from genius.models.absent import NoEncoder
from genius.models.encoder import Encoder, Features

CAPACITY = 256  # images; one vector each


class ImageFeatureCache:
    """An encoder with a least-recently-used cache of image features.

    Not safe to share between threads: the engine's models run on one.
    """

    def __init__(self, encoder: Encoder | NoEncoder, capacity: int = CAPACITY):
        self.encoder, self.capacity = encoder, capacity
        self._features: OrderedDict[bytes, Tensor] = OrderedDict()  # digest of a picture -> (d,), the last used last

    def encode(self, images: Sequence[Image.Image | None], texts: Sequence[str]) -> Features:
        """As `Encoder.encode`, for b queries; each image that is not in the cache passes the image tower once."""
        digests = {at: _digest(image) for at, image in enumerate(images) if image is not None}
        first = {digest: at for at, digest in reversed(digests.items()) if digest not in self._features}
        missing = [image if at in first.values() else None for at, image in enumerate(images)]
        features = self.encoder.encode(missing, texts)
        for digest, at in first.items():
            self._features[digest] = features.image[at].clone()
        for at, digest in digests.items():
            self._features.move_to_end(digest)
            features.image[at] = self._features[digest]
            features.image_mask[at] = True
        while len(self._features) > self.capacity:
            self._features.popitem(last=False)
        return features

    def clear(self) -> None:
        """Forget every picture."""
        self._features.clear()


def _digest(image: Image.Image) -> bytes:
    """The same for the same pixels."""
    return hashlib.blake2b(image.tobytes(), digest_size=16, salt=repr(image.size).encode()[:16]).digest()
