"""Calls and gradients across the wire, between two threads that share nothing but a socket."""

import contextlib
import functools
import socket
import threading
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch
from torch import nn

from autograder.sandbox.time_limit import by_the_clock
from autograder.sandbox.worker.gradients import ReceivedTensors
from autograder.sandbox.worker.peer import (
    MAX_BROUGHT,
    MAX_RETURNED,
    Peer,
    Proxy,
    RemoteError,
    peer_of,
)
from autograder.sandbox.worker.wire import Wire, WireClosed, WireError
from course_lib.metrics.bleu_statistics import BLEUStatistics

OBJECTS = []


def last_object():
    """Return the last of OBJECTS; the peer thread calls this function by name, to export it."""
    return OBJECTS[-1]


def describe(error):
    return {
        "type_name": type(error).__name__,
        "bases": [c.__name__ for c in type(error).__mro__],
        "message": str(error),
        "traceback": "",
    }


@pytest.fixture
def remote():
    """Yield a function that makes the peer thread export an object, and returns our proxy of it."""
    ours, theirs = socket.socketpair()
    server = Peer(Wire(theirs), describe_error=describe, is_asked_by_name=True)

    def serve():
        with contextlib.suppress(WireClosed):
            server.serve()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    peer = Peer(Wire(ours), describe_error=describe)
    peer.wire.time_left = by_the_clock(300)
    peer.server = server
    yield lambda thing: over(peer, thing)
    OBJECTS.clear()
    peer.wire.close()
    thread.join(5)


def over(peer, thing):
    OBJECTS.append(thing)
    return peer.call(f"{last_object.__module__}:last_object")


