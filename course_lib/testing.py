"""Assertions on tensors and layers: for homework tests, visible and hidden, and the library's own.

An assertion that fails raises ``CheckFailure``. Its ``summary`` names the problem in words, shapes
and dtypes alone, so that it may be shown to a student whose test is hidden; ``detail`` adds values.
In most assertions ``actual`` is the result of the code under test, ``expected`` the right result,
``what`` a name of the result for the message, and ``hint`` a likely cause of a difference.

A homework's tests use ``assert_close``, ``assert_equal``, ``assert_shape``, ``assert_raises``,
``assert_keeps_inputs``, ``assert_gradients`` and ``assert_parameters``; ``load_parameters`` gives a
layer known weights.
"""

import contextlib
import dataclasses
import math
import reprlib
import sys
import traceback
import zlib
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Relative and absolute. Looser than rounding (a student may sum in another order, or store a
# constant in float32), far tighter than the smallest mistake that a test must find.
_TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-6, 1e-8),
    torch.float32: (1e-4, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float16: (1e-3, 1e-3),
}

_TENSORS = (Tensor, torch.nn.Parameter)

_BRIEF = reprlib.Repr()  # a list may hold one tensor a hundred thousand times
_BRIEF.maxlevel, _BRIEF.maxother, _BRIEF.maxstring = 2, 60, 400
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxset = _BRIEF.maxdict = 24


