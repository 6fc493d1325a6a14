"""Do all step models keep what the protocol promises?"""

import pytest
import torch

from course_lib.generation.cached import CachedDecoder
from course_lib.generation.recomputing import RecomputingModel
from course_lib.generation.recurrent_step import SteppedDecoder
from course_lib.generation.static import StaticDecoder
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq

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
    return SteppedDecoder(model.decoder, model.encoder(PROMPT))


STEP_MODELS = {
    "recomputing": lambda dtype: RecomputingModel(language_model(dtype)),
    "cached": lambda dtype: CachedDecoder(language_model(dtype)),
    "static": lambda dtype: StaticDecoder(language_model(dtype), batch=2, capacity=6),
    "recurrent": lambda dtype: stepped(translator(dtype)),
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
def test_logits_have_digits_enough_to_be_summed_up(name, dtype, expected):
    with torch.no_grad():
        logits = STEP_MODELS[name](dtype).advance(PROMPT)
    assert logits.dtype == expected
    assert logits.shape == (2, 11)
