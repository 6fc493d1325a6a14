"""Python values in messages between two processes: plain data by value, others as references.

Types are kept exactly. An object of a class that is not listed here, such as a tensor subclass,
crosses as a reference, so that its methods can't deceive the other side. A tuple of another class
crosses as both: its items by value, so that gradients flow through it, and a reference. A frozen
dataclass of course_lib is copied to the student's process; one from there stays a reference.
"""

import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .wire import WireError

MAX_DEPTH = 32
MAX_ITEMS = 100_000
MAX_NUMBERED_KEYS = 20_000
_DTYPES = {str(d).removeprefix("torch."): d for d in vars(torch).values() if type(d) is torch.dtype}
_ITERATORS: tuple[type, ...] = (
    types.GeneratorType, islice, map, filter, zip, enumerate, reversed, range,
    type({}.keys()), type({}.values()), type({}.items()),
    type(OrderedDict().keys()), type(OrderedDict().values()), type(OrderedDict().items()),
)  # fmt: skip


class TensorTable:
    """The tensors of one message; a tensor that occurs twice is sent once and restored as one."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self._index: dict[int, int] = {}

    def add(self, tensor: Tensor) -> int:
        """Return the tensor's index in the message, adding it if it is new."""
        if id(tensor) not in self._index:
            self._index[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return self._index[id(tensor)]


class NamedItems(tuple[Any, ...]):
    """Items of a tuple subclass of the other process, as a named tuple, also readable by name."""

    _origin: Any
    _names: dict[str, int]

    @classmethod
    def of(cls, items: list[Any], names: Any, origin: Any) -> "NamedItems":
        """Return a tuple of these items.

        Args:
            items: The items.
            names: Names of the first items; data from the wire, which may be anything.
            origin: Proxy of the original tuple in the other process.
        """
        if not isinstance(names, list) or not all(type(name) is str for name in names):
            raise WireError("the names of a tuple are malformed")
        made = cls(items)
        made._origin = origin
        made._names = {name: index for index, name in enumerate(names[: len(items)])}
        return made

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)  # a pickled copy can't use the proxy

    def __getattr__(self, name: str) -> Any:
        if name in ("_origin", "_names"):
            raise AttributeError(name)
        return self[self._names[name]] if name in self._names else getattr(self._origin, name)

    @property
    def __remote_type__(self) -> str:
        return str(self._origin.__remote_type__)

    def __call_beside__(self, function: Any, args: Any, kwargs: Any) -> Any:
        return self._origin.__call_beside__(function, args, kwargs)


def encode(
    value: Any,
    table: TensorTable,
    refer: Callable[[Any], dict[str, Any]],
    depth: int = 0,
    *,
    records: bool = False,
) -> Any:
    """Return a value as plain data for JSON; its tensors are added to the table.

    Args:
        value: The value.
        table: The message's tensors.
        refer: Returns the data of an object that crosses as a reference.
        depth: Number of containers around the value.
        records: Whether frozen dataclasses of course_lib cross as class and fields.
    """
    if depth > MAX_DEPTH:
        raise WireError(f"values are nested more than {MAX_DEPTH} deep")

    def inner(items: Any) -> list[Any]:
        found = list(islice(iter(items), MAX_ITEMS + 1))
        if len(found) > MAX_ITEMS:
            raise WireError(f"a container holds more than {MAX_ITEMS} items")
        return [encode(item, table, refer, depth + 1, records=records) for item in found]

    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return inner(value)
    if kind in (Tensor, nn.Parameter):
        return _encode_tensor(value, table)
    if kind in (tuple, set, frozenset, torch.Size):
        return {kind.__name__: inner(value)}
    if kind is NamedItems:  # goes back to its side, which rebuilds it from the items
        return {**refer(value._origin), "named": inner(value)}
    if issubclass(kind, tuple):
        names = list(getattr(kind, "_fields", ()))
        return {**refer(value), "named": inner(tuple.__iter__(value)), "names": names}
    if kind in (dict, Counter, OrderedDict, defaultdict):
        return {"dict": [inner(pair) for pair in value.items()]}
    if kind in _ITERATORS:
        return inner(value)
    if kind is np.ndarray and value.dtype.kind in "biuf":
        return {"numpy": table.add(torch.from_numpy(np.ascontiguousarray(value)))}
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if kind is torch.Generator:
        return _encode_generator(value, table)
    if kind in (torch.dtype, torch.device):
        return {kind.__name__: str(value).removeprefix("torch.")}
    if kind is slice:
        return {"slice": inner((value.start, value.stop, value.step))}
    if value is Ellipsis:
        return {"ellipsis": True}
    if records and _is_record(kind):
        pairs = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init]
        return {
            "record": f"{kind.__module__}:{kind.__qualname__}",
            "fields": [inner(pair) for pair in pairs],
        }
    return refer(value)