VALUES = [
    None, True, 7, -(2**70), 1.5, "text", "\ud800", [], [1, [2]], (1, "a"), {1, 2},
    frozenset({3}), {"a": 1, 2: [3.0]}, torch.float32, torch.device("cpu"), torch.Size([2, 3]),
    slice(1, None, 2), ...,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_value_keeps_its_exact_type(remote, value):
    arrived = remote(lambda x: x)(value)
    assert arrived == value
    assert type(arrived) is type(value)


def test_numpy_array_crosses(remote):
    array = np.arange(6, dtype=np.float64).reshape(2, 3)
    arrived = remote(lambda x: x)(array)
    assert isinstance(arrived, np.ndarray)
    np.testing.assert_array_equal(arrived, array)
    assert remote(lambda: np.float64(1.5))() == 1.5


def test_generator_crosses_as_a_copy_in_the_same_state(remote):
    generator = torch.Generator().manual_seed(3)
    twin = torch.Generator().manual_seed(3)
    draw = remote(lambda g: (torch.rand(4, generator=g), torch.rand(4, generator=g)))
    first, second = draw(generator)
    assert torch.equal(first, torch.rand(4, generator=twin))
    assert torch.equal(second, torch.rand(4, generator=twin))


def test_generator_moves_on_with_each_call_and_the_other_side_cannot_rewind_it(remote):
    def rewind(g):
        number = torch.rand((), generator=g)
        g.manual_seed(0)
        return number

    generator = torch.Generator().manual_seed(3)
    assert len({float(remote(rewind)(generator)) for _ in range(5)}) == 5


def test_iterators_arrive_as_lists(remote):
    assert remote(lambda: (i * i for i in range(4)))() == [0, 1, 4, 9]
    assert remote(lambda: OrderedDict(a=1).items())() == [("a", 1)]


Pair = namedtuple("Pair", "left right")


def test_object_crosses_as_a_proxy(remote):
    class Thing(list):
        left = (3, 4)

    thing = remote(lambda: Thing([torch.ones(2), 4]))()
    assert type(thing) is Proxy
    assert thing.left == (3, 4)
    assert thing[1] == 4
    assert len(thing) == 2
    assert [type(item) for item in thing] == [torch.Tensor, int]


def test_named_tuple_is_a_tuple_here_and_comes_home_unchanged(remote):
    pair = remote(lambda: Pair(torch.ones(2), {"x": 3}))()
    assert isinstance(pair, tuple)
    assert pair.__remote_type__ == "Pair"
    assert torch.equal(pair.left, torch.ones(2))
    assert pair.right == pair[1] == {"x": 3}
    assert pair._replace(right=5).right == 5
    assert remote(lambda x: (type(x) is Pair, x.right))(pair) == (True, {"x": 3})
    assert remote(lambda xs: type(xs[0]) is Pair)([pair])
    highest = remote(lambda: torch.tensor([3, 5]).max(dim=0))()
    assert tuple(map(int, highest)) == (5, 1)
    assert int(remote(lambda x: x.indices)(highest)) == 1


def test_gradients_flow_through_a_named_tuple(remote):
    x = torch.randn(3, requires_grad=True)
    pair = remote(lambda x: Pair(x.sin(), x.cos()))(x)
    (pair.left * 2 + remote(lambda pair: pair.right + pair.left)(pair)).sum().backward()
    torch.testing.assert_close(x.grad, 3 * x.detach().cos() - x.detach().sin())


def test_frozen_dataclass_is_made_again_by_the_worker(remote):
    record = BLEUStatistics(matches=(2, 1), totals=(3, 2), candidate_length=3, reference_length=4)
    kept = []
    remote(kept.append)(record)
    assert kept == [record]
    assert kept[0] is not record
    nested = remote(lambda x: [(type(one), one.totals) for one in x])([record, record])
    assert [totals for _, totals in nested] == [(3, 2), (3, 2)]


class AlwaysEqual(torch.Tensor):
    def __eq__(self, other):
        return True

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True


def test_tensor_subclass_crosses_as_a_proxy(remote):
    arrived = remote(lambda: torch.zeros(2).as_subclass(AlwaysEqual))()
    assert type(arrived) is Proxy
    assert (arrived == torch.zeros(2)) is False


def test_tensor_given_twice_stays_one_tensor(remote):
    x = torch.ones(2)
    assert remote(lambda a, b, c: a is b and a is c[0])(x, x, [x])


def test_callbacks_run_here(remote):
    seen = []

    def double(x):
        seen.append(x)
        return 2 * x

    assert remote(lambda f, x: f(f(x)))(double, 3) == 12
    assert seen == [3, 6]


def test_worker_cannot_call_functions_by_name(remote):
    thing = remote(lambda: None)
    server = peer_of(thing).server

    def attack(callback):
        return server.call("os:getcwd")

    with pytest.raises(RemoteError, match="only objects that were handed over"):
        over(peer_of(thing), attack)(lambda: None)


@pytest.mark.parametrize("look", ["x.size", "x[0]", "len(x)", "list(x)"])
def test_worker_cannot_read_attributes_of_a_proxy(remote, look):
    with pytest.raises(RemoteError, match="only call the functions that a test hands"):
        remote(lambda x: eval(look))(torch.nn.Linear(1, 1))
    assert remote(lambda x: hasattr(x, "size"))(torch.nn.Linear(1, 1)) is False


FLOODS = {
    "many entries": lambda: torch.zeros(MAX_RETURNED + 1, 1, 1, dtype=torch.bool),
    "many rows": lambda: torch.zeros(MAX_RETURNED + 1, 0),
    "one tensor many times": lambda: [torch.zeros(MAX_RETURNED // 8)] * 9,
}


@pytest.mark.parametrize("name", FLOODS)
def test_result_with_very_many_entries_is_rejected(remote, name):
    with pytest.raises(WireError, match="brought over"):
        remote(FLOODS[name])()


def test_callback_with_very_many_entries_is_rejected(remote):
    bring = remote(lambda callback, rows: callback(torch.empty(rows, 0)))
    assert bring(len, MAX_BROUGHT) == MAX_BROUGHT
    with pytest.raises(RemoteError, match="brought over"):
        bring(len, MAX_BROUGHT + 1)


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError, NotImplementedError])
def test_exception_keeps_its_builtin_type(remote, error):
    class Special(error):
        pass

    def fail():
        raise Special("because")

    with pytest.raises(error) as caught:
        remote(fail)()
    assert isinstance(caught.value, RemoteError)
    assert caught.value.type_name == "Special"
    assert "because" in caught.value.message


@pytest.mark.parametrize("value", [10**5000, np.longdouble(1)], ids=["digits", "longdouble"])
def test_value_that_cannot_be_sent_ends_one_call(remote, value):
    with pytest.raises(RemoteError, match="a value can't be sent"):
        remote(lambda: value)()
    assert remote(lambda: 1)() == 1


def test_gradients_flow_through_a_call(remote):
    f = remote(lambda x, y: (torch.sin(x) * y, [x.detach(), {"y": y.sum()}]))
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: f(x, y)[0], (x, y))
    out, (detached, rest) = f(x * 1.0, y)
    (out.sum() + rest["y"]).backward()
    torch.testing.assert_close(x.grad, torch.cos(x.detach()) * y.detach())
    torch.testing.assert_close(y.grad, torch.sin(x.detach()) + 1)
    assert not detached.requires_grad
    returned = torch.ones(3, requires_grad=True)
    remote(lambda z: z)(returned).sum().backward()
    assert torch.equal(returned.grad, torch.ones(3))


