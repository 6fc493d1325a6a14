"""What answers a prediction stands in an element of its own, up to the next heading or question."""

import pytest
from bs4 import BeautifulSoup

from tests.book.conftest import build_tiny_book

PREDICTION = """
```{{predict}}
:label: predict-{name}
Heads how often?

- [ ] never
- [x] half the time

About **half**.
```
"""
QUIZ = """
```{quiz}
:label: quiz-sum
What is $1 + 1$?

- [ ] one
      > No.
- [x] two
      > Yes.
```
"""


@pytest.fixture(scope="module")
def veils(tmp_path_factory):
    """What each prediction of a page veils; between them stands what may end an answer."""
    code = "```python\nthrow()\n```"
    parts = ["# Coins"]
    for name, after in {
        "heading": [code, "Half.", "## Dice", "Dice."],
        "question": [code, "Half.", PREDICTION.format(name="last-but-one"), "Dice."],
        "quiz": [code, "Half.", QUIZ, "Two."],
        "nothing": ["(dice)=", "## Dice again", "They roll."],
    }.items():
        parts += [f"## About a {name}", PREDICTION.format(name=name), *after]
    built = build_tiny_book(tmp_path_factory.mktemp("veils"), "\n".join(parts))
    assert built.warnings == ""
    page = BeautifulSoup(built.html, "html.parser")
    return {
        veil["data-course-after"].removeprefix("predict-"): veil.select_one(
            ".course-veil__content"
        ).get_text(" ", strip=True)
        for veil in page.select(".course-veil")
    }


@pytest.mark.parametrize("end", ["heading", "question", "quiz"])
def test_the_answer_ends_at_the_next_heading_or_question(veils, end):
    assert veils[end] == "throw() Half."


def test_nothing_is_veiled_where_nothing_follows_and_by_a_quiz(veils):
    assert veils.keys() == {"heading", "question", "last-but-one", "quiz"}