class CheckFailure(AssertionError):  # noqa: N818 -- a failed check is no error of the program
    """A failed check.

    Attributes:
        summary: The fault, without any value of a tensor.
        named: The class in the summary whose name the code under test chose; empty if none is.
        detail: The position of the fault, with values; empty if there is nothing to add.
        hint: A likely cause; empty if the check knows none.
        read: The chapter to read, shown in a notebook; empty for none.
    """

    read = ""

    def __init__(self, summary: str, *, detail: str = "", hint: str = "", named: str = "") -> None:
        super().__init__("\n".join(part for part in (summary, detail, hint) if part))
        self.summary = summary
        self.detail = detail
        self.hint = hint
        self.named = named

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: the fault first, no frames of this module."""
        parts = [self.summary, self.detail, self.hint and f"Hint: {self.hint}"]
        frames = traceback.extract_tb(self.__traceback__)
        for frame in frames:
            if frame.name == "<module>":  # the notebook cell
                whole = f": {frame.line}" if (frame.line or "(").endswith(")") else ""
                parts.append(f"(line {frame.lineno} of this cell{whole})")
        parts.append(self.read and f"Read: {self.read}")
        return [part for part in parts if part]


Observer = Callable[[Any, CheckFailure | None], None]
"""Called for each assertion with the value that it checked, and its failure or None."""

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)
_of_notebook: list[Observer] = []  # at most one: the default observer


def observe_notebook(observer: Observer) -> None:
    """Report all later assertions of this process to an observer, in place of an earlier one."""
    _of_notebook[:] = [observer]


@contextlib.contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Report assertions in a ``with`` block to an observer, which may raise their failures."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def _conclude(seen: Any, check: Callable[[], None]) -> None:
    """Run a check of the value ``seen``; report value and failure to the observer, if any."""
    observer = _observer.get() or next(iter(_of_notebook), None)
    if observer is None:
        check()
        return
    failure = None
    try:
        check()
    except CheckFailure as raised:
        failure = raised
    observer(seen, failure)


def assert_shape(
    actual: Any, shape: Iterable[int], *, what: str = "result", hint: str = ""
) -> None:
    """Check that ``actual`` is a ``torch.Tensor``, not of a subclass, of exactly this shape.

    ``what`` names the value in the message of a failure, ``hint`` is added to it.
    """
    expected = tuple(shape)
    seen = tuple(actual.shape) if type(actual) in _TENSORS else actual
    _conclude(seen, lambda: _check_shape(actual, expected, what, hint))


def _check_shape(actual: Any, expected: tuple[int, ...], what: str, hint: str) -> None:
    _assert_tensor(actual, what, hint)
    if tuple(actual.shape) != expected:
        raise CheckFailure(
            f"{what} has shape {tuple(actual.shape)}, expected {expected}", hint=hint
        )


def assert_close(actual: Any, expected: Tensor, *, what: str = "result", hint: str = "") -> None:
    """Check that ``actual`` equals ``expected``: type, shape, dtype, finiteness, then values.

    NaN fails, even if the expected value is NaN because the code under test computed it. ``what``
    names the value in the message of a failure, ``hint`` is added to it.
    """
    _conclude(actual, lambda: _check_close(actual, expected, what, hint))


def _check_close(actual: Any, expected: Tensor, what: str, hint: str) -> None:
    is_close = type(actual) in _TENSORS and _close(actual, expected)
    if is_close and not (expected.is_floating_point() and actual.isnan().any()):
        return
    _check_shape(actual, tuple(expected.shape), what, hint)
    if actual.dtype != expected.dtype:
        raise CheckFailure(f"{what} has dtype {actual.dtype}, expected {expected.dtype}", hint=hint)
    if actual.device != expected.device:
        raise CheckFailure(f"{what} is on {actual.device}, expected {expected.device}", hint=hint)
    _assert_finite_where(actual, expected, what, hint)
    differs = ~_elementwise_close(actual, expected)
    where = tuple(int(i) for i in differs.nonzero()[0])
    numbers = f"got {actual[where].item():.6g}, expected {expected[where].item():.6g}"
    if differs.numel() == 1:
        raise CheckFailure(f"{what} differs from the expected value", detail=numbers, hint=hint)
    count = int(differs.sum())
    verb = "differs" if count == 1 else "differ"
    raise CheckFailure(
        f"{what}: {count} of {differs.numel()} entries {verb} from the expected values",
        detail=f"first at {list(where)}: {numbers}",
        hint=hint,
    )


def assert_equal(
    actual: Any,
    expected: Any,
    *,
    what: str = "result",
    hint: str = "",
    rel_tol: float = 2e-7,
) -> None:
    """Check that a plain value equals the expected one: numbers, strings, and containers of them.

    ``expected`` is None, a bool, int, float or str, or a list, tuple, dict or set of these. A list
    equals a tuple with the same entries, an int an equal float, a NumPy number the Python number, a
    Counter a dict. Floats may differ by the relative tolerance ``rel_tol``. Nothing else is equal:
    True differs from 1. ``what`` and ``hint`` are those of ``assert_close``.
    """
    actual, expected = _as_plain(actual), _as_plain(expected)
    _conclude(actual, lambda: _check_equal(actual, expected, what, hint, rel_tol))


def _check_equal(actual: Any, expected: Any, what: str, hint: str, rel_tol: float) -> None:
    if _equal(actual, expected, rel_tol):
        return
    if type(actual) not in _plain_types(expected):
        name = _type_name(actual)
        summary = f"{what} is of type {name}, expected {type(expected).__name__}"
        raise CheckFailure(summary, named=name, hint=hint)
    if isinstance(expected, bool):
        got, wanted = ("yes", "no") if actual else ("no", "yes")
        raise CheckFailure(f"{what}: {got}, expected {wanted}", hint=hint)
    if isinstance(expected, list | tuple | dict | set) and len(actual) != len(expected):
        summary = f"{what} has {_entries(len(actual))}, expected {len(expected)}"
    else:
        summary = f"{what} differs from the expected value"
    got, wanted = _BRIEF.repr(actual), _BRIEF.repr(expected)
    raise CheckFailure(summary, detail=f"got {got}, expected {wanted}", hint=hint)


def assert_keeps_inputs(
    function: Callable[..., Any], *args: Any, hint: str = "work on a copy", **kwargs: Any
) -> None:
    """Check that a call does not change its arguments, of which it gets copies.

    Tensors are compared bit for bit, also within lists, tuples and dataclasses.
    """
    inspect = getattr(type(function), "__changed_inputs__", changed_inputs)
    changed = inspect(function, args, kwargs)

    def check() -> None:
        if changed:
            raise CheckFailure(f"{', '.join(changed)} changed in place", hint=hint)

    _conclude(changed, check)


def changed_inputs(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[str]:
    """Call a function on copies of its arguments and return the names of those that it changes.

    Tensors, lists, tuples and dataclasses are copied with all their contents. A positional argument
    is named ``argument 1``, ``argument 2``, ..., another one by its keyword.
    """
    given = [*((f"argument {i}", arg) for i, arg in enumerate(args, start=1)), *kwargs.items()]
    copies = [_copy(value) for _, value in given]
    function(*copies[: len(args)], **dict(zip(kwargs, copies[len(args) :], strict=True)))
    return [
        name
        for (name, value), copy in zip(given, copies, strict=True)
        if not _unchanged(copy, value)
    ]


def _copy(value: Any) -> Any:
    """Return a deep copy of tensors, lists, tuples and dataclasses; other values as they are."""
    if isinstance(value, Tensor):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(map(_copy, value))
    if _is_record(value):
        return type(value)(**{name: _copy(part) for name, part in vars(value).items()})
    return value


def _unchanged(copy: Any, value: Any) -> bool:
    """Return whether a copy made by ``_copy`` still equals its original."""
    if isinstance(value, Tensor):
        return torch.equal(value, copy)
    if type(value) in (list, tuple):
        return len(copy) == len(value) and all(map(_unchanged, copy, value))
    if _is_record(value):
        return all(map(_unchanged, vars(copy).values(), vars(value).values()))
    return copy is value or _equal(copy, value)


def _is_record(value: Any) -> bool:
    """Return whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def assert_raises(
    error: type[Exception], function: Callable[..., Any], *args: Any, hint: str = "", **kwargs: Any
) -> None:
    """Check that a call raises ``error``, as the function's docstring documents.

    NotImplementedError, which an unwritten exercise raises, passes through.
    """
    raised, cause, is_documented = "", None, False
    try:
        function(*args, **kwargs)
    except NotImplementedError:  # a subclass of RuntimeError, raised by unwritten exercises
        raise
    except error:
        is_documented = True
    except Exception as other:
        raised, cause = _name_of(other), other

    def check() -> None:
        if not is_documented:
            came = f"but raised {raised}" if raised else "but returned"
            words = f"the call should raise {error.__name__}, {came}"
            raise CheckFailure(words, named=raised, hint=hint) from cause

    _conclude(error.__name__ if is_documented else raised, check)


