"""See where a model looked: the weights of all its attention layers, while it runs.

No layer stores its weights. This asks each for them and lets them go with the block.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention


@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of every call of a model within a ``with`` block.

    A layer that is called twice leaves the weights of the last call.

    Args:
        model: Any model whose attention layers are ``MultiHeadAttention``; it computes what it
            always does, by the formula in place of the fused kernel.

    Yields:
        A dictionary, empty at first, from the name of each attention layer, such as
        ``decoder.layers.0.cross_attention``, to its weights
        ``(batch, num_heads, query_len, key_len)``.

    Source: chapter "The Transformer".

    Example:
        >>> import torch
        >>> layer = nn.ModuleDict({"reader": MultiHeadAttention(4, 2)})
        >>> with recorded_attention(layer) as weights:
        ...     _ = layer["reader"](*[torch.zeros(1, 3, 4)] * 3)
        >>> weights["reader"].shape
        torch.Size([1, 2, 3, 3])
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
                hooks.append(layer.register_forward_hook(keep_weights(name)))
        yield weights
    finally:
        for hook in hooks:
            hook.remove()
