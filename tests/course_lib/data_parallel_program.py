"""The program of each process in ``training/test_distributed.py``; it also runs alone.

python -m tests.course_lib.data_parallel_program FOLDER
"""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from course_lib.data.batching import pad_sequences, token_batches
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.distributed import process_group, rank, world_size
from course_lib.training.loop import TrainingConfig, train

STEPS, ACCUMULATION, CUT_AT = 8, 4, 5
SIZES = {"vocab_size": 11, "max_length": 9, "d_model": 16, "num_heads": 2, "d_ff": 32}


def build(dropout):
    torch.manual_seed(5)
    return DecoderLM(DecoderLMConfig(**SIZES, num_layers=2, dropout=dropout))


def draw_batch(number):
    """Return training batch ``number``: sequences of about the same length, some with padding."""
    generator = torch.Generator().manual_seed(number // 3)
    lengths = torch.randint(2, 9, (12,), generator=generator).tolist()
    batches = token_batches(lengths, max_tokens=36, generator=generator)
    chosen = batches[number % len(batches)]
    texts = [torch.randint(1, 11, (lengths[i] + 1,), generator=generator).tolist() for i in chosen]
    return pad_sequences(texts, 0)


def compute_loss(model, batch):
    logits = model(batch[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), ignore_index=0)


def evaluate(model):
    return compute_loss(model, draw_batch(1_000)).item() + rank()  # the first one counts


class Cut(Exception):
    """Raised in place of a power cut."""


def cut_off(number):
    if number >= CUT_AT * ACCUMULATION:
        raise Cut
    return draw_batch(number)


def count_tokens(batch):
    return (batch[:, 1:] != 0).sum()


def run(dropout, draw=draw_batch, checkpoint=None, num_items=None):
    model = build(dropout)
    config = TrainingConfig(
        steps=STEPS,
        learning_rate=0.02,
        accumulation=ACCUMULATION,
        evaluate_every=4,
        checkpoint_every=3,
    )
    history = train(
        model,
        draw,
        compute_loss,
        config,
        num_items=num_items,
        evaluate=evaluate,
        checkpoint=checkpoint,
        progress=False,
    )
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    return {
        "losses": history.losses,
        "gradient_norms": history.gradient_norms,
        "evaluations": history.evaluations,
        "weights": weights.tolist(),
        "processes": world_size(),
    }


def error_of(action):
    try:
        action()
    except (ValueError, CheckpointError) as error:
        return str(error)
    raise AssertionError("nothing was refused")


def main(folder):
    with process_group("cpu"):
        runs = {"plain": run(0.0), "dropout": run(0.4)}
        runs["counted"] = run(0.0, num_items=count_tokens)
        seed = folder / f"seed-{world_size()}-{rank()}.json"
        seed.write_text(json.dumps(torch.initial_seed()))  # where dropout's numbers come from
        file = folder / f"{world_size()}.pt"
        try:
            run(0.4, cut_off, file)
        except Cut:
            torch.manual_seed(99)
            runs["resumed"] = run(0.4, checkpoint=file)
        odd = TrainingConfig(steps=1, accumulation=3)
        if world_size() > 1:
            runs["odd"] = error_of(lambda: train(build(0.0), draw_batch, compute_loss, odd))
            runs["other number"] = error_of(lambda: run(0.4, checkpoint=folder / "1.pt"))
        (folder / f"{world_size()}-{rank()}.json").write_text(json.dumps(runs))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
