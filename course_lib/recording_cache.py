"""The plainest cache of keys and values, which also notes what it was given.

It joins old and new at every step, as no cache for use should; ``kv_cache.py`` has those. It is for
looking at what an attention layer does: which tokens it computes keys and values of, and when.

Dimensions: batch; num_heads; length (tokens so far), new_len (tokens of this step); head_dim.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.kv_cache import KeysAndValues


class RecordingCache:
    """The keys and values of one attention layer, and a note of each time that some were computed.

    Args:
        fixed: Keep what came first, as for cross-attention; otherwise each step adds its own.

    Attributes:
        shapes: For each computation, the shapes of the keys and of the values that it gave.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, *, fixed: bool = False) -> None:
        self.shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self._fixed = fixed
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def update(self, project: Callable[[], KeysAndValues]) -> KeysAndValues:
        """Add the keys and values of new tokens, or give those that are held.

        Args:
            project: Computes them: ``(batch, num_heads, new_len, head_dim)`` each.

        Returns:
            Keys and values of all tokens so far, ``(batch, num_heads, length, head_dim)`` each.
        """
        if not (self._fixed and self.shapes):
            keys, values = project()
            self.shapes.append((tuple(keys.shape), tuple(values.shape)))
            self._keys.append(keys)
            self._values.append(values)
        return torch.cat(self._keys, dim=2), torch.cat(self._values, dim=2)

    @property
    def length(self) -> int:
        """Number of tokens held."""
        return sum(keys.size(2) for keys in self._keys)
