"""What a picture shows is what its `Picture` says."""

import io
import itertools
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.demo_world.paint import paint
from genius.demo_world.picture import Picture, render, svg
from genius.demo_world.placement import RELATIONS, SIDE, Figure, extent, floats
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS
from genius.errors import UserError

PIXELS = 96
CAT = Figure("cat", "red", "plain", "sitting")
DRUM = Figure("drum", "blue", "plain")
BALLOON = Figure("balloon", "green", "plain")
COPY = re.compile(r'<g transform="translate\((\S+) (\S+)\) scale\((-?\d\.\d{4}) (\d\.\d{4})\)">')

Box = tuple[float, float, float, float]  # left, top, right, bottom


def pixels(picture: Picture) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(render(picture, PIXELS))).convert("RGB")).astype(int)


def seen(picture: Picture, which: int) -> np.ndarray:
    """(height, width): where a figure is seen, which is where its color makes a difference."""
    figures = [replace(figure, color="red") if at == which else figure for at, figure in enumerate(picture.figures)]
    red = pixels(replace(picture, figures=tuple(figures)))
    figures[which] = replace(figures[which], color="green")
    return np.abs(red - pixels(replace(picture, figures=tuple(figures)))).sum(-1) > 90


def middle(mask: np.ndarray) -> float:
    """x of a shape's middle."""
    return float(np.nonzero(mask)[1].mean())


def boxes(picture: Picture) -> list[list[Box]]:
    """The box of each copy of each figure, in the order in which they are drawn."""
    placed: list[list[Box]] = [[] for _ in picture.figures]
    markup = svg(picture)
    for found in COPY.finditer(markup):
        x, y, across, down = map(float, found.groups())
        following = markup[found.end() :]
        which = next(at for at, figure in enumerate(picture.figures) if following.startswith(_drawn(figure)))
        room = extent(picture.figures[which].kind, picture.figures[which].style)
        sides = sorted((x + across * room.left, x + across * room.right))
        placed[which].append((sides[0], y + down * room.top, sides[1], y + down * room.bottom))
    return placed


def _drawn(figure: Figure) -> str:
    """The beginning of a figure's drawing, up to what is painted."""
    drawing = THINGS[figure.kind].draw(paint(figure.color, "plain", "dye"), figure.style)
    return drawing[: drawing.index(" fill=")]


def common(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, down)


def area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def chosen(seed: int, figures: int) -> Picture:
    """Any picture."""
    chance = random.Random(seed)
    kinds = chance.sample(list(THINGS), figures)
    return Picture(
        tuple(
            Figure(
                kind,
                chance.choice(("red", "white", "black", "teal")),
                "plain",
                chance.choice(THINGS[kind].styles),
                chance.choice(("small", "medium", "large")),
                chance.choice((1, 2, 3, 4)),
            )
            for kind in kinds
        ),
        chance.choice(RELATIONS) if figures == 2 else "",
        chance.choice(("", *SCENES)),
        chance.choice(TIMES),
        chance.choice(WEATHERS),
        seed,
        chance.random() < 0.5,
    )


@pytest.mark.parametrize("pixels_wide", [48, 200])
def test_rendering_is_deterministic_and_gives_a_jpeg_of_the_requested_size(pixels_wide):
    picture = Picture((replace(CAT, pattern="plaid"), DRUM), "left of", "meadow")
    encoded = render(picture, pixels_wide)
    image = Image.open(io.BytesIO(encoded))
    assert (image.format, image.size) == ("JPEG", (pixels_wide, pixels_wide))
    assert encoded == render(replace(picture), pixels_wide)


