"""The models of the pages, and the same models in PyTorch."""

import base64
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Page
from torch import Tensor, nn

from course_lib.analysis.recorders import recorded_attention, recorded_outputs
from course_lib.data.agreement import WORDS, draw_agreement
from course_lib.data.translation_grammar.english_french import draw_pairs
from course_lib.layers.masks import causal_mask
from course_lib.layers.transformer_layers import Encoder
from course_lib.models.bert import BertConfig, BertEmbeddings
from course_lib.models.bert_heads import MaskedLanguageModelHead
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig


def rebuilt(page: Page) -> tuple[Transformer, dict[str, list[str]]]:
    """Return a page's translator in PyTorch, and its words by side, ``src`` and ``tgt``."""
    return from_export(json.loads(page.evaluate("JSON.stringify(courseModels.translator)")))


def from_export(model: dict[str, Any]) -> tuple[Transformer, dict[str, list[str]]]:
    """Return an exported translator in PyTorch, and its words by side, ``src`` and ``tgt``."""
    state = exported_state(model["parameters"])
    state.setdefault("output_projection.weight", state["tgt_embedding.weight"])
    tied = "output" if "output_projection.weight" not in model["parameters"]["shapes"] else "none"
    config = TransformerConfig(**model["config"] | {"tied": tied})
    transformer = Transformer(config).eval()
    transformer.load_state_dict(state)
    return transformer, model["words"]


def exported_state(parameters: dict[str, Any]) -> dict[str, Tensor]:
    """Return exported parameters as tensors, by name."""
    numbers = np.frombuffer(base64.b64decode(parameters["float32"]), "<f4")
    state, place = {}, 0
    for name, shape in parameters["shapes"].items():
        size = math.prod(shape)
        state[name] = torch.tensor(numbers[place : place + size].reshape(shape))
        place += size
    assert place == len(numbers)
    return state


def decoder_from_export(model: dict[str, Any]) -> DecoderLM:
    """Return an exported decoder in PyTorch; its output projection may have weights of its own."""
    sizes = {name: size for name, size in model["config"].items() if name not in ("start", "end")}
    decoder = DecoderLM(DecoderLMConfig(**sizes)).eval()
    state = exported_state(model["parameters"])
    untied = state.pop("output_projection.weight", None)
    decoder.load_state_dict(state | {"output_projection.weight": state["embedding.weight"]})
    if untied is not None:
        decoder.output_projection.weight = nn.Parameter(untied)
    return decoder


class BlankFiller(nn.Module):
    """A BERT, perhaps causal, with the head that guesses hidden words.

    ``config`` is the field of that name of an exported model.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.causal = config["causal"]
        names = ("vocab_size", "max_length", "num_segments", "num_layers", "d_model", "num_heads")
        sizes = {name: config[name] for name in (*names, "d_ff")}
        self.embeddings = BertEmbeddings(BertConfig(**sizes, eps=config["eps_embeddings"]))
        layers = (sizes[name] for name in ("num_layers", "d_model", "num_heads", "d_ff"))
        self.encoder = Encoder(
            *layers,
            norm_position=config["norm_position"],
            activation="gelu",
            eps=config["eps_layers"],
        )
        self.head = MaskedLanguageModelHead(self.embeddings.tokens, eps=config["eps_head"])

    @classmethod
    def from_export(cls, model: dict[str, Any]) -> "BlankFiller":
        """Return an exported model in PyTorch, in evaluation mode."""
        filler = cls(model["config"]).eval()
        state = exported_state(model["parameters"])
        shared = {"head.output_projection.weight": state["embeddings.tokens.weight"]}
        filler.load_state_dict(state | shared)
        return filler

    def forward(self, token_ids: Tensor) -> Tensor:
        """Return the logits of all words at every position, for texts without padding."""
        mask = causal_mask(token_ids.size(1)) if self.causal else None
        return self.head(self.encoder(self.embeddings(token_ids), mask))


RUN = """([ids, cuts, file]) => {
  const { Transformer, unpack, translate, readTranslator } = courseEngine;
  const { config, words, parameters } = file ? readTranslator(file) : courseModels.translator;
  if (!file) window.unpacked ??= unpack(parameters);
  const model = new Transformer(config, file ? parameters : window.unpacked, new Set(cuts));
  const [start, end] = ["<start>", "<end>"].map((word) => words.tgt.indexOf(word));
  const run = translate(model, ids, { start, end, most: 20 });
  const last = run.steps.at(-1);
  const plain = (value) => (Array.isArray(value) ? value.map(plain) : value.map((row) => [...row]));
  const trace = Object.entries({ ...run.encoded, ...last.trace });
  return JSON.stringify({ read: last.read, chosen: run.steps.map((step) => step.chosen),
    trace: Object.fromEntries(trace.map(([name, value]) => [name, plain(value)])) });
}"""


def run_in_page(
    page: Page, ids: list[int], cuts: Iterable[str] = (), file: str = ""
) -> dict[str, Any]:
    """Translate a sentence in a page, and return the numbers that its model computes.

    Args:
        page: The page, its model loaded.
        ids: Ids of the sentence's words.
        cuts: Names of the parts of the model that are switched off.
        file: Text of a file with another model; empty for the page's own.

    Returns:
        ``read`` and ``chosen``, the tokens of the last step, and its ``trace``: all numbers by the
        names of the model's modules.
    """
    return json.loads(page.evaluate(RUN, [ids, list(cuts), file]))


def computed(model: Transformer, src: list[int], tgt: list[int]) -> dict[str, Tensor]:
    """Return all that a translator computes in PyTorch, by the names of ``run_in_page``'s trace.

    ``src`` and ``tgt`` are the ids that encoder and decoder read.
    """
    with recorded_attention(model) as weights, recorded_outputs(model) as outputs, torch.no_grad():
        model(torch.tensor([src]), torch.tensor([tgt]))
    found = {name: output[0] for name, output in outputs.items()}
    heads, head_dim = model.config.num_heads, model.config.d_model // model.config.num_heads
    for name, layer_weights in weights.items():
        parts = {
            role: found[f"{name}.{role}_projection"].view(-1, heads, head_dim).transpose(0, 1)
            for role in ("query", "key", "value")
        }
        found[f"{name}.weights"] = layer_weights[0]
        found[f"{name}.scores"] = parts["query"] @ parts["key"].mT / math.sqrt(head_dim)
        found[f"{name}.outputs"] = layer_weights[0] @ parts["value"]
        found[f"{name}.joined"] = found[f"{name}.outputs"].transpose(0, 1).flatten(1)
    for name in [name for name in found if name.endswith("up_projection")]:
        found[name.replace("up_projection", "inner")] = found[name].relu()
    return found


def largest_difference(trace: dict[str, Any], expected: dict[str, Tensor]) -> float:
    """Return the largest difference of ``run_in_page``'s trace from the result of ``computed``."""
    return max(
        float((torch.tensor(values, dtype=torch.float64) - expected[name]).abs().max())
        for name, values in trace.items()
    )


