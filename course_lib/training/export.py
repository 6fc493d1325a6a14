"""Export: a model's parameters as text, for a page that runs the model in the reader's browser."""

import base64
from typing import TypedDict

import torch
from torch import nn


class ExportedParameters(TypedDict):
    """Parameters as JSON holds them.

    Attributes:
        shapes: For each parameter's name its sizes, in the order in which the numbers follow.
        float32: All numbers, row by row, float32 with the smallest byte first, in base64.
    """

    shapes: dict[str, list[int]]
    float32: str


def export_parameters(model: nn.Module) -> ExportedParameters:
    """Write a model's parameters as text.

    Args:
        model: Any model; it is left as it is.

    Returns:
        The parameters. What several modules share is there once, under the name that comes first.

    Source: chapter "A Transformer to take apart".

    Example:
        >>> exported = export_parameters(nn.LayerNorm(2))
        >>> exported["shapes"]
        {'weight': [2], 'bias': [2]}
        >>> len(exported["float32"])  # 4 numbers of 4 bytes; 3 bytes are 4 letters
        24
    """
    named = dict(model.named_parameters())
    numbers = [
        parameter.detach().to("cpu", torch.float32).flatten() for parameter in named.values()
    ]
    data = torch.cat(numbers).numpy().astype("<f4").tobytes()
    return {
        "shapes": {name: list(parameter.shape) for name, parameter in named.items()},
        "float32": base64.b64encode(data).decode("ascii"),
    }
