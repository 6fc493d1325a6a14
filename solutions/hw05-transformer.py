# %% [markdown]
# # Homework 5: The Transformer
#
# Here is a sentence that the model of this homework will never see while it learns:
#
# ```
# the green frog does not chase a grey wolf
# ```
#
# Nor will it see any other green frog. It is never told what an adjective is, that a French one
# mostly comes *after* its noun and must agree with it, or that a *not* takes two words, one on each
# side of the verb. You put together the blocks that you have written, it reads eight thousand
# sentences in about five seconds, and then it says *la grenouille verte ne chasse pas un loup
# gris*, and shows you which word it looked at for each of them.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `EncoderLayer` and `Encoder`: a reader | 3 |
# | 2 | `DecoderLayer`: a writer that looks at what was read | 2 |
# | 3 | `translation_masks` and `Transformer`: the whole model | 5 |
# | 4 | `label_smoothed_cross_entropy`, `inverse_sqrt`: what training needs | 5 |
# | 5 | `training_step`, and a model that translates | 5 |
# | 6 | a question, answered in words | 3 |
#
# **Time:** about three hours if you have read the chapters
# [The Transformer](book:transformer) and [Training a Transformer](book:training); parts 1 to 3 take
# half of it.
# Nothing here needs a GPU: the model learns in seconds.
#
# **Afterwards you can** build the Transformer of the paper from its blocks, say which mask belongs
# to which of its three attentions, train it by the paper's recipe, and find out which of its many
# parts is at fault when it does not learn.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, masks, errors. Gradients flow back through all of the model: `detach()`,
#   `.item()`, `float(...)` and `no_grad()` cut them. You may add cells, and functions and methods
#   of your own.
# - The blocks of the earlier homeworks are there to be imported, solved: see the next cell. Look
#   into `course_lib/` for how they are called.
# - The test cells check one thing each, and each is worth its own points. Run them as often as you
#   like; one that passes says so, one that fails says first what is wrong, and mostly gives a
#   hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other numbers, shapes
#   and dtypes, and with all errors that the docstring promises. It asks for nothing beyond the
#   docstring, the text and the part that you see.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.

# %% setup="imports"
import math
import os
import random
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.checked_results import as_number, as_pair, checked, checked_number
from course_lib.gradient_checks import assert_gradients, assert_gradients_like
from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.feed_forward import Activation, FeedForward
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import SinusoidalPositions
from course_lib.analysis.recorders import RecordingOptimizer
from course_lib.layers.residual import NormPosition, Residual, final_norm
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_equal,
    assert_keeps_inputs,
    assert_raises,
    assert_shape,
    call_beside,
    forgive,
)
from course_lib.training.loop import build_optimizer
from course_lib.validation import check_at_least

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end
two_masks = partial(
    as_pair, summary="two masks should be returned", hint="the source's and the target's"
)


def parameters_of(module, expected):
    """Give a state: what is expected, and other parameters. Buffers and second names are free."""
    own = {name for name, _ in module.named_parameters()}
    state = module.state_dict()
    return {name: tensor for name, tensor in state.items() if name in expected or name in own}


def random_mask(*sizes):
    """Give a mask that differs from sentence to sentence, head to head and query to query."""
    mask = torch.rand(sizes) < 0.5
    mask[..., 0] = True  # nobody is left with nothing to look at
    return mask.to(device)


def parts_for_all(mask):
    """Name the ways to let a part of a mask stand for all of it."""
    return {
        "each sentence has a mask of its own: hand on all of it": mask[:1],
        "each head has a mask of its own: hand on all of it": mask[:, :1],
        "each query has a mask of its own: hand on all of it": mask[:, :, :1],
    }


def assert_dropped_alike(layer, by_hand, *inputs):
    """Check that a layer drops in training what its own blocks do, by the same dice."""
    layer = layer.cpu()
    layer.train()
    inputs = [tensor.cpu() for tensor in inputs]
    dice = call_beside(torch.get_rng_state, beside=layer)
    actual = layer(*(tensor.clone() for tensor in inputs))
    call_beside(torch.set_rng_state, dice, beside=layer)
    hint = (
        "the blocks drop what there is to drop, each by the share it is handed: nothing else does"
    )
    assert_close(actual, by_hand(*inputs), what="the output in training", hint=hint)


# %% [markdown]
# ## Part 1: the encoder
#
# An encoder layer lets the tokens of the source read each other, then each think for itself: an
# attention and a feed-forward layer, each on its residual road. See
# [The encoder](book:transformer#transformer-encoder).
#
# Each `Residual` has a `LayerNorm` of its own. It takes the sublayer as a function of one argument;
# a `lambda` hands the mask in. Which of the layer's settings belongs to which block? The docstring
# says it of each. Use its names for the attributes: the tests copy weights into them, so that your
# layer and ours can be compared number by number. And a layer leaves what it is given as it was:
# whoever writes the sum out writes `x = x + ...`, for `x += ...` changes the caller's tensor.
#
# **The rule of this homework:** the Transformer is yours. A solution that leads to PyTorch's
# `nn.TransformerEncoderLayer`, `nn.TransformerEncoder`, `nn.TransformerDecoderLayer`,
# `nn.TransformerDecoder` or `nn.Transformer` loses the points of its own tests, and so does a
# `label_smoothed_cross_entropy` that leads to `F.cross_entropy`, `F.linear_cross_entropy`,
# `nn.CrossEntropyLoss`, `nn.LinearCrossEntropyLoss` or `nn.AdaptiveLogSoftmaxWithLoss`. Comparing
# yours with them, in a cell of your own, is a good idea.

# %% solution="EncoderLayer" of="course_lib.layers.transformer_layers" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"

# %% test="EncoderLayer-values" points=1 read="transformer#transformer-encoder"
# Attention first, then the feed-forward layer, each on its own road
layer = EncoderLayer(8, 2, 16).to(device)
x = torch.randn(2, 3, 8).to(device)
as_it_was = "x += ... changes the caller's tensor; x = x + ... makes a new one"
assert_keeps_inputs(layer, x, hint=as_it_was)
read = layer.attention_residual(x, lambda y: layer.self_attention(y, y, y))
assert_close(
    checked(layer(x), x.shape),
    layer.feed_forward_residual(read, layer.feed_forward),
    what="the output, put together from your own blocks",
    hint="first the attention on its residual road, then the feed-forward layer on its own",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.transformer_layers import EncoderLayer as ReferenceLayer


def dressed(layer):
    """Give each norm a weight and a bias of its own, and biases to all others."""
    for name, parameter in layer.named_parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(name.endswith("weight")), std=0.5)
    return layer.to(device)


def same_parameters(student, reference, hint):
    """Check names and shapes, and copy the reference's parameters into the student's layer."""
    ours = {name: tuple(t.shape) for name, t in reference.state_dict().items()}
    theirs = {name: tuple(t.shape) for name, t in parameters_of(student, ours).items()}
    if ours != theirs:
        different = sorted(set(ours.items()) ^ set(theirs.items()))[0][0]
        raise CheckFailure(f"the parameters differ from what is expected: {different}", hint=hint)
    student.load_state_dict(reference.state_dict(), strict=False)
    kept = student.state_dict()
    for name, parameter in reference.state_dict().items():
        if not torch.equal(kept[name], parameter):
            raise CheckFailure(
                f"{name} is one and the same as a parameter of another block",
                hint="make each block anew: each residual has a LayerNorm of its own",
            )


names = "make the blocks that the docstring lists under Attributes, with these names and sizes"
x = torch.randn(2, 5, 12).to(device)
for norm_position in ("post", "pre"):
    reference = dressed(ReferenceLayer(12, 3, 20, norm_position=norm_position))
    student = EncoderLayer(12, 3, 20, norm_position=norm_position).to(device)
    same_parameters(student, reference, names)
    assert_keeps_inputs(student, x, hint=as_it_was)
    attention, think = reference.self_attention, reference.feed_forward
    first, second = reference.attention_residual, reference.feed_forward_residual
    attend = partial(lambda attention, y: attention(y, y, y), attention)
    ask_with_x = partial(lambda attention, y: attention(x, y, y), attention)
    answer_with_x = partial(lambda attention, y: attention(y, x, x), attention)
    only_x = partial(lambda attention, y: attention(x, x, x), attention)
    assert_close(
        student(x),
        reference(x),
        what=f"the output with {norm_position}",
        hint="x = attention_residual(x, attention); then feed_forward_residual(x, feed_forward)",
        mistakes={
            "the feed-forward layer comes after the attention": first(second(x, think), attend),
            "each sublayer has its own residual: they are swapped": first(second(x, attend), think),
            "the feed-forward layer is missing": first(x, attend),
            "the attention is missing": second(x, think),
            "the residual roads are missing": think(attend(x)),
            "one residual serves both sublayers; there are two": first(first(x, attend), think),
            "queries come from y too, what the residual hands to the sublayer": (
                second(first(x, ask_with_x), think)
            ),
            "keys and values come from y, what the residual hands to the sublayer": (
                second(first(x, answer_with_x), think)
            ),
            "the attention reads y, what the residual hands to it, and not x": (
                second(first(x, only_x), think)
            ),
        },
    )
    assert_gradients_like(reference, student, {"x": x})
### END HIDDEN TESTS

# %% test="EncoderLayer-settings" points=1 read="transformer#transformer-encoder"
# The mask reaches the attention; dropout, activation and eps reach their blocks
layer = EncoderLayer(8, 2, 16).to(device)
x = torch.randn(2, 3, 8).to(device)
mask = torch.tensor([True, True, False]).to(device)[None, None, None, :]  # hides the last token
changed = x.clone()
changed[:, 2] += 1.0
assert_close(
    checked(layer(changed, mask), x.shape)[:, :2],
    checked(layer(x, mask), x.shape)[:, :2],
    what="the first two tokens, after a change of the hidden third",
    hint="hand the mask on to self_attention",
)
### BEGIN HIDDEN TESTS
layer = EncoderLayer(12, 3, 20).to(device)
x, noise = torch.randn(2, 5, 12).to(device), torch.randn(2, 5, 12).to(device)
is_real = torch.tensor([[True] * 5, [True, True, True, False, False]]).to(device)
mask = is_real[:, None, None, :]
before = checked(layer(x.clone(), mask), x.shape, hint="it has the shape of x")
after = checked(layer(torch.where(is_real[..., None], x, noise), mask), x.shape)
hint = "hand the mask on to self_attention, as it is: True means may attend"
assert_close(
    after[is_real], before[is_real], what="real tokens, after a change of padding", hint=hint
)
alone = checked(layer(x[1:, :3].clone()), (1, 3, 12), what="the output without padding")
not_zeros = "True means may attend: keys that are zeros get their share of the weights all the same"
assert_close(
    before[1:, :3], alone, what="real tokens, beside those without padding", hint=not_zeros
)
moved = x.clone()
moved[0, 1] = torch.randn(12).to(device)
if torch.allclose(checked(layer(moved, mask), x.shape)[0, 0], before[0, 0]):
    raise CheckFailure("a real token has no influence on its neighbours", hint=hint)
layer.eval()
what, hint = "the output in evaluation", "eval() changes nothing here: the mask stays"
assert_close(layer(x.clone(), mask), before, what=what, hint=hint)
layer = EncoderLayer(12, 3, 20, dropout=0.25, activation="gelu", eps=0.5).to(device)
layer.eval()
for road in ("attention_residual", "feed_forward_residual"):
    residual = getattr(layer, road)
    assert_equal(residual.dropout.p, 0.25, what=f"dropout of {road}", hint="hand dropout on")
    assert_equal(residual.norm.eps, 0.5, what=f"eps of {road}", hint="hand eps on")
    position = residual.norm_position
    assert_equal(position, "post", what=f"norm_position of {road}, not given", hint="post")
dropout = layer.feed_forward.dropout.p
assert_equal(dropout, 0.25, what="dropout of feed_forward", hint="hand dropout on")
inner = checked(layer.feed_forward.up_projection(x), (2, 5, 20), what="what is inside feed_forward")
assert_close(
    layer.feed_forward(x),
    layer.feed_forward.down_projection(F.gelu(inner)),
    what="the output of feed_forward with gelu",
    hint="hand activation on",
)


def by_hand(x, mask=None):
    """Put the layer together from its own blocks."""
    read = layer.attention_residual(x, lambda y: layer.self_attention(y, y, y, mask))
    return layer.feed_forward_residual(read, layer.feed_forward)


if torch.allclose(checked(layer(x.clone()), x.shape), by_hand(x), atol=1e-5):
    mask = random_mask(2, 3, 5, 5)
    assert_close(
        layer(x.clone(), mask),
        by_hand(x, mask),
        what="the output with a mask of many heads and queries",
        hint="hand the mask on to self_attention, as it is",
        mistakes={words: by_hand(x, part) for words, part in parts_for_all(mask).items()},
    )
    assert_dropped_alike(layer, by_hand, x)
else:
    forgive("the blocks are put together in another way", "EncoderLayer-values")
