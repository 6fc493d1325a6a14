"""Writing with a key-value cache, beside ``transformers``' ``generate`` and beside no cache.

python -m benchmarks.generation
"""

import statistics
import time

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GPT2LMHeadModel

from benchmarks.gpt_pair import gpt_pair
from benchmarks.measure import Comparison, compare, devices, readable, table
from course_lib.generation.beam_search import beam_search
from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import CachedDecoder, store_by_columns
from course_lib.models.gpt import DecoderLM, DecoderLMConfig

PROMPT_LEN = 16
COURSE = {"vocab_size": 1000, "d_model": 128, "num_heads": 4, "num_layers": 4}
"""About the size of the models that the chapters train."""
GPT2 = {"vocab_size": 50_257, "d_model": 768, "num_heads": 12, "num_layers": 12}
"""The smallest GPT-2."""
LENGTHS = (64, 128, 256, 512, 1024)


def rows() -> list[Comparison]:
    """Time greedy and beam search at two sizes, then a single token at growing positions."""
    found = []
    for device in devices():
        for name, sizes, new_tokens, pairs in (
            ("course-size model", COURSE, 100, 11),
            ("GPT-2 (124 million)", GPT2, 16, 5),
        ):
            ours, theirs = build_pair(sizes, device)
            for batch in (1, 8):
                found.append(
                    greedy_row(name, ours, theirs, batch, new_tokens, pairs=pairs, device=device)
                )
            found.append(beam_row(name, ours, theirs, new_tokens, pairs=pairs, device=device))
        found += [token_row(ours, length, device) for length in LENGTHS]
    return found


def build_pair(sizes: dict[str, int], device: str) -> tuple[DecoderLM, GPT2LMHeadModel]:
    """Build our GPT-2 and that of ``transformers`` with the same weights, for long texts.

    ``sizes`` are arguments of ``gpt_pair``, by name.
    """
    torch.manual_seed(0)
    ours, theirs = gpt_pair(max(LENGTHS) + 64, **sizes, initializer_range=0.2)
    store_by_columns(ours)  # like GPT-2's matrices in ``transformers``
    return ours.eval().to(device), theirs.eval().to(device)


def draw_prompt(model: DecoderLM, batch: int, device: str) -> Tensor:
    """Draw random token ids ``(batch, PROMPT_LEN)``."""
    generator = torch.Generator().manual_seed(1)
    size = (batch, PROMPT_LEN)
    return torch.randint(model.config.vocab_size, size, generator=generator).to(device)


def greedy_row(
    name: str,
    ours: DecoderLM,
    theirs: GPT2LMHeadModel,
    batch: int,
    new_tokens: int,
    *,
    pairs: int,
    device: str,
) -> Comparison:
    """Time a token of greedy search with a cache, by our model and that of ``transformers``.

    ``name`` describes the models. Both must write the same tokens.
    """
    prompt = draw_prompt(ours, batch, device)

    def run_ours() -> list[tuple[int, ...]]:
        steps = CachedDecoder(ours, capacity=PROMPT_LEN + new_tokens)
        found = greedy(steps, prompt, eos_id=None, max_new_tokens=new_tokens)
        return [tuple(hypothesis.tokens) for hypothesis in found]

    def run_theirs() -> list[tuple[int, ...]]:
        return generate(theirs, prompt, new_tokens, num_beams=1)

    assert run_ours() == run_theirs()
    return compare(
        f"greedy, {name}: a token, batch {batch}, {PROMPT_LEN} + {new_tokens} tokens",
        run_ours,
        "`transformers` `generate`",
        run_theirs,
        pairs=pairs,
        units=new_tokens * batch,
        target=1.5,
        device=device,
    )


def beam_row(
    name: str,
    ours: DecoderLM,
    theirs: GPT2LMHeadModel,
    new_tokens: int,
    *,
    pairs: int,
    device: str,
) -> Comparison:
    """Time a token of beam search with a cache, by our model and that of ``transformers``.

    ``name`` describes the models. Both must write the same tokens.
    """
    prompt = draw_prompt(ours, 1, device)

    def run_ours() -> list[tuple[int, ...]]:
        steps = CachedDecoder(ours, capacity=PROMPT_LEN + new_tokens)
        found = beam_search(steps, prompt, beam_size=5, eos_id=None, max_new_tokens=new_tokens)
        return [tuple(found[0][0].tokens)]

    def run_theirs() -> list[tuple[int, ...]]:
        return generate(theirs, prompt, new_tokens, num_beams=5)

    assert run_ours() == run_theirs()
    return compare(
        f"beam of 5, {name}: a token, {PROMPT_LEN} + {new_tokens} tokens",
        run_ours,
        "`transformers` `generate`",
        run_theirs,
        pairs=pairs,
        units=new_tokens,
        target=1.5,
        device=device,
    )


def generate(
    model: GPT2LMHeadModel, prompt: Tensor, new_tokens: int, *, num_beams: int
) -> list[tuple[int, ...]]:
    """Return the ids that ``transformers`` writes after each prompt: greedily with one beam."""
    written = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=new_tokens,
        do_sample=False,
        num_beams=num_beams,
        pad_token_id=0,
    )
    return [tuple(row) for row in written[:, PROMPT_LEN:].tolist()]


def token_row(model: DecoderLM, length: int, device: str) -> Comparison:
    """Compare the times of our model for token number ``length``, with a cache and without."""
    tokens = torch.randint(model.config.vocab_size, (1, length), device=device)
    steps = CachedDecoder(model, capacity=length + 64)
    steps.advance(tokens[:, :-1])

    def without_cache() -> None:
        with torch.no_grad():
            model.output_projection(model.hidden(tokens)[:, -1])

    attention = model.config.num_layers * attention_seconds(model.config, length, device)
    return compare(
        f"GPT-2 (124 million): token {length}, with the cache",
        lambda: steps.advance(tokens[:, -1:]),
        "ours without a cache",
        without_cache,
        pairs=3,
        target=None,
        device=device,
        note=f"attention itself {readable(attention)}",
    )


def attention_seconds(config: DecoderLMConfig, length: int, device: str) -> float:
    """Return the median seconds of the attention of one query to ``length`` keys in one layer."""
    head_dim = config.d_model // config.num_heads
    query = torch.randn(1, config.num_heads, 1, head_dim, device=device)
    # As many layers as the model has, or all keys would stay in the processor's cache.
    keys = torch.randn(2 * config.num_layers, 1, config.num_heads, length, head_dim, device=device)
    times = []
    for _ in range(7):
        began = time.perf_counter()
        for layer in range(config.num_layers):
            F.scaled_dot_product_attention(query, keys[2 * layer], keys[2 * layer + 1])
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / config.num_layers)
    return statistics.median(times)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
