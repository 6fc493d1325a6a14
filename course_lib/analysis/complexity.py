"""Complexity of layers and models, as formulas: parameters, floating-point operations, bytes.

Operations are those of the matrix products of one forward pass, a multiplication with its addition
counted as two. All else (softmax, norms, biases) grows more slowly with the width. A backward pass
takes about twice as many: each product has two gradients.

Dimensions: batch; length, src_len, tgt_len, query_len, key_len (tokens); d_model; d_ff; vocab_size.
"""

from course_lib.models.gpt import DecoderLMConfig
from course_lib.models.transformer import TransformerConfig

# --- parameters ----------------------------------------------------------------------------------


def attention_parameters(d_model: int) -> int:
    """Count the parameters of ``MultiHeadAttention``: four square projections.

    Args:
        d_model: Width.

    Returns:
        ``4 d_model^2``, and ``4 d_model`` biases. The number of heads does not matter.

    Source: Vaswani et al. (2017), section 3.2.2; chapter "The Transformer".
    """
    return 4 * d_model * d_model + 4 * d_model


def feed_forward_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of ``FeedForward``.

    Args:
        d_model: Width of input and output.
        d_ff: Width inside.

    Returns:
        ``2 d_model d_ff``, and ``d_ff + d_model`` biases.

    Source: Vaswani et al. (2017), section 3.3; chapter "The Transformer".
    """
    return 2 * d_model * d_ff + d_ff + d_model


def encoder_layer_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of ``EncoderLayer``, or of ``DecoderBlock``.

    Args:
        d_model: Width.
        d_ff: Width inside the feed-forward layer.

    Returns:
        Those of an attention, a feed-forward layer and two norms; ``12 d_model^2`` and a little if
        ``d_ff = 4 d_model``.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """
    return attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 2 * 2 * d_model


def decoder_layer_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of ``DecoderLayer``.

    Args:
        d_model: Width.
        d_ff: Width inside the feed-forward layer.

    Returns:
        Those of two attentions, a feed-forward layer and three norms.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """
    return (
        2 * attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 3 * 2 * d_model
    )


def transformer_parameters(config: TransformerConfig) -> int:
    """Count the parameters of ``Transformer``.

    Args:
        config: Its sizes and choices.

    Returns:
        Those of all layers, and of the embeddings, each shared matrix once.

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
    """Count the operations of ``MultiHeadAttention``.

    The projections grow with the length, the scores and the averages with its square.

    Args:
        batch: Number of sequences.
        query_len: Queries of each (tokens).
        key_len: Keys of each (tokens).
        d_model: Width.
        projected_len: Keys that must be projected (tokens): those that no cache holds. All if None.

    Returns:
        ``4 batch (query_len + projected_len) d_model^2`` for the projections and
        ``4 batch query_len key_len d_model`` for scores and averages.

    Source: Vaswani et al. (2017), section 4, table 1; chapter "The cost of attention".
    """
    projected_len = key_len if projected_len is None else projected_len
    projections = 4 * batch * (query_len + projected_len) * d_model * d_model
    return projections + 4 * batch * query_len * key_len * d_model


def feed_forward_flops(batch: int, length: int, d_model: int, d_ff: int) -> int:
    """Count the operations of ``FeedForward``.

    Args:
        batch: Number of sequences.
        length: Of each (tokens).
        d_model: Width of input and output.
        d_ff: Width inside.

    Returns:
        ``4 batch length d_model d_ff``.

    Source: Vaswani et al. (2017), section 3.3; chapter "The Transformer".
    """
    return 4 * batch * length * d_model * d_ff


def recurrent_flops(
    batch: int, length: int, input_size: int, hidden_size: int, *, gates: int = 1
) -> int:
    """Count the operations of a recurrent layer, for comparison.

    Args:
        batch: Number of sequences.
        length: Of each (tokens); the steps cannot run side by side.
        input_size: Width of the input.
        hidden_size: Width of the state.
        gates: Matrices for each of input and state: 1 for a plain cell, 3 for a GRU, 4 for an
            LSTM.

    Returns:
        ``2 batch length gates (input_size + hidden_size) hidden_size``.

    Source: Vaswani et al. (2017), section 4, table 1; chapter "The cost of attention".
    """
    return 2 * batch * length * gates * (input_size + hidden_size) * hidden_size


def decoder_lm_flops(config: DecoderLMConfig, batch: int, length: int, *, past: int = 0) -> int:
    """Count the operations of ``DecoderLM``.

    Args:
        config: Its sizes.
        batch: Number of sequences.
        length: Of each, without what a cache holds (tokens).
        past: Tokens that a cache holds.

    Returns:
        Those of all layers and of the output projection; about two for each parameter and token
        while ``past + length`` is small beside ``6 d_model``.

    Source: Kaplan et al. (2020), section 2.1; chapter "Caching keys and values".
    """
    layer = attention_flops(
        batch, length, past + length, config.d_model, projected_len=length
    ) + feed_forward_flops(batch, length, config.d_model, config.d_ff)
    return config.num_layers * layer + 2 * batch * length * config.d_model * config.vocab_size


# --- bytes ---------------------------------------------------------------------------------------


def attention_weights_bytes(batch: int, num_heads: int, query_len: int, key_len: int) -> int:
    """Count the bytes of the attention weights of one layer, where they are written out.

    The fused kernel never writes them out, which is why it can read long texts.

    Args:
        batch: Number of sequences.
        num_heads: Number of heads.
        query_len: Queries of each (tokens).
        key_len: Keys of each (tokens).

    Returns:
        Bytes, in float32.

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
        d_model: Width.
        bytes_per_number: 4 for float32, 2 for half precision.

    Returns:
        Bytes: one key and one value a token and layer.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """
    return 2 * batch * length * num_layers * d_model * bytes_per_number
