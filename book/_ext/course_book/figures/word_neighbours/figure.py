"""The figure ``word-neighbours``: the nearest words by several word vectors."""

from course_book.figures.figure import Figure, Matrix, html_table


class WordNeighbours(Figure):
    """Words on a map; the reader presses one to see its nearest words by each kind of vector.

    ``words`` are the n words; ``vectors`` has a vector for each of them, by the kind's name.
    """

    scripts = ("word-neighbours/map.js",)

    words: list[str]
    vectors: dict[str, Matrix]

    def nearest(self, method: str, word: int, count: int) -> list[tuple[str, float]]:
        """Return the ``count`` words nearest to the word with index ``word``, with their cosines.

        ``method`` is a key of ``vectors``.
        """
        import torch

        from course_lib.models.word2vec import nearest_neighbours

        table = torch.tensor(self.vectors[method])
        near, cosines = nearest_neighbours(table, word, count=min(count, len(table) - 1))
        found = zip(near.tolist(), cosines.tolist(), strict=True)
        return [(self.words[index], cosine) for index, cosine in found]

    def table(self) -> str:
        """Return a table of the three nearest words of each word."""
        rows = []
        for index, word in enumerate(self.words):
            near = (self.nearest(method, index, 3) for method in self.vectors)
            cells = (", ".join(f"{name} ({cosine:.2f})" for name, cosine in few) for few in near)
            rows.append([word, *cells])
        return html_table("The three words used most like each.", ["", *self.vectors], rows)
