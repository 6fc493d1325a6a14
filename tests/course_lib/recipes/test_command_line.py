"""The recipes' commands share options and errors, and accept every documented command line."""

import errno
import json
import re
import shlex
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from course_lib.data.corpora.download import DownloadError
from course_lib.recipes import language_modelling, pretraining, translation
from course_lib.recipes.command_line import chosen_recipe
from course_lib.recipes.run_folder import RunError
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.loop import DivergenceError

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.depends_on("README.md", "benchmarks", "book/*.md")
RECIPES = {
    "language_modelling": (language_modelling, "run_training", ["train", "folder"]),
    "pretraining": (pretraining, "run_pretraining", ["pretrain", "folder"]),
    "translation": (translation, "train_run", ["train"]),
}


@pytest.fixture(params=RECIPES)
def recipe(request):
    """A recipe's module, the name of its training function, and a command line that calls it."""
    return RECIPES[request.param]


def raiser(error):
    """Return a function of any arguments that raises an error."""

    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "Stopped. The same command resumes the run."),
        (RunError("another run"), 2, "another run"),
        (CheckpointError("no checkpoint"), 2, "no checkpoint"),
        (DownloadError("no connection"), 2, "no connection"),
        (DivergenceError("the loss is NaN"), 2, "the loss is NaN"),
        (OSError(errno.ENOSPC, "No space left", "a/file"), 2, "a/file: No space left"),
    ],
)
def test_expected_error_is_one_line_on_stderr(recipe, monkeypatch, error, code, words):
    module, work, arguments = recipe
    monkeypatch.setattr(module, work, raiser(error))
    ran = CliRunner().invoke(module.app, arguments)
    assert (ran.exit_code, ran.stdout, ran.stderr) == (code, "", f"{words}\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--preset", "huge"], "--preset must be one of cpu, "),
        (["--set", "stepz=1"], "settings must name one of "),
        (["--set", "steps=many"], "steps must be of type int, got 'many'"),
        (["--device", "tpu"], "Invalid value for '--device'"),
        (["--threads", "-1"], "Invalid value for '--threads'"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
    ],
)
def test_wrong_option_is_reported(recipe, monkeypatch, options, words):
    module, work, arguments = recipe
    monkeypatch.delattr(module, work)
    ran = CliRunner().invoke(module.app, [*arguments, *options], env={"COLUMNS": "200"})
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert words in ran.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_missing_gpu_is_reported(recipe):
    module, _, arguments = recipe
    ran = CliRunner().invoke(module.app, [*arguments, "--device", "cuda"])
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "there is no CUDA device" in ran.stderr


def test_threads_are_set(recipe, monkeypatch):
    module, work, arguments = recipe
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(module, work, raiser(RunError("stop here")))
    CliRunner().invoke(module.app, arguments)
    CliRunner().invoke(module.app, [*arguments, "--threads", "3"])
    assert asked == [3]


def documented_commands():
    """Return (recipe, arguments) of each recipe's command in README, book and benchmarks."""
    texts = [ROOT / "README.md", *ROOT.glob("book/*.md"), *ROOT.glob("benchmarks/**/*.md")]
    written = "\n".join(path.read_text(encoding="utf-8") for path in texts)
    for path in ROOT.glob("benchmarks/runs/**/*.json"):
        text = path.read_text(encoding="utf-8")
        written += "".join(f"\n{json.loads(c)}" for c in re.findall(r'"command": (".*")', text))
    found = re.findall(r"python -m course_lib\.recipes\.(\w+) ([^`\n]+)", written)
    return sorted({(recipe, line.replace("$seed", "1")) for recipe, line in found})


def test_every_recipe_has_documented_commands():
    assert {recipe for recipe, _ in documented_commands()} == set(RECIPES)


@pytest.mark.parametrize(("name", "line"), documented_commands())
def test_documented_command_is_accepted(name, line):
    module, *_ = RECIPES[name]
    group = typer.main.get_command(module.app)
    command, *arguments = shlex.split(line, comments=True)
    given = group.commands[command].make_context(command, arguments).params
    chosen_recipe(module.PRESETS, given.get("preset", "cpu"), given.get("settings"))
