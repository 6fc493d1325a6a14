"""The data of the figure ``gru-gates``, checked, and its table for readers without scripts.

Dimensions: n words; d_embedding; d_hidden units.
"""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class GRUGates:
    """A small GRU that reads a sentence and says at each word whether its subject is plural.

    Attributes:
        words: The n words of a sentence, at least two.
        swaps: For some words the word that may take their place.
        embedding: For each word its vector, ``d_embedding`` numbers.
        input_weight: ``(3 * d_hidden, d_embedding)``: reset, update, candidate.
        input_bias: ``(3 * d_hidden,)``.
        hidden_weight: ``(3 * d_hidden, d_hidden)``, likewise.
        hidden_bias: ``(3 * d_hidden,)``.
        output_weight: ``(d_hidden,)``, from the state to the logit of "plural".
        output_bias: Its bias.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    words: tuple[str, ...]
    swaps: dict[str, str]
    embedding: dict[str, tuple[float, ...]]
    input_weight: Matrix
    input_bias: tuple[float, ...]
    hidden_weight: Matrix
    hidden_bias: tuple[float, ...]
    output_weight: tuple[float, ...]
    output_bias: float
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "GRUGates":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong shape.
        """
        expected = set(cls.__annotations__)
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        needed = {*data["words"], *data["swaps"].values()}
        if len(data["words"]) < 2 or not needed <= data["embedding"].keys():
            raise ValueError("words must be at least two, and each, with its swap, embedded")
        d_hidden = len(data["output_weight"])
        d_embedding = len(data["embedding"][data["words"][0]])
        shapes = {
            "input_weight": (3 * d_hidden, d_embedding),
            "hidden_weight": (3 * d_hidden, d_hidden),
        }
        for name, (rows, columns) in shapes.items():
            if len(data[name]) != rows or any(len(row) != columns for row in data[name]):
                raise ValueError(f"{name} must be {rows} rows of {columns} numbers")
        for name in ("input_bias", "hidden_bias"):
            if len(data[name]) != 3 * d_hidden:
                raise ValueError(f"{name} must be {3 * d_hidden} numbers")
        return cls(**data)

    def read(self) -> tuple[list[list[float]], list[float]]:
        """Return each word's update gates, ``(n, d_hidden)``, and what is thought after it."""
        import torch

        from course_lib.recurrent_cells import GRUCell

        d_hidden = len(self.output_weight)
        cell = GRUCell(len(self.input_weight[0]), d_hidden)
        cell.load_state_dict(
            {
                "input_projection.weight": torch.tensor(self.input_weight),
                "input_projection.bias": torch.tensor(self.input_bias),
                "hidden_projection.weight": torch.tensor(self.hidden_weight),
                "hidden_projection.bias": torch.tensor(self.hidden_bias),
            }
        )
        hidden = torch.zeros(1, d_hidden)
        gates, plural = [], []
        with torch.no_grad():
            for word in self.words:
                x = torch.tensor([self.embedding[word]])
                both = cell.input_projection(x) + cell.hidden_projection(hidden)
                gates.append(torch.sigmoid(both[0, d_hidden : 2 * d_hidden]).tolist())
                hidden = cell(x, hidden)
                logit = hidden[0] @ torch.tensor(self.output_weight) + self.output_bias
                plural.append(float(torch.sigmoid(logit)))
        return gates, plural

    def table(self) -> str:
        """Return the update gates and the verdict after each word as an HTML table."""
        gates, plural = self.read()
        units = [f"unit {unit + 1}" for unit in range(len(self.output_weight))]
        rows = [
            [word, *(f"{gate:.2f}" for gate in row), f"{probability:.0%}"]
            for word, row, probability in zip(self.words, gates, plural, strict=True)
        ]
        return html_table(
            "Update gates of each unit at each word (1 keeps, 0 replaces), and the probability "
            "of a plural verb after it.",
            ["", *units, "plural"],
            rows,
        )
