"""What answers a prediction stands in an element of its own, up to the next heading or question."""

import pytest
from bs4 import BeautifulSoup

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


def veils(build_page, *parts):
    built = build_page("\n".join(["# Coins", *parts]))
    assert built.warnings == ""
    page = BeautifulSoup(built.html, "html.parser")
    return {
        veil["data-course-after"]: veil.select_one(".course-veil__content").get_text(
            " ", strip=True
        )
        for veil in page.select(".course-veil")
    }


@pytest.mark.parametrize("end", ["## Dice", PREDICTION.format(name="dice"), QUIZ])
def test_the_answer_ends_at_the_next_heading_or_question(build_page, end):
    throw = "```python\nthrow()\n```"
    found = veils(
        build_page, "Before.", PREDICTION.format(name="coin"), throw, "Half.", end, "Dice."
    )
    assert found["predict-coin"] == "throw() Half."
    assert set(found) <= {"predict-coin", "predict-dice"}


def test_nothing_is_veiled_where_nothing_follows(build_page):
    assert (
        veils(build_page, PREDICTION.format(name="coin"), "(dice)=", "## Dice", "They roll.") == {}
    )


def test_a_quiz_veils_nothing(build_page):
    assert veils(build_page, QUIZ, "Two.") == {}
