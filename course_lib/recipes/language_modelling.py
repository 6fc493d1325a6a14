"""A character-level language model of Shakespeare's plays: train it, sample from it.

    python -m course_lib.recipes.language_modelling train|sample

Dimensions: batch; length (characters).
"""

from course_lib.recipes.run_folder import require

require("typer")

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn

from course_lib.data.corpora.readers import read_tiny_shakespeare
from course_lib.generation.sampling import sample as sample_tokens
from course_lib.generation.step_models import UncachedModel
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.recipes.command_line import (
    Device,
    Folder,
    Seed,
    Settings,
    Threads,
    chosen_recipe,
    computing,
    preset_option,
    recipe_app,
)
from course_lib.recipes.run_folder import (
    RunFolder,
    load_weights,
    read_weights,
    save_weights,
    training_record,
    write_json,
    write_text,
)
from course_lib.recipes.training_recipe import TrainingRecipe
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.training.distributed import barrier, rank
from course_lib.training.loop import train as train_model

VALIDATION_BATCH = 128


@dataclass(frozen=True, kw_only=True)
class LanguageModellingRecipe(TrainingRecipe):
    """Settings of a run beside those of ``TrainingRecipe``; with the seed they decide its outcome.

    Attributes:
        model: The model's config; ``max_length`` is the length of a block (characters).
        batch_size: Blocks in a batch.
    """

    model: DecoderLMConfig
    batch_size: int
    warmup_steps: int = 100
    weight_decay: float = 0.1
    final_share: ClassVar[float] = 0.1


def _sizes(num_layers: int, d_model: int, num_heads: int, length: int) -> DecoderLMConfig:
    return DecoderLMConfig(
        vocab_size=65,
        max_length=length,
        d_model=d_model,
        num_heads=num_heads,
        d_ff=4 * d_model,
        num_layers=num_layers,
        dropout=0.0,
        positions="rotary",
    )


PRESETS: dict[str, LanguageModellingRecipe] = {
    # nanoGPT's sizes for a laptop; its README reports 1.88 nats after 2,000 updates, in 3 minutes.
    "cpu": LanguageModellingRecipe(
        model=_sizes(num_layers=4, d_model=128, num_heads=4, length=64),
        batch_size=12,
        steps=3000,
        learning_rate=3e-3,
        evaluate_every=500,
    ),
    # nanoGPT's sizes for a GPU; its README reports 1.47 nats at best.
    "cuda": LanguageModellingRecipe(
        model=replace(_sizes(num_layers=6, d_model=384, num_heads=6, length=256), dropout=0.2),
        batch_size=64,
        steps=5000,
        learning_rate=1e-3,
        evaluate_every=250,
        precision="bfloat16",
        compiled=True,
    ),
}
"""The recipes by name."""


def character_vocabulary(text: str) -> Vocabulary:
    """Make a vocabulary of the characters of a text, sorted, without special tokens.

    >>> character_vocabulary("banana").tokens
    ('a', 'b', 'n')
    """
    return Vocabulary(tokens=tuple(sorted(set(text))), specials=(), unknown=None)


class TextBlocks:
    """Blocks of ``length`` characters of a text, each with the character after it, as token ids."""

    def __init__(
        self, text: str, vocabulary: Vocabulary, *, length: int, device: torch.device
    ) -> None:
        if len(text) <= length:
            raise ValueError(f"text must be longer than length={length}, got {len(text)}")
        self._ids = torch.tensor(vocabulary.encode(text), device=device)
        self._length = length

    def draw(self, count: int, seed: int) -> Tensor:
        """Draw blocks that begin anywhere in the text: ``(count, length + 1)``, int64."""
        generator = torch.Generator().manual_seed(seed)
        starts = torch.randint(len(self._ids) - self._length, (count, 1), generator=generator)
        places = starts.to(self._ids.device) + torch.arange(
            self._length + 1, device=self._ids.device
        )  # (count, length + 1)
        return self._ids[places]

    def in_order(self, count: int) -> Iterator[Tensor]:
        """Yield the consecutive blocks of the text, ``(at most count, length + 1)`` at a time."""
        starts = range(0, len(self._ids) - self._length, self._length)
        for first in range(0, len(starts), count):
            chosen = starts[first : first + count]
            yield torch.stack([self._ids[start : start + self._length + 1] for start in chosen])