def _name_of(error: BaseException) -> str:
    """Return the name of an error's class, or of the remote class that a proxy stands for."""
    return str(getattr(error, "type_name", type(error).__name__))


def assert_matches(
    function: Callable[..., Any], reference: Callable[..., Any], *args: Any, **kwargs: Any
) -> None:
    """Check that a function and a reference return the same for copies of the same arguments.

    The reference returns a tensor, a plain value or a tuple of these.
    """
    expected = reference(*map(_copy, args), **kwargs)
    actual = function(*map(_copy, args), **kwargs)
    if not isinstance(expected, tuple):
        assert_equal_or_close(actual, expected)
        return
    is_alike = isinstance(actual, list | tuple) and len(actual) == len(expected)

    def check() -> None:
        if not is_alike:
            name = f"of type {_type_name(actual)}"
            came = f"{len(actual)} parts" if isinstance(actual, list | tuple) else name
            raise CheckFailure(f"result is {came}, expected {len(expected)} parts")

    if not is_alike:
        _conclude(actual, check)
        return
    for number, (part, right) in enumerate(zip(actual, expected, strict=True), start=1):
        assert_equal_or_close(part, right, what=f"part {number} of the result")


def assert_equal_or_close(actual: Any, expected: Any, *, what: str = "result") -> None:
    """Check a tensor with ``assert_close``, anything else with ``assert_equal``."""
    check: Callable[..., None] = assert_close if isinstance(expected, Tensor) else assert_equal
    check(actual, expected, what=what)


_STEPS = {torch.float64: 1e-5}  # small beside inputs of about 1; float32 needs a larger one
_FLOAT32_STEP = 3e-3
_SLOPE_TOLERANCE = 3e-3  # several times the error of a difference of float32 numbers


