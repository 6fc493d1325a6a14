"""Image captioning: a convolutional network reads the picture, a recurrent decoder writes.

Dimensions: batch; height, width (pixels); regions (of 4 by 4 pixels); d_memory; tgt_len (tokens);
vocab_size.
"""

import torch
from torch import Tensor, nn

from course_lib.models.seq2seq import Encoded
from course_lib.validation import check_at_least


class ConvEncoder(nn.Module):
    """Read a picture: a vector for each of its regions, and their mean for the whole.

    Two further channels hold each pixel's row and column: a convolution does the same everywhere
    and could not tell left from right.

    >>> encoded = ConvEncoder(d_memory=8)(torch.rand(2, 3, 16, 16))
    >>> encoded.memory.shape  # 4 times 4 regions
    torch.Size([2, 16, 8])

    Args:
        d_memory: Width of the regions' vectors.
        channels: Channels after the first convolution; twice as many after the second.

    Attributes:
        layers: Three convolutions, of which the first two halve the picture's side each. After
            each, all numbers of a picture are normalised together (a group norm of one group), then
            ReLU.
        d_memory: Width of the regions' vectors.

    Source: Vinyals et al. (2015), a convolutional encoder; Xu et al. (2015), section 3.1.1, its
        regions as memory; Liu et al. (2018), coordinates; chapter "Image captioning".
    """

    def __init__(self, d_memory: int, *, channels: int = 32) -> None:
        super().__init__()
        check_at_least(1, d_memory=d_memory, channels=channels)
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
        """Encode pictures ``(batch, 3, height, width)``, floating point, from 0 to 1.

        The memory is ``(batch, regions, d_memory)``, row by row, with a quarter of the height times
        a quarter of the width as regions (rounded up); the context is the memory's mean, the mask
        is all True.
        """
        if pictures.dim() != 4 or pictures.size(1) != 3 or 0 in pictures.shape:
            raise ValueError(f"pictures must be (batch, 3, height, width), got {pictures.shape}")
        batch, _, height, width = pictures.shape
        rows = torch.linspace(-1, 1, height, device=pictures.device, dtype=pictures.dtype)
        columns = torch.linspace(-1, 1, width, device=pictures.device, dtype=pictures.dtype)
        coordinates = torch.stack(
            torch.meshgrid(rows, columns, indexing="ij")
        )  # (2, height, width)
        centred = 2 * pictures - 1  # from -1 to 1, as the coordinates: the grey ground is 0
        located = torch.cat([centred, coordinates.expand(batch, -1, -1, -1)], dim=1)
        memory = self.layers(located).flatten(2).transpose(1, 2)  # (batch, regions, d_memory)
        mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        return Encoded(memory=memory, context=memory.mean(dim=1), mask=mask)


class CaptionModel(nn.Module):
    """A model of the caption given the picture: an encoder, then a decoder.

    >>> from course_lib.models.bahdanau import AttentionDecoder
    >>> decoder = AttentionDecoder(9, d_embedding=4, d_hidden=6, d_memory=8)
    >>> model = CaptionModel(ConvEncoder(d_memory=8), decoder)
    >>> model(torch.rand(2, 3, 16, 16), torch.tensor([[1, 4], [1, 7]])).shape
    torch.Size([2, 2, 9])

    Args:
        encoder: Such as a ``ConvEncoder``: called with pictures, returns an ``Encoded``.
        decoder: A ``RecurrentDecoder``, which gets the picture as one vector ("Show and tell"), or
            an ``AttentionDecoder``, which looks at its regions ("Show, attend and tell").

    Source: Vinyals et al. (2015), section 3; Xu et al. (2015), section 3; chapter "Image
        captioning".
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, pictures: Tensor, tgt: Tensor) -> Tensor:
        """Score captions with teacher forcing: logits ``(batch, tgt_len, vocab_size)``.

        Pictures are ``(batch, 3, height, width)``, from 0 to 1; ``tgt`` is ``(batch, tgt_len)``:
        the start token, then the caption.
        """
        return self.decoder(tgt, self.encoder(pictures))
