"""The translation recipe trains, resumes, scores and translates, and reports wrong input."""

import json
import random
import shutil

import pytest
import torch
from typer.testing import CliRunner

from course_lib.metrics.bleu import corpus_bleu
from course_lib.recipes import translation, translation_evaluation, translation_run
from course_lib.recipes.run_folder import RunFolder, read_weights, with_settings
from course_lib.recipes.training_recipe import EpochBatches
from course_lib.recipes.translation_model import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    PRESETS,
    Subwords,
    build_model,
)
from course_lib.recipes.translation_run import (
    Translator,
    average_weights,
    best_steps,
    collate,
    length_of,
)
from tests.course_lib.power_cut import cut_off_at

WORDS = {"A": "Ein", "man": "Mann", "dog": "Hund", "runs": "läuft", "and": "und", "sits": "sitzt"}
TINY = [
    "src_vocab_size=280",
    "tgt_vocab_size=280",
    "d_model=16",
    "num_heads=2",
    "d_ff=16",
    "num_encoder_layers=1",
    "num_decoder_layers=1",
    "max_tokens=120",
    "warmup_steps=4",
    "learning_rate=0.01",
    "steps=12",
    "evaluate_every=4",
    "averaged=2",
]


def tiny_recipe(*settings):
    return with_settings(PRESETS["cpu"], [*TINY, *settings])


def tiny_pairs(split, src="en", tgt="de"):
    """Return (source, target) pairs of 1 to 4 words, translated word for word.

    ``src`` and ``tgt`` are ignored; they make the function replace ``read_multi30k``.
    """
    generator = random.Random(split)
    count = 40 if split == "train" else 8
    sources = [generator.choices(list(WORDS), k=1 + number % 4) for number in range(count)]
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in sources]


TEXTS = [sentence for pair in tiny_pairs("train") for sentence in pair]


def read_tiny_pairs(patch):
    """Make the recipe's modules read ``tiny_pairs`` in place of Multi30k."""
    for module in (translation_run, translation_evaluation, translation):
        patch.setattr(module, "read_multi30k", tiny_pairs)


@pytest.fixture
def tiny_corpus(monkeypatch):
    read_tiny_pairs(monkeypatch)


def words_of(settings):
    """Return the words ``--set NAME=VALUE`` of a command line for settings ``NAME=VALUE``."""
    return [word for setting in settings for word in ("--set", setting)]


def command(*arguments, settings=TINY, device="cpu", **options):
    """Run a command of the translation recipe; ``train`` gets ``settings`` (``NAME=VALUE``).

    Other ``options`` are those of ``CliRunner.invoke``.
    """
    arguments = [str(argument) for argument in arguments]
    if arguments[0] == "train":
        arguments += words_of(settings)
    where = [] if device is None else ["--device", device]
    return CliRunner().invoke(translation.app, [*arguments, *where], **options)


def train(folder, *arguments, **options):
    return command("train", "--out", folder, *arguments, **options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of one finished run; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        read_tiny_pairs(patch)
        assert train(folder).exit_code == 0
    return folder


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())


def outcome(folder):
    """Return the weights (bytes), history and translations in a finished run's folder."""
    history = json.loads((folder / "history.json").read_text())
    translations = (folder / "translations" / "test_2016_flickr.txt").read_text()
    return (folder / "model.safetensors").read_bytes(), history, translations


# ---- whole runs ----


@pytest.mark.parametrize("settings", [[], ["architecture=gru", "precision=bfloat16"]])
def test_run_writes_all_its_files(tiny_corpus, tmp_path, settings):
    ran = train(tmp_path, "--seed", 3, settings=TINY + settings)
    assert ran.exit_code == 0, ran.output
    assert "test_2016_flickr cased:" in ran.stdout
    summary = summary_of(tmp_path)
    assert (summary["finished"], summary["steps_done"], summary["recipe"]["seed"]) == (True, 12, 3)
    assert len(summary["weights_of_steps"]) == 2
    scores = summary["scores"]["test_2016_flickr"]
    assert "case:mixed" in scores["cased"]["signature"]
    assert "case:lc" in scores["lowercased"]["signature"]
    assert scores["sentences"] == 8
    history = json.loads((tmp_path / "history.json").read_text())
    assert len(history["training_loss"]) == 12
    steps, losses = zip(*history["validation_loss"], strict=True)
    assert steps == (4, 8, 12)
    assert losses[-1] < losses[0]
    card = (tmp_path / "README.md").read_text()
    assert f"{scores['cased']['bleu']:.2f}" in card
    assert "non-commercial" in card
    assert (tmp_path / "curves.svg").read_text().startswith("<svg xmlns")


