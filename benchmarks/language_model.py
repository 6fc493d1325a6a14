"""SmolLM2 and MiniLM on the course's layers, beside ``transformers``: equal numbers, and speed.

    python -m benchmarks.language_model            # prints the tables
    python -m benchmarks.language_model --write    # puts them into benchmarks/README.md

Needs the weights (make weights), 4 GB of memory and about ten minutes on an idle processor.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from benchmarks.__main__ import machine, replace_section
from benchmarks.measure import Comparison, compare, table
from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import CachedDecoder, store_by_columns
from course_lib.layers.kv_cache import KVCache
from course_lib.models.bert import BertModel, mean_pooling
from course_lib.models.llama import Llama
from course_lib.models.pretrained.bert import from_huggingface, read_tokenizer
from course_lib.models.pretrained.gguf import GGUFFile
from course_lib.models.pretrained.installed import minilm_folder, smollm2_file
from course_lib.tokenization.byte_level import ByteLevelTokenizer

BEGIN = "<!-- language model: written by python -m benchmarks.language_model -->"
END = "<!-- end of language model -->"

POSITIONS, NEW_TOKENS = 64, 200
TEXTS = (
    "The capital of France is Paris, and the capital of Germany is",
    "Once upon a time there was a little girl who lived in a village near the forest.",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "Photosynthesis is the process by which plants",
    "<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n",
    "In 1492, Columbus sailed the ocean blue; in 1969, two men walked on the",
    "Water boils at 100 degrees Celsius at sea level. On a high mountain",
    "import numpy as np\n\nx = np.linspace(0, 1, 11)\nprint(x.",
    "Dear Sir or Madam,\n\nI am writing to apply for the position of",
    "The quick brown fox jumps over the lazy dog. The dog",
    "Attention lets every token look at all the others. A mask hides",
    "1, 1, 2, 3, 5, 8, 13, 21,",
    "Romeo: But, soft! what light through yonder window breaks?\nIt is the east, and",
    "La capitale de la France est Paris, et la capitale de l'Italie est",
    "Ingredients: 2 eggs, 250 g flour, 1/2 l milk, a pinch of salt.\nMethod:",
    "Über den Wolken muss die Freiheit wohl grenzenlos sein 😀",
    "The mitochondria is the powerhouse of the cell. The nucleus",
    "<html>\n<head>\n<title>Hello</title>\n</head>\n<body>\n",
    "To be, or not to be, that is the question: Whether 'tis nobler in the mind to suffer",
    "Q: Who wrote the Origin of Species?\nA: Charles Darwin\nQ: Who wrote Hamlet?\nA:",
)
"""Twenty beginnings; each is repeated, with what SmolLM2 writes after it, to 64 tokens."""


def load_pair() -> tuple[Llama, ByteLevelTokenizer, LlamaForCausalLM]:
    """Load SmolLM2 in float32; return our model, its tokenizer, and ``transformers``' model."""
    path = smollm2_file()
    file = GGUFFile(path)
    config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    with torch.device("meta"):
        theirs = LlamaForCausalLM(config)
    read = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=theirs)
    theirs = LlamaForCausalLM(config).eval()
    missing, left_over = theirs.load_state_dict(read["tensors"], strict=False)
    assert (missing, left_over) == (["lm_head.weight"], [])
    theirs.tie_weights()
    return file.load_model(), file.load_tokenizer(), theirs


def prompts(tokenizer: ByteLevelTokenizer) -> list[Tensor]:
    """Return for each of ``TEXTS`` its ids and those of the next texts, cut to ``(1, 64)``."""
    ids = [tokenizer.encode(text) for text in TEXTS]
    found = []
    for number in range(len(ids)):
        joined = [*chain.from_iterable(ids[number:] + ids[:number])]
        found.append(torch.tensor([joined[:POSITIONS]]))
    return found


@torch.no_grad()
def largest_difference(
    ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], given: list[Tensor]
) -> float:
    """Return the largest absolute difference of two models' logits, over all given token ids."""
    return max(float((ours(ids) - theirs(ids)).abs().max()) for ids in given)


