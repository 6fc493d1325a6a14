"""Sizes, repeats and models of the GPU benchmark, ours and the peer's."""

import dataclasses
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

from benchmarks.gpt_pair import gpt_pair
from course_lib.models.gpt import DecoderLM


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a run.

    Attributes:
        product: Rows and columns of the large matrices whose product gives the card's peak.
        vocab_size: Number of tokens of all models.
        d_model: Width of all models.
        num_heads: Number of heads of each layer.
        num_layers: Number of layers of all models.
        bert_batch: Number of texts, and of tokens in each, in a training step of BERT.
        gpt_batch: Number of texts, and of tokens in each, in a training step of GPT-2.
        steps: Number of timed training steps.
        prompt: Number of tokens of a prompt.
        new_tokens: Number of tokens to write after it.
        generation_batches: Numbers of prompts continued at once, a measurement each.
        lengths: Numbers of tokens of the long attention, a measurement each.
        generation_repeats: Number of timings of a generation.
        repeats: Number of timings of anything else.
    """

    product: int = 8192
    vocab_size: int = 50_304
    d_model: int = 768
    num_heads: int = 12
    num_layers: int = 12
    bert_batch: tuple[int, int] = (64, 512)
    gpt_batch: tuple[int, int] = (16, 1024)
    steps: int = 20
    prompt: int = 64
    new_tokens: int = 256
    generation_batches: tuple[int, ...] = (1, 8)
    lengths: tuple[int, ...] = (1024, 2048, 4096, 8192, 16_384)
    generation_repeats: int = 3
    repeats: int = 10


TOY = Sizes(
    product=64,
    vocab_size=32,
    d_model=16,
    num_heads=2,
    num_layers=1,
    bert_batch=(2, 8),
    gpt_batch=(2, 8),
    steps=2,
    prompt=3,
    new_tokens=4,
    generation_batches=(2,),
    lengths=(8, 16),
    generation_repeats=2,
    repeats=2,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bench:
    """The settings of a run.

    Attributes:
        device: ``cuda``, or ``cpu`` for a dry run.
        sizes: The sizes of models and texts.
        backend: Backend of ``torch.compile``.
    """

    device: str
    sizes: Sizes
    backend: str

    def seconds(
        self, run: Callable[[], object], *, warm_up: int = 3, repeats: int | None = None
    ) -> float:
        """Return the median seconds of a call of ``run``, after ``warm_up`` calls.

        ``repeats`` is the number of timed calls, by default ``sizes.repeats``.
        """
        times = []
        for number in range(warm_up + (repeats or self.sizes.repeats)):
            self.wait()
            began = time.perf_counter()
            run()
            self.wait()
            if number >= warm_up:
                times.append(time.perf_counter() - began)
        return statistics.median(times)

    def wait(self) -> None:
        """Wait until the GPU has finished its work; return at once on a CPU."""
        if self.device == "cuda":
            torch.cuda.synchronize()


def gpt_models(bench: Bench, max_length: int) -> tuple[DecoderLM, GPT2LMHeadModel]:
    """Return our GPT-2 and that of ``transformers``, without dropout, in the sizes of ``bench``.

    They read at most ``max_length`` tokens.
    """
    names = ("vocab_size", "d_model", "num_heads", "num_layers")
    return gpt_pair(max_length, **{name: getattr(bench.sizes, name) for name in names})


def draw_tokens(bench: Bench, batch: int, length: int) -> Tensor:
    """Draw random token ids ``(batch, length)``; none is 0, which is padding."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(1, bench.sizes.vocab_size, (batch, length), generator=generator)
    return drawn.to(bench.device)