def test_gradients_flow_through_callbacks_whose_results_are_changed_in_place(remote):
    def halve(f, x):
        first, second = f(x)
        first += x
        second[0] = 0.0
        return first + second

    x = torch.randn(4, requires_grad=True)
    remote(halve)(lambda t: (t**3, t.sin()), x).sum().backward()
    expected = 1 + 3 * x.detach() ** 2 + x.detach().cos() * torch.tensor([0.0, 1.0, 1.0, 1.0])
    torch.testing.assert_close(x.grad, expected)


def test_parameters_collect_gradients_in_the_worker(remote):
    layer = remote(nn.Linear)(3, 2)
    reference = nn.Linear(3, 2)
    layer.load_state_dict(reference.state_dict())
    x = torch.randn(5, 3)
    layer(x).square().sum().backward()
    reference(x).square().sum().backward()
    torch.testing.assert_close(layer.weight.grad, reference.weight.grad)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert layer.train(False).training is False
    assert type(layer.weight) is nn.Parameter


def test_library_functions_run_beside_the_objects(remote):
    from course_lib.testing import assert_keeps_inputs, call_beside

    layer = remote(nn.Linear)(2, 2)
    assert call_beside(torch.nn.utils.parameters_to_vector, layer.parameters()).shape == (6,)
    assert_keeps_inputs(remote(lambda t: t + 1), torch.ones(2))
    with pytest.raises(AssertionError, match="argument 1 changed"):
        assert_keeps_inputs(remote(lambda t: t.add_(1)), torch.ones(2))


def test_references_are_released(remote):
    f = remote(lambda: object())
    server = peer_of(f).server
    for _ in range(50):
        f()
    assert len(server._exports) < 5


def holds_itself():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    "make",
    [
        holds_itself,
        lambda: list(range(200_000)),
        lambda: functools.reduce(lambda inner, _: [inner], range(100), []),
    ],
    ids=["endless", "long", "deep"],
)
def test_endless_long_or_deep_value_is_an_error(remote, make):
    with pytest.raises(RemoteError):
        remote(make)()
    assert remote(lambda: 1)() == 1


def peer_that_receives(reply, tensors=()):
    """Return a peer that receives one message: ``reply``, with its ``tensors``."""
    ours, theirs = socket.socketpair()
    peer = Peer(Wire(ours), describe_error=describe)
    peer.wire.time_left = by_the_clock(300)
    send = threading.Thread(target=Wire(theirs).send, args=(reply, tensors), daemon=True)
    send.start()  # more than a socket holds must be read while it is sent
    return peer


