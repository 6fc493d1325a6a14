"""Is in the picture what the scene says, and is a scene as clear as it promises?"""

import pytest
import torch

from course_lib.data.shape_pictures import COLORS, KINDS, SIDE, SIZES, Shape, draw_scene, render

CENTRE = SIDE / 2


def paint(kind="circle", size="large", color="red", row=CENTRE, column=CENTRE) -> torch.Tensor:
    return render((Shape(kind=kind, color=color, size=size, row=row, column=column),))


def covered(picture: torch.Tensor) -> torch.Tensor:
    """Return the fraction of each pixel that a shape covers, from the red channel."""
    ground, red = 0.5, COLORS["red"][0]
    return (picture[0] - ground) / (red - ground)


def scenes(count=200):
    generator = torch.Generator().manual_seed(0)
    return [draw_scene(generator) for _ in range(count)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("kind", "area_over_radius_squared"),
    [
        ("circle", torch.pi),
        ("square", (2 * 0.85) ** 2),
        ("triangle", 3 * 3**0.5 / 4),
        ("cross", 4 / 3 + 4 / 3 - 4 / 9),
    ],
)
def test_area_of_each_kind(kind, area_over_radius_squared, size):
    area = covered(paint(kind, size)).sum().item()
    assert area == pytest.approx(area_over_radius_squared * SIZES[size] ** 2, rel=0.06)


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_are_where_the_scene_says(kind):
    weight = covered(paint(kind, row=9.0, column=21.0))
    centres = torch.arange(SIDE) + 0.5
    row = (weight.sum(1) * centres).sum() / weight.sum()
    column = (weight.sum(0) * centres).sum() / weight.sum()
    assert float(row) == pytest.approx(9.0, abs=0.15)
    assert float(column) == pytest.approx(21.0, abs=0.15)


def test_triangle_points_up_and_cross_is_open_at_its_corners():
    weight = covered(paint("triangle")).sum(1)  # width of each row
    rows = weight.nonzero().flatten()
    assert weight[rows[0] + 1] < weight[rows[-1] - 1]
    assert float(rows[0]) == pytest.approx(CENTRE - SIZES["large"], abs=1)
    weight, middle = covered(paint("cross")), SIDE // 2
    assert weight[middle, middle + 4] == pytest.approx(1)
    assert weight[middle + 4, middle] == pytest.approx(1)
    assert weight[middle + 4, middle + 4] == 0


@pytest.mark.parametrize("color", COLORS)
def test_later_shapes_cover_earlier_ones_on_grey(color):
    below = Shape(kind="circle", color="red", size="large", row=CENTRE, column=CENTRE)
    above = Shape(kind="circle", color=color, size="small", row=CENTRE, column=CENTRE)
    picture = render((below, above))
    torch.testing.assert_close(picture[:, 16, 16], torch.tensor(COLORS[color]))
    assert (picture[:, 0, 0] == 0.5).all()


def test_noise_is_small_seeded_and_stays_a_picture():
    (scene,) = scenes(1)
    noisy = render(scene, torch.Generator().manual_seed(1))
    assert torch.equal(noisy, render(scene, torch.Generator().manual_seed(1)))
    assert not torch.equal(noisy, render(scene, torch.Generator().manual_seed(2)))
    assert 0.02 < (noisy - render(scene)).std() < 0.04
    assert noisy.min() >= 0
    assert noisy.max() <= 1


def test_shapes_differ_do_not_touch_and_stay_inside():
    for first, second in scenes():
        assert (first.kind, first.color, first.size) != (second.kind, second.color, second.size)
        for shape in (first, second):
            for place in (shape.row, shape.column):
                assert SIZES[shape.size] <= place <= SIDE - SIZES[shape.size]
        apart = sorted([abs(first.row - second.row), abs(first.column - second.column)])
        assert apart[0] <= 5
        assert apart[1] >= 11.5


def test_scenes_are_varied():
    drawn = scenes(600)
    for name, options in [("kind", KINDS), ("color", COLORS), ("size", SIZES)]:
        counts = [sum(getattr(s[0], name) == option for s in drawn) for option in options]
        assert min(counts) > 600 / len(options) * 0.7
    above = sum(abs(a.row - b.row) > abs(a.column - b.column) for a, b in drawn)
    assert 240 < above < 360
    for axis in ("row", "column"):
        first_is_less = sum(getattr(a, axis) < getattr(b, axis) for a, b in drawn)
        assert 240 < first_is_less < 360


@pytest.mark.parametrize(
    ("name", "value"), [("kind", "ring"), ("color", "black"), ("size", "huge")]
)
def test_unknown_look_of_a_shape_is_rejected(name, value):
    shape = {"kind": "circle", "color": "red", "size": "small", "row": 9.0, "column": 9.0}
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        Shape(**(shape | {name: value}))