def run_training(
    recipe: LanguageModellingRecipe,
    path: Path,
    *,
    seed: int,
    device: torch.device,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Train a model, or resume the run at ``path``; write its files, return ``summary.json``."""
    training_text, validation_text = read_tiny_shakespeare()
    vocabulary = character_vocabulary(training_text)
    folder = RunFolder(path)
    if rank() == 0:
        folder.save_recipe(recipe, seed=seed, characters="".join(vocabulary.tokens))
    barrier()
    length = recipe.model.max_length
    blocks = TextBlocks(training_text, vocabulary, length=length, device=device)
    validation = TextBlocks(validation_text, vocabulary, length=length, device=device)

    torch.manual_seed(seed)
    model = DecoderLM(replace(recipe.model, vocab_size=len(vocabulary))).to(device)
    if recipe.compiled:
        model.compile()
    history = train_model(
        model,
        lambda number: blocks.draw(recipe.batch_size, seed * 1_000_003 + number),
        next_character_loss,
        recipe.training_config(),
        schedule=recipe.learning_rate_share,
        evaluate=lambda trained: validation_loss(trained, validation),
        checkpoint=folder.checkpoint,
        progress=progress,
    )
    step, best = min(history.evaluations, key=lambda evaluation: evaluation[1])
    summary = {
        "what": "tiny Shakespeare, characters: mean loss over the validation text",
        "validation_loss_nats": round(best, 4),
        "at_step": step,
        **training_record(history, model, recipe, seed=seed, device=device),
    }
    if rank() == 0:
        save_weights(model, folder.model)
        folder.write_history(vars(history))
        write_json(path / "summary.json", summary)
        write_text(path / "samples.txt", generate_text(path, length=500, seed=seed, device=device))
    return summary


def next_character_loss(model: nn.Module, batch: Tensor) -> Tensor:
    """Return the mean loss over the characters of blocks ``(batch, length + 1)`` (nats)."""
    logits = model(batch[:, :-1])  # (batch, length, vocab_size)
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())


def validation_loss(model: nn.Module, validation: TextBlocks) -> float:
    """Return the mean loss over a whole text (nats a character).

    As in nanoGPT's README the model reads each block by itself, so it predicts the first characters
    of a block from few.
    """
    total, count = 0.0, 0
    for batch in validation.in_order(VALIDATION_BATCH):
        total += next_character_loss(model, batch).item() * len(batch)
        count += len(batch)
    return total / count


def generate_text(
    path: Path,
    *,
    length: int,
    seed: int,
    device: torch.device,
    prompt: str = "\n",
    temperature: float = 0.8,
) -> str:
    """Return a prompt and ``length`` characters after it, sampled from a finished run's model."""
    model, vocabulary = load_model(path, device)
    unknown = sorted(set(prompt) - set(vocabulary.tokens))
    if not prompt or unknown:
        raise ValueError(f"prompt must be made of the text's characters, got {prompt!r}")
    context = model.config.max_length  # the model was trained on contexts of this length
    (written,) = sample_tokens(
        UncachedModel(lambda tokens: model(tokens[:, -context:])),
        torch.tensor([vocabulary.encode(prompt)], device=device),
        eos_id=None,
        max_new_tokens=length,
        generator=torch.Generator(device).manual_seed(seed),
        temperature=temperature,
    )
    return prompt + "".join(vocabulary.decode(written.tokens))


def load_model(path: Path, device: torch.device) -> tuple[DecoderLM, Vocabulary]:
    """Return the model of a finished run, in evaluation mode, and its vocabulary."""
    folder = RunFolder(path)
    recipe, others = folder.load_recipe(LanguageModellingRecipe, "seed", "characters")
    vocabulary = character_vocabulary(others["characters"])
    model = DecoderLM(replace(recipe.model, vocab_size=len(vocabulary)))
    load_weights(model, read_weights(folder.model))
    return model.to(device).eval(), vocabulary


# ---- commands ----

app = recipe_app("Train a language model of Shakespeare's plays, sample from it.")


@app.command()
def train(
    folder: Folder,
    preset: Annotated[str, preset_option(PRESETS)] = "cpu",
    settings: Settings = None,
    seed: Seed = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a model; the same command resumes a run that was stopped.

    Under torchrun several processes divide the N batches of --set accumulation=N.
    """
    with computing(device, threads) as own:
        recipe = chosen_recipe(PRESETS, preset, settings)
        summary = run_training(recipe, folder, seed=seed, device=own)
        first = rank() == 0
    if first:
        typer.echo(
            f"validation loss {summary['validation_loss_nats']:.4f} nats a character after "
            f"{summary['at_step']} steps; {summary['cpu_seconds']:.0f} CPU seconds, "
            f"{summary['wall_seconds']:.0f} by the clock; see {folder}"
        )


@app.command()
def sample(
    folder: Folder,
    length: Annotated[int, typer.Option(help="Characters to write.")] = 500,
    prompt: Annotated[
        str, typer.Option(help="The beginning of the text.", show_default="a new line")
    ] = "\n",
    temperature: Annotated[float, typer.Option(help="Below 1: more cautious.")] = 0.8,
    seed: Seed = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Sample a text from a trained model."""
    with computing(device, threads) as own:
        text = generate_text(
            folder, length=length, seed=seed, device=own, prompt=prompt, temperature=temperature
        )
    typer.echo(text)


if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.language_modelling")
