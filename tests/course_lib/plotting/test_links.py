"""Are links to words that are not there refused?"""

import pytest

from course_lib.plotting.links import plot_alignment, plot_links
from tests.course_lib.plotting.examples import KEYS, QUERIES


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_links(KEYS, [(0, 3)], alt="x"), r"positions 0 to 2, got \(0, 3\)"),
        (lambda: plot_links(KEYS, [], alt="x", tempting=[(-1, 0)]), "positions 0 to 2"),
        (lambda: plot_alignment(KEYS, QUERIES, [(0, 2)], alt="x"), r"got \(0, 2\)"),
    ],
)
def test_what_makes_no_picture_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
