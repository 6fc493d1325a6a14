"""Does each assertion pass right results, and name the fault of wrong ones?"""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.testing import (
    CheckFailure,
    NextTokenTable,
    assert_close,
    assert_drops_like,
    assert_equal,
    assert_gradients,
    assert_keeps_inputs,
    assert_parameters,
    assert_raises,
    assert_shape,
    call_beside,
    call_strided,
    call_without_dropout,
    fix_weights,
    plain_sgd,
)

X = torch.arange(6.0).view(2, 3)
NAN = torch.tensor([1.0, torch.nan])


def failure(check, *args, **kwargs) -> CheckFailure:
    """Return the failure that a check raises."""
    with pytest.raises(CheckFailure) as caught:
        check(*args, **kwargs)
    return caught.value


class Mimic(torch.Tensor):
    """A tensor whose ``==`` is true in every entry, whatever the other is."""

    def __eq__(self, other):
        return torch.ones_like(self, dtype=torch.bool)

    __hash__ = torch.Tensor.__hash__


def test_failure_keeps_the_summary_apart_from_the_values():
    error = CheckFailure("wrong", detail="3 is not 4", hint="count again")
    assert (error.summary, error.detail, error.hint) == ("wrong", "3 is not 4", "count again")
    assert str(error) == "wrong\n3 is not 4\ncount again"
    assert str(CheckFailure("wrong")) == "wrong"
    assert isinstance(error, AssertionError)


# --- assert_shape --------------------------------------------------------------------------------


def test_right_shape_is_accepted_in_any_iterable():
    for shape in ((2, 3), [2, 3], iter([2, 3])):
        assert_shape(X, shape)
    assert_shape(torch.tensor(1.0), ())
    assert_shape(nn.Parameter(X), X.shape)


class StandIn:
    """Stands for a proxy of an object in another process, of the class ``MyLayer``."""

    __remote_type__ = "MyLayer"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (X.T, "has shape (3, 2), expected (2, 3)"),
        (X.flatten(), "has shape (6,), expected (2, 3)"),
        (X[..., None], "has shape (2, 3, 1), expected (2, 3)"),
        (None, "is of type NoneType, expected torch.Tensor"),
        ((X, X), "is of type tuple, expected torch.Tensor"),
        (X.numpy(), "is of type ndarray, expected torch.Tensor"),
        (X.as_subclass(Mimic), "is of type Mimic, expected torch.Tensor"),
        (StandIn(), "is of type MyLayer, expected torch.Tensor"),
    ],
)
def test_another_shape_or_type_is_named(value, fault):
    error = failure(assert_shape, value, (2, 3), what="the output", hint="look at the heads")
    assert error.summary == f"the output {fault}"
    assert value is None or error.hint == "look at the heads"


# --- assert_close --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_close_accepts_rounding_and_refuses_one_per_cent_more(dtype):
    expected = torch.linspace(0.5, 2, 7).to(dtype)
    assert_close(expected.clone(), expected)
    assert_close(expected * (1 + torch.finfo(dtype).eps), expected)
    error = failure(assert_close, expected * 1.05, expected)
    assert "7 of 7 entries differ" in error.summary


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8])
def test_close_is_exact_for_integers_and_booleans(dtype):
    expected = torch.tensor([0, 1, 1], dtype=dtype)
    assert_close(expected.clone(), expected)
    error = failure(assert_close, torch.tensor([0, 1, 0], dtype=dtype), expected)
    assert error.detail == "first at [2]: got 0, expected 1"
    large = torch.tensor([2**53])
    failure(assert_close, large + 1, large)


