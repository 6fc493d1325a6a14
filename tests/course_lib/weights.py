"""Copies weights between our layers and those of PyTorch and ``transformers``, one by one."""

import torch
from torch import nn

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.normalization import LayerNorm


@torch.no_grad()
def copy_linear(ours: nn.Linear, weight, bias=None):
    ours.weight.copy_(weight)
    if bias is not None:
        ours.bias.copy_(bias)


@torch.no_grad()
def copy_norm(ours: LayerNorm, theirs: nn.LayerNorm):
    ours.weight.copy_(theirs.weight)
    ours.bias.copy_(theirs.bias)


@torch.no_grad()
def copy_cell(ours: nn.Module, theirs: nn.Module, suffix: str = ""):
    """Copy a recurrent cell of ours to PyTorch's cell, or to a layer of PyTorch's network.

    The layer's parameters end in ``suffix``, such as ``_l0_reverse``.
    """
    for short, projection in (("ih", ours.input_projection), ("hh", ours.hidden_projection)):
        getattr(theirs, f"weight_{short}{suffix}").copy_(projection.weight)
        if projection.bias is not None:
            getattr(theirs, f"bias_{short}{suffix}").copy_(projection.bias)


def copy_torch_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention):
    projections = (ours.query_projection, ours.key_projection, ours.value_projection)
    weights, biases = theirs.in_proj_weight.chunk(3), [None] * 3
    if theirs.in_proj_bias is not None:
        biases = theirs.in_proj_bias.chunk(3)
    for projection, weight, bias in zip(projections, weights, biases, strict=True):
        copy_linear(projection, weight, bias)
    copy_linear(ours.output_projection, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_torch_encoder_layer(ours, theirs: nn.TransformerEncoderLayer):
    copy_torch_attention(ours.self_attention, theirs.self_attn)
    copy_linear(ours.feed_forward.up_projection, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.down_projection, theirs.linear2.weight, theirs.linear2.bias)
    copy_norm(ours.attention_residual.norm, theirs.norm1)
    copy_norm(ours.feed_forward_residual.norm, theirs.norm2)


def copy_torch_decoder_layer(ours, theirs: nn.TransformerDecoderLayer):
    copy_torch_attention(ours.self_attention, theirs.self_attn)
    copy_torch_attention(ours.cross_attention, theirs.multihead_attn)
    copy_linear(ours.feed_forward.up_projection, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.down_projection, theirs.linear2.weight, theirs.linear2.bias)
    copy_norm(ours.self_attention_residual.norm, theirs.norm1)
    copy_norm(ours.cross_attention_residual.norm, theirs.norm2)
    copy_norm(ours.feed_forward_residual.norm, theirs.norm3)


def copy_torch_transformer(ours_encoder, ours_decoder, theirs: nn.Transformer):
    for our_layer, their_layer in zip(ours_encoder.layers, theirs.encoder.layers, strict=True):
        copy_torch_encoder_layer(our_layer, their_layer)
    for our_layer, their_layer in zip(ours_decoder.layers, theirs.decoder.layers, strict=True):
        copy_torch_decoder_layer(our_layer, their_layer)
    if theirs.encoder.norm is not None:
        copy_norm(ours_encoder.norm, theirs.encoder.norm)
        copy_norm(ours_decoder.norm, theirs.decoder.norm)


@torch.no_grad()
def copy_gpt2(ours, theirs):
    """Copy the weights of a ``transformers.GPT2LMHeadModel`` to a ``DecoderLM``."""
    trunk = theirs.transformer
    ours.embedding.weight.copy_(trunk.wte.weight)
    ours.positions.weight.copy_(trunk.wpe.weight)
    copy_norm(ours.norm, trunk.ln_f)
    for layer, block in zip(ours.layers, trunk.h, strict=True):
        attention = layer.self_attention
        projections = (
            attention.query_projection,
            attention.key_projection,
            attention.value_projection,
        )
        weights, biases = block.attn.c_attn.weight.T.chunk(3), block.attn.c_attn.bias.chunk(3)
        for projection, weight, bias in zip(projections, weights, biases, strict=True):
            copy_linear(projection, weight, bias)
        for linear, conv in (
            (attention.output_projection, block.attn.c_proj),
            (layer.feed_forward.up_projection, block.mlp.c_fc),
            (layer.feed_forward.down_projection, block.mlp.c_proj),
        ):
            copy_linear(linear, conv.weight.T, conv.bias)
        copy_norm(layer.attention_residual.norm, block.ln_1)
        copy_norm(layer.feed_forward_residual.norm, block.ln_2)
