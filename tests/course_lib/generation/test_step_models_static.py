"""A decoder with fixed buffers equals the growing one, and compiles in one piece."""

import copy
import subprocess
import sys

import pytest
import torch

from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import CachedDecoder, StaticDecoder
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from tests.course_lib.parity import randomise

SIZES = {"vocab_size": 11, "max_length": 12, "d_model": 12, "num_heads": 3, "d_ff": 20}
PROMPT = torch.tensor([[3, 1, 4], [1, 5, 9]])


@pytest.fixture(scope="module")
def model():
    return randomise(DecoderLM(DecoderLMConfig(**SIZES, num_layers=2)).eval().double())


def test_logits_equal_those_of_the_growing_cache(model):
    static, growing = StaticDecoder(model, batch=2, capacity=10), CachedDecoder(model)
    for tokens in (PROMPT, PROMPT[:, :1], PROMPT[:, 1:], PROMPT[:, 2:]):
        expected = growing.advance(tokens)
        torch.testing.assert_close(static.advance(tokens), expected, rtol=1e-12, atol=1e-12)
    assert static.length == 7


def test_reorder_equals_that_of_the_growing_cache(model):
    static, growing = StaticDecoder(model, batch=2, capacity=10), CachedDecoder(model)
    for steps in (static, growing):
        steps.advance(PROMPT)
        steps.reorder(torch.tensor([1, 1]))
    torch.testing.assert_close(static.advance(PROMPT[:, :1]), growing.advance(PROMPT[:, :1]))


def test_step_is_one_graph_for_every_length(model):
    steps = StaticDecoder(model, batch=2, capacity=10)
    growing = CachedDecoder(model)
    torch._dynamo.reset()
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    steps._step = torch.compile(steps._read, fullgraph=True, backend=count)
    for tokens in (PROMPT, *[PROMPT[:, :1]] * 5):
        torch.testing.assert_close(steps.advance(tokens), growing.advance(tokens))
    assert len(graphs) == 1


def test_compiled_step_has_static_addresses(model):
    for compiled in (True, False):
        steps = StaticDecoder(model, batch=2, capacity=10, compiled=compiled)
        for cache in steps._caches:
            for buffer in (cache.keys, cache.values):
                assert hasattr(buffer, "_dynamo_static_input_type") is compiled


@pytest.mark.proof
def test_step_that_is_not_compiled_loads_no_compiler():
    program = (
        "import sys; from course_lib.generation.step_models import *; "
        "from course_lib.models.gpt import DecoderLMConfig; "
        f"model = DecoderLM(DecoderLMConfig(**{SIZES}, num_layers=1)); "
        "StaticDecoder(model, batch=1, capacity=4); "
        "print('torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "False\n", ran.stderr


@pytest.mark.gpu
def test_cuda_graph_writes_the_same(model):
    on_gpu = copy.deepcopy(model).float().cuda()
    prompt = PROMPT.cuda()
    expected = greedy(CachedDecoder(on_gpu), prompt, eos_id=None, max_new_tokens=8)
    steps = StaticDecoder(on_gpu, batch=2, capacity=11, compiled=True)
    for _ in range(3):  # the first run compiles, the second records, the third replays
        steps.length = 0
        found = greedy(steps, prompt, eos_id=None, max_new_tokens=8)
        assert [h.tokens for h in found] == [h.tokens for h in expected]


def test_wrong_sizes_and_models_are_rejected(model):
    with pytest.raises(ValueError, match="13 learned positions, got learned ones and max_length"):
        StaticDecoder(model, batch=1, capacity=13)
    rotary = DecoderLM(
        DecoderLMConfig(**(SIZES | {"num_heads": 2}), num_layers=1, positions="rotary")
    )
    with pytest.raises(ValueError, match="must have 4 learned positions, got rotary"):
        StaticDecoder(rotary, batch=1, capacity=4)
    steps = StaticDecoder(model, batch=2, capacity=4)
    steps.advance(PROMPT)
    with pytest.raises(ValueError, match="there is room for 4 tokens, got 6"):
        steps.advance(PROMPT)
    with pytest.raises(ValueError, match="tokens must have 2 rows, as the memory has, got 1"):
        steps.advance(PROMPT[:1, :1])
    with pytest.raises(ValueError, match="indices must have 2 rows, as the memory has, got 3"):
        steps.reorder(torch.tensor([0, 1, 1]))
