"""Does a tree show words, log-probabilities and branches?"""

from dataclasses import replace

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from course_lib.analysis.beam_tree import BeamNode
from course_lib.plotting.beams import plot_beams
from tests.course_lib.plotting.examples import KEYS, TREE, parse


def test_tree_shows_its_tokens_and_their_log_probabilities():
    texts = "".join(parse(plot_beams(TREE, KEYS, alt="x")).itertext())
    for expected in ("start", "the  (1)", "-0.25", "old", "-1.50"):
        assert expected in texts.replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize("word", ["mimimi", "illi"])
def test_branch_begins_at_the_end_of_its_bold_word(word):
    following = BeamNode(parent=1, token=1, length=2, log_probability=-0.5, fate="result", rank=0)
    root = parse(
        plot_beams([*TREE[:1], replace(TREE[1], rank=None), following], [word, "x"], alt="x")
    )
    (text,) = (element for element in root.iter("text") if element.text == word)
    branch = [path for path in root.iter("path") if "stroke:" in path.attrib["style"]][1]
    start = float(branch.attrib["d"].split()[1]) - float(text.attrib["x"])
    font = FontProperties(family="DejaVu Sans", weight="bold", size=10.5)
    width = TextPath((0, 0), word, prop=font).get_extents().x1
    assert 2 < start - width < 9  # points; the width differs a little by resolution
