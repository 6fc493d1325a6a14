"""Calls between two processes, with gradients: each side may call objects that the other exported.

If the callee allows it, the caller may also call any function by its name, ``module:function``.
Reading an attribute is a call of ``builtins:getattr``. The backward pass of a call is a call of the
``Backward`` in its reply.
"""

import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .gradients import Backward, ReceivedTensors
from .values import MAX_ITEMS, NamedItems, TensorTable, decode, encode
from .wire import Wire, WireClosed, WireError

MAX_RETURNED = 1 << 20
"""Maximum entries of the tensors in a worker's reply, because the judge computes with them."""

MAX_BROUGHT = 1 << 23
"""Maximum entries of the tensors in a worker's call of an object of the judge."""


class RemoteError(Exception):
    """A call raised on the other side; also an instance of the same builtin exception.

    Attributes:
        type_name: Name of the exception's class on the other side.
        message: Its text, written by the other side.
        traceback: The other side's traceback; from a worker, only frames of the student's cells.
    """

    def __init__(self, *, type_name: str, message: str, traceback: str) -> None:
        super().__init__(f"{type_name}: {message}")
        self.type_name = type_name
        self.message = message
        self.traceback = traceback

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}"


# Exceptions that docstrings promise and tests expect; others arrive as a plain RemoteError.
_REMOTE_ERRORS: dict[str, type[RemoteError]] = {
    base.__name__: type(f"Remote{base.__name__}", (RemoteError, base), {})
    for base in (
        ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, LookupError,
        MemoryError, NameError, NotImplementedError, OverflowError, RuntimeError, TypeError,
        ValueError, ZeroDivisionError,
    )
}  # fmt: skip


