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


def test_each_word_of_a_caption_belongs_to_its_shape():
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


def test_vocabulary_has_exactly_the_words_of_captions():
    generator = torch.Generator().manual_seed(2)
    captions = [words for _ in range(100) for words in true_captions(draw_scene(generator))]
    assert set(caption_vocabulary().tokens[4:]) == {word for words in captions for word in words}
