"""Messages between judge and worker: JSON and raw tensor bytes over a stream socket.

A frame is two lengths (unsigned 32-bit, big-endian), the JSON text, and a safetensors blob. The
other end may be hostile: sizes are checked before anything is read, and nothing is unpickled.
"""

import json
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

_LENGTHS = struct.Struct(">II")


MAX_TEXT_BYTES = 4 << 20
MAX_TENSOR_BYTES = 32 << 20
_AHEAD_BYTES = 16 << 10  # received at once, so that most messages need one call
_MOST_AT_ONCE = 1 << 20
MAX_HEADER_BYTES = 1 << 20  # of the tensors' names and shapes: enough for some ten thousand


class WireError(ValueError):
    """A message is too large or malformed."""


class WireClosed(EOFError):  # noqa: N818 -- the field's word, as in ConnectionResetError's peers
    """The other end has closed the connection."""


class Wire:
    """One end of a connection that carries messages.

    Args:
        connection: A connected stream socket, which ``close`` closes.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._ahead = b""  # received, and part of the next message
        self.time_left: Callable[[], float] | None = None
        """Returns the seconds to wait before it is called again; 0 or less if the time is up.

        None for no limit.
        """

    def send(self, message: dict[str, Any], tensors: Sequence[Tensor] = ()) -> None:
        """Send one message.

        Raises:
            WireError: The message is larger than the limits, or has a value that can't be sent: a
                tensor of an unsupported type, or a number with more digits than Python reads.
            WireClosed: The other end is gone.
            TimeoutError: The time is up.
        """
        try:
            text = json.dumps(message, check_circular=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise WireError(f"a value can't be sent: {error}") from error
        blob = _tensors_to_bytes(tensors)
        if len(text) > MAX_TEXT_BYTES or len(blob) > MAX_TENSOR_BYTES:
            raise WireError(
                f"the message is too large: {len(text)} bytes of text (limit {MAX_TEXT_BYTES}), "
                f"{len(blob)} bytes of tensors (limit {MAX_TENSOR_BYTES})"
            )
        self._send_all(_LENGTHS.pack(len(text), len(blob)) + text + blob)

    def receive(self) -> tuple[dict[str, Any], list[Tensor]]:
        """Wait for one message; return it and its tensors.

        Raises:
            WireError: The message is malformed or larger than the limits.
            WireClosed: The other end is gone.
            TimeoutError: The time is up.
        """
        if self._ahead:
            self._patience()  # data received early does not extend the time limit
        text_len, blob_len = _LENGTHS.unpack(self._receive_exactly(_LENGTHS.size))
        if text_len > MAX_TEXT_BYTES or blob_len > MAX_TENSOR_BYTES:
            raise WireError(f"a message of {text_len} + {blob_len} bytes is too large")
        text = self._receive_exactly(text_len)
        blob = self._receive_exactly(blob_len)
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WireError("the message is not JSON") from error
        if not isinstance(message, dict):
            raise WireError("the message is not a JSON object")
        return message, _tensors_from_bytes(bytes(blob))

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        self._connection.close()

    def _send_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._limit()
            try:
                view = view[self._connection.send(view) :]
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError) as error:
                raise WireClosed("the other end is gone") from error

    def _receive_exactly(self, size: int) -> bytearray:
        data, self._ahead = bytearray(self._ahead[:size]), self._ahead[size:]
        while missing := size - len(data):
            self._limit()
            try:
                some = self._connection.recv(min(max(missing, _AHEAD_BYTES), _MOST_AT_ONCE))
            except TimeoutError:
                continue
            except ConnectionResetError as error:
                raise WireClosed("the other end is gone") from error
            if not some:
                raise WireClosed("the other end is gone")
            data += some[:missing]
            self._ahead = some[missing:]
        return data

    def _limit(self) -> None:
        """Set the connection's timeout to the time that is left."""
        patience = self._patience()
        waits = self._connection.gettimeout()
        if patience is None or waits is None or not patience / 2 < waits <= patience:
            self._connection.settimeout(patience)  # a system call, so not for each message

    def _patience(self) -> float | None:
        if self.time_left is None:
            return None
        left = self.time_left()
        if left <= 0:
            raise TimeoutError("the time is up")
        return left


def _tensors_to_bytes(tensors: Sequence[Tensor]) -> bytes:
    if not tensors:
        return b""
    tensors = [t.detach() for t in tensors]
    size = sum(t.numel() * t.element_size() for t in tensors)
    if size > MAX_TENSOR_BYTES:  # an expanded view may be small in memory: check before copying
        raise WireError(f"tensors of {size} bytes are too large (limit {MAX_TENSOR_BYTES})")
    try:
        plain = [t.to("cpu").resolve_conj().resolve_neg().contiguous() for t in tensors]
        # Passes addresses to safetensors; safetensors.torch.save takes seven times as long.
        return bytes(safetensors.serialize({str(i): _specify(t) for i, t in enumerate(plain)}))
    except (TypeError, ValueError, RuntimeError, safetensors.SafetensorError) as error:
        raise WireError(f"tensors of {sorted({str(t.dtype) for t in tensors})}: {error}") from error


def _specify(tensor: Tensor) -> safetensors.TensorSpec:
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise ValueError("their numbers don't lie one after the other")
    return safetensors.TensorSpec(
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tensor.shape,
        data_ptr=tensor.data_ptr(),
        data_len=tensor.numel() * tensor.element_size(),
    )


def _tensors_from_bytes(blob: bytes) -> list[Tensor]:
    if not blob:
        return []
    if int.from_bytes(blob[:8], "little") > MAX_HEADER_BYTES:
        raise WireError("the tensors are too many")
    try:
        named = safetensors.torch.load(blob)
    except Exception as error:  # a parser may raise any error for hostile bytes
        raise WireError("the tensors are malformed") from error
    if set(named) != {str(i) for i in range(len(named))}:
        raise WireError("the tensors are misnamed")
    # A tensor without entries takes no bytes, but may have so many rows that a loop never ends.
    if any(t.numel() == 0 and max(t.shape) > MAX_TENSOR_BYTES for t in named.values()):
        raise WireError("an empty tensor claims to be large")
    return [named[str(i)] for i in range(len(named))]
