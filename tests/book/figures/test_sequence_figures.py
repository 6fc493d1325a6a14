"""The figures about sequences compute what ``course_lib`` computes, in node and in the page."""

import json
import random
import re
from typing import Any

import pytest
import torch
from course_book.figures.registry import FIGURES

from course_lib.layers.recurrent_cells import GRUCell
from course_lib.metrics.bleu import sentence_bleu, tokenize_13a
from tests.book.figures.conftest import data_of, figure_test, numbers, run_script


def read(name: str, data: Any) -> Any:
    """Return the checked ``Figure`` with this name and these data."""
    return FIGURES[name].model_validate_json(json.dumps(data))


@figure_test("gru-gates")
def test_gates_and_predictions_equal_the_librarys_after_a_swap(figure):
    figure.locator(".gru-swap").first.click()
    words, data = figure.locator(".gru-word"), data_of(figure)
    swapped = words.all_text_contents()
    assert swapped != data["words"]
    gates, plural = read("gru-gates", data | {"words": swapped}).read()
    expected = [100 * probability for probability in plural]
    assert numbers(figure.locator(".gru-plural")) == pytest.approx(expected, abs=0.6)
    figure.get_by_text("The numbers").click()
    words.nth(0).click()
    figure.page.keyboard.press("ArrowDown")
    table = figure.get_by_role("region", name="Numbers of the chosen word", exact=True)
    update = table.locator("tr", has_text="update gate").locator("td")
    assert numbers(update) == pytest.approx(gates[1], abs=0.006)


def test_the_gru_in_node_equals_the_librarys():
    torch.manual_seed(0)
    cell, names = GRUCell(2, 3), [f"w{i}" for i in range(4)]
    data = {
        f"{part}_{kind}": getattr(getattr(cell, f"{part}_projection"), kind).tolist()
        for part in ("input", "hidden")
        for kind in ("weight", "bias")
    } | {
        "words": names,
        "swaps": {"w0": "w1"},
        "embedding": {name: torch.randn(2).tolist() for name in names},
        "output_weight": torch.randn(3).tolist(),
        "output_bias": 0.3,
        "note": "",
    }
    gates, plural = read("gru-gates", data).read()
    steps = run_script("gru-gates/cell.js", "courseGRU.read(data, data.words)", data)
    for step, row, probability in zip(steps, gates, plural, strict=True):
        assert [unit["update"] for unit in step["units"]] == pytest.approx(row, abs=1e-5)
        assert step["plural"] == pytest.approx(probability, abs=1e-5)


@pytest.mark.proof
@figure_test("bottleneck")
def test_wrong_letters_are_those_that_differ_from_the_source_backwards(figure):
    data = data_of(figure)
    figure.locator("input[type=range]").press("End")
    group = data["examples"][-1]
    for example in (group[0], group[1 % len(group)]):
        places = max(len(example["source"]), len(example["written"]))
        assert figure.locator(".neck-written > span").count() == places
        truth = example["source"][::-1].ljust(places)
        pairs = zip(example["written"].ljust(places), truth, strict=True)
        assert figure.locator(".is-wrong").count() == sum(a != b for a, b in pairs)
        figure.get_by_role("button", name="Another source").click()
    share = int(100 * data["right"][-1] + 0.5)  # a half is rounded up, as in JavaScript
    figure.get_by_text(f"{share}% come out").wait_for()


def a_tree() -> dict[str, Any]:
    """Return data of the figure ``beam-search`` with random probabilities of the next words.

    Every beginning of up to three words has next words, of which one is the end.
    """
    dice = random.Random(0)
    words = [*"abcdefg", "<end>"]
    followers: dict[str, list[list[Any]]] = {}

    def grow(beginning: tuple[str, ...]) -> None:
        shares = [dice.random() ** 2 for _ in words]
        logs = [float(torch.tensor(share / sum(shares)).log()) for share in shares]
        pairs = sorted(zip(words, logs, strict=True), key=lambda pair: -pair[1])
        followers[" ".join(beginning)] = [[word, gain] for word, gain in pairs]
        if len(beginning) < 3:
            for word in words[:-1]:
                grow((*beginning, word))

    grow(())
    sentence = {"name": "", "source": "s", "truth": "a .", "next": followers}
    return {"sentences": [sentence], "widest": 3, "end": "<end>", "max_steps": 4, "note": ""}


def test_the_beam_search_in_node_equals_the_librarys():
    data = a_tree()
    figure = read("beam-search", data)
    settings = [(width, alpha) for width in (1, 2, 3) for alpha in (0.0, 0.7, 1.5)]
    found = run_script(
        "beam-search/search.js",
        "data.settings.map(([width, alpha]) => courseBeamSearch.search("
        "(words) => data.next[words.join(' ')] || [], "
        "{ width, alpha, end: '<end>', maxSteps: 4 }).results[0])",
        {"next": data["sentences"][0]["next"], "settings": settings},
    )
    different = set()
    for (width, alpha), result in zip(settings, found, strict=True):
        written, total = figure.best(figure.sentences[0], width, alpha)
        assert " ".join(w for w in result["words"] if w != "<end>") == written
        assert result["total"] == pytest.approx(total, abs=1e-4)
        different.add(written)
    assert len(different) > 1  # the settings matter


