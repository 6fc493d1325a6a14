"""The data of the figure ``kv-cache``, checked, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_fields,
    require_list,
    require_texts,
    require_whole,
)


@dataclass(frozen=True, kw_only=True)
class CachedModel:
    """What decides how much a model keeps.

    Attributes:
        name: What readers call it.
        num_layers: Layers with self-attention.
        kv_width: Width of a token's key, and of its value: heads of keys times width of a head.
    """

    name: str
    num_layers: int
    kv_width: int


@dataclass(frozen=True, kw_only=True)
class KVCacheSteps(FigureData):
    """A text that is written step by step, and models that may write it.

    Attributes:
        words: The tokens of the text, at least two.
        prompt: How many of them are given, the others are written; at least one.
        models: The models to choose from, the first one to begin with.
    """

    words: tuple[str, ...]
    prompt: int
    models: tuple[CachedModel, ...]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"], 2)
        require_whole("prompt", data["prompt"], 1, len(words) - 1)
        for model in require_list("models", data["models"], "models"):
            require_fields(model, CachedModel.__annotations__, "a model")
            for name in ("num_layers", "kv_width"):
                require_whole(name, model[name], 1)
        return {"words": words, "models": tuple(CachedModel(**model) for model in data["models"])}

    def table(self) -> str:
        """Return what each step computes and keeps as an HTML table."""
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
