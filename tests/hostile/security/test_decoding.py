"""A few kilobytes that decode to hundreds of megabytes, sent many at once."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from genius.collections.images import MAX_DECODING, open_image

SIDE = 4_898  # pixels: 24 megapixels, the largest that is accepted
BYTES = 11  # of memory for each pixel that is being decoded
AT_ONCE = 8
MEASURE = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
from genius.collections import images
from genius.runtime import keep_freed_memory
from tests.hostile.security import test_decoding
images._decoding.limit = int(sys.argv[1])
keep_freed_memory(shared=sys.argv[2] == "shared")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with ThreadPoolExecutor(test_decoding.AT_ONCE) as pool:
    list(pool.map(lambda bomb: images.open_image(bomb, max_side=1_024), [test_decoding.bomb()] * test_decoding.AT_ONCE))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1_024)
"""


def bomb(side=SIDE):
    stream = io.BytesIO()
    Image.new("RGBA", (side, side), (200, 30, 90, 128)).save(stream, "PNG", compress_level=9)
    return stream.getvalue()


def megabytes(limit, memory):
    """What a process needs in addition for decoding them at once."""
    command = [sys.executable, "-c", MEASURE, str(limit), memory]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_images_that_are_decoded_at_once_share_one_limit_on_memory(counts, measured):
    """As app.py serves: without the limit, or if each thread kept its memory, a few kilobytes would cost gigabytes."""
    served, unlimited = megabytes(MAX_DECODING, "shared"), megabytes(AT_ONCE * SIDE**2, "shared")
    measured("security", f"megabytes to decode {AT_ONCE} images of {len(bomb()):,} bytes at once", served)
    measured("security", "megabytes without the limit", unlimited)
    measured("security", "megabytes if each thread keeps its memory", megabytes(MAX_DECODING, "of each thread"))
    assert served < 2 * MAX_DECODING * BYTES / 2**20 < unlimited
    counts("security", "answered", AT_ONCE)


@pytest.mark.sample
def test_small_images_are_not_held_up_by_each_other(counts):
    small = bomb(64)
    with ThreadPoolExecutor(16) as pool:
        opened = list(pool.map(lambda _: open_image(small).size, range(200)))
    assert opened == [(64, 64)] * 200
    counts("security", "answered", 200)
