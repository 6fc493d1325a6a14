"""Recorders: outputs, attention weights, keys and values, gradients, as a model or training runs.

No layer keeps such things itself. A recorder stands where a hook, a cache or an optimizer would.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.kv_cache import AttentionCache, KeysAndValues


@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of every call of a model within a ``with`` block.

    The model computes the same outputs, by the formula instead of the fused kernel. A layer
    that is called twice leaves the weights of the last call.

    >>> import torch
    >>> layer = nn.ModuleDict({"reader": MultiHeadAttention(4, 2)})
    >>> with recorded_attention(layer) as weights:
    ...     _ = layer["reader"](*[torch.zeros(1, 3, 4)] * 3)
    >>> weights["reader"].shape
    torch.Size([1, 2, 3, 3])

    Args:
        model: Any model whose attention layers are ``MultiHeadAttention``.

    Yields:
        From the name of each layer, such as ``decoder.layers.0.cross_attention``, to its weights
        ``(batch, num_heads, query_len, key_len)``.

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
    """Collect the output tensor of every part of a model, within a ``with`` block.

    The names are such as ``encoder.layers.0.feed_forward``. A part that is called twice leaves its
    last output.

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
        fixed: Whether the first update is the last, as in cross-attention.

    Attributes:
        shapes: For each update, the shapes of the keys and of the values.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, *, fixed: bool = False) -> None:
        self.shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self._fixed = fixed
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Add keys and values of new tokens; return those of all tokens so far."""
        self.shapes.append((tuple(keys.shape), tuple(values.shape)))
        self._keys.append(keys)
        self._values.append(values)
        return torch.cat(self._keys, dim=2), torch.cat(self._values, dim=2)

    @property
    def length(self) -> int:
        """Number of tokens held."""
        return sum(keys.size(2) for keys in self._keys)

    @property
    def final(self) -> KeysAndValues | None:
        """The first update, if ``fixed``; None otherwise."""
        return (self._keys[0], self._values[0]) if self._fixed and self._keys else None


def projected_tokens(layer: nn.Module, *args: Any, **settings: Any) -> dict[str, int]:
    """Call an attention layer; return the number of tokens that each projection maps, by its name.

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
    """Update a cache repeatedly; return how many buffers hold the keys and values that it returns.

    ``keys`` and ``values`` are the same in each update. A cache that joins old and new returns new
    buffers each time; one that returns views of a buffer uses it again.

    Source: chapter "Caching keys and values".
    """
    answers = [cache.update(keys, values) for _ in range(updates)]  # kept: no place is used twice
    return len({tensor.untyped_storage().data_ptr() for pair in answers for tensor in pair})


class RecordingOptimizer:
    """Records gradients in place of an optimizer that would update.

    Args:
        model: The model whose gradients to record.

    Attributes:
        steps: How often ``step`` was called.
        gradients: For each parameter's name its gradient when ``step`` was last called, a copy;
            None where there was none.
        param_groups: As torch's optimizers have them: one group of matrices, one of vectors, as
            where the second are not decayed.

    Source: chapter "Training a Transformer".

    Example:
        >>> import torch
        >>> model = nn.Linear(2, 1)
        >>> optimizer = RecordingOptimizer(model)
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> optimizer.step()
        >>> optimizer.steps, optimizer.gradients["weight"]
        (1, tensor([[1., 1.]]))
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.steps = 0
        self.gradients: dict[str, Tensor | None] = {}
        parameters = list(model.parameters())
        self.param_groups = [
            {"params": [p for p in parameters if p.dim() >= 2]},
            {"params": [p for p in parameters if p.dim() < 2]},
        ]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the model's gradients."""
        self._model.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Record the gradients, after those that the closure computes, if there is one."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        self.steps += 1
        self.gradients = {
            name: None if parameter.grad is None else parameter.grad.clone()
            for name, parameter in self._model.named_parameters()
        }
        return loss

    @property
    def norm(self) -> float:
        """The Euclidean norm of all gradients together; 0 if there are none."""
        found = [gradient for gradient in self.gradients.values() if gradient is not None]
        return math.sqrt(sum(float(gradient.square().sum()) for gradient in found))
