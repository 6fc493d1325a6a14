"""Does each check accept what is right, and refuse what is wrong with a message that names it?"""

import dataclasses
import math

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


def failure(check, *args, **kwargs) -> CheckFailure:
    with pytest.raises(CheckFailure) as caught:
        check(*args, **kwargs)
    return caught.value


class Mimic(torch.Tensor):
    """A tensor whose ``==`` is true in every entry, whatever the other is."""

    def __eq__(self, other):
        return torch.ones_like(self, dtype=torch.bool)

    __hash__ = torch.Tensor.__hash__


def test_failure_keeps_what_students_may_see_apart_from_the_values():
    error = CheckFailure("wrong", detail="3 is not 4", hint="count again")
    assert (error.summary, error.detail, error.hint) == ("wrong", "3 is not 4", "count again")
    assert str(error) == "wrong\n3 is not 4\ncount again"
    assert str(CheckFailure("wrong")) == "wrong"
    assert isinstance(error, AssertionError)


# --- assert_shape --------------------------------------------------------------------------------


def test_shape_accepts_the_right_shape_in_any_iterable():
    assert_shape(X, (2, 3))
    assert_shape(X, [2, 3])
    assert_shape(X, iter([2, 3]))
    assert_shape(torch.tensor(1.0), ())
    assert_shape(nn.Parameter(X), X.shape)


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), ()])
def test_shape_refuses_another_shape_and_names_both(shape):
    error = failure(assert_shape, X, shape, what="the output", hint="look at the heads")
    assert error.summary == f"the output has shape (2, 3), expected {shape}"
    assert error.hint == "look at the heads"


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "NoneType"), (X.tolist(), "list"), ((X, X), "tuple"), (X.numpy(), "ndarray")],
)
def test_shape_refuses_what_is_no_tensor_and_names_its_type(value, name):
    error = failure(assert_shape, value, (2, 3), what="the output")
    assert error.summary == f"the output is of type {name}, expected torch.Tensor"


def test_shape_refuses_a_subclass_of_tensor():
    assert "Mimic" in failure(assert_shape, X.as_subclass(Mimic), (2, 3)).summary


def test_shape_names_the_type_that_a_stand_in_stands_for():
    class StandIn:
        __remote_type__ = "MyLayer"

    assert "of type MyLayer" in failure(assert_shape, StandIn(), (2, 3)).summary


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
    assert "1 of 3 entries differs" in error.summary
    assert error.detail == "first at [2]: got 0, expected 1"


def test_close_compares_large_integers_exactly():
    expected = torch.tensor([2**53])
    assert_close(expected.clone(), expected)
    failure(assert_close, expected + 1, expected)


def test_close_says_where_and_how_much_but_not_in_the_summary():
    wrong = X.clone()
    wrong[0, 2], wrong[1, 2] = 7.5, 8
    error = failure(assert_close, wrong, X, what="the scores")
    assert error.summary == ("the scores: 2 of 6 entries differ from the expected values")
    assert error.detail == "first at [0, 2]: got 7.5, expected 2"


def test_close_takes_a_scalar():
    assert_close(torch.tensor(2.0), torch.tensor(2.0))
    error = failure(assert_close, torch.tensor(24.0), torch.tensor(0.96), what="the factor")
    assert error.summary == "the factor differs from the expected value"
    assert error.detail == "got 24, expected 0.96"
    assert "got 3" in failure(assert_close, torch.tensor(3.0), torch.tensor(2.0)).detail
    error = failure(assert_close, torch.tensor([[24.0]]), torch.tensor([[0.96]]), what="the factor")
    assert (error.summary, error.detail) == (
        "the factor differs from the expected value",
        "got 24, expected 0.96",
    )


def test_close_refuses_another_dtype_before_looking_at_values():
    error = failure(assert_close, X.double(), X)
    assert error.summary == "result has dtype torch.float64, expected torch.float32"


def test_close_refuses_another_device():
    error = failure(assert_close, X.to("meta"), X)
    assert error.summary == "result is on meta, expected cpu"


def test_close_refuses_another_shape_even_if_it_broadcasts():
    error = failure(assert_close, torch.ones(3), torch.ones(2, 3))
    assert error.summary == "result has shape (3,), expected (2, 3)"


@pytest.mark.parametrize(
    ("value", "name"), [(float("nan"), "NaN"), (float("inf"), "infinite"), (-float("inf"), "infin")]
)
def test_close_refuses_nan_and_infinities_by_name(value, name):
    wrong = X.clone()
    wrong[0, :2] = value
    assert f"2 {name}" in failure(assert_close, wrong, X).summary


def test_close_accepts_infinities_where_they_belong():
    expected = torch.tensor([1.0, -torch.inf])
    assert_close(expected.clone(), expected)
    error = failure(assert_close, torch.tensor([1.0, 2.0]), expected)
    assert "1 of 2 entries differs" in error.summary
    failure(assert_close, torch.tensor([1.0, torch.inf]), expected)


def test_close_refuses_nan_even_where_nan_is_what_was_computed_beside_it():
    error = failure(assert_close, torch.tensor([1.0, torch.nan]), torch.tensor([1.0, torch.nan]))
    assert error.summary == "result has 1 NaN entry where none belongs"


def test_close_refuses_a_tensor_that_answers_for_itself():
    mimic = (X + 1).as_subclass(Mimic)
    assert "of type Mimic" in failure(assert_close, mimic, X + 1).summary


def test_close_takes_tensors_that_require_gradients():
    assert_close(X.clone().requires_grad_(), X)
    failure(assert_close, (X + 1).requires_grad_(), X)


