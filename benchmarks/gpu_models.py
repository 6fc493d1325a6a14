"""Sizes, repeats and models of ``gpu.py``, ours and the peer's."""

import dataclasses
import statistics
import time
from collections.abc import Callable

import torch
import transformers
from torch import Tensor

from course_lib.models.gpt import DecoderLM, DecoderLMConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a run.

    Attributes:
        product: Rows and columns of the large matrix product.
        vocab_size: Token ids of both models.
        d_model: Width of both models.
        num_heads: Their heads.
        num_layers: Their layers.
        bert_batch: Texts, and tokens in each, of a step of BERT.
        gpt_batch: Texts, and tokens in each, of a step of GPT-2.
        steps: Timed steps of training.
        prompt: Tokens of a prompt.
        new_tokens: Tokens to write.
        generation_batches: Texts written at once.
        lengths: Tokens that attention is measured at.
        generation_repeats: Times that a generation is timed.
        repeats: Times that anything else is timed.
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
        device: The device.
        sizes: The sizes.
        backend: Backend of ``torch.compile``.
    """

    device: str
    sizes: Sizes
    backend: str

    def seconds(
        self, run: Callable[[], object], *, warm_up: int = 3, repeats: int | None = None
    ) -> float:
        """Return the median time of a call, after a warm-up."""
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
        """Wait until the device has finished."""
        if self.device == "cuda":
            torch.cuda.synchronize()


def gpt_models(bench: Bench, max_length: int) -> tuple[DecoderLM, transformers.GPT2LMHeadModel]:
    """Return our GPT-2 and the peer's, without dropout, with different random weights."""
    sizes = bench.sizes
    ours = DecoderLM(
        DecoderLMConfig(
            vocab_size=sizes.vocab_size,
            max_length=max_length,
            d_model=sizes.d_model,
            num_heads=sizes.num_heads,
            d_ff=4 * sizes.d_model,
            num_layers=sizes.num_layers,
            dropout=0.0,
        )
    )
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=sizes.vocab_size,
            n_positions=max_length,
            n_embd=sizes.d_model,
            n_head=sizes.num_heads,
            n_layer=sizes.num_layers,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    return ours, theirs


def draw_tokens(bench: Bench, batch: int, length: int) -> Tensor:
    """Draw random token ids ``(batch, length)``; none is 0, which is padding."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(1, bench.sizes.vocab_size, (batch, length), generator=generator)
    return drawn.to(bench.device)
