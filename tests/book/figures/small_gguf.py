"""A small random Llama as a GGUF file, and the same model in NumPy.

Dimensions: length (tokens); width; head_width; inner (inside the feed-forward layers).
"""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIZES = {"layers": 2, "width": 64, "inner": 96, "heads": 4, "key_heads": 2, "base": 500.0}
LETTERS = [chr(b) for b in (*range(33, 127), *range(161, 173), *range(174, 256))]
BYTE_LETTERS = {ord(letter): letter for letter in LETTERS}
for _byte in range(256):
    BYTE_LETTERS.setdefault(_byte, chr(256 + _byte - sum(b < _byte for b in map(ord, LETTERS))))
MERGES = ["h e", "l l", "\u0120 t", "he ll", "\u0120t he", "hell o", "1 2"]
TOKENS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", *BYTE_LETTERS.values(),
    *(merge.replace(" ", "") for merge in MERGES),
]  # fmt: skip
SETTINGS = {
    "general.architecture": "llama",
    "general.name": "A small random one",
    "llama.block_count": SIZES["layers"],
    "llama.context_length": 128,
    "llama.embedding_length": SIZES["width"],
    "llama.feed_forward_length": SIZES["inner"],
    "llama.attention.head_count": SIZES["heads"],
    "llama.attention.head_count_kv": SIZES["key_heads"],
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": SIZES["base"],
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3] * 3 + [1] * (len(TOKENS) - 3),
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.eos_token_id": 2,
}
UNSIGNED = gguf.GGUFValueType.UINT32


def write_small_gguf(path: Path, **settings: Any) -> dict[str, Array]:
    """Write the file of a random model with matrices of all types; return its weights by name.

    ``settings`` are added to the file's settings, or replace some of them.
    """
    given = SETTINGS | settings
    writer = gguf.GGUFWriter(path, given.pop("general.architecture"))
    for name, value in given.items():
        kind = gguf.GGUFValueType.get_type(value)
        writer.add_key_value(name, value, UNSIGNED if isinstance(value, int) else kind)
    weights = {}
    for name, (kind, drawn) in _random_tensors().items():
        blocks = gguf.quantize(drawn, kind)
        weights[name] = gguf.dequantize(blocks, kind).reshape(drawn.shape).astype(float)
        writer.add_tensor(name, blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def _random_tensors() -> dict[str, tuple[gguf.GGMLQuantizationType, NDArray[np.float32]]]:
    """Return the type in the file and the random numbers of each tensor, by its name."""
    generator = np.random.default_rng(0)
    width, inner = SIZES["width"], SIZES["inner"]
    shared = width * SIZES["key_heads"] // SIZES["heads"]
    shapes = {"token_embd": (len(TOKENS), width, "Q8_0"), "output_norm": (width, "F32")}
    for layer, fours in enumerate(("Q4_1", "Q4_0")):
        block = {
            "attn_norm": (width, "F32"), "ffn_norm": (width, "F32"),
            "attn_q": (width, width, fours), "attn_k": (shared, width, "F16"),
            "attn_v": (shared, width, "Q8_0"), "attn_output": (width, width, fours),
            "ffn_gate": (inner, width, fours), "ffn_up": (inner, width, "F32"),
            "ffn_down": (width, inner, fours),
        }  # fmt: skip
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    tensors = {}
    for name, (*shape, kind) in shapes.items():
        drawn = generator.normal(size=shape) * 0.3 + (len(shape) == 1)
        tensors[f"{name}.weight"] = (gguf.GGMLQuantizationType[kind], drawn.astype(np.float32))
    return tensors


class NumpyLlama:
    """A Llama in NumPy that reads whole texts at once, without a cache.

    Args:
        weights: The weights by their names in the file.
        heads: Pairs of layer and head whose outputs are left out.
        layers: Indices of layers that are left out.
        rotary: Whether queries and keys are turned by their positions.
        sink: Whether later tokens may attend to the first one.
        groups: Whether each group of heads reads keys and values of its own. Otherwise all heads
            read the mean of the groups' keys and values.
    """

    def __init__(
        self,
        weights: dict[str, Array],
        *,
        heads: tuple[tuple[int, int], ...] = (),
        layers: tuple[int, ...] = (),
        rotary: bool = True,
        sink: bool = True,
        groups: bool = True,
    ) -> None:
        self.weights, self.heads, self.layers = weights, heads, layers
        self.rotary, self.sink, self.groups = rotary, sink, groups

    def read(self, ids: list[int]) -> tuple[Array, dict[int, Array]]:
        """Return the logits of a text, (length, vocabulary), and the attention weights by layer.

        The weights are (heads, length, length).
        """
        x, looks = self.weights["token_embd.weight"][ids], {}
        for layer in range(SIZES["layers"]):
            if layer not in self.layers:
                part = {
                    name.split(".")[2]: w
                    for name, w in self.weights.items()
                    if name.startswith(f"blk.{layer}.")
                }
                mixed, looks[layer] = self._attend(_norm(x, part["attn_norm"]), part, layer)
                x = x + mixed @ part["attn_output"].T
                y = _norm(x, part["ffn_norm"])
                gate = y @ part["ffn_gate"].T
                x = x + (gate / (1 + np.exp(-gate)) * (y @ part["ffn_up"].T)) @ part["ffn_down"].T
        x = _norm(x, self.weights["output_norm.weight"])
        return x @ self.weights["token_embd.weight"].T, looks

    def _attend(self, x: Array, part: dict[str, Array], layer: int) -> tuple[Array, Array]:
        length, heads, wide = len(x), SIZES["heads"], SIZES["width"] // SIZES["heads"]
        query, key, value = (
            (x @ part[name].T).reshape(length, -1, wide).swapaxes(0, 1)
            for name in ("attn_q", "attn_k", "attn_v")
        )
        if self.rotary:
            query, key = _turned(query), _turned(key)
        if not self.groups:
            key, value = (y.mean(0, keepdims=True) for y in (key, value))
        key, value = (np.repeat(y, heads // len(y), axis=0) for y in (key, value))
        scores = query @ key.swapaxes(1, 2) / wide**0.5
        scores[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
        if not self.sink:
            scores[:, 1:, 0] = -np.inf
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        looks = scores / scores.sum(-1, keepdims=True)
        mixed = looks @ value
        for cut_layer, head in self.heads:
            if cut_layer == layer:
                mixed[head] = 0
        return mixed.swapaxes(0, 1).reshape(length, -1), looks


def _norm(x: Array, gain: Array) -> Array:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain


def _turned(x: Array) -> Array:
    """Return (heads, length, head_width) with rotary positions: neighbours turned as pairs."""
    pairs = x[..., ::2] + 1j * x[..., 1::2]
    speeds = SIZES["base"] ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    pairs = pairs * np.exp(1j * np.arange(x.shape[1])[:, None] * speeds)
    return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)
