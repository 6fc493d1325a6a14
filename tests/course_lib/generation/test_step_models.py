"""All step models keep the protocol: they read padded prompts, reorder rows and convert logits.

A static decoder also equals the growing one, and compiles in one piece.
"""

import subprocess
import sys
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from course_lib.generation.beam_search import beam_search
from course_lib.generation.diagnosis import diagnose, score_sequences
from course_lib.generation.greedy_search import greedy
from course_lib.generation.sampling import sample
from course_lib.generation.step_models import (
    CachedDecoder,
    CachedTransformer,
    RecurrentStepModel,
    StaticDecoder,
    UncachedModel,
)
from course_lib.layers.masks import left_padding
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.ngram import NGramModel
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.course_lib.parity import assert_equal_in_float64, randomise

SIZES = {"vocab_size": 11, "max_length": 12, "d_model": 12, "num_heads": 3, "d_ff": 20}
PROMPT = torch.tensor([[3, 1, 4], [1, 5, 9]])


def language_model(dtype=torch.float64, **choices) -> DecoderLM:
    config = DecoderLMConfig(**(SIZES | {"num_layers": 2} | choices))
    return randomise(DecoderLM(config)).eval().to(dtype)


def translator(dtype=torch.float32) -> Seq2Seq:
    model = Seq2Seq(RecurrentEncoder(11, 8, 6), RecurrentDecoder(11, 8, 12, d_memory=12))
    model.decoder.output = nn.Sequential(nn.Dropout(0.5), model.decoder.output)
    return model.eval().to(dtype)


def transformer(dtype=torch.float32) -> Transformer:
    sizes = {"num_encoder_layers": 1, "num_decoder_layers": 1, "num_heads": 3, "d_ff": 20}
    config = TransformerConfig(src_vocab_size=11, tgt_vocab_size=11, d_model=12, **sizes)
    return Transformer(config).eval().to(dtype)


STEP_MODELS = {
    "uncached": (language_model, UncachedModel),
    "cached": (language_model, CachedDecoder),
    "static": (language_model, partial(StaticDecoder, batch=2, capacity=6)),
    "transformer": (transformer, lambda model: CachedTransformer(model, *model.encode(PROMPT))),
    "recurrent": (
        translator,
        lambda model: RecurrentStepModel(model.decoder, model.encoder(PROMPT)),
    ),
}


@pytest.mark.parametrize("name", STEP_MODELS)
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
@torch.no_grad()
def test_logits_are_upcast(name, dtype, expected):
    build, begin = STEP_MODELS[name]
    logits = begin(build(dtype)).advance(PROMPT)
    assert (logits.dtype, logits.shape) == (expected, (2, 11))


@pytest.mark.parametrize("name", STEP_MODELS)
def test_model_with_active_dropout_is_rejected(name):
    build, begin = STEP_MODELS[name]
    model = build()
    begin(model)
    with pytest.raises(ValueError, match=r"must be in evaluation mode.*; call its eval\(\) first"):
        begin(model.train())
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    begin(model)


def test_uncached_model_has_nothing_to_reorder_at_first():
    with pytest.raises(ValueError, match="advance must be called"):
        UncachedModel(language_model()).reorder(torch.tensor([0]))


# --- checks of all searches ----------------------------------------------------------------------

RNG = torch.Generator().manual_seed(0)
SEARCHES = {
    "greedy": partial(greedy, max_new_tokens=2),
    "beam": partial(beam_search, max_new_tokens=2, beam_size=2),
    "sample": partial(sample, max_new_tokens=2, generator=RNG),
    "score": partial(score_sequences, sequences=[[3]]),
    "diagnose": partial(diagnose, output=[3], reference=[4]),
}
with_each_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


