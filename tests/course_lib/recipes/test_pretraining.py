"""The recipe for a small BERT pre-trains, resumes to the bit, and compares fairly."""

import dataclasses
import itertools
import json

import pytest
import torch
from typer.testing import CliRunner

from course_lib.data.bert_pretraining import NOT_MASKED, BertInput
from course_lib.data.corpora.readers import MinimalPair
from course_lib.models.bert_heads import BertForPreTraining, PreTrainingLogits, pretraining_loss
from course_lib.recipes import finetuning, pretraining
from course_lib.recipes.finetuning import acceptability, first_of_each, intents
from course_lib.recipes.pretraining_data import (
    SIZES,
    CachedTokenizer,
    Example,
    PretrainingRecipe,
    collate,
    learn_vocabulary,
    length_of,
    mask_batch,
    paired_examples,
    split_in_half,
    split_speeches,
)
from course_lib.recipes.run_folder import RunError, with_settings
from course_lib.recipes.training_recipe import EpochBatches
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import WordPiece
from tests.course_lib.power_cut import cut_off_at

CPU = torch.device("cpu")
RECIPE = PretrainingRecipe(
    model=dataclasses.replace(
        SIZES, vocab_size=60, num_layers=1, d_model=8, num_heads=2, d_ff=32, max_length=16
    ),
    max_tokens=128,
    steps=6,
    warmup_steps=2,
    evaluate_every=2,
    blimp_epochs=2,
    blimp_training_pairs=6,
    blimp_test_pairs=3,
)
ANIMALS, PLACES = ("cat", "dog", "cow", "hen"), ("mat", "road", "field", "roof")
TWO = intents("two", [("a cat", "x"), ("a dog", "y")], [("a cat", "x")], epochs=1)
DOCUMENTS = [
    split_in_half(f"the {animal} sat on the {place} and slept there") for animal in ANIMALS
    for place in PLACES
] * 5  # fmt: skip


