"""The directives quiz and predict in a tiny book."""

import pytest
from bs4 import BeautifulSoup

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


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Questions of every kind, and a formula with roles."""
    edited = QUIZ.replace("quiz-sum", "quiz-edited").replace("> Yes", "> Yes!")
    several = QUIZ.replace("quiz-sum", "quiz-several").replace("[ ] one", "[x] one")
    text = f"{QUIZ}{edited}{several}{PREDICT}\n# Roles\n\n$\\query{{Q}}\\key{{K}}\\T$\n"
    html, warnings, _ = build_tiny_book(tmp_path_factory.mktemp("questions"), text)
    assert warnings == ""
    return BeautifulSoup(html, "html.parser")


def test_quiz_is_complete_without_scripts(page):
    quiz = page.find(id="quiz-sum")
    assert "What is" in quiz.fieldset.legend.text
    assert quiz.legend.find(class_="katex")
    inputs = quiz.find_all("input")
    assert [(i["type"], i["name"]) for i in inputs] == [("radio", "quiz-sum")] * 2
    assert [label["for"] for label in quiz.find_all("label")] == [i["id"] for i in inputs]
    folded = quiz.find_all("details")
    assert [d.summary.text for d in folded] == ["Right or wrong?"] * 2
    assert "Wrong." in folded[0].text
    assert folded[0].em.text == "more"
    assert "Right." in folded[1].text
    assert quiz.find(role="status").text == ""


def test_several_right_answers_are_checkboxes(page):
    quiz = page.find(id="quiz-several")
    assert {i["type"] for i in quiz.find_all("input")} == {"checkbox"}
    assert "Several answers are right" in quiz.text


def test_prediction_folds_what_happens(page):
    (reveal,) = page.find(id="predict-coin").find_all("details")
    assert reveal.strong.text == "half"


def test_an_edited_question_gets_another_version(page):
    versions = {page.find(id=name)["data-version"] for name in ("quiz-sum", "quiz-edited")}
    assert len(versions) == 2


def test_roles_in_formulas_get_their_classes(page):
    assert page.find(class_="course-query").text == "Q"
    assert page.find(class_="course-key").text == "K"
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
    "ambiguous": (
        PREDICT.replace("[ ]", "[x]"), 5, "predict: a prediction has exactly one right answer"
    ),
    "unanswered": (
        PREDICT.replace("\nAbout **half**.\n", ""), 5, "predict: no text after the answers"
    ),
}  # fmt: skip
QUIZ_ELSEWHERE = f"---\norphan: true\n---\n{QUIZ}"


@pytest.fixture(scope="module")
def warnings(tmp_path_factory):
    """What is said of a book with every page that is malformed, and a label on two pages."""
    pages = {
        name: page.replace("quiz-sum", f"quiz-{name}").replace("predict-coin", f"predict-{name}")
        for name, (page, _, _) in MALFORMED.items()
    }
    folder = tmp_path_factory.mktemp("malformed")
    return build_tiny_book(folder, QUIZ, other=QUIZ_ELSEWHERE, **pages).warnings.splitlines()


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_question_is_an_error_at_its_line(warnings, name):
    _, line, message = MALFORMED[name]
    assert any(f"{name}.md:{line}: ERROR: " in told and message in told for told in warnings)


def test_a_label_is_unique_in_the_whole_book(warnings):
    assert any("ERROR: quiz: the label 'quiz-sum' is already used in " in told for told in warnings)


def test_a_formula_that_cannot_be_read_is_reported(build_page):
    assert "index.md:3: WARNING: formula" in build_page("# Page\n\nSee $\\frac{1}$.\n").warnings