def test_each_field_of_a_picture_changes_the_image():
    picture = Picture((CAT, DRUM), "left of", "meadow")
    others = [
        replace(picture, relation="above"),
        replace(picture, scene="beach"),
        replace(picture, time="night"),
        replace(picture, weather="rainy"),
        replace(picture, variant=1),
        replace(picture, mirrored=True),
        *(
            replace(picture, figures=(replace(CAT, **change), DRUM))
            for change in (
                {"kind": "dog"},
                {"color": "teal"},
                {"pattern": "starry"},
                {"style": "sleeping"},
                {"size": "large"},
                {"count": 2},
            )
        ),
    ]
    drawn = [svg(each) for each in (picture, *others)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("scene", ["", "meadow"])
def test_relations_are_visible(relation, scene):
    for variant, sizes in enumerate([("small", "large"), ("large", "medium")]):
        for first, second in ((CAT, DRUM), (BALLOON, CAT)):
            figures = tuple(replace(figure, size=size) for figure, size in zip((first, second), sizes, strict=True))
            picture = Picture(figures, relation, scene, variant=variant)
            one, other = seen(picture, 0), seen(picture, 1)
            apart = abs(middle(one) - middle(other))
            if relation == "left of":
                assert one.nonzero()[1].max() < other.nonzero()[1].min()
            elif relation == "right of":
                assert one.nonzero()[1].min() > other.nonzero()[1].max()
            elif relation == "above":
                assert one.nonzero()[0].max() < other.nonzero()[0].min() and apart < PIXELS / 4
            elif relation == "below":
                assert one.nonzero()[0].min() > other.nonzero()[0].max() and apart < PIXELS / 4
            else:
                [[near], [far]] = boxes(picture)[:: 1 if relation == "in front of" else -1]
                assert near[3] > far[3] + 8  # lower
                assert 0 < common(near, far) <= 0.36 * area(far)  # and over it
                first_drawn, second_drawn = (svg(picture).index(_drawn(figure)) for figure in figures)
                assert (first_drawn > second_drawn) == (relation == "in front of")


@pytest.mark.parametrize("figures", [1, 2])
def test_all_copies_are_in_the_picture_and_can_be_counted(figures):
    for seed in range(80):
        picture = chosen(seed, figures)
        placed = boxes(picture)
        assert [len(copies) for copies in placed] == [figure.count for figure in picture.figures], picture
        for left, top, right, bottom in itertools.chain(*placed):
            assert min(left, top) >= 0 and max(right, bottom) <= SIDE, picture
        for copies in placed:
            for at, copy in enumerate(copies):
                assert all(common(copy, nearer) <= 0.25 * area(copy) for nearer in copies[at + 1 :]), picture
        assert all(max(box[2] - box[0], box[3] - box[1]) > 24 for box in itertools.chain(*placed)), picture


def test_only_the_figure_behind_is_covered_and_only_a_little():
    for seed in range(60):
        first, second = boxes(picture := chosen(seed, 2))
        far, near = (first, second) if picture.relation == "behind" else (second, first)
        most = 0.36 if picture.relation in ("behind", "in front of") else 0
        assert all(common(one, other) <= most * area(one) for one in far for other in near), picture


@pytest.mark.parametrize("scene", ["", "forest"])
@pytest.mark.parametrize("count", [1, 2])
def test_sizes_look_different(scene, count):
    small, medium, large = (
        seen(Picture((replace(CAT, size=size, count=count),), scene=scene), 0).sum()
        for size in ("small", "medium", "large")
    )
    assert 1.3 * small < medium and 1.3 * medium < large


def test_a_figure_keeps_its_color_at_night():
    colors = itertools.cycle((("red", 0), ("green", 1), ("blue", 2)))
    for scene, (color, strongest) in zip(SCENES * 2, colors, strict=False):
        picture = Picture((replace(DRUM, color=color, size="large"),), "", scene, "night", "clear")
        mean = pixels(picture)[seen(picture, 0)].mean(0)
        assert mean.argmax() == strongest, f"{color} looks like {mean} in the {scene}"


def test_night_darkens_the_figure():
    mask = seen(day := Picture((CAT,), scene="meadow"), 0)
    assert pixels(day)[mask].mean() > pixels(replace(day, time="night"))[mask].mean() + 10


def test_time_weather_color_and_pattern_do_not_move_figures():
    picture = Picture((replace(CAT, count=3), DRUM), "left of", "city", variant=5)
    placed = [found.group() for found in COPY.finditer(svg(picture))]
    assert len(placed) == 4
    for other in (
        replace(picture, time="night"),
        replace(picture, weather="snowy"),
        replace(picture, figures=(replace(CAT, count=3, color="white", pattern="plaid"), DRUM)),
    ):
        assert placed == [found.group() for found in COPY.finditer(svg(other))]


def test_flying_figures_are_higher_and_cast_no_shadow():
    standing, flying = Picture((CAT,), scene="meadow"), Picture((BALLOON,), scene="meadow")
    assert "url(#shade)" in svg(standing) and "url(#shade)" not in svg(flying)
    assert boxes(flying)[0][0][3] < boxes(standing)[0][0][3]


def test_a_figure_above_another_stands_on_a_ledge_unless_it_flies():
    shelf = 'fill="#a98a64"'
    assert shelf in svg(Picture((CAT, DRUM), "above")) and shelf in svg(Picture((DRUM, CAT), "below"))
    assert shelf not in svg(Picture((BALLOON, DRUM), "above")) and shelf not in svg(Picture((CAT, DRUM), "left of"))


def test_a_bird_on_its_perch_does_not_float():
    owl = Figure("owl", "brown", "plain", "perched")
    assert not floats(owl) and floats(replace(owl, style="flying"))


def test_mirrored_figures_face_the_other_way():
    facing = [
        {
            float(found.group(3)) > 0
            for found in COPY.finditer(svg(Picture((replace(CAT, count=3),), "", scene, mirrored=mirrored)))
        }
        for scene in ("", "meadow")
        for mirrored in (False, True)
    ]
    assert facing == [{True}, {False}, {True}, {False}]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"figures": (replace(CAT, kind="unicorn"),)}, "Unknown kind 'unicorn'"),
        ({"figures": (replace(CAT, color="beige"),)}, "Unknown color 'beige'"),
        ({"figures": (replace(CAT, pattern="dotted"),)}, "Unknown pattern 'dotted'"),
        ({"figures": (replace(CAT, style="dancing"),)}, "Unknown style of a cat 'dancing'"),
        ({"figures": (replace(CAT, size="huge"),)}, "Unknown size 'huge'"),
        ({"figures": (replace(CAT, count=5),)}, "Unknown count 5"),
        ({"figures": (CAT, DRUM, CAT)}, "Unknown number of figures 3"),
        ({"figures": (CAT, DRUM)}, "Unknown relation ''"),
        ({"relation": "above"}, "Unknown relation 'above'"),
        ({"scene": "moon"}, "Unknown scene 'moon'"),
        ({"scene": "beach", "time": "noon"}, "Unknown time 'noon'"),
        ({"scene": "beach", "weather": "windy"}, "Unknown weather 'windy'"),
    ],
)
def test_unknown_factors_are_refused_with_the_choices(change, expected):
    with pytest.raises(UserError, match=re.escape(expected) + ".*expected one of "):
        svg(replace(Picture((CAT,)), **change))
