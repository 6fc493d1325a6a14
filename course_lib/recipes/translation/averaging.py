"""The mean of a model's weights at several moments of its training.

Late in training the weights wander about a good place; their mean lies nearer to it.
"""

from collections.abc import Iterable, Sequence

from torch import Tensor


def best_steps(evaluations: Sequence[tuple[int, float]], count: int) -> list[int]:
    """Choose the moments at which the validation loss was lowest.

    Args:
        evaluations: Pairs of updates done and loss.
        count: How many to choose, at most.

    Returns:
        The numbers of updates, ascending.
    """
    return sorted(step for step, _ in sorted(evaluations, key=lambda pair: pair[1])[:count])


def average_weights(all_weights: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Average weights, tensor by tensor.

    Args:
        all_weights: At least one; all with the same names and shapes.

    Returns:
        The means, in the dtypes of the first; added up in float64.

    Raises:
        ValueError: There are none, or names differ.

    Source: Vaswani et al. (2017), section 6.1; Polyak and Juditsky (1992).
    """
    sums: dict[str, Tensor] = {}
    dtypes = {}
    count = 0
    for weights in all_weights:
        if count == 0:
            dtypes = {name: tensor.dtype for name, tensor in weights.items()}
            sums = {name: tensor.double() for name, tensor in weights.items()}
        elif weights.keys() != sums.keys():
            raise ValueError("all_weights must have the same names")
        else:
            for name, tensor in weights.items():
                sums[name] = sums[name] + tensor.double()
        count += 1
    if count == 0:
        raise ValueError("all_weights must hold at least one set of weights, got none")
    return {name: (total / count).to(dtypes[name]) for name, total in sums.items()}
