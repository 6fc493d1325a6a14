"""Complexity of layers and models, as formulas: parameters, floating-point operations, bytes.

Operations are those of the matrix products of one forward pass, a multiplication with its addition
counted as two. All else (softmax, norms, biases) grows more slowly with the width. A backward pass
takes about twice as many: each product has two gradients.

Dimensions: batch (sequences); length, query_len, key_len (tokens of each sequence); d_model and
d_ff (widths).
"""

from course_lib.models.gpt import DecoderLMConfig
from course_lib.models.transformer import TransformerConfig

# --- parameters ----------------------------------------------------------------------------------


def attention_parameters(d_model: int) -> int:
    """Count the parameters of ``MultiHeadAttention``, for any number of heads.

    Source: Vaswani et al. (2017), section 3.2.2; chapter "The Transformer".
    """
    return 4 * d_model * d_model + 4 * d_model


def feed_forward_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of ``FeedForward``.

    Source: Vaswani et al. (2017), section 3.3; chapter "The Transformer".
    """
    return 2 * d_model * d_ff + d_ff + d_model


def encoder_layer_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of ``EncoderLayer``, or of ``DecoderBlock``.

    About ``12 d_model^2`` if ``d_ff = 4 d_model``.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """
    return attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 2 * 2 * d_model


def decoder_layer_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of ``DecoderLayer``.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """
    return (
        2 * attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 3 * 2 * d_model
    )


def transformer_parameters(config: TransformerConfig) -> int:
    """Count the parameters of ``Transformer``, each shared matrix once.

    Source: Vaswani et al. (2017), section 3; chapter "The Transformer".
    """
    d_model = config.d_model
    layers = config.num_encoder_layers * encoder_layer_parameters(
        d_model, config.d_ff
    ) + config.num_decoder_layers * decoder_layer_parameters(d_model, config.d_ff)
    last_norms = 2 * 2 * d_model if config.norm_position == "pre" else 0
    rows = config.tgt_vocab_size  # of the matrices that are as wide as a token's vector
    if config.tied != "all":
        rows += config.src_vocab_size
    if config.tied == "none":
        rows += config.tgt_vocab_size
    if config.positions == "learned":
        rows += 2 * config.max_length
    bias = config.tgt_vocab_size if config.output_bias else 0
    return layers + last_norms + rows * d_model + bias


# --- floating-point operations -------------------------------------------------------------------


def attention_flops(
    batch: int, query_len: int, key_len: int, d_model: int, *, projected_len: int | None = None
) -> int:
    """Count the floating-point operations of one call of ``MultiHeadAttention``.

    The projections grow with the length, the scores and the averages with its square.
    ``projected_len`` is the number of keys to project, those that are not cached; all if None.

    Source: Vaswani et al. (2017), section 4, table 1; chapter "The cost of attention".
    """
    projected_len = key_len if projected_len is None else projected_len
    projections = 4 * batch * (query_len + projected_len) * d_model * d_model
    return projections + 4 * batch * query_len * key_len * d_model


def feed_forward_flops(batch: int, length: int, d_model: int, d_ff: int) -> int:
    """Count the floating-point operations of one call of ``FeedForward``.

    Source: Vaswani et al. (2017), section 3.3; chapter "The Transformer".
    """
    return 4 * batch * length * d_model * d_ff


def recurrent_flops(
    batch: int, length: int, input_size: int, hidden_size: int, *, gates: int = 1
) -> int:
    """Count the floating-point operations of a recurrent layer on ``length`` tokens.

    ``gates`` is 1 for a plain cell, 3 for a GRU, 4 for an LSTM.

    Source: Vaswani et al. (2017), section 4, table 1; chapter "The cost of attention".
    """
    return 2 * batch * length * gates * (input_size + hidden_size) * hidden_size


def decoder_lm_flops(config: DecoderLMConfig, batch: int, length: int, *, past: int = 0) -> int:
    """Count floating-point operations of ``DecoderLM`` for ``length`` tokens after ``past`` cached.

    About two for each parameter and token while ``past + length`` is small beside ``6 d_model``.

    Source: Kaplan et al. (2020), section 2.1; chapter "Caching keys and values".
    """
    layer = attention_flops(
        batch, length, past + length, config.d_model, projected_len=length
    ) + feed_forward_flops(batch, length, config.d_model, config.d_ff)
    return config.num_layers * layer + 2 * batch * length * config.d_model * config.vocab_size


# --- bytes ---------------------------------------------------------------------------------------


def attention_weights_bytes(batch: int, num_heads: int, query_len: int, key_len: int) -> int:
    """Count the bytes of one layer's attention weights in float32.

    The fused kernel never stores them, so it can read long texts.

    Source: Dao et al. (2022), section 1; chapter "The cost of attention".
    """
    return batch * num_heads * query_len * key_len * 4


def kv_cache_bytes(
    batch: int, length: int, num_layers: int, d_model: int, *, bytes_per_number: int = 4
) -> int:
    """Count the bytes of the keys and values that all layers keep.

    Args:
        batch: Number of sequences.
        length: Tokens that are held of each, or that there is room for.
        num_layers: Number of attention layers that keep them.
        d_model: Width of a token's key, and of its value, all heads together.
        bytes_per_number: 4 for float32, 2 for half precision.

    Returns:
        Bytes: one key and one value a token and layer.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """
    return 2 * batch * length * num_layers * d_model * bytes_per_number
