"""Beam search beside ``transformers``' on the same weights: in batches, with ends, and bare.

``benchmarks/generation.py`` has the rows of the course's two model sizes. This file measures the
search: sentences that end at different times, several prompts at once, a large vocabulary.

python -m benchmarks.beam_search
"""

import functools

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

from benchmarks.gpt_pair import gpt_pair
from benchmarks.measure import Comparison, compare, devices, table
from course_lib.generation.beam_search import beam_search
from course_lib.generation.step_models import CachedDecoder, RecurrentStepModel, UncachedModel
from course_lib.models.gpt import DecoderLM
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq

BEAM_SIZE, PROMPT_LEN, NEW_TOKENS = 5, 16, 32
EOS_ID = 0
SIZES = {"d_model": 256, "num_heads": 4, "num_layers": 4}
BARE = {"d_model": 8, "num_heads": 1, "num_layers": 1}
"""A tiny model, so that nearly all of the time is the search."""


def rows() -> list[Comparison]:
    """Time batched searches, searches with a tiny model, and one with a recurrent model."""
    found = []
    for device in devices():
        for batch, vocab_size in ((1, 5_000), (8, 5_000), (1, 50_257)):
            found.append(row("4 layers of 256", SIZES, batch, vocab_size, device))
        found.append(row("the search alone", BARE, 1, 5_000, device))
        found.append(row("the search alone", BARE, 8, 5_000, device))
        found.append(state_row(device))
    return found


def row(name: str, sizes: dict[str, int], batch: int, vocab_size: int, device: str) -> Comparison:
    """Time a step of our beam search and of ``transformers``'; both must find the same sequences.

    ``name`` describes the model; ``sizes`` are arguments of ``gpt_pair``; ``batch`` counts prompts.
    """
    torch.manual_seed(0)
    ours, theirs = (
        model.eval().to(device)
        for model in gpt_pair(
            128, **sizes, vocab_size=vocab_size, eos_id=EOS_ID, initializer_range=0.2
        )
    )
    generator = torch.Generator().manual_seed(1)
    prompt = torch.randint(1, vocab_size, (batch, PROMPT_LEN), generator=generator).to(device)
    run_ours = functools.partial(search, ours, prompt)
    run_theirs = functools.partial(generate, theirs, prompt)
    assert run_ours() == run_theirs()
    return compare(
        f"beam of {BEAM_SIZE}, {name}, batch {batch}, vocabulary {vocab_size:,}: a step",
        run_ours,
        "`transformers` `generate`",
        run_theirs,
        pairs=9,
        units=NEW_TOKENS,
        target=1.5,
        device=device,
    )


def search(model: DecoderLM, prompt: Tensor) -> list[list[int]]:
    """Return the ids of the best text that our search finds after each prompt."""
    steps = CachedDecoder(model, capacity=PROMPT_LEN + NEW_TOKENS)
    found = beam_search(
        steps, prompt, beam_size=BEAM_SIZE, eos_id=EOS_ID, max_new_tokens=NEW_TOKENS
    )
    return [list(hypotheses[0].tokens) for hypotheses in found]


def generate(model: GPT2LMHeadModel, prompt: Tensor) -> list[list[int]]:
    """Return the ids that ``transformers``' beam search finds after each prompt.

    As in our search, it ends only when no open beam can still win.
    """
    written = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=NEW_TOKENS,
        do_sample=False,
        num_beams=BEAM_SIZE,
        early_stopping="never",
    )
    found = written[:, PROMPT_LEN:].tolist()
    return [row[: row.index(EOS_ID) + 1] if EOS_ID in row else row for row in found]


def state_row(device: str) -> Comparison:
    """Time a step of beam search that keeps a recurrent model's state.

    The row compares it with a search in which the model reads the whole text again at each step.
    """
    torch.manual_seed(0)
    encoder = RecurrentEncoder(1_000, 64, 128)
    decoder = RecurrentDecoder(1_000, 64, 256, encoder.d_memory)
    model = Seq2Seq(encoder, decoder).eval().to(device)
    src = torch.randint(1_000, (1, 20), device=device)
    start = torch.ones(1, 1, dtype=torch.int64, device=device)
    options = {"beam_size": BEAM_SIZE, "eos_id": None, "max_new_tokens": NEW_TOKENS}

    def recomputed() -> object:
        def language_model(tokens: Tensor) -> Tensor:
            return model(src.expand(len(tokens), -1), tokens)

        return beam_search(UncachedModel(language_model), start, **options)

    return compare(
        f"beam of {BEAM_SIZE}, recurrent model of 256: a step, with its state",
        lambda: beam_search(
            RecurrentStepModel(model.decoder, model.encoder(src)), start, **options
        ),
        "ours, all read again",
        recomputed,
        pairs=9,
        units=NEW_TOKENS,
        target=None,
        device=device,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
