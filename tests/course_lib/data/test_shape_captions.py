"""Are the captions of a scene those of the grammar, and true?"""

import pytest
import torch

from course_lib.data.shape_captions import (
    caption_vocabulary,
    mentioned_shapes,
    true_captions,
)
from course_lib.data.shape_pictures import Shape, draw_scene

CIRCLE = Shape(kind="circle", color="red", size="small", row=8.0, column=10.0)


@pytest.mark.parametrize(
    ("row", "column", "there", "back"),
    [
        (9.0, 23.0, "left of", "right of"),
        (23.0, 12.0, "above", "below"),
    ],
)
def test_both_true_captions(row, column, there, back):
    square = Shape(kind="square", color="blue", size="large", row=row, column=column)
    first, second = true_captions((CIRCLE, square))
    assert " ".join(first) == f"a small red circle {there} a large blue square"
    assert " ".join(second) == f"a large blue square {back} a small red circle"
    assert true_captions((square, CIRCLE)) == (second, first)


def test_captions_follow_the_grammar_and_say_which_shape_they_mean():
    generator = torch.Generator().manual_seed(0)
    for _ in range(100):
        scene = draw_scene(generator)
        for first, words in enumerate(true_captions(scene)):
            told = mentioned_shapes(words, first=first)
            assert len(told) == len(words)
            for place in (0, 1):
                named = [w for w, which in zip(words, told, strict=True) if which == place]
                shape = scene[place]
                assert named == ["a", shape.size, shape.color, shape.kind]
            between = [w for w, which in zip(words, told, strict=True) if which == -1]
            assert between in (["left", "of"], ["right", "of"], ["above"], ["below"])


def test_the_relation_is_read_off_the_picture():
    generator = torch.Generator().manual_seed(1)
    for _ in range(100):
        scene = first, second = draw_scene(generator)
        words = true_captions(scene)[0]
        apart_down, apart_right = second.row - first.row, second.column - first.column
        truth = {
            "left": apart_right >= 11.5,
            "right": apart_right <= -11.5,
            "above": apart_down >= 11.5,
            "below": apart_down <= -11.5,
        }
        assert truth[words[4]]


def test_vocabulary_holds_every_word_once():
    vocabulary = caption_vocabulary()
    assert vocabulary == caption_vocabulary()
    assert len(vocabulary.tokens) == 4 + 1 + 2 + 6 + 4 + 5
    generator = torch.Generator().manual_seed(2)
    for _ in range(100):
        for words in true_captions(draw_scene(generator)):
            assert vocabulary.decode(vocabulary.encode(words)) == list(words)
            assert vocabulary.encode(["<unknown>"])[0] not in vocabulary.encode(words)
