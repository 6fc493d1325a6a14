"""What IPython makes of a cell is what the judge runs of it, but for magics, which do nothing."""

import ast
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from autograder.homework_source.magics import without_magics


class Shell:
    """Takes every magic, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


def names_after(code: Any, **given: Any) -> dict[str, Any]:
    namespace = {"call": lambda *args: args, **given}
    exec(compile(code, "cell", "exec"), namespace)
    return {
        name: value
        for name, value in namespace.items()
        if not callable(value) and name not in ("__builtins__", *given)
    }


SAME = {
    "a remainder in parentheses": "x = (17\n% 5\n)",
    "a remainder, indented": "if True:\n    x = (17\n    % 5)",
    "a remainder after a backslash": "x = 17 \\\n% 5",
    "a string": 'x = """\n%time\n!ls\n  % 5\n"""',
    "a string with question marks": 'x = """\nwhy?\n?why\n"""',
    "a string in a call": "x = len('''\n!\n%%\n''')",
    "an f-string": 'y = 3\nx = f"""\n% {y}\n! {y!r:>4}\n"""',
    "a slash in parentheses": "x = (17\n/ 5, 17\n// 5)",
    "a comma in brackets": "x = [1\n, 2\n, 3]",
    "a comparison": "x = (1\n!= 2)",
    "a decorator": "def same(f): return 7\n@same\ndef x(): pass",
    "a remainder that is assigned": "x = 17\nx %= 5",
    "a prompt in a string": 'x = """\n>>> 1 + 1\n2\n"""',
    "an indented cell with a string": '    # first\n    x = """\n    a"""',
    "magics among statements": "%matplotlib inline\nx = 1\n%time x\n!ls\n?x\nx?\nx??\n",
    "magics in a block": "x = 1\nif x:\n    %time x\n    !ls\n    x = 2",
    "a magic alone in a block": "x = 1\nif x:\n    %time x",
    "a magic over lines": "%alias a \\\n   b\nx = 1\n!ls \\\n  -l \\\n  -a\ny = 2",
    "an assigned magic": "x = %sql a\ny = !ls\nz = 3",
    "a call by comma, semicolon and slash": ",call a b\n;call a b\n/call 1 2\nx = 1",
    "blank lines first": "\n\n  \n%matplotlib inline\nx = (17\n% 5)",
    "a comment first": "# a title\n%matplotlib inline\nx = 1",
    "a comment that is a magic": "x = 1  # %time\n# %time\n# !ls",
    "a body that is no Python": "%%bash\nx = 1\necho $x",
    "the shell, by its name": "x = get_ipython().run_line_magic('time', '')\ny = 1",
}


@pytest.mark.parametrize("source", SAME.values(), ids=SAME)
def test_a_cell_means_what_it_means_to_ipython(source):
    expected = names_after(TransformerManager().transform_cell(source), get_ipython=Shell)
    assert names_after(without_magics(source)) == expected


@pytest.mark.parametrize("magic", ["time", "capture out", "prun -q", "time\n\n%%capture"])
def test_a_cell_magic_that_runs_python_leaves_its_names(magic):
    assert names_after(without_magics(f"\n%%{magic}\n\nx = (17\n% 5)")) == {"x": 2}


@pytest.mark.parametrize("where", ["{}", "%%time\n{}", "if True:\n    {}", "y = 3\nif y:\n  {}\n"])
def test_a_line_that_times_a_statement_leaves_its_names(where):
    assert names_after(without_magics(where.format("%time x = 17 % 5")))["x"] == 2
    with pytest.raises(ZeroDivisionError) as raised:
        names_after(without_magics(f"\n\n{where.format('%time x = 1 / 0')}"))
    line = raised.tb.tb_next.tb_next.tb_lineno
    assert line == 3 + where.partition("{}")[0].count("\n")


@pytest.mark.parametrize("magic", ["pip install a-b", "run a.py", "\n cd a/b", "cat a.txt"])
def test_a_magic_without_its_sign_does_nothing(magic):
    assert names_after(without_magics(magic)) == {}
    for more in (f"{magic}\nx = 1", f"%%time\n{magic}\nx = 1"):  # to Jupyter it is one alone
        with pytest.raises(SyntaxError):
            without_magics(more)


def test_a_line_that_times_a_statement_needs_no_sign():
    assert names_after(without_magics("\n time x = 17 % 5")) == {"x": 2}


@pytest.mark.parametrize("python", ["x = 1", "time = 3", "ls, x = 1, 2", "x = run = 5"])
def test_what_only_looks_like_a_magic_is_python(python):
    assert names_after(without_magics(python)) == names_after(python)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n",
        "\n \n\t\n",
        "%alias a \\\n  b \\\n  c\n",
        "!ls \\\n -l\n%time\n",
        "%%time\n",
        "\n%%time\n\n",
        "x = !ls \\\n  -l\n",
        "%time\n!ls\n?str\nstr?\n",
        '"""\n%time\n"""\n',
    ],
)
def test_lines_keep_their_numbers(before):
    tree = without_magics(f"{before}last = 1\n")
    assert tree.body[-1].lineno == before.count("\n") + 1
    with pytest.raises(SyntaxError) as refused:
        without_magics(f"{before}last = = 1\n")
    assert refused.value.lineno == before.count("\n") + 1


def test_nothing_of_a_magic_is_left():
    shells = "%time\nx = !ls\nget_ipython()\ny = get_ipython().config.a(get_ipython().b)"
    assert "get_ipython" not in ast.dump(without_magics(shells))
