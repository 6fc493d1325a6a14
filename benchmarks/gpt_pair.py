"""The course's GPT-2 and that of ``transformers``, with the same weights."""

from transformers import GPT2Config, GPT2LMHeadModel

from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from tests.course_lib.weights import copy_gpt2


def gpt_pair(
    max_length: int,
    *,
    vocab_size: int,
    d_model: int,
    num_heads: int,
    num_layers: int,
    eos_id: int | None = None,
    initializer_range: float = 0.02,
) -> tuple[DecoderLM, GPT2LMHeadModel]:
    """Return our GPT-2 and that of ``transformers``, with the same weights and without dropout.

    Args:
        max_length: Largest number of tokens.
        vocab_size: Number of tokens.
        d_model: Width of the model.
        num_heads: Number of heads.
        num_layers: Number of layers.
        eos_id: The token at which ``transformers``' ``generate`` ends a text; None for none.
        initializer_range: Standard deviation of the weights. Where tokens are compared, 0.2 is
            large enough that rounding makes no ties between them.
    """
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab_size, n_positions=max_length, n_embd=d_model, n_head=num_heads,
            n_layer=num_layers, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=None,
            eos_token_id=eos_id, pad_token_id=eos_id, initializer_range=initializer_range,
        )
    )  # fmt: skip
    ours = DecoderLM(
        DecoderLMConfig(
            vocab_size=vocab_size, max_length=max_length, d_model=d_model, num_heads=num_heads,
            d_ff=4 * d_model, num_layers=num_layers, dropout=0.0,
        )
    )  # fmt: skip
    copy_gpt2(ours, theirs)
    return ours, theirs
