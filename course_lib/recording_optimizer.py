"""An optimizer that updates nothing and remembers which gradients it saw."""

import math

from torch import Tensor, nn


class RecordingOptimizer:
    """Stands where an optimizer stands, to show what a training step does before it updates.

    Args:
        model: Whose gradients to look at.

    Attributes:
        steps: How often ``step`` was called.
        gradients: For each parameter's name its gradient when ``step`` was last called, a copy;
            None where there was none.
        param_groups: As torch's optimizers have them: one group, of all parameters.

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
        self.param_groups = [{"params": list(model.parameters())}]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the model's gradients.

        Args:
            set_to_none: As torch's optimizers have it.
        """
        self._model.zero_grad(set_to_none)

    def step(self) -> None:
        """Write the gradients down."""
        self.steps += 1
        self.gradients = {
            name: None if parameter.grad is None else parameter.grad.clone()
            for name, parameter in self._model.named_parameters()
        }

    @property
    def norm(self) -> float:
        """The Euclidean norm of all gradients together; 0 if there are none."""
        found = [gradient for gradient in self.gradients.values() if gradient is not None]
        return math.sqrt(sum(float(gradient.square().sum()) for gradient in found))