@torch.no_grad()
def in_pieces(model: Llama, ids: Tensor) -> Tensor:
    """Return our model's logits for ``(1, 64)`` token ids, read in several calls with a cache."""
    cache = KVCache(model.config.num_layers)
    return torch.cat([model(part, cache=cache) for part in ids.split([40, 1, 20, 3], dim=1)], dim=1)


@torch.no_grad()
def in_a_batch(model: Llama, ids: Tensor, num_padding: int = 9) -> Tensor:
    """Return the logits of ``(1, 64)`` ids, read in a batch with a text that is longer.

    For this the ids get ``num_padding`` tokens of padding on the left, whose logits are left out.
    """
    padded = torch.cat([torch.zeros(1, num_padding, dtype=torch.int64), ids], dim=1)
    other = torch.cat([ids, ids[:, :num_padding]], dim=1).flip(1)
    padding = torch.tensor([num_padding, 0])
    return model(torch.cat([padded, other]), padding=padding)[:1, num_padding:]


def written(model: Llama, prompt: Tensor, new_tokens: int) -> list[int]:
    """Return the ids that our model writes after the prompt, greedily and with a cache."""
    steps = CachedDecoder(model, capacity=prompt.size(1) + new_tokens)
    return list(greedy(steps, prompt, eos_id=None, max_new_tokens=new_tokens)[0].tokens)


def written_by(model: LlamaForCausalLM, prompt: Tensor, new_tokens: int) -> list[int]:
    """Return the ids that ``transformers`` writes after the prompt, greedily and with a cache."""
    found = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new_tokens,
        min_new_tokens=new_tokens, do_sample=False, pad_token_id=0, eos_token_id=None,
    )  # fmt: skip
    return found[0, prompt.size(1) :].tolist()


@torch.no_grad()
def sentence_difference() -> float:
    """Return the largest difference of our and ``transformers``' MiniLM vectors of ``TEXTS``."""
    folder = minilm_folder()
    ours, tokenizer = from_huggingface(folder, BertModel), read_tokenizer(folder)
    theirs, peer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    batch = peer(list(TEXTS), padding=True, return_tensors="pt")
    first, last = tokenizer.vocabulary.encode(["[CLS]", "[SEP]"])
    for text, ids, mask in zip(TEXTS, batch.input_ids, batch.attention_mask, strict=True):
        assert [first, *tokenizer.encode(text), last] == ids[mask.bool()].tolist()
    hidden, is_real = theirs(**batch).last_hidden_state, batch.attention_mask.bool()
    expected = torch.stack([row[real].mean(0) for row, real in zip(hidden, is_real, strict=True)])
    vectors = mean_pooling(ours(batch.input_ids).hidden, is_real)
    unit, peers = (nn.functional.normalize(x) for x in (vectors, expected))
    return float((unit - peers).abs().max())


def parity_table(
    ours: Llama, tokenizer: ByteLevelTokenizer, theirs: LlamaForCausalLM, *, new_tokens: int
) -> str:
    """Return a Markdown table of the differences between our numbers and ``transformers``'.

    ``new_tokens`` is the number of tokens that both models write after each of three texts.
    """
    given = prompts(tokenizer)

    def peer(ids: Tensor) -> Tensor:
        return theirs(ids).logits

    written_alike = sum(
        written(ours, ids, new_tokens) == written_by(theirs, ids, new_tokens)
        for ids in (torch.tensor([tokenizer.encode(text)]) for text in TEXTS[:3])
    )
    rows = [
        ("SmolLM2, 64 logits of 20 texts", "`transformers`", largest_difference(ours, peer, given)),
        ("the same, read in pieces with a cache", "ours at once",
         largest_difference(lambda ids: in_pieces(ours, ids), ours, given)),
        ("the same, padded on the left in a batch", "ours alone",
         largest_difference(lambda ids: in_a_batch(ours, ids), ours, given)),
        ("MiniLM, unit vectors of 20 texts", "`transformers`", sentence_difference()),
    ]  # fmt: skip
    lines = ["| what | beside | largest difference |", "| --- | --- | ---: |"]
    lines += [f"| {what} | {beside} | {difference:.1e} |" for what, beside, difference in rows]
    lines.append(
        f"| greedy, {new_tokens} tokens after 3 texts | `transformers` | "
        f"{written_alike} of 3 the same |"
    )
    return "\n".join(lines)