def assert_gradients(
    function: Callable[..., Any], *inputs: Tensor, module: Any = None, **kwargs: Any
) -> None:
    """Check that backward() gives the slopes of a function, computed by finite differences.

    A wrong formula passes as long as its own gradient reaches every input and every parameter. A
    gradient that is missing or not finite fails, and so do a result that does not depend on an
    input, and a module that does not use one of its parameters.

    Args:
        function: Returns a tensor, or a tuple of tensors.
        *inputs: Its arguments, floating point, with entries of about 1.
        module: The module that holds the parameters, if the function is no module itself.
        **kwargs: Further arguments, whose gradients are not checked.
    """
    slopes = _Slopes(function, inputs, function if module is None else module, kwargs)
    slopes.backward()
    problem = slopes.problem()

    def check() -> None:
        if problem:
            raise CheckFailure(problem)

    _conclude(problem, check)  # gradients would depend on a layer's random first weights


class _Slopes:
    """Compares the gradients of a function's inputs and parameters with finite differences.

    Attributes:
        tensors: The inputs as ``argument 1``, ..., and copies of the parameters by their names.
        gradients: The gradient of each, None if backward() does not reach it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Tensor],
        module: Any,
        kwargs: Mapping[str, Any],
    ) -> None:
        self._function = function
        self._kwargs = kwargs
        self._module = module
        self._inputs = [f"argument {number}" for number, _ in enumerate(inputs, start=1)]
        self.tensors = dict(zip(self._inputs, inputs, strict=True))
        self._has_parameters = hasattr(self._module, "named_parameters")
        if self._has_parameters:
            named: dict[str, Tensor] = dict(self._module.named_parameters())
            self.tensors |= {name: p.detach().clone() for name, p in named.items()}
        self.gradients: dict[str, Tensor | None] = {}
        self._is_moved = False

    def backward(self) -> None:
        """Compute the gradients, and store them in ``gradients``."""
        leaves = [self.tensors[name].detach().clone().requires_grad_() for name in self._inputs]
        if self._has_parameters:
            self._module.zero_grad()
        loss = self._loss([leaf.clone() for leaf in leaves])
        if loss.requires_grad:
            loss.backward()
        self.gradients = dict(zip(self._inputs, (leaf.grad for leaf in leaves), strict=True))
        if self._has_parameters:
            named = dict(self._module.named_parameters())
            self.gradients |= {name: parameter.grad for name, parameter in named.items()}
            self._module.zero_grad()

    def problem(self) -> str:
        """Describe the first wrong gradient; empty if all are right."""
        try:
            return self._problem()
        finally:
            if self._is_moved:
                own = {k: v for k, v in self.tensors.items() if k not in self._inputs}
                self._module.load_state_dict(own, strict=False)

    def _problem(self) -> str:
        """Do the work of ``problem``, which restores the parameters that this method changes."""
        for name, gradient in self.gradients.items():
            if gradient is not None and not gradient.isfinite().all():
                return f"the gradient of {name} holds NaN or infinity"
        generator = torch.Generator().manual_seed(0)
        for _ in range(2):  # along one direction alone, a wrong part could be small by chance
            along = {name: _draw(x, generator) for name, x in self.tensors.items()}
            size = len(along) ** -0.5
            if self._is_slope({name: size * x for name, x in along.items()}):
                continue
            for name, direction in along.items():
                if not self._is_slope({name: direction}):
                    gradient = self.gradients[name]
                    is_cut = gradient is None or not gradient.any()
                    problem = "no gradient" if is_cut else "not the whole gradient"
                    return f"{problem} flows back to {name}"
        for name in self._inputs:
            gradient = self.gradients[name]
            if gradient is None or not gradient.any():
                return f"the result is the same whatever {name} is"
        if self._module is self._function:  # a part of a layer need not use all of its parameters
            for name, gradient in self.gradients.items():
                if gradient is None:
                    return f"no gradient flows back to {name}: it is not used"
        return ""

    def _is_slope(self, along: Mapping[str, Tensor]) -> bool:
        """Return whether the gradients match the slope along ``along``, a step for each tensor."""
        dtype = next(iter(self.tensors.values())).dtype
        step = _STEPS.get(dtype, _FLOAT32_STEP)
        sides = [self._loss_after(along, sign * step) for sign in (1, -1)]
        slope = (sides[0] - sides[1]) / (2 * step)
        products = ((self.gradients[name], x) for name, x in along.items())
        expected = sum((g * x).sum().item() for g, x in products if g is not None)
        rounding = 2 * torch.finfo(dtype).eps * max(map(abs, sides)) / step
        allowed = _SLOPE_TOLERANCE * max(1.0, abs(slope)) + rounding
        return abs(expected - slope) <= allowed  # NaN is no slope

    @torch.no_grad()
    def _loss_after(self, along: Mapping[str, Tensor], step: float) -> float:
        """Return the loss with ``step * along[name]`` added to each tensor that ``along`` names."""
        moved = {name: self.tensors[name] + step * x for name, x in along.items()}
        parameters = {name: x for name, x in moved.items() if name not in self._inputs}
        if parameters or self._is_moved:
            own = {k: v for k, v in self.tensors.items() if k not in self._inputs}
            self._module.load_state_dict(own | parameters, strict=False)
            self._is_moved = bool(parameters)
        return self._loss([moved.get(n, self.tensors[n]).clone() for n in self._inputs]).item()

    def _loss(self, inputs: list[Tensor]) -> Tensor:
        """Call the function; return the sum of its result's numbers, weighted by fixed factors."""
        result = self._function(*inputs, **self._kwargs)
        parts = result if isinstance(result, list | tuple) else [result]
        generator = torch.Generator().manual_seed(1)
        for part in parts:
            _assert_tensor(part, "result", "")
        return torch.stack([(part * _draw(part, generator)).sum() for part in parts]).sum()