@pytest.mark.parametrize(
    ("actual", "expected", "summary", "detail"),
    [
        (
            torch.tensor([[0, 1, 7.5], [3, 4, 8]]),
            X,
            "result: 2 of 6 entries differ from the expected values",
            "first at [0, 2]: got 7.5, expected 2",
        ),
        (
            torch.tensor([[24.0]]),
            torch.tensor([[0.96]]),
            "result differs from the expected value",
            "got 24, expected 0.96",
        ),
        (X.double(), X, "result has dtype torch.float64, expected torch.float32", ""),
        (X.to("meta"), X, "result is on meta, expected cpu", ""),
        (torch.ones(3), torch.ones(2, 3), "result has shape (3,), expected (2, 3)", ""),
        (
            (X + 1).as_subclass(Mimic),
            X + 1,
            "result is of type Mimic, expected torch.Tensor",
            "",
        ),
        (NAN, torch.zeros(2), "result has 1 NaN entry where none belongs", ""),
        (NAN, NAN, "result has 1 NaN entry where none belongs", ""),
        (
            torch.tensor([1.0, torch.inf]),
            torch.tensor([1.0, 2.0]),
            "result has 1 infinite entry where none belongs",
            "",
        ),
        (
            torch.tensor([1.0, 2.0]),
            torch.tensor([1.0, -torch.inf]),
            "result: 1 of 2 entries differs from the expected values",
            "first at [1]: got 2, expected -inf",
        ),
        (
            torch.tensor([1.0, torch.inf]),
            torch.tensor([1.0, -torch.inf]),
            "result: 1 of 2 entries differs from the expected values",
            "first at [1]: got inf, expected -inf",
        ),
    ],
)
def test_close_names_the_difference_and_keeps_values_out_of_the_summary(
    actual, expected, summary, detail
):
    error = failure(assert_close, actual, expected)
    assert (error.summary, error.detail) == (summary, detail)


def test_close_takes_infinities_and_tensors_that_require_gradients():
    expected = torch.tensor([1.0, -torch.inf])
    assert_close(expected.clone(), expected)
    assert_close(X.clone().requires_grad_(), X)
    failure(assert_close, (X + 1).requires_grad_(), X)


# --- assert_keeps_inputs -------------------------------------------------------------------------


def test_keeps_inputs_accepts_calls_that_change_nothing():
    assert_keeps_inputs(lambda x, times, *, bias=None: x * times + bias, X, 3, bias=X)
    assert_keeps_inputs(lambda words: words.__setitem__(0, "".join("ab")), ["ab", object()])


def test_keeps_inputs_names_every_argument_that_changed_by_the_smallest_bit():
    def meddle(x, y, *, mask):
        y[1, 1] = torch.nextafter(y[1, 1], torch.tensor(torch.inf))
        mask.logical_not_()
        return x + y

    error = failure(assert_keeps_inputs, meddle, X, X + 1, mask=torch.ones(2, 3).bool())
    assert error.summary == "argument 2, mask changed in place"
    assert error.hint == "work on a copy"


@dataclasses.dataclass(frozen=True)
class Record:
    hidden: torch.Tensor
    words: list


@pytest.mark.parametrize(
    "meddle",
    [
        lambda words, nested, record: words.sort(),
        lambda words, nested, record: words.append("d"),
        lambda words, nested, record: nested[0].pop(),
        lambda words, nested, record: nested[1].zero_(),
        lambda words, nested, record: record.hidden.mul_(2),
        lambda words, nested, record: record.words.clear(),
    ],
)
def test_keeps_inputs_looks_into_lists_tuples_and_dataclasses(meddle):
    def given():
        return ["c", "a", "b"], ([1, 2], X.clone()), Record(X.clone(), ["a"])

    mine, untouched = given(), given()
    error = failure(assert_keeps_inputs, meddle, *mine)
    assert error.summary in [f"argument {number} changed in place" for number in (1, 2, 3)]
    assert_keeps_inputs(lambda *arguments: None, *mine)
    assert mine[:1] == untouched[:1]
    assert mine[1][0] == untouched[1][0]
    assert mine[2].words == ["a"]
    assert torch.equal(mine[1][1], X)
    assert torch.equal(mine[2].hidden, X)


def test_keeps_inputs_asks_a_proxy_which_inputs_changed():
    class Proxy:
        def __changed_inputs__(self, args, kwargs):
            return ["query"] if args == (1,) and kwargs == {"mask": 2} else []

    error = failure(assert_keeps_inputs, Proxy(), 1, mask=2)
    assert error.summary == "query changed in place"
    assert_keeps_inputs(Proxy(), 3)


# --- assert_equal --------------------------------------------------------------------------------