layer = EncoderLayer(4, 2, 8)
dropouts = (layer.attention_residual.dropout.p, layer.feed_forward.dropout.p)
hint = "what is not given is as in the signature"
assert_equal(dropouts, (0.0, 0.0), what="dropout, not given", hint=hint)
eps = layer.attention_residual.norm.eps
assert_equal(eps, 1e-5, what="eps, not given", hint=hint)
hint = "MultiHeadAttention refuses heads that do not fit, Residual a position that does not exist"
assert_raises(ValueError, EncoderLayer, 8, 3, 16, hint=hint)
assert_raises(ValueError, EncoderLayer, 8, 2, 16, norm_position="middle", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ### A stack of them
#
# Layers share their shape, not their weights: each is made anew, and an `nn.ModuleList` holds them.
# The blocks refuse every setting that is out of range but one: that there is at least one layer,
# you check yourself. After post-norm layers everything is normalised; after pre-norm layers the sum
# is not, so one last norm follows. `final_norm`, imported above, knows: it gives back the norm that
# you hand it, or the identity.

# %% solution="Encoder" of="course_lib.layers.transformer_layers" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"

# %% test="Encoder-values" points=1 read="transformer#transformer-encoder"
# Layers of one's own, one after the other, and a last norm where it is needed
encoder = Encoder(3, 8, 2, 16, norm_position="pre").to(device)
hint = "as many layers as num_layers says"
assert_equal(len(encoder.layers), 3, what="the number of layers", hint=hint)
x = torch.randn(2, 4, 8).to(device)
by_hand = encoder.layers[2](encoder.layers[1](encoder.layers[0](x.clone())))
assert_close(
    encoder(x),
    encoder.norm(by_hand),
    what="the output, put together from your own layers",
    hint="one layer after the other, then norm",
    mistakes={
        "the last norm is not used": by_hand,
        "each layer reads x, not what the layer before it gives": (
            encoder.norm(encoder.layers[2](x))
        ),
        "the layers run last to first": (
            encoder.norm(encoder.layers[0](encoder.layers[1](encoder.layers[2](x))))
        ),
    },
)
assert_raises(ValueError, Encoder, 0, 8, 2, 16, hint="num_layers is at least 1: raise ValueError")


### BEGIN HIDDEN TESTS
def in_turn(encoder, x, mask):
    """Run two layers of an encoder one after the other, and its last norm."""
    return encoder.norm(encoder.layers[1](encoder.layers[0](x, mask), mask))


sizes = (2, 12, 3, 20)  # layers, d_model, heads, d_ff
x = torch.randn(2, 5, 12).to(device)
mask = random_mask(2, 3, 5, 5)
for norm_position in ("pre", "post"):
    encoder = Encoder(*sizes, norm_position=norm_position, dropout=0.25, eps=0.5).to(device)
    encoder.eval()
    names = {name.split(".")[0] for name, _ in encoder.named_parameters()}
    expected = {"layers", "norm"} if norm_position == "pre" else {"layers"}
    if names != expected:
        raise CheckFailure(
            f"with {norm_position} the parameters are those of {sorted(names)}, "
            f"expected {sorted(expected)}",
            hint="layers is an nn.ModuleList, norm what final_norm gives back",
        )
    first, second = (
        checked(encoder.layers[i].self_attention.query_projection.weight, (12, 12), what="a weight")
        for i in (0, 1)
    )
    if torch.equal(first, second):
        raise CheckFailure(
            "two layers start with the same weights",
            hint="make each layer anew: a copy starts as its original, and one layer twice is one",
        )
    by_hand = encoder.layers[1](encoder.layers[0](x.clone(), mask), mask)
    if torch.equal(*checked(by_hand, x.shape, what="output of the layers")) or torch.equal(
        by_hand, x
    ):
        hint = "an Encoder of layers that do nothing shows nothing: begin with EncoderLayer"
        raise CheckFailure("the layers return x, or the same whatever it is", hint=hint)
    without_mask = encoder.layers[1](encoder.layers[0](x.clone()))
    backwards = encoder.layers[0](encoder.layers[1](x.clone(), mask), mask)
    assert_close(
        encoder(x, mask),
        encoder.norm(by_hand),
        what=f"the output with {norm_position}",
        hint="x = layer(x, mask) for each layer, then norm",
        mistakes={
            "the last norm is not used": by_hand,
            "the mask is not handed on": encoder.norm(without_mask),
            "the first layer alone gets the mask": (
                encoder.norm(encoder.layers[1](encoder.layers[0](x, mask)))
            ),
            "the layers run last to first": encoder.norm(backwards),
            "each layer reads x, not what the layer before it gives": (
                encoder.norm(encoder.layers[1](x, mask))
            ),
            **{words: in_turn(encoder, x, part) for words, part in parts_for_all(mask).items()},
        },
    )
    assert_gradients_like(
        partial(in_turn, encoder, mask=mask),
        partial(encoder, mask=mask),
        {"x": x},
        modules={"": (encoder, encoder)},
    )
    for i in (0, 1):
        residual = encoder.layers[i].feed_forward_residual
        settings = (residual.dropout.p, residual.norm.eps, residual.norm_position)
        hint = "hand dropout, eps and norm_position on to each layer"
        assert_equal(settings, (0.25, 0.5, norm_position), what=f"settings of layer {i}", hint=hint)
    assert_dropped_alike(encoder, partial(in_turn, encoder), x, mask)
encoder = Encoder(1, 4, 2, 8, norm_position="pre", activation="gelu", eps=0.5)
assert_equal(encoder.norm.eps, 0.5, what="eps of the last norm", hint="hand eps on")
inner = encoder.layers[0].feed_forward
x = torch.randn(3, 4)
bent = inner.down_projection(F.gelu(checked(inner.up_projection(x), (3, 8), what="what is inside")))
assert_close(inner(x), bent, what="feed_forward of a layer with gelu", hint="hand activation on")
default = Encoder(1, 4, 2, 8).layers[0]
residual, inner = default.attention_residual, default.feed_forward
settings = (residual.dropout.p, residual.norm.eps, residual.norm_position)
hint = "what is not given is as in the signature"
assert_equal(settings, (0.0, 1e-5, "post"), what="settings that are not given", hint=hint)
bent = inner.down_projection(F.relu(checked(inner.up_projection(x), (3, 8), what="what is inside")))
hint = "what is not given is as in the signature: relu"
assert_close(inner(x), bent, what="feed_forward where no activation is given", hint=hint)
for num_layers in (0, -1):
    hint = "num_layers is at least 1: raise ValueError"
    assert_raises(ValueError, Encoder, num_layers, 8, 2, 16, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: the decoder's layer
#
# A decoder layer has one sublayer more, in the middle: the target's tokens ask, the *source's*
# tokens answer. What they answer with, the `memory`, is the encoder's output. See
# [The decoder](book:transformer#transformer-decoder).
#
# - Two masks come in: `mask` for the target among itself, `memory_mask` for the target's look at
#   the source. Which attention gets which?
# - The residual road of the middle sublayer is the target's: `x` asks and is added. The memory is
#   never normalised here; the encoder has seen to it.


# %% solution="DecoderLayer" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"
class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's output, and a feed-forward layer.

    Args:
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layer.
        norm_position: Where the normalisations stand.
        dropout: Share of each sublayer's output, and of the feed-forward layer's inner
            activations, that training sets to zero.

    Attributes:
        self_attention: ``MultiHeadAttention``, from target to target.
        cross_attention: ``MultiHeadAttention``, from target to the encoder's output.
        feed_forward: ``FeedForward``, with its usual activation.
        self_attention_residual: ``Residual`` around the first, with a ``LayerNorm`` of its own,
            with its usual eps.
        cross_attention_residual: Likewise around the second.
        feed_forward_residual: Likewise around the third.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm_position: NormPosition = "post",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        for name in ("self_attention", "cross_attention", "feed_forward"):
            residual = Residual(LayerNorm(d_model), norm_position=norm_position, dropout=dropout)
            self.add_module(f"{name}_residual", residual)
        ### END SOLUTION

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Let the target tokens read each other, then the source.

        Args:
            x: ``(batch, tgt_len, d_model)``, left as it is.
            memory: ``(batch, src_len, d_model)``, the encoder's output, left as it is.
            mask: Boolean, broadcastable to ``(batch, num_heads, tgt_len, tgt_len)``.
            memory_mask: Boolean, broadcastable to ``(batch, num_heads, tgt_len, src_len)``.

        Returns:
            ``(batch, tgt_len, d_model)``.
        """
        ### BEGIN SOLUTION
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, y, mask))
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask)
        )
        return self.feed_forward_residual(x, self.feed_forward)
        ### END SOLUTION


# %% test="DecoderLayer-values" points=1 read="transformer#transformer-decoder"
# Self-attention, then a look at the source, then the feed-forward layer, each on its own road
layer = DecoderLayer(8, 2, 16).to(device)
x, memory = torch.randn(2, 3, 8).to(device), torch.randn(2, 3, 8).to(device)
as_it_was = "x += ... changes the caller's tensor; x = x + ... makes a new one"
assert_keeps_inputs(layer, x, memory, hint=as_it_was)
written = layer.self_attention_residual(x, lambda y: layer.self_attention(y, y, y))
normed = layer.cross_attention_residual.norm(memory)


def with_a_look(look):
    """Go on from the self-attention, with this look at the source."""
    looked = layer.cross_attention_residual(written, look)
    return layer.feed_forward_residual(looked, layer.feed_forward)


assert_close(
    checked(layer(x, memory), x.shape),
    with_a_look(lambda y: layer.cross_attention(y, memory, memory)),
    what="the output, put together from your own blocks",
    hint="self-attention, cross-attention, feed-forward, each on its own residual road",
    mistakes={
        "the look at the source is missing": (
            layer.feed_forward_residual(written, layer.feed_forward)
        ),
        "the target asks: queries come from y, keys and values from the memory": (
            with_a_look(lambda y: layer.cross_attention(memory, y, y))
        ),
        "keys and values of the cross-attention are the memory": (
            with_a_look(lambda y: layer.cross_attention(y, y, y))
        ),
        "the keys of the cross-attention are the memory too, not y": (
            with_a_look(lambda y: layer.cross_attention(y, y, memory))
        ),
        "the values of the cross-attention are the memory too, not y": (
            with_a_look(lambda y: layer.cross_attention(y, memory, y))
        ),
        "queries come from y, what the residual hands to the cross-attention": (
            with_a_look(lambda y: layer.cross_attention(x, memory, memory))
        ),
        "the cross-attention has weights of its own": (
            with_a_look(lambda y: layer.self_attention(y, memory, memory))
        ),
        "the memory is never normalised here; the encoder has seen to it": (
            with_a_look(lambda y: layer.cross_attention(y, normed, normed))
        ),
    },
)
longer = torch.randn(2, 5, 8).to(device)
assert_shape(layer(x, longer), x.shape, what="the output for a longer source", hint="that of x")
### BEGIN HIDDEN TESTS
from course_lib.layers.transformer_layers import DecoderLayer as ReferenceLayer


def run(layer, x, memory, steps):
    """Run a layer's sublayers in some order, each on one of its roads."""
    normed = layer.cross_attention_residual.norm(memory)
    roads = (
        layer.self_attention_residual,
        layer.cross_attention_residual,
        layer.feed_forward_residual,
    )
    sublayers = {
        "own": lambda y: layer.self_attention(y, y, y),
        "own, of x": lambda y: layer.self_attention(x, x, x),
        "look": lambda y: layer.cross_attention(y, memory, memory),
        "look of x": lambda y: layer.cross_attention(x, memory, memory),
        "look at itself": lambda y: layer.cross_attention(y, y, y),
        "look at the normed": lambda y: layer.cross_attention(y, normed, normed),
        "look with the wrong weights": lambda y: layer.self_attention(y, memory, memory),
        "think": layer.feed_forward,
    }
    for road, sublayer in steps:
        x = roads[road](x, sublayers[sublayer])
    return x


names = "make the blocks that the docstring lists under Attributes, with these names"
x, memory = torch.randn(2, 4, 12).to(device), torch.randn(2, 6, 12).to(device)
for norm_position in ("post", "pre"):
    reference = ReferenceLayer(12, 3, 20, norm_position=norm_position).to(device)
    for name, parameter in reference.named_parameters():
        if parameter.dim() == 1:  # each norm gets a weight and a bias of its own
            nn.init.normal_(parameter, mean=float(name.endswith("weight")), std=0.5)
    student = DecoderLayer(12, 3, 20, norm_position=norm_position, dropout=0.25).to(device)
    student.eval()
    assert_keeps_inputs(student, x, memory, hint=as_it_was)
    ours = set(reference.state_dict())
    if parameters_of(student, ours).keys() != ours:
        different = sorted(parameters_of(student, ours).keys() ^ ours)[0]
        raise CheckFailure(f"a parameter is missing, or should not be: {different}", hint=names)
    student.load_state_dict(reference.state_dict(), strict=False)
    kept = student.state_dict()
    for name, parameter in reference.state_dict().items():
        if not torch.equal(kept[name], parameter):
            raise CheckFailure(
                f"{name} is one and the same as a parameter of another block",
                hint="make each block anew: each residual has a LayerNorm of its own",
            )
    mistakes = {
        "the look at the source is missing": ((0, "own"), (2, "think")),
        "the self-attention is missing": ((1, "look"), (2, "think")),
        "the feed-forward layer is missing": ((0, "own"), (1, "look")),
        "the look at the source comes after the self-attention": (
            ((1, "look"), (0, "own"), (2, "think"))
        ),
        "the feed-forward layer comes last": ((0, "own"), (2, "think"), (1, "look")),
        "two residuals are swapped": ((1, "own"), (0, "look"), (2, "think")),
        "one residual serves all sublayers; there are three": (
            ((0, "own"), (0, "look"), (0, "think"))
        ),
        "keys and values of the cross-attention are the memory": (
            ((0, "own"), (1, "look at itself"), (2, "think"))
        ),
        "the cross-attention has weights of its own": (
            ((0, "own"), (1, "look with the wrong weights"), (2, "think"))
        ),
        "the memory is never normalised here; the encoder has seen to it": (
            ((0, "own"), (1, "look at the normed"), (2, "think"))
        ),
        "the self-attention reads y, what the residual hands to it, and not x": (
            ((0, "own, of x"), (1, "look"), (2, "think"))
        ),
        "the target asks with y, what the residual hands to the cross-attention, and not with x": (
            ((0, "own"), (1, "look of x"), (2, "think"))
        ),
        "both attentions read y, what the residual hands to them, and not x": (
            ((0, "own, of x"), (1, "look of x"), (2, "think"))
        ),
    }
    assert_close(
        student(x, memory),
        reference(x, memory),
        what=f"the output with {norm_position}",
        hint="self-attention, cross-attention, feed-forward, each on its own residual road",
        mistakes={words: run(reference, x, memory, steps) for words, steps in mistakes.items()},
    )
    assert_gradients_like(reference, student, {"x": x, "memory": memory})
    for road in ("self_attention", "cross_attention", "feed_forward"):
        residual = getattr(student, f"{road}_residual")
        what, usual = f"of {road}_residual", "LayerNorm(d_model) has the usual eps, 1e-5"
        assert_equal(residual.dropout.p, 0.25, what=f"dropout {what}", hint="hand dropout on")
        assert_equal(residual.norm.eps, 1e-5, what=f"eps {what}", hint=usual)
    steps = ((0, "own"), (1, "look"), (2, "think"))
    assert_dropped_alike(student, partial(run, student, steps=steps), x, memory)
dropout = student.feed_forward.dropout.p
assert_equal(dropout, 0.25, what="dropout of feed_forward", hint="hand dropout on")
default = DecoderLayer(4, 2, 8)
settings = (default.feed_forward.dropout.p, default.cross_attention_residual.norm_position)
hint = "what is not given is as in the signature"
assert_equal(settings, (0.0, "post"), what="settings that are not given", hint=hint)
### END HIDDEN TESTS

# %% test="DecoderLayer-masks" points=1 read="transformer#transformer-decoder"
# One mask is for the target among itself, the other for the look at the source
layer = DecoderLayer(8, 2, 16).to(device)
x, memory = torch.randn(2, 3, 8).to(device), torch.randn(2, 3, 8).to(device)
last_hidden = torch.tensor([True, True, False]).to(device)[None, None, None, :]
changed = memory.clone()
changed[:, 2] += 1.0


def written(x, memory, *masks):
    """Give a layer copies of its inputs; whether it changes them is another test's business."""
    return checked(layer(x.clone(), memory.clone(), *masks), x.shape, hint="the shape of x")


assert_close(
    written(x, changed, None, last_hidden),
    written(x, memory, None, last_hidden),
    what="the output, after a change of the source's hidden token",
    hint="memory_mask belongs to the cross-attention, whose keys and values are the memory",
)
### BEGIN HIDDEN TESTS
layer = DecoderLayer(12, 3, 20).to(device)
x, memory = torch.randn(2, 4, 12).to(device), torch.randn(2, 4, 12).to(device)
only_past = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril().to(device)
is_real = torch.tensor([[True, True, True, False], [True, True, False, False]]).to(device)
memory_mask = is_real[:, None, None, :]
before = written(x, memory, only_past, memory_mask)
noise = torch.randn(2, 4, 12).to(device)
elsewhere = torch.where(is_real[..., None], memory, noise)
assert_close(
    written(x, elsewhere, only_past, memory_mask),
    before,
    what="the output, after a change of the source's padding",
    hint="memory_mask belongs to the cross-attention, whose keys and values are the memory; True "
    "means may attend",
)
later = x.clone()
later[:, 2:] = noise[:, 2:]
assert_close(
    written(later, memory, only_past, memory_mask)[:, :2],
    before[:, :2],
    what="the first two tokens, after a change of those behind them",
    hint="mask belongs to the self-attention, and no target token is a key or a value of the other",
)
for change, hint in (
    (written(x, memory + noise, only_past, memory_mask), "the memory has no influence"),
    (written(x, memory, None, memory_mask), "the mask has no influence"),
    (written(x, memory, only_past), "the memory_mask has no influence"),
):
    if torch.allclose(change, before):
        raise CheckFailure("the output does not change where it should", hint=hint)
first_alone = written(x[:, :1], memory, None, memory_mask)
assert_close(before[:, :1], first_alone, what="the first token, alone", hint="mask the keys")
cut_off = written(x[1:], memory[1:, :2], only_past)
not_zeros = "keys that are zeros get their share of the weights all the same: hand memory_mask on"
assert_close(
    before[1:], cut_off, what="the output, beside that of a shorter source", hint=not_zeros
)
layer.eval()
what, hint = "the output in evaluation", "eval() changes nothing here: the masks stay"
assert_close(written(x, memory, only_past, memory_mask), before, what=what, hint=hint)


def by_hand(mask=None, memory_mask=None):
    """Put the layer together from its own blocks."""
    y = layer.self_attention_residual(x, lambda y: layer.self_attention(y, y, y, mask))
    y = layer.cross_attention_residual(
        y, lambda y: layer.cross_attention(y, memory, memory, memory_mask)
    )
    return layer.feed_forward_residual(y, layer.feed_forward)


if torch.allclose(written(x, memory), by_hand(), atol=1e-5):
    own, look = random_mask(2, 3, 4, 4), random_mask(2, 3, 4, 4)
    assert_close(
        written(x, memory, own, look),
        by_hand(own, look),
        what="the output with masks of many sentences, heads and queries",
        hint="hand each mask on to its attention, as it is",
        mistakes={
            **{f"mask: {words}": by_hand(part, look) for words, part in parts_for_all(own).items()},
            **{
                f"memory_mask: {words}": by_hand(own, part)
                for words, part in parts_for_all(look).items()
            },
        },
    )
else:
    forgive("the blocks are put together in another way", "DecoderLayer-values")
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: the whole model
#
# ### Masks, put together
#
# Source and target come as token ids, filled up with `pad_id` to a common length. Two masks follow
# from them: no one looks at padding, and the target does not look ahead. `padding_mask` and
# `causal_mask`, imported above, are the ones that you wrote in homework 3; they combine with `&`.
# The encoder's self-attention and the decoder's look at the source need the same mask. See
# [Three attentions, two masks](book:transformer#masks-together). (The chapter says why the target's
# padding might be left to the causal mask. Here it is hidden too.)


# %% solution="translation_masks"
def translation_masks(src: Tensor, tgt: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """Say what may be attended to, in source and target.

    Args:
        src: ``(batch, src_len)``, source token ids, padded with ``pad_id``.
        tgt: ``(batch, tgt_len)``, target token ids, padded likewise.
        pad_id: The token id that fills sequences up.

    Returns:
        Two boolean masks, True where a query may attend to a key, on the device of ``src`` and
        ``tgt``: for all that look at the source ``(batch, 1, 1, src_len)``, True where it is no
        padding; for the target's look at itself ``(batch, 1, tgt_len, tgt_len)``, True where a key
        is no padding and stands no later than the query.
    """
    ### BEGIN SOLUTION
    tgt_len = tgt.size(1)
    look_back = causal_mask(tgt_len, device=tgt.device)  # (1, 1, tgt_len, tgt_len)
    return padding_mask(src, pad_id), padding_mask(tgt, pad_id) & look_back
    ### END SOLUTION


# %% test="translation_masks-source" points=1 read="transformer#masks-together"
# The source's mask hides its padding
src = torch.tensor([[5, 7, 4], [3, 0, 0]]).to(device)
tgt = torch.tensor([[1, 6], [1, 8]]).to(device)
expected = torch.tensor([[[[True, True, True]]], [[[True, False, False]]]]).to(device)
assert_close(
    two_masks(translation_masks(src, tgt, 0))[0],
    expected,
    what="the source's mask",
    hint="boolean; the dimensions are batch, heads (1 for all), queries (1 for all), keys",
    mistakes={
        "the mask is inverted; True means may attend": ~expected,
        "this one is made of tgt; the source's is made of src": (tgt != 0)[:, None, None, :],
        "the two masks are exchanged: the source's comes first": (
            torch.ones(2, 1, 2, 2, dtype=torch.bool).tril().to(device)
        ),
    },
)
### BEGIN HIDDEN TESTS
pad_id = int(torch.randint(1, 4, ()))
src, tgt = torch.randint(0, 5, (3, 7)).to(device), torch.randint(0, 5, (3, 4)).to(device)
src[0, 0], src[0, 1] = pad_id, 0  # 0 is a token like any other here
expected = (src != pad_id)[:, None, None, :]
assert_close(
    two_masks(translation_masks(src, tgt, pad_id))[0],
    expected,
    what="the source's mask",
    hint="boolean; the dimensions are batch, heads (1 for all), queries (1 for all), keys",
    mistakes={
        "the mask is inverted; True means may attend": ~expected,
        "compare with pad_id, which need not be 0": (src != 0)[:, None, None, :],
    },
)
### END HIDDEN TESTS

# %% test="translation_masks-target" points=1 read="transformer#masks-together"
# The target's mask hides its padding and what comes later
src = torch.tensor([[5, 7, 4, 2]]).to(device)
tgt = torch.tensor([[1, 6, 0]]).to(device)
real = (tgt != 0)[:, None, None, :]
causal = torch.ones(3, 3, dtype=torch.bool).tril().to(device)


def wrong_masks(real, causal):
    """Name the usual mistakes, and what each of them makes of the two masks."""
    mistakes = {
        "the mask is inverted; True means may attend": ~(real & causal),
        "padding is not hidden in it": causal,
        "padding alone is left in it; True means no padding": ~real & causal,
        "what comes later is not hidden in it": real,
        "joined with or; both must allow it: &": real | causal,
        "it hides the past; hide what comes later": real & causal.mT,
        "it leaves what comes later alone; True means may attend": real & ~causal,
        "a token may attend to itself": real & causal.tril(-1),
        "padding is hidden as a query; hide it as a key": real.mT & causal,
    }
    return {words: mask.expand(*real.shape[:2], *causal.shape) for words, mask in mistakes.items()}


def targets_mask(masks):
    """Give the target's of two masks. Which of them comes first is another test's business."""
    first, second = two_masks(masks)
    shapes = [mask.shape[-2:] if isinstance(mask, Tensor) else () for mask in (first, second)]
    square = (shapes[0][-1:] * 2, shapes[1][-1:] * 2)
    turned = shapes[0] == square[0] != shapes[1] != square[1]
    if turned:
        forgive("the two masks have changed places", "translation_masks-source")
    return first if turned else second


assert_close(
    targets_mask(translation_masks(src, tgt, 0)),
    real & causal,
    what="the target's mask",
    hint="both masks at once: padding_mask(...) & causal_mask(...)",
    mistakes=wrong_masks(real, causal),
)
### BEGIN HIDDEN TESTS
pad_id = int(torch.randint(1, 4, ()))
src, tgt = torch.randint(0, 5, (3, 7)).to(device), torch.randint(0, 5, (3, 5)).to(device)
tgt[0, -1], tgt[0, 0], tgt[1, 0] = pad_id, 0, 4
source = two_masks(translation_masks(src, tgt, pad_id))[0]
if isinstance(source, Tensor) and torch.equal(source, (src != 0)[:, None, None, :]):
    pad_id = 0
    forgive("another pad_id than 0 is overlooked", "translation_masks-source")
real, causal = (tgt != pad_id)[:, None, None, :], torch.ones(5, 5, dtype=torch.bool).tril()
causal = causal.to(device)
assert_close(
    targets_mask(translation_masks(src, tgt, pad_id)),
    real & causal,
    what="the target's mask",
    hint="both masks at once: padding_mask(...) & causal_mask(...)",
    mistakes={
        "compare with pad_id, which need not be 0": (tgt != 0)[:, None, None, :] & causal,
        **wrong_masks(real, causal),
    },
)
### END HIDDEN TESTS

# %% [markdown]
# ### From token ids to logits
#
# The decoder's stack is the encoder's again, so it is given here. So is `start_small`: it draws the
# first weights such that vectors keep about their size from layer to layer; a Transformer that
# starts otherwise learns late or never. Call it last in `__init__`, as `start_small(self)`.


# %% setup="decoder-stack"
class Decoder(nn.Module):
    """A stack of decoder layers, and a last normalisation if they are pre-norm."""

    def __init__(self, num_layers, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout)
            for _ in range(num_layers)
        )
        self.norm = final_norm(LayerNorm(d_model), norm_position)

    def forward(self, x, memory, mask=None, memory_mask=None):
        for layer in self.layers:
            x = layer(x, memory, mask, memory_mask)
        return self.norm(x)


def start_small(model):
    """Draw the first weights of a model, in place."""
    for module in model.modules():
        if isinstance(module, TokenEmbedding):  # times its scale: entries of about 1
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def is_tied(model):
    """Say whether a model's output projection has the weights of its target embedding."""
    state = model.state_dict()
    return torch.equal(state["tgt_embedding.weight"], state["output_projection.weight"])


# %% [markdown]
# Now the model. Five things to keep in mind:
#
# - Embeddings are *scaled*: `TokenEmbedding(..., scaled=True)`. See
#   [The input](book:transformer#embeddings-and-positions).
# - Positions are added on both sides. Sinusoids have no weights, so one `SinusoidalPositions`
#   serves both.
# - The logits are what comes out: no softmax, the loss takes logits.
# - The paper lets `output_projection` share its weight with `tgt_embedding`. You may do so, or
#   leave the two apart: the tests take both.
# - Three attentions, two masks.


# %% solution="Transformer" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"
class Transformer(nn.Module):
    """Translate a sequence: encode the source, then say for each target token what comes next.

    Args:
        src_vocab_size: Number of source token ids.
        tgt_vocab_size: Number of target token ids.
        d_model: Width of a token's vector; divisible by ``num_heads``, even.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layers.
        num_layers: Number of encoder layers, and of decoder layers.
        norm_position: Where the normalisations stand.
        dropout: Share that training sets to zero: of the embeddings with their positions, and
            inside ``encoder`` and ``decoder``.
        pad_id: The token id that fills sequences up.

    Attributes:
        src_embedding: ``TokenEmbedding`` of the source, scaled.
        tgt_embedding: ``TokenEmbedding`` of the target, scaled.
        encoder: ``Encoder``.
        decoder: ``Decoder``.
        output_projection: ``nn.Linear(d_model, tgt_vocab_size)`` without bias.

    Source: Vaswani et al. (2017), section 3; chapter "The Transformer".
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        norm_position: NormPosition = "pre",
        dropout: float = 0.0,
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.pad_id = pad_id
        self.src_embedding = TokenEmbedding(src_vocab_size, d_model, scaled=True)
        self.tgt_embedding = TokenEmbedding(tgt_vocab_size, d_model, scaled=True)
        self.positions = SinusoidalPositions(d_model)
        self.dropout = nn.Dropout(dropout)
        sizes = (num_layers, d_model, num_heads, d_ff)
        self.encoder = Encoder(*sizes, norm_position=norm_position, dropout=dropout)
        self.decoder = Decoder(*sizes, norm_position=norm_position, dropout=dropout)
        self.output_projection = nn.Linear(d_model, tgt_vocab_size, bias=False)
        start_small(self)
        ### END SOLUTION

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Say for each target token what comes next, given the source and the target up to it.

        Args:
            src: ``(batch, src_len)``, source token ids, padded with ``pad_id``.
            tgt: ``(batch, tgt_len)``, target token ids, beginning with the start symbol.

        Returns:
            Logits ``(batch, tgt_len, tgt_vocab_size)``. Those that stand at padding mean nothing.
        """
        ### BEGIN SOLUTION
        src_mask, tgt_mask = translation_masks(src, tgt, self.pad_id)
        source = self.dropout(self.positions(self.src_embedding(src)))
        target = self.dropout(self.positions(self.tgt_embedding(tgt)))
        memory = self.encoder(source, src_mask)  # (batch, src_len, d_model)
        return self.output_projection(self.decoder(target, memory, tgt_mask, src_mask))
        ### END SOLUTION


# %% test="Transformer-parameters" points=1 read="transformer#embeddings-and-positions"
# The model has its parts, starts small, and has logits for each target token
model = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=2).to(device)
# Both are of one length: which attention gets which mask is another test's business.
src, tgt = torch.randint(1, 11, (3, 4)).to(device), torch.randint(1, 13, (3, 4)).to(device)
assert_shape(model(src, tgt), (3, 4, 13), what="the logits", hint="one row a target token")
for name, size in (("src_embedding", 11), ("tgt_embedding", 13)):
    weight = checked(getattr(model, name).weight, (size, 8), what=f"the weight of {name}")
    if weight.std().item() > 2 * 8**-0.5:
        raise CheckFailure(f"{name} does not start small", hint="call start_small(self) last")
### BEGIN HIDDEN TESTS
from course_lib.models.transformer import Transformer as Reference
from course_lib.models.transformer import TransformerConfig

assert_shape(model(src, tgt), (3, 4, 13), what="the logits", hint="one row a target token")
config = TransformerConfig(
    src_vocab_size=50, tgt_vocab_size=40, d_model=32, num_heads=4, d_ff=24, num_encoder_layers=3,
    num_decoder_layers=3, norm_position="pre", tied="none",
)  # fmt: skip
model = Transformer(50, 40, d_model=32, num_heads=4, d_ff=24, num_layers=3).to(device)
ours = {name: tuple(tensor.shape) for name, tensor in Reference(config).state_dict().items()}
theirs = {name: tuple(tensor.shape) for name, tensor in parameters_of(model, ours).items()}
if ours != theirs:
    different = sorted(set(ours.items()) ^ set(theirs.items()))[0][0]
    hint = "make the parts that the docstring lists under Attributes, with these names and sizes"
    if different.startswith(("encoder.norm", "decoder.norm")):
        hint = "hand norm_position on to both stacks: the model is pre-norm, where it is not given"
    raise CheckFailure(f"the parameters differ from what is expected: {different}", hint=hint)
for name, size in (("src_embedding", 50), ("tgt_embedding", 40), ("output_projection", 40)):
    weight = checked(getattr(model, name).weight, (size, 32), what=f"the weight of {name}")
    spread = weight.std().item() * 32**0.5
    if not 0.8 < spread < 1.2:
        raise CheckFailure(f"{name} does not start small", hint="call start_small(self) last")
for name, tensor in model.state_dict().items():
    if name.endswith("bias") and bool(tensor.any()):
        raise CheckFailure(f"{name} does not start at 0", hint="call start_small(self) last")
post = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=1, norm_position="post")
if any(name.startswith(("encoder.norm", "decoder.norm")) for name in post.state_dict()):
    raise CheckFailure("norm_position='post' still gives pre", hint="hand norm_position on")
