"""The answer to a prediction is veiled up to the next heading or question."""

from tests.book.directives.test_choice_directives import PREDICT, QUIZ


def prediction(name):
    """Return the Markdown of a prediction labelled ``predict-NAME``."""
    return PREDICT.removeprefix("# Page").replace("predict-coin", f"predict-{name}")


def test_a_veil_ends_at_the_next_heading_or_question(build_page):
    code = "```python\nthrow()\n```"
    parts = ["# Coins"]
    for name, after in {
        "heading": [code, "Half.", "## Dice", "Dice."],
        "question": [code, "Half.", prediction("last-but-one"), "Dice."],
        "quiz": [code, "Half.", QUIZ.removeprefix("# Page"), "Two."],
        "nothing": ["(dice)=", "## Dice again", "They roll."],
    }.items():
        parts += [f"## About a {name}", prediction(name), *after]
    veils = {
        veil["data-course-after"]: veil.select_one(".course-veil__content").get_text(" ", True)
        for veil in build_page("\n".join(parts)).page.select(".course-veil")
    }
    assert veils == {
        "predict-heading": "throw() Half.",
        "predict-question": "throw() Half.",
        "predict-last-but-one": "Dice.",
        "predict-quiz": "throw() Half.",
    }