def _draw(like: Tensor, generator: torch.Generator) -> Tensor:
    """Draw a tensor of the same shape, dtype and device from the normal distribution."""
    drawn = torch.randn(like.shape, generator=generator, dtype=torch.float64, device="cpu")
    return drawn.to(like)


def assert_accepts_noncontiguous(function: Callable[..., Any], *inputs: Tensor) -> None:
    """Check that a result does not depend on the order of the inputs' numbers in memory."""
    expected = function(*map(_copy, inputs))
    actual = call_beside(call_strided, function, *inputs)
    is_alike = type(actual) is type(expected) and (
        _close(actual, expected) if isinstance(expected, Tensor) else _equal(actual, expected)
    )

    def check() -> None:
        if not is_alike:
            raise CheckFailure("inputs that are not contiguous give another result")

    _conclude(is_alike, check)


def assert_parameters(
    layer: Any, shapes: Mapping[str, Sequence[int]], *, may_share: int = 0
) -> None:
    """Check that an ``nn.Module`` has exactly these parameters; buffers are not checked.

    ``shapes`` maps the names in ``state_dict()`` to shapes. Up to ``may_share`` parameters may be
    the same tensor as another.
    """
    own = {name: tuple(p.shape) for name, p in layer.named_parameters(remove_duplicate=False)}
    count = len(dict(layer.named_parameters()))
    expected = {name: tuple(shape) for name, shape in shapes.items()}
    found = {name: own.get(name) for name in expected}

    def check() -> None:
        detail = f"your layer has {', '.join(own) or 'none'}"
        for name, shape in found.items():
            if shape is None:
                raise CheckFailure(f"there is no parameter {name}", detail=detail)
            if shape != expected[name]:
                raise CheckFailure(f"{name} has shape {shape}, expected {expected[name]}")
        if not len(expected) - may_share <= count <= len(expected):
            words = f"the layer has {count} parameters, expected {len(expected)}"
            raise CheckFailure(words, detail=detail)

    _conclude((found, count), check)


def load_parameters(layer: Any, values: Any) -> None:
    """Give an ``nn.Module`` known parameters; those that ``values`` lacks become zero.

    ``values`` maps names in ``state_dict()`` to parameters, or is a layer that has them. Buffers,
    and further names of shared parameters, are not zeroed. A name that the layer lacks, or a
    parameter of another shape, is a ``CheckFailure``.
    """
    if not isinstance(values, Mapping):
        values = {name: parameter.detach() for name, parameter in values.named_parameters()}
    own = {name: p.detach() for name, p in layer.named_parameters(remove_duplicate=False)}
    for name, value in values.items():
        if name not in own:
            detail = f"your layer has {', '.join(own) or 'none'}"
            raise CheckFailure(f"there is no parameter {name}", detail=detail)
        if own[name].shape != value.shape:
            came, wanted = tuple(own[name].shape), tuple(value.shape)
            raise CheckFailure(f"{name} has shape {came}, expected {wanted}")
    others = {name for name, _ in layer.named_parameters()} - values.keys()
    state = {name: torch.zeros_like(own[name]) for name in others}
    layer.load_state_dict(state | {name: value.clone() for name, value in values.items()}, False)