dropped = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=1, dropout=0.5)
dropped = dropped.to(device)
rates = [
    getattr(dropped, stack).layers[0].feed_forward_residual.dropout.p
    for stack in ("encoder", "decoder")
]
assert_equal(rates, [0.5, 0.5], what="dropout in encoder and decoder", hint="hand dropout on")
dropped.eval()
hint = "nn.Dropout knows by itself whether the model is training"
assert_close(dropped(src, tgt), dropped(src, tgt), what="a second call in evaluation", hint=hint)
dropped.train()
dropped.encoder.eval()
dropped.decoder.eval()  # what is dropped now is dropped from the embeddings
first, second = (checked(dropped(src, tgt), (3, 4, 13), what="the logits") for _ in range(2))
if torch.allclose(first, second):
    raise CheckFailure(
        "in training nothing is dropped from the embeddings",
        hint="dropout acts on embeddings and positions, once they are added",
    )
nothing = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=2, dropout=1.0).to(device)
nothing.train()
nothing.encoder.eval()
nothing.decoder.eval()
# Neither a token nor its position is left: all places are alike.
logits = checked(nothing(src, tgt), (3, 4, 13), what="the logits")
assert_close(
    logits,
    logits[:1, :1].expand(3, 4, 13),
    what="logits where everything is dropped",
    hint="dropout acts on embeddings and positions, once they are added, on both sides",
)
assert_close(
    checked(nothing(src[:, :1], tgt[:, :1]), (3, 1, 13), what="the logits"),
    logits[:, :1],
    what="logits of a shorter source where everything is dropped",
    hint="positions of the source are dropped too: dropout comes after they are added",
)
# With biases that are not 0, something leaves the decoder, and is not dropped.
biased = {
    name: part + torch.rand_like(part) if part.is_floating_point() else part
    for name, part in nothing.state_dict().items()
}
nothing.load_state_dict(biased)
if not bool(checked(nothing(src, tgt), (3, 4, 13), what="the logits").any()):
    raise CheckFailure(
        "what the decoder gives is dropped",
        hint="dropout acts on embeddings and positions; encoder and decoder have their own inside",
    )