@with_each_search
@pytest.mark.parametrize("eos_id", [-1, 11])
def test_end_token_outside_the_vocabulary_is_rejected(search, eos_id):
    with pytest.raises(ValueError, match=f"eos_id must be from 0 to 10, got {eos_id}"):
        search(CachedDecoder(language_model()), PROMPT[:1], eos_id=eos_id)
    with pytest.raises(ValueError, match=f"eos_id must be from 0 to 10, got {eos_id}"):
        NGramModel(2, 11, bos_id=0).generate(eos_id=eos_id, max_length=3, generator=RNG)


@with_each_search
@pytest.mark.parametrize("model", [language_model(), lambda tokens: tokens])
def test_model_that_is_no_step_model_is_rejected(search, model):
    kind = type(model).__name__
    with pytest.raises(TypeError, match=f"model must be a StepModel.*, got {kind}"):
        search(model, PROMPT[:1], eos_id=None)


@with_each_search
@pytest.mark.parametrize("prompt", [PROMPT[0], PROMPT[:0], PROMPT[:, :0]])
def test_prompt_of_another_shape_is_rejected(search, prompt):
    with pytest.raises(ValueError, match="prompt must be"):
        search(UncachedModel(language_model()), prompt, eos_id=None)


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_no_new_tokens_are_rejected(name):
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1, got 0"):
        SEARCHES[name](UncachedModel(language_model()), PROMPT, eos_id=None, max_new_tokens=0)


@pytest.mark.parametrize("name", ["beam", "diagnose"])
def test_exponent_for_a_length_penalty_is_rejected(name):
    with pytest.raises(TypeError, match=r"such as PowerPenalty\(alpha=0.6\), got 0.6"):
        SEARCHES[name](CachedDecoder(language_model()), PROMPT[:1], eos_id=None, length_penalty=0.6)


@with_each_search
def test_search_builds_no_graph(search):
    modes = []

    def zeros(tokens):
        modes.append(torch.is_grad_enabled())
        return torch.zeros(*tokens.shape, 11)

    search(UncachedModel(zeros), PROMPT[:1], eos_id=None)
    assert set(modes) == {False}
    assert torch.is_grad_enabled()


# --- prompts padded on the left ------------------------------------------------------------------

PAD = 0
PROMPTS = [[3, 1, 4, 1, 5], [2], [7, PAD, 8]]  # a real token may have the padding's id
PADDED = pad_sequence([torch.tensor(p) for p in PROMPTS], batch_first=True, padding_side="left")
PADDED_STEP_MODELS = {
    "uncached": lambda model: UncachedModel(lambda ids: model(ids, padding=left_padding(ids, PAD))),
    "cached": partial(CachedDecoder, capacity=1, pad_id=PAD),
    "static": partial(StaticDecoder, batch=3, capacity=10, pad_id=PAD),
}


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("uncached", "learned"),
        ("uncached", "rotary"),
        ("cached", "learned"),
        ("cached", "rotary"),
        ("static", "learned"),
    ],
)
@torch.no_grad()
def test_padded_prompts_are_continued_as_each_alone(name, positions):
    model = language_model(positions=positions, num_heads=2)
    steps, new = PADDED_STEP_MODELS[name](model), [[1, 2, PAD], [3, PAD, 5], [PAD, 7, 8]]
    rows, logits = PROMPTS, steps.advance(PADDED)
    for step in range(4):
        alone = [model(torch.tensor([row]))[0, -1] for row in rows]
        assert_equal_in_float64(logits, torch.stack(alone))
        if step == 2:
            chosen = [2, 2, 1]
            steps.reorder(torch.tensor(chosen))
            rows = [rows[i] for i in chosen]
        if step < 3:
            rows = [[*row, tokens[step]] for row, tokens in zip(rows, new, strict=True)]
            logits = steps.advance(torch.tensor([row[-1:] for row in rows]))


def test_prompts_without_padding_get_no_padding_mask():
    for prompt, padding in ((PADDED[:1], None), (PADDED, [0, 4, 2])):
        steps = PADDED_STEP_MODELS["cached"](language_model())
        steps.advance(prompt)
        assert (None if steps.padding is None else steps.padding.tolist()) == padding


