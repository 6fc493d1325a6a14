"""A homework with variants in the judge: each known mistake costs one check."""

import dataclasses

import pytest

from autograder.homework_source.homework import Variant
from autograder.judging.results import Status
from autograder.marks.standing import stand
from autograder.reports.feedback import render_feedback
from tests.autograder.conftest import with_sources

pytestmark = pytest.mark.sandbox

TESTS = {
    "double-values": """# It doubles
assert_close(double(torch.ones(2)), torch.full((2,), 2.0))
### BEGIN HIDDEN TESTS
assert_matches(double, reference.double, torch.randn(3, 4))
assert_keeps_inputs(double, torch.randn(3))
### END HIDDEN TESTS
""",
    "double-gradient": """# Its gradient is 2
### BEGIN HIDDEN TESTS
x = torch.randn(5, requires_grad=True)
y = double(x)
assert_close(y, 2 * x)
y.sum().backward()
assert_close(x.grad, torch.full_like(x, 2.0), what="gradient")
### END HIDDEN TESTS
""",
}
CUT, TRIPLE = "You cut the gradient; do not.", "You triple; double."
HOMEWORK = dataclasses.replace(
    with_sources(TESTS),
    variants=(
        Variant(
            exercise="double",
            name="triple",
            source="def double(x):\n    return 3 * x",
            lost=("double-values",),
            hint=TRIPLE,
        ),
        Variant(
            exercise="double",
            name="cut",
            source="def double(x):\n    return 2 * x.detach()",
            lost=("double-gradient",),
            hint=CUT,
        ),
    ),
)


@pytest.fixture
def lost(grade):
    """Return a function that grades a notebook with these cells' sources.

    It returns the hint of each check that did not pass, by the check's id, and the result.
    """

    def lost(*cells):
        cells = [("double", cell) if "def double" in cell else cell for cell in cells]
        result = grade(*cells, homework=HOMEWORK)
        checks = [c for c in result.checks if c.status not in (Status.PASS, Status.MANUAL)]
        return {c.check: c.hint for c in checks}, result

    return lost


DROPS = "You drop values at random"


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("x + x", {}),
        ("(2 * x).detach()", {"double-gradient": CUT}),
        ("4 * x", {"double-values": "", "double-gradient": ""}),
        ("torch.nn.functional.dropout(2 * x, 0.5)", {"double-values": DROPS}),
        ("torch.nn.Dropout(0.5)(2 * x)", {"double-values": DROPS}),
        ("torch.nn.functional.dropout(4 * x, 0.5)", {"double-values": "", "double-gradient": ""}),
    ],
)
def test_known_mistake_costs_one_check_and_another_each_failed_check(lost, returned, expected):
    found, _ = lost(f"def double(x):\n    return {returned}")
    assert {check: hint[: len(DROPS)] for check, hint in found.items()} == {
        check: hint[: len(DROPS)] for check, hint in expected.items()
    }


def test_known_mistake_costs_one_check_which_feedback_names(lost):
    found, result = lost("def double(y):\n    return y + 2 * y")
    assert found == {"double-values": TRIPLE}
    gradient = result.checks[1]
    assert (gradient.status, gradient.charged_in) == (Status.PASS, "double-values")
    page = render_feedback(stand(result), HOMEWORK)
    assert "The same mistake costs points in check 1, “It doubles”" in page
    assert result == type(result).from_json(result.to_json())
    assert all(check.transcript == () for check in result.checks)


@pytest.mark.parametrize("place", ["own", "solution"])
def test_each_check_names_the_package_that_is_not_installed(lost, place):
    uses = "def double(x):\n    return no_such_package.add(x, x)"
    cells = ("import no_such_package", uses)
    found, _ = lost(*(cells if place == "own" else ["\n".join(cells)]))
    assert len(found) == 2
    assert all(hint.startswith("You import no_such_package, which") for hint in found.values())


def test_only_hidden_tests_can_access_the_reference(lost):
    found, result = lost("def double(x):\n    return reference.double(x)")
    assert len(found) == 2
    assert "'reference' is not defined" in result.checks[0].message
