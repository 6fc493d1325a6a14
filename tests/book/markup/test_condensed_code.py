"""A condensed definition: its signature, its docstring's first line, and its code."""

import ast
import re
from pathlib import Path

import pytest
from course_book.markup.condensed_code import condensed
from sphinx.directives.code import LiteralIncludeReader

BOOK = Path(__file__).parents[3] / "book"
INCLUDED = re.compile(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)", flags=re.MULTILINE)
CODE = '''\
def softmax(scores: Tensor, dim: int) -> Tensor:
    """Return the softmax of ``scores``.

    Args:
        scores: Any shape.
        dim: Which dimension.

    Raises:
        ValueError: ``dim`` is out of range.
    """
    size = scores.dim()
    # a wrong dimension would be wrapped around
    if not 0 <= dim < size:
        raise ValueError(f"dim must be from 0 to {size - 1}, got {dim}")
    check_floating(scores)

    powers = scores.exp()
    if powers.isinf().any():
        powers = powers.clamp(max=1e30)
    return powers / powers.sum(dim)
'''
SHORT = '''\
def softmax(scores: Tensor, dim: int) -> Tensor:
    """Return the softmax of `scores`."""
    size = scores.dim()

    powers = scores.exp()
    if powers.isinf().any():
        powers = powers.clamp(max=1e30)
    return powers / powers.sum(dim)
'''
CHECKS = """\
if not 0 <= dim < size:
    raise ValueError(f"dim must be from 0 to {size - 1}, got {dim}")
check_floating(scores)"""


def test_contract_and_checks_are_left_out_of_functions_and_methods():
    assert condensed(CODE) == (SHORT, CHECKS, True)
    method = "".join(f"    {line}" if line.strip() else line for line in CODE.splitlines(True))
    short = condensed(f'class Layer:\n    """One line."""\n\n{method}')
    assert short.shown.startswith('class Layer:\n    """One line."""\n\n    def softmax(')
    assert short.shown.count('"""') == 4
    assert short.checks == CHECKS


@pytest.mark.parametrize("code", ["return x + 1\n", "x = check(1)\ncheck(x)\n", "%magic ``\n"])
def test_code_without_a_definition_stays_as_it_is(code):
    assert condensed(code) == (code, "", False)


class Config:
    """The part of Sphinx's configuration that ``LiteralIncludeReader`` uses."""

    source_encoding = "utf-8"


@pytest.mark.parametrize("chapter", sorted(BOOK.glob("*.md")), ids=lambda path: path.stem)
def test_every_listing_of_the_library_can_be_condensed(chapter):
    for file, text in INCLUDED.findall(chapter.read_text(encoding="utf-8")):
        if "course_lib" not in file:
            continue
        options = dict(re.findall(r"^:([\w-]+): *(.*)$", text, flags=re.MULTILINE))
        options |= {"dedent": int(options["dedent"])} if "dedent" in options else {}
        code, _ = LiteralIncludeReader(str(BOOK / file), options, Config()).read()
        short = condensed(code)
        ast.parse(short.shown)
        assert "Args:" not in short.shown
        assert "``" not in short.shown
        assert len(short.shown.splitlines()) > 1
        assert file == f"../{re.split('[,;]', options['caption'])[0]}"
