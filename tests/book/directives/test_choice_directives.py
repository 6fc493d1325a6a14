"""The directives quiz and predict in a tiny book."""

import pytest
from bs4 import BeautifulSoup

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


def test_quiz_is_complete_without_scripts(build_page):
    html, warnings = build_page(QUIZ)
    assert warnings == ""
    quiz = BeautifulSoup(html, "html.parser").find(id="quiz-sum")
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


def test_several_right_answers_are_checkboxes(build_page):
    html, _ = build_page(QUIZ.replace("[ ] one", "[x] one"))
    quiz = BeautifulSoup(html, "html.parser").find(id="quiz-sum")
    assert {i["type"] for i in quiz.find_all("input")} == {"checkbox"}
    assert "Several answers are right" in quiz.text


def test_prediction_folds_what_happens(build_page):
    html, warnings = build_page(PREDICT)
    assert warnings == ""
    predict = BeautifulSoup(html, "html.parser").find(id="predict-coin")
    (reveal,) = predict.find_all("details")
    assert reveal.strong.text == "half"


def test_an_edited_question_gets_another_version(build_page, tmp_path):
    html, _ = build_page(QUIZ + QUIZ.replace("quiz-sum", "quiz-two").replace("> Yes", "> Yes!"))
    soup = BeautifulSoup(html, "html.parser")
    versions = {soup.find(id=name)["data-version"] for name in ("quiz-sum", "quiz-two")}
    assert len(versions) == 2


@pytest.mark.parametrize(
    ("page", "line", "message"),
    [
        (QUIZ.replace("[x]", "[ ]"), 7, "quiz: no answer is marked right"),
        (QUIZ.replace("      > Yes.\n", ""), 9, "quiz: the answer 'two' has no explanation"),
        (QUIZ.replace(":label: quiz-sum\n", ""), 3, "quiz: ':label:' must be"),
        (QUIZ.replace("quiz-sum", "Quiz Sum"), 3, "quiz: ':label:' must be"),
        (QUIZ.replace("```\n", "Later.\n```\n"), 11, "quiz: text follows the answers"),
        (QUIZ + QUIZ, 14, "the label 'quiz-sum' is already used in 'index'"),
        (PREDICT.replace("[ ]", "[x]"), 5, "predict: a prediction has exactly one right answer"),
        (PREDICT.replace("\nAbout **half**.\n", ""), 5, "predict: no text after the answers"),
    ],
)
def test_a_malformed_question_is_an_error_at_its_line(build_page, page, line, message):
    _, warnings = build_page(page)
    assert f"index.md:{line}: ERROR: " in warnings
    assert message in warnings


def test_a_label_is_unique_in_the_whole_book(build_page):
    _, warnings = build_page(QUIZ, other="---\norphan: true\n---\n" + QUIZ)
    assert "ERROR: quiz: the label 'quiz-sum' is already used in " in warnings


def test_a_formula_that_cannot_be_read_is_reported(build_page):
    _, warnings = build_page("# Page\n\nSee $\\frac{1}$.\n")
    assert "index.md:3: WARNING: formula" in warnings


def test_roles_in_formulas_get_their_classes(build_page):
    html, warnings = build_page("# Page\n\n$\\query{Q}\\key{K}\\T$\n")
    assert warnings == ""
    soup = BeautifulSoup(html, "html.parser")
    assert soup.find(class_="course-query").text == "Q"
    assert soup.find(class_="course-key").text == "K"
    assert not [script for script in soup.find_all("script") if "katex" in str(script)]