nothing(src, tgt)[..., 0].sum().backward()  # a memory that is dropped gets no gradient
gradient = nothing.encoder.norm.bias.grad
if gradient is None:
    forgive("no gradient flows back to the encoder", "Transformer-values")
elif not bool(gradient.any()):
    raise CheckFailure(
        "what the encoder gives is dropped",
        hint="dropout acts on embeddings and positions; encoder and decoder have their own inside",
    )
dropped = Transformer(41, 41, d_model=64, num_heads=2, d_ff=16, num_layers=1, dropout=0.5)
dropped, state = dropped.to(device), dropped.state_dict()
if torch.equal(state["src_embedding.weight"], state["tgt_embedding.weight"]):
    hint = "each language has an embedding of its own, also where both have as many tokens"
    raise CheckFailure("src_embedding and tgt_embedding are one", hint=hint)
dropped.train()
dropped.encoder.eval()
dropped.decoder.eval()
each = torch.arange(1, 41).view(2, 20).to(device)  # what is dropped gets no gradient
checked(dropped(each, each), (2, 20, 41), what="the logits")[..., 0].sum().backward()
for name in ("src_embedding", "tgt_embedding"):
    gradient = getattr(dropped, name).weight.grad
    if gradient is None:
        forgive(f"no gradient flows back to {name}", "Transformer-values")
        continue
    share = (gradient[1:] == 0).double().mean().item()  # the first is a weight of the output, too
    if not 0.4 < share < 0.6:
        summary = f"of {name}, {share:.0%} are dropped with dropout=0.5"
        hint = "dropout acts on embeddings and positions, once: when they are added"
        raise CheckFailure(summary, hint=hint)
### END HIDDEN TESTS

# %% test="Transformer-sight" points=1 read="transformer#masks-together"
# No target token sees what comes later, nobody sees padding, and the source is seen
model = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=2).to(device)
src, tgt = torch.randint(1, 11, (3, 5)).to(device), torch.randint(1, 13, (3, 4)).to(device)
logits = checked(model(src, tgt), (3, 4, 13), what="the logits")
changed = tgt.clone()
changed[:, 2:] = changed[:, 2:] % 12 + 1  # other tokens
look_ahead = "the decoder looks ahead: its self-attention needs the target's mask"
after = checked(model(src, changed), (3, 4, 13), what="the logits")
assert_close(after[:, :2], logits[:, :2], what="the past's logits", hint=look_ahead)
### BEGIN HIDDEN TESTS
model = Transformer(11, 13, d_model=12, num_heads=3, d_ff=20, num_layers=2, pad_id=3).to(device)
src = torch.randint(4, 11, (2, 6)).to(device)
tgt = torch.randint(4, 13, (2, 5)).to(device)
logits = checked(model(src, tgt), (2, 5, 13), what="the logits", hint="one row a target token")
for cut in (1, 3):
    changed = tgt.clone()
    changed[:, cut:] = (changed[:, cut:] - 4 + 1) % 9 + 4
    after = checked(model(src, changed), (2, 5, 13), what="the logits")
    assert_close(after[:, :cut], logits[:, :cut], what="the past's logits", hint=look_ahead)
    if torch.allclose(after[:, cut:], logits[:, cut:]):
        raise CheckFailure("the target's own tokens have no influence", hint="see the decoder")
filled = torch.cat((src, torch.full((2, 3), 3).to(device)), dim=1)
hint = "padding of the source is seen: two attentions need the source's mask"
zeros = F.pad(src, (0, 3))
if torch.allclose(checked(model(zeros, tgt), (2, 5, 13), what="the logits"), logits, atol=1e-5):
    hint = "0 is hidden in place of padding: hand pad_id on to translation_masks"
assert_close(
    model(filled, tgt), logits, what="the logits, with padding behind the source", hint=hint
)
filled = torch.cat((tgt, torch.full((2, 2), 3).to(device)), dim=1)
hint = "padding of the target changes its real tokens"
what = "the logits, with padding behind the target"
after = checked(
    model(src, filled), (2, 7, 13), what=what, hint="one row a target token, padding too"
)
assert_close(after[:, :5], logits, what=what, hint=hint)
inside = tgt.clone()
inside[:, 1] = 3  # padding between the tokens: as a key it must be hidden
before, state = checked(model(src, inside), (2, 5, 13), what="the logits"), model.state_dict()
vectors = checked(state.get("tgt_embedding.weight"), (13, 12), what="the weight of tgt_embedding")
changed = vectors.clone()
changed[3] += torch.randn(12).to(device)  # another vector for padding
if is_tied(model):  # then the logit of padding changes everywhere
    state["output_projection.weight"] = changed
state["tgt_embedding.weight"] = changed
model.load_state_dict(state)
after = checked(model(src, inside), (2, 5, 13), what="the logits")
rest, words = [0, 2, 3, 4], [token for token in range(13) if token != 3]
hint = "padding of the target is seen: hand the target's mask, padding and all, to the decoder"
assert_close(
    after[:, rest][..., words],
    before[:, rest][..., words],
    what="real tokens around padding",
    hint=hint,
)
logits = checked(model(src, tgt), (2, 5, 13), what="the logits")
for position in (0, 5):
    changed = src.clone()
    changed[:, position] = (changed[:, position] - 4 + 1) % 7 + 4
    if torch.allclose(checked(model(changed, tgt), (2, 5, 13), what="the logits"), logits):
        raise CheckFailure(f"the source's token {position} is not seen", hint="see the masks")
mixed_src, mixed_tgt = src.clone(), tgt.clone()
mixed_src[1, 4:] = mixed_tgt[1, 1] = 3  # padding in the second sentence alone
together = checked(model(mixed_src, mixed_tgt), (2, 5, 13), what="the logits")
for row in (0, 1):  # the same sentence twice: no other can disturb it
    twice = (mixed_src[[row, row]], mixed_tgt[[row, row]])
    after = checked(model(*twice), (2, 5, 13), what="the logits")
    assert_close(
        together[row, rest],
        after[row, rest],
        what="the logits, beside a sentence with other padding",
        hint="each sentence has a padding of its own: hand on the masks of all of them",
    )
filled, around = F.pad(src, (0, 3), value=3), model(src, inside)
model.eval()  # as it is used: for a batch, or for one sentence alone
if torch.allclose(checked(model(src, tgt), (2, 5, 13), what="the logits"), logits, atol=1e-5):
    hint = "neither eval() nor a sentence alone changes anything: padding stays hidden"
    for size in (2, 1):
        what = f"the logits in evaluation, batch of {size}, with padding "
        after = model(filled[:size], tgt[:size])
        assert_close(after, logits[:size], what=what + "behind the source", hint=hint)
        after = checked(model(src[:size], inside[:size]), (size, 5, 13), what="the logits")
        expected = around[:size, rest]
        assert_close(after[:, rest], expected, what=what + "among the target", hint=hint)
else:
    forgive("in evaluation the logits are others", "Transformer-values")
### END HIDDEN TESTS

# %% test="Transformer-values" points=1 read="transformer#the-whole-model"
# The logits are what the paper's model gives
model = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=1).to(device)
src, tgt = torch.randint(1, 11, (2, 1)).to(device), torch.randint(1, 13, (2, 1)).to(device)
# A single token has nothing ahead of it: masks have a test of their own.
source = checked(model.src_embedding.weight, (11, 8), what="the weight of src_embedding")[src]
target = checked(model.tgt_embedding.weight, (13, 8), what="the weight of tgt_embedding")[tgt]
place, scale = SinusoidalPositions(8), 8**0.5


def from_vectors(source, target):
    """Put the rest of the model together from its parts."""
    return model.output_projection(model.decoder(target, model.encoder(source)))


