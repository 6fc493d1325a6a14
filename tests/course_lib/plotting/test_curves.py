"""Can curves be told apart, and their axes be read?"""

import re

import pytest

from course_lib.plotting.curves import plot_curves
from course_lib.plotting.picture import LINE_STYLES
from tests.course_lib.plotting.examples import curves, parse


@pytest.mark.parametrize(
    ("heights", "labels"),
    [
        ([3.0, 70.0], {"5", "10", "20", "50"}),  # one power of ten would stand alone
        ([28.0, 45.0], {"30", "35", "40", "45"}),
        ([0.5, 2000.0], {"2", "3"}),  # the exponents of powers of ten
    ],
)
def test_logarithmic_axis_has_readable_labels(heights, labels):
    picture = plot_curves({"one": heights}, x_label="step", y_label="ms", alt="a", log_y=True)
    elements = parse(picture).iter()
    numbers = {e.text.strip() for e in elements if e.text and e.text.strip().isdigit()}
    assert numbers - {"0", "1"} == labels  # on the other axis there are 0 and 1


@pytest.mark.parametrize("log_x", [False, True])
def test_long_axis_has_commas(log_x):
    picture = plot_curves(
        {"one": ([512, 2048, 8192], [1.0, 2.0, 3.0])},
        x_label="x",
        y_label="y",
        alt="a",
        log_x=log_x,
    )
    assert re.search(r">(2,048|2,000)</text>", picture.svg)


def test_integer_axis_has_no_fractions():
    labels = [
        re.findall(r">([\d.]+)</text>", curves_at(positions).svg)
        for positions in ([0, 1, 2], [0, 0.5, 1])
    ]
    assert labels[0][:3] == ["0", "1", "2"]
    assert "0.4" in labels[1]


def curves_at(positions):
    return plot_curves({"a": (positions, [7.0, 8.0, 9.0])}, x_label="x", y_label="y", alt="a")


def test_curves_differ_by_more_than_colour():
    assert "stroke-dasharray" in curves().svg
    assert len({str(LINE_STYLES[role]) for role in ("query", "key", "value", "mask")}) == 4
