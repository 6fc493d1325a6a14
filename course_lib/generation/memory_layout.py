"""Which matrix layout makes a step fast: where the numbers of a weight lie in memory."""

from torch import nn


def store_by_columns(model: nn.Module) -> None:
    """Lay the matrices of a model's linear layers out column by column.

    PyTorch stores the weight ``(out_features, in_features)`` of a linear layer row by row. On the
    CPU, multiplying a handful of vectors with it, as a step of decoding does, then takes up to
    twice as long as with the same numbers stored column by column. Training, with many vectors at
    once, hardly cares.

    Values, shapes, names and shared weights stay as they are; only strides change.

    Args:
        model: Changed in place.

    Source: ``benchmarks/generation.py``; chapter "Caching keys and values".

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> store_by_columns(layer)
        >>> layer.weight.shape, layer.weight.stride()
        (torch.Size([2, 3]), (1, 2))
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight.data = layer.weight.data.T.contiguous().T