def fix_weights(layer: Any) -> Any:
    """Give an ``nn.Module`` weights that depend on their names and shapes alone, and return it.

    So the layer computes the same in every process, and wrong norms and biases show. Buffers stay.
    """
    state = {}
    for name, parameter in layer.named_parameters(remove_duplicate=False):
        generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        values = torch.randn(parameter.shape, generator=generator, device="cpu") / 2
        is_gain = parameter.dim() == 1 and name.endswith("weight")
        state[name] = (values + is_gain).to(parameter)
    layer.load_state_dict(state, strict=False)
    return layer


def assert_drops_like(layer: Any, reference: Any, *args: Tensor | None) -> None:
    """Check that in training a layer drops the same numbers as a reference with the same seed.

    The layer has the reference's parameters; the reference's dropout is right, with a probability
    above 0. Both get copies of ``args``.
    """
    seed = int(torch.randint(2**31, (), device="cpu"))
    results = []
    for module in (layer, reference):
        module.train()
        results.append(call_beside(call_seeded, module, seed, *map(_copy, args)))
    actual, expected = results
    is_whole = _close(expected, reference.eval()(*map(_copy, args)))

    def check() -> None:
        if is_whole:
            raise CheckFailure("in training nothing is dropped")
        _check_close(actual, expected, "what dropout leaves in training", "")

    _conclude(actual, check)


def plain_sgd(model: Any, learning_rate: float = 1.0) -> torch.optim.SGD:
    """Return an optimizer for plain gradient descent, with a group for each parameter."""
    groups = [{"params": [parameter]} for parameter in model.parameters()]
    return torch.optim.SGD(groups, lr=learning_rate)


