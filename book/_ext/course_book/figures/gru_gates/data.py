"""The data of the figure ``gru-gates``, checked, and its table for readers without scripts.

Dimensions: n words; d_embedding; d_hidden units.
"""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    Matrix,
    require_matrix,
    require_number,
    require_numbers,
    require_texts,
)


@dataclass(frozen=True, kw_only=True)
class GRUGates(FigureData):
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

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"], 2)
        if not {*words, *data["swaps"].values()} <= data["embedding"].keys():
            raise ValueError("words, each with its swap, must be embedded")
        d_embedding = len(data["embedding"][words[0]])
        d_hidden = len(require_numbers("output_weight", data["output_weight"]))
        require_number("output_bias", data["output_bias"])
        for name, width in (("input", d_embedding), ("hidden", d_hidden)):
            require_matrix(f"{name}_weight", data[f"{name}_weight"], 3 * d_hidden, width)
            require_numbers(f"{name}_bias", data[f"{name}_bias"], 3 * d_hidden, 3 * d_hidden)
        return {}

    def read(self) -> tuple[list[list[float]], list[float]]:
        """Return each word's update gates, ``(n, d_hidden)``, and what is thought after it."""
        import torch

        from course_lib.layers.recurrent_cells import GRUCell

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
