"""The commands: train, evaluate, translate."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast, get_args

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from course_lib.checkpoint import CheckpointError
from course_lib.corpus_readers import Multi30kSplit, read_multi30k
from course_lib.download import DownloadError
from course_lib.recipes.run_record import with_settings
from course_lib.recipes.translation.evaluation import evaluate_run
from course_lib.recipes.translation.presets import PRESETS
from course_lib.recipes.translation.run_folder import RunError, RunFolder
from course_lib.recipes.translation.training_run import train_run
from course_lib.recipes.translation.translator import load_translator
from course_lib.training import DivergenceError

_SPLITS = get_args(Multi30kSplit)
_TEST = "test_2016_flickr"
_BAD_INPUT = 2
_INTERRUPTED = 130


class Device(StrEnum):
    """Where to compute."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


Run = Annotated[Path, typer.Argument(help="Folder of a run.", show_default=False)]
OnDevice = Annotated[Device, typer.Option(help="Where to compute; auto takes a GPU that is there.")]
Threads = Annotated[int, typer.Option(min=0, help="CPU threads; 0 leaves that to PyTorch.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; the recipe's by default.")]

app = typer.Typer(
    help="Train a translation model on Multi30k, score it, use it. A run that was stopped goes on "
    "by the same command. Exit codes: 0 done, 2 the input is wrong, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def train(
    preset: Annotated[str, typer.Option(help=f"What to train: {', '.join(PRESETS)}.")] = "cpu",
    seed: Annotated[int, typer.Option(min=0, help="Of weights, dropout and batches.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; runs/translation/<preset>-seed<seed>.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a value of the recipe: dropout=0.1. Again for more."),
    ] = None,
    device: OnDevice = Device.AUTO,
    threads: Threads = 0,
) -> None:
    """Train a model, average its weights, score it on test_2016_flickr.

    A folder that holds a part of this run is taken up where it stopped.
    """
    with _told():
        if preset not in PRESETS:
            raise RunError(f"--preset must be one of {', '.join(PRESETS)}, got {preset!r}")
        recipe = with_settings(PRESETS[preset], settings or [])
        folder = RunFolder(out or Path("runs") / "translation" / f"{preset}-seed{seed}")
        train_run(preset, recipe, seed, folder, _prepare(device, threads))
    evaluate(folder.path, _TEST, device, threads)


@app.command()
def evaluate(
    run: Run,
    split: Annotated[str, typer.Option(help=f"One of {', '.join(_SPLITS)}.")] = _TEST,
    device: OnDevice = Device.AUTO,
    threads: Threads = 0,
    beam_size: Beam = None,
) -> None:
    """Translate a test set and score it with sacreBLEU; write summary, curves and model card.

    A run that is not finished is evaluated as far as it has come.
    """
    with _told():
        folder = RunFolder(run)
        recipe = folder.recipe()
        name = cast(Multi30kSplit, split)
        with _bar("Translating", len(read_multi30k(name, recipe.src, recipe.tgt))) as on_done:
            summary = evaluate_run(
                folder,
                name,
                device=_prepare(device, threads),
                beam_size=beam_size,
                on_done=on_done,
            )
    console = Console(markup=False, emoji=False, highlight=False)
    if not summary["finished"]:
        console.print(f"The run is not finished: {summary['steps_done']} steps are done.")
    for test_set, entry in summary["scores"].items():
        for kind in ("cased", "lowercased"):
            line = f"{test_set} {kind}: {entry[kind]['bleu']:.2f}  {entry[kind]['signature']}"
            console.print(line, soft_wrap=True)
    console.print(f"Written to {folder.path}", soft_wrap=True)


@app.command()
def translate(
    run: Run,
    file: Annotated[
        Path | None, typer.Argument(help="Text, a sentence a line; standard input if left out.")
    ] = None,
    device: OnDevice = Device.AUTO,
    threads: Threads = 0,
    beam_size: Beam = None,
) -> None:
    """Translate a text to standard output, a line a line."""
    with _told():
        sentences = _read_sentences(file)
        folder = RunFolder(run)
        recipe = folder.recipe()
        translator = load_translator(folder, _prepare(device, threads))
        with _bar("Translating", sum(bool(sentence.strip()) for sentence in sentences)) as on_done:
            translations = translator.translate(
                sentences,
                beam_size=recipe.beam_size if beam_size is None else beam_size,
                length_alpha=recipe.length_alpha,
                on_done=on_done,
            )
    sys.stdout.write("\n".join(translations) + "\n")


def _prepare(device: Device, threads: int) -> torch.device:
    if threads:
        torch.set_num_threads(threads)
    if device is Device.CUDA and not torch.cuda.is_available():
        raise RunError("--device must be cpu on this machine: PyTorch sees no CUDA device")
    there = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(there if device is Device.AUTO else device.value)


def _read_sentences(file: Path | None) -> list[str]:
    name = "standard input" if file is None else str(file)
    try:
        text = sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(f"{name} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{name} is no text in UTF-8: {error}") from error
    if not text.strip():
        raise RunError(f"{name} holds no text: nothing to translate")
    return text.removesuffix("\n").split("\n")


@contextmanager
def _told() -> Iterator[None]:
    """Turn what can go wrong into a line on stderr and an exit code."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    try:
        yield
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on from the last evaluation.")
        raise typer.Exit(_INTERRUPTED) from None
    except (RunError, DownloadError, CheckpointError, DivergenceError, ValueError) as error:
        console.print(str(error), soft_wrap=True)
        raise typer.Exit(_BAD_INPUT) from error


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], object]]:
    """Show a bar on a terminal; gives what is to be called as things get done."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)
