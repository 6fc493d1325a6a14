"""The data of the figure ``word-neighbours``, checked, and its table for readers without scripts.

Dimensions: n words; d_embedding.
"""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class WordNeighbours:
    """Words and their vectors.

    Attributes:
        words: The n words, at least two.
        vectors: By the name of the method, n vectors of one width.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    words: list[str]
    vectors: dict[str, list[list[float]]]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "WordNeighbours":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong shape.
        """
        if not isinstance(data, dict) or set(data) != {"words", "vectors", "note"}:
            raise ValueError("expected an object with words, vectors and note")
        if len(data["words"]) < 2 or not data["vectors"]:
            raise ValueError("there must be two words and one table of vectors at least")
        for name, table in data["vectors"].items():
            if len(table) != len(data["words"]) or len({len(row) for row in table}) != 1:
                raise ValueError(f"{name} must hold a vector of one width for each word")
        return cls(**data)

    def nearest(self, name: str, word: int, count: int) -> list[tuple[str, float]]:
        """Return the words used most like one, by one method, and their cosines."""
        import torch

        from course_lib.word_vectors import nearest_neighbours

        table = torch.tensor(self.vectors[name])
        near, cosines = nearest_neighbours(table, word, count=min(count, len(table) - 1))
        found = zip(near.tolist(), cosines.tolist(), strict=True)
        return [(self.words[index], cosine) for index, cosine in found]

    def table(self) -> str:
        """Return the three nearest words of each as an HTML table."""
        rows = []
        for index, word in enumerate(self.words):
            cells = [
                ", ".join(f"{near} ({cosine:.2f})" for near, cosine in self.nearest(name, index, 3))
                for name in self.vectors
            ]
            rows.append([word, *cells])
        return html_table("The three words used most like each.", ["", *self.vectors], rows)