def test_weights_of_a_step_are_evaluated_beside_the_others(tiny_corpus, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    before = outcome(run)
    ran = command("evaluate", run, "--split", "test_2017_flickr", "--step", 8, "--beam-size", 2)
    assert ran.exit_code == 0, ran.output
    assert outcome(run) == before
    scores, name = summary_of(run)["scores"], "test_2017_flickr, beam 2, step 8"
    assert set(scores) == {"test_2016_flickr", name}
    history = dict(before[1]["validation_loss"])
    assert scores[name]["validation_loss"] == pytest.approx(history[8], abs=2e-5)
    assert (run / "translations" / f"{name}.txt").exists()
    missing = command("evaluate", run, "--step", 7)
    assert missing.exit_code == 2
    assert "step-000007.safetensors is not there" in missing.output


def test_best_weights_are_averaged(trained):
    folder = RunFolder(trained)
    steps = summary_of(trained)["weights_of_steps"]
    kept = [read_weights(folder.weights_at(step)) for step in steps]
    for name, tensor in read_weights(folder.model).items():
        torch.testing.assert_close(tensor, torch.stack([w[name] for w in kept]).mean(dim=0))


def interrupt_at(number, patch):
    """Make training stop, as by Ctrl-C, when it draws batch ``number``."""
    cut_off_at(patch, EpochBatches, number, error=KeyboardInterrupt)


def test_interrupted_run_resumes_to_the_bit(tiny_corpus, trained, tmp_path, monkeypatch):
    for number in (6, 9):
        with monkeypatch.context() as patch:
            interrupt_at(number, patch)
            stopped = train(tmp_path / "parts")
        assert stopped.exit_code == 130
        assert "The same command resumes" in stopped.stderr
    assert train(tmp_path / "parts").exit_code == 0
    assert outcome(tmp_path / "parts") == outcome(trained)


def test_seed_changes_the_run(tiny_corpus, trained, tmp_path):
    train(tmp_path, "--seed", 2)
    first, second = (read_weights(run / "model.safetensors") for run in (trained, tmp_path))
    assert not any(torch.equal(first[name], second[name]) for name in first if "weight" in name)


def test_unfinished_run_is_evaluated_and_reported(tiny_corpus, tmp_path, monkeypatch):
    interrupt_at(9, monkeypatch)
    train(tmp_path)
    ran = command("evaluate", tmp_path)
    assert ran.exit_code == 0, ran.output
    assert "not finished: 8 steps are done" in ran.stdout
    assert not summary_of(tmp_path)["finished"]
    assert summary_of(tmp_path)["weights_of_steps"] == [8]
    assert "12: **the run is not finished**" in (tmp_path / "README.md").read_text()
    monkeypatch.undo()
    read_tiny_pairs(monkeypatch)
    assert train(tmp_path).exit_code == 0
    assert summary_of(tmp_path)["finished"]
    monkeypatch.setattr(translation_run, "EpochBatches", None)
    assert train(tmp_path).exit_code == 0  # a finished run is only scored


def test_translates_line_by_line(trained, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("A man runs\n\nA dog\n", encoding="utf-8")
    from_file = command("translate", trained, text)
    assert from_file.exit_code == 0, from_file.output
    lines = from_file.stdout.split("\n")
    assert len(lines) == 4
    assert lines[1] == lines[3] == ""
    assert lines[0]
    piped = command("translate", trained, input="A man runs\n\nA dog\n")
    assert piped.stdout == from_file.stdout


@pytest.mark.gpu
def test_runs_on_a_gpu_compiled_in_half_precision(tiny_corpus, tmp_path):
    changes = ["precision=bfloat16", "compiled=true"]
    ran = train(tmp_path, settings=TINY + changes, device="cuda")
    assert ran.exit_code == 0, ran.output
    (_, first), *_, (_, last) = json.loads((tmp_path / "history.json").read_text())[
        "validation_loss"
    ]
    assert last < first


# ---- wrong input ----


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["src_vocab_size=100", "tgt_vocab_size=100"], "vocab_size must be at least 259, got 100"),
        (["tgt=en"], "src and tgt must differ"),
        (["tgt=cs"], "tgt must be one of"),
        (["architecture=rnn"], "architecture must be one of"),
        (["smoothing=1"], "smoothing must be at least 0 and below 1, got 1.0"),
        (["length_alpha=-1"], "alpha must be at least 0 and finite, got -1.0"),
    ],
)
def test_invalid_setting_is_rejected_before_a_folder_is_made(
    tiny_corpus, tmp_path, settings, message
):
    ran = train(tmp_path, settings=TINY + settings)
    assert ran.exit_code == 2
    assert message in ran.stderr
    assert list(tmp_path.iterdir()) == []  # so that the next attempt can use the folder


