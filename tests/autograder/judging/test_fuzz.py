"""Fuzzes notebooks and replies: the judge reads or rejects them, and continues.

CI tries 60 cases of each kind, the same each time; for others, and more of them:
``FUZZ_CASES=2000 pytest tests/autograder/judging/test_fuzz.py``.
"""

import contextlib
import json
import os
import socket
import struct

import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.homework_source.homework import CellKind
from autograder.judging.notebook_file import SubmissionError
from autograder.judging.submission import read_submission
from autograder.sandbox.time_limit import by_the_clock
from autograder.sandbox.worker.peer import Peer, RemoteError
from autograder.sandbox.worker.wire import Wire, WireClosed, WireError
from tests.autograder.conftest import DOUBLE, notebook

many = settings(
    max_examples=int(os.environ.get("FUZZ_CASES", "60")),
    deadline=None,
    derandomize="FUZZ_CASES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
)


def dictionaries(**fields):
    """Return a Hypothesis strategy for dictionaries with some of these keys.

    ``fields`` maps each key to the strategy of its value, which may also be anything else.
    """
    return st.fixed_dictionaries({}, optional={k: v | anything for k, v in fields.items()})


# ---- notebooks ----

names = st.sampled_from([cell.grade_id for cell in DOUBLE.cells])
nbgrader = dictionaries(
    grade_id=names, points=plain, schema_version=plain, solution=plain, locked=plain, task=plain
)
cells = dictionaries(
    cell_type=st.sampled_from(["code", "markdown", "raw"]),
    source=st.text(max_size=40) | st.lists(st.text(max_size=10), max_size=3),
    metadata=dictionaries(nbgrader=nbgrader, tags=st.lists(plain, max_size=3)),
    outputs=anything,
    id=plain,
)
notebooks = dictionaries(
    cells=st.lists(cells | anything, max_size=8), nbformat=plain, metadata=anything
)


def check_reading(data: bytes) -> None:
    try:
        submission = read_submission(data, DOUBLE)
        answers = submission.answers
    except SubmissionError:
        return
    official = [step.label for step in submission.steps if step.cell]
    assert official == [c.grade_id for c in DOUBLE.cells if c.kind is not CellKind.WRITTEN]
    for step in submission.steps:
        assert step.kind is CellKind.SOLUTION or step.source == step.cell.source
        step.source.encode()
    assert set(answers) <= {"why"}
    for flag in submission.flags:
        f"{flag.text} {flag.where}".encode()


@many
@given(notebooks | anything)
def test_any_json_is_read_or_rejected(data):
    check_reading(json.dumps(data).encode())


@many
@given(st.data())
def test_damaged_notebook_is_read_or_rejected(data):
    whole = notebook(("double", "def double(x):\n    return 2 * x"), "a = 1", points=2)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 20)))
    check_reading(whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:])


# ---- replies ----

numbers = st.integers(0, 2) | st.integers(-2, 5) | st.integers()
words = st.sampled_from(["float32", "cpu", "cuda", "meta", "leaf", "os:system", "__class__", "x"])
either = numbers | words | plain


def codes(inner):
    """Return a strategy for JSON of containers as workers send them, some invalid.

    ``inner`` is the strategy of the containers' items.
    """
    lists = st.lists(inner, max_size=3)
    return st.one_of(
        lists,
        *(st.fixed_dictionaries({kind: lists}) for kind in ("tuple", "set", "frozenset", "Size")),
        st.fixed_dictionaries({"dict": st.lists(st.tuples(inner, inner), max_size=3)}),
        st.fixed_dictionaries({"slice": st.lists(inner, min_size=3, max_size=3)}),
        st.fixed_dictionaries({"dict": inner}) | st.fixed_dictionaries({"tuple": inner}),
        st.fixed_dictionaries({"record": words | inner, "fields": inner}),
        st.dictionaries(words, inner, max_size=3),
    )


tensors = st.fixed_dictionaries(
    {"tensor": numbers},
    optional={"device": words, "grad": words, "parameter": plain, "grad_of": either},
)
leaves = st.one_of(
    either,
    tensors,
    *(st.fixed_dictionaries({kind: either}) for kind in ("numpy", "dtype", "device", "yours")),
    st.fixed_dictionaries({"reference": numbers, "type": words}),
    st.fixed_dictionaries({"generator": numbers, "device": words}),
    st.just({"ellipsis": True}),
)
values = st.recursive(leaves, codes, max_leaves=8)
texts = dict.fromkeys(("type_name", "message", "traceback"), st.text(max_size=9) | plain)
messages = st.one_of(
    st.fixed_dictionaries({"reply": st.just(1), "value": values}),
    st.fixed_dictionaries(
        {"reply": st.just(1), "value": values, "outputs": st.lists(numbers, max_size=3) | values},
        optional={"backward": st.just({"reference": 3, "type": "Backward"}) | values},
    ),
    st.fixed_dictionaries(
        {"reply": st.just(1), "error": st.fixed_dictionaries(texts, optional={"bases": values})}
    ),
    st.fixed_dictionaries(
        {
            "call": numbers,
            "target": st.just({"yours": 1}) | values,
            "args": st.fixed_dictionaries({"tuple": st.lists(values, max_size=2)}) | values,
            "kwargs": st.just({"dict": []}) | values,
            "grad": plain,
        }
    ),
    anything,
)
BLOB = safetensors.torch.save({"0": torch.ones(2, 3), "1": torch.zeros(2), "2": torch.ones(())})
blobs = st.just(BLOB) | st.sampled_from([b"", BLOB[:-1], BLOB[:20]]) | st.binary(max_size=60)
extras = st.just({}) | st.fixed_dictionaries({"released": st.lists(numbers, max_size=3) | values})


def framed(message, extra, blob):
    message = message | extra if isinstance(message, dict) else message
    text = json.dumps(message).encode()
    return struct.pack(">II", len(text), len(blob)) + text + blob


frames = st.builds(framed, messages, extras, blobs)


@many
@given(st.lists(frames, min_size=1, max_size=4) | st.lists(st.binary(max_size=40)))
def test_any_bytes_are_a_reply_or_close_the_connection(sent):
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b"".join(sent))
        theirs.shutdown(socket.SHUT_WR)
        peer = Peer(Wire(ours), describe_error=lambda error: {})
        peer.wire.time_left = by_the_clock(300)
        x = torch.ones(2, 3, requires_grad=True)
        with contextlib.suppress(RemoteError, WireError, WireClosed):
            found = peer.call("some:function", (x, len, [x]))
            if isinstance(found, torch.Tensor) and found.requires_grad:
                with contextlib.suppress(RuntimeError, TypeError):
                    found.sum().backward()
        peer.wire.close()
