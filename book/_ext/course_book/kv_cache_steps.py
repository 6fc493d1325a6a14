"""The data of the figure ``kv-cache``, checked, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


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
class KVCacheSteps:
    """A text that is written step by step, and models that may write it.

    Attributes:
        words: The tokens of the text, at least two.
        prompt: How many of them are given, the others are written; at least one.
        models: The models to choose from, the first one to begin with.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    words: tuple[str, ...]
    prompt: int
    models: tuple[CachedModel, ...]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "KVCacheSteps":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or out of range.
        """
        expected = {"words", "prompt", "models", "note"}
        if not isinstance(data, dict) or set(data) != expected:
            found = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"expected an object with {sorted(expected)}, got {found}")
        words, prompt = tuple(data["words"]), data["prompt"]
        if not isinstance(prompt, int) or not 1 <= prompt < len(words):
            raise ValueError(f"prompt must be from 1 to {len(words) - 1}, got {prompt!r}")
        if not data["models"]:
            raise ValueError("models must hold at least one model, got none")
        for model in data["models"]:
            sizes = (model["num_layers"], model["kv_width"])
            if any(not isinstance(size, int) or size < 1 for size in sizes):
                raise ValueError(f"num_layers and kv_width must be whole numbers from 1: {model}")
        models = tuple(CachedModel(**model) for model in data["models"])
        return cls(words=words, prompt=prompt, models=models, note=str(data["note"]))

    def table(self) -> str:
        """Return what each step computes and keeps as an HTML table."""
        from course_lib.complexity import kv_cache_bytes

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
