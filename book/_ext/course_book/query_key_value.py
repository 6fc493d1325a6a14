"""The data of the figure ``query-key-value``, checked, and its table for readers without scripts.

Dimensions: n words; head_dim entries of each query, key and value.
"""

import math
from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

Vectors = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class QueryKeyValue:
    """What the figure shows.

    Attributes:
        words: The n words of a sentence, at least two.
        query: One query a word, ``(n, head_dim)``.
        key: One key a word, ``(n, head_dim)``.
        value: One value a word, ``(n, value_dim)``, drawn as strips: 1 to 6 entries.
        head_dim: Entries of a query.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    words: tuple[str, ...]
    query: Vectors
    key: Vectors
    value: Vectors
    head_dim: int
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "QueryKeyValue":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong shape.
        """
        expected = {"words", "query", "key", "value", "head_dim", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        words, head_dim = data["words"], data["head_dim"]
        if not (isinstance(words, list) and len(words) >= 2):
            raise ValueError(f"words must be a list of at least two, got {words!r}")
        if not isinstance(head_dim, int) or head_dim < 1:
            raise ValueError(f"head_dim must be a positive integer, got {head_dim!r}")
        value = _vectors("value", data["value"], len(words))
        if not 1 <= len(value[0]) <= 6:
            raise ValueError(f"value must have 1 to 6 entries a word, got {len(value[0])}")
        return cls(
            words=tuple(str(word) for word in words),
            query=_vectors("query", data["query"], len(words), head_dim),
            key=_vectors("key", data["key"], len(words), head_dim),
            value=value,
            head_dim=head_dim,
            note=str(data["note"]),
        )

    def weights(self) -> list[list[float]]:
        """Return what each word's query makes of every key: ``(n, n)``, rows sum to 1."""
        import torch

        from course_lib.attention import scaled_dot_product_attention

        query, key, value = (
            torch.tensor(vectors, dtype=torch.float64)
            for vectors in (self.query, self.key, self.value)
        )
        _, weights = scaled_dot_product_attention(query, key, value, return_weights=True)
        return [[float(weight) for weight in row] for row in weights]

    def table(self) -> str:
        """Return the weights as an HTML table."""
        rows = [
            [word, *(f"{weight:.2f}" for weight in row)]
            for word, row in zip(self.words, self.weights(), strict=True)
        ]
        return html_table(
            "Attention weights: each row is a query, each column a key; a row sums to 1.",
            ["", *self.words],
            rows,
        )


def _vectors(name: str, vectors: Any, count: int, size: int | None = None) -> Vectors:
    if not (isinstance(vectors, list) and len(vectors) == count):
        raise ValueError(f"{name} must hold one vector for each of the {count} words")
    size = size if size is not None else len(vectors[0])
    for vector in vectors:
        if not isinstance(vector, list) or len(vector) != size:
            raise ValueError(f"{name} must hold vectors of {size} numbers, got {vector!r}")
        if not all(isinstance(entry, int | float) and math.isfinite(entry) for entry in vector):
            raise ValueError(f"{name} must hold finite numbers, got {vector!r}")
    return tuple(tuple(float(entry) for entry in vector) for vector in vectors)
