"""Every topic of the benchmarks runs at toy sizes, and compares both results."""

import importlib
import re

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import (
    attention,
    beam_search,
    bert,
    bleu,
    generation,
    gpt,
    measure,
    recurrent,
    tokenization,
    transformer,
)
from benchmarks.measure import compare, readable, table
from tests.daily import with_proofs

TINY = {"vocab_size": 50, "d_model": 16, "num_heads": 2, "num_layers": 1}


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Reduce all topics to two timed pairs and short texts."""

    def few(*args, pairs=2, **options):
        return compare(*args, pairs=2, **options)

    for name in TOPICS:
        topic = importlib.import_module(f"benchmarks.{name}")
        monkeypatch.setattr(topic, "compare", few)
    monkeypatch.setattr(recurrent, "LENGTH", 6)
    monkeypatch.setattr(beam_search, "NEW_TOKENS", 4)


def generation_rows():
    """Return a tiny model's rows of the table on generation: greedy, beam search, one token."""
    ours, theirs = generation.build_pair(TINY, "cpu")
    return [
        generation.greedy_row("tiny", ours, theirs, 2, 4, pairs=2, device="cpu"),
        generation.beam_row("tiny", ours, theirs, 4, pairs=2, device="cpu"),
        generation.token_row(ours, 20, "cpu"),
    ]


TOPICS = {
    "attention": lambda: [
        *attention.rows_of_size(2, 6, 16, 2, "cpu"),
        *attention.long_rows(300, 2, "cpu"),
    ],
    "beam_search": lambda: [
        beam_search.row("tiny", beam_search.BARE, 2, 50, "cpu"),
        beam_search.state_row("cpu"),
    ],
    "bert": lambda: [
        bert.forward_row(2, 8, 16, 2, 1, padded=True, pairs=2, device="cpu"),
        bert.step_row(2, 16, 16, 2, 1, pairs=2, device="cpu"),
    ],
    "bleu": lambda: [
        bleu.corpus_row(20, 2, tokenised=False, pairs=2),
        bleu.corpus_row(20, 1, tokenised=True, pairs=2),
    ],
    "generation": generation_rows,
    "gpt": lambda: [gpt.step_row(2, 8, 16, 2, 1, pairs=2, device="cpu")],
    "recurrent": recurrent.rows,
    "tokenization": lambda: [tokenization.row("tiny", "low lower é 日本" * 20, length=50)],
    "transformer": lambda: [
        transformer.step_row(2, 8, 16, 2, 32, 1, dropout=0.1, pairs=2, device="cpu")
    ],
}


def test_each_topic_has_a_test():
    assert set(command.topics()) == set(TOPICS)


@pytest.mark.parametrize(
    "topic", with_proofs(TOPICS, ["beam_search", "bert", "generation", "gpt", "recurrent"])
)
def test_topic_runs_at_a_toy_size(topic, monkeypatch):
    monkeypatch.setattr(measure.torch.cuda, "is_available", lambda: False)
    found = TOPICS[topic]()
    assert found
    for line in found:
        assert line.low <= line.ratio <= line.high
        assert min(line.ours, line.theirs, line.ratio) > 0
        assert line.what
        assert line.peer
    assert len(table(found).splitlines()) == len(found) + 2


@pytest.mark.parametrize("topic", [attention, recurrent])
def test_wrong_result_is_not_timed(topic, monkeypatch):
    monkeypatch.setattr(measure.torch.cuda, "is_available", lambda: False)
    name = "copy_torch_attention" if topic is attention else "copy_weights"
    monkeypatch.setattr(topic, name, lambda *args: None)  # so they have other weights
    monkeypatch.setattr(topic, "compare", lambda *args, **options: pytest.fail("it was timed"))
    with pytest.raises(AssertionError, match="not close"):
        TOPICS[topic.__name__.rpartition(".")[2]]()


class Clock:
    """Stands for the module ``time``: work takes exactly as long as the test says."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def passing(self, *seconds):
        """Return a function that advances the clock by the next of these seconds at each call."""
        each = iter(seconds)

        def work():
            self.now += next(each)

        return work


def test_first_pair_warms_up_and_ratio_is_the_median(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    ours, theirs = clock.passing(99, 1, 2, 4), clock.passing(1, 3, 4, 4)
    line = compare("work", ours, "`peer`", theirs, pairs=3, units=2, target=1.5)
    assert (line.ours, line.theirs, line.ratio, line.pairs) == (1.0, 2.0, 2.0, 3)
    assert (line.low, line.high) == (1.0, 3.0)


def test_order_of_a_pair_alternates(monkeypatch):
    order = []
    compare("work", lambda: order.append("ours"), "`peer`", lambda: order.append("theirs"), pairs=3)
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs", "theirs", "ours"]


def test_too_few_pairs_are_rejected():
    with pytest.raises(ValueError, match="pairs must be at least 2, got 1"):
        compare("work", list, "`peer`", list, pairs=1)


@pytest.mark.parametrize(("ratio", "marked"), [(1.49, True), (1.5, False)])
def test_ratio_below_its_target_is_marked(ratio, marked):
    line = measure.Comparison(
        what="work", peer="`peer`", device="cpu", ours=1.0, theirs=ratio, ratio=ratio, low=1.0,
        high=2.0, pairs=3, target=1.5,
    )  # fmt: skip
    assert ("**short**" in table([line])) is marked


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.345, "12.3 s"), (1.25e-3, "1.25 ms"), (4.5e-7, "450 ns"), (2e-6, "2 µs")],
)
def test_time_has_a_suitable_unit(seconds, words):
    assert readable(seconds) == words


def test_figures_are_written_only_between_the_markers(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    page = f"before\n{command.BEGIN}\nold\n{command.END}\nafter\n"
    (tmp_path / "README.md").write_text(page)
    line = measure.Comparison(
        what="work", peer="`peer`", device="cpu", ours=1.0, theirs=2.0, ratio=2.0, low=1.0,
        high=3.0, pairs=3,
    )  # fmt: skip
    command.write_readme({"beam_search": [line]})
    text = (tmp_path / "README.md").read_text()
    assert text.startswith(f"before\n{command.BEGIN}\n")
    assert text.endswith(f"{command.END}\nafter\n")
    assert "old" not in text
    assert "### beam search" in text
    assert "| work | `peer` | cpu | 1 s | 2 s | 2.00 (1.00 to 3.00) |" in text
    assert re.search(rf"torch {re.escape(torch.__version__)}", text)


def test_readme_without_markers_is_unchanged(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    page = f"before\n{command.BEGIN}\nold, and no end\n"
    (tmp_path / "README.md").write_text(page)
    with pytest.raises(SystemExit, match="needs the lines"):
        command.write_readme({})
    assert (tmp_path / "README.md").read_text() == page


def test_unknown_topic_is_rejected(monkeypatch, capsys):
    monkeypatch.setattr(command.sys, "argv", ["benchmarks", "speed"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert "no such topic: speed" in capsys.readouterr().err


def test_help_names_time_and_memory(monkeypatch, capsys):
    monkeypatch.setattr(command.sys, "argv", ["benchmarks", "--help"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in ("minutes", "GB of memory", "Nothing is downloaded", "benchmarks.autograder"):
        assert words in shown
