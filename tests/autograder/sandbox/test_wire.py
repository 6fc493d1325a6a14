"""Frames arrive as they were sent, and malformed ones are rejected."""

import socket
import struct
import threading

import pytest
import safetensors.torch
import torch

from autograder.sandbox.time_limit import by_the_clock
from autograder.sandbox.worker.wire import Wire, WireClosed, WireError


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    wire.time_left = by_the_clock(300)
    yield wire, theirs
    wire.close()
    theirs.close()


def frame(text: bytes, blob: bytes = b"") -> bytes:
    return struct.pack(">II", len(text), len(blob)) + text + blob


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(3, 4),
        torch.randn(3, 4, dtype=torch.float64).T,
        torch.tensor(3),
        torch.zeros(0, 5),
        torch.tensor([True, False]),
        torch.tensor([float("nan"), float("inf")]),
        torch.randn(2, 2).to(torch.bfloat16),
    ],
    ids=lambda t: f"{t.dtype}-{tuple(t.shape)}",
)
def test_tensor_arrives_unchanged(pair, tensor):
    wire, theirs = pair
    other = Wire(theirs)
    wire.send({"x": 1}, [tensor, tensor])
    message, tensors = other.receive()
    assert message == {"x": 1}
    for arrived in tensors:
        torch.testing.assert_close(arrived, tensor, rtol=0, atol=0, equal_nan=True)
        assert arrived.dtype == tensor.dtype


MALFORMED = {
    "text": frame(b"not json"),
    "list": frame(b"[1, 2]"),
    "blob": frame(b"{}", b"not safetensors"),
    "huge header": frame(b"{}", b"\xff" * 64),
    "deep": frame(b"[" * 100_000 + b"]" * 100_000),
    "long number": frame(b'{"a": ' + b"9" * 100_000 + b"}"),
    "misnamed": frame(b"{}", safetensors.torch.save({"misnamed": torch.ones(2)})),
    "not utf-8": frame(b"\xff\xfe"),
    "large and empty": frame(b"{}", safetensors.torch.save({"0": torch.ones(0, 2**40)})),
    "many": frame(b"{}", safetensors.torch.save({str(i): torch.ones(1) for i in range(20_000)})),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_frame_is_rejected(pair, data):
    wire, theirs = pair
    threading.Thread(target=theirs.sendall, args=(data,), daemon=True).start()
    with pytest.raises(WireError):
        wire.receive()


def test_sending_ahead_gains_no_time(pair):
    wire, theirs = pair
    theirs.sendall(frame(b'{"a": 1}') + frame(b'{"b": 2}') + frame(b'{"c": 3}')[:11])
    assert wire.receive() == ({"a": 1}, [])
    wire.time_left = lambda: 0.0
    with pytest.raises(TimeoutError):
        wire.receive()
    wire.time_left = by_the_clock(300)
    assert wire.receive() == ({"b": 2}, [])
    theirs.sendall(frame(b'{"c": 3}')[11:])
    assert wire.receive() == ({"c": 3}, [])


LIMITS = {
    "text over the limit": (lambda wire: wire.send({"text": "x" * (5 << 20)}), WireError),
    "expanded tensor": (lambda wire: wire.send({}, [torch.zeros(1).expand(1 << 50)]), WireError),
    "peer that reads nothing": (lambda wire: wire.send({}, [torch.zeros(1 << 22)]), TimeoutError),
}


@pytest.mark.parametrize(("send", "error"), LIMITS.values(), ids=LIMITS)
def test_sending_is_limited(pair, send, error):
    wire, _ = pair
    wire.time_left = by_the_clock(0.2)
    with pytest.raises(error):
        send(wire)


def test_receiving_ends_at_the_limit_and_with_the_connection(pair):
    wire, theirs = pair
    theirs.sendall(struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF))
    with pytest.raises(WireError, match="too large"):
        wire.receive()
    theirs.sendall(struct.pack(">II", 1000, 0) + b"{")
    wire.time_left = by_the_clock(0.1)
    with pytest.raises(TimeoutError):
        wire.receive()
    theirs.close()
    wire.time_left = by_the_clock(300)
    with pytest.raises(WireClosed):
        wire.receive()
