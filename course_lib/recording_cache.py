"""The plainest cache of keys and values, which also notes what it was given.

It joins old and new at every step, as no cache for use should; ``kv_cache.py`` has those. It is for
looking at what an attention layer does: which tokens it computes keys and values of, and when.

Dimensions: batch; num_heads; length (tokens so far), new_len (tokens of this step); head_dim.
"""

from collections.abc import Callable

import torch

from course_lib.kv_cache import KeysAndValues


class RecordingCache:
    """The keys and values of one attention layer, and a note of each time that some were computed.

    Args:
        fixed: Keep what came first, as for cross-attention; otherwise each step adds its own.

    Attributes:
        shapes: For each computation, the shapes of the keys and of the values that it gave.

    Source: chapter "Decoding".
    """

    def __init__(self, *, fixed: bool = False) -> None:
        self.shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self._fixed = fixed
        self._held: KeysAndValues | None = None

    def update(self, project: Callable[[], KeysAndValues]) -> KeysAndValues:
        """Add the keys and values of new tokens, or give those that are held.

        Args:
            project: Computes them: ``(batch, num_heads, new_len, head_dim)`` each.

        Returns:
            Keys and values of all tokens so far, ``(batch, num_heads, length, head_dim)`` each.
        """
        if self._held is not None and self._fixed:
            return self._held
        keys, values = project()
        self.shapes.append((tuple(keys.shape), tuple(values.shape)))
        if self._held is not None:
            keys = torch.cat([self._held[0], keys], dim=2)
            values = torch.cat([self._held[1], values], dim=2)
        self._held = (keys, values)
        return self._held

    @property
    def length(self) -> int:
        """Number of tokens held."""
        return 0 if self._held is None else self._held[0].size(2)