# --- assert_keeps_inputs -------------------------------------------------------------------------


def test_keeps_inputs_accepts_what_works_on_a_copy():
    assert_keeps_inputs(torch.add, X, X)
    assert_keeps_inputs(lambda x, times, *, bias=None: x * times + bias, X, 3, bias=X)


def test_keeps_inputs_names_every_argument_that_changed_by_the_smallest_bit():
    def meddle(x, y, *, mask):
        y[1, 1] = torch.nextafter(y[1, 1], torch.tensor(torch.inf))
        mask.logical_not_()
        return x + y

    mask = torch.ones(2, 3, dtype=torch.bool)
    error = failure(assert_keeps_inputs, meddle, X, X + 1, mask=mask)
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


def test_keeps_inputs_does_not_mind_an_equal_object_in_place_of_another():
    def renew(words):
        words[0] = "".join(["a", "b"])

    assert_keeps_inputs(renew, ["ab", object()])


def test_keeps_inputs_hands_out_clones():
    mine = X.clone()
    failure(assert_keeps_inputs, torch.Tensor.zero_, mine)
    assert torch.equal(mine, X)


def test_keeps_inputs_lets_a_stand_in_look_for_itself():
    class StandIn:
        def __changed_inputs__(self, args, kwargs):
            return ["query"] if args == (1,) and kwargs == {"mask": 2} else []

    error = failure(assert_keeps_inputs, StandIn(), 1, mask=2)
    assert error.summary == "query changed in place"
    assert_keeps_inputs(StandIn(), 3)


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
def test_equal_refuses_everything_else_and_says_how_it_differs(actual, expected, summary):
    error = failure(assert_equal, actual, expected, what="the count", hint="count again")
    assert (error.summary, error.hint) == (summary, "count again")


def test_equal_tells_values_apart_from_what_students_may_see():
    error = failure(assert_equal, (1, 2), (1, 3))
    assert error.detail == "got (1, 2), expected (1, 3)"
    assert "3" not in error.summary


def test_equal_allows_each_float_in_a_container_what_it_allows_one():
    assert_equal([1.0, {"a": (2.0,)}], [1.001, {"a": (2.001,)}], rel_tol=1e-2)
    with pytest.raises(CheckFailure):
        assert_equal([1.0, {"a": (2.0,)}], [1.001, {"a": (2.1,)}], rel_tol=1e-2)


# --- assert_raises -------------------------------------------------------------------------------


def test_raises_accepts_the_promised_error_and_its_subclasses():
    assert_raises(ValueError, int, "a")
    assert_raises(LookupError, {}.__getitem__, "a")
    assert_raises(ValueError, int, "g", base=16)


def test_raises_lets_a_stub_say_that_it_is_not_written():
    def stub():
        raise NotImplementedError

    for error in (TypeError, RuntimeError):
        with pytest.raises(NotImplementedError):
            assert_raises(error, stub)


def test_raises_refuses_a_return_and_another_error():
    returned = failure(assert_raises, ValueError, int, "1", hint="check the mask")
    assert returned.summary == "the call should raise ValueError, but returned"
    assert returned.hint == "check the mask"
    other = failure(assert_raises, TypeError, int, "a")
    assert other.summary == "the call should raise TypeError, but raised ValueError"


# --- call_beside ---------------------------------------------------------------------------------


def test_call_beside_is_a_plain_call_among_plain_objects():
    assert call_beside(sorted, [3, 1, 2], reverse=True) == [3, 2, 1]


@pytest.mark.parametrize("by_keyword", [False, True])
def test_call_beside_lets_an_object_that_lives_elsewhere_run_the_function(by_keyword):
    class Elsewhere:
        def __call_beside__(self, function, args, kwargs):
            return function, args, kwargs

    there = Elsewhere()
    args, kwargs = ((1,), {"layer": there}) if by_keyword else ((1, there), {})
    assert call_beside(max, *args, **kwargs) == (max, args, kwargs)


# --- call_strided --------------------------------------------------------------------------------


def test_strided_tensors_hold_the_same_numbers_in_another_order():
    tensor = torch.arange(24.0).view(2, 3, 4)
    seen = call_strided(lambda *args: args, tensor, tensor[0])
    for ours, theirs in zip((tensor, tensor[0]), seen, strict=True):
        assert torch.equal(ours, theirs)
        assert not theirs.is_contiguous()
    row, number = call_strided(lambda *args: args, tensor[0, 0], 3)
    assert torch.equal(row, tensor[0, 0])
    assert number == 3


def test_strided_tensors_may_lie_as_heads_do_that_were_split_off():
    heads = torch.arange(120.0).view(2, 3, 4, 5)
    strided = call_strided(lambda x: x, heads, dims=(1, 2))
    assert torch.equal(strided, heads)
    assert strided.stride() == (60, 5, 15, 1)


def test_a_value_that_fills_no_message():
    many = [torch.rand(1000)] * 100_000  # each written out would take an hour and a gigabyte
    for wrong in (many, "x" * 10**6, [10**4000] * 9):
        with pytest.raises(CheckFailure) as caught:
            assert_equal(wrong, type(wrong)())
        assert len(caught.value.detail) < 2_500


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


def test_named_parameters_depend_on_name_and_shape_alone():
    first, second = (fix_weights(nn.TransformerEncoderLayer(8, 2)) for _ in range(2))
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(first.norm1.weight, first.norm2.weight)
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
    """A layer with two projections; only the first is used if ``is_used`` is false."""

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
