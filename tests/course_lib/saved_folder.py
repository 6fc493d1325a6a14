"""A model that ``transformers`` saved, changed as a damaged or foreign one would be."""

import json
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

Tensors = dict[str, Tensor]


def change_tensors(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    """Write the weights again, as the change returns them."""
    path = folder / "model.safetensors"
    save_file({name: t.clone() for name, t in change(load_file(path)).items()}, path)


def change_config(folder: Path, **changes: object) -> None:
    """Write the configuration again, with other values."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
