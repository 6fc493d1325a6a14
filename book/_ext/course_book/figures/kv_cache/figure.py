"""The figure ``kv-cache``: keys computed with a cache and without one."""

from course_book.figures.figure import Figure, Record, html_table


class CachedModel(Record):
    """A model to choose, by the sizes that its cache depends on.

    ``num_layers`` is the number of layers with self-attention, ``kv_width`` the width of a token's
    key in a layer, all heads of keys together; its value has the same width.
    """

    name: str
    num_layers: int
    kv_width: int


class KVCacheSteps(Figure):
    """A text written step by step, with the keys that are computed with a cache or without one.

    ``words`` are the tokens of the text, of which the first ``prompt`` (at least one) are given;
    ``models`` are the models whose cache can be calculated.
    """

    words: list[str]
    prompt: int
    models: list[CachedModel]

    def table(self) -> str:
        """Return a table of the computed keys and the cached bytes of each step."""
        from course_lib.analysis.complexity import kv_cache_bytes

        model = self.models[0]
        rows = []
        for length in range(self.prompt, len(self.words)):
            num_bytes = kv_cache_bytes(1, length, model.num_layers, model.kv_width)
            new = self.prompt if length == self.prompt else 1
            rows.append([self.words[length], str(length), str(new), f"{num_bytes:,}"])
        return html_table(
            f"Writing after a prompt of {self.prompt} tokens: keys computed a layer in each step, "
            f"and the bytes that {model.name} keeps (one text, four bytes a number).",
            ["written", "without a cache", "with a cache", "bytes kept"],
            rows,
        )