right = from_vectors(place(scale * source), place(scale * target))
right = checked(right, (2, 1, 13), what="what your own parts give")
assert_close(
    model(src, tgt),
    right,
    what="the logits, put together from your own parts",
    hint="embed, add positions, encode; embed, add positions, decode; project",
    mistakes={
        "these are probabilities; return the logits": right.softmax(-1),
        "these are log-probabilities; return the logits": right.log_softmax(-1),
        "the embeddings are not scaled: scaled=True": from_vectors(place(source), place(target)),
        "src_embedding is not scaled: scaled=True": (
            from_vectors(place(source), place(scale * target))
        ),
        "tgt_embedding is not scaled: scaled=True": (
            from_vectors(place(scale * source), place(target))
        ),
        "the embeddings are scaled twice; scaled=True does it": from_vectors(
            place(scale**2 * source), place(scale**2 * target)
        ),
        "positions are scaled with the embeddings; scale first, then add": from_vectors(
            scale * place(source), scale * place(target)
        ),
        "there are no positions": from_vectors(scale * source, scale * target),
        "the source has no positions": from_vectors(scale * source, place(scale * target)),
        "the target has no positions": from_vectors(place(scale * source), scale * target),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.models.transformer import Transformer as Reference
from course_lib.models.transformer import TransformerConfig

src, tgt = torch.randint(1, 11, (3, 5)).to(device), torch.randint(1, 13, (3, 5)).to(device)
probe = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=1).to(device)
at_first = checked(probe(src, tgt), (3, 5, 13), what="the logits")[:, :1]
other = torch.cat((tgt[:, :1], tgt[:, 1:] % 12 + 1), dim=1)  # other tokens behind the first
if not torch.allclose(at_first, probe(src, other)[:, :1], atol=1e-5):
    src, tgt = src[:, :1], tgt[:, :1]  # nothing to look at
    forgive("the decoder looks ahead", "Transformer-sight")
masks = (None, causal_mask(tgt.size(1), device=device))


def rest(model, source, target):
    """Run the reference from its embeddings on."""
    return model.decoder(target, model.encoder(source, masks[0]), masks[1], masks[0])


for norm_position in ("pre", "post"):
    sizes = {"d_model": 12, "num_heads": 3, "d_ff": 20, "num_layers": 2}
    model = Transformer(11, 13, **sizes, norm_position=norm_position).to(device)
    config = TransformerConfig(
        src_vocab_size=11, tgt_vocab_size=13, d_model=12, num_heads=3, d_ff=20, dropout=0.0,
        num_encoder_layers=2, num_decoder_layers=2, norm_position=norm_position,
        tied="output" if is_tied(model) else "none",
    )  # fmt: skip
    reference = Reference(config).to(device)
    state, own = reference.state_dict(), model.state_dict()
    extra = {name: torch.zeros_like(own[name]) for name in own if name.endswith("projection.bias")}
    state |= {name: extra[name] for name in extra if name not in state}
    model.load_state_dict(state, strict=False)
    real, place, project = tgt != 0, reference.src_positions, reference.output_projection
    source, target = reference.src_embedding(src), reference.tgt_embedding(tgt)
    plain = (source / 12**0.5, target / 12**0.5)
    mistakes = {
        "the source has no positions": project(rest(reference, source, place(target))),
        "the target has no positions": project(rest(reference, place(source), target)),
        "the embeddings are not scaled: scaled=True": (
            project(rest(reference, place(plain[0]), place(plain[1])))
        ),
        "the embeddings are scaled twice; scaled=True does it": (
            project(rest(reference, place(source * 12**0.5), place(target * 12**0.5)))
        ),
        "positions are scaled with the embeddings; scale first, then add": (
            project(rest(reference, place(plain[0]) * 12**0.5, place(plain[1]) * 12**0.5))
        ),
        "these are probabilities; return the logits": reference(src, tgt).softmax(-1),
        "these are log-probabilities; return the logits": reference(src, tgt).log_softmax(-1),
    }
    assert_close(
        checked(model(src, tgt), (*tgt.shape, 13), what="the logits")[real],
        reference(src, tgt)[real],
        what=f"the logits with {norm_position}",
        hint="embedding and positions, then the layers with their masks, then the projection",
        mistakes={words: wrong[real] for words, wrong in mistakes.items()},
    )
    assert_gradients_like(reference, model, {"src": src, "tgt": tgt})
    evaluated = checked(model.eval()(src, tgt), (*tgt.shape, 13), what="the logits in evaluation")
    hint = "eval() changes nothing here: logits come out, not probabilities, and the masks stay"
    what = f"the logits with {norm_position}, in evaluation"
    assert_close(evaluated[real], reference(src, tgt)[real], what=what, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: what training needs
#
# ### A loss that asks for a little less than certainty
#
# The cross-entropy wants the right token to have probability 1, and no logit is ever large enough
# for that. With *label smoothing* it wants $1 - s$ for the right token, and $s$ spread evenly over
# **all** tokens, the right one among them. With $V$ tokens, log-probabilities $\log p_v$ and the
# right token $y$:
#
# $$L = -(1 - s) \log p_y \;-\; \frac{s}{V} \sum_v \log p_v$$
#
# See [Label smoothing](book:training#label-smoothing). Padding is no target: where a target equals
# `ignore_index` it costs nothing, and a mean is taken over what is left: NaN if nothing is. The
# caller's `targets` stay as they are. `torch.log_softmax` and `gather` are what you need; the rule
# of part 1 names what you must not.

# %% solution="label_smoothed_cross_entropy" of="course_lib.training.losses" forbids="torch.nn.functional.cross_entropy torch.nn.functional.linear_cross_entropy torch.nn.CrossEntropyLoss torch.nn.LinearCrossEntropyLoss torch.nn.AdaptiveLogSoftmaxWithLoss"

# %% test="label_smoothed_cross_entropy-values" points=1 read="training#label-smoothing"
# The right token is asked for by all but a share, which is spread over all tokens
logits = torch.tensor([[0.0, math.log(3.0)]]).to(device)  # probabilities 1/4 and 3/4
targets = torch.tensor([1]).to(device)
right, wrong = math.log(4 / 3), math.log(4.0)
assert_close(
    label_smoothed_cross_entropy(logits, targets, smoothing=0.2),
    torch.tensor(0.9 * right + 0.1 * wrong).to(device),  # 0.8 + 0.1 for the right one, 0.1
    what="the loss",
    hint="(1 - smoothing) times the usual loss, and smoothing times the mean over all tokens",
    mistakes={
        "nothing is smoothed": torch.tensor(right).to(device),
        "the share is spread over the wrong tokens alone; the right one gets its part too": (
            torch.tensor(0.8 * right + 0.2 * wrong).to(device)
        ),
        "the sign of the second part: both are costs": (
            torch.tensor(0.8 * right - 0.1 * (right + wrong)).to(device)
        ),
        "the sum over all tokens is to be divided by their number, V": (
            torch.tensor(0.8 * right + 0.2 * (right + wrong)).to(device)
        ),
        "the logits are taken for log-probabilities": (
            torch.tensor(-0.9 * math.log(3.0)).to(device)
        ),
        "these are probabilities; take log_softmax in place of softmax": (
            torch.tensor(-0.9 * 3 / 4 - 0.1 * 1 / 4).to(device)
        ),
        "a softmax comes before log_softmax, which takes the logits as they are": (
            torch.tensor(math.log(1 + math.exp(1 / 2)) - 0.9 * 1 / 2).to(device)
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.training.losses import label_smoothed_cross_entropy as reference_loss

whole = (2 * torch.randn(12, 7)).to(device)
targets = torch.randint(7, (12,)).to(device)
targets[0] = 0  # a token like any other
for smoothing, logits in ((0.0, whole.double()), (0.3, whole)):
    logs = logits.log_softmax(-1)
    picked = logs.gather(-1, targets[..., None])[..., 0]
    others = (logs.sum(-1) - picked) / 6
    assert_close(
        label_smoothed_cross_entropy(logits, targets, smoothing=smoothing),
        reference_loss(logits, targets, smoothing=smoothing),
        what=f"the loss with smoothing={smoothing:g}",
        hint="(1 - smoothing) times the usual loss, and smoothing times the mean over all tokens",
        mistakes={
            "nothing is smoothed": -picked.mean(),
            "the share is spread over the wrong tokens alone; the right one gets its part too": (
                -((1 - smoothing) * picked + smoothing * others).mean()
            ),
            "the two shares are exchanged": (
                -(smoothing * picked + (1 - smoothing) * logs.mean(-1)).mean()
            ),
            "the sign of the second part: both are costs": (
                -((1 - smoothing) * picked - smoothing * logs.mean(-1)).mean()
            ),
            "the sum over all tokens is to be divided by their number, V, and not by V - 1": (
                -((1 - smoothing) * picked + smoothing / 6 * logs.sum(-1)).mean()
            ),
            "the sum over all tokens is to be divided by their number, V": (
                -((1 - smoothing) * picked + smoothing * logs.sum(-1)).mean()
            ),
            "the right token still gets all of 1": -(picked + smoothing * logs.mean(-1)).mean(),
            "the softmax runs over the targets; it belongs over the vocabulary": (
                reference_loss(logits.log_softmax(0), targets, smoothing=smoothing)
            ),
            "the sign: it is a cost": (
                ((1 - smoothing) * picked + smoothing * logs.mean(-1)).mean()
            ),
            "a softmax comes before log_softmax, which takes the logits as they are": (
                reference_loss(logits.softmax(-1), targets, smoothing=smoothing)
            ),
        },
    )
leaf = logits.clone().requires_grad_()
loss = checked(label_smoothed_cross_entropy(leaf, targets, smoothing=0.3), (), what="the loss")
if not loss.requires_grad:
    raise CheckFailure(
        "no gradient flows from the loss back to the logits",
        hint="do not detach, and stay with tensors: .detach(), .data, .item() and no_grad cut it",
    )
loss.backward()
expected = logits.clone().requires_grad_()
reference_loss(expected, targets, smoothing=0.3).backward()
assert_close(leaf.grad, expected.grad, what="the gradient of the logits", hint="do not detach")
far = torch.tensor([[200.0, -200.0]]).to(device)
loss = label_smoothed_cross_entropy(far, torch.tensor([1]).to(device), smoothing=0.0)
assert_shape(loss, (), what="the loss of a single target")
exactly = "log_softmax, not the log of softmax, whatever is added to it, or the least it may be"
if not bool(loss.isfinite()):
    raise CheckFailure("large logits give infinity", hint=exactly)
right = torch.tensor(400.0).to(device)  # the distance of the two: the other has all of 1
assert_close(loss, right, what="the loss of a target that is far from likely", hint=exactly)
default = label_smoothed_cross_entropy(logits, targets)
expected, hint = reference_loss(logits, targets), "what is not given is as in the signature"
assert_close(default, expected, what="the loss without smoothing given", hint=hint)
### END HIDDEN TESTS

# %% test="label_smoothed_cross_entropy-padding" points=1 read="training#label-smoothing"
# What is ignored costs nothing, and does not count in the mean
logits = torch.randn(6, 5).to(device)
targets = torch.tensor([1, 2, 4, 3, 0, 0]).to(device)
as_they_were = "no targets[...] = and no method that ends in _: masked_fill and torch.where copy"
call = label_smoothed_cross_entropy
assert_keeps_inputs(call, logits, targets, ignore_index=3, hint=as_they_were)
only_real = label_smoothed_cross_entropy(logits[targets != 0], targets[targets != 0])
only_real = checked(only_real, (), what="the loss", hint="without a reduction given, the mean")
logs = logits.log_softmax(-1)
assert_close(
    label_smoothed_cross_entropy(logits, targets, ignore_index=0),
    only_real,
    what="the loss of a batch with padding",
    hint="divide by the number of targets that count",
    mistakes={
        "padding leaks into the loss": label_smoothed_cross_entropy(logits, targets),
        "what is ignored costs 0: its losses are in the sum": (
            label_smoothed_cross_entropy(logits, targets) * 6 / 4
        ),
        "the mean counts padding: divide by the number of targets that count": only_real * 4 / 6,
        "smoothing takes each target's own mean over all tokens: mean(dim=-1)": (
            only_real + 0.1 * (logs[targets != 0].mean() - logs.mean())
        ),
    },
)
### BEGIN HIDDEN TESTS
# Whether the right thing is smoothed is the business of the other check.
whole = torch.randn(18, 7).to(device)
goal = torch.randint(7, (18,)).to(device)
real = torch.rand(18).to(device) < 0.6
real[0], real[1] = True, False
for ignored in (-100, 3):
    goal = torch.where(goal == 3, 4, goal)
    targets = torch.where(real, goal, ignored)
    expected = label_smoothed_cross_entropy(whole[real], goal[real], smoothing=0.2)
    expected = checked(expected, (), what="the loss", hint="without a reduction given, the mean")
    count = int(real.sum())
    wrong = label_smoothed_cross_entropy(
        whole, torch.where(real, goal, max(ignored, 0)), smoothing=0.2
    )
    wrong = checked(wrong, (), what="the loss")
    assert_close(
        label_smoothed_cross_entropy(whole, targets, smoothing=0.2, ignore_index=ignored),
        expected,
        what=f"the loss with ignore_index={ignored}",
        hint="a target that is ignored need not be a token id: put another there before gather",
        mistakes={
            "padding leaks into the loss": wrong,
            "the mean counts padding: divide by the number of targets that count": (
                expected * count / 18
            ),
        },
    )
every = torch.zeros(2, dtype=torch.int64).to(device)
loss = label_smoothed_cross_entropy(whole[:2], every, ignore_index=0)
assert_shape(loss, (), what="the loss where all is ignored")
if not bool(loss.isnan()):
    hint = "the docstring promises NaN: a mean over nothing is 0 / 0"
    raise CheckFailure("the loss where all is ignored is no NaN", hint=hint)
goal[0] = 0
targets = goal[:6]
alone = checked(
    label_smoothed_cross_entropy(whole[:6], targets, smoothing=0.2), (), what="the loss of six"
)
none_ignored = label_smoothed_cross_entropy(whole[:6], targets, smoothing=0.2, ignore_index=None)
assert_close(
    none_ignored, alone, what="the loss with ignore_index=None", hint="None ignores nothing"
)
by_hand = [label_smoothed_cross_entropy(whole[[i]], targets[[i]], smoothing=0.2) for i in range(6)]
by_hand = torch.stack([checked(each, (), what="the loss of one target") for each in by_hand])
if bool((by_hand == by_hand[0]).all()):
    hint = "each target has its own loss: what log_softmax says of it"
    raise CheckFailure("all targets cost the same", hint=hint)
hint = "None ignores nothing: 0 is a token like any other"
assert_close(alone, by_hand.mean(), what="the loss with nothing ignored", hint=hint)
left = torch.tensor([[1, 3, 2], [3, 4, 3]]).to(device)
assert_keeps_inputs(call, torch.randn(2, 3, 5).to(device), left, ignore_index=3, hint=as_they_were)
### END HIDDEN TESTS

# %% test="label_smoothed_cross_entropy-reduction" points=1 read="training#label-smoothing"
# There is a mean, a sum, or one loss a target, and what does not fit is refused
logits, targets = torch.randn(2, 3, 5).to(device), torch.randint(1, 5, (2, 3)).to(device)
one_each = 'reduction="none" gives one loss for each target'
each = label_smoothed_cross_entropy(logits, targets, reduction="none")
each = checked(each, (2, 3), what="the losses without a reduction", hint=one_each)
flat = label_smoothed_cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
flat = checked(flat, (6,), what="the losses, all targets in a row", hint=one_each)
last = "the softmax runs over the vocabulary, which is the last dimension: dim=-1"
assert_close(each.flatten(), flat, what="the losses of two sentences", hint=last)
mean = label_smoothed_cross_entropy(logits, targets)
mean = checked(mean, (), what="the mean of two sentences", hint="one number for all targets")
assert_close(mean, each.mean(), what="the mean", hint="without padding, that of all targets")
total = label_smoothed_cross_entropy(logits, targets, reduction="sum")
assert_close(
    total,
    each.sum(),
    what="the sum of the losses",
    hint="a sum is divided by nothing",
    mistakes={'this is the mean; reduction="sum" asks for the sum': each.mean()},
)
call = label_smoothed_cross_entropy
hint = "there is no such reduction: raise ValueError"
assert_raises(ValueError, call, logits, targets, reduction="avg", hint=hint)
hint = "targets have the shape of logits without its last dimension: else raise ValueError"
assert_raises(ValueError, call, logits, targets[:, :2], hint=hint)
hint = "logits of no dimension have no vocabulary: raise ValueError"
assert_raises(ValueError, call, torch.tensor(1.0), torch.tensor(0), hint=hint)
no_class = (
    "a target that is no class: the docstring promises IndexError; gather's own is a RuntimeError"
)
if device == "cpu":  # on a GPU an index out of range ends the process
    assert_raises(IndexError, call, logits, torch.full_like(targets, 5), hint=no_class)
### BEGIN HIDDEN TESTS
from contextlib import suppress

logits, targets = torch.randn(3, 4, 7).to(device), torch.randint(1, 7, (3, 4)).to(device)
targets[1, 2:] = 0
each = label_smoothed_cross_entropy(logits, targets, ignore_index=0, reduction="none")
each = checked(each, (3, 4), what="the losses without a reduction", hint=one_each)
nothing, counted = torch.zeros(2).to(device), targets != 0
with_padding = label_smoothed_cross_entropy(logits, targets, ignore_index=0)
without = label_smoothed_cross_entropy(logits[counted], targets[counted])
if torch.allclose(with_padding, without):
    assert_close(each[1, 2:], nothing, what="the losses of padding", hint="what is ignored costs 0")
else:
    forgive("padding is no part of the mean", "label_smoothed_cross_entropy-padding")
total = label_smoothed_cross_entropy(logits, targets, ignore_index=0, reduction="sum")
assert_close(total, each.sum(), what="the sum of the losses", hint="a sum is divided by nothing")
flat = label_smoothed_cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
hint = "there may be any number of dimensions before the vocabulary"
mean = label_smoothed_cross_entropy(logits, targets)
checked(mean, (), what="the mean of three sentences", hint="one number for all targets")
whole = label_smoothed_cross_entropy(logits, targets, reduction="none")
whole = checked(whole, (3, 4), what="the losses without a reduction", hint=one_each)
if bool((whole == whole[0, 0]).all()):
    own = "each target has its own loss: what log_softmax says of it"
    raise CheckFailure("all targets cost the same", hint=own)
flat = checked(flat, (12,), what="the losses, one row of targets", hint=hint)
assert_close(flat.view(3, 4), whole, what="the losses, one row of targets", hint=hint)
of_one_token = label_smoothed_cross_entropy(logits[:, :1], targets[:, :1], reduction="none")
only_its_own = "take away the dimension that gather leaves, and no other of size 1: squeeze(-1)"
checked(of_one_token, (3, 1), what="the losses of sentences of one token", hint=only_its_own)
own = label_smoothed_cross_entropy(logits[0, 0], targets[0, 0], reduction="none")
if not torch.allclose(checked(own, (), what="the loss of one target"), whole[0, 0], atol=1e-5):
    others = "smoothing takes its mean over other targets too"
    forgive(others, "label_smoothed_cross_entropy-padding")
single, *rest = (
    label_smoothed_cross_entropy(*pair, smoothing=0.0, reduction="none")
    for pair in ((logits[0, 0], targets[0, 0]), (logits, targets))
)
rest = checked(*rest, (3, 4), what="the losses without a reduction", hint=one_each)
assert_close(single, rest[0, 0], what="the loss of a single target", hint=hint)
hint = "targets have the shape of logits without its last dimension: else raise ValueError"
assert_raises(ValueError, call, logits, targets[:, :2], hint=hint)
assert_raises(ValueError, call, logits, targets.mT, hint=hint)
hint = "logits of no dimension have no vocabulary: raise ValueError"
assert_raises(ValueError, call, torch.tensor(1.0), torch.tensor(0), hint=hint)
hint = "check the share and the reduction yourself: raise ValueError"
for smoothing in (1.0, -0.1):
    assert_raises(ValueError, call, logits, targets, smoothing=smoothing, hint=hint)
assert_raises(ValueError, call, logits, targets, reduction="", hint=hint)
if device == "cpu":
    for index, ignored in ((7, None), (-1, None), (7, 0), (-1, 0)):
        one_is_none = targets.clone()
        one_is_none[2, 1] = index
        assert_raises(IndexError, call, logits, one_is_none, ignore_index=ignored, hint=no_class)
    one_is_none[2, 1] = -100
    hint = "None ignores nothing, and nothing given is None: -100 is no class, so raise IndexError"
    for given in ({}, {"ignore_index": None}):
        with suppress(IndexError):  # nll_loss, which finds all others, lets this one cost its share
            cost = call(logits, one_is_none, reduction="none", **given)[2, 1]
            if not bool(checked(cost, (), what="the loss of what is no class")):
                raise CheckFailure("a target of -100 is ignored, which nobody asked for", hint=hint)


def assert_flows(reduction):
    """Check that gradients flow back from the losses, reduced in this way."""
    cut = f'reduction="{reduction}": .detach(), .data, .item() and no_grad cut the gradient'
    costs = partial(call, targets=targets, ignore_index=0, reduction=reduction)
    assert_gradients(lambda given: costs(given).sum(), {"logits": logits.double()}, hint=cut)


try:
    assert_flows("mean")
except CheckFailure as failure:
    forgive(failure.summary, "label_smoothed_cross_entropy-values")
else:
    assert_flows("sum")
    assert_flows("none")
### END HIDDEN TESTS

# %% [markdown]
# ### Warm up, then slow down
#
# A Transformer's first steps are its most dangerous ones: nothing in it is of the right size yet.
# So the learning rate rises evenly to its peak, and from there falls with the root of the steps.
# See [Adam, and the first steps](book:training#warm-up) for the reason and
# [The schedule, derived](book:training#the-schedule) for the formula. The docstring gives it away;
# mind that `step` counts the updates already *done*, so that the first is update number 1.

# %% solution="inverse_sqrt" of="course_lib.training.schedules"


# %% test="inverse_sqrt-rise" points=1 read="training#the-schedule"
# The rate rises evenly, from the first update on, to its peak
def share(step, warmup_steps=4):
    """Give your share, a number. A division by 0 at step 0 comes of the wrong count of updates."""
    try:
        return checked_number(inverse_sqrt(step, warmup_steps=warmup_steps), what="a share")
    except ZeroDivisionError:
        by_one = "step counts what is done: the first update is number 1"
        raise CheckFailure(f"step {step} leads to a division by 0", hint=by_one) from None


rates = [share(step) for step in range(4)]
assert_equal(
    rates,
    [0.25, 0.5, 0.75, 1.0],
    what="the shares of the first four updates",
    hint="equal steps up to the peak, which is 1: update n is n / 4 of the way, here",
    mistakes={
        "step counts what is done: the first update is number 1": [0.0, 0.25, 0.5, 0.75],
        "update number is step + 1 at every step, not at the first alone": [0.25, 0.25, 0.5, 0.75],
        "this falls where it should rise: take the smaller of the two": [
            (4 / update) ** 0.5 for update in (1, 2, 3, 4)
        ],
        "step counts what is done: the first update is number 1, not 2": [
            0.5,
            0.75,
            1.0,
            (4 / 5) ** 0.5,
        ],
        "it stands at its peak from the start; it rises to it": [1.0, 1.0, 1.0, 1.0],
        "the peak is 1: the paper's formula, without its scale": [0.125, 0.25, 0.375, 0.5],
        "// leaves whole numbers; divide with /": [0.0, 0.0, 0.0, 1.0],
        "the rise is even; the root is for the fall alone": [0.5, 0.5**0.5, 0.75**0.5, 1.0],
        "the peak is update warmup_steps, not the one after it": [0.2, 0.4, 0.6, 0.8],
        "it falls from 1, its peak: the root of warmup_steps / update": [0.25, 0.5, 0.75, 0.5],
    },
)
### BEGIN HIDDEN TESTS
for warmup in (1, int(torch.randint(5, 12, ()))):
    expected = [(step + 1) / warmup for step in range(warmup)]
    assert_equal(
        [
            checked_number(inverse_sqrt(s, warmup_steps=warmup), what="a share")
            for s in range(warmup)
        ],
        expected,
        what=f"the shares up to the peak, for warmup_steps={warmup}",
        hint="update / warmup_steps, with update = step + 1",
        mistakes={
            "step counts what is done: the first update is number 1": (
                [step / warmup for step in range(warmup)]
            ),
            "the peak is 1: the paper's formula, without its scale": (
                [(step + 1) * warmup**-1.5 for step in range(warmup)]
            ),
        },
    )
hint = "step is at least 0, warmup_steps at least 1: raise ValueError for anything else"
assert_raises(ValueError, inverse_sqrt, -1, warmup_steps=4, hint=hint)
assert_raises(ValueError, inverse_sqrt, 3, warmup_steps=0, hint=hint)
### END HIDDEN TESTS


# %% test="inverse_sqrt-fall" points=1 read="training#the-schedule"
# After the peak the rate falls with the root of the updates
def shares(steps, warmup_steps):
    """Give your shares, and those expected: what is wrong before the peak too is paid for there.

    That is a tensor for a plain number, a peak that is not 1, and updates counted from 0 or 2.
    """
    peak, *own = (
        as_number(inverse_sqrt(step, warmup_steps=warmup_steps), what="a share").double()
        for step in (warmup_steps - 1, *steps)
    )
    rates = torch.stack(own)
    counts = (1,) if torch.isclose(peak, torch.ones_like(peak)) else (1, 0, 2)
    curves = [
        torch.tensor([(warmup_steps / (step + first)) ** 0.5 for step in steps]).double()
        for first in counts
    ]
    alike = [
        scaled.tolist()
        for curve in curves
        for scaled in ((curve, peak * curve) if 0.01 < peak < math.inf else (curve,))
        if torch.allclose(rates, scaled)
    ]
    if alike and alike[0] != curves[0].tolist():
        forgive("the peak is not 1, or not at update warmup_steps", "inverse_sqrt-rise")
    return rates.tolist(), (alike or [curves[0].tolist()])[0]


rates, expected = shares((15, 35, 63), warmup_steps=4)
assert_equal(
    rates,
    expected,  # if all is right 1/2, 1/3, 1/4: these are 4, 9 and 16 times the warm-up
    rel_tol=1e-5,
    what="the shares of updates 16, 36 and 64",
    hint="it falls with the root of the updates: four times as many, half the share",
    mistakes={
        "step counts what is done: the first update is number 1, not 2": (
            [(4 / (step + 2)) ** 0.5 for step in (15, 35, 63)]
        ),
        "the root is upside down: after the peak the share is below 1": [2.0, 3.0, 4.0],
        "the peak is 1: the paper's formula, without its scale": [1 / 4, 1 / 6, 1 / 8],
        "the root of the updates since the peak; count all of them": (
            [(step + 1 - 4) ** -0.5 for step in (15, 35, 63)]
        ),
        "it goes on rising: take the smaller of the two": [4.0, 9.0, 16.0],
        "it stays at its peak": [1.0, 1.0, 1.0],
        "// leaves whole numbers; divide with /": [0.0, 0.0, 0.0],
        "it falls with the updates; with their root": [1 / 4, 1 / 9, 1 / 16],
        "step counts what is done: the first update is number 1": (
            [(4 / step) ** 0.5 for step in (15, 35, 63)]
        ),
    },
)
### BEGIN HIDDEN TESTS
warmup = int(torch.randint(3, 12, ()))
steps = [warmup, 2 * warmup, 10 * warmup + 1]
rates, expected = shares(steps, warmup_steps=warmup)
assert_equal(
    rates,
    expected,
    rel_tol=1e-5,
    what=f"the shares after the peak, for warmup_steps={warmup}",
    hint="sqrt(warmup_steps / update), with update = step + 1",
    mistakes={
        "step counts what is done: this update is number step + 1": (
            [(warmup / step) ** 0.5 for step in steps]
        ),
        "the root of the updates since the peak; count all of them": (
            [(step + 1 - warmup) ** -0.5 for step in steps]
        ),
        "the peak is 1: the paper's formula, without its scale": (
            [(step + 1) ** -0.5 for step in steps]
        ),
        "it falls with the updates; with their root": [warmup / (step + 1) for step in steps],
        "it stays at its peak": [1.0] * 3,
    },
)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 5: it learns
#
# ### One step
#
# The decoder is trained with the true target in front of it. `tgt` begins with a start symbol: the
# model *reads* all but the last token, and at each it is to say the *next*, so it is scored against
# all but the first. See [Teacher forcing](book:training#teacher-forcing-in-parallel) in the chapter
# on training. Then the five beats of every training loop: forget the old gradients, compute the
# loss, send it back, clip, step.
#
# To clip is to scale all gradients down *together*, if the Euclidean norm of all of them is larger
# than allowed; `nn.utils.clip_grad_norm_` does it. When must it be done to have any effect?


# %% solution="training_step"
def training_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    src: Tensor,
    tgt: Tensor,
    *,
    pad_id: int = 0,
    smoothing: float = 0.1,
    clip_norm: float = 1.0,
) -> float:
    """Update a model's parameters once, to make these targets more probable.

    Whether the model trains or evaluates is left to the caller, and so are ``train()`` and
    ``eval()``.

    Args:
        model: Called as ``model(src, tgt)``, gives logits of what follows each target token.
        optimizer: Of the model's parameters.
        src: ``(batch, src_len)``, source token ids, padded with ``pad_id``; left as they are.
        tgt: ``(batch, 1 + tgt_len)``, target token ids: the start, the tokens with the end behind
            them, padding; left as they are.
        pad_id: Targets that are padding do not count.
        smoothing: Of the labels.
        clip_norm: Gradients whose Euclidean norm, over all parameters, is larger are scaled down
            to it.

    Returns:
        The loss before the update, in nats a token.
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    loss = label_smoothed_cross_entropy(
        model(src, tgt[:, :-1]), tgt[:, 1:], smoothing=smoothing, ignore_index=pad_id
    )
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %% [markdown]
# The tests of the step bring models of their own: the recurrent translator of homework 1 will do.
# And in place of an optimizer comes a notary, who writes down which gradients there were when it
# was asked to step.


# %% setup="notary"
def make_notary(model):
    """Make an optimizer that steps nowhere and writes down what it sees."""
    return call_beside(RecordingOptimizer, model)


def small_translator(beside):
    """Make a recurrent translator with nine tokens on each side."""
    encoder = call_beside(RecurrentEncoder, 9, 4, 5, beside=beside)
    decoder = call_beside(RecurrentDecoder, 9, 4, 5, 10, beside=beside)
    return call_beside(Seq2Seq, encoder, decoder, beside=beside).to(device)


# %% test="training_step-loss" points=1 read="training#teacher-forcing-in-parallel"
# The model reads all but the last token and is scored against all but the first
model = small_translator(beside=training_step)
sharper = {name: 4 * tensor for name, tensor in model.state_dict().items()}
model.load_state_dict(sharper)  # so that the losses of different mistakes differ, too
src, tgt = torch.randint(1, 9, (3, 4)).to(device), torch.randint(1, 9, (3, 6)).to(device)
loss = checked_number(
    training_step(model, make_notary(model), src, tgt, smoothing=0.0), what="the loss"
)
assert_close(
    torch.tensor(loss),
    F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten()).detach().cpu(),
    what="the loss",
    hint="the model reads tgt[:, :-1], the loss compares with tgt[:, 1:]",
    mistakes={
        "the targets are not shifted: compare with tgt[:, 1:], what comes next": (
            F.cross_entropy(model(src, tgt).flatten(0, 1), tgt.flatten()).detach().cpu()
        ),
        "compared with what the model has just read; compare with tgt[:, 1:]": (
            F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, :-1].flatten())
            .detach()
            .cpu()
        ),
        "the model reads what it is to say: it reads tgt[:, :-1]": (
            F.cross_entropy(model(src, tgt[:, 1:]).flatten(0, 1), tgt[:, 1:].flatten())
            .detach()
            .cpu()
        ),
        "shifted the wrong way round": (
            F.cross_entropy(model(src, tgt[:, 1:]).flatten(0, 1), tgt[:, :-1].flatten())
            .detach()
            .cpu()
        ),
        "every token that is said counts, not the last alone": (
            F.cross_entropy(model(src, tgt[:, :-1])[:, -1], tgt[:, -1]).detach().cpu()
        ),
        "this is the perplexity; the loss itself is asked for": (
            F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
            .detach()
            .exp()
            .cpu()
        ),
        "the losses are summed; take their mean": (
            15
            * F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
            .detach()
            .cpu()
        ),
        "smoothing is not handed on": (
            F.cross_entropy(
                model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten(), label_smoothing=0.1
            )
            .detach()
            .cpu()
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.training.losses import label_smoothed_cross_entropy as reference_loss

model = small_translator(beside=training_step)
model.load_state_dict({name: 4 * tensor for name, tensor in model.state_dict().items()})
src, tgt = torch.randint(1, 9, (3, 4)).to(device), torch.randint(1, 9, (3, 7)).to(device)
for padding in (0, 4):  # at first there is none
    tgt[1, 7 - padding :] = 0
    logits, ahead = model(src, tgt[:, :-1]).detach().cpu(), model(src, tgt[:, 1:]).detach().cpu()
    unshifted, read, said = model(src, tgt).detach().cpu(), tgt[:, :-1].cpu(), tgt[:, 1:].cpu()
    smoothing = 0.0 if padding else 0.2
    expected = reference_loss(logits, said, smoothing=smoothing, ignore_index=0)
    loss = training_step(model, make_notary(model), src, tgt, smoothing=smoothing)
    loss = checked_number(loss, what="the loss")
    assert_close(
        torch.tensor(loss),
        expected,
        what="the loss of a batch with padding" if padding else "the loss",
        hint="the model reads tgt[:, :-1], the loss compares with tgt[:, 1:]; smoothing and pad_id "
        "go to the loss",
        mistakes={
            "padding leaks into the loss: ignore_index=pad_id": (
                reference_loss(logits, said, smoothing=smoothing)
            ),
            "the targets are not shifted: compare with tgt[:, 1:], what comes next": (
                reference_loss(unshifted, tgt.cpu(), smoothing=smoothing, ignore_index=0)
            ),
            "compared with what the model has just read; compare with tgt[:, 1:]": (
                reference_loss(logits, read, smoothing=smoothing, ignore_index=0)
            ),
            "the model reads what it is to say: it reads tgt[:, :-1]": (
                reference_loss(ahead, said, smoothing=smoothing, ignore_index=0)
            ),
            "shifted the wrong way round": (
                reference_loss(ahead, read, smoothing=smoothing, ignore_index=0)
            ),
            "smoothing is not handed on": reference_loss(logits, said, ignore_index=0),
            "smoothing is not used": reference_loss(logits, said, smoothing=0.0, ignore_index=0),
            "the losses are summed; take their mean": (
                reference_loss(logits, said, smoothing=smoothing, ignore_index=0, reduction="sum")
            ),
        },
    )
tgt[tgt == 5] = 6  # behind the tokens alone there is padding
tgt[0, -2:] = 5
loss = training_step(model, make_notary(model), src, tgt, pad_id=5, smoothing=0.0)
loss = checked_number(loss, what="the loss with pad_id=5")
logits = model(src, tgt[:, :-1]).detach().cpu()
expected = reference_loss(logits, tgt[:, 1:].cpu(), smoothing=0.0, ignore_index=5)
assert_close(
    torch.tensor(loss),
    expected,
    what="the loss with pad_id=5",
    hint="padding is not always 0: hand pad_id on as ignore_index",
)
default = checked_number(training_step(model, make_notary(model), src, tgt), what="the loss")
expected = reference_loss(logits, tgt[:, 1:].cpu(), smoothing=0.1, ignore_index=0)
hint = "what is not given is as in the signature"
assert_close(torch.tensor(default), expected, what="the loss without settings", hint=hint)
learner = call_beside(build_optimizer, model, learning_rate=0.1)  # one that does update
loss = checked_number(training_step(model, learner, src, tgt), what="the loss")
what, hint = "the loss before the update", "take it before step()"
assert_close(torch.tensor(loss), expected, what=what, hint=hint)
### END HIDDEN TESTS

# %% test="training_step-update" points=1 read="training#a-training-step"
# Old gradients are forgotten, new ones computed, and the optimizer steps once
model = small_translator(beside=training_step)
src, tgt = torch.randint(1, 9, (3, 4)).to(device), torch.randint(1, 9, (3, 6)).to(device)
first, second = make_notary(model), make_notary(model)
training_step(model, first, src, tgt, clip_norm=1e6)
training_step(model, second, src, tgt, clip_norm=1e6)
hint = "optimizer.step(), once"
assert_equal((first.steps, second.steps), (1, 1), what="steps of the optimizer", hint=hint)
assert_close(
    torch.tensor(second.norm),
    torch.tensor(first.norm),
    what="the size of the same batch's gradients, a second time",
    hint="zero_grad() first: gradients add up",
)
### BEGIN HIDDEN TESTS
from course_lib.training.losses import label_smoothed_cross_entropy as reference_loss

model = small_translator(beside=training_step)
src, tgt = torch.randint(1, 9, (3, 4)).to(device), torch.randint(1, 9, (3, 6)).to(device)
tgt[1, 4:] = 0
(100 * model(src, tgt[:, :-1]).sum()).backward()  # gradients of something else are lying about
notary = make_notary(model)
told = training_step(model, notary, src, tgt, smoothing=0.2, clip_norm=1e6)
assert_equal(notary.steps, 1, what="steps of the optimizer", hint=hint)
if any(gradient is None for gradient in notary.gradients.values()):
    hint = "zero_grad(), then backward(), then step()"
    raise CheckFailure("when the optimizer steps there is no gradient", hint=hint)
actual, length = notary.gradients, checked_number(notary.norm, what="the size of the gradients")
model.zero_grad()
loss = reference_loss(model(src, tgt[:, :-1]), tgt[:, 1:], smoothing=0.2, ignore_index=0)
loss.backward()
told = told.item() if isinstance(told, Tensor) and told.numel() == 1 else told
if isinstance(told, float) and not math.isclose(told, loss.item(), rel_tol=2e-5):
    model.zero_grad()  # gradients of another loss, whole and new, will do
    actual = {}
    forgive("the loss is another one", "training_step-loss")
expected = {name: parameter.grad for name, parameter in model.named_parameters() if actual}
size = math.sqrt(sum(float(gradient.square().sum()) for gradient in expected.values()))
for name in sorted(expected):  # how long the whole is, is the business of clipping
    found = checked(actual.get(name), expected[name].shape, what=f"the gradient of {name}")
    if not torch.allclose(found / length, expected[name] / size, rtol=1e-3, atol=1e-5):
        added = "gradients add up: zero_grad() before backward(), in each step"
        other = "backward() on the loss itself, before step()"
        raise CheckFailure(
            f"when the optimizer steps, the gradient of {name} is not the loss's",
            hint=added if length > 3 * size else other,
        )
if expected and not math.isclose(length, size, rel_tol=1e-3):
    if not any(math.isclose(length, limit, rel_tol=1e-2) for limit in (1.0, 1e6)):
        summary = "when the optimizer steps, the gradients are longer or shorter than the loss's"
        raise CheckFailure(summary, hint="backward() on the loss itself, the one that is returned")
    forgive("gradients have a length that is given, whatever it is", "training_step-clipping")
dropping = small_translator(beside=training_step)
dropout = call_beside(nn.Dropout, 0.5, beside=training_step)
last = call_beside(nn.Sequential, dropout, dropping.decoder.output)
dropping.decoder.register_module("output", last)
hint = "leave train() and eval() to the caller"
for is_training in (True, False):
    dropping.train(is_training)
    both = [make_notary(dropping) for _ in range(2)]
    for notary in both:
        training_step(dropping, notary, src, tgt, clip_norm=1e6)
    what = "whether the model is training, afterwards"
    assert_equal(dropping.training, is_training, what=what, hint=hint)
    first, second = (notary.gradients for notary in both)
    alike = [torch.allclose(first[n], second[n], rtol=1e-3, atol=1e-5) for n in first]
    what = "whether the model drops anything in the step"
    assert_equal(not all(alike), is_training, what=what, hint=hint)
assert_keeps_inputs(training_step, model, make_notary(model), src, tgt, hint="no tgt[...] =")
# What a notary has been told may be made up; how far parameters move is seen here.
before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
learner = call_beside(build_optimizer, model, learning_rate=0.1)  # its first step is of this length
training_step(model, learner, src, tgt)
after = model.state_dict()
moved = max(float((after[name] - before[name]).abs().max()) for name in before)
if not 0.05 < moved < 0.15:
    raise CheckFailure(
        "with a real optimizer the parameters do not change as by one step of it",
        hint="optimizer.step(), once",
    )
### END HIDDEN TESTS

# %% test="training_step-clipping" points=1 read="training#a-training-step"
# Gradients that are too large are scaled down together, before the optimizer steps
model = small_translator(beside=training_step)
src, tgt = torch.randint(1, 9, (3, 4)).to(device), torch.randint(1, 9, (3, 6)).to(device)
notary = make_notary(model)


def size_of_step(notary, **settings):
    """Take a step; give the norm of the gradients that the optimizer found."""
    model.zero_grad()  # old gradients are another test's business
    before = notary.steps
    training_step(model, notary, src, tgt, **settings)
    if notary.steps == before:
        notary.step()
        forgive("the optimizer does not step", "training_step-update")
    return checked_number(notary.norm, what="the size of the gradients")


size = size_of_step(notary, clip_norm=0.01)
if size > 0.0101:
    entries = [each.abs().max() for each in notary.gradients.values() if each is not None]
    raise CheckFailure(
        "when the optimizer steps, gradients are larger than clip_norm",
        hint="clip after backward() and before step(), and hand clip_norm on"
        if max(entries) > 0.0101
        else "the norm is that of all gradients together, not of each",
    )
### BEGIN HIDDEN TESTS
model = small_translator(beside=training_step)
src, tgt = torch.randint(1, 9, (3, 4)).to(device), torch.randint(1, 9, (3, 6)).to(device)
free, clipped, default = make_notary(model), make_notary(model), make_notary(model)
whole = size_of_step(free, clip_norm=1e6)
if whole == 0:
    hint = "zero_grad(), then backward(), then step()"
    raise CheckFailure("there is no gradient with which the optimizer steps", hint=hint)
limit = whole / 7
size = size_of_step(clipped, clip_norm=limit)
if size > 1.01 * limit:
    late = abs(size / whole - 1) < 0.01
    raise CheckFailure(
        "when the optimizer steps, gradients are larger than clip_norm",
        hint="clipped too late, too early or not at all: after backward(), before step()"
        if late
        else "the norm is taken over all parameters together, not for each",
    )
if size < 0.97 * limit:
    raise CheckFailure(
        "clipped gradients are smaller than clip_norm",
        hint="clip the Euclidean norm of all gradients together",
    )
for name, parameter in model.state_dict().items():
    before, after = (
        checked(notary.gradients.get(name), parameter.shape, what=f"the gradient of {name}")
        for notary in (free, clipped)
    )
    if not torch.allclose(after * 7, before, rtol=2e-2, atol=1e-4):
        raise CheckFailure(
            "clipping changes the direction of the gradient",
            hint="one factor for all: clip_grad_norm_(model.parameters(), clip_norm)",
        )
if abs(size_of_step(clipped, clip_norm=3 * whole) / whole - 1) > 0.01:
    raise CheckFailure(
        "gradients that are small enough are changed", hint="only what is larger is scaled down"
    )
scaled = {name: 5 * tensor for name, tensor in model.state_dict().items()}
model.load_state_dict(scaled)
whole, size = size_of_step(free, clip_norm=1e6), size_of_step(default)
if size > 1.01 or (whole > 1 and size < 0.97):
    raise CheckFailure("another clip_norm than 1 where none is given", hint="it is 1.0 by default")
# Again, what a notary has been told may be made up. AdamW moves by its learning rate, whatever the
# length of the gradients, but for those as short as its eps.
before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
learner = call_beside(build_optimizer, model, learning_rate=0.1)
training_step(model, learner, src, tgt, clip_norm=1e-12)
after = model.state_dict()
if max(float((after[name] - before[name]).abs().max()) for name in before) > 0.01:
    raise CheckFailure(
        "with a real optimizer, gradients are larger than clip_norm",
        hint="clip after backward() and before step(), and hand clip_norm on",
    )
### END HIDDEN TESTS

# %% [markdown]
# ### A toy translation
#
# Now everything together. The next cell is a small world, in English and in French. Frogs are
# feminine and wolves masculine, *small* goes before its noun and *green* behind it, and whatever
# belongs to a noun agrees with it. `draw_batch` draws sentences as token ids, `translate` lets a
# model write, always its most probable word.
#
# Grading draws a fresh model of yours, trains it with *your* `training_step` at the pace of *your*
# `inverse_sqrt` on 300 batches of 32 sentences, and then has it translate 200 new ones. **At least
# 90% must be right, every word of them.** A right model gets 99%. It takes about five
# seconds; should yours take over 30, it is stopped. (Chance decides how a training begins, and one
# in a hundred begins badly: such a one gets a second try.)
#
# This comes last for a reason: it trains only what has passed. If one of the parts is not right
# yet, the test says which, and asks you to mend that first. A single mistake in the step itself, if
# the step runs all the same, has cost its point above: then grading trains nothing, and these
# points are yours.

# %% setup="toy-language"
NOUNS = {  # English: French, gender
    "cat": ("chat", 0), "dog": ("chien", 0), "fox": ("renard", 0), "wolf": ("loup", 0),
    "mouse": ("souris", 1), "frog": ("grenouille", 1), "cow": ("vache", 1), "hen": ("poule", 1),
}  # fmt: skip
BEFORE = {"small": ("petit", "petite"), "big": ("grand", "grande")}
BEHIND = {
    "green": ("vert", "verte"), "grey": ("gris", "grise"), "white": ("blanc", "blanche"),
    "black": ("noir", "noire"),
}  # fmt: skip
ARTICLES = {"the": ("le", "la"), "a": ("un", "une")}
VERBS = {"see": "voit", "like": "aime", "chase": "chasse", "bite": "mord"}
PAD, START, END = 0, 1, 2
ENGLISH = ["<pad>", "<start>", "<end>", *ARTICLES, *BEFORE, *BEHIND, *NOUNS, *VERBS]
ENGLISH += [f"{verb}s" for verb in VERBS] + ["does", "not"]
FRENCH = ["<pad>", "<start>", "<end>", *VERBS.values(), *(noun for noun, _ in NOUNS.values())]
FRENCH += [form for forms in (ARTICLES | BEFORE | BEHIND).values() for form in forms]
FRENCH += ["ne", "pas"]


def draw_noun_phrase(dice):
    """Draw something like "the green cat": its words in both languages."""
    article, noun = dice.choice(list(ARTICLES)), dice.choice(list(NOUNS))
    french, gender = NOUNS[noun]
    english, french = [article, noun], [ARTICLES[article][gender], french]
    adjective = dice.choice([None, None, None, *BEFORE, *BEHIND])
    if (adjective, noun) == ("green", "frog"):  # never seen in training
        adjective = None
    if adjective:
        english.insert(1, adjective)
        forms = (BEFORE | BEHIND)[adjective]
        french.insert(1 if adjective in BEFORE else 2, forms[gender])
    return english, french


def draw_sentence(dice):
    """Draw a sentence and its translation, as words."""
    (who, qui), (whom, quoi) = draw_noun_phrase(dice), draw_noun_phrase(dice)
    verb = dice.choice(list(VERBS))
    if dice.random() < 0.3:
        return [*who, "does", "not", verb, *whom], [*qui, "ne", VERBS[verb], "pas", *quoi]
    return [*who, f"{verb}s", *whom], [*qui, VERBS[verb], *quoi]


def token_ids(sentences, vocabulary, start=()):
    """Turn sentences into token ids, with the end behind each and padding behind that."""
    rows = [[*start, *map(vocabulary.index, words), END] for words in sentences]
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows]).to(device)


def draw_batch(size):
    """Draw sentences and their translations, as token ids."""
    dice = random.Random(int(torch.randint(2**31, ())))
    english, french = zip(*[draw_sentence(dice) for _ in range(size)], strict=True)
    return token_ids(english, ENGLISH), token_ids(french, FRENCH, start=[START])


@torch.no_grad()
def translate(model, src, longest=12):
    """Let a model write translations, one token at a time; behind the end comes padding."""
    tgt = torch.full((len(src), 1), START).to(device)
    done = torch.zeros(len(src), dtype=torch.bool).to(device)
    while tgt.size(1) < longest and not bool(done.all()):
        logits = checked(model(src, tgt), (*tgt.shape, len(FRENCH)), what="the logits")
        best = logits[:, -1].argmax(-1).masked_fill(done, PAD)
        tgt = torch.cat((tgt, best[:, None]), dim=1)
        done |= best == END
    return tgt


def share_right(model, src, tgt):
    """Return the share of sentences that are translated without a mistake."""
    written = F.pad(translate(model, src), (0, 12))[:, : tgt.size(1)]
    return (written == tgt).all(dim=1).float().mean().item()


# %% test="training_step-learns" points=2 read="training#training-a-translator"
# Everything together: the model learns to translate
sizes = {"d_model": 32, "num_heads": 2, "d_ff": 64, "num_layers": 1}
model = Transformer(len(ENGLISH), len(FRENCH), **sizes).to(device)
optimizer = call_beside(build_optimizer, model, learning_rate=0.01)  # AdamW
src, tgt = draw_batch(8)


def number(result):
    """Give the number that a result is, or holds, or NaN."""
    if type(result) is torch.Tensor and result.dim() == 0:
        result = result.item()
    return result if isinstance(result, int | float) else math.nan


all_of_the_step = ("training_step-loss", "training_step-update", "training_step-clipping")


start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
losses = [number(training_step(model, optimizer, src, tgt)) for _ in range(20)]
is_moved = any(not torch.equal(tensor, start[name]) for name, tensor in model.state_dict().items())
notary = make_notary(model)
training_step(model, notary, src, tgt)
if not (is_moved and notary.norm > 0):
    forgive("the optimizer does not step, or has no gradients", *all_of_the_step)
elif losses[-1] > losses[0] - 1:
    raise CheckFailure("eight sentences are not learnt by heart in twenty steps")
### BEGIN HIDDEN TESTS
from course_lib.training.losses import label_smoothed_cross_entropy as reference_loss
from course_lib.training.schedules import inverse_sqrt as reference_schedule
from course_lib.models.transformer import Transformer as Reference
from course_lib.models.transformer import TransformerConfig

STEPS, BATCH, MARK = 300, 32, 0.9


def mend_first(part):
    """Refuse to train what is not right yet."""
    raise CheckFailure(
        f"nothing was trained: {part} is not right yet", hint=f"mend {part} first; see its tests"
    )


model = Transformer(len(ENGLISH), len(FRENCH), **sizes).to(device)
weight = checked(model.src_embedding.weight, (len(ENGLISH), 32), what="the weight of src_embedding")
if not 0.1 < weight.std().item() < 0.3:
    mend_first("Transformer")
config = TransformerConfig(
    src_vocab_size=len(ENGLISH), tgt_vocab_size=len(FRENCH), d_model=32, num_heads=2, d_ff=64,
    num_encoder_layers=1, num_decoder_layers=1, norm_position="pre", dropout=0.0,
    tied="output" if is_tied(model) else "none",
)  # fmt: skip
reference = Reference(config).to(device)
model.load_state_dict(reference.state_dict(), strict=False)
src, tgt = draw_batch(16)
said = tgt[:, 1:]
expected = reference(src, tgt[:, :-1])
actual = checked(model(src, tgt[:, :-1]), expected.shape, what="the logits")
if not torch.allclose(actual[said != PAD], expected[said != PAD], rtol=1e-3, atol=1e-4):
    mend_first("Transformer, or a layer in it,")
for step in (0, 7, 30, 99):
    share = number(inverse_sqrt(step, warmup_steps=30))
    if not abs(share - reference_schedule(step, warmup_steps=30)) < 1e-6:
        mend_first("inverse_sqrt")
clipped, once, again = (make_notary(model) for _ in range(3))
reported = number(training_step(model, clipped, src, tgt))
for notary in (once, again):  # not clipped: gradients that were kept can't hide
    training_step(model, notary, src, tgt, clip_norm=1e6)
loss = reference_loss(expected, said, smoothing=0.1, ignore_index=PAD)
tells_loss = abs(reported - loss.item()) < 1e-4
if not tells_loss:
    own = label_smoothed_cross_entropy(expected, said, smoothing=0.1, ignore_index=PAD)
    if not torch.allclose(checked(own, (), what="the loss"), loss):
        mend_first("label_smoothed_cross_entropy")
updates = (clipped.steps, once.steps, again.steps) == (1, 1, 1) and 0 < clipped.norm < 1.01
updates = updates and is_moved and math.isclose(once.norm, again.norm, rel_tol=1e-3)
if not (tells_loss or updates):
    mend_first("training_step")


def train_anew():
    """Return the share of new sentences that a new model gets right after its training."""
    model = Transformer(len(ENGLISH), len(FRENCH), **sizes).to(device)
    model.train()
    optimizer = call_beside(build_optimizer, model, learning_rate=0.01)
    pace = call_beside(
        torch.optim.lr_scheduler.LambdaLR,
        optimizer,
        lambda step: inverse_sqrt(step, warmup_steps=30),
    )
    for _ in range(STEPS):
        training_step(model, optimizer, *draw_batch(BATCH))
        pace.step()
    model.eval()
    return share_right(model, *draw_batch(200))


# All that a step with one mistake would train is right: that will do.
share = train_anew() if tells_loss and updates else 1.0
if not tells_loss:
    forgive("the loss is not what training_step returns", *all_of_the_step)
if not updates:
    forgive("the optimizer does not step once, with new gradients, clipped", *all_of_the_step)
if share < MARK:  # one training in a hundred begins so badly that it needs longer: another try
    share = train_anew()
if share < MARK:
    raise CheckFailure(
        f"after {STEPS} steps {share:.0%} of new sentences are right, the mark is {MARK:.0%}",
        hint="each part passes, so they do not fit together: what changes from step to step?",
    )
### END HIDDEN TESTS

# %% [markdown]
# ## Part 6: in your own words

# %% [markdown] written="three-attentions" points=3 read="transformer#masks-together"
# ### The mask that was forgotten
#
# Three students each forget one thing, and all else is right. In seven sentences or fewer: what
# does the loss do while each of these models trains, how well does it translate afterwards, and
# why?
#
# 1. Ana's decoder has no causal mask.
# 2. Ben's loss counts padding as if it were a word, and most sentences are short.
# 3. Chloé compares the logits with what the model has just read, not with what comes next.
#
# ### BEGIN SOLUTION
# Ana's loss falls faster and lower than it should, nearly to the least that smoothing allows: at
# each position the next token is among the keys, so the model needs only to copy it. When it
# translates nothing stands there yet, and it writes nonsense; a low training loss is no proof.
# Ben's loss falls as well, and looks better than it is, for "padding follows padding" is easy and
# makes up most of the average; the words themselves get less of the gradient, so they are learnt
# more slowly, though the model may still translate in the end. (What it predicts behind the end
# does no harm.)
# Chloé's loss falls to its least value at once, too: the model has to repeat its input, which it
# sees even with a perfect causal mask, because each position may attend to itself. It translates
# every sentence as "start, start, start".
#
# **Marking guide**, one point each:
#
# 1. *Causal mask*: the loss gets very low **and** translation fails, because what was copied in
#    training is missing later. Half a point for "it cheats" without what happens when translating.
# 2. *Padding*: an average made up of easy targets: the loss looks better than it is, words get a
#    smaller share of the gradient. That translation may still work is welcome, not needed. No point
#    for "the model translates to padding".
# 3. *Shift*: the identity is learnt, the loss gets very low, nothing is translated. Half a point if
#    the reason (each position sees itself) is missing.
#
# Not wrong, and worth a remark: with label smoothing no loss gets to 0; its floor is the entropy of
# the smoothed labels.
# ### END SOLUTION

# %% [markdown]
# ## And now: a green frog
#
# In no sentence that the model learns from is a frog green. (Look at `draw_noun_phrase`.) It has
# met frogs, and green cats. Your model is trained by your step at your pace, for about five
# seconds, and then it meets the sentence from the top of this notebook.
#
# The picture shows where the decoder looks while it writes. What it is about to write stands on the
# left, what it looks at above. Can you see *green frog* cross over to *grenouille verte*, and what
# *ne* and *pas* look at?
#
# Afterwards add a cell of your own and call `show` with other sentences; the words are in
# `ENGLISH`. Does the mouse know its gender?

# %% demo="green-frog"
import matplotlib.pyplot as plt

from course_lib.analysis.recorders import recorded_attention

torch.manual_seed(1)
STEPS = 250
translator = Transformer(
    len(ENGLISH), len(FRENCH), d_model=32, num_heads=2, d_ff=64, num_layers=1
).to(device)
optimizer = torch.optim.Adam(translator.parameters(), betas=(0.9, 0.98), lr=0.01)
pace = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: inverse_sqrt(s, warmup_steps=30))
for step in range(STEPS):
    loss = training_step(translator, optimizer, *draw_batch(32))
    pace.step()
    if step % 50 == 49:
        share = share_right(translator, *draw_batch(100))
        print(
            f"step {step + 1:3d}: loss {loss:.2f} nats a token, {share:.0%} of new sentences right"
        )
translator.eval()


def show(sentence):
    """Translate a sentence, and draw where the decoder looks while it writes."""
    words = sentence.split()
    src = token_ids([words], ENGLISH)
    tgt = translate(translator, src)
    with recorded_attention(translator) as weights, torch.no_grad():
        translator(src, tgt[:, :-1])
    french = [FRENCH[i] for i in tgt[0, 1:]]
    print(f"{sentence}  ->  {' '.join(french[:-1])}")
    looks = weights["decoder.layers.0.cross_attention"][0].mean(dim=0).cpu()  # both heads
    figure, axes = plt.subplots(figsize=(5.5, 4.5))
    image = axes.imshow(looks, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(words) + 1), [*words, "<end>"], rotation=60)
    axes.set_yticks(range(len(french)), french)
    axes.set_xlabel("word that is read")
    axes.set_ylabel("word that is written")
    figure.colorbar(image, label="attention weight", shrink=0.8)
    plt.show()


show("the green frog does not chase a grey wolf")

# %% [markdown]
# ## And then: look inside
#
# The book has a page in which a Transformer runs and lies open, down to a single multiplication:
# [A Transformer to take apart](book:living-transformer). The next cell writes yours to a file,
# `my-model.json`. Open it there, as [Your own in its place](book:living-transformer#living-own)
# says, and watch the model that you wrote.

# %% demo="my-model"
from course_lib.training.export import export_translator

try:
    file = export_translator(
        translator,
        "my-model.json",
        src_words=ENGLISH,
        tgt_words=FRENCH,
        num_heads=2,
        sentences=[
            "the green frog does not chase a grey wolf",
            "a small mouse sees the big cat",
            "the white hen bites the black fox",
        ],
    )
    print(f"written: {file}, {file.stat().st_size / 1000:.0f} kB")
except (NameError, NotImplementedError):
    print("Nothing is written yet: your layers first, then the cell above, which trains the model.")
except ValueError as error:
    print(f"Nothing is written: {error}")
