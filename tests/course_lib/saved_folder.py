"""Changes to the folder of a model that ``transformers`` saved: damaged or foreign files."""

import json
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

Tensors = dict[str, Tensor]


def change_tensors(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    """Replace the folder's saved weights, tensors by name, by the result of ``change``."""
    path = folder / "model.safetensors"
    save_file({name: t.clone() for name, t in change(load_file(path)).items()}, path)


def change_config(folder: Path, **changes: object) -> None:
    """Replace values in the folder's ``config.json``."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
