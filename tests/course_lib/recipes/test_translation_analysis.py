"""The analysis of translations equals counts by hand."""

import json
import shutil

import pytest
import torch

from course_lib.recipes import translation_analysis
from course_lib.recipes.translation_analysis import (
    attention_to_words,
    recall_by_frequency,
    repeated_bigram_share,
    score_by_length,
)
from course_lib.recipes.translation_model import Subwords, build_model
from course_lib.recipes.translation_run import Translator
from tests.course_lib.recipes.test_translation import (
    command,
    read_tiny_pairs,
    tiny_pairs,
    tiny_recipe,
)
from tests.course_lib.recipes.test_translation import trained as trained  # a fixture

SENTENCE, TRANSLATION = "Zwei Männer, laut.", "two men, loud."


def test_scores_by_length_equal_counts_by_hand():
    sources = ["one two", "a b c d e f g h", "x " * 20]
    references = ["eins zwei drei vier", "der Hund lief schnell weg", "y " * 20]
    translations = ["eins zwei drei vier", "die Katze sass ganz still da", "y " * 15]
    rows = score_by_length(sources, translations, references)
    bands = [("1 to 7", 1), ("8 to 10", 1), ("18 and more", 1)]
    assert [(row["words"], row["sentences"]) for row in rows] == bands
    assert rows[0]["bleu"] == pytest.approx(100)
    assert rows[1]["bleu"] < 10
    assert [row["length_ratio"] for row in rows] == [1, 1.2, 0.75]


def test_recall_by_frequency_equals_counts_by_hand():
    training = ["ein Hund"] * 5 + ["ein Iglu"]
    rows = recall_by_frequency(
        training,
        translations=["ein Hund Hund", "ein Haus"],
        references=["ein Hund ein Zebra", "ein Iglu"],
    )
    # never: Zebra; once: Iglu; five times: Hund, and ein six times
    assert rows == [
        {"times": "0", "words": 1, "recall": 0.0},
        {"times": "1 to 4", "words": 1, "recall": 0.0},
        {"times": "5 to 19", "words": 4, "recall": 0.75},
    ]


def test_repeated_bigrams_are_found():
    sentences = ["on a mat on a mat", "a b a c", "", "x x x", "one two three"]
    assert repeated_bigram_share(sentences) == 0.4


@pytest.fixture
def translator():
    recipe = tiny_recipe("num_encoder_layers=2", "num_decoder_layers=2", "dropout=0.0")
    subwords = Subwords.train([SENTENCE, TRANSLATION], vocab_size=270)
    torch.manual_seed(0)
    return Translator(build_model(recipe, len(subwords)), subwords)


def test_attention_of_words_sums_to_one(translator):
    shown = attention_to_words(translator, SENTENCE, TRANSLATION)
    assert shown["source"] == ["Zwei", "Männer,", "laut.", "[END]"]
    assert shown["translation"] == ["two", "men,", "loud.", "[END]"]
    weights = torch.tensor(shown["weights"])
    assert weights.shape == (2, 4, 4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4), atol=1e-3, rtol=0)


def test_attention_uses_the_device_of_the_model(translator):
    seen = []
    translator.model.to("meta")  # in place of a GPU
    translator.model.forward = lambda *tokens: seen.extend(ids.device.type for ids in tokens)
    attention_to_words(translator, SENTENCE, TRANSLATION)
    assert seen == ["meta", "meta"]


def test_attention_of_recurrent_model_is_rejected(translator):
    translator.model = torch.nn.Linear(1, 1)
    with pytest.raises(ValueError, match="Transformer"):
        attention_to_words(translator, SENTENCE, TRANSLATION)


# ---- the command ----


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    """A copy of the folder of a finished run."""
    read_tiny_pairs(monkeypatch)
    monkeypatch.setattr(translation_analysis, "read_multi30k", tiny_pairs)
    return shutil.copytree(trained, tmp_path / "run")


def analyse(run, *arguments):
    return command("analyse", run, *arguments, device=None)


def test_command_writes_and_prints_the_analysis(run):
    ran = analyse(run, "--sentence", 2, "--sentence", 3)
    assert ran.exit_code == 0, ran.output
    written = json.loads((run / "analysis.json").read_text())
    assert sum(row["sentences"] for row in written["by_length"]) == 8
    assert [entry["line"] for entry in written["attention"]] == [2, 3]
    (source, _), *_ = tiny_pairs("test_2016_flickr")[1:]
    assert written["attention"][0]["source"] == [*source.split(), "[END]"]
    assert "Sentences with a repeated bigram" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sentence", 9], "has 8 lines, and no line 9"),
        (["--split", "test_2017_flickr"], "evaluate the run on test_2017_flickr first"),
        (["--split", "test_2018_flickr"], "has 8 lines, its translation 1"),
    ],
)
def test_missing_line_or_translation_is_reported(run, arguments, words):
    (run / "translations" / "test_2018_flickr.txt").write_text("only one\n")
    ran = analyse(run, *arguments)
    assert ran.exit_code == 2
    assert words in ran.output
    assert not (run / "analysis.json").exists()
