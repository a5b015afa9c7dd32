import io

import numpy as np
from PIL import Image

from genius.explore.map_colors import HEIGHT, WIDTH, map_picture

BLUE, RED = "#0000ff", "#ff0000"


def drawn(places, colors):
    return Image.open(io.BytesIO(map_picture(np.array(places, dtype=np.float32).reshape(-1, 2), colors)))


def test_points_lie_where_they_belong_in_their_colors_on_nothing():
    image = drawn([[-1, 0], [1, 0], [0, 0.5], [0, -0.5]], [BLUE, RED, RED, BLUE])
    assert image.size == (WIDTH, HEIGHT) and image.mode == "RGBA"
    half = (WIDTH - 16) // 4  # pixels of 0.5
    middle = WIDTH // 2, HEIGHT // 2
    for x, y, color in ((8, middle[1], 2), (WIDTH - 9, middle[1], 0), (middle[0], middle[1] - half, 0)):
        pixel = image.getpixel((x, y))
        assert pixel[color] > 180 and pixel[2 - color] < 80 and pixel[3] > 120
    assert image.getpixel(middle)[3] == 0


def test_of_one_place_or_none_there_is_a_picture_too():
    assert drawn([[3, 3], [3, 3]], [BLUE, RED]).getpixel((WIDTH // 2, HEIGHT // 2))[0] > 180
    assert drawn([], []).getextrema()[3] == (0, 0)
