"""Pre-trained Llama-shaped models from GGUF, llama.cpp's format: quantised weights in one file.

The package ``gguf`` reads and dequantises the tensors; this module renames and reorders them.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from course_lib.models.llama import LlamaConfig
from course_lib.models.pretrained.huggingface import load_exactly, rename
from course_lib.tokenization.byte_level import ByteLevelTokenizer, PreTokenizer

if TYPE_CHECKING:
    from course_lib.models.llama import Llama

# Names in the file, as patterns, and in a ``Llama``.
_NAMES = {
    r"token_embd\.": "embedding.",
    r"output_norm\.": "norm.",
    r"output\.": "output_projection.",
    r"blk\.(\d+)\.attn_norm\.": r"layers.\1.attention_residual.norm.",
    r"blk\.(\d+)\.ffn_norm\.": r"layers.\1.feed_forward_residual.norm.",
    r"blk\.(\d+)\.ffn_(gate|up|down)\.": r"layers.\1.feed_forward.\2_projection.",
    r"blk\.(\d+)\.attn_q\.": r"layers.\1.self_attention.query_projection.",
    r"blk\.(\d+)\.attn_k\.": r"layers.\1.self_attention.key_projection.",
    r"blk\.(\d+)\.attn_v\.": r"layers.\1.self_attention.value_projection.",
    r"blk\.(\d+)\.attn_output\.": r"layers.\1.self_attention.output_projection.",
    r"blk\.(\d+)\.attn_q_norm\.": r"layers.\1.self_attention.query_projection.norm.",
    r"blk\.(\d+)\.attn_k_norm\.": r"layers.\1.self_attention.key_projection.norm.",
}
_SIZES = {
    "context_length": "max_length",
    "embedding_length": "d_model",
    "attention.head_count": "num_heads",
    "feed_forward_length": "d_ff",
    "block_count": "num_layers",
    "attention.layer_norm_rms_epsilon": "eps",
}
_NORMAL, _SPECIAL = 1, (3, 4)  # types of tokens: control and user-defined are special
_PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    "gpt-2": "gpt-2",
    "smollm": "smollm",
    "llama-bpe": "llama-bpe",
    "llama3": "llama-bpe",
    "qwen2": "qwen2",
}
_PERMUTED = ("llama", "smollm3")
_ARCHITECTURES = (*_PERMUTED, "qwen2", "qwen3")


class GGUFFile:
    """An open GGUF file: its settings, model and tokenizer.

    Supported are the architectures llama (SmolLM2 and Mistral too), qwen2, qwen3 and smollm3, and
    all types of weights that the package ``gguf`` can dequantise, such as Q4_0, Q4_1, Q8_0, F16 and
    F32.

    >>> import gguf, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.gguf"
    >>> writer = gguf.GGUFWriter(path, "llama")
    >>> writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.close()
    (None, None, None)
    >>> GGUFFile(path).settings["general.architecture"]
    'llama'

    Args:
        path: The file.

    Attributes:
        settings: The file's metadata, by name: sizes, tokens, chat template.

    Raises:
        FileNotFoundError: There is no such file.
        ImportError: The package ``gguf`` is not installed.
        ValueError: It is no GGUF file, or a truncated one.

    Source: ggml-org/ggml, docs/gguf.md.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"path must be a GGUF file, {path} is none")
        try:
            self._reader = _reader(self.path)
        except (ValueError, IndexError, TypeError, OverflowError) as error:  # a file cut short
            raise ValueError(f"{path} must be a whole GGUF file: {error}") from error
        self.settings = {name: field.contents() for name, field in self._reader.fields.items()}

    def load_weights(self) -> tuple[LlamaConfig, dict[str, Tensor]]:
        """Load the configuration and weights of the language model, in float32.

        Rotary positions of llama.cpp turn entries 2i and 2i + 1 of a head, those of Hugging Face
        entries i and i + head_dim / 2. So GGUF files of llama and smollm3 have the rows of queries
        and keys in another order; this method restores Hugging Face's.

        Return the configuration, and the weights keyed by their names in a ``Llama``. An
        architecture, setting or type of weights that is not supported is a ValueError.

        Source: ggml-org/llama.cpp, convert_hf_to_gguf.py.
        """
        tensors = {
            rename(tensor.name, _NAMES): self._numbers(tensor) for tensor in self._reader.tensors
        }
        tied = "output_projection.weight" not in tensors
        config = _our_config(self.settings, self.path, tied=tied)
        if tied and "embedding.weight" in tensors:
            tensors["output_projection.weight"] = tensors["embedding.weight"]
        if self.settings["general.architecture"] in _PERMUTED:
            for name in tensors:
                if ".query_projection." in name or ".key_projection." in name:
                    tensors[name] = halves_from_neighbours(tensors[name], config.width_of_head)
        return config, tensors

    def load_model(self) -> "Llama":
        """Load the language model, in evaluation mode; see ``load_weights``.

        Tensors that are not those of the model are a ValueError too.
        """
        # Here, so that homework 9, which withholds Llama, can still read weights.
        from course_lib.models.pretrained.llama import empty_model

        config, tensors = self.load_weights()
        model = empty_model(config)
        load_exactly(model, tensors, self.path)
        return model

    def load_tokenizer(self) -> ByteLevelTokenizer:
        """Load the tokenizer.

        Its special tokens are the file's control and user-defined tokens. Another kind of
        tokenizer, or an unknown pre-tokenizer, is a ValueError.

        Source: ggml-org/llama.cpp, src/llama-vocab.cpp.
        """
        kind = self.settings.get("tokenizer.ggml.model")
        if kind != "gpt2":
            raise ValueError(
                f"tokenizer.ggml.model in {self.path} must be 'gpt2', byte-level byte-pair "
                f"encoding, got {kind!r}"
            )
        split = self.settings.get("tokenizer.ggml.pre")
        if split not in _PRE_TOKENIZERS:
            raise ValueError(
                f"tokenizer.ggml.pre in {self.path} must be one of {tuple(_PRE_TOKENIZERS)}, "
                f"got {split!r}"
            )
        tokens = tuple(self.settings["tokenizer.ggml.tokens"])
        types = self.settings.get("tokenizer.ggml.token_type") or [_NORMAL] * len(tokens)
        merges = (tuple(pair.split(" ")) for pair in self.settings["tokenizer.ggml.merges"])
        return ByteLevelTokenizer(
            tokens=tokens,
            merges=tuple((left, right) for left, right in merges),
            specials=tuple(
                token for token, kind in zip(tokens, types, strict=True) if kind in _SPECIAL
            ),
            pre_tokenizer=_PRE_TOKENIZERS[split],
        )

    def _numbers(self, theirs: Any) -> Tensor:
        """Return a tensor of the package ``gguf`` in float32, dequantised."""
        from gguf import dequantize

        try:
            numbers = dequantize(theirs.data, theirs.tensor_type)
        except NotImplementedError as error:
            raise ValueError(
                f"{theirs.name} in {self.path} is of type {theirs.tensor_type.name}, which the "
                "package gguf can't turn into numbers"
            ) from error
        return torch.from_numpy(np.array(numbers, dtype=np.float32))