class Proxy:
    """Stands for an object of the other side: supports calls, attributes, indices, iteration."""

    __slots__ = ("__weakref__", "_held")

    def __init__(self, peer: "Peer", reference: int, type_name: str) -> None:
        self._held = (peer, reference, type_name)

    @property
    def __remote_type__(self) -> str:
        return _held_by(self)[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object on the other side; see ``Peer.call``."""
        return peer_of(self).call(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # special methods, which Python and torch look for
            raise AttributeError(name)
        return self._look(f"its attribute {name!r}", "builtins:getattr", AttributeError, name)

    def __getitem__(self, index: Any) -> Any:
        return self._look("an item", "operator:getitem", TypeError, index)

    def __iter__(self) -> Any:
        # A bounded slice, so that an endless iterator does not fill the other side's memory.
        return iter(self._look("its items", "itertools:islice", TypeError, MAX_ITEMS + 1))

    def __len__(self) -> int:
        return int(self._look("its length", "builtins:len", TypeError))

    def _look(self, asked: str, function: str, refusal: type[Exception], *args: Any) -> Any:
        if peer_of(self).is_asked_by_name:  # then this side may not call by name
            given = "your code can only call the functions that a test hands to it"
            raise refusal(f"{given}: it was asked for {asked}")
        return peer_of(self).call(function, (self, *args))

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self.__remote_type__} of the other process>"

    def __del__(self) -> None:
        peer, reference, _ = _held_by(self)
        peer.release(reference)

    def __call_beside__(self, function: Any, args: Any, kwargs: Any) -> Any:
        asked = f"{function.__module__}:{function.__qualname__}"
        return peer_of(self).call(asked, args, kwargs)

    def __changed_inputs__(self, args: Any, kwargs: Any) -> list[str]:
        told = peer_of(self).call("course_lib.testing:changed_inputs", (self, args, kwargs))
        given = [*(f"argument {number}" for number, _ in enumerate(args, start=1)), *kwargs]
        # Its own names may be those of a hidden test, so only arguments are named.
        return [name for name in given if name in told] if told else []


def peer_of(proxy: Proxy) -> "Peer":
    """Return the peer that made a proxy."""
    return _held_by(proxy)[0]


def _held_by(proxy: Proxy) -> tuple["Peer", int, str]:
    held: tuple[Peer, int, str] = object.__getattribute__(proxy, "_held")
    return held


class Peer:
    """One side of a connection on which both sides call each other's objects.

    Args:
        wire: The connection to the other side.
        describe_error: Returns the description of an exception that the caller may see:
            ``type_name``, ``bases``, ``message`` and ``traceback``.
        is_asked_by_name: Whether the other side may call any importable function by its name.
        contains: Exceptions that end only their call; others end the connection.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        describe_error: Callable[[BaseException], dict[str, Any]],
        is_asked_by_name: bool = False,
        contains: type[BaseException] = Exception,
    ) -> None:
        self.wire = wire
        self.failure: Exception | None = None
        """The exception that ended the connection; None while it works."""
        self._contains = contains
        self._describe_error = describe_error
        self.is_asked_by_name = is_asked_by_name
        self._named: dict[str, Callable[..., Any]] = {}
        self._exports: dict[int, Any] = {}
        self._next_export = 0
        self._next_call = 0
        self._released: list[int] = []

    def call(
        self, target: "Proxy | str", args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a proxy's object, or a function by its name, on the other side; return the result.

        Raises:
            RemoteError: The call raised there.
            WireError: The answer is malformed, or an argument can't cross.
            WireClosed: The other side is gone.
            TimeoutError: The wire's time is up.
        """
        table = TensorTable()
        self._next_call += 1
        number = self._next_call
        request = {
            "call": number,
            "target": target if isinstance(target, str) else self._refer(target),
            "args": self._encode(tuple(args), table),
            "kwargs": self._encode(kwargs or {}, table),
            "grad": torch.is_grad_enabled(),
        }
        inputs = [t for t in table.tensors if t.requires_grad]
        try:
            self._send(request, table)
            message, tensors = self._await_reply(number)
            try:
                return self._read_reply(message, tensors, inputs)
            finally:  # only after reading: the reply may refer to an object that it also releases
                self._drop(message.get("released", []))
        except (WireError, WireClosed, TimeoutError) as error:
            # A copy without a traceback, whose frames would keep the check's values in memory.
            self.failure = type(error)(*error.args)
            raise

    def serve(self) -> None:
        """Answer calls until the other side is gone."""
        while True:
            message, tensors = self.wire.receive()
            self._drop(message.get("released", []))
            self._answer(message, tensors)

    def release(self, reference: int) -> None:
        """Note that this side no longer uses a reference; the next message tells the other side."""
        self._released.append(reference)

    def _await_reply(self, number: int) -> tuple[dict[str, Any], list[Tensor]]:
        while True:
            message, tensors = self.wire.receive()
            if message.get("reply") == number:
                return message, tensors
            self._drop(message.get("released", []))
            if "call" not in message:
                raise WireError("an answer came that nobody asked for")
            self._answer(message, tensors)

    def _send(self, message: dict[str, Any], table: TensorTable) -> None:
        released, self._released = self._released, []
        self.wire.send({**message, "released": released}, table.tensors)

    def _drop(self, references: Any) -> None:
        if not isinstance(references, list) or not all(type(r) is int for r in references):
            raise WireError("the released references are malformed")
        for reference in references:
            self._exports.pop(reference, None)

    def _encode(self, value: Any, table: TensorTable) -> Any:
        # A side that may be called by name never builds objects for the other side.
        return encode(value, table, self._refer, records=not self.is_asked_by_name)

    def _refer(self, value: Any) -> dict[str, Any]:
        if type(value) is Proxy and peer_of(value) is self:
            return {"yours": _held_by(value)[1]}
        self._next_export += 1
        self._exports[self._next_export] = value
        return {"reference": self._next_export, "type": type(value).__name__}

    def _resolve(self, data: dict[str, Any]) -> Any:
        if "yours" in data:
            original = self._exports[data["yours"]]
            if "named" not in data or not self.is_asked_by_name:
                return original
            kind = type(original)
            try:
                return getattr(kind, "_make", kind)(data["named"])
            except TypeError:  # its constructor takes other arguments
                return original
        if isinstance(data.get("reference"), int) and isinstance(data.get("type"), str):
            proxy = Proxy(self, data["reference"], data["type"][: _LONGEST["type_name"]])
            if "named" not in data:
                return proxy
            return NamedItems.of(data["named"], data.get("names"), proxy)
        if isinstance(data.get("record"), str):
            return self._target(data["record"])
        raise WireError("a value is malformed")

    def _answer(self, message: dict[str, Any], tensors: list[Tensor]) -> None:
        number = message.get("call")
        try:
            reply, table = self._perform(message, tensors)
        except self._contains as error:
            reply, table = {"error": self._describe_error(error)}, TensorTable()
        try:
            self._send({"reply": number, **reply}, table)
        except WireError as error:
            self._send({"reply": number, "error": self._describe_error(error)}, TensorTable())

    def _perform(
        self, message: dict[str, Any], tensors: list[Tensor]
    ) -> tuple[dict[str, Any], TensorTable]:
        received = ReceivedTensors(tensors, self._most(MAX_BROUGHT), as_leaves=True)
        target = self._target(message.get("target"))
        args = decode(message.get("args"), received, self._resolve)
        kwargs = decode(message.get("kwargs"), received, self._resolve)
        with torch.set_grad_enabled(bool(message.get("grad"))):
            result = target(*args, **kwargs)
        table = TensorTable()
        reply = {"value": self._encode(result, table)}
        outputs = [t for t in table.tensors if t.requires_grad and not t.is_leaf]
        outputs += [t for t in table.tensors if any(t is leaf for leaf in received.leaves)]
        if outputs and message.get("grad"):
            reply["outputs"] = [self._encode(t, table) for t in outputs]
            reply["backward"] = self._refer(Backward(received.leaves, outputs))
        return reply, table

    def _most(self, entries: int) -> int | None:
        return None if self.is_asked_by_name else entries  # a worker trusts the judge

    def _target(self, target: Any) -> Callable[..., Any]:
        if isinstance(target, str) and self.is_asked_by_name:
            if target not in self._named:
                module, _, path = target.partition(":")
                self._named[target] = operator.attrgetter(path)(importlib.import_module(module))
            return self._named[target]
        if isinstance(target, dict):
            return self._exports[target["yours"]]
        raise WireError("only objects that were handed over can be called or built")

    def _read_reply(
        self, message: dict[str, Any], tensors: list[Tensor], inputs: list[Tensor]
    ) -> Any:
        if "error" in message:
            raise _read_error(message["error"])
        received = ReceivedTensors(tensors, self._most(MAX_RETURNED), as_leaves=False)
        if "backward" in message:
            backward = decode(message["backward"], received, self._resolve)
            received.attach_gradient(message.get("outputs"), backward, inputs)
        return decode(message.get("value"), received, self._resolve)


_LONGEST = {"type_name": 100, "message": 2_000, "traceback": 6_000}
"""Limits, in characters, of an error's description by the other side."""


def _read_error(data: Any) -> RemoteError:
    if not isinstance(data, dict) or not all(isinstance(data.get(t), str) for t in _LONGEST):
        raise WireError("an error is malformed")
    bases = data.get("bases")
    names = [base for base in bases if isinstance(base, str)] if isinstance(bases, list) else []
    kind = next((_REMOTE_ERRORS[name] for name in names if name in _REMOTE_ERRORS), RemoteError)
    return kind(
        **{
            text: data[text][-longest:] if text == "traceback" else data[text][:longest]
            for text, longest in _LONGEST.items()
        }
    )
