"""The recipe for tiny Shakespeare trains, resumes to the bit, and writes; its loss is right."""

import dataclasses
import json

import pytest
import torch
from typer.testing import CliRunner

from course_lib.models.gpt import DecoderLMConfig
from course_lib.recipes import language_modelling as run
from course_lib.recipes.language_modelling import (
    PRESETS,
    LanguageModellingRecipe,
    TextBlocks,
    app,
    character_vocabulary,
)
from course_lib.recipes.run_folder import with_settings
from tests.course_lib.power_cut import cut_off_at

CPU = torch.device("cpu")
SIZES = {"max_length": 16, "d_model": 8, "num_heads": 2, "d_ff": 32, "num_layers": 1}
STEPS = {"steps": 6, "warmup_steps": 2, "evaluate_every": 2}
SMALL = LanguageModellingRecipe(
    model=DecoderLMConfig(**SIZES, dropout=0.1, positions="rotary"),
    batch_size=4,
    learning_rate=1e-2,
    **STEPS,
)
TEXT = "to be, or not to be: that is the question"


@pytest.fixture(autouse=True)
def real_text(course_data, monkeypatch):
    """Make the recipe read the real tiny Shakespeare, with 5,000 characters for validation."""
    monkeypatch.setenv("COURSE_DATA", str(course_data))
    train, validation = run.read_tiny_shakespeare()
    monkeypatch.setattr(run, "read_tiny_shakespeare", lambda: (train, validation[:5000]))


def test_interrupted_run_resumes_to_the_bit(tmp_path, monkeypatch):
    options = {"seed": 3, "device": CPU, "progress": False}
    run.run_training(SMALL, tmp_path / "whole", **options)
    with monkeypatch.context() as patched:
        cut_off_at(patched, TextBlocks, 3 * 1_000_003 + 5)
        with pytest.raises(InterruptedError):
            run.run_training(SMALL, tmp_path / "cut", **options)
    torch.manual_seed(99)
    resumed = run.run_training(SMALL, tmp_path / "cut", **options)
    assert resumed["finished"] is True
    for name in ("history.json", "model.safetensors"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    model, vocabulary = run.load_model(tmp_path / "cut", CPU)
    assert len(vocabulary) == 65
    _, validation_text = run.read_tiny_shakespeare()
    validation = TextBlocks(validation_text, vocabulary, length=16, device=CPU)
    with torch.no_grad():
        loss = run.validation_loss(model, validation)
    assert loss == pytest.approx(resumed["validation_loss_nats"], abs=1e-4)
    assert (tmp_path / "cut" / "samples.txt").read_text()[0] == "\n"
    with pytest.raises(ValueError, match="holds a run with steps=6, this one has 8"):
        run.run_training(with_settings(SMALL, ["steps=8"]), tmp_path / "cut", **options)


def test_commands_train_in_low_precision_and_sample(tmp_path):
    values = dataclasses.asdict(SMALL) | dataclasses.asdict(SMALL.model)
    settings = [f"{name}={v}" for name, v in values.items()
        if name not in ("model", "precision", "compiled")]  # fmt: skip
    options = [part for setting in settings for part in ("--set", setting)]
    folder = str(tmp_path / "run")
    # The GPU's preset at a small size: bfloat16, and without the compiler, which takes a minute.
    command = ["train", folder, "--preset", "cuda", "--device", "cpu", *options]
    result = CliRunner().invoke(app, [*command, "--set", "compiled=false"])
    assert result.exit_code == 0, result.output
    assert "nats a character after" in result.output
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["recipe"]["precision"] == "bfloat16"
    assert summary["cpu_seconds"] > 0

    written = [
        CliRunner().invoke(
            app, ["sample", folder, "--prompt", "ROMEO:", "--length", "20", "--seed", seed]
        )
        for seed in ("1", "1", "2")
    ]
    assert written[0].output == written[1].output != written[2].output
    assert written[0].output.startswith("ROMEO:")
    assert len(written[0].output) == len("ROMEO:") + 20 + 1
    result = CliRunner().invoke(app, ["sample", folder, "--prompt", "日"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "prompt must be made of the text's characters" in result.stderr


@pytest.mark.gpu
def test_gpu_preset_trains_compiled(tmp_path):
    small = ["num_layers=1", "d_model=64", "d_ff=256", "num_heads=2", "dropout=0.0"]
    short = ["steps=200", "evaluate_every=100", "warmup_steps=20"]
    recipe = with_settings(PRESETS["cuda"], [*small, *short])
    summary = run.run_training(recipe, tmp_path, seed=0, device=torch.device("cuda"))
    assert summary["device"].startswith("cuda")
    assert summary["validation_loss_nats"] < 2.8  # the frequencies of the characters give 3.3


def test_blocks_are_in_order_or_drawn_from_the_whole_text():
    vocabulary = character_vocabulary(TEXT)
    blocks = TextBlocks(TEXT, vocabulary, length=5, device=CPU)
    batches = list(blocks.in_order(3))
    assert [len(batch) for batch in batches] == [3, 3, 2]
    texts = ["".join(vocabulary.decode(row.tolist())) for batch in batches for row in batch]
    assert texts == [TEXT[start : start + 6] for start in range(0, 40, 5)]

    drawn = blocks.draw(400, seed=1)
    texts = {"".join(vocabulary.decode(row.tolist())) for row in drawn}
    assert texts == {TEXT[start : start + 6] for start in range(len(TEXT) - 5)}
    assert torch.equal(drawn, blocks.draw(400, seed=1))
    assert not torch.equal(drawn, blocks.draw(400, seed=2))
    with pytest.raises(ValueError, match="text must be longer than length=5, got 5"):
        TextBlocks(TEXT[:5], vocabulary, length=5, device=CPU)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("max_length=0", "max_length must be at least 1, got 0"),
        ("steps=2", "steps must exceed warmup_steps, got 2"),
        ("learning_rate=0", "learning_rate must be"),
        ("precision=int8", "precision must be one of"),
    ],
)
def test_invalid_setting_is_rejected(setting, message):
    with pytest.raises(ValueError, match=message):
        with_settings(SMALL, [setting])
