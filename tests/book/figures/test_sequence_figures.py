"""The figures of the part on sequences, used in a browser: pointer, keyboard, and their numbers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from course_book.figures.beam_search.data import BeamSearch
from course_book.figures.gru_gates.data import GRUGates
from course_book.figures.word_neighbours.data import WordNeighbours
from playwright.sync_api import Locator

from course_lib.metrics.bleu import sentence_bleu
from tests.book.watched_page import depends_on_page, lift_veils, opened

CHAPTERS = (
    "bleu",
    "decoding",
    "language-models",
    "recurrent-networks",
    "sequence-to-sequence",
)
pytestmark = [
    pytest.mark.browser,
    *(depends_on_page(c, "course_lib", "tests/book/figures") for c in CHAPTERS),
]


class Shown(NamedTuple):
    """A figure on its page, and the data that the chapter gave it."""

    figure: Locator
    data: Any

    def press(self, *keys: str) -> None:
        for key in keys:
            self.figure.page.keyboard.press(key)

    def scroller(self, name: str) -> Locator:
        """Return what scrolls sideways, as one finds it with the keyboard: by its name."""
        found = self.figure.get_by_role("region", name=name, exact=True)
        found.focus()
        assert found.evaluate("region => region === document.activeElement")
        return found


@pytest.fixture
def show(chromium, site):
    @contextmanager
    def show_figure(name: str, chapter: str) -> Iterator[Shown]:
        address = (site / "book" / f"{chapter}.html").as_uri()
        with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
            lift_veils(watched.page)
            figure = watched.page.locator(f"[data-course-figure={name}]").first
            data_id = figure.get_attribute("data-course-data")
            data = json.loads(watched.page.locator(f"script#{data_id}").text_content())
            yield Shown(figure, data)
        assert watched.problems == []

    return show_figure


def test_gru_gates_reads_the_chosen_words(show):
    with show("gru-gates", "recurrent-networks") as shown:
        swap = shown.figure.locator(".gru-swap").first
        swap.click()  # with its noun exchanged, the sentence is another one
        words = shown.figure.locator(".gru-word")
        read = words.all_text_contents()
        assert read != shown.data["words"]
        gates, plural = GRUGates.from_json(shown.data | {"words": read}).read()
        percents = shown.figure.locator(".gru-plural").all_text_contents()
        assert [float(text.rstrip("%")) for text in percents] == pytest.approx(
            [100 * probability for probability in plural], abs=0.6
        )
        rings = shown.figure.locator(".gru-table tbody tr").last.locator(".gru-halo:visible")
        assert rings.count() > 0  # the exchange is still seen at the last word
        shown.figure.get_by_text("The numbers").click()
        words.nth(0).click()
        shown.press("ArrowDown")
        assert words.nth(1).get_attribute("aria-pressed") == "true"
        numbers = shown.scroller("Numbers of the chosen word")
        update = numbers.locator("tr", has_text="update gate").locator("td")
        assert [float(text) for text in update.all_text_contents()] == pytest.approx(
            gates[1], abs=0.006
        )


@pytest.mark.proof  # node runs its script in test_figure_arithmetic.py
def test_bottleneck_marks_what_is_not_the_source_backwards(show):
    with show("bottleneck", "sequence-to-sequence") as shown:
        shown.figure.locator("input[type=range]").focus()
        shown.press("End")
        group = shown.data["examples"][-1]
        for example in (group[0], group[1 % len(group)]):
            tokens = shown.figure.locator(".neck-written > span")
            places = max(len(example["source"]), len(example["written"]))
            assert tokens.count() == places
            truth = example["source"][::-1].ljust(places)
            wrong = sum(
                a != b for a, b in zip(example["written"].ljust(places), truth, strict=True)
            )
            assert shown.figure.locator(".is-wrong").count() == wrong
            shown.figure.get_by_role("button", name="Another source").click()
        share = int(100 * shown.data["right"][-1] + 0.5)  # a half goes up, as in the browser
        shown.figure.get_by_text(f"{share}% come out").wait_for()


@pytest.mark.proof  # node runs its script in test_figure_arithmetic.py
def test_beam_search_finds_what_the_library_finds(show):
    with show("beam-search", "decoding") as shown:
        width, step, alpha = shown.figure.locator("input[type=range]").all()
        width.focus()
        shown.press("End")
        alpha.fill("0.5")
        written, total = BeamSearch.from_json(shown.data).best(
            shown.data["sentences"][0], shown.data["widest"], 0.5
        )
        best = shown.scroller("Finished sentences, best first").locator("tr.is-best")
        name = best.locator("th").text_content().removesuffix(" \N{CHECK MARK}")
        assert name.replace(" ", "") == written.replace(" ", "")
        shown_total = best.locator("td").first.text_content().replace("\N{MINUS SIGN}", "-")
        assert float(shown_total) == pytest.approx(total, abs=0.006)
        nodes = shown.figure.locator(".beam-node")
        path = shown.figure.locator(".beam-node.is-best text:first-of-type").all_text_contents()
        assert "".join(path[:-1]) == written.replace(" ", "")  # the last one says: end
        step.focus()
        shown.press("Home")
        shown.figure.get_by_text("The search goes on.").wait_for()
        assert nodes.count() == 2 * shown.data["widest"]  # the candidates of the first step


def test_bleu_calculator_scores_the_readers_own_text(show):
    with show("bleu-calculator", "bleu") as shown:
        candidate = "the cat sat on a mat"
        shown.figure.get_by_label("Candidate").fill(candidate)
        shown.figure.get_by_label("References").fill("the cat sat on the mat\na cat sat on it")
        references = ["the cat sat on the mat", "a cat sat on it"]
        expected = sentence_bleu(candidate, references)
        shown.figure.get_by_text(f"BLEU {expected.score:.1f}", exact=True).wait_for()
        shown.figure.get_by_label("words").focus()
        shown.press("ArrowRight", "ArrowRight")  # from words to pairs to triples
        table = shown.scroller("Counts for each order")
        marked = table.locator("tr.is-marked td").all_text_contents()
        assert int(marked[1]) == expected.statistics.matches[2]


@pytest.mark.proof  # node runs its script in test_figure_arithmetic.py
def test_word_neighbours_are_those_of_the_library(show):
    with show("word-neighbours", "language-models") as shown:
        select = shown.figure.get_by_label("Word")
        word = shown.data["words"][3]
        select.select_option(label=word)
        kind = next(iter(shown.data["vectors"]))
        expected = WordNeighbours.from_json(shown.data).nearest(kind, 3, 8)
        names = shown.figure.locator(".near-name").all_text_contents()
        assert names == [name for name, _ in expected]
        cosines = shown.figure.locator(".near-number").all_text_contents()
        assert [float(text) for text in cosines] == pytest.approx(
            [cosine for _, cosine in expected], abs=0.006
        )
        shown.figure.locator(".near-name").first.click()  # on to the nearest
        assert select.locator("option:checked").inner_text() == expected[0][0]
        mark = shown.figure.locator(".near-mark").nth(3)
        mark.dispatch_event("click")
        assert select.locator("option:checked").inner_text() == word
        shown.figure.get_by_label(kind, exact=True).focus()
        shown.press("ArrowLeft")  # to the one-hot vectors
        assert set(shown.figure.locator(".near-number").all_text_contents()) == {"0.00"}
