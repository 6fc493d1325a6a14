"""Prompts of different lengths, padded on the left, are continued as each alone."""

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import CachedDecoder, StaticDecoder, UncachedModel
from course_lib.layers.masks import left_padding
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from tests.course_lib.parity import randomise

PAD, NEW = 0, 5
PROMPTS = [[3, 1, 4, 1, 5], [2], [7, PAD, 8]]  # a real token may have the padding's id
PADDED = pad_sequence([torch.tensor(p) for p in PROMPTS], batch_first=True, padding_side="left")


def build(positions):
    config = DecoderLMConfig(
        vocab_size=11, max_length=12, num_layers=2, d_model=12, num_heads=2, d_ff=20,
        positions=positions,
    )  # fmt: skip
    torch.manual_seed(0)
    return randomise(DecoderLM(config).eval().double(), std=0.5)


def uncached(model):
    return UncachedModel(lambda ids: model(ids, padding=left_padding(ids, PAD)))


def cached(model):
    return CachedDecoder(model, capacity=1, pad_id=PAD)


def static(model):
    return StaticDecoder(model, batch=len(PROMPTS), capacity=10, pad_id=PAD)


WAYS = [
    *((way, positions) for way in (uncached, cached) for positions in ("learned", "rotary")),
    (static, "learned"),
]
each_way = pytest.mark.parametrize(("begin", "positions"), WAYS)


def assert_same(found, alone):
    assert [h.tokens for h in found] == [h.tokens for h in alone]
    for one, other in zip(found, alone, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, rel=1e-9)


@each_way
@torch.no_grad()
def test_logits_equal_those_of_each_prompt_alone(begin, positions):
    model = build(positions)
    steps, new = begin(model), torch.tensor([[1, 2, PAD], [3, PAD, 5], [PAD, 7, 8]])
    logits = steps.advance(PADDED)
    for read in range(4):
        for row, prompt in enumerate(PROMPTS):
            tokens_read = torch.tensor([[*prompt, *new[row, :read].tolist()]])
            torch.testing.assert_close(logits[row], model(tokens_read)[0, -1], rtol=1e-9, atol=1e-9)
        if read < 3:
            logits = steps.advance(new[:, read : read + 1])


@each_way
@torch.no_grad()
def test_reorder_moves_the_padding(begin, positions):
    model, chosen = build(positions), [2, 2, 1]
    steps = begin(model)
    steps.advance(PADDED)
    steps.reorder(torch.tensor(chosen))
    logits = steps.advance(torch.tensor([[4], [5], [6]]))
    for row, tokens_read in enumerate([[*PROMPTS[2], 4], [*PROMPTS[2], 5], [*PROMPTS[1], 6]]):
        expected = model(torch.tensor([tokens_read]))[0, -1]
        torch.testing.assert_close(logits[row], expected, rtol=1e-9, atol=1e-9)


@each_way
def test_greedy_search_equals_that_of_each_prompt_alone(begin, positions):
    model = build(positions)
    alone = [
        greedy(CachedDecoder(model), torch.tensor([p]), eos_id=9, max_new_tokens=NEW)[0]
        for p in PROMPTS
    ]
    assert_same(greedy(begin(model), PADDED, eos_id=9, max_new_tokens=NEW), alone)


def test_padded_step_is_one_graph_for_every_length():
    model = build("learned")
    steps, growing, graphs = static(model), cached(model), []
    torch._dynamo.reset()

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    steps._step = torch.compile(steps._read, fullgraph=True, backend=count)
    for tokens in (PADDED, *[PADDED[:, :1]] * 5):
        torch.testing.assert_close(steps.advance(tokens), growing.advance(tokens))
    assert len(graphs) == 1


def test_prompts_without_padding_get_no_padding_mask():
    model = build("learned")
    steps = cached(model)
    steps.advance(torch.tensor([[3, 1, 4], [2, 7, 1]]))
    assert steps.padding is None
    steps = cached(model)
    steps.advance(PADDED)
    assert steps.padding.tolist() == [0, 4, 2]


@pytest.mark.parametrize("begin", [uncached, cached, static])
def test_prompt_of_padding_alone_is_rejected(begin):
    with pytest.raises(ValueError, match="each row must hold a token other than pad_id=0"):
        begin(build("learned")).advance(torch.tensor([[1, 2], [3, 4], [PAD, PAD]]))


@pytest.mark.parametrize("begin", [uncached, cached])
def test_padding_counts_toward_the_longest_sequence(begin):
    steps = begin(build("learned"))
    steps.advance(torch.cat([torch.full((3, 7), PAD), PADDED], dim=1))
    with pytest.raises(ValueError, match="positions end at max_length=12, got a sequence of 13"):
        steps.advance(PADDED[:, -1:])
