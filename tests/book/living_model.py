"""The model that lives in a page, beside the same model in PyTorch."""

import base64
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Page
from torch import Tensor

from course_lib.analysis.recorders import recorded_attention, recorded_outputs
from course_lib.data.translation_grammar.english_french import draw_pairs
from course_lib.models.transformer import Transformer, TransformerConfig


def rebuilt(page: Page) -> tuple[Transformer, dict[str, list[str]]]:
    """The page's model in PyTorch, and its words."""
    return from_export(json.loads(page.evaluate("JSON.stringify(courseModels.translator)")))


def exported_state(parameters: dict[str, Any]) -> dict[str, Tensor]:
    """Parameters by name, from what was exported of a model."""
    numbers = np.frombuffer(base64.b64decode(parameters["float32"]), "<f4")
    state, place = {}, 0
    for name, shape in parameters["shapes"].items():
        size = math.prod(shape)
        state[name] = torch.tensor(numbers[place : place + size].reshape(shape))
        place += size
    assert place == len(numbers)
    return state


def from_export(model: dict[str, Any]) -> tuple[Transformer, dict[str, list[str]]]:
    """A model in PyTorch from what was exported of it, and its words."""
    state = exported_state(model["parameters"])
    state.setdefault("output_projection.weight", state["tgt_embedding.weight"])
    tied = "output" if "output_projection.weight" not in model["parameters"]["shapes"] else "none"
    config = TransformerConfig(**model["config"] | {"tied": tied})
    transformer = Transformer(config).eval()
    transformer.load_state_dict(state)
    return transformer, model["words"]


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
    """Translate in the page: what was read, what was chosen, and the trace of the last step.

    The model is the course's, or that of a reader's file, whose text is given.
    """
    return json.loads(page.evaluate(RUN, [ids, list(cuts), file]))


def computed(model: Transformer, src: list[int], tgt: list[int]) -> dict[str, Tensor]:
    """What PyTorch computes at every place that the page's trace names."""
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
    """How far any number of a trace is from PyTorch's."""
    return max(
        float((torch.tensor(values, dtype=torch.float64) - expected[name]).abs().max())
        for name, values in trace.items()
    )


def drawn_sources(words: dict[str, list[str]], count: int) -> list[list[int]]:
    """Sentences that the model can read, as ids."""
    pairs = draw_pairs(2 * count, generator=torch.Generator().manual_seed(9), max_length=10)
    known = [pair.src for pair in pairs if {*pair.src} <= {*words["src"]}][:count]
    assert len(known) == count
    ids = {word: i for i, word in enumerate(words["src"])}
    return [[*(ids[word] for word in src), ids["<end>"]] for src in known]
