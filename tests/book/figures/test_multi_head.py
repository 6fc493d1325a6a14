"""The figure multi-head: its data are checked, its answers are the sum of the heads that are on."""

import json
import re

import pytest
import torch

from tests.book.figures.figure_checks import refuses, table_of
from tests.book.watched_page import depends_on_page

NAME = "multi-head"
PAGE = "multi-head-attention"

pytestmark = depends_on_page(PAGE, "course_lib", "tests/book/figures")

SENTENCE = {
    "words": ["cats", "see", "dogs"],
    "start": 1,
    "weights": [torch.eye(3).tolist()] * 2,
    "asked": [
        {"place": 1, "question": 0, "answer": 0, "votes": [[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]}
    ],
}
DATA = {
    "questions": ["who"],
    "vocabulary": ["cats", "see", "dogs"],
    "base": [[0.0, 0.5, 0.0]],
    "sentences": [SENTENCE],
    "note": "",
}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"sentences": []}, "sentences must hold at least 1"),
    ({"base": []}, "base must hold 1 rows"),
    ({"vocabulary": ["cats", "see"]}, "each row of base must hold 2 numbers"),
    ({"vocabulary": ["cats", "see", "cows"]}, "words must be of the vocabulary"),
)


def with_sentence(**changes):
    return {"sentences": [SENTENCE | changes]}


test_wrong_sentences_are_refused = refuses(
    NAME,
    DATA,
    (with_sentence(start=3), "start must be a whole number from 0 to 2"),
    (with_sentence(weights=[]), "weights must hold at least 1 heads"),
    (with_sentence(weights=[[[1.0]]]), "weights must hold 3 rows"),
    (with_sentence(weights=[torch.eye(3).tolist()]), "votes must hold 1 rows"),
    (
        with_sentence(asked=[SENTENCE["asked"][0] | {"answer": 7}]),
        "answer must be a whole number from 0",
    ),
)


def test_the_table_says_what_is_left_without_a_head():
    # Right word, both heads, without the first (the second votes for dogs), without the second.
    row = "<td>cats</td><td>cats</td><td>dogs</td><td>cats</td>"
    assert row in table_of(NAME, DATA)


@pytest.fixture
def figure(figure):
    """The figure with its first sentence, all heads on."""
    for switch in figure.get_by_role("button", name=re.compile(r"^head \d$")).all():
        if switch.get_attribute("aria-pressed") == "false":
            switch.click()
    figure.get_by_label("Sentence").select_option("0")
    return figure


def answers(data, sentence, on):
    """What the word that asks first is told: the best word and its chance in percent."""
    for asked in sentence["asked"]:
        if asked["place"] == sentence["start"]:
            logits = torch.tensor(data["base"][asked["question"]], dtype=torch.float64)
            logits = logits + torch.tensor(asked["votes"], dtype=torch.float64)[on].sum(0)
            chance, best = logits.softmax(-1).max(-1)
            yield f"{data['vocabulary'][best]} {round(100 * chance.item())}"


@pytest.mark.browser
def test_the_answers_are_those_of_the_heads_that_are_on(figure):
    data = json.loads(figure.page.locator("#multi-head-data").text_content())
    off = set()
    for change in ((), (0,), (0, 1), (1, 2, 3), (0, 1)):  # in the end all of them are off
        for head in change:
            figure.get_by_role("button", name=f"head {head + 1}", exact=True).click()
        off ^= {*change}
        on = [head for head in range(4) if head not in off]
        verdict = ":is(.heads-right, .heads-wrong)" if on else ".heads-guess"
        for number, sentence in enumerate(data["sentences"]):
            figure.get_by_label("Sentence").select_option(str(number))
            shown = figure.locator(verdict).all_text_contents()
            expected = list(answers(data, sentence, on))
            assert [text[2:].replace("%", "") for text in shown] == expected
    assert not on


@pytest.mark.browser
def test_words_obey_the_arrow_keys_and_the_change_is_read_out(figure):
    figure.locator(".heads-word[aria-pressed=true]").press("ArrowDown")
    data = json.loads(figure.page.locator("#multi-head-data").text_content())
    sentence = data["sentences"][0]
    place = sentence["start"] + 1
    focused = figure.locator(".heads-word:focus")
    assert focused.get_attribute("aria-pressed") == "true"
    figure.get_by_text(f"\u201c{sentence['words'][place]}\u201d with heads 1, 2, 3, 4").wait_for()
    shown = figure.locator(".heads-weight:nth-child(2)").all_text_contents()
    expected = sentence["weights"][0][place]
    assert [float(text or 0) for text in shown] == pytest.approx(expected, abs=0.0051)
