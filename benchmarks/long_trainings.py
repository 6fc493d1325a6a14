"""Run the experiments of the book that are too long for a page, and record their figures.

    python -m benchmarks.long_trainings depth        # chapter "Residual connections"
    python -m benchmarks.long_trainings bottleneck   # chapter "Sequence to sequence"

Each takes about ten minutes of one core and writes ``runs/long-trainings/NAME.json``. The chapters
read the figures from there.
"""

import argparse
import datetime
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.__main__ import machine
from course_lib.analysis.depth_experiment import DeepReader, DeepReaderConfig, take_small_steps
from course_lib.data.toy_tasks import BOS_ID, PAD_ID, AlignedBatch, draw_reverse
from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import RecurrentStepModel
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from course_lib.training.loop import DivergenceError, TrainingConfig, train

FOLDER = Path(__file__).parent / "runs" / "long-trainings"
SEEDS = (0, 1, 2)


def seeded(seed: int) -> torch.Generator:
    """Return a generator of random numbers with this seed."""
    return torch.Generator().manual_seed(seed)


# ---- training deep stacks ----


def draw_eight(step: int) -> AlignedBatch:
    """Draw the training batch of a step: 32 sequences of eight tokens to write backwards."""
    return draw_reverse(32, min_length=8, max_length=8, num_symbols=16, generator=seeded(step))


def reading_loss(model: nn.Module, batch: AlignedBatch) -> Tensor:
    """Return the mean cross-entropy per token (nats) of a model that predicts ``batch.tgt``."""
    return F.cross_entropy(model(batch.src).flatten(0, 1), batch.tgt.flatten())


def final_loss(stacking: str, num_layers: int, updates: int, seed: int) -> float | None:
    """Train one stack; return the mean loss of its last 20 updates (nats), None if it diverged.

    ``stacking`` is one of ``DeepReaderConfig``'s, with ``, small steps`` to shrink its layers.
    """
    torch.manual_seed(seed)
    kind: Any = stacking.partition(",")[0]
    reader = DeepReader(DeepReaderConfig(stacking=kind, num_layers=num_layers))
    if stacking.endswith("small steps"):
        take_small_steps(reader)
    config = TrainingConfig(steps=updates, learning_rate=1e-3)
    try:
        losses = train(reader, draw_eight, reading_loss, config).losses
    except DivergenceError:
        return None
    return math.fsum(losses[-20:]) / 20


def depth() -> list[dict[str, Any]]:
    """Train stacks without residual connections for long, and 24-layer stacks of every kind.

    Returns a row for each: the stacking, the layers, the updates, and a final loss for each seed.
    """
    runs = [("plain", layers, 1500) for layers in (2, 4, 8, 24)]
    runs += [(kind, 24, 150) for kind in ("plain", "residual", "residual, small steps", "pre")]
    return [
        {
            "stacking": stacking,
            "layers": layers,
            "updates": updates,
            "losses": [final_loss(stacking, layers, updates, seed) for seed in SEEDS],
        }
        for stacking, layers, updates in runs
    ]


# ---- the bottleneck of one context vector ----

NUM_SYMBOLS = 8
EOS_ID = 2 + NUM_SYMBOLS  # after padding, start and the symbols


def draw_sequences(
    step: int, batch_size: int = 32, shortest: int = 1, longest: int = 12
) -> AlignedBatch:
    """Draw the training batch of a step: sequences of eight kinds of symbols to write backwards."""
    sizes = {"min_length": shortest, "max_length": longest, "num_symbols": NUM_SYMBOLS}
    return draw_reverse(batch_size, **sizes, generator=seeded(step))


def reversing_loss(model: nn.Module, batch: AlignedBatch) -> Tensor:
    """Return an encoder-decoder's mean cross-entropy per token (nats), end symbols included."""
    says = F.pad(batch.tgt, (0, 1))
    says[torch.arange(len(says)), batch.lengths] = EOS_ID
    reads = says.roll(1, dims=1)
    reads[:, 0] = BOS_ID
    logits = model(batch.src, reads, batch.lengths)
    return F.cross_entropy(logits.flatten(0, 1), says.flatten(), ignore_index=PAD_ID)


def share_without_mistake(model: Seq2Seq, length: int, count: int = 400) -> float:
    """Let a model reverse ``count`` new sequences greedily; return the share without a mistake."""
    batch = draw_sequences(1_000_000 + length, count, length, length)
    stepped = RecurrentStepModel(model.decoder, model.encoder(batch.src, batch.lengths))
    prompt = torch.full((count, 1), BOS_ID)
    written = greedy(stepped, prompt, eos_id=EOS_ID, max_new_tokens=length + 4)
    truth = [(*row, EOS_ID) for row in batch.tgt.tolist()]
    return sum(one.tokens == row for one, row in zip(written, truth, strict=True)) / count


def reverser_shares(width: int, updates: int, seed: int) -> list[float]:
    """Train a model to reverse sequences; return its share without a mistake for lengths 1 to 12.

    ``width`` is that of the context vector.
    """
    torch.manual_seed(seed)
    size = 3 + NUM_SYMBOLS
    encoder = RecurrentEncoder(size, 16, width // 2)
    model = Seq2Seq(encoder, RecurrentDecoder(size, 16, width, d_memory=width))
    train(
        model,
        draw_sequences,
        reversing_loss,
        TrainingConfig(steps=updates, learning_rate=5e-3),
        schedule=lambda step: 1 - step / updates,
    )
    return [share_without_mistake(model, length) for length in range(1, 13)]


def bottleneck() -> list[dict[str, Any]]:
    """Train encoder-decoders with contexts of 16, 32 and 64 numbers, and 16 three times as long.

    Returns a row for each: the width, the updates, and for each seed what ``reverser_shares``
    returns.
    """
    runs = [(16, 4000), (32, 4000), (64, 4000), (16, 12_000)]
    return [
        {
            "context": width,
            "updates": updates,
            "shares": [reverser_shares(width, updates, seed) for seed in SEEDS],
        }
        for width, updates in runs
    ]


EXPERIMENTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "depth": depth,
    "bottleneck": bottleneck,
}


def main(arguments: list[str] | None = None) -> Path:
    """Run the experiment that the arguments name, and return the path of its written record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the record")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    began = time.process_time()
    figures = EXPERIMENTS[given.experiment]()
    record = {
        "command": f"python -m benchmarks.long_trainings {given.experiment}",
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "machine": machine(),
        "cpu_seconds": round(time.process_time() - began),
        "seeds": SEEDS,
        "figures": figures,
    }
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"{given.experiment}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path}")
    return path


if __name__ == "__main__":
    main()