class Agreeable:
    """An object that equals everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (3, 3),
        (3, 3.0),
        (0.1 + 0.2, 0.3),
        (True, True),
        (None, None),
        ("the", "the"),
        ([1, 2], (1, 2)),
        (((), [0.5]), [[], (0.5,)]),
        ({("the", "cat"): 2}, {("the", "cat"): 2}),
        ({"a"}, {"a"}),
        (Counter("aa"), {"a": 2}),
        (np.float64(0.5), 0.5),
        (0.5, np.float64(0.5)),
        ([0.5], (np.float64(0.5),)),
        ([np.int64(2)], (2,)),
    ],
)
def test_equal_accepts_plain_values(actual, expected):
    assert_equal(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "summary"),
    [
        (True, False, "the count: yes, expected no"),
        (3.0, 3, "the count is of type float, expected int"),
        (np.float64(3), 3, "the count is of type float, expected int"),
        (True, 1, "the count is of type bool, expected int"),
        (1, True, "the count is of type int, expected bool"),
        (False, 0.0, "the count is of type bool, expected float"),
        (torch.tensor(1.0), 1.0, "the count is of type Tensor, expected float"),
        (Agreeable(), 1, "the count is of type Agreeable, expected int"),
        ((1,), {1}, "the count is of type tuple, expected set"),
        ("ab", ["a", "b"], "the count is of type str, expected list"),
        (0.3000001, 0.3, "the count differs from the expected value"),
        (math.nan, 0.3, "the count differs from the expected value"),
        (10**400, 0.3, "the count differs from the expected value"),
        ((1, 2, 3), (1, 2), "the count has 3 entries, expected 2"),
        ((1, Agreeable()), (1, 2), "the count differs from the expected value"),
        ({"a": 1}, {"b": 1}, "the count differs from the expected value"),
        ({"a": 1}, {"a": 2}, "the count differs from the expected value"),
        ({}, {"a": 2}, "the count has 0 entries, expected 1"),
        ([1], [1, 2], "the count has 1 entry, expected 2"),
    ],
)
def test_equal_names_the_difference(actual, expected, summary):
    error = failure(assert_equal, actual, expected, what="the count", hint="count again")
    assert (error.summary, error.hint) == (summary, "count again")


def test_equal_keeps_values_out_of_the_summary():
    error = failure(assert_equal, (1, 2), (1, 3))
    assert error.detail == "got (1, 2), expected (1, 3)"
    assert "3" not in error.summary


def test_equal_allows_each_float_in_a_container_what_it_allows_one():
    assert_equal([1.0, {"a": (2.0,)}], [1.001, {"a": (2.001,)}], rel_tol=1e-2)
    failure(assert_equal, [1.0, {"a": (2.0,)}], [1.001, {"a": (2.1,)}], rel_tol=1e-2)


def test_equal_cuts_long_values_short():
    many = [torch.rand(1000)] * 100_000  # each written out would take an hour and a gigabyte
    for wrong in (many, "x" * 10**6, [10**4000] * 9):
        assert len(failure(assert_equal, wrong, type(wrong)()).detail) < 2_500


# --- assert_raises -------------------------------------------------------------------------------


def test_raises_accepts_the_documented_error_and_its_subclasses():
    assert_raises(LookupError, {}.__getitem__, "a")
    assert_raises(ValueError, int, "g", base=16)


@pytest.mark.parametrize("error", [TypeError, RuntimeError])
def test_raises_lets_a_stub_say_that_it_is_not_written(error):
    def stub():
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        assert_raises(error, stub)


def test_raises_rejects_a_return_and_another_error():
    error = failure(assert_raises, ValueError, int, "1", hint="check the mask")
    assert error.summary == "the call should raise ValueError, but returned"
    assert error.hint == "check the mask"
    error = failure(assert_raises, TypeError, int, "a")
    assert error.summary == "the call should raise TypeError, but raised ValueError"


# --- call_beside ---------------------------------------------------------------------------------


@pytest.mark.parametrize("by_keyword", [False, True])
def test_call_beside_lets_a_proxy_run_the_function(by_keyword):
    class Proxy:
        def __call_beside__(self, function, args, kwargs):
            return function, args, kwargs

    proxy = Proxy()
    args, kwargs = ((1,), {"layer": proxy}) if by_keyword else ((1, proxy), {})
    assert call_beside(max, *args, **kwargs) == (max, args, kwargs)
    assert call_beside(sorted, [3, 1, 2], reverse=True) == [3, 2, 1]


# --- call_strided --------------------------------------------------------------------------------


def test_strided_tensors_hold_the_same_numbers_in_another_order():
    tensor = torch.arange(24.0).view(2, 3, 4)
    same, turned = call_strided(lambda *args: args, tensor[0, 0], tensor)
    assert torch.equal(same, tensor[0, 0])
    assert torch.equal(turned, tensor)
    assert not turned.is_contiguous()
    heads = torch.arange(120.0).view(2, 3, 4, 5)  # as split off from d_model
    strided = call_strided(lambda x, _: x, heads, 3, dims=(1, 2))
    assert torch.equal(strided, heads)
    assert strided.stride() == (60, 5, 15, 1)


# --- call_without_dropout ------------------------------------------------------------------------


def test_without_dropout_nothing_is_dropped_and_afterwards_it_is_again():
    layers = nn.Dropout(0.5), lambda x: F.dropout(x, p=0.9)
    ones = torch.ones(64)
    for layer in layers:
        assert torch.equal(call_without_dropout(layer, ones), ones)
        assert not torch.equal(layer(ones), ones)
    with pytest.raises(ZeroDivisionError):
        call_without_dropout(lambda: 1 / 0)
    assert not torch.equal(layers[0](ones), ones)


# --- layers whose weights and dropout are known --------------------------------------------------


def test_fixed_weights_depend_on_name_and_shape_alone():
    first, second = (fix_weights(nn.TransformerEncoderLayer(8, 2)) for _ in range(2))
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(first.norm1.weight, first.norm2.weight)
    assert first.norm1.weight.mean() > 0.5 > first.norm1.bias.mean()
    assert first.norm1.bias.any()


def test_drops_like_accepts_the_same_share_alone():
    x, layer = torch.ones(40, 40), nn.Sequential(nn.Linear(40, 40), nn.Dropout(0.5))
    fix_weights(layer)
    assert_drops_like(layer, layer, x)
    more = nn.Sequential(layer[0], nn.Dropout(0.6))
    assert "what dropout leaves" in failure(assert_drops_like, more, layer, x).summary
    none = nn.Sequential(layer[0], nn.Identity())
    assert "nothing is dropped" in failure(assert_drops_like, none, none, x).summary


def test_parameters_may_be_one_where_that_is_allowed():
    layer = nn.ModuleDict({"a": nn.Linear(3, 3, bias=False), "b": nn.Linear(3, 3, bias=False)})
    shapes = {"a.weight": (3, 3), "b.weight": (3, 3)}
    assert_parameters(layer, shapes)
    layer["b"].weight = layer["a"].weight
    assert_parameters(layer, shapes, may_share=1)
    assert "has 1 parameters" in failure(assert_parameters, layer, shapes).summary


def test_a_table_learns_by_plain_gradient_descent():
    model = NextTokenTable(3)
    src, tgt = torch.tensor([[1]]), torch.tensor([[1]])
    optimizer = plain_sgd(model)
    assert torch.equal(model(src, tgt), torch.zeros(1, 1, 3))
    F.cross_entropy(model(src, tgt)[0], torch.tensor([2])).backward()
    optimizer.step()
    expected = torch.tensor([-1 / 3, -1 / 3, 2 / 3])
    assert torch.allclose(model.after[1], expected)
    assert torch.allclose(model(src, tgt)[0, 0], 2 * expected)


class TwoProjections(nn.Module):
    """A layer with two projections; ``is_used`` is whether it uses the second."""

    def __init__(self, *, is_used: bool) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 3), nn.Linear(3, 3)
        self.is_used = is_used

    def forward(self, x):
        return self.outer(self.inner(x)) if self.is_used else self.inner(x)


def test_gradients_reach_all_parameters_or_the_failure_names_one():
    assert_gradients(TwoProjections(is_used=True), X)
    error = failure(assert_gradients, TwoProjections(is_used=False), X)
    assert error.summary == "no gradient flows back to outer.weight: it is not used"
