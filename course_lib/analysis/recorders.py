"""Recorders: outputs, attention weights, keys and values of a running model.

Layers keep none of these themselves. A recorder is a forward hook, or stands in for a cache.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.kv_cache import AttentionCache, KeysAndValues


@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of all calls of a model within a ``with`` block.

    Recording does not change the outputs. Of a layer that is called twice only the weights of the
    last call are kept.

    >>> import torch
    >>> layer = nn.ModuleDict({"reader": MultiHeadAttention(4, 2)})
    >>> with recorded_attention(layer) as weights:
    ...     _ = layer["reader"](*[torch.zeros(1, 3, 4)] * 3)
    >>> weights["reader"].shape
    torch.Size([1, 2, 3, 3])

    Args:
        model: Any model whose attention layers are ``MultiHeadAttention``.

    Yields:
        A dictionary that fills as the model runs: from the name of each attention layer, such as
        ``decoder.layers.0.cross_attention``, to its weights ``(batch, num_heads, query_len,
        key_len)``.

    Source: chapter "The Transformer".
    """
    weights: dict[str, Tensor] = {}
    asked: dict[nn.Module, bool] = {}  # whether the caller wants a layer's weights too

    def ask_for_weights(
        layer: nn.Module, args: tuple[Any, ...], settings: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        asked[layer] = settings.get("return_weights", False)
        return args, settings | {"return_weights": True}

    def keep_weights(name: str) -> Any:
        def keep(layer: nn.Module, args: tuple[Any, ...], result: tuple[Tensor, Tensor]) -> Any:
            output, weights[name] = result
            return result if asked[layer] else output

        return keep

    hooks = []
    try:
        for name, layer in model.named_modules():
            if isinstance(layer, MultiHeadAttention):
                hooks.append(layer.register_forward_pre_hook(ask_for_weights, with_kwargs=True))
                # Before the hooks of other recorders, so that they see the usual output.
                hooks.append(layer.register_forward_hook(keep_weights(name), prepend=True))
        yield weights
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def recorded_outputs(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the output tensor of each submodule of a model within a ``with`` block.

    The keys are the submodules' names, such as ``encoder.layers.0.feed_forward``. Of a submodule
    that is called twice only the last output is kept; outputs that are no tensor are left out.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    >>> with recorded_outputs(model) as outputs:
    ...     _ = model(torch.zeros(1, 2))
    >>> {name: tuple(output.shape) for name, output in outputs.items()}
    {'0': (1, 3), '1': (1, 3)}

    Source: chapter "A Transformer to take apart".
    """
    outputs: dict[str, Tensor] = {}

    def keep_output(name: str) -> Any:
        def keep(_: nn.Module, __: tuple[Any, ...], output: Any) -> None:
            if isinstance(output, Tensor):
                outputs[name] = output

        return keep

    hooks = [
        part.register_forward_hook(keep_output(name))
        for name, part in model.named_modules()
        if name
    ]
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


class RecordingCache:
    """An ``AttentionCache`` that records the shapes of its updates.

    >>> import torch
    >>> cache = RecordingCache()
    >>> keys, values = cache.update(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
    >>> cache.shapes, cache.length
    ([((1, 2, 3, 4), (1, 2, 3, 4))], 3)

    Args:
        fixed: Whether the cache is full after its first update, as for cross-attention.

    Attributes:
        shapes: For each update the shapes of its keys and of its values.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, *, fixed: bool = False) -> None:
        self.shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self._fixed = fixed
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Add keys and values of new tokens; return the keys and values of all tokens so far.

        All are ``(batch, num_heads, length, head_dim)``.
        """
        self.shapes.append((tuple(keys.shape), tuple(values.shape)))
        self._keys.append(keys)
        self._values.append(values)
        return torch.cat(self._keys, dim=2), torch.cat(self._values, dim=2)

    @property
    def length(self) -> int:
        """Number of tokens whose keys and values the cache holds."""
        return sum(keys.size(2) for keys in self._keys)

    @property
    def final(self) -> KeysAndValues | None:
        """Keys and values of the first update if ``fixed`` and updated, otherwise None."""
        return (self._keys[0], self._values[0]) if self._fixed and self._keys else None


def projected_tokens(layer: nn.Module, *args: Any, **settings: Any) -> dict[str, int]:
    """Call an attention layer; return how many tokens each of its linear projections maps.

    ``args`` and ``settings`` are passed to the layer. The keys are the names of the projections.

    >>> import torch
    >>> layer = MultiHeadAttention(4, 2)
    >>> counts = projected_tokens(layer, torch.zeros(1, 1, 4), *[torch.zeros(1, 3, 4)] * 2)
    >>> counts["query_projection"], counts["key_projection"]
    (1, 3)

    Source: chapter "Caching keys and values".
    """
    named = {name: child for name, child in layer.named_children() if isinstance(child, nn.Linear)}
    counts = dict.fromkeys(named, 0)

    def count(name: str) -> Any:
        def add(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> None:
            counts[name] += output[..., 0].numel()

        return add

    hooks = [child.register_forward_hook(count(name)) for name, child in named.items()]
    try:
        layer(*args, **settings)
    finally:
        for hook in hooks:
            hook.remove()
    return counts


def count_places(cache: AttentionCache, keys: Tensor, values: Tensor, *, updates: int) -> int:
    """Update a cache ``updates`` times; return how many different buffers hold its results.

    Each update adds the same ``keys`` and ``values``, ``(batch, num_heads, length, head_dim)``. A
    cache that concatenates returns new buffers each time; one that returns views of a buffer uses
    it again.

    Source: chapter "Caching keys and values".
    """
    answers = [cache.update(keys, values) for _ in range(updates)]  # kept, so none is freed
    return len({tensor.untyped_storage().data_ptr() for pair in answers for tensor in pair})