OPTIONS = {"seed": 2, "device": CPU, "progress": False, "corpora": [DOCUMENTS]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a finished run of pre-training."""
    path = tmp_path_factory.mktemp("bert")
    pretraining.run_pretraining(RECIPE, path, **OPTIONS)
    return path


@pytest.fixture
def vocabulary(folder):
    return Vocabulary.read(folder / "vocab.txt")


@pytest.fixture
def words(vocabulary):
    return CachedTokenizer(vocabulary)


@pytest.fixture
def examples(words, vocabulary):
    """BERT's training examples, pairs of sentences from the first nine DOCUMENTS."""
    return paired_examples(DOCUMENTS[:9], words, vocabulary, max_length=16, seed=1)


def test_interrupted_run_resumes_to_the_bit(folder, tmp_path, monkeypatch):
    cut_off_at(monkeypatch, EpochBatches, 5)
    with pytest.raises(InterruptedError):
        pretraining.run_pretraining(RECIPE, tmp_path, **OPTIONS)
    monkeypatch.undo()
    torch.manual_seed(99)
    summary = pretraining.run_pretraining(RECIPE, tmp_path, **OPTIONS)
    expected = json.loads((folder / "pretraining.json").read_text())
    for name in ("token_loss", "token_accuracy", "next_loss", "evaluations", "steps", "finished"):
        assert summary[name] == expected[name], name
    files = [path / "model.safetensors" for path in (folder, tmp_path)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_accumulated_update_equals_that_of_one_large_batch(tmp_path):
    # Half of the documents are short, so that batches have different numbers of pairs.
    documents = DOCUMENTS + [[text.split()[0] for text in document] for document in DOCUMENTS]
    recipe = with_settings(RECIPE, ["steps=3", "evaluate_every=3", "dropout=0.0", "accumulation=4"])
    pretraining.run_pretraining(recipe, tmp_path, **OPTIONS | {"corpora": [documents]})
    first = json.loads((tmp_path / "history.json").read_text())["training_loss"][0]

    vocabulary = Vocabulary.read(tmp_path / "vocab.txt")
    examples, _ = pretraining.split_examples([documents], vocabulary, recipe, 2)
    batches = EpochBatches(examples, length_of, max_tokens=recipe.max_tokens, seed=2)
    torch.manual_seed(2)
    model = BertForPreTraining(dataclasses.replace(recipe.model, vocab_size=len(vocabulary)))
    sums = counts = torch.zeros(2)
    for number in range(4):
        masked = mask_batch(collate(batches.draw(number), CPU), vocabulary, 2 * 1_000_003 + number)
        count = torch.tensor([int((masked.labels != NOT_MASKED).sum()), len(masked.next_labels)])
        sums = sums + pretraining.pretraining_losses(model, masked).detach() * count
        counts = counts + count
    assert first == pytest.approx((sums / counts).sum().item(), abs=6e-5)


def test_pairs_stay_within_a_corpus(vocabulary, words):
    corpora = [[[animal, animal]] * 200 for animal in ANIMALS]
    for examples in pretraining.split_examples(corpora, vocabulary, RECIPE, 0):
        assert {example.label for example in examples} == {0, 1}
        for example in examples:
            pieces = set(example.input.token_ids) - set(vocabulary.special_ids)
            assert pieces in [set(words.encode(animal)) for animal in ANIMALS]


def test_losses_and_scores_equal_those_of_all_logits(folder, vocabulary, examples):
    model = finetuning.load_pretrained(folder, RECIPE, CPU).eval()
    batch = mask_batch(collate(examples, CPU), vocabulary, 0)
    unmasked = batch._replace(labels=torch.full_like(batch.labels, NOT_MASKED))
    for given in (batch, unmasked):
        loss = pretraining.pretraining_losses(model, given).sum()
        logits = model(given.token_ids, given.segment_ids)
        torch.testing.assert_close(loss, pretraining_loss(logits, given.labels, given.next_labels))
        loss.backward()
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)

    in_order = sorted(examples, key=lambda example: len(example.input.token_ids))
    recipe = with_settings(RECIPE, ["max_tokens=400"])
    scores = pretraining.score_pretraining(model, examples, vocabulary, recipe, CPU)
    batch = mask_batch(collate(in_order, CPU), vocabulary, 0)
    logits = PreTrainingLogits(*model(batch.token_ids, batch.segment_ids))
    chosen = batch.labels != NOT_MASKED
    right = logits.tokens.argmax(-1)[chosen] == batch.labels[chosen]
    assert scores.token_accuracy == pytest.approx(right.double().mean().item())
    loss = pretraining_loss(logits, batch.labels, batch.next_labels).item()
    assert scores.token_loss + scores.next_loss == pytest.approx(loss, rel=1e-5)
    assert not model.training


def test_finetuning_compares_both_starts_and_keeps_results(folder, monkeypatch):
    pairs = [
        MinimalPair(f"the {animal} sat on the {place}", f"the {place} sat {animal} on", "order")
        for animal in ANIMALS
        for place in PLACES
    ]
    task = acceptability(pairs, RECIPE)
    summary = finetuning.run_finetuning(RECIPE, folder, [task], seeds=2, device=CPU, progress=False)
    for measure in ("accuracy", "pair_accuracy"):
        compared = summary["tasks"]["blimp"][measure]
        ours, random = (compared[start]["values"] for start in finetuning.STARTS)
        assert compared["gain"]["values"] == pytest.approx(
            [a - b for a, b in zip(ours, random, strict=True)], abs=1e-4
        )
        assert len(ours) == 2
    paths = sorted((folder / "finetuning").glob("blimp*"))
    results = [json.loads(path.read_text()) for path in paths]
    starts = list(itertools.product(("pre-trained", "random"), (0, 1)))
    assert [(result["start"], result["seed"]) for result in results] == starts
    assert len({r["steps"] for r in results}) == 1
    spent = sum(r["cpu_seconds"] for r in results) + summary["pretraining"]["cpu_seconds"]
    assert summary["total_cpu_seconds"] == pytest.approx(spent, abs=0.2)

    monkeypatch.delattr(finetuning, "train")  # a second training fails
    again = finetuning.run_finetuning(RECIPE, folder, [task], seeds=2, device=CPU)
    assert again["tasks"] == summary["tasks"]
    other = with_settings(RECIPE, ["finetuning_rate=0.5"])
    with pytest.raises(RunError, match=r"finetuning holds a run with finetuning_rate=0\.001"):
        finetuning.run_finetuning(other, folder, [task], seeds=2, device=CPU)
    assert json.loads((folder / "summary.json").read_text()) == again


def test_commands_pretrain_and_finetune(tmp_path, monkeypatch):
    monkeypatch.setattr(pretraining, "read_texts", lambda: [DOCUMENTS])
    monkeypatch.setattr(pretraining, "read_tasks", lambda recipe: [TWO])
    values = dataclasses.asdict(RECIPE) | dataclasses.asdict(RECIPE.model)
    settings = [f"{k}={v}" for k, v in values.items() if k not in ("compiled", "model")]
    options = [word for setting in settings for word in ("--set", setting)]
    command = ["pretrain", str(tmp_path), "--device", "cpu", *options]
    ran = CliRunner().invoke(pretraining.app, command)
    assert ran.exit_code == 0, ran.output
    assert "of pairs after 6 steps" in ran.stdout
    command = ["finetune", str(tmp_path), "--seeds", "2", "--set", "finetuning_rate=0.1"]
    ran = CliRunner().invoke(pretraining.app, command)
    assert ran.exit_code == 0, ran.output
    assert "two, accuracy: pre-trained" in ran.stdout
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["recipe"]["finetuning_rate"] == 0.1
    assert len(summary["tasks"]["two"]["accuracy"]["random"]["values"]) == 2
    for arguments, message in (
        (["finetune", str(tmp_path / "none")], "no run in"),
        (["finetune", str(tmp_path), "--seeds", "0"], "seeds must be at least 1, got 0"),
        (["finetune", str(tmp_path)], "this one has 0.001: name another folder"),
        (["pretrain", str(tmp_path), "--seed", "5", *options], "name another folder"),
    ):
        ran = CliRunner().invoke(pretraining.app, arguments)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert message in ran.stderr


def test_pretrained_start_has_the_weights_of_the_run(folder, monkeypatch):
    starts = []

    def look(model, *_, **__):
        starts.append(model.bert.embeddings.tokens.weight.detach().clone())
        raise InterruptedError

    monkeypatch.setattr(finetuning, "train", look)
    for start in finetuning.STARTS:
        with pytest.raises(InterruptedError):
            finetuning.fine_tune(TWO, start, RECIPE, folder, seed=0, device=CPU)
    trained = finetuning.load_pretrained(folder, RECIPE, CPU).bert.embeddings.tokens.weight
    assert torch.equal(starts[0], trained)
    assert not torch.equal(starts[1], trained)


def test_pair_accuracy_compares_acceptability():
    class SecondToken(torch.nn.Module):
        """A model whose logit of class 1 is the id of the second token."""

        def forward(self, token_ids, segment_ids):
            return torch.stack([torch.zeros(len(token_ids)), token_ids[:, 1].float()], dim=1)

    def example(score, label):
        return Example(BertInput([2, score, 3], [0, 0, 0]), label)

    test = [example(5, 1), example(4, 0), example(6, 1), example(9, 0)]
    model = SecondToken()
    score = finetuning.score_model(model, test, RECIPE, CPU, pairs=True)
    assert score == finetuning.Score(accuracy=0.5, pair_accuracy=0.5)
    assert finetuning.score_model(model, test, RECIPE, CPU, pairs=False).pair_accuracy is None


# --- texts and tasks -----------------------------------------------------------------------------


def test_speeches_lose_their_names():
    plays = "ROMEO:\nIs the day\nso young?\n\nBENVOLIO:\nBut new struck nine.\n\nAll:\n\n"
    assert split_speeches(plays) == [["Is the day", "so young?"], ["But new", "struck nine."]]


def test_vocabulary_begins_with_specials_and_covers_every_word():
    vocabulary = learn_vocabulary((text for doc in DOCUMENTS for text in doc), 60)
    assert vocabulary.tokens[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    assert len(vocabulary) <= 60
    words = CachedTokenizer(vocabulary)
    ids = words.encode("The cat slept, the cat sat")
    assert ids == WordPiece(vocabulary=vocabulary).encode("The cat slept, the cat sat")
    assert vocabulary.id_of("[UNK]") not in words.encode("the cat slept on the roof")


def test_classes_are_limited_numbered_and_unknown_ones_rejected():
    texts = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x"), ("e", "y")]
    assert first_of_each(texts, 2) == [("a", "x"), ("b", "y"), ("c", "x"), ("e", "y")]
    task = intents("t", [("p", "b"), ("q", "a")], [("r", "a")], epochs=3)
    assert (task.num_labels, task.training[0].label, task.test[0].label) == (2, 1, 0)
    with pytest.raises(ValueError, match="test must have the classes of training, got 'c' too"):
        intents("t", [("p", "b")], [("r", "c")], epochs=3)


def test_training_and_test_sentences_are_disjoint():
    pairs = [MinimalPair(f"good {n}", f"bad {n}", "p") for n in range(10)]
    pairs[-1] = MinimalPair("good 0", "bad 99", "p")
    pairs[-2] = MinimalPair("same", "same", "p")
    task = acceptability(pairs, RECIPE)
    assert [text.text for text in task.training[:3]] == ["good 0", "bad 0", "good 1"]
    assert [text.label for text in task.training[:3]] == [1, 0, 1]
    assert [text.text for text in task.test] == ["good 7", "bad 7"]


def test_length_of_example_equals_its_batch_length(examples):
    for example in examples:
        assert collate([example], CPU).token_ids.shape == (1, length_of(example))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("num_heads=3", "d_model=8 must be divisible by num_heads=3"),
        ("steps=7", "steps must be a multiple of evaluate_every=2"),
        ("blimp_test_pairs=995", "must be at most 1000 together, got 6 and 995"),
    ],
)
def test_invalid_setting_is_rejected(setting, message):
    with pytest.raises(ValueError, match=message):
        with_settings(RECIPE, [setting])
