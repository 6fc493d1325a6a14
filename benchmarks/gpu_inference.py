"""Generation with the cache on a GPU, beside ``transformers``, and the cost of long attention."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.gpu_models import Bench, draw_tokens, gpt_models
from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import CachedDecoder, StaticDecoder, StepModel
from course_lib.layers.attention import scaled_dot_product_attention


@torch.no_grad()
def generation_rows(bench: Bench, batch: int) -> Iterator[dict[str, Any]]:
    """Measure greedy search with a cache for ``batch`` prompts, beside that of ``transformers``.

    Yields a row for the eager models and one for the compiled ones, each with the tokens a second
    of both models and their ratio.
    """
    sizes = bench.sizes
    capacity = sizes.prompt + sizes.new_tokens
    ours, theirs = (
        model.to(bench.device, torch.bfloat16).eval() for model in gpt_models(bench, capacity)
    )
    prompt = draw_tokens(bench, batch, sizes.prompt)

    def write(steps: StepModel) -> None:
        greedy(steps, prompt, eos_id=None, max_new_tokens=sizes.new_tokens)

    static = StaticDecoder(ours, batch=batch, capacity=capacity, compiled=bench.device == "cuda")

    def write_compiled() -> None:
        static.length = 0
        write(static)

    def generate(**options: object) -> None:
        theirs.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=sizes.new_tokens,
            do_sample=False,
            pad_token_id=0,
            **options,
        )

    for way, our_run, their_run in (
        ("eager", lambda: write(CachedDecoder(ours, capacity=capacity)), generate),
        ("compiled", write_compiled, lambda: generate(cache_implementation="static")),
    ):
        our_time, their_time = (
            bench.seconds(run, warm_up=2, repeats=sizes.generation_repeats)
            for run in (our_run, their_run)
        )
        written = batch * sizes.new_tokens
        torch.compiler.reset()
        yield {
            "what": f"greedy, {way}, batch {batch}, {sizes.prompt} + {sizes.new_tokens} tokens",
            "peer": "transformers.generate",
            "tokens_a_second": written / our_time,
            "peer_tokens_a_second": written / their_time,
            "ratio": their_time / our_time,
        }


def attention_row(bench: Bench, length: int, way: str) -> dict[str, Any]:
    """Measure forward and backward of causal attention over ``length`` tokens.

    ``way`` is ``formula`` (the course's layer, weights in memory) or ``fused`` (PyTorch's kernel).
    The row has ``what``, the median ``seconds``, and on a GPU the largest additional ``megabytes``,
    or ``out_of_memory``.
    """
    sizes = bench.sizes
    shape = (1, sizes.num_heads, length, sizes.d_model // sizes.num_heads)
    query, key, value = (
        torch.randn(shape, device=bench.device, dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    )
    mask = torch.ones(length, length, dtype=torch.bool, device=bench.device).tril()

    def run() -> None:
        if way == "formula":
            output, _ = scaled_dot_product_attention(query, key, value, mask, return_weights=True)
        else:  # the kernel needs no mask in memory for this
            output = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        output.sum().backward()

    row: dict[str, Any] = {"what": f"causal attention, {way}, {length} tokens"}
    try:
        row["seconds"] = bench.seconds(run)
        if bench.device == "cuda":
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            run()
            row["megabytes"] = (torch.cuda.max_memory_allocated() - before) / 2**20
    except torch.cuda.OutOfMemoryError:
        row["out_of_memory"] = True
    return row
