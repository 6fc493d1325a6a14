"""One run: from the text to a trained model, in one folder.

A folder holds ``recipe.json``, ``checkpoint.pt`` from which the run is taken up,
``model.safetensors``, ``history.json``, ``summary.json`` and ``samples.txt``.
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.corpora.readers import read_tiny_shakespeare
from course_lib.generation.recomputing import RecomputingModel
from course_lib.generation.sampling import sample
from course_lib.models.gpt import DecoderLM
from course_lib.recipes.language_modelling.characters import TextBlocks, character_vocabulary
from course_lib.recipes.language_modelling.presets import LanguageModellingRecipe
from course_lib.recipes.run_record import (
    history_data,
    load_recipe,
    save_recipe,
    training_record,
    write_json,
    write_text,
)
from course_lib.recipes.weights import load_weights, read_weights, save_weights
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.training.distributed import barrier, rank
from course_lib.training.loop import train

VALIDATION_BATCH = 128


def run_training(
    recipe: LanguageModellingRecipe,
    folder: Path,
    *,
    seed: int,
    device: torch.device,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Train, or go on with a run that was cut off, and write down what came of it.

    Args:
        recipe: What to train.
        folder: For the run's files. One that holds a run of this recipe is gone on with.
        seed: Of weights, batches and dropout.
        device: Where to train.
        progress: Show a progress bar; None shows it where a person is watching, on a terminal.

    Returns:
        What ``summary.json`` holds.

    Raises:
        RunError: The folder holds a run of another recipe.
        DownloadError: The text could not be had.
    """
    training_text, validation_text = read_tiny_shakespeare()
    vocabulary = character_vocabulary(training_text)
    if rank() == 0:
        save_recipe(folder, recipe, seed=seed, characters="".join(vocabulary.tokens))
    barrier()
    blocks = TextBlocks(training_text, vocabulary, length=recipe.length, device=device)
    validation = TextBlocks(validation_text, vocabulary, length=recipe.length, device=device)

    torch.manual_seed(seed)
    model = DecoderLM(recipe.model_config(len(vocabulary))).to(device)
    if recipe.compiled:
        model.compile()
    history = train(
        model,
        lambda number: blocks.draw(recipe.batch_size, seed * 1_000_003 + number),
        next_character_loss,
        recipe.training_config(),
        schedule=recipe.schedule,
        evaluate=lambda trained: validation_loss(trained, validation),
        checkpoint=folder / "checkpoint.pt",
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
        save_weights(model, folder / "model.safetensors")
        write_json(folder / "history.json", history_data(history))
        write_json(folder / "summary.json", summary)
        text = generate_text(folder, length=500, seed=seed, device=device)
        write_text(folder / "samples.txt", text)
    return summary


def next_character_loss(model: nn.Module, batch: Tensor) -> Tensor:
    """Compute the mean loss of telling each character from those before it.

    Args:
        model: A ``DecoderLM``.
        batch: ``(batch, length + 1)``, int64.

    Returns:
        A scalar (nats a character).
    """
    logits = model(batch[:, :-1])  # (batch, length, vocab_size)
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())


def validation_loss(model: nn.Module, validation: TextBlocks) -> float:
    """Compute the loss over a whole text.

    Each block is read by itself, so its first characters are told from few before them, as in
    nanoGPT's figure, which is the mean over blocks drawn at random.

    Args:
        model: A ``DecoderLM``.
        validation: The text.

    Returns:
        Nats a character.
    """
    total, count = 0.0, 0
    for batch in validation.in_order(VALIDATION_BATCH):
        total += next_character_loss(model, batch).item() * len(batch)
        count += len(batch)
    return total / count


def generate_text(
    folder: Path,
    *,
    length: int,
    seed: int,
    device: torch.device,
    prompt: str = "\n",
    temperature: float = 0.8,
) -> str:
    """Let a trained model write.

    Args:
        folder: Of its run.
        length: Characters to write.
        seed: Of chance.
        device: Where to compute.
        prompt: What the text begins with; at least one character.
        temperature: Below 1 the probable become more probable.

    Returns:
        The prompt and what follows.

    Raises:
        RunError: The folder holds no trained model.
        ValueError: The prompt is empty or has a character that the model does not know, or a
            number is out of range.
    """
    model, vocabulary = load_model(folder, device)
    unknown = sorted(set(prompt) - set(vocabulary.tokens))
    if not prompt or unknown:
        raise ValueError(f"prompt must be made of the text's characters, got {prompt!r}")
    # It was never trained to read further back than this.
    reach = model.config.max_length
    (written,) = sample(
        RecomputingModel(lambda tokens: model(tokens[:, -reach:])),
        torch.tensor([vocabulary.encode(prompt)], device=device),
        eos_id=None,
        max_new_tokens=length,
        generator=torch.Generator(device).manual_seed(seed),
        temperature=temperature,
    )
    return prompt + "".join(vocabulary.decode(written.tokens))


def load_model(folder: Path, device: torch.device) -> tuple[DecoderLM, Vocabulary]:
    """Load the model of a finished run.

    Args:
        folder: Of the run.
        device: Where to put it.

    Returns:
        The model, in evaluation mode, and its characters.

    Raises:
        RunError: The folder holds no trained model.
    """
    recipe, others = load_recipe(folder, LanguageModellingRecipe, "seed", "characters")
    vocabulary = character_vocabulary(others["characters"])
    model = DecoderLM(recipe.model_config(len(vocabulary)))
    load_weights(model, read_weights(folder / "model.safetensors"))
    return model.to(device).eval(), vocabulary
