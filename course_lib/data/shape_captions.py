"""Captions of coloured shapes: a small grammar for pairs of shapes, and batches of pictures.

::

    caption  -> shape relation shape
    shape    -> "a" size colour kind
    relation -> "left of" | "right of" | "above" | "below"

Each scene has exactly two true captions: either shape may come first.

Dimensions: batch; SIDE (pixels); tgt_len (tokens). Captions are sequences of words.
"""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_lib.data.shape_pictures import (
    COLORS,
    KINDS,
    SIZES,
    Scene,
    Shape,
    draw_scene,
    render,
)
from course_lib.tokenization.vocabulary import BOS, EOS, PAD, Vocabulary

RELATIONS: tuple[tuple[str, ...], ...] = (("left", "of"), ("right", "of"), ("above",), ("below",))

SHAPE_WORDS = 4
"""Number of words that name a shape: article, size, colour, kind."""


def caption_vocabulary() -> Vocabulary:
    """Return the vocabulary: the special tokens, then the words of the grammar."""
    relations = tuple(itertools.chain.from_iterable(RELATIONS))
    return Vocabulary.build([["a", *SIZES, *COLORS, *KINDS, *dict.fromkeys(relations)]])


def true_captions(scene: Scene) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a scene's caption that begins with its first shape, and that with its second."""
    first, second = scene
    return (
        (*_name(first), *_relation(first, second), *_name(second)),
        (*_name(second), *_relation(second, first), *_name(first)),
    )


def mentioned_shapes(words: tuple[str, ...], *, first: int) -> tuple[int, ...]:
    """Return for each word of a caption the index of the shape that it describes, or -1.

    ``first`` is the index, 0 or 1, of the shape with which the caption begins.
    """
    relation = len(words) - 2 * SHAPE_WORDS
    return (first,) * SHAPE_WORDS + (-1,) * relation + (1 - first,) * SHAPE_WORDS


@dataclass(frozen=True, kw_only=True, eq=False)
class CaptionedPictures:
    """Rendered scenes, each with one of its two true captions.

    >>> batch = draw_captioned_pictures(2, generator=torch.Generator().manual_seed(0))
    >>> batch.pictures.shape
    torch.Size([2, 3, 32, 32])
    >>> words = caption_vocabulary().decode(batch.tgt[0].tolist(), skip_specials=True)
    >>> tuple(words) in true_captions(batch.scenes[0])
    True

    Attributes:
        pictures: ``(batch, 3, SIDE, SIDE)``, float32, from 0 to 1.
        tgt: ``(batch, tgt_len)``, int64, token ids of ``caption_vocabulary``: start token, caption,
            end token, padding.
        mentions: ``(batch, tgt_len)``, int64: index in the scene of the shape that each token
            describes; -1 for other tokens.
        scenes: The two shapes in each picture.
    """

    pictures: Tensor
    tgt: Tensor
    mentions: Tensor
    scenes: tuple[Scene, ...]


def draw_captioned_pictures(batch_size: int, *, generator: torch.Generator) -> CaptionedPictures:
    """Draw scenes, render them, and choose one of the two true captions of each.

    Source: chapter "Image captioning".
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    vocabulary = caption_vocabulary()
    pad_id, bos_id, eos_id = vocabulary.encode([PAD, BOS, EOS])
    pictures, tgt, mentions, scenes = [], [], [], []
    for _ in range(batch_size):
        scene = draw_scene(generator)
        first = int(torch.randint(2, (), generator=generator))
        words = true_captions(scene)[first]
        scenes.append(scene)
        pictures.append(render(scene, generator))
        tgt.append(torch.tensor([bos_id, *vocabulary.encode(words), eos_id]))
        mentions.append(torch.tensor([-1, *mentioned_shapes(words, first=first), -1]))
    return CaptionedPictures(
        pictures=torch.stack(pictures),
        tgt=pad_sequence(tgt, batch_first=True, padding_value=pad_id),
        mentions=pad_sequence(mentions, batch_first=True, padding_value=-1),
        scenes=tuple(scenes),
    )


def _name(shape: Shape) -> tuple[str, str, str, str]:
    """Return the words that name a shape, such as *a small red circle*."""
    return "a", shape.size, shape.color, shape.kind


def _relation(shape: Shape, other: Shape) -> tuple[str, ...]:
    """Return the words between the names of two shapes, such as *left of* or *above*."""
    down, right = shape.row - other.row, shape.column - other.column
    if abs(right) > abs(down):
        return ("right", "of") if right > 0 else ("left", "of")
    return ("below",) if down > 0 else ("above",)
