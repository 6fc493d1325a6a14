"""A text as numbers, one a character, and blocks of it to train and to validate on.

Dimensions: batch; length (characters).
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from course_lib.tokenization.vocabulary import Vocabulary


def character_vocabulary(text: str) -> Vocabulary:
    """List the characters of a text.

    >>> character_vocabulary("banana").tokens
    ('a', 'b', 'n')

    Args:
        text: Any text.

    Returns:
        Its characters in the order of their code points, with no special tokens.
    """
    return Vocabulary(tokens=tuple(sorted(set(text))), specials=(), unknown=None)


class TextBlocks:
    """A text cut into blocks, of which each character is to be told from those before it.

    Args:
        text: The text.
        vocabulary: All its characters.
        length: Characters of a block.
        device: Where the text is to lie.

    Raises:
        KeyError: The text has a character that ``vocabulary`` has not.
        ValueError: The text is shorter than a block and one character.
    """

    def __init__(
        self, text: str, vocabulary: Vocabulary, *, length: int, device: torch.device
    ) -> None:
        if len(text) <= length:
            raise ValueError(f"text must be longer than length={length}, got {len(text)}")
        self._ids = torch.tensor(vocabulary.encode(text), device=device)
        self._length = length

    def draw(self, count: int, seed: int) -> Tensor:
        """Draw blocks from anywhere in the text.

        Args:
            count: How many.
            seed: Of the drawing.

        Returns:
            ``(count, length + 1)``, int64: what is read, and, one further, what is to be told.
        """
        generator = torch.Generator().manual_seed(seed)
        starts = torch.randint(len(self._ids) - self._length, (count, 1), generator=generator)
        places = starts.to(self._ids.device) + torch.arange(
            self._length + 1, device=self._ids.device
        )  # (count, length + 1)
        return self._ids[places]

    def in_order(self, count: int) -> Iterator[Tensor]:
        """Go through the text once, block by block; what fills none at its end is left out.

        Args:
            count: Blocks in a batch.

        Yields:
            ``(at most count, length + 1)``, int64.
        """
        starts = range(0, len(self._ids) - self._length, self._length)
        for first in range(0, len(starts), count):
            chosen = starts[first : first + count]
            yield torch.stack([self._ids[start : start + self._length + 1] for start in chosen])
