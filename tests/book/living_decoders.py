"""The recurrent decoders with attention that run in pages, and the same models in PyTorch."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from playwright.sync_api import Page
from torch import Tensor

from course_lib.models.bahdanau import AttentionDecoder
from course_lib.models.captioning import CaptionModel, ConvEncoder
from course_lib.models.seq2seq import Encoded, RecurrentEncoder, Seq2Seq
from tests.book.living_models import exported_state


def exported_decoder(page: Page, task: int) -> dict[str, Any]:
    """Return the exported words and parameters of a page's decoder for the task with this index."""
    return json.loads(page.evaluate(f"JSON.stringify(courseModels['attention-decoders'][{task}])"))


def exported_captioner(page: Page) -> dict[str, Any]:
    """Return the exported words and parameters of a page's captioner."""
    return json.loads(page.evaluate("JSON.stringify(courseModels.captioner)"))


def rebuilt_decoder(exported: dict[str, Any]) -> Seq2Seq:
    """Return an exported decoder with its encoder in PyTorch."""
    state = exported_state(exported["parameters"])
    vocab_size, d_embedding = state["encoder.embedding.weight"].shape
    d_one_way = state["encoder.recurrent.cells.0.hidden_projection.weight"].size(1)
    encoder = RecurrentEncoder(vocab_size, d_embedding, d_one_way)
    model = Seq2Seq(encoder, _decoder(state, encoder.d_memory))
    model.load_state_dict(state)
    return model


def rebuilt_captioner(exported: dict[str, Any]) -> CaptionModel:
    """Return an exported captioner in PyTorch."""
    state = exported_state(exported["parameters"])
    channels = state["encoder.layers.0.weight"].size(0)
    encoder = ConvEncoder(state["encoder.layers.6.weight"].size(0), channels=channels)
    model = CaptionModel(encoder, _decoder(state, encoder.d_memory))
    model.load_state_dict(state)
    return model


def _decoder(state: dict[str, Tensor], d_memory: int) -> AttentionDecoder:
    vocab_size, d_embedding = state["decoder.embedding.weight"].shape
    d_attention, d_hidden = state["decoder.attention.query_projection.weight"].shape
    return AttentionDecoder(vocab_size, d_embedding, d_hidden, d_memory, d_attention=d_attention)


RUN = """([task, source, turned]) => {
  const { AttentionDecoder, Matrix, readBothWays, readPicture, unpack, write } = courseEngine;
  const model = task === null ? courseModels.captioner : courseModels["attention-decoders"][task];
  window.unpackedLooks ??= {};
  const parameters = (window.unpackedLooks[task] ??= unpack(model.parameters));
  const [encoded, words] = task === null
    ? [readPicture(parameters, Matrix.of(source)), model.words]
    : [readBothWays(parameters, source), model.words.tgt];
  const [start, end] = ["<start>", "<end>"].map((word) => words.indexOf(word));
  const decoder = new AttentionDecoder(parameters);
  const steps = write(decoder, encoded, { start, end, most: 20 }, new Map(turned));
  const rows = (matrix) => matrix.map((row) => [...row]);
  const plain = ({ state, token, chosen, ...vectors }) => ({ token, chosen,
    ...Object.fromEntries(Object.entries(vectors).map(([name, vector]) => [name, [...vector]])) });
  return JSON.stringify({ memory: rows(encoded.memory), whole: [...encoded.context],
    keys: rows(steps[0].state.keys), steps: steps.map(plain) });
}"""


def run_in_page(
    page: Page,
    task: int | None,
    source: Sequence[Any],
    turned: Mapping[int, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """Let a page's model write for a source, and return the numbers that it computes.

    Args:
        page: The page, its model loaded.
        task: Index of the model's task; None for the captioner.
        source: Ids of the source's words; for the captioner, the picture's red, green and blue.
        turned: Attention weights that replace the model's own, by index of the step.

    Returns:
        ``memory``, ``keys`` and ``whole`` (the context) of the encoder, and ``steps``: for each
        word the decoder's vectors by name, the read ``token`` and the ``chosen`` one.
    """
    return json.loads(page.evaluate(RUN, [task, source, list((turned or {}).items())]))


@torch.no_grad()
def largest_difference(found: dict[str, Any], decoder: AttentionDecoder, encoded: Encoded) -> float:
    """Return the largest difference of a page's run (``found``) from PyTorch's numbers.

    PyTorch's decoder reads the same words of the same encoded source, and uses the same attention
    weights where they were replaced.
    """
    state = decoder.start(encoded)
    hidden = state.hidden
    gaps = [
        _gap(found["memory"], encoded.memory[0]),
        _gap(found["whole"], encoded.context[0]),
        _gap(found["keys"], state.keys[0]),
    ]
    for step in found["steps"]:
        query = decoder.attention.query_projection(hidden)
        scores = decoder.attention.align(hidden[:, None], state.keys)[0, 0]
        own = scores.softmax(-1)
        is_own = step["weights"] == step["own"]
        weights = own if is_own else torch.tensor(step["weights"], dtype=torch.float32)
        context = weights @ state.memory[0]
        token = torch.tensor([step["token"]])
        written = torch.cat([decoder.embedding(token), context[None]], dim=-1)
        after = decoder.cell(written, hidden)
        logits = decoder.output(torch.cat([after, written], dim=-1))[0]
        expected = {
            "before": hidden[0], "query": query[0], "scores": scores, "own": own,
            "weights": weights, "context": context, "hidden": after[0], "logits": logits,
            "probabilities": logits.softmax(-1),
        }  # fmt: skip
        assert step.keys() - expected.keys() == {"token", "chosen"}
        gaps += [_gap(step[name], numbers) for name, numbers in expected.items()]
        hidden = after
    if all(step["weights"] == step["own"] for step in found["steps"]):
        read = torch.tensor([[step["token"] for step in found["steps"]]])
        logits, weights = decoder(read, encoded, return_weights=True)  # as the layer itself has it
        gaps += [
            _gap([step[name] for step in found["steps"]], numbers[0])
            for name, numbers in (("logits", logits), ("weights", weights))
        ]
    return max(gaps)


def _gap(found: list[Any], expected: Tensor) -> float:
    return float((torch.tensor(found, dtype=torch.float64) - expected).abs().max())
