"""Image captioning: a convolutional network reads the picture, a recurrent decoder writes.

Dimensions: batch; SIDE (pixels); regions = grid * grid (places of the picture); d_memory;
tgt_len (tokens); vocab_size.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from course_lib.encoded import Encoded
from course_lib.shape_captions import caption_vocabulary, mentioned_shapes, true_captions
from course_lib.shape_pictures import Scene, draw_scene, render
from course_lib.stepped_decoder import Decoder, SteppedDecoder
from course_lib.vocabulary import END, PAD, START


@dataclass(frozen=True, kw_only=True)
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
    pad_id, start_id, end_id = vocabulary.encode([PAD, START, END])
    pictures, tgt, mentions, scenes = [], [], [], []
    for _ in range(batch_size):
        scene = draw_scene(generator)
        first = int(torch.randint(2, (), generator=generator))
        words = true_captions(scene)[first]
        scenes.append(scene)
        pictures.append(render(scene, generator))
        tgt.append(torch.tensor([start_id, *vocabulary.encode(words), end_id]))
        mentions.append(torch.tensor([-1, *mentioned_shapes(words, first=first), -1]))
    return CaptionedPictures(
        pictures=torch.stack(pictures),
        tgt=pad_sequence(tgt, batch_first=True, padding_value=pad_id),
        mentions=pad_sequence(mentions, batch_first=True, padding_value=-1),
        scenes=tuple(scenes),
    )


class ConvEncoder(nn.Module):
    """Read a picture: a vector for each of its regions, and their mean for the whole.

    Each pixel is told where it is, in two further channels: a convolution does the same everywhere
    and could not tell left from right.

    Args:
        d_memory: Width of the regions' vectors.
        channels: Channels after the first convolution; twice as many after the second.

    Attributes:
        layers: Three convolutions, of which the first two halve the picture's side each. After
            each, all numbers of a picture are normalised together (a group norm of one group), then
            ReLU.
        d_memory: Width of the regions' vectors.

    Raises:
        ValueError: A size is not positive.

    Source: Vinyals et al. (2015), a convolutional encoder; Xu et al. (2015), section 3.1.1, its
        regions as memory; Liu et al. (2018), coordinates; chapter "Image captioning".
    """

    def __init__(self, d_memory: int, *, channels: int = 32) -> None:
        super().__init__()
        if d_memory < 1 or channels < 1:
            raise ValueError(f"sizes must be at least 1, got {d_memory=} and {channels=}")
        self.d_memory = d_memory
        self.layers = nn.Sequential(
            nn.Conv2d(3 + 2, channels, kernel_size=5, stride=2, padding=2),
            nn.GroupNorm(1, channels),
            nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, kernel_size=3, stride=2, padding=1),
            nn.GroupNorm(1, 2 * channels),
            nn.ReLU(),
            nn.Conv2d(2 * channels, d_memory, kernel_size=3, padding=1),
            nn.GroupNorm(1, d_memory),
            nn.ReLU(),
        )

    def forward(self, pictures: Tensor) -> Encoded:
        """Encode pictures.

        Args:
            pictures: ``(batch, 3, height, width)``, floating point, from 0 to 1.

        Returns:
            Memory ``(batch, regions, d_memory)``, the regions row by row, a quarter of height times
            a quarter of width of them (rounded up); as context their mean; a mask of True.

        Raises:
            ValueError: ``pictures`` has another shape, or is empty.
        """
        if pictures.dim() != 4 or pictures.size(1) != 3 or 0 in pictures.shape:
            raise ValueError(f"pictures must be (batch, 3, height, width), got {pictures.shape}")
        batch, _, height, width = pictures.shape
        rows = torch.linspace(-1, 1, height, device=pictures.device, dtype=pictures.dtype)
        columns = torch.linspace(-1, 1, width, device=pictures.device, dtype=pictures.dtype)
        places = torch.stack(torch.meshgrid(rows, columns, indexing="ij"))  # (2, height, width)
        centred = 2 * pictures - 1  # from -1 to 1, as the places: the grey ground is 0
        located = torch.cat([centred, places.expand(batch, -1, -1, -1)], dim=1)
        memory = self.layers(located).flatten(2).transpose(1, 2)  # (batch, regions, d_memory)
        mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        return Encoded(memory=memory, context=memory.mean(dim=1), mask=mask)


class CaptionModel(nn.Module):
    """A model of the caption given the picture: an encoder, then a decoder.

    Args:
        encoder: Such as a ``ConvEncoder``: called with pictures, returns an ``Encoded``.
        decoder: A ``RecurrentDecoder``, which gets the picture as one vector ("Show and tell"), or
            an ``AttentionDecoder``, which looks at its regions ("Show, attend and tell").

    Attributes:
        encoder: The encoder.
        decoder: The decoder.

    Source: Vinyals et al. (2015), section 3; Xu et al. (2015), section 3; chapter "Image
        captioning".
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, pictures: Tensor, tgt: Tensor) -> Tensor:
        """Score captions with teacher forcing.

        Args:
            pictures: ``(batch, 3, height, width)``, from 0 to 1.
            tgt: ``(batch, tgt_len)``, int64: the start token, then the caption.

        Returns:
            Logits ``(batch, tgt_len, vocab_size)``, at position t those of the token after
            ``tgt[:, t]``.

        Raises:
            ValueError: As the encoder and the decoder.
        """
        return self.decoder(tgt, self.encoder(pictures))

    def begin(self, pictures: Tensor) -> SteppedDecoder:
        """Encode the pictures once, ready for ``greedy``, ``sample`` or ``beam_search``.

        Args:
            pictures: ``(batch, 3, height, width)``, from 0 to 1.

        Returns:
            A ``StepModel`` that has read no token.

        Raises:
            ValueError: As the encoder.
        """
        return SteppedDecoder(cast(Decoder, self.decoder), self.encoder(pictures))
