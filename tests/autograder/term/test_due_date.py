"""``grade --due``: one date is set, where all commands read it, and all else stays."""

import tomllib

import pytest

from autograder.cli.errors import BadInputError
from autograder.cli.grading import set_due
from autograder.term.dates import with_due
from tests.autograder.command_line import refused, run

HOMEWORK = "hw03-self-attention"
MOMENT = "2026-10-12T23:59:00Z"
OTHERS = """# ours
time_zone = "Europe/Berlin"

[due] # all of them
hw02 = 2026-10-05T23:59:00 # a Monday

[late]
percent_per_day = 10
"""


@pytest.mark.parametrize(
    "earlier",
    [
        "",
        "hw03 = 2026-10-01T12:00:00Z # too soon\n",
        f'"{HOMEWORK}"=1\n',
        " \t'hw03'\t= 1\n",
    ],
)
def test_a_date_is_set_and_all_else_stays(earlier):
    text = with_due(OTHERS.replace("hw02 =", f"{earlier}hw02 ="), HOMEWORK, MOMENT)
    assert text == OTHERS.replace("hw02 =", f"{HOMEWORK} = {MOMENT}\nhw02 =")


@pytest.mark.parametrize("header", ["[due]", "  [ due ]", "[due]\r"])
def test_a_table_is_found_however_it_is_spaced(header):
    text = with_due(f"{header}\n  hw03 = 2026-10-01T12:00:00Z\n  [late]\n", HOMEWORK, MOMENT)
    assert list(tomllib.loads(text)["due"]) == [HOMEWORK]
    assert tomllib.loads(with_due(header.strip(), HOMEWORK, MOMENT))["due"].keys() == {HOMEWORK}


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-10-12T23:59:00", "has no time zone"),
        ("2026-10-12", "expected, for example, 2026-10-12T23:59:00"),
        ("next week", "a time is written as 2026-10-12T23:59:00"),
    ],
)
def test_invalid_date_is_rejected_and_nothing_written(tmp_path, moment, words):
    with pytest.raises(BadInputError, match=f"^--due: .*{words}"):
        set_due(HOMEWORK, moment, tmp_path / "dates.toml")
    assert list(tmp_path.iterdir()) == []


def test_grade_writes_the_date_before_it_looks_for_the_class(tmp_path):
    dates = tmp_path / "dates.toml"
    arguments = ["grade", "hw03", "--submissions", tmp_path / "class", "--out", tmp_path / "out"]
    outcome = run(*arguments, "--dates", dates, "--due", MOMENT, "--no-sandbox")
    assert "no folder" in refused(outcome)
    assert dates.read_text() == f"[due]\n{HOMEWORK} = {MOMENT}\n"
