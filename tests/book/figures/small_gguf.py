"""A small random Llama as a GGUF file, and the same model in NumPy.

Dimensions: length (tokens); width; head_width; inner (inside the feed-forward layers).
"""

import struct
from pathlib import Path
from typing import Any

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
NUMBERS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8}


def quantised(x: Array, kind: str) -> tuple[bytes, Array]:
    """Return a matrix in the blocks of a type, and the numbers that they stand for."""
    if kind in ("F32", "F16"):
        stored = x.astype("<f4" if kind == "F32" else "<f2")
        return stored.tobytes(), stored.astype(float)
    blocks = x.reshape(-1, 32)
    if kind == "Q8_0":
        scale = _half(np.abs(blocks).max(1) / 127)
        codes = np.rint(blocks / scale[:, None]).clip(-128, 127)
        data = np.hstack([_bytes(scale), codes.astype("i1").view("u1")])
        return data.tobytes(), (codes * scale[:, None]).reshape(x.shape)
    low = _half(blocks.min(1))
    scale = _half((blocks.max(1) - low) / 15)
    if kind == "Q4_0":
        low = -8 * scale
    codes = np.rint((blocks - low[:, None]) / scale[:, None]).clip(0, 15)
    packed = (codes[:, :16] + 16 * codes[:, 16:]).astype("u1")
    head = [_bytes(scale)] if kind == "Q4_0" else [_bytes(scale), _bytes(low)]
    return np.hstack([*head, packed]).tobytes(), (codes * scale[:, None] + low[:, None]).reshape(
        x.shape
    )


def _half(x: Array) -> Array:
    return x.astype("<f2").astype(float)


def _bytes(x: Array) -> NDArray[np.uint8]:
    return x.astype("<f2").view("u1").reshape(len(x), 2)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    """Return a setting's type and value as a file has them."""
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    kind = _value(value[0])[:4]
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(value)) + b"".join(
        _value(item)[4:] for item in value
    )  # fmt: skip


def gguf_bytes(settings: dict[str, Any], tensors: dict[str, tuple[str, Array, bytes]]) -> bytes:
    """Return a GGUF file of settings and of tensors: type, numbers and their blocks, by name."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(settings))
    head += b"".join(_string(name) + _value(value) for name, value in settings.items())
    data = b""
    for name, (kind, numbers, blocks) in tensors.items():
        data += bytes(-len(data) % 32)
        sizes = numbers.shape[::-1]
        head += _string(name) + struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
        head += struct.pack("<IQ", NUMBERS[kind], len(data))
        data += blocks
    return head + bytes(-len(head) % 32) + data


def random_tensors(seed: int = 0) -> dict[str, tuple[str, Array, bytes]]:
    """Draw a model whose matrices have all types, as ``gguf_bytes`` takes it."""
    generator = np.random.default_rng(seed)
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
        blocks, numbers = quantised(drawn, kind)
        tensors[f"{name}.weight"] = (kind, numbers, blocks)
    return tensors


def write_small_gguf(path: Path, **settings: Any) -> dict[str, Array]:
    """Write a random model into a file, and return its weights by name."""
    tensors = random_tensors()
    path.write_bytes(gguf_bytes(SETTINGS | settings, tensors))
    return {name: numbers for name, (_, numbers, _) in tensors.items()}


class NumpyLlama:
    """The model in NumPy, whole texts at once.

    Args:
        weights: By their names in the file.
        heads: Pairs of layer and head whose outputs are left out.
        layers: Layers that are left out.
        rotary: Whether queries and keys are turned.
        sink: Whether the first token may be attended to from later ones.
    """

    def __init__(
        self,
        weights: dict[str, Array],
        *,
        heads: tuple[tuple[int, int], ...] = (),
        layers: tuple[int, ...] = (),
        rotary: bool = True,
        sink: bool = True,
    ) -> None:
        self.weights, self.heads, self.layers = weights, heads, layers
        self.rotary, self.sink = rotary, sink

    def read(self, ids: list[int]) -> tuple[Array, dict[int, Array]]:
        """Return logits (length, vocabulary), and weights (heads, length, length) by layer."""
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
        key, value = (np.repeat(y, heads // SIZES["key_heads"], axis=0) for y in (key, value))
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
    """Turn neighbours of (heads, length, head_width) by their position, as complex numbers."""
    pairs = x[..., ::2] + 1j * x[..., 1::2]
    speeds = SIZES["base"] ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    pairs = pairs * np.exp(1j * np.arange(x.shape[1])[:, None] * speeds)
    return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)
