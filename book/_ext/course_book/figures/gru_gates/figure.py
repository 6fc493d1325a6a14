"""The figure ``gru-gates``: a small GRU reads a sentence."""

from course_book.figures.figure import Figure, Matrix, html_table


class GRUGates(Figure):
    """A small GRU that reads a sentence; the reader exchanges words and looks at its gates.

    After each word it predicts whether the verb is plural.

    Attributes:
        words: The n words of the sentence.
        swaps: For some of the words, the word that may replace it.
        embedding: The vector of each word, ``(d_embedding,)``.
        input_weight: ``(3 * d_hidden, d_embedding)``: rows for reset gate, update gate, candidate.
        input_bias: ``(3 * d_hidden,)``.
        hidden_weight: ``(3 * d_hidden, d_hidden)``, in the same order.
        hidden_bias: ``(3 * d_hidden,)``.
        output_weight: ``(d_hidden,)``, from the state to the logit of a plural verb.
        output_bias: The bias of that logit.
    """

    scripts = ("gru-gates/cell.js",)

    words: list[str]
    swaps: dict[str, str]
    embedding: dict[str, list[float]]
    input_weight: Matrix
    input_bias: list[float]
    hidden_weight: Matrix
    hidden_bias: list[float]
    output_weight: list[float]
    output_bias: float

    def read(self) -> tuple[list[list[float]], list[float]]:
        """Return the update gates, ``(n, d_hidden)``, and the n probabilities of a plural verb."""
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
        """Return a table of the update gates and the prediction after each word."""
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