@pytest.mark.parametrize(
    "reply",
    [
        {"reply": 999, "value": 1},
        {"nothing": 1},
        {"reply": 1, "value": {"tensor": 5}},
        {"reply": 1, "value": {"unknown": 5}},
        {"reply": 1, "value": {"reference": "x", "type": 3}},
        {"reply": 1, "value": {"dtype": "__class__"}},
        {"reply": 1, "value": {"dict": [[[], 1]]}},
        {"reply": 1, "value": {"device": "nowhere"}},
        {"reply": 1, "value": {"generator": 0, "device": "cpu"}},
        {"reply": 1, "value": {"generator": 0, "device": "nowhere"}},
        {"reply": 1, "value": {"tensor": 0, "device": "meta"}},
        {"reply": 1, "error": "oops"},
        {"reply": 1, "error": {"type_name": 1}},
        {"reply": 1, "value": 1, "released": 5},
        *(
            {"reply": 1, "value": 1, "backward": {"reference": 1, "type": "B"}, "outputs": outputs}
            for outputs in (
                [9],
                [None],
                [[]],
                [{"tensor": "x"}],
                [{"tensor": 9}],
                [{"device": "cuda"}],
                [{"tensor": 0, "device": 2**70}],
                [{"tensor": 0, "device": "nowhere"}],
                [{"tensor": 0}] * 3,
                [{"tensor": 1}] * 3,
            )
        ),
        {"reply": 1, "value": 1, "released": [[]]},
        {"reply": 1, "value": {"record": {"yours": 1}, "fields": []}},
        {"reply": 1, "value": {"set": [i * (2**61 - 1) for i in range(20_001)]}},
        {"reply": 1, "value": {"dict": [[i * (2**61 - 1), 0] for i in range(20_001)]}},
        {"reply": 1, "value": {"yours": 77}},
        {"reply": 1, "value": {"yours": 77, "named": [1]}},
        {"reply": 1, "value": {"reference": 1, "type": "Pair", "named": 5, "names": []}},
        {"reply": 1, "value": {"reference": 1, "type": "Pair", "named": [1], "names": [2]}},
        {"reply": 1, "value": {"reference": 1, "type": "Pair", "named": [1]}},
        {"reply": 1, "value": {"record": "course_lib:Room", "fields": [["module", 1]]}},
        {"reply": 1, "value": {"record": "os:system", "fields": [["command", "true"]]}},
    ],
    ids=lambda reply: str(reply)[:80],
)
def test_forged_reply_is_rejected(reply):
    peer = peer_that_receives(reply, [torch.ones(1), *[torch.ones(MAX_RETURNED // 2)] * 2])
    with pytest.raises(WireError):
        peer.call("builtins:len", ([],))
    assert isinstance(peer.failure, WireError)
    assert peer.failure.__traceback__ is None  # else all that a check has computed stays with it


def test_texts_of_an_error_are_cut():
    error = dict.fromkeys(("type_name", "message", "traceback"), "x" * 100_000)
    with pytest.raises(RemoteError) as caught:
        peer_that_receives({"reply": 1, "error": error}).call("builtins:len", ([],))
    texts = (caught.value.type_name, caught.value.message, caught.value.traceback)
    assert [len(text) for text in texts] == [100, 2_000, 6_000]


def test_result_returns_to_the_gpu_that_it_came_from(monkeypatch):
    """Tensors are sent from the CPU, also those that have gradients, and put on their GPU again."""
    moved = []
    monkeypatch.setattr(torch.Tensor, "to", lambda self, device: moved.append(device) or self)
    received = ReceivedTensors([torch.ones(2)], None, as_leaves=False)
    code = {"tensor": 0, "device": "cuda:1", "grad": "node"}
    received.attach_gradient([code], lambda gradients: [], [])
    assert moved == [torch.device("cuda:1")]
    assert received(code).requires_grad