@figure_test("bleu-calculator")
def test_bleu_of_the_readers_own_text_equals_the_librarys(figure):
    candidate = "the cat sat on a mat"
    references = ["the cat sat on the mat", "a cat sat on it"]
    figure.get_by_label("Candidate").fill(candidate)
    figure.get_by_label("References").fill("\n".join(references))
    expected = sentence_bleu(candidate, references)
    figure.get_by_text(f"BLEU {expected.score:.1f}", exact=True).wait_for()
    figure.get_by_label("words").focus()
    for _ in range(2):  # from words to pairs to triples
        figure.page.keyboard.press("ArrowRight")
    table = figure.get_by_role("region", name="Counts for each order", exact=True)
    marked = table.locator("tr.is-marked td").all_text_contents()
    assert int(marked[1]) == expected.statistics.matches[2]


TEXTS = [
    ("the cat the cat on the mat", ["the cat is on the mat", "there is a cat on the mat"]),
    ("The court found that", ["The court found that the minister was not guilty of fraud."]),
    ("It's 3.5 km, isn't it?", ["It is 3.5km, isn't it?", "It's 3,5 km - isn't it"]),
    ('She said: "No [way]!" &amp; left.', ["She said \u201cno way\u201d and left."]),
    ("one two", ["three four five"]),
    ("a b c d e", ["a b c d e f", "a b c d"]),
]


def test_bleu_in_node_equals_the_librarys():
    scores = run_script(
        "bleu-calculator/bleu.js",
        "data.map(([candidate, references]) => ({ tokens: courseBLEU.tokenize(candidate), "
        "...courseBLEU.score(courseBLEU.tokenize(candidate), "
        "references.map(courseBLEU.tokenize)) }))",
        TEXTS,
    )
    for (candidate, references), found in zip(TEXTS, scores, strict=True):
        expected = sentence_bleu(candidate, references)
        assert found["tokens"] == tokenize_13a(candidate)
        assert tuple(o["matches"] for o in found["orders"]) == expected.statistics.matches
        assert tuple(o["total"] for o in found["orders"]) == expected.statistics.totals
        assert found["factor"] == pytest.approx(expected.brevity_penalty)
        assert found["bleu"] == pytest.approx(expected.score)


def test_words_on_the_map_lie_at_their_principal_components():
    torch.manual_seed(0)
    vectors = torch.randn(40, 6, dtype=torch.float64) * torch.tensor([5.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    centred = unit - unit.mean(0)
    expected = centred @ torch.linalg.svd(centred).Vh[:2].T
    places = run_script(
        "word-neighbours/map.js", "courseWordMap.principalPlaces(data)", vectors.tolist()
    )
    for got, axis in zip(torch.tensor(places, dtype=torch.float64).T, expected.T, strict=True):
        sign = torch.sign(got @ axis)
        assert torch.allclose(sign * got, axis, atol=1e-5)


@pytest.mark.proof
@figure_test("word-neighbours")
def test_neighbours_and_cosines_equal_the_librarys(figure):
    data, select = data_of(figure), figure.get_by_label("Word")
    select.select_option(label=data["words"][3])
    method = next(iter(data["vectors"]))
    expected = read("word-neighbours", data).nearest(method, 3, 8)
    names = figure.locator(".near-name")
    assert names.all_text_contents() == [name for name, _ in expected]
    cosines = numbers(figure.locator(".near-number"))
    assert cosines == pytest.approx([cosine for _, cosine in expected], abs=0.006)
    names.first.click()
    assert select.locator("option:checked").inner_text() == expected[0][0]
    figure.locator(".near-mark").nth(3).dispatch_event("click")
    assert select.locator("option:checked").inner_text() == data["words"][3]
    figure.get_by_label(method, exact=True).press("ArrowLeft")  # to the one-hot vectors
    assert set(numbers(figure.locator(".near-number"))) == {0}


@figure_test("bpe-merges")
def test_merges_join_tokens_and_lose_no_letter(figure):
    slider, counts, texts = figure.locator("input[type=range]"), [], set()
    for place in range(int(slider.get_attribute("max")) + 1):
        slider.fill(str(place))
        tokens = figure.locator(".merges-token").all_text_contents()
        assert figure.locator("[data-count=tokens]").inner_text() == str(len(tokens))
        counts.append(len(tokens))
        texts.add(re.sub("<..><..>|[éè]", "?", "".join(tokens)))  # letters of two bytes
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 2 * counts[-1]
    assert len(texts) == 1
