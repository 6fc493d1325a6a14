"""What an encoder hands to a decoder, whether it has read a sentence or looked at a picture.

Dimensions: batch; src_len (source tokens, or regions of a picture); d_memory.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """An encoded batch: one vector for each part of the source, and one for the whole.

    Attributes:
        memory: ``(batch, src_len, d_memory)``, a vector for each part; what attention reads.
        context: ``(batch, d_memory)``, one vector for the whole; all that a decoder without
            attention gets.
        mask: ``(batch, src_len)``, boolean, True where there is a part, False at padding.

    Source: Cho et al. (2014), section 2.2; chapter "Sequence to sequence".
    """

    memory: Tensor
    context: Tensor
    mask: Tensor
