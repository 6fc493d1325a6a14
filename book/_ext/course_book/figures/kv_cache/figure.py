"""The figure ``kv-cache``: keys computed with a cache and without one."""

from course_book.figures.figure import Figure, Record, html_table


class CachedModel(Record):
    """The sizes of a model that its cache depends on."""

    name: str  # its name in the list of models
    num_layers: int  # layers with self-attention
    kv_width: int  # width of a token's key, and of its value: heads of keys times width of a head


class KVCacheSteps(Figure):
    """A text written step by step, and models that may write it."""

    words: list[str]  # the tokens of the text
    prompt: int  # the number of given tokens, at least one; the others are written
    models: list[CachedModel]  # the models to choose from

    def table(self) -> str:
        """Return the computed keys and the cached bytes of each step."""
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
