"""The directives ``quiz`` and ``predict`` in a tiny book."""

import pytest

from tests.book.conftest import build_tiny_book

QUIZ = """# Page

```{quiz}
:label: quiz-sum
What is $1 + 1$?

- [ ] one
      > No, *more*.
- [x] two
      > Yes.
```
"""

PREDICT = """# Page

```{predict}
:label: predict-coin
Heads how often?

- [ ] never
- [x] half the time

About **half**.
```
"""


def test_questions_are_complete_without_scripts(build_page):
    edited = QUIZ.replace("quiz-sum", "quiz-edited").replace("> Yes", "> Yes!")
    several = QUIZ.replace("quiz-sum", "quiz-several").replace("[ ] one", "[x] one")
    text = f"{QUIZ}{edited}{several}{PREDICT}\n# Roles\n\n$\\query{{Q}}\\key{{K}}\\T$\n"
    page = build_page(text).page
    quiz = page.find(id="quiz-sum")
    assert "What is" in quiz.fieldset.legend.text
    assert quiz.legend.find(class_="katex")
    inputs = quiz.find_all("input")
    assert [(i["type"], i["name"]) for i in inputs] == [("radio", "quiz-sum")] * 2
    assert [label["for"] for label in quiz.find_all("label")] == [i["id"] for i in inputs]
    wrong, right = quiz.find_all("details")
    assert wrong.summary.text == right.summary.text == "Right or wrong?"
    assert wrong.em.text == "more"
    assert ("Wrong." in wrong.text, "Right." in right.text) == (True, True)
    assert quiz.find(role="status").text == ""
    assert page.find(id="quiz-edited")["data-version"] != quiz["data-version"]
    assert {i["type"] for i in page.find(id="quiz-several").find_all("input")} == {"checkbox"}
    assert "Several answers are right" in page.find(id="quiz-several").text
    (reveal,) = page.find(id="predict-coin").find_all("details")
    assert reveal.strong.text == "half"
    assert page.find(class_="course-query").text == "Q"
    assert not [script for script in page.find_all("script") if "katex" in str(script)]


MALFORMED = {
    "unmarked": (QUIZ.replace("[x]", "[ ]"), 7, "quiz: no answer is marked right"),
    "silent": (
        QUIZ.replace("      > Yes.\n", ""), 9, "quiz: the answer 'two' has no explanation"
    ),
    "nameless": (QUIZ.replace(":label: quiz-sum\n", ""), 3, "quiz: ':label:' must be"),
    "misnamed": (QUIZ.replace("quiz-sum", "Quiz Sum"), 3, "quiz: ':label:' must be"),
    "trailing": (QUIZ.replace("```\n", "Later.\n```\n"), 11, "quiz: text follows the answers"),
    "twice": (QUIZ + QUIZ, 14, "the label 'quiz-twice' is already used in 'twice'"),
    "zother": (QUIZ, 3, "quiz: the label 'quiz-sum' is already used in 'index'"),
    "ambiguous": (
        PREDICT.replace("[ ]", "[x]"), 5, "predict: a prediction has exactly one right answer"
    ),
    "unanswered": (
        PREDICT.replace("\nAbout **half**.\n", ""), 5, "predict: no text after the answers"
    ),
    "formula": ("# Page\n\nSee $\\frac{1}$.\n", 3, "formula"),
}  # fmt: skip


@pytest.fixture(scope="module")
def warnings(tmp_path_factory):
    """The lines of warnings from a build with every page of ``MALFORMED``."""
    pages = {
        name: page
        if name == "zother"
        else page.replace("quiz-sum", f"quiz-{name}").replace("predict-coin", f"predict-{name}")
        for name, (page, _, _) in MALFORMED.items()
    }
    folder = tmp_path_factory.mktemp("malformed")
    return build_tiny_book(folder, QUIZ, warns=True, **pages).warnings.splitlines()


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_question_is_reported_at_its_line(warnings, name):
    _, line, message = MALFORMED[name]
    assert any(f"{name}.md:{line}: " in warning and message in warning for warning in warnings)
