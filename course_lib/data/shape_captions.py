"""What can be said of two shapes, by a small grammar.

::

    caption  -> shape relation shape
    shape    -> "a" size colour kind
    relation -> "left of" | "right of" | "above" | "below"

Each scene has exactly two true captions: either shape may come first.

Dimensions: captions are sequences of words.
"""

import itertools

from course_lib.data.shape_pictures import COLORS, KINDS, SIZES, Scene, Shape
from course_lib.tokenization.vocabulary import Vocabulary

RELATIONS: tuple[tuple[str, ...], ...] = (("left", "of"), ("right", "of"), ("above",), ("below",))

SHAPE_WORDS = 4
"""Words that name a shape: the article, size, color, kind."""


def caption_vocabulary() -> Vocabulary:
    """Number every word of the grammar, and the special tokens.

    Returns:
        The vocabulary, the same each time.
    """
    relations = tuple(itertools.chain.from_iterable(RELATIONS))
    return Vocabulary.build([["a", *SIZES, *COLORS, *KINDS, *dict.fromkeys(relations)]])


def true_captions(scene: Scene) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say what is in a scene, in both orders.

    Args:
        scene: Two shapes.

    Returns:
        The caption that begins with the first shape, and the one that begins with the second.
    """
    first, second = scene
    return (
        (*_name(first), *_relation(first, second), *_name(second)),
        (*_name(second), *_relation(second, first), *_name(first)),
    )


def is_caption(words: tuple[str, ...]) -> bool:
    """Say whether words follow the grammar, true or not.

    Args:
        words: Any words.

    Returns:
        True if they are a caption that the grammar makes.
    """
    before, relation, after = words[:SHAPE_WORDS], words[SHAPE_WORDS:-SHAPE_WORDS], words[-4:]
    return relation in RELATIONS and _is_shape(before) and _is_shape(after)


def mentioned_shapes(words: tuple[str, ...], *, first: int) -> tuple[int, ...]:
    """Say for each word of a caption which shape it tells of.

    Args:
        words: A caption.
        first: 0 if the caption begins with the scene's first shape, 1 if with its second.

    Returns:
        For each word 0 or 1, a place in the scene; -1 for the words of the relation.
    """
    relation = len(words) - 2 * SHAPE_WORDS
    return (first,) * SHAPE_WORDS + (-1,) * relation + (1 - first,) * SHAPE_WORDS


def _name(shape: Shape) -> tuple[str, str, str, str]:
    return "a", shape.size, shape.color, shape.kind


def _relation(shape: Shape, other: Shape) -> tuple[str, ...]:
    down, right = shape.row - other.row, shape.column - other.column
    if abs(right) > abs(down):
        return ("right", "of") if right > 0 else ("left", "of")
    return ("below",) if down > 0 else ("above",)


def _is_shape(words: tuple[str, ...]) -> bool:
    if len(words) != SHAPE_WORDS:
        return False
    article, size, color, kind = words
    return article == "a" and size in SIZES and color in COLORS and kind in KINDS
