"""The figure ``gru-gates``: a small GRU reads a sentence."""

from course_book.figures.figure import Figure, Matrix, html_table


class GRUGates(Figure):
    """A GRU that predicts after each word whether the verb is plural."""

    scripts = ("gru-gates/cell.js",)

    words: list[str]  # the n words of a sentence
    swaps: dict[str, str]  # for some words the word that may replace them
    embedding: dict[str, list[float]]  # the vector of each word, ``d_embedding`` numbers
    input_weight: Matrix  # ``(3 * d_hidden, d_embedding)``: reset, update, candidate
    input_bias: list[float]  # ``(3 * d_hidden,)``
    hidden_weight: Matrix  # ``(3 * d_hidden, d_hidden)``
    hidden_bias: list[float]  # ``(3 * d_hidden,)``
    output_weight: list[float]  # ``(d_hidden,)``, from the state to the logit of "plural"
    output_bias: float  # its bias

    def read(self) -> tuple[list[list[float]], list[float]]:
        """Return update gates ``(n, d_hidden)`` and the probability of "plural" after each word."""
        import torch

        from course_lib.layers.recurrent_cells import GRUCell

        d_hidden = len(self.output_weight)
        cell = GRUCell(len(self.input_weight[0]), d_hidden)
        cell.load_state_dict(
            {
                f"{part}_projection.{kind}": torch.tensor(getattr(self, f"{part}_{kind}"))
                for part in ("input", "hidden")
                for kind in ("weight", "bias")
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
        """Return the update gates and the prediction after each word."""
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
