"""All step models keep the promises of the protocol."""

from functools import partial

import pytest
import torch
from torch import nn

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
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.ngram import NGramModel
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from course_lib.models.transformer import Transformer, TransformerConfig

PROMPT = torch.tensor([[3, 1, 4], [1, 5, 9]])


def language_model(dtype):
    torch.manual_seed(0)
    config = DecoderLMConfig(
        vocab_size=11, max_length=12, num_layers=1, d_model=12, num_heads=3, d_ff=20
    )
    return DecoderLM(config).eval().to(dtype)


def translator(dtype):
    torch.manual_seed(0)
    model = Seq2Seq(RecurrentEncoder(11, 8, 6), RecurrentDecoder(11, 8, 12, d_memory=12))
    return model.eval().to(dtype)


def stepped(model):
    return RecurrentStepModel(model.decoder, model.encoder(PROMPT))


def transformer():
    sizes = {"num_encoder_layers": 1, "num_decoder_layers": 1, "num_heads": 3, "d_ff": 20}
    config = TransformerConfig(src_vocab_size=11, tgt_vocab_size=11, d_model=12, **sizes)
    return Transformer(config)


def cached_transformer(model):
    return CachedTransformer(model, *model.encode(PROMPT))


STEP_MODELS = {
    "uncached": lambda dtype: UncachedModel(language_model(dtype)),
    "cached": lambda dtype: CachedDecoder(language_model(dtype)),
    "static": lambda dtype: StaticDecoder(language_model(dtype), batch=2, capacity=6),
    "recurrent": lambda dtype: stepped(translator(dtype)),
    "transformer": lambda dtype: cached_transformer(transformer().eval().to(dtype)),
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
def test_logits_are_upcast(name, dtype, expected):
    with torch.no_grad():
        logits = STEP_MODELS[name](dtype).advance(PROMPT)
    assert logits.dtype == expected
    assert logits.shape == (2, 11)


DICE = torch.Generator().manual_seed(0)
SEARCHES = {
    "greedy": partial(greedy, max_new_tokens=2),
    "beam": partial(beam_search, max_new_tokens=2, beam_size=2),
    "sample": partial(sample, max_new_tokens=2, generator=DICE),
    "score": partial(score_sequences, sequences=[[3]]),
    "diagnose": partial(diagnose, output=[3], reference=[4]),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("eos_id", [-1, 11, 50256])
def test_end_token_outside_the_vocabulary_is_rejected(search, eos_id):
    model = CachedDecoder(language_model(torch.float32))
    with pytest.raises(ValueError, match=f"eos_id must be from 0 to 10, got {eos_id}"):
        search(model, PROMPT[:1], eos_id=eos_id)
    ngrams = NGramModel(2, 11, bos_id=0)
    with pytest.raises(ValueError, match=f"eos_id must be from 0 to 10, got {eos_id}"):
        ngrams.generate(eos_id=eos_id, max_length=3, generator=DICE)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("model", [language_model(torch.float32), lambda tokens: tokens])
def test_model_that_is_no_step_model_is_rejected(search, model):
    kind = type(model).__name__
    with pytest.raises(TypeError, match=f"model must be a StepModel.*, got {kind}"):
        search(model, PROMPT[:1], eos_id=None)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_search_builds_no_graph(search):
    seen = []

    def language_model(tokens):
        seen.append(torch.is_grad_enabled())
        return torch.zeros(*tokens.shape, 11)

    search(UncachedModel(language_model), PROMPT[:1], eos_id=None)
    assert seen
    assert not any(seen)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("prompt", [PROMPT[0], PROMPT[:0], PROMPT[:, :0]])
def test_prompt_of_another_shape_is_rejected(search, prompt):
    with pytest.raises(ValueError, match="prompt must be"):
        search(UncachedModel(language_model(torch.float32)), prompt, eos_id=None)


@pytest.mark.parametrize("name", ["beam", "diagnose"])
def test_exponent_for_a_length_penalty_is_rejected(name):
    model = CachedDecoder(language_model(torch.float32))
    with pytest.raises(TypeError, match=r"such as PowerPenalty\(alpha=0.6\), got 0.6"):
        SEARCHES[name](model, PROMPT[:1], eos_id=None, length_penalty=0.6)


def translator_with_dropout():
    model = translator(torch.float32)
    model.decoder.output = nn.Sequential(nn.Dropout(0.5), model.decoder.output)
    return model


@pytest.mark.parametrize(
    ("model", "begin"),
    [
        (language_model(torch.float32), CachedDecoder),
        (language_model(torch.float32), UncachedModel),
        (language_model(torch.float32), partial(StaticDecoder, batch=2, capacity=6)),
        (transformer(), cached_transformer),
        (translator_with_dropout(), stepped),
    ],
    ids=["cached", "uncached", "static", "transformer", "recurrent"],
)
def test_model_with_active_dropout_is_rejected(model, begin):
    begin(model.eval())
    with pytest.raises(ValueError, match=r"must be in evaluation mode.*; call its eval\(\) first"):
        begin(model.train())
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    begin(model)
