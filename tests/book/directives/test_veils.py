"""The answer to a prediction is veiled up to the next heading or question."""

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


def test_a_veil_ends_at_the_next_heading_or_question(build_page):
    code = "```python\nthrow()\n```"
    parts = ["# Coins"]
    for name, after in {
        "heading": [code, "Half.", "## Dice", "Dice."],
        "question": [code, "Half.", PREDICTION.format(name="last-but-one"), "Dice."],
        "quiz": [code, "Half.", QUIZ, "Two."],
        "nothing": ["(dice)=", "## Dice again", "They roll."],
    }.items():
        parts += [f"## About a {name}", PREDICTION.format(name=name), *after]
    built = build_page("\n".join(parts))
    assert built.warnings == ""
    veils = {
        veil["data-course-after"]: veil.select_one(".course-veil__content").get_text(
            " ", strip=True
        )
        for veil in BeautifulSoup(built.html, "html.parser").select(".course-veil")
    }
    assert veils == {
        "predict-heading": "throw() Half.",
        "predict-question": "throw() Half.",
        "predict-last-but-one": "Dice.",
        "predict-quiz": "throw() Half.",
    }