def speed_rows(
    ours: Llama, tokenizer: ByteLevelTokenizer, theirs: LlamaForCausalLM, *, new_tokens: int
) -> list[Comparison]:
    """Time a token of greedy search with a cache after one text, ``new_tokens`` in a run.

    One row is our float32 beside ``transformers``', the other our int8 beside our float32.
    """
    prompt = torch.tensor([tokenizer.encode(TEXTS[1])])
    store_by_columns(ours)
    small = int8(ours)
    megabytes = sum(p.nbytes for p in ours.parameters()) / 1e6
    divergence, same = int8_agreement(small, ours, tokenizer)
    return [
        compare(
            f"SmolLM2, float32, {megabytes:.0f} MB: a token, {new_tokens} after {prompt.size(1)}",
            lambda: written(ours, prompt, new_tokens),
            "`transformers` `generate`",
            lambda: written_by(theirs, prompt, new_tokens),
            pairs=5,
            units=new_tokens,
            note="weights stored column by column",
        ),
        compare(
            f"SmolLM2, int8, {int8_megabytes(small):.0f} MB: a token, likewise",
            lambda: written(small, prompt, new_tokens),
            "ours, float32",
            lambda: written(ours, prompt, new_tokens),
            pairs=5,
            units=new_tokens,
            target=None,
            note=f"{divergence:.2f} nats from float32, {same:.0%} of first choices the same",
        ),
    ]


def int8(model: Llama) -> Llama:
    """Return a copy of a model with PyTorch's 8-bit linear layers, one scale per row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.ao moves to a package of its own
        setting = torch.ao.quantization.per_channel_dynamic_qconfig
        copy: Any = torch.ao.quantization.quantize_dynamic(
            deepcopy(model), {nn.Linear: setting}, dtype=torch.qint8
        )
    return copy


def int8_megabytes(model: nn.Module) -> float:
    """Return the bytes of a quantised model's weights in millions; its embedding is float32."""
    kind = torch.ao.nn.quantized.dynamic.Linear
    packed = (m.weight().nbytes for m in model.modules() if isinstance(m, kind))
    return (sum(p.nbytes for p in model.parameters()) + sum(packed)) / 1e6


@torch.no_grad()
def int8_agreement(small: Llama, ours: Llama, tokenizer: ByteLevelTokenizer) -> tuple[float, float]:
    """Compare the next-token distributions of the int8 model (``small``) and of float32 (``ours``).

    Both read the first text; int8 reads it token by token.

    A quantised layer takes one scale for all tokens that it reads at once. The first token has
    features a thousand times larger than the others, which beside it would become zero.

    Returns:
        The mean Kullback-Leibler divergence from float32 (nats), and the share of positions whose
        most probable token is the same.
    """
    ids = prompts(tokenizer)[0]
    cache = KVCache(small.config.num_layers)
    read = torch.cat([small(token, cache=cache) for token in ids.split(1, dim=1)], dim=1)
    q, p = read.log_softmax(-1), ours(ids).log_softmax(-1)
    divergence = (p.exp() * (p - q)).sum(-1).mean()
    return float(divergence), float((p.argmax(-1) == q.argmax(-1)).double().mean())


def main() -> None:
    """Print the tables of differences and times, and with ``--write`` put them into the README."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.language_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="to benchmarks/README.md")
    parser.add_argument("--new-tokens", type=int, default=NEW_TOKENS, help="of the greedy texts")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        pair = load_pair()
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    began = time.perf_counter()
    numbers = parity_table(*pair, new_tokens=given.new_tokens)
    print(numbers, f"{time.perf_counter() - began:.0f} s", sep="\n", flush=True)
    text = "\n\n".join([machine(), numbers, table(speed_rows(*pair, new_tokens=32))])
    print(text)
    if given.write:
        replace_section(BEGIN, END, text)


if __name__ == "__main__":
    main()