def _is_record(kind: type) -> bool:
    if not is_dataclass(kind) or kind.__module__.partition(".")[0] != "course_lib":
        return False
    return bool(getattr(kind, "__dataclass_params__").frozen)  # noqa: B009 -- typed nowhere


def _encode_tensor(tensor: Tensor, table: TensorTable) -> dict[str, Any]:
    code: dict[str, Any] = {"tensor": table.add(tensor)}
    if tensor.device.type != "cpu":
        code["device"] = str(tensor.device)
    if tensor.requires_grad:
        code["grad"] = "leaf" if tensor.is_leaf else "node"
    if type(tensor) is nn.Parameter:
        code["parameter"] = True
        if tensor.grad is not None:
            code["grad_of"] = table.add(tensor.grad)
    return code


def _encode_generator(generator: torch.Generator, table: TensorTable) -> dict[str, Any]:
    # The copy starts with the original's state. The original then advances here, so that the next
    # call draws other numbers, even if the other side never uses the copy.
    state = generator.get_state()
    torch.rand(1, generator=generator, device=generator.device)
    return {"generator": table.add(state), "device": str(generator.device)}


def decode(
    data: Any,
    tensor_at: Callable[[dict[str, Any]], Tensor],
    resolve: Callable[[dict[str, Any]], Any],
) -> Any:
    """Return the value that ``encode`` turned into ``data``, which may come from a hostile peer.

    Args:
        data: The data.
        tensor_at: Returns the tensor that stands in the data as this dict.
        resolve: Returns the object that stands in the data as this dict: one sent as a reference,
            a dataclass of course_lib or a named tuple.
    """
    try:
        return _decode(data, tensor_at, resolve)
    except WireError:
        raise
    except RecursionError as error:
        raise WireError("values are nested too deep") from error
    except Exception as error:  # hostile data can raise any exception
        raise WireError(f"a value is malformed: {type(error).__name__}") from error


def _decode(data: Any, tensor_at: Any, resolve: Any) -> Any:
    if not isinstance(data, list | dict):
        return data

    def inner(items: Any) -> list[Any]:
        return [_decode(item, tensor_at, resolve) for item in items]

    if isinstance(data, list):
        return inner(data)
    if "tensor" in data:
        return tensor_at(data)
    if "numpy" in data:
        return tensor_at({"tensor": data["numpy"]}).numpy()
    if "generator" in data:
        generator = torch.Generator(device=data["device"])
        return generator.set_state(tensor_at({"tensor": data["generator"]}))
    if "dict" in data:
        pairs = inner(data["dict"])
        _check_keys([key for key, _ in pairs])
        return dict(pairs)
    for container in (tuple, torch.Size):
        if container.__name__ in data:
            return container(inner(data[container.__name__]))
    for collection in (set, frozenset):
        if collection.__name__ in data:
            keys = inner(data[collection.__name__])
            _check_keys(keys)
            return collection(keys)
    if "dtype" in data:
        return _DTYPES[data["dtype"]]
    if "device" in data:
        return torch.device(data["device"])
    if "slice" in data:
        return slice(*inner(data["slice"]))
    if "ellipsis" in data:
        return Ellipsis
    if "named" in data:
        return resolve({**data, "named": inner(data["named"])})
    if "record" in data:
        return resolve(data)(**dict(inner(pair) for pair in data["fields"]))
    return resolve(data)


def _check_keys(keys: list[Any]) -> None:
    """Reject many keys that are not texts: they could be chosen so that their hashes collide."""
    if len(keys) > MAX_NUMBERED_KEYS and not all(type(key) is str for key in keys):
        raise WireError(f"more than {MAX_NUMBERED_KEYS} keys that are no texts")