@pytest.mark.parametrize("name", ["model.safetensors", "subwords.json", "recipe.json"])
@pytest.mark.parametrize("content", [None, b"", b'{"a": 1}'])
def test_malformed_or_missing_file_is_named(trained, tmp_path, name, content):
    run = shutil.copytree(trained, tmp_path / "run")
    if content is None:
        (run / name).unlink()
        (run / "checkpoint.pt").write_bytes(b"no state")
    else:
        (run / name).write_bytes(content)
    ran = command("translate", run, input="A man")
    assert ran.exit_code == 2
    named = "checkpoint.pt is no state of a run" if (content, name[0]) == (None, "m") else str(run)
    assert named in ran.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n\n", "holds no text: nothing to translate"),
        (b"\xff\xfe", "is no text in UTF-8"),
        (None, "can't be read: No such file"),
        (b"word " * 500, "split it"),
    ],
)
def test_untranslatable_text_is_rejected(trained, tmp_path, content, message):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    ran = command("translate", trained, text)
    assert ran.exit_code == 2
    assert message in ran.stderr
    assert ran.stdout == ""


# ---- the parts ----


def test_subwords_round_trip_any_text():
    texts = ["Ein Mädchen läuft.", "naïve £5 – „ja“", "x  y", "日本 \U0001f600", "[END] [PAD]"]
    subwords = Subwords.train(TEXTS, vocab_size=300)
    assert len(subwords) <= 300
    encoded = subwords.encode(texts)
    assert [subwords.decode(ids) for ids in encoded] == texts
    assert not {PAD_ID, BOS_ID, EOS_ID} & {token for ids in encoded for token in ids}
    assert subwords.decode([BOS_ID, *encoded[0], EOS_ID, PAD_ID]) == texts[0]
    with pytest.raises(TypeError, match="sentences must hold strings, got the string 'one text'"):
        subwords.encode("one text")
    with pytest.raises(TypeError, match="texts must hold strings, got the string 'one text'"):
        Subwords.train("one text", vocab_size=300)


@pytest.mark.parametrize("pair", [([5, 6, 7], [8]), ([5], [6, 7, 8, 9]), ([], [])])
def test_length_of_pair_equals_its_batch_length(pair):
    batch = collate([pair])
    assert length_of(pair) == max(batch.src.size(1), batch.tgt_output.size(1))


def test_weights_of_best_steps_are_averaged():
    first = {"a": torch.tensor([1.0, 2.0]), "n": torch.tensor([3], dtype=torch.int64)}
    second = {"a": torch.tensor([2.0, 6.0]), "n": torch.tensor([3], dtype=torch.int64)}
    averaged = average_weights(iter([first, second]))
    assert averaged["a"].tolist() == [1.5, 4.0]
    assert averaged["n"].dtype == torch.int64
    assert best_steps([(10, 3.0), (20, 1.0), (30, 2.0), (40, 2.5)], 2) == [20, 30]
    with pytest.raises(ValueError, match="at least one"):
        average_weights([])
    with pytest.raises(ValueError, match="same names"):
        average_weights([first, {"a": torch.zeros(2)}])


@pytest.mark.parametrize("architecture", ["transformer", "gru"])
def test_translation_is_independent_of_its_neighbours(architecture):
    subwords = Subwords.train(TEXTS, vocab_size=280)
    torch.manual_seed(0)
    recipe = tiny_recipe(f"architecture={architecture}")
    translator = Translator(build_model(recipe, len(subwords)), subwords)
    sentences = ["A man", "A dog runs and sits and runs", "", "man"]
    options = {"beam_size": 3, "length_alpha": 1.0}
    together = translator.translate(sentences, **options)
    alone = [translator.translate([sentence], **options)[0] for sentence in sentences]
    assert together == alone
    assert together[2] == ""


def test_scores_equal_corpus_bleu():
    references = [tgt for _, tgt in tiny_pairs("test")]
    translations = [*references[:-5], *(text.lower() for text in references[-5:])]
    scores = translation_evaluation.score(translations, references)
    ours = corpus_bleu(translations, [[reference] for reference in references])
    assert scores["cased"]["bleu"] == round(ours.score, 2) < 100
    assert scores["lowercased"]["bleu"] == 100
    with pytest.raises(ValueError, match="as many"):
        translation_evaluation.score(translations, references[1:])


def test_gru_is_bidirectional_with_dropout():
    recipe = PRESETS["gru"]
    model = build_model(recipe, recipe.model.src_vocab_size)
    assert model.decoder.bridge.in_features == 2 * recipe.model.d_model
    assert sum(isinstance(module, torch.nn.Dropout) for module in model.modules()) > 0