class NextTokenTable(torch.nn.Module):
    """A model for tests of training: a row of a table gives the logits after a token.

    Called as ``model(src, tgt)`` with token ids ``(batch, src_len)`` and ``(batch, tgt_len)``, it
    returns for each target token its row of ``after`` plus the mean of the source tokens' rows of
    ``about``. Both tables are ``(vocab_size, vocab_size)`` and start at zero. ``dropout`` is the
    probability of dropout on the logits.
    """

    def __init__(self, vocab_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.after = torch.nn.Parameter(torch.zeros(vocab_size, vocab_size))
        self.about = torch.nn.Parameter(torch.zeros(vocab_size, vocab_size))
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits ``(batch, tgt_len, vocab_size)``."""
        logits: Tensor = self.dropout(self.after[tgt] + self.about[src].mean(dim=1, keepdim=True))
        return logits


def call_beside(function: Callable[..., Any], *args: Any, beside: Any = None, **kwargs: Any) -> Any:
    """Call an importable function in the process of the objects that it gets.

    In one process this is a plain call. Under the judge, whose tests reach a submission's objects
    through proxies, the function runs in the submission's process, on the objects themselves: so a
    training loop updates the submission's own parameters. If no argument is such an object,
    ``beside`` may be one: so a module of torch can be made for a layer of the submission.
    """
    for argument in (*args, *kwargs.values(), beside):
        run_there = getattr(type(argument), "__call_beside__", None)
        if run_there is not None:
            return run_there(argument, function, args, kwargs)
    return function(*args, **kwargs)


def call_strided(function: Callable[..., Any], *args: Any, dims: tuple[int, int] = (-2, -1)) -> Any:
    """Call a function on tensors that are not contiguous: two dimensions are swapped in memory.

    The dimensions are ``dims``, (1, 2) for heads that were split off. Tensors are contiguous when
    they reach another process, so under the judge this must run there:
    ``call_beside(call_strided, function, ...)``.
    """

    def turned(x: Any) -> Any:
        if not isinstance(x, Tensor) or x.dim() < 2:
            return x
        return x.transpose(*dims).contiguous().transpose(*dims)

    return function(*map(turned, args))


def call_seeded(function: Callable[..., Any], seed: int, *args: Any) -> Any:
    """Call a function after ``torch.manual_seed(seed)``.

    Under the judge this must run in the function's process: ``call_beside(call_seeded, ...)``.
    """
    torch.manual_seed(seed)
    return function(*args)


def call_without_dropout(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function while dropout drops nothing, in training too.

    Under the judge this must run in the function's process:
    ``call_beside(call_without_dropout, function, ...)``.
    """
    kept = torch.nn.functional.dropout
    torch.nn.functional.dropout = lambda input, *_, **__: input
    try:
        return function(*args, **kwargs)
    finally:
        torch.nn.functional.dropout = kept


def _assert_tensor(actual: Any, what: str, hint: str) -> None:
    """Check that a result is a Tensor of no subclass, whose comparisons could all return True."""
    if type(actual) not in _TENSORS:
        name = _type_name(actual)
        summary = f"{what} is of type {name}, expected torch.Tensor"
        if actual is None and not what.startswith("gradient"):
            hint = "nothing is returned: is a return missing?"
        raise CheckFailure(summary, named=name, hint=hint)


def _plain_types(expected: Any) -> tuple[type, ...]:
    """Return the types that are accepted for an expected value; a bool is no number here."""
    if isinstance(expected, list | tuple):
        return (list, tuple)
    return (float, int) if type(expected) is float else (type(expected),)


def _equal(actual: Any, expected: Any, rel_tol: float = 2e-7) -> bool:
    """Return whether values are equal as ``assert_equal`` defines it."""
    actual, expected = _as_plain(actual), _as_plain(expected)
    # The exact type comes first: another class may define == as it likes.
    if type(actual) not in _plain_types(expected):
        return False
    if type(expected) is float:
        if abs(actual) > sys.float_info.max:  # an int, too large for a float
            return actual == expected
        return math.isclose(actual, expected, rel_tol=rel_tol, abs_tol=1e-12)
    if isinstance(expected, list | tuple):
        pairs = zip(actual, expected, strict=False)
        return len(actual) == len(expected) and all(_equal(*pair, rel_tol) for pair in pairs)
    if isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(
            _equal(actual[key], value, rel_tol) for key, value in expected.items()
        )
    return bool(actual == expected)


def _as_plain(value: Any) -> Any:
    """Return a number of NumPy as Python's, and a Counter or the like as a dict."""
    if type(value) in (Counter, OrderedDict, defaultdict):
        return dict(value)
    return value.item() if isinstance(value, np.generic) else value


def _type_name(value: Any) -> str:
    """Return the name of a value's type, or of the type for which a proxy stands."""
    return str(getattr(value, "__remote_type__", type(value).__name__))


def _assert_finite_where(actual: Tensor, expected: Tensor, what: str, hint: str) -> None:
    """Check that there is no NaN, and infinity only where the expected tensor has it."""
    if not expected.is_floating_point():
        return
    strays = {"NaN": actual.isnan(), "infinite": actual.isinf() & ~expected.isinf()}
    for name, stray in strays.items():
        if stray.any():
            surplus = _entries(int(stray.sum()), name)
            raise CheckFailure(f"{what} has {surplus} where none belongs", hint=hint)


def _entries(count: int, kind: str = "") -> str:
    """Return a number of entries with its noun, such as ``1 NaN entry`` or ``2 entries``."""
    noun = "entry" if count == 1 else "entries"
    return f"{count} {kind} {noun}" if kind else f"{count} {noun}"


def _elementwise_close(actual: Tensor, expected: Tensor) -> Tensor:
    rtol, atol = _TOLERANCES.get(expected.dtype, (0.0, 0.0))
    return torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)


def _close(actual: Tensor, expected: Tensor) -> bool:
    alike = all(getattr(actual, x) == getattr(expected, x) for x in ("shape", "dtype", "device"))
    return alike and bool(_elementwise_close(actual, expected).all())


__all__ = [
    "CheckFailure", "NextTokenTable", "assert_accepts_noncontiguous", "assert_close",
    "assert_drops_like", "assert_equal", "assert_equal_or_close", "assert_gradients",
    "assert_keeps_inputs", "assert_matches", "assert_parameters", "assert_raises", "assert_shape",
    "call_beside", "call_seeded", "call_strided", "call_without_dropout", "changed_inputs",
    "fix_weights", "load_parameters", "observe_notebook", "observed_by", "plain_sgd",
]  # fmt: skip
