"""Frames: what goes in comes out, and nothing malformed gets through."""

import json
import socket
import struct
import threading

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.sandbox.time_limit import by_the_clock
from autograder.sandbox.worker import wire as wire_module
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
def test_a_tensor_arrives_as_it_was(pair, tensor):
    wire, theirs = pair
    other = Wire(theirs)
    wire.send({"x": 1}, [tensor, tensor])
    message, tensors = other.receive()
    assert message == {"x": 1}
    for arrived in tensors:
        torch.testing.assert_close(arrived, tensor, rtol=0, atol=0, equal_nan=True)
        assert arrived.dtype == tensor.dtype


@pytest.mark.parametrize(
    "data",
    [
        frame(b"not json"),
        frame(b"[1, 2]"),
        frame(b"{}", b"not safetensors"),
        frame(b"{}", b"\xff" * 64),
        frame(b"[" * 100_000 + b"]" * 100_000),
        frame(b'{"a": ' + b"9" * 100_000 + b"}"),
        frame(b"{}", safetensors.torch.save({"misnamed": torch.ones(2)})),
        frame(b"\xff\xfe"),
        frame(b"{}", safetensors.torch.save({"0": torch.ones(0, 2**40)})),
        frame(b"{}", safetensors.torch.save({str(i): torch.ones(1) for i in range(20_000)})),
    ],
    ids=[
        "text",
        "list",
        "blob",
        "huge header",
        "deep",
        "long number",
        "misnamed",
        "not utf-8",
        "large and empty",
        "many",
    ],
)
def test_a_malformed_frame_is_refused(pair, data):
    wire, theirs = pair
    threading.Thread(target=theirs.sendall, args=(data,), daemon=True).start()
    with pytest.raises(WireError):
        wire.receive()


def test_who_sends_ahead_gains_no_time(pair):
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


def test_a_frame_that_claims_to_be_huge_is_refused_before_it_is_read(pair):
    wire, theirs = pair
    theirs.sendall(struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF))
    with pytest.raises(WireError, match="too large"):
        wire.receive()


def test_a_message_over_the_limit_is_not_sent(pair, monkeypatch):
    monkeypatch.setattr(wire_module, "MAX_TEXT_BYTES", 100)
    with pytest.raises(WireError, match="too large"):
        pair[0].send({"text": "x" * 200})


def test_an_expanded_tensor_is_measured_before_it_is_copied(pair):
    with pytest.raises(WireError, match="too large"):
        pair[0].send({}, [torch.zeros(1).expand(1 << 50)])


def test_a_frame_that_never_ends_meets_the_deadline(pair):
    wire, theirs = pair
    wire.time_left = by_the_clock(0.1)
    theirs.sendall(struct.pack(">II", 1000, 0) + b"{")
    with pytest.raises(TimeoutError):
        wire.receive()


def test_a_peer_that_reads_nothing_meets_the_deadline(pair):
    wire, _ = pair
    wire.time_left = by_the_clock(0.2)
    with pytest.raises(TimeoutError):
        wire.send({}, [torch.zeros(1 << 22)])


def test_a_closed_connection_is_told_from_a_malformed_one(pair):
    wire, theirs = pair
    theirs.close()
    with pytest.raises(WireClosed):
        wire.receive()


@settings(max_examples=300, deadline=None)
@given(text=st.binary(max_size=300), blob=st.binary(max_size=300))
def test_no_bytes_do_more_than_be_refused(text, blob):
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    wire.time_left = by_the_clock(300)
    with theirs:
        theirs.sendall(frame(text, blob))
        try:
            message, _ = wire.receive()
            assert message == json.loads(text)
        except WireError:
            pass
        finally:
            wire.close()