@pytest.mark.parametrize("name", PADDED_STEP_MODELS)
def test_prompt_of_padding_alone_is_rejected(name):
    with pytest.raises(ValueError, match="each row must hold a token other than pad_id=0"):
        PADDED_STEP_MODELS[name](language_model()).advance(
            torch.tensor([[1, 2], [3, 4], [PAD, PAD]])
        )


@pytest.mark.parametrize("name", ["uncached", "cached"])
def test_padding_counts_toward_the_longest_sequence(name):
    steps = PADDED_STEP_MODELS[name](language_model())
    steps.advance(torch.cat([torch.full((3, 7), PAD), PADDED], dim=1))
    with pytest.raises(ValueError, match="positions end at max_length=12, got a sequence of 13"):
        steps.advance(PADDED[:, -1:])


# --- a cache of fixed size -----------------------------------------------------------------------


def test_static_decoder_equals_the_growing_one():
    model = language_model()
    static, growing = StaticDecoder(model, batch=2, capacity=10), CachedDecoder(model)
    for tokens in (PROMPT, PROMPT[:, :1], PROMPT[:, 1:], PROMPT[:, 2:]):
        expected = growing.advance(tokens)
        torch.testing.assert_close(static.advance(tokens), expected, rtol=1e-12, atol=1e-12)
        for steps in (static, growing):
            steps.reorder(torch.tensor([1, 0] if tokens is PROMPT else [1, 1]))
    assert static.length == 7


@pytest.mark.parametrize("pad_id", [None, PAD])
def test_static_step_is_one_graph_for_every_length(pad_id):
    model = language_model()
    steps = StaticDecoder(model, batch=3, capacity=10, pad_id=pad_id)
    growing, graphs = CachedDecoder(model, pad_id=pad_id), []
    torch._dynamo.reset()

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    steps._step = torch.compile(steps._read, fullgraph=True, backend=count)
    for tokens in (PADDED, *[PADDED[:, :1]] * 5):
        torch.testing.assert_close(steps.advance(tokens), growing.advance(tokens))
    assert len(graphs) == 1


@pytest.mark.parametrize("compiled", [True, False])
def test_compiled_static_step_has_static_addresses(compiled):
    steps = StaticDecoder(language_model(), batch=2, capacity=10, compiled=compiled)
    for cache in steps._caches:
        for buffer in (cache.keys, cache.values):
            assert hasattr(buffer, "_dynamo_static_input_type") is compiled


@pytest.mark.proof
def test_static_step_that_is_not_compiled_loads_no_compiler():
    program = (
        "import sys; from course_lib.generation.step_models import *; "
        "from course_lib.models.gpt import DecoderLMConfig; "
        f"model = DecoderLM(DecoderLMConfig(**{SIZES}, num_layers=1)).eval(); "
        "StaticDecoder(model, batch=1, capacity=4); "
        "print('torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "False\n", ran.stderr


@pytest.mark.gpu
def test_cuda_graph_writes_the_same():
    on_gpu = language_model(torch.float32).cuda()
    prompt = PROMPT.cuda()
    expected = greedy(CachedDecoder(on_gpu), prompt, eos_id=None, max_new_tokens=8)
    steps = StaticDecoder(on_gpu, batch=2, capacity=11, compiled=True)
    for _ in range(3):  # the first run compiles, the second records, the third replays
        steps.length = 0
        found = greedy(steps, prompt, eos_id=None, max_new_tokens=8)
        assert [h.tokens for h in found] == [h.tokens for h in expected]


def test_wrong_sizes_and_models_are_rejected_by_the_static_decoder():
    model, rotary = language_model(), language_model(positions="rotary", num_heads=2)
    with pytest.raises(ValueError, match="13 learned positions, got learned ones and max_length"):
        StaticDecoder(model, batch=1, capacity=13)
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
