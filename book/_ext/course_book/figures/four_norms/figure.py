"""The figure ``four-norms``: LayerNorm, RMSNorm and two wrong normalizations of a vector."""

from course_book.figures.figure import Figure, html_table


class FourNorms(Figure):
    """Sliders for the entries of a vector, with LayerNorm, RMSNorm and two wrong norms of it.

    ``entries`` is the vector at first; ``epsilon`` is the constant that all four norms add.
    """

    entries: list[float]
    epsilon: float

    def table(self) -> str:
        """Return a table of the vector and its four normalizations."""
        import torch

        from course_lib.layers.normalization import layer_norm, rms_norm

        x = torch.tensor(self.entries, dtype=torch.float64)
        ones, zeros = torch.ones_like(x), torch.zeros_like(x)
        deviation = x - x.mean()
        spread = deviation.square().mean().sqrt()
        results = {
            "the four numbers": x,
            "LayerNorm": layer_norm(x, ones, zeros, eps=self.epsilon),
            "RMSNorm": rms_norm(x, ones, eps=self.epsilon),
            "unbiased variance": deviation / (x.var() + self.epsilon).sqrt(),
            "epsilon outside the root": deviation / (spread + self.epsilon),
        }
        rows = [[name, *(f"{n:.3f}" for n in row.tolist())] for name, row in results.items()]
        heads = ["", *(f"entry {i + 1}" for i in range(len(self.entries)))]
        return html_table("A vector and what four normalisations make of it.", heads, rows)