def halves_from_neighbours(rows: Tensor, head_dim: int) -> Tensor:
    """Reorder the rows of a projection from the layout ``interleaved`` to ``halves``.

    In each head, row 2i becomes row i, and row 2i + 1 becomes row i + head_dim / 2. ``rows``, a
    weight or a bias, is ``(heads * head_dim, ...)``, as the result; ``head_dim`` is even.

    >>> halves_from_neighbours(torch.arange(8), head_dim=4)
    tensor([0, 2, 1, 3, 4, 6, 5, 7])

    Source: ``LlamaModel.permute`` in ggml-org/llama.cpp, convert_hf_to_gguf.py, inverted.
    """
    return rows.unflatten(0, (-1, head_dim // 2, 2)).transpose(1, 2).flatten(0, 2)


def _reader(path: Path) -> Any:
    """Open a file with the package ``gguf``."""
    from gguf import GGUFReader

    class Reader(GGUFReader):
        data: Any

        def _get(self, *args: Any, **settings: Any) -> Any:
            self.data = np.asarray(self.data)  # a memmap takes three times as long to slice
            return super()._get(*args, **settings)

    return Reader(path)


def _our_config(settings: dict[str, Any], path: Path, *, tied: bool) -> LlamaConfig:
    """Return a file's settings as a configuration; an unsupported one is a ValueError."""
    architecture = settings.get("general.architecture")
    if architecture not in _ARCHITECTURES:
        raise ValueError(
            f"general.architecture in {path} must be one of {_ARCHITECTURES}, got {architecture!r}"
        )
    given = {
        name.removeprefix(f"{architecture}."): value
        for name, value in settings.items()
        if name.startswith(f"{architecture}.")
    }
    missing = [name for name in _SIZES if name not in given]
    if missing:
        raise ValueError(f"{path} must say {architecture}.{missing[0]}, it does not")
    sizes = {ours: given[name] for name, ours in _SIZES.items()}
    head_dim = given.get("attention.key_length", sizes["d_model"] // sizes["num_heads"])
    for name, supported in {
        "attention.value_length": head_dim,
        "rope.dimension_count": head_dim,
        "rope.scaling.type": "none",
        "attention.sliding_window": 0,
        "expert_count": 0,
    }.items():
        if given.get(name, supported) != supported:
            raise ValueError(
                f"{architecture}.{name} in {path} must be {supported!r}, got {given[name]!r}"
            )
    return LlamaConfig(
        **sizes,
        vocab_size=len(settings["tokenizer.ggml.tokens"]),
        num_kv_heads=given.get("attention.head_count_kv", sizes["num_heads"]),
        head_dim=head_dim,
        rotary_base=given.get("rope.freq_base", 10_000.0),
        no_rope_layer_interval=4 if architecture == "smollm3" else 0,
        query_key_norm=architecture == "qwen3",
        biases="query_key_value" if architecture == "qwen2" else "none",
        tied=tied,
    )