def drawn_sources(words: dict[str, list[str]], count: int) -> list[list[int]]:
    """Draw English sentences of the translator's words; return each as ids with the end token."""
    pairs = draw_pairs(2 * count, generator=torch.Generator().manual_seed(9), max_length=10)
    known = [pair.src for pair in pairs if {*pair.src} <= {*words["src"]}][:count]
    assert len(known) == count
    ids = {word: i for i, word in enumerate(words["src"])}
    return [[*(ids[word] for word in src), ids["<end>"]] for src in known]


# ---- a language model ----

WRITE = """(texts) => {
  const { config, parameters } = courseModels["small-writer-model"];
  const decoder = new courseEngine.DecoderLM(courseEngine.unpack(parameters), config.num_heads);
  return texts.map((tokens) => {
    let now = {};
    return tokens.map((token) => [...(now = decoder.read([token], now.past)).logits]);
  });
}"""


def write_in_page(page: Page, texts: list[list[int]]) -> list[list[list[float]]]:
    """Return the logits of a page's language model at each token of texts, given as ids.

    It reads token by token with its cache.
    """
    return page.evaluate(WRITE, texts)


# ---- two models that fill gaps ----

FILL = """(texts) => courseModels["blank-fillers"].map(({ config, parameters }) => {
  const model = new courseEngine.MaskedLM(config, courseEngine.unpack(parameters));
  const plain = (matrix) => matrix.map((row) => [...row]);
  return texts.map((ids) => {
    const { logits, weights } = model.read(ids);
    return { logits: plain(logits), weights: weights.map((heads) => heads.map(plain)) };
  });
})"""


def fill_in_page(page: Page, texts: list[list[int]]) -> list[list[dict[str, Any]]]:
    """Return ``logits`` and ``weights`` of both models of a page, for each model and text (ids)."""
    return page.evaluate(FILL, texts)


def drawn_gaps(words: list[str], count: int) -> list[list[int]]:
    """Draw sentences of at most two nouns, as ids of ``words``; one word of each is hidden."""
    batch = draw_agreement(count, max_phrases=2, generator=torch.Generator().manual_seed(5))
    texts = []
    for number, (row, length) in enumerate(zip(batch.src, batch.lengths.tolist(), strict=True)):
        named = [WORDS[word] for word in row[: length - 1].tolist()]
        text = ["[CLS]", *named, ("is", "are")[number % 2], "[SEP]"]
        text[1 + number % length] = "[MASK]"
        texts.append([words.index(word) for word in text])
    return texts


def largest_gap(model: BlankFiller, ids: list[int], run: dict[str, Any]) -> float:
    """Return the largest difference of a page's logits and weights (``run``) from PyTorch's."""
    with torch.no_grad(), recorded_attention(model) as weights:
        logits = model(torch.tensor([ids]))[0]
    found = {"logits": run["logits"]}
    expected = {"logits": logits}
    for layer, heads in enumerate(run["weights"]):
        name = f"encoder.layers.{layer}.self_attention"
        found[name], expected[name] = heads, weights[name][0]
    return largest_difference(found, expected)
