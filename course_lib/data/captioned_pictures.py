"""Pictures of shapes with captions, in batches: what a captioning model is trained on.

Dimensions: batch; SIDE (pixels); tgt_len (tokens).
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_lib.data.shape_captions import caption_vocabulary, mentioned_shapes, true_captions
from course_lib.data.shape_pictures import Scene, draw_scene, render
from course_lib.tokenization.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True, kw_only=True, eq=False)
class CaptionedPictures:
    """Rendered scenes, each with one of its two true captions.

    Attributes:
        pictures: ``(batch, 3, SIDE, SIDE)``, float32, from 0 to 1.
        tgt: ``(batch, tgt_len)``, int64, token ids of ``caption_vocabulary``: the start token, the
            caption, the end token, filled up with padding. A decoder reads ``tgt[:, :-1]`` and is
            to write ``tgt[:, 1:]``.
        mentions: ``(batch, tgt_len)``, int64: which shape of the scene each token tells of, 0 or 1,
            and -1 for tokens that tell of neither.
        scenes: What is in each picture.
    """

    pictures: Tensor
    tgt: Tensor
    mentions: Tensor
    scenes: tuple[Scene, ...]


def draw_captioned_pictures(batch_size: int, *, generator: torch.Generator) -> CaptionedPictures:
    """Draw scenes, paint them, and describe each in one of its two true ways.

    Args:
        batch_size: Number of pictures.
        generator: Where chance comes from.

    Returns:
        The batch.

    Raises:
        ValueError: ``batch_size`` is not positive.

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
