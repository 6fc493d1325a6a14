# %% [markdown]
# # Homework 5: The Transformer
#
# Here is a sentence that the model of this homework will never see while it learns:
#
# ```
# the green frog does not chase a grey wolf
# ```
#
# Nor any other green frog. Nobody tells it that a French adjective mostly comes *after* its noun and
# must agree with it, or that *not* takes two words, one on each side of the verb. It is built of the
# blocks that you have written, reads eight thousand sentences in about five seconds, and then says
# *la grenouille verte ne chasse pas un loup gris*, and shows you which words it looked at.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `EncoderLayer` and `Encoder`: a reader | 3 |
# | 2 | `DecoderLayer`: a writer that looks at the source | 2 |
# | 3 | `translation_masks` and `Transformer`: the whole model | 5 |
# | 4 | `label_smoothed_cross_entropy`, `inverse_sqrt`: loss and learning rate | 5 |
# | 5 | `training_step`, and a model that translates | 5 |
# | 6 | a question, answered in words | 3 |
#
# **Time:** about three hours, after [The Transformer](book:transformer) and [Training a
# Transformer](book:training). [For students](book:for-students) explains grading and handing in.
#
# **The rule of this homework:** an exercise that leads to PyTorch's `nn.TransformerEncoderLayer`,
# `nn.TransformerEncoder`, `nn.TransformerDecoderLayer`, `nn.TransformerDecoder` or `nn.Transformer`
# loses the points of its own tests, and so does a loss that leads to `F.cross_entropy`,
# `F.linear_cross_entropy`, `nn.CrossEntropyLoss`, `nn.LinearCrossEntropyLoss` or
# `nn.AdaptiveLogSoftmaxWithLoss`. Comparing with them in a cell of your own is a good idea.

# %% setup="imports"
import math
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.toy_translation_pairs import ENGLISH, FRENCH, PAD, START, draw_batch
from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.embedding import TokenEmbedding, start_small
from course_lib.layers.feed_forward import Activation, FeedForward
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import SinusoidalPositions
from course_lib.layers.residual import LayerStack, NormPosition, Residual, final_norm
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import NextTokenTable, assert_close, assert_equal, assert_keeps_inputs
from course_lib.testing import assert_raises, call_beside, fix_weights, plain_sgd
from course_lib.validation import check_at_least

prepare_notebook()

# %% [markdown]
# ## Part 1: the encoder
#
# An encoder layer lets the tokens of the source read each other, then each think for itself: an
# attention and a feed-forward layer, each inside a `Residual`. See
# [The encoder](book:transformer#transformer-encoder). A `Residual` takes the sublayer as a function
# of one argument; a `lambda` hands the mask in. Use the docstring's names: tests copy weights.


# %% solution="EncoderLayer" of="course_lib.layers.transformer_layers" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"
class EncoderLayer:
    """Self-attention, then a feed-forward layer, each inside a residual.

    ``self_attention`` is a ``MultiHeadAttention``. ``feed_forward`` is a ``FeedForward``, and gets
    ``activation`` and ``dropout``. ``attention_residual`` and ``feed_forward_residual`` are a
    ``Residual`` around each; they get ``norm_position``, ``dropout``, and a ``LayerNorm`` each, of
    its own, with ``eps``.
    """

    def forward():
        """Map x (batch, src_len, d_model) to the same shape; leave x as it is."""


# %% test="EncoderLayer-values" points=1 read="transformer#transformer-encoder"
# Attention first, then the feed-forward layer, each inside its own residual
layer = fix_weights(EncoderLayer(8, 2, 16)).eval()  # gives it fixed weights
x = torch.arange(24.0).sin().view(1, 3, 8)
y = layer.attention_residual(x, lambda y: layer.self_attention(y, y, y))
expected = layer.feed_forward_residual(y, layer.feed_forward)
assert_close(layer(x), expected, what="output, against your own blocks put together")
assert_keeps_inputs(layer, x)
### BEGIN HIDDEN TESTS
for how in ({}, {"norm_position": "pre"}):
    layer, ours = (kind(12, 3, 20, **how).eval() for kind in (EncoderLayer, reference.EncoderLayer))
    assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
    load_parameters(layer, fix_weights(ours))
    for size in (1.0, 0.01):
        assert_matches(layer, ours, size * torch.randn(2, 5, 12))
    assert_keeps_inputs(layer, torch.randn(2, 5, 12))
layer = fix_weights(EncoderLayer(6, 2, 8).double()).eval()
assert_gradients(layer, torch.randn(2, 3, 6, dtype=torch.float64))
### END HIDDEN TESTS

# %% test="EncoderLayer-settings" points=1 read="transformer#transformer-encoder"
# The mask reaches the attention; dropout and eps reach its residual
layer = fix_weights(EncoderLayer(8, 2, 16)).eval()
x = torch.arange(24.0).sin().view(1, 3, 8)
mask = torch.tensor([True, True, False])[None, None, None]  # hides the last token
changed = x.clone()
changed[:, 2] += 1.0
assert_close(layer(changed, mask)[:, :2], layer(x, mask)[:, :2], what="the first two tokens")
residual = EncoderLayer(8, 2, 16, dropout=0.25, eps=0.5).attention_residual
assert_equal((residual.dropout.p, residual.norm.eps), (0.25, 0.5), what="pair of dropout and eps")
### BEGIN HIDDEN TESTS
how = {"dropout": 0.25, "activation": "gelu", "eps": 0.5}
layer, ours = (kind(12, 3, 20, **how) for kind in (EncoderLayer, reference.EncoderLayer))
load_parameters(layer, fix_weights(ours))
x, mask = torch.randn(2, 5, 12), torch.rand(2, 3, 5, 5) < 0.5
mask[..., 0] = True
layer.eval()
ours.eval()
assert_matches(layer, ours, x, mask)
assert_matches(layer, ours, x)
assert_drops_like(layer, ours, x, mask)
layer = EncoderLayer(12, 3, 20)  # in training, and nothing is dropped
assert_equal(torch.equal(layer(x), layer(x)), True, what="whether two equal calls give the same")
### END HIDDEN TESTS

# %% variants="EncoderLayer"
# fmt: off
right("step by step", '''
class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0, activation="relu",
        eps=1e-5,
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)
        norm_1, norm_2 = LayerNorm(d_model, eps=eps), LayerNorm(d_model, eps=eps)
        self.attention_residual = Residual(norm_1, norm_position=norm_position, dropout=dropout)
        self.feed_forward_residual = Residual(norm_2, norm_position=norm_position, dropout=dropout)
        self.pre = norm_position == "pre"

    def _on_the_road(self, road, x, sublayer):
        if self.pre:
            return x + road.dropout(sublayer(road.norm(x)))
        return road.norm(x + road.dropout(sublayer(x)))

    def forward(self, x, mask=None):
        def attend(y):
            return self.self_attention(query=y, key=y, value=y, mask=mask)

        x = self._on_the_road(self.attention_residual, x, attend)
        x = self._on_the_road(self.feed_forward_residual, x, self.feed_forward)
        return x
''')
right("by PyTorch's functions", '''
def _road(d_model, eps, norm_position, dropout):
    norm = LayerNorm(d_model, eps=eps)
    return Residual(norm, norm_position=norm_position, dropout=dropout)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_position="post", dropout=0.0,
                 activation="relu", eps=1e-5):
        super().__init__()
        parts = {
            "self_attention": MultiHeadAttention(d_model, num_heads),
            "feed_forward": FeedForward(d_model, d_ff, activation=activation, dropout=dropout),
            "attention_residual": _road(d_model, eps, norm_position, dropout),
            "feed_forward_residual": _road(d_model, eps, norm_position, dropout),
        }
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        attend = self.self_attention
        steps = [
            (self.attention_residual, lambda y: attend(y, y, y, mask, return_weights=True)[0]),
            (self.feed_forward_residual, lambda y: self.feed_forward(y)),
        ]
        for road, sublayer in steps:
            x = road(x, sublayer)
        return x
''')
right("a buffer", ("        self.attention_residual = ",
    '        self.register_buffer("one", torch.ones(()))\n        self.attention_residual = '))
ONE = """\
        self.attention_residual = Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )
"""
TWO = ONE.replace("attention", "feed_forward")
ATTEND = "self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask))"
THINK = "return self.feed_forward_residual(x, self.feed_forward)"
CALL = "self.self_attention(y, y, y, mask)"
ROADS = "You do not put each sublayer inside its own residual; "
wrong("no attention", (f"        x = {ATTEND}\n", ""), lost="values settings",
    hint="You leave the attention out; it comes first, inside attention_residual.")
wrong("no feed-forward layer", (THINK, "return x"), lost="values",
    hint="You leave the feed-forward layer out; it comes second, inside feed_forward_residual.")
wrong("the feed-forward layer first",
    (f"        x = {ATTEND}\n", "        x = self.feed_forward_residual(x, self.feed_forward)\n"),
    (THINK, f"return {ATTEND}"), lost="values",
    hint="You run the feed-forward layer first; the attention comes first.")
wrong("residuals swapped", ("x = self.attention_residual(", "x = self.feed_forward_residual("),
    (THINK, "return self.attention_residual(x, self.feed_forward)"), lost="values",
    hint="You have swapped the two residuals; attention_residual goes around the attention.")
wrong("one residual for both", (THINK, "return self.attention_residual(x, self.feed_forward)"),
    lost="values", hint="You use attention_residual twice; feed_forward_residual is the second.")
wrong("no residuals", (f"x = {ATTEND}", "x = self.self_attention(x, x, x, mask)"),
    (THINK, "return self.feed_forward(x)"), lost="values",
    hint=ROADS + "call self.attention_residual(x, ...) and self.feed_forward_residual(x, ...).")
wrong("x added once more", (f"x = {ATTEND}", f"x = x + {ATTEND}"), lost="values",
    hint="You add x once more; the residual has added it.")
for inputs, call in (("queries", "(x, y, y, mask)"), ("keys and values", "(y, x, x, mask)"),
                   ("queries, keys and values", "(x, x, x, mask)")):
    wrong(f"{inputs} are x", ("(y, y, y, mask)", call), lost="values",
        hint=f"You take {inputs} from x; take them from y, which the residual hands to the sublayer.")
IN_PLACE = """\
        y = self.{0}.norm(x) if self.{0}.norm_position == "pre" else x.clone()
        x += self.{0}.dropout(self.self_attention(y, y, y, mask))
        x = x.clone() if self.{0}.norm_position == "pre" else self.{0}.norm(x)
"""
wrong("added to the caller's tensor", (f"        x = {ATTEND}\n", IN_PLACE.format("attention_residual")),
    lost="values", hint="You change the caller's tensor with x += ...; x = x + ... makes a new one.")
wrong("a tuple", (THINK, f"{THINK}, None"), lost="values",
    hint="You return a tuple; return the one tensor.")
wrong("a dimension too many", (THINK, f"{THINK}[None]"), lost="values",
    hint="You return a dimension too many; the output has the shape of x.")
wrong("always post", (ONE + TWO, (ONE + TWO).replace("=norm_position", '="post"')), lost="values",
    hint="You do not hand norm_position on to the residuals; do.")
wrong("one norm for both", (ONE + TWO, "        norm = LayerNorm(d_model, eps=eps)\n"
    + (ONE + TWO).replace("LayerNorm(d_model, eps=eps)", "norm")),
    lost="values", hint="You give both residuals one LayerNorm; make each one anew.")
wrong("another name", ("self.feed_forward = ", "self.thinking = "),
    (THINK, "return self.feed_forward_residual(x, self.thinking)"), lost="values",
    hint="You call a part by another name; call it as the docstring does.")
wrong("another name for the attention", ("self.self_attention = ", "self.attention = "),
    (CALL, "self.attention(y, y, y, mask)"), lost="values",
    hint="You call a part by another name; call it as the docstring does.")
wrong("the attention's output detached", (CALL, f"{CALL}.detach()"), lost="values",
    hint="You cut the gradient; leave detach(), .data and no_grad() out.")
wrong("no mask", ("(y, y, y, mask)", "(y, y, y)"), lost="settings",
    hint="You do not use the mask; hand it on to self_attention.")
wrong("no mask in evaluation", ("(y, y, y, mask)", "(y, y, y, mask if self.training else None)"),
    lost="settings", hint="You use the mask in training only; it holds in evaluation too.")
for one, part in (("sentence", ":1"), ("head", ":, :1"), ("query", ":, :, :1")):
    wrong(f"the mask of the first {one} for all",
        ("(y, y, y, mask)", f"(y, y, y, None if mask is None else mask[{part}])"), lost="settings",
        hint=f"You use the mask of the first {one} for all; hand on all of it.")
wrong("mask inverted", ("(y, y, y, mask)", "(y, y, y, None if mask is None else ~mask)"), lost="settings",
    hint="You invert the mask; hand it on as it is, True means may attend.")
wrong("padding multiplied by zero",
    ("(y, y, y, mask)", "(y, *2 * [y if mask is None else y * mask[:, 0, 0, :y.size(1), None]])"), lost="settings",
    hint="You multiply hidden tokens by zero, and they still get weight; hand the mask to self_attention.")
DROP = "You do not hand dropout on to every block; the residuals and feed_forward get it."
wrong("no dropout in the residuals", (ONE + TWO, (ONE + TWO).replace(", dropout=dropout", "")),
    lost="settings", hint=DROP)
wrong("no dropout in one residual", (TWO, TWO.replace(", dropout=dropout", "")),
    lost="settings", hint=DROP)
wrong("no dropout inside the feed-forward layer",
    ("activation=activation, dropout=dropout)", "activation=activation)"), lost="settings", hint=DROP)
wrong("dropout left at 0.1", ("dropout: float = 0.0", "dropout: float = 0.1"), lost="settings",
    hint="You drop values though nobody asks for it; keep dropout=0.0 in the signature.")
wrong("dropout always 0.1", (ONE + TWO, (ONE + TWO).replace("=dropout", "=0.1")), lost="settings",
    hint="You drop another share than dropout says; hand dropout on.")
MORE = "You drop more than the blocks do by themselves; hand dropout on to them, and no more."
wrong("the attention's output dropped twice",
    (f"lambda y: {CALL}", f"lambda y: self.attention_residual.dropout({CALL})"), lost="settings", hint=MORE)
wrong("the layer's output dropped",
    (THINK, f"{THINK.replace('self', 'F.dropout(self', 1)}, self.feed_forward.dropout.p, self.training)"),
    lost="settings", hint=MORE)
wrong("always relu", ("activation=activation, ", ""), lost="settings",
    hint="You do not hand activation on to feed_forward; do.")
wrong("eps forgotten", (ONE, ONE.replace(", eps=eps", "")), lost="settings",
    hint="You do not hand eps on to each LayerNorm; do.")
wrong("moved to a GPU", (f"x = {ATTEND}", f"x = {ATTEND.replace('(x,', '(x.cuda(),')}"), lost="values",
    hint="You call .cuda(); leave tensors on the device on which they come.")
# fmt: on

# %% [markdown]
# ### A stack of them
#
# The layers share their shape, not their weights: make each one anew, in an `nn.ModuleList`. After
# pre-norm layers one last norm follows; `final_norm` gives it, or the identity.


# %% solution="Encoder" of="course_lib.layers.transformer_layers" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"
class Encoder:
    """A stack of encoder layers, ``layers``, and the result of ``final_norm``, ``norm``."""

    def forward():
        """Map x (batch, src_len, d_model) to the same shape."""


# %% test="Encoder-values" points=1 read="transformer#transformer-encoder"
# One layer follows the other, and a last norm follows pre-norm layers
encoder = fix_weights(Encoder(2, 8, 2, 16, norm_position="pre")).eval()
x = torch.arange(24.0).sin().view(1, 3, 8)
expected = encoder.norm(encoder.layers[1](encoder.layers[0](x)))
assert_close(encoder(x), expected, what="output, against your own layers put together")
### BEGIN HIDDEN TESTS
x, mask = torch.randn(2, 5, 12), torch.rand(2, 3, 5, 5) < 0.5
mask[..., 0] = True
for how in ({}, {"norm_position": "pre"}):
    how |= {"dropout": 0.25, "activation": "gelu", "eps": 0.5}
    encoder, ours = (kind(3, 12, 3, 20, **how).eval() for kind in (Encoder, reference.Encoder))
    assert_parameters(encoder, {name: p.shape for name, p in ours.named_parameters()})
    load_parameters(encoder, fix_weights(ours))
    assert_matches(encoder, ours, x, mask)
    assert_drops_like(encoder, ours, x, mask)
encoder, ours = Encoder(2, 12, 3, 20), reference.Encoder(2, 12, 3, 20)
starts = {encoder.layers[i].self_attention.query_projection.weight.sum().item() for i in (0, 1)}
assert_equal(len(starts), 2, what="number of layers that start with weights of their own")
assert_equal(
    torch.equal(encoder(x), encoder(x)), True, what="whether two equal calls give the same"
)
load_parameters(encoder.eval(), fix_weights(ours.eval()))
assert_matches(encoder, ours, x)  # with relu
encoder = fix_weights(Encoder(2, 6, 2, 8, norm_position="pre").double()).eval()
assert_gradients(encoder, torch.randn(2, 3, 6, dtype=torch.float64))
### END HIDDEN TESTS

# %% variants="Encoder"
# fmt: off
right("step by step", '''
class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0,
        activation="relu", eps=1e-5,
    ):
        super().__init__()
        if num_layers <= 0:
            raise ValueError("no layers")
        settings = dict(norm_position=norm_position, dropout=dropout, activation=activation)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            layer = EncoderLayer(d_model, num_heads, d_ff, eps=eps, **settings)
            self.layers.append(layer)
        self.norm = LayerNorm(d_model, eps=eps) if norm_position == "pre" else nn.Identity()

    def forward(self, x, mask=None):
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask)
        return self.norm(x)
''')
right("by PyTorch's functions", '''
class Encoder(nn.Module):
    def __init__(self, num_layers, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0,
                 activation="relu", eps=1e-5):
        super().__init__()
        if not num_layers >= 1:
            raise ValueError("num_layers")
        layers = [
            EncoderLayer(d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout,
                         activation=activation, eps=eps)
            for _ in range(num_layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.norm = final_norm(LayerNorm(d_model, eps=eps), norm_position)

    def forward(self, x, mask=None):
        import functools
        return self.norm(functools.reduce(lambda y, layer: layer(y, mask), self.layers, x))
''')
right("a LayerStack", """
class Encoder(LayerStack):
    def __init__(self, num_layers, *sizes, norm_position="post", eps=1e-5, **settings):
        settings |= {"norm_position": norm_position, "eps": eps}
        layers = [EncoderLayer(*sizes, **settings) for _ in range(num_layers)]
        super().__init__(layers, final_norm(LayerNorm(sizes[0], eps=eps), norm_position))
""")
STEP = "            x = layer(x, mask)\n"
for name, edits, hint in (
    ("the last norm not used", [("return self.norm(x)", "return x")],
     "You do not use the last norm; return self.norm(x)."),
    ("the last norm after post-norm layers too",
     [("final_norm(LayerNorm(d_model, eps=eps), norm_position)", "LayerNorm(d_model, eps=eps)")],
     "You normalise after post-norm layers too; final_norm knows when a last norm is needed."),
    ("no mask", [("layer(x, mask)", "layer(x)")], "You do not hand the mask on; every layer gets it."),
    ("the mask for the first layer alone", [("x = layer(x, mask)", "x, mask = layer(x, mask), None")],
     "You hand the mask to the first layer only; every layer gets it."),
    ("the mask inverted", [("layer(x, mask)", "layer(x, None if mask is None else ~mask)")],
     "You invert the mask; hand it on as it is."),
    ("the mask of the first sentence for all",
     [("layer(x, mask)", "layer(x, None if mask is None else mask[:1])")],
     "You use the mask of the first sentence for all; hand on all of it."),
    ("the mask of the first head for all",
     [("layer(x, mask)", "layer(x, None if mask is None else mask[:, :1])")],
     "You use the mask of the first head for all; hand on all of it."),
    ("the mask of the first query for all",
     [("layer(x, mask)", "layer(x, None if mask is None else mask[:, :, :1])")],
     "You use the mask of the first query for all; hand on all of it."),
    ("one layer, many times",
     [("            EncoderLayer(\n", "            [EncoderLayer(\n"),
      ("            )\n            for _ in range(num_layers)\n", "            )] * num_layers\n")],
     "You put one layer into the list many times; make each layer anew."),
    ("copies of one layer",
     [("        self.norm = final_norm", "        for layer in self.layers[1:]:\n"
       "            layer.load_state_dict(self.layers[0].state_dict())\n        self.norm = final_norm")],
     "You copy one layer, so all start alike; make each layer anew."),
    ("last layer first", [("in self.layers:", "in reversed(self.layers):")],
     "You run the last layer first; the first comes first."),
    ("each layer reads the input",
     [(STEP, "            y = layer(x, mask)\n"), ("return self.norm(x)", "return self.norm(y)")],
     "You give x to each layer; each reads the output of the layer before it."),
    ("dropout forgotten", [("                dropout=dropout,\n", "")], "You do not hand dropout on to each layer; do."),
    ("dropout left at 0.1", [("dropout: float = 0.0", "dropout: float = 0.1")],
     "You drop values though nobody asks for it; keep dropout=0.0 in the signature."),
    ("activation forgotten", [("                activation=activation,\n", "")],
     "You do not hand activation on to each layer; do."),
    ("gelu where nothing is asked for", [('activation: Activation = "relu"', 'activation: Activation = "gelu"')],
     "You change a default; keep the signature as it is."),
    ("eps forgotten", [("                eps=eps,\n", "")], "You do not hand eps on to each layer; do."),
    ("eps of the last norm forgotten", [("LayerNorm(d_model, eps=eps), norm_position", "LayerNorm(d_model), norm_position")],
     "You do not hand eps on to the last norm; do."),
    ("norm_position forgotten", [("                norm_position=norm_position,\n", "")],
     "You do not hand norm_position on to each layer; do."),
    ("one layer too few", [("range(num_layers)", "range(num_layers - 1)")],
     "You make another number of layers than num_layers; count again."),
    ("a plain list", [("nn.ModuleList(", "list(")],
     "You keep the layers in a plain list, which hides their parameters; use nn.ModuleList."),
    ("the input detached", [("return self.norm(x)", "return self.norm(x.detach())")],
     "You cut the gradient; leave detach(), .data and no_grad() out."),
    ("each layer's output dropped too", [("x = layer(x, mask)",
      "x = F.dropout(layer(x, mask), layer.feed_forward.dropout.p, self.training)")],
     "You drop more than the layers do by themselves; hand dropout on to them, and no more."),
    ("another name", [("self.layers = ", "self.blocks = "), ("in self.layers:", "in self.blocks:")],
     "You call a part by another name; call it as the docstring does."),
):
    wrong(name, *edits, lost="values", hint=hint)
same("check_at_least(1, num_layers", "the homework asks for no error here")
for eps in ("5e-06", "2e-05"):
    same(f"eps: float={eps}", "too little to show after a norm at the end")
# fmt: on

# %% [markdown]
# ## Part 2: the decoder's layer
#
# A decoder layer has one sublayer more, in the middle: the target's tokens ask, the *source's*
# tokens answer. Their answers come from `memory`, the encoder's output; it is not normalised here.
# Two masks come in, `mask` for the target among itself and `memory_mask` for its look at the
# source. Which attention gets which? See [The decoder](book:transformer#transformer-decoder).


# %% solution="DecoderLayer" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"
class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's output, and a feed-forward layer.

    ``self_attention`` and ``cross_attention`` are ``MultiHeadAttention``, ``feed_forward`` is a
    ``FeedForward``. Around them stand ``self_attention_residual``, ``cross_attention_residual`` and
    ``feed_forward_residual``, each with its own ``LayerNorm``. These three and ``feed_forward``
    get ``dropout``."""

    def __init__(self, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0):
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        for name in ("self_attention", "cross_attention", "feed_forward"):
            residual = Residual(LayerNorm(d_model), norm_position=norm_position, dropout=dropout)
            self.add_module(f"{name}_residual", residual)
        ### END SOLUTION

    def forward(self, x, memory, mask=None, memory_mask=None):
        """Map x (batch, tgt_len, d_model) to the same shape; memory is (batch, src_len, d_model)."""
        ### BEGIN SOLUTION
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, y, mask))
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask)
        )
        return self.feed_forward_residual(x, self.feed_forward)
        ### END SOLUTION


# %% test="DecoderLayer-values" points=1 read="transformer#transformer-decoder"
# Self-attention, then a look at the source, then the feed-forward layer
layer = fix_weights(DecoderLayer(8, 2, 16)).eval()
x, memory = torch.arange(16.0).sin().view(1, 2, 8), torch.arange(24.0).cos().view(1, 3, 8)
y = layer.self_attention_residual(x, lambda y: layer.self_attention(y, y, y))
y = layer.cross_attention_residual(y, lambda y: layer.cross_attention(y, memory, memory))
expected = layer.feed_forward_residual(y, layer.feed_forward)
assert_close(layer(x, memory), expected, what="output, against your own blocks put together")
assert_keeps_inputs(layer, x, memory)
### BEGIN HIDDEN TESTS
kinds = DecoderLayer, reference.DecoderLayer
for how in ({}, {"norm_position": "pre"}):
    layer, ours = (kind(12, 3, 20, dropout=0.25, **how).eval() for kind in kinds)
    assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
    load_parameters(layer, fix_weights(ours))
    x, memory = torch.randn(2, 4, 12), torch.randn(2, 6, 12)
    for size in (1.0, 0.01):
        assert_matches(layer, ours, size * x, memory)
    assert_keeps_inputs(layer, x, memory)
    assert_drops_like(layer, ours, x, memory)
layer = DecoderLayer(12, 3, 20)
same = torch.equal(layer(x, memory), layer(x, memory))
assert_equal(same, True, what="whether two equal calls give the same")
layer = fix_weights(DecoderLayer(6, 2, 8).double()).eval()
assert_gradients(layer, *torch.randn(2, 2, 3, 6, dtype=torch.float64))
### END HIDDEN TESTS

# %% test="DecoderLayer-masks" points=1 read="transformer#transformer-decoder"
# One mask is for the target among itself, the other for the look at the source
layer = fix_weights(DecoderLayer(8, 2, 16)).eval()
x, memory = torch.arange(16.0).sin().view(1, 2, 8), torch.arange(24.0).cos().view(1, 3, 8)
first_two = torch.tensor([True, True, False])[None, None, None]  # the source's last token is hidden
changed = memory.clone()
changed[:, 2] += 1.0
after, before = layer(x, changed, None, first_two), layer(x, memory, None, first_two)
assert_close(after, before, what="output after a change of the hidden token")
own = torch.tensor([[True, False], [True, True]])[None, None]  # the first token sees itself alone
assert_close(layer(x, memory, own)[:, :1], layer(x[:, :1], memory), what="its output")
### BEGIN HIDDEN TESTS
layer, ours = (kind(12, 3, 20).eval() for kind in (DecoderLayer, reference.DecoderLayer))
load_parameters(layer, fix_weights(ours))
x, memory = torch.randn(2, 4, 12), torch.randn(2, 4, 12)
own, look = torch.rand(2, 2, 3, 4, 4) < 0.5
own[..., 0] = look[..., 0] = True
for masks in ((own, look), (own, None), (None, look)):
    assert_matches(layer, ours, x, memory, *masks)
### END HIDDEN TESTS

# %% variants="DecoderLayer"
# fmt: off
right("step by step", '''
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0):
        super().__init__()

        def road():
            return Residual(LayerNorm(d_model), norm_position=norm_position, dropout=dropout)

        self.self_attention, self.self_attention_residual = (
            MultiHeadAttention(d_model, num_heads),
            road(),
        )
        self.cross_attention, self.cross_attention_residual = (
            MultiHeadAttention(d_model, num_heads),
            road(),
        )
        self.feed_forward, self.feed_forward_residual = (
            FeedForward(d_model, d_ff, dropout=dropout),
            road(),
        )

    def forward(self, x, memory, mask=None, memory_mask=None):
        def read_own(y):
            return self.self_attention(y, y, y, mask)

        def read_source(y):
            return self.cross_attention(query=y, key=memory, value=memory, mask=memory_mask)

        for road, sublayer in (
            (self.self_attention_residual, read_own),
            (self.cross_attention_residual, read_source),
            (self.feed_forward_residual, self.feed_forward),
        ):
            x = road(x, sublayer)
        return x
''')
right("by PyTorch's functions", '''
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_position="post", dropout=0.0):
        super().__init__()
        self.feed_forward = FeedForward(d_model, d_ff, activation="relu", dropout=dropout)
        for name in ("self_attention", "cross_attention"):
            setattr(self, name, MultiHeadAttention(d_model, num_heads))
        for name in ("self_attention", "cross_attention", "feed_forward"):
            road = Residual(LayerNorm(d_model), norm_position=norm_position, dropout=dropout)
            setattr(self, f"{name}_residual", road)
        self.before = norm_position == "pre"

    def forward(self, x, memory, mask=None, memory_mask=None):
        attend, look, think = self.self_attention, self.cross_attention, self.feed_forward
        one, two, three = (
            self.self_attention_residual, self.cross_attention_residual, self.feed_forward_residual
        )
        if self.before:
            y = one.norm(x)
            x = x + one.dropout(attend(y, y, y, mask))
            x = x + two.dropout(look(two.norm(x), memory, memory, memory_mask))
            return x + three.dropout(think(three.norm(x)))
        x = one.norm(x + one.dropout(attend(x, x, x, mask)))
        x = two.norm(x + two.dropout(look(x, memory, memory, memory_mask)))
        return three.norm(x + three.dropout(think(x)))
''')
right("a second name for each residual", ('            self.add_module(f"{name}_residual", residual)\n',
    '            self.add_module(f"{name}_residual", residual)\n'
    "        self.roads = nn.ModuleList(list(self.children())[3:])\n"))
OWN = "x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, y, mask))"
LOOK = """\
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask)
        )
"""
CALL = "self.cross_attention(y, memory, memory, memory_mask)"
THINK = "return self.feed_forward_residual(x, self.feed_forward)"
ORDER = "You run the sublayers in another order; it is self-attention, cross-attention, feed-forward."
ROADS = "You use a residual for another sublayer than its own; each has one."
BESIDE = "You read x inside a residual; read y, which the residual hands to the sublayer."
SOURCE = "You let the cross-attention read another tensor; queries are y, keys and values the memory."
wrong("no look at the source", (LOOK, ""), lost="values masks",
    hint="You leave the cross-attention out; it comes second.")
wrong("no self-attention", (f"        {OWN}\n", ""), lost="values masks",
    hint="You leave the self-attention out; it comes first.")
for name, edits, hint in (
    ("no feed-forward layer", [(THINK, "return x")], "You leave the feed-forward layer out; it comes last."),
    ("the source first", [(f"        {OWN}\n{LOOK}", f"{LOOK}        {OWN}\n")], ORDER),
    ("the feed-forward layer in the middle",
     [(LOOK, "        x = self.feed_forward_residual(x, self.feed_forward)\n"),
      (THINK, LOOK.strip().replace("x = ", "return ", 1))], ORDER),
    ("the cross-attention reads the target", [(CALL, "self.cross_attention(y, y, y)")], SOURCE),
    ("the source asks", [(CALL, "self.cross_attention(memory, y, y)")], SOURCE),
    ("keys of the target", [(CALL, "self.cross_attention(y, y, memory, memory_mask)")], SOURCE),
    ("values of the target", [(CALL, "self.cross_attention(y, memory, y, memory_mask)")], SOURCE),
    ("the memory not used", [(CALL, f"0 * {CALL} + y")], SOURCE),
    ("queries from before the self-attention",
     [(CALL, CALL.replace("(y,", "(z,")), (f"        {OWN}\n", f"        z = x\n        {OWN}\n")], BESIDE),
    ("the self-attention reads x", [("(y, y, y, mask)", "(x, x, x, mask)")], BESIDE),
    ("the look reads x", [(CALL, CALL.replace("(y,", "(x,"))], BESIDE),
    ("both attentions read x",
     [("(y, y, y, mask)", "(x, x, x, mask)"), (CALL, CALL.replace("(y,", "(x,"))], BESIDE),
    ("self-attention's weights for the source", [(CALL, CALL.replace("cross", "self"))],
     "You use self_attention for the source; cross_attention has weights of its own."),
    ("two residuals swapped",
     [("x = self.self_attention_residual(x", "x = self.cross_attention_residual(x"),
      ("x = self.cross_attention_residual(\n", "x = self.self_attention_residual(\n")], ROADS),
    ("one residual for all",
     [("x = self.cross_attention_residual(\n", "x = self.self_attention_residual(\n"),
      (THINK, "return self.self_attention_residual(x, self.feed_forward)")], ROADS),
    ("the memory normalised",
     [(CALL, "self.cross_attention(y, *[self.cross_attention_residual.norm(memory)] * 2, memory_mask)")],
     "You normalise the memory; the encoder has seen to that."),
    ("added to the caller's tensor", [(f"        {OWN}\n", """\
        road = self.self_attention_residual
        y = road.norm(x) if road.norm_position == "pre" else x.clone()
        x += road.dropout(self.self_attention(y, y, y, mask))
        x = x.clone() if road.norm_position == "pre" else road.norm(x)
""")], "You change the caller's tensor with x += ...; x = x + ... makes a new one."),
    ("one norm for all",
     [('        for name in ("self_attention",',
       '        norm = LayerNorm(d_model)\n        for name in ("self_attention",'),
      ("Residual(LayerNorm(d_model), norm", "Residual(norm, norm")],
     "You give all residuals one LayerNorm; make each one anew."),
    ("no dropout in the residuals", [("norm_position=norm_position, dropout=dropout)", "norm_position=norm_position)")],
     "You do not hand dropout on to every block; the residuals and feed_forward get it."),
    ("no dropout inside the feed-forward layer", [("(d_model, d_ff, dropout=dropout)", "(d_model, d_ff)")],
     "You do not hand dropout on to every block; the residuals and feed_forward get it."),
    ("dropout left at 0.1", [("dropout=0.0)", "dropout=0.1)")], "You drop values though nobody asks for it; keep dropout=0.0 in the signature."),
    ("the layer's output dropped too",
     [(THINK, f"{THINK.replace('self', 'F.dropout(self', 1)}, 0.9, "
       "self.training and self.feed_forward.dropout.p > 0)")],
     "You drop more than the blocks do by themselves; hand dropout on to them, and no more."),
    ("an eps of its own", [("LayerNorm(d_model)", "LayerNorm(d_model, eps=1e-6)")],
     "You change eps; LayerNorm(d_model) has the usual one."),
    ("gelu", [("d_ff, dropout", 'd_ff, activation="gelu", dropout')],
     "You change the activation; FeedForward has the usual one."),
    ("always post", [("norm_position=norm_position, ", 'norm_position="post", ')],
     "You do not hand norm_position on to the residuals; do."),
    ("the memory detached", [("y, memory, memory, memory_mask", "y, memory.detach(), memory.detach(), memory_mask")],
     "You cut the gradient; leave detach(), .data and no_grad() out."),
    ("another name", [("self.cross_attention = ", "self.source_attention = "),
      (CALL, CALL.replace("cross", "source"))], "You call a part by another name; call it as the docstring does."),
    ("a tuple", [(THINK, f"{THINK}, memory")], "You return a tuple; return the one tensor."),
):
    wrong(name, *edits, lost="values", hint=hint)
for name, edits, hint in (
    ("no mask in the self-attention", [("(y, y, y, mask)", "(y, y, y)")],
     "You do not hand mask on; it belongs to self_attention."),
    ("no mask in evaluation", [("(y, y, y, mask)", "(y, y, y, mask if self.training else None)")],
     "You use a mask in training only; it holds in evaluation too."),
    ("the masks exchanged", [("(y, y, y, mask)", "(y, y, y, memory_mask)"), (CALL, CALL.replace("memory_mask", "mask"))],
     "You exchange the masks; mask belongs to self_attention, memory_mask to cross_attention."),
    ("no mask for the source", [(CALL, CALL.replace(", memory_mask", ""))],
     "You do not hand memory_mask on; it belongs to cross_attention."),
    ("the target's mask for both", [(CALL, CALL.replace("memory_mask", "mask"))],
     "You give mask to cross_attention too; it gets memory_mask."),
    ("the source's padding multiplied by zero",
     [(CALL, "self.cross_attention(y, *2 * [memory if memory_mask is None else "
       "memory * memory_mask[:, 0, 0, :, None]])")],
     "You multiply hidden tokens by zero, and they still get weight; hand memory_mask to cross_attention."),
):
    wrong(name, *edits, lost="masks", hint=hint)
for mask, before, one, part in (
    ("mask", "y, y, y", "sentence", ":1"), ("mask", "y, y, y", "head", ":, :1"),
    ("memory_mask", "memory, memory", "head", ":, :1"), ("memory_mask", "memory, memory", "query", ":, :, :1"),
):
    wrong(f"the {mask} of the first {one} for all",
        (f"{before}, {mask})", f"{before}, None if {mask} is None else {mask}[{part}])"), lost="masks",
        hint=f"You use the {mask} of the first {one} for all; hand on all of it.")
# fmt: on

# %% [markdown]
# ## Part 3: the whole model
#
# Source and target come as token ids, filled up with `pad_id` to a common length. Two masks follow
# from them: nobody looks at padding, and the target does not look ahead. `padding_mask` and
# `causal_mask` are those of homework 3; they combine with `&`. The encoder and the decoder's look
# at the source need the same mask. See
# [Three attentions, two masks](book:transformer#masks-together).


# %% solution="translation_masks"
def translation_masks(src, tgt, pad_id):
    """Return the masks of source and target; True means may attend.

    ``src`` and ``tgt`` are token ids, ``(batch, src_len)`` and ``(batch, tgt_len)``. The masks are
    ``(batch, 1, 1, src_len)``, no padding, and ``(batch, 1, tgt_len, tgt_len)``, neither padding
    nor later than the query."""
    ### BEGIN SOLUTION
    tgt_len = tgt.size(1)
    look_back = causal_mask(tgt_len, device=tgt.device)  # (1, 1, tgt_len, tgt_len)
    return padding_mask(src, pad_id), padding_mask(tgt, pad_id) & look_back
    ### END SOLUTION


# %% test="translation_masks-source" points=1 read="transformer#masks-together"
# The source's mask hides its padding
src, tgt = torch.tensor([[5, 7, 4], [3, 0, 0]]), torch.tensor([[1, 6, 4, 2], [1, 8, 2, 0]])
src_mask, _ = translation_masks(src, tgt, 0)
expected = torch.tensor([[[[True, True, True]]], [[[True, False, False]]]])
assert_close(src_mask, expected, what="the source's mask")
### BEGIN HIDDEN TESTS
pad_id = int(torch.randint(1, 4, ()))
src, tgt = torch.randint(0, 5, (3, 7)), torch.randint(0, 5, (3, 4))
src[0, 0], src[0, 1] = pad_id, 0  # 0 is a token like any other here
src_mask, _ = translation_masks(src, tgt, pad_id)
assert_close(src_mask, reference.translation_masks(src, tgt, pad_id)[0], what="the source's mask")
### END HIDDEN TESTS

# %% test="translation_masks-target" points=1 read="transformer#masks-together"
# The target's mask hides its padding and later tokens
src, tgt = torch.tensor([[5, 7, 4, 2]]), torch.tensor([[1, 6, 0]])
_, tgt_mask = translation_masks(src, tgt, 0)
rows = [[True, False, False], [True, True, False], [True, True, False]]
assert_close(tgt_mask, torch.tensor([[rows]]), what="the target's mask")
### BEGIN HIDDEN TESTS
for pad_id in (0, int(torch.randint(1, 4, ()))):
    src, tgt = torch.randint(0, 5, (3, 7)), torch.randint(0, 5, (3, 5))
    tgt[0, -1], tgt[0, 0], tgt[1, 0] = pad_id, 0, 4
    _, tgt_mask = translation_masks(src, tgt, pad_id)
    expected = reference.translation_masks(src, tgt, pad_id)[1]
    assert_close(tgt_mask, expected, what="the target's mask")
### END HIDDEN TESTS

# %% variants="translation_masks"
# fmt: off
right("step by step", '''
def translation_masks(src, tgt, pad_id):
    batch, length = tgt.shape
    rows = [
        [
            [[tgt[b, j].item() != pad_id and j <= i for j in range(length)] for i in range(length)]
        ]
        for b in range(batch)
    ]
    source = [[[[token != pad_id for token in row]]] for row in src.tolist()]
    return torch.tensor(source, device=src.device), torch.tensor(rows, device=tgt.device)
''')
right("by PyTorch's functions", '''
def translation_masks(src, tgt, pad_id):
    places = torch.arange(tgt.size(-1), device=tgt.device)
    not_later = places.unsqueeze(0) <= places.unsqueeze(1)
    real = tgt.ne(pad_id).unsqueeze(1).unsqueeze(1)
    return src.ne(pad_id).unsqueeze(1).unsqueeze(1), torch.logical_and(real, not_later)
''')
SOURCE, TARGET = "padding_mask(src, pad_id)", "padding_mask(tgt, pad_id) & look_back"
INVERTED = "You invert a mask; True means may attend."
for name, source, hint in (
    ("the source's mask inverted", f"~{SOURCE}", INVERTED),
    ("the target's padding in the source's mask", "padding_mask(tgt, pad_id)",
     "You make the source's mask from tgt; make it from src."),
    ("two dimensions", "src != pad_id",
     "You leave out dimensions; they are batch, heads (1 for all), queries (1 for all), keys."),
):
    wrong(name, (f"return {SOURCE}", f"return {source}"), lost="source", hint=hint)
wrong("padding is always 0", (SOURCE, "padding_mask(src, 0)"), (TARGET, "padding_mask(tgt, 0) & look_back"),
    lost="source", hint="You take 0 for padding; compare with pad_id.")
wrong("the two masks exchanged", (f"return {SOURCE}, {TARGET}", f"return {TARGET}, {SOURCE}"),
    lost="source", hint="You return the target's mask first; the source's comes first.")
wrong("the source's mask alone", (f", {TARGET}", ""), lost="target",
    hint="You return one mask; return two, the source's and the target's.")
wrong("the target's mask alone", (f"{SOURCE}, ", ""), lost="source",
    hint="You return one mask; return two, the source's and the target's.")
for name, target, hint in (
    ("the target's padding forgotten", "look_back.expand(tgt.size(0), 1, tgt_len, tgt_len)",
     "You do not hide the target's padding; join both masks with &."),
    ("the causal mask forgotten", "padding_mask(tgt, pad_id).expand(-1, -1, tgt_len, -1)",
     "You do not hide later tokens; join both masks with &."),
    ("or for and", "padding_mask(tgt, pad_id) | look_back", "You join the masks with or; both must allow it: &."),
    ("the target's mask inverted", f"~({TARGET})", INVERTED),
    ("the causal mask inverted", "padding_mask(tgt, pad_id) & ~look_back", INVERTED),
    ("the target's padding mask inverted", "~padding_mask(tgt, pad_id) & look_back", INVERTED),
    ("the future for the past", "padding_mask(tgt, pad_id) & look_back.mT",
     "You hide the past; hide later tokens."),
    ("a token may not see itself", "padding_mask(tgt, pad_id) & look_back.tril(-1)",
     "You hide a token from itself; it may attend to itself."),
    ("padding hidden as a query", "padding_mask(tgt, pad_id).mT & look_back",
     "You hide padding as a query; hide it as a key, in the last dimension."),
):
    wrong(name, (TARGET, target), lost="target", hint=hint)
wrong("the causal mask forgotten, and no row for each query", (TARGET, "padding_mask(tgt, pad_id)"),
    lost="target", hint="You do not hide later tokens; join both masks with &.")
wrong("the length of the source", ("tgt_len = tgt.size(1)", "tgt_len = src.size(1)"), lost="target",
    hint="You make the target's mask as long as the source; take the length of tgt.")
same("causal_mask(tgt_len)", "the device shows on a GPU alone; the tests run there too")
# fmt: on

# %% [markdown]
# Now the model. Embeddings are *scaled*, `TokenEmbedding(..., scaled=True)`, and positions are
# added on both sides: see [The input](book:transformer#embeddings-and-positions). Logits come out,
# no probabilities: the loss takes logits. The paper lets `output_projection` share its weight with
# `tgt_embedding`; you may do so. `Decoder`, the next cell, is called like `Encoder`, and its
# `forward` like `DecoderLayer`'s. `start_small(self)`, imported above, draws the first weights so
# that vectors keep about their size from layer to layer; call it last in `__init__`.


# %% setup="decoder-stack"
def Decoder(num_layers, *sizes, norm_position="post", **settings):
    layers = [DecoderLayer(*sizes, norm_position=norm_position, **settings) for _ in range(num_layers)]  # fmt: skip
    return LayerStack(layers, final_norm(LayerNorm(sizes[0]), norm_position))


# %% solution="Transformer" forbids="torch.nn.TransformerEncoderLayer torch.nn.TransformerEncoder torch.nn.TransformerDecoderLayer torch.nn.TransformerDecoder torch.nn.Transformer"
class Transformer(nn.Module):
    """Translate a sequence: encode the source, then predict the token after each target token.

    ``src_embedding`` and ``tgt_embedding`` are ``TokenEmbedding``, scaled; ``encoder`` is an
    ``Encoder``, ``decoder`` a ``Decoder``, ``output_projection`` an ``nn.Linear`` without bias.
    ``dropout`` acts on embeddings with their positions, and inside ``encoder`` and ``decoder``.
    """

    def __init__(
        self, src_vocab_size, tgt_vocab_size, *, d_model, num_heads, d_ff, num_layers,
        norm_position="pre", dropout=0.0, pad_id=0,
    ):  # fmt: skip
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

    def forward(self, src, tgt):
        """Return logits (batch, tgt_len, tgt_vocab_size) of the token after each target token.

        ``src`` and ``tgt`` are token ids, padded with ``pad_id``. Logits at padding mean nothing.
        """
        ### BEGIN SOLUTION
        src_mask, tgt_mask = translation_masks(src, tgt, self.pad_id)
        source = self.dropout(self.positions(self.src_embedding(src)))
        target = self.dropout(self.positions(self.tgt_embedding(tgt)))
        memory = self.encoder(source, src_mask)  # (batch, src_len, d_model)
        return self.output_projection(self.decoder(target, memory, tgt_mask, src_mask))
        ### END SOLUTION


# %% test="Transformer-parameters" points=1 read="transformer#embeddings-and-positions"
# The model starts small, and gives logits for each target token
model = Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=2)
logits = model(torch.tensor([[5, 7, 4, 2]] * 3), torch.tensor([[1, 6, 2]] * 3))
assert_equal(tuple(logits.shape), (3, 3, 13), what="shape of the logits")
spread = model.tgt_embedding.weight.std().item()
assert_equal(spread < 0.7, True, what=f"whether tgt_embedding's std(), {spread:.2f}, is below 0.7")
### BEGIN HIDDEN TESTS
sizes = {"d_model": 32, "num_heads": 4, "d_ff": 24, "num_layers": 2}
for how in ({}, {"norm_position": "post", "num_layers": 1}):
    model, ours = (kind(50, 40, **sizes | how) for kind in (Transformer, reference.Transformer))
    shapes = {name: p.shape for name, p in ours.named_parameters()}
    assert_parameters(model, shapes, may_share=1)  # the output's weight with the embedding's
    for name in ("src_embedding.weight", "tgt_embedding.weight", "output_projection.weight"):
        spread = model.get_parameter(name).std().item() * 32**0.5
        assert_equal(0.8 < spread < 1.2, True, what=f"whether {name} starts small")
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    assert_equal(any(bool(bias.any()) for bias in biases), False, what="whether a bias is not 0")
sizes["num_layers"] = 1
model = Transformer(11, 13, **sizes)
src, tgt = torch.randint(1, 11, (3, 4)), torch.randint(1, 13, (3, 4))
assert_equal(
    torch.equal(model(src, tgt), model(src, tgt)), True, what="whether equal calls are alike"
)
# Where all of the embeddings is dropped, neither a token nor its position is left.
kinds = Transformer, reference.Transformer
model, ours = (kind(11, 13, **sizes, dropout=1.0) for kind in kinds)
fix_weights(ours)
ours.output_projection.weight.data = ours.tgt_embedding.weight.data[:13]
load_parameters(model, ours)
assert_matches(model.eval(), ours.eval(), src, tgt)
for each in (model, ours):
    each.train()
    each.encoder.eval()
    each.decoder.eval()
assert_matches(model, ours, src, tgt)
# A dropped embedding gets no gradient: about half of them where dropout is 0.5.
model = Transformer(41, 41, **sizes | {"d_model": 64}, dropout=0.5)
rates = [
    getattr(model, x).layers[0].feed_forward_residual.dropout.p for x in ("encoder", "decoder")
]
assert_equal(rates, [0.5, 0.5], what="dropout in encoder and decoder")
model.train()
model.encoder.eval()
model.decoder.eval()
each = torch.arange(1, 41).view(2, 20)
model(each, each)[..., 0].sum().backward()
for name in ("src_embedding", "tgt_embedding"):
    gradient = getattr(model, name).weight.grad  # row 0 may be a weight of the output, too
    share = 0.0 if gradient is None else (gradient[1:] == 0).double().mean().item()
    assert_equal(0.4 < share < 0.6, True, what=f"whether half of {name} is dropped")
### END HIDDEN TESTS

# %% test="Transformer-sight" points=1 read="transformer#masks-together"
# No target token sees later ones
model = fix_weights(Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=1)).eval()
src, tgt = torch.tensor([[5, 7, 4, 2]]), torch.tensor([[1, 6, 8, 2]])
changed = torch.tensor([[1, 6, 9, 3]])  # two other tokens at the end
after, before = model(src, changed)[:, :2], model(src, tgt)[:, :2]
assert_close(after, before, what="logits of the first two tokens")
### BEGIN HIDDEN TESTS
sizes = {"d_model": 12, "num_heads": 3, "d_ff": 20, "num_layers": 1}
for pad_id, how in ((3, {"pad_id": 3}), (0, {})):
    model, ours = (kind(11, 13, **sizes, **how) for kind in (Transformer, reference.Transformer))
    fix_weights(ours)
    ours.output_projection.weight.data = ours.tgt_embedding.weight.data
    load_parameters(model, ours)
    src, tgt = torch.randint(4, 11, (3, 6)), torch.randint(4, 13, (3, 5))
    src[1, 4:] = src[2, 2] = tgt[1, 1] = tgt[2, 3:] = pad_id  # each sentence has its own padding
    src[0, 0], tgt[0, 2] = 0, 0  # a token like any other where 3 is the padding
    for rows in (slice(0, 3), slice(1, 2), slice(2, 3)):
        is_real = tgt[rows] != pad_id
        actual, expected = model.eval()(src[rows], tgt[rows]), ours.eval()(src[rows], tgt[rows])
        assert_equal(tuple(actual.shape), tuple(expected.shape), what="shape of the logits")
        assert_close(actual[is_real], expected[is_real], what="logits at real tokens")
### END HIDDEN TESTS

# %% test="Transformer-values" points=1 read="transformer#the-whole-model"
# Scaled embeddings and positions go through encoder and decoder to the logits
model = fix_weights(Transformer(11, 13, d_model=8, num_heads=2, d_ff=16, num_layers=1)).eval()
src, tgt = torch.tensor([[5]]), torch.tensor([[7]])  # a single token needs no mask
scale, add_positions = 8**0.5, SinusoidalPositions(8)
source = add_positions(scale * model.src_embedding.weight[src])
target = add_positions(scale * model.tgt_embedding.weight[tgt])
expected = model.output_projection(model.decoder(target, model.encoder(source)))
assert_close(model(src, tgt), expected, what="logits, against your own parts put together")
### BEGIN HIDDEN TESTS
sizes = {"d_model": 12, "num_heads": 3, "d_ff": 20, "num_layers": 1}
src, tgt = torch.randint(1, 11, (3, 5)), torch.randint(1, 11, (3, 4))
for words, norm_position in ((13, "pre"), (11, "post")):
    model, ours = (
        kind(11, words, **sizes, norm_position=norm_position).eval()
        for kind in (Transformer, reference.Transformer)
    )
    fix_weights(ours)
    ours.output_projection.weight.data = ours.tgt_embedding.weight.data
    load_parameters(model, ours)
    assert_matches(model, ours, src, tgt)
small = Transformer(11, 13, d_model=6, num_heads=2, d_ff=8, num_layers=1).double()
model = fix_weights(small).eval()
assert_gradients(lambda: model(src, tgt), module=model)
### END HIDDEN TESTS

# %% variants="Transformer"
# fmt: off
right("step by step", '''
class Transformer(nn.Module):
    def __init__(
        self, src_vocab_size, tgt_vocab_size, *, d_model, num_heads, d_ff, num_layers,
        norm_position="pre", dropout=0.0, pad_id=0,
    ):
        super().__init__()
        self.src_embedding = TokenEmbedding(src_vocab_size, d_model, scaled=True)
        self.src_positions = SinusoidalPositions(d_model)
        self.src_dropout = nn.Dropout(dropout)
        self.encoder = Encoder(
            num_layers, d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout
        )
        self.tgt_embedding = TokenEmbedding(tgt_vocab_size, d_model, scaled=True)
        self.tgt_positions = SinusoidalPositions(d_model)
        self.tgt_dropout = nn.Dropout(dropout)
        self.decoder = Decoder(
            num_layers, d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout
        )
        self.output_projection = nn.Linear(d_model, tgt_vocab_size, bias=False)
        self.pad = pad_id
        start_small(self)

    def encode(self, src, src_mask):
        return self.encoder(self.src_dropout(self.src_positions(self.src_embedding(src))), src_mask)

    def decode(self, tgt, memory, tgt_mask, src_mask):
        x = self.tgt_dropout(self.tgt_positions(self.tgt_embedding(tgt)))
        return self.output_projection(self.decoder(x, memory, tgt_mask, src_mask))

    def forward(self, src, tgt):
        src_mask, tgt_mask = translation_masks(src, tgt, self.pad)
        return self.decode(tgt, self.encode(src, src_mask), tgt_mask, src_mask)
''')
right("by PyTorch's functions", '''
class Transformer(nn.Module):
    def __init__(self, src_vocab_size: int, tgt_vocab_size: int, *, d_model: int, num_heads: int,
                 d_ff: int, num_layers: int, norm_position: NormPosition = "pre",
                 dropout: float = 0.0, pad_id: int = 0) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model)
        self.src_embedding = TokenEmbedding(src_vocab_size, d_model)
        self.tgt_embedding = TokenEmbedding(tgt_vocab_size, d_model)
        self.place = SinusoidalPositions(d_model)
        self.drop = nn.Dropout(dropout)
        common = {"norm_position": norm_position, "dropout": dropout}
        self.encoder = Encoder(num_layers, d_model, num_heads, d_ff, **common)
        self.decoder = Decoder(num_layers, d_model, num_heads, d_ff, **common)
        self.output_projection = nn.Linear(d_model, tgt_vocab_size, bias=False)
        start_small(self)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src_mask, tgt_mask = translation_masks(src, tgt, self.pad_id)
        x = self.drop(self.place(self.src_embedding(src) * self.scale))
        memory = self.encoder(x, mask=src_mask)
        y = self.drop(self.place(self.tgt_embedding(tgt) * self.scale))
        y = self.decoder(y, memory, mask=tgt_mask, memory_mask=src_mask)
        return self.output_projection(y)
''')
right("a buffer", ("        self.pad_id = pad_id\n", '        self.register_buffer("pad", torch.tensor(pad_id))\n'),
    ("translation_masks(src, tgt, self.pad_id)", "translation_masks(src, tgt, int(self.pad))"))
TIE = "        self.output_projection.weight = self.tgt_embedding.weight\n"
right("the output projection tied to the target's embedding",
    ("        start_small(self)\n", f"        start_small(self)\n{TIE}"))
right("the output projection tied before the weights are drawn",
    ("        start_small(self)\n", f"{TIE}        start_small(self)\n"))
SRC, TGT = "self.positions(self.src_embedding(src))", "self.positions(self.tgt_embedding(tgt))"
DECODE = "self.decoder(target, memory, tgt_mask, src_mask)"
OUT = f"return self.output_projection({DECODE})"
SMALL = "        start_small(self)\n"
for name, edits, hint in (
    ("the projection has a bias", [("tgt_vocab_size, bias=False", "tgt_vocab_size")],
     "You give output_projection a bias; it has none."),
    ("another name for output_projection",
     [("self.output_projection = ", "self.output = "), (OUT, OUT.replace("output_projection", "output"))],
     "You call a part by another name; call it as the docstring does."),
    ("nn.Embedding", [("TokenEmbedding(src_vocab_size, d_model, scaled=True)", "nn.Embedding(src_vocab_size, d_model)"),
      ("TokenEmbedding(tgt_vocab_size, d_model, scaled=True)", "nn.Embedding(tgt_vocab_size, d_model)")],
     "You use nn.Embedding, which is not scaled; take TokenEmbedding(..., scaled=True)."),
    ("no start_small", [(SMALL, "")], "You do not call start_small(self) last in __init__; do."),
    ("start_small before there are layers", [(SMALL, ""), ("        sizes = (num", f"{SMALL}        sizes = (num")],
     "You do not call start_small(self) last in __init__; do."),
    ("start_small before there is a projection",
     [(SMALL, ""), ("        self.output_projection =", f"{SMALL}        self.output_projection =")],
     "You do not call start_small(self) last in __init__; do."),
    ("no dropout in the decoder", [("self.decoder = Decoder(*sizes, norm_position=norm_position, dropout=dropout)",
      "self.decoder = Decoder(*sizes, norm_position=norm_position)")], "You do not hand dropout on to both stacks; do."),
    ("no dropout in the encoder", [("self.encoder = Encoder(*sizes, norm_position=norm_position, dropout=dropout)",
      "self.encoder = Encoder(*sizes, norm_position=norm_position)")], "You do not hand dropout on to both stacks; do."),
    ("dropout left at 0.1", [("dropout=0.0", "dropout=0.1")], "You drop values though nobody asks for it; keep dropout=0.0 in the signature."),
    ("no dropout of the embeddings", [("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Identity()")],
     "You do not drop from the embeddings; dropout acts on both, once positions are added."),
    ("dropout of the source alone", [(f"self.dropout({TGT})", TGT)],
     "You do not drop from the embeddings; dropout acts on both, once positions are added."),
    ("dropout of the target alone", [(f"self.dropout({SRC})", SRC)],
     "You do not drop from the embeddings; dropout acts on both, once positions are added."),
    ("dropout before the positions of the source",
     [(f"self.dropout({SRC})", "self.positions(self.dropout(self.src_embedding(src)))")],
     "You drop before positions are added; do it after."),
    ("dropout before the positions",
     [(f"self.dropout({SRC})", "self.positions(self.dropout(self.src_embedding(src)))"),
      (f"self.dropout({TGT})", "self.positions(self.dropout(self.tgt_embedding(tgt)))")],
     "You drop before positions are added; do it after."),
    ("the source dropped twice", [(SRC, "self.positions(self.dropout(self.src_embedding(src)))")],
     "You drop twice; do it once, after positions are added."),
    ("the target dropped twice", [(TGT, "self.positions(self.dropout(self.tgt_embedding(tgt)))")],
     "You drop twice; do it once, after positions are added."),
    ("the decoder's output dropped too", [(DECODE, f"self.dropout({DECODE})")],
     "You drop the output of a stack; encoder and decoder have their own dropout."),
    ("the memory dropped too", [("self.encoder(source, src_mask)", "self.dropout(self.encoder(source, src_mask))")],
     "You drop the output of a stack; encoder and decoder have their own dropout."),
    ("dropout in evaluation too", [("self.dropout = nn.Dropout(dropout)", "self.dropout = partial(F.dropout, p=dropout)")],
     "You drop in evaluation too; nn.Dropout knows by itself whether the model is training."),
    ("the last token's logits alone", [(OUT, f"{OUT}[:, -1]")],
     "You return the last token's logits alone; return those of every target token."),
    ("always post", [("self.encoder = Encoder(*sizes, norm_position=norm_position,",
      'self.encoder = Encoder(*sizes, norm_position="post",')], "You do not hand norm_position on to both stacks; do."),
    ("always pre", [("self.decoder = Decoder(*sizes, norm_position=norm_position,",
      'self.decoder = Decoder(*sizes, norm_position="pre",')], "You do not hand norm_position on to both stacks; do."),
):
    wrong(name, *edits, lost="parameters", hint=hint)
AHEAD = "You let the decoder look ahead; hand tgt_mask to it."
SEEN = "You let padding be seen; the encoder gets src_mask, the decoder tgt_mask and src_mask."
REST = "You hide padding in some cases only; it is hidden in training, in evaluation, and in a batch of one."
EACH = "You use one sentence's padding for all; hand on the masks of all of them."
MADE = "self.pad_id)\n"
for name, edits, hint in (
    ("the masks exchanged where they are made", [("src_mask, tgt_mask = translation", "tgt_mask, src_mask = translation")],
     "You exchange the masks; translation_masks returns the source's first."),
    ("the masks exchanged in the decoder", [("(target, memory, tgt_mask, src_mask)", "(target, memory, src_mask, tgt_mask)")],
     "You exchange the masks; the decoder takes the target's first."),
    ("no causal mask", [(DECODE, "self.decoder(target, memory, tgt_mask.any(-2, keepdim=True), src_mask)")], AHEAD),
    ("no mask for the target", [(DECODE, "self.decoder(target, memory, None, src_mask)")], AHEAD),
    ("no causal mask in evaluation",
     [(DECODE, "self.decoder(target, memory, tgt_mask if self.training else None, src_mask)")], AHEAD),
    ("no mask for the look at the source", [(DECODE, "self.decoder(target, memory, tgt_mask)")], SEEN),
    ("no mask for the encoder", [("self.encoder(source, src_mask)", "self.encoder(source)")], SEEN),
    ("no padding in the target's mask",
     [(DECODE, "self.decoder(target, memory, causal_mask(tgt.size(1), device=tgt.device), src_mask)")], SEEN),
    ("pad_id not used", [("translation_masks(src, tgt, self.pad_id)", "translation_masks(src, tgt, 0)")],
     "You take 0 for padding; hand pad_id on to translation_masks."),
    ("padding is 1 where nothing is said", [("pad_id=0", "pad_id=1")], "You change a default; keep the signature as it is."),
    ("source padding seen in evaluation",
     [(MADE, f"{MADE}        src_mask = src_mask if self.training else None\n")], REST),
    ("no mask for the encoder in evaluation",
     [("self.encoder(source, src_mask)", "self.encoder(source, src_mask if self.training else None)")], REST),
    ("no mask for the look at the source in evaluation",
     [(DECODE, "self.decoder(target, memory, tgt_mask, src_mask if self.training else None)")], REST),
    ("the causal mask alone in evaluation", [(MADE, f"{MADE}        if not self.training:\n"
      "            tgt_mask = causal_mask(tgt.size(1), device=tgt.device)\n")], REST),
    ("source padding seen in a sentence alone", [(MADE, f"{MADE}        src_mask = src_mask if len(src) > 1 else None\n")], REST),
    ("the causal mask alone for a sentence alone", [(MADE, f"{MADE}        if len(tgt) == 1:\n"
      "            tgt_mask = causal_mask(tgt.size(1), device=tgt.device)\n")], REST),
    ("the first sentence's padding for all sources", [(MADE, f"{MADE}        src_mask = src_mask[:1]\n")], EACH),
    ("the first sentence's padding for all targets",
     [(DECODE, "self.decoder(target, memory, tgt_mask[:1], src_mask)")], EACH),
    ("the first sentence's padding in the look at the source",
     [(DECODE, "self.decoder(target, memory, tgt_mask, src_mask[:1])")], EACH),
    ("the first sentence's padding in the encoder", [("self.encoder(source, src_mask)", "self.encoder(source, src_mask[:1])")], EACH),
    ("the padding of one source hidden in all", [(MADE, f"{MADE}        src_mask = src_mask.all(0, keepdim=True)\n")], EACH),
    ("a batch of one squeezed", [(OUT, f"{OUT}.squeeze(0)")],
     "You squeeze() a batch of one away; each dimension stays."),
):
    wrong(name, *edits, lost="sight", hint=hint)
SCALED = "You do not scale the embeddings; TokenEmbedding(..., scaled=True) does."
PLACE = "You do not add positions on both sides; source and target get them."
for name, edits, hint in (
    ("no positions at the source", [(SRC, "self.src_embedding(src)")], PLACE),
    ("no positions at the target", [(TGT, "self.tgt_embedding(tgt)")], PLACE),
    ("no positions at all", [(SRC, "self.src_embedding(src)"), (TGT, "self.tgt_embedding(tgt)")], PLACE),
    ("embeddings not scaled",
     [("(src_vocab_size, d_model, scaled=True)", "(src_vocab_size, d_model)"),
      ("(tgt_vocab_size, d_model, scaled=True)", "(tgt_vocab_size, d_model)")], SCALED),
    ("source embedding not scaled", [("(src_vocab_size, d_model, scaled=True)", "(src_vocab_size, d_model)")], SCALED),
    ("target embedding not scaled", [("(tgt_vocab_size, d_model, scaled=True)", "(tgt_vocab_size, d_model)")], SCALED),
    ("embeddings scaled twice",
     [(SRC, "self.positions(self.src_embedding(src) * self.src_embedding.scale)"),
      (TGT, "self.positions(self.tgt_embedding(tgt) * self.tgt_embedding.scale)")],
     "You scale the embeddings twice; scaled=True does it."),
    ("positions scaled with the embeddings",
     [(SRC, "self.positions(self.src_embedding(src) / self.src_embedding.scale) * self.src_embedding.scale"),
      (TGT, "self.positions(self.tgt_embedding(tgt) / self.tgt_embedding.scale) * self.tgt_embedding.scale")],
     "You scale the positions too; scale first, then add."),
    ("probabilities", [(OUT, f"{OUT}.softmax(-1)")], "You return probabilities; return the logits."),
    ("log-probabilities", [(OUT, f"{OUT}.log_softmax(-1)")], "You return log-probabilities; return the logits."),
    ("the likeliest tokens", [(OUT, f"{OUT}.argmax(-1)")], "You return token ids; return the logits."),
    ("probabilities in evaluation", [(OUT, f"logits = self.output_projection({DECODE})\n"
      "        return logits if self.training else logits.softmax(-1)")],
     "You return probabilities in evaluation; return the logits always."),
    ("the decoder reads no encoder", [(DECODE, DECODE.replace("memory", "source"))],
     "You give the decoder the source's embeddings; give it the memory, the encoder's output."),
    ("tgt_embedding(src)", [("self.src_embedding(src)", "self.tgt_embedding(src)")],
     "You look the source up in tgt_embedding; each language has an embedding of its own."),
    ("src_embedding(tgt)", [("self.tgt_embedding(tgt)", "self.src_embedding(tgt.clamp(max=10))")],
     "You look the target up in src_embedding; each language has an embedding of its own."),
    ("one embedding where both have as many tokens", [("        self.positions =",
      "        if src_vocab_size == tgt_vocab_size:\n            self.tgt_embedding = self.src_embedding\n"
      "        self.positions =")], "You share one embedding between the languages; each has its own."),
    ("an encoder that learns nothing",
     [("self.encoder(source, src_mask)", "self.encoder(source, src_mask).detach()")],
     "You cut the gradient; leave detach(), .data and no_grad() out."),
    ("always float32", [(OUT, f"{OUT}.float()")], "You cast to float32; keep the dtype."),
    ("moved to a GPU", [("self.src_embedding(src)", "self.src_embedding(src.cuda())")],
     "You call .cuda(); leave tensors on the device on which they come."),
):
    wrong(name, *edits, lost="values", hint=hint)
# fmt: on

# %% [markdown]
# ## Part 4: the loss and the learning rate
#
# The cross-entropy wants probability 1 for the right token, and no logit is ever large enough for
# that. With *label smoothing* it wants $1 - s$ for the right token $y$, and $s$ spread evenly over
# **all** $V$ tokens, the right one among them. With log-probabilities $\log p_v$:
#
# $$L = -(1 - s) \log p_y \;-\; \frac{s}{V} \sum_v \log p_v$$
#
# See [Label smoothing](book:training#label-smoothing). Padding is no target: it costs nothing, and
# the mean is taken over the rest. `torch.log_softmax` and `gather` are all that you need.


# %% solution="label_smoothed_cross_entropy" of="course_lib.training.losses" forbids="torch.nn.functional.cross_entropy torch.nn.functional.linear_cross_entropy torch.nn.CrossEntropyLoss torch.nn.LinearCrossEntropyLoss torch.nn.AdaptiveLogSoftmaxWithLoss"
def label_smoothed_cross_entropy():
    """Return the cross-entropy from the smoothed targets to the prediction, in nats.

    ``logits`` are ``(..., vocab_size)``; ``targets`` are token ids ``(...)``, left as they are.
    Those that equal ``ignore_index`` cost 0 and do not count in the mean; None ignores nothing.
    ``reduction`` is ``mean`` (NaN if nothing counts), ``sum``, or ``none``: one loss a target.
    Any other, or shapes that do not fit, are a ValueError.
    """


# %% test="label_smoothed_cross_entropy-values" points=1 read="training#label-smoothing"
# The right token is asked for by all but a share, which is spread over all tokens
logits = torch.tensor([[0.0, math.log(3.0)]])  # probabilities 1/4 and 3/4
loss = label_smoothed_cross_entropy(logits, torch.tensor([1]), smoothing=0.2)
# The right token is asked for by 0.8 + 0.1, the other one by 0.1.
assert_close(loss, torch.tensor(0.9 * math.log(4 / 3) + 0.1 * math.log(4)), what="loss")
### BEGIN HIDDEN TESTS
cost, ours = label_smoothed_cross_entropy, reference.label_smoothed_cross_entropy
logits, targets = 2 * torch.randn(12, 7), torch.randint(7, (12,))
targets[0] = 0  # a token like any other
for how in ({}, {"smoothing": 0.0}, {"smoothing": 0.3}):
    assert_matches(cost, ours, logits, targets, **how)
    assert_matches(cost, ours, logits.double(), targets, **how)
assert_gradients(lambda given: cost(given, targets, smoothing=0.3), logits.double())
far, unlikely = torch.tensor([[200.0, -200.0]]), torch.tensor([1])  # too far for log(softmax)
assert_matches(cost, ours, far, unlikely, smoothing=0.0)
### END HIDDEN TESTS

# %% test="label_smoothed_cross_entropy-padding" points=1 read="training#label-smoothing"
# Ignored targets cost nothing, and do not count in the mean
targets = torch.tensor([1, 0, 2])
logits = torch.tensor([[0.0, math.log(2.0), 0.0]]).expand(3, 3)  # 1/4, 1/2 and 1/4
loss = label_smoothed_cross_entropy(logits, targets, smoothing=0.0, ignore_index=0)
assert_close(loss, torch.tensor((math.log(2) + math.log(4)) / 2), what="mean loss of 1 and 2")
### BEGIN HIDDEN TESTS
cost, ours = label_smoothed_cross_entropy, reference.label_smoothed_cross_entropy
logits, targets = torch.randn(18, 7), torch.randint(7, (18,))
real = torch.rand(18) < 0.6
real[0], real[1] = True, False
for ignored in (-100, 3):
    targets = torch.where(targets == 3, 4, targets)
    padded = torch.where(real, targets, ignored)
    assert_matches(cost, ours, logits, padded, smoothing=0.2, ignore_index=ignored)
    assert_keeps_inputs(cost, logits, padded, ignore_index=ignored)
targets[2] = 0
for ignored in (None, 0):
    assert_matches(cost, ours, logits, targets, smoothing=0.2, ignore_index=ignored)
nothing = cost(logits[:2], torch.zeros(2, dtype=torch.int64), ignore_index=0)
assert_equal(bool(nothing.isnan()), True, what="whether the mean of nothing is NaN")
### END HIDDEN TESTS

# %% test="label_smoothed_cross_entropy-reduction" points=1 read="training#label-smoothing"
# There is a mean, a sum, or one loss a target
logits = torch.zeros(2, 3, 4)  # all four tokens are equally likely: each target costs log 4
targets = torch.tensor([[1, 2, 3], [1, 2, 0]])
each = label_smoothed_cross_entropy(logits, targets, ignore_index=0, reduction="none")
assert_close(each, math.log(4) * torch.tensor([[1.0, 1, 1], [1, 1, 0]]), what="each loss")
total = label_smoothed_cross_entropy(logits, targets, ignore_index=0, reduction="sum")
assert_close(total, torch.tensor(5 * math.log(4)), what="sum")
assert_raises(ValueError, label_smoothed_cross_entropy, logits, targets[:, :2])
### BEGIN HIDDEN TESTS
cost, ours = label_smoothed_cross_entropy, reference.label_smoothed_cross_entropy
logits, targets = torch.randn(3, 4, 7), torch.randint(1, 7, (3, 4))
targets[1, 2:] = 0
for reduction in ("mean", "sum", "none"):
    for ignored in (0, None):
        how = {"ignore_index": ignored, "reduction": reduction}
        for rows in (..., (slice(3), slice(1)), (slice(1), slice(4)), (0, 0)):
            assert_matches(cost, ours, logits[rows], targets[rows], **how)
for reduction in ("sum", "none"):
    how = {"targets": targets, "ignore_index": 0, "reduction": reduction}
    assert_gradients(lambda given, how=how: cost(given, **how).sum(), logits.double())
assert_raises(ValueError, cost, logits, targets.mT)
assert_raises(ValueError, cost, logits, targets, reduction="avg")
### END HIDDEN TESTS

# %% variants="label_smoothed_cross_entropy"
# fmt: off
right("step by step", '''
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    if logits.ndim < 1 or tuple(logits.shape[:-1]) != tuple(targets.shape):
        raise ValueError("shapes")
    if smoothing < 0 or smoothing >= 1:
        raise ValueError("smoothing")
    if reduction not in {"mean", "sum", "none"}:
        raise ValueError("reduction")
    size = logits.shape[-1]
    losses = []
    for row, target in zip(logits.reshape(-1, size), targets.reshape(-1).tolist()):
        if target == ignore_index:
            losses.append(0 * row.sum())
            continue
        if not 0 <= target < size:
            raise IndexError(target)
        wanted = torch.full_like(row, smoothing / size)
        wanted[target] += 1 - smoothing
        losses.append(-(wanted * row.log_softmax(0)).sum())
    losses = torch.stack(losses).reshape(targets.shape)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / sum(target != ignore_index for target in targets.reshape(-1).tolist())
''')
right("by PyTorch's functions", '''
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    if logits.dim() == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError("shape")
    if not (0.0 <= smoothing < 1.0) or reduction not in ("mean", "sum", "none"):
        raise ValueError((smoothing, reduction))
    ignored = torch.zeros_like(targets).bool() if ignore_index is None else targets == ignore_index
    safe = targets.clone()
    safe[ignored] = 0
    if safe.numel() and (int(safe.min()) < 0 or int(safe.max()) >= logits.size(-1)):
        raise IndexError("targets")
    logs = F.log_softmax(logits, dim=-1)
    right = logs.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - smoothing) * right - smoothing / logits.size(-1) * logs.sum(-1)
    losses = torch.where(ignored, torch.zeros_like(losses), losses)
    if reduction == "mean":
        return losses[~ignored].mean()
    return {"sum": losses.sum(), "none": losses}[reduction]
''')
right("PyTorch's nll_loss", '''
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    if logits.dim() == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    if not 0 <= smoothing < 1 or reduction not in ("mean", "sum", "none"):
        raise ValueError("smoothing or reduction")
    counts = torch.ones_like(targets, dtype=torch.bool)
    if ignore_index is not None:
        counts = targets != ignore_index
    logs = logits.log_softmax(-1).reshape(-1, logits.size(-1))
    right = torch.where(counts, targets, 0).reshape(-1)
    losses = (1 - smoothing) * F.nll_loss(logs, right, reduction="none")
    losses = (losses - smoothing * logs.mean(-1)).view(targets.shape) * counts
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / counts.sum()
''')
SMOOTHED = "(1 - smoothing) * losses - smoothing * log_probabilities.mean(dim=-1)"
LOGS = "torch.log_softmax(logits, dim=-1)"
FAR = "You take the log of a softmax, which large logits make 0; take log_softmax."
for name, edits, hint in (
    ("nothing smoothed", [(SMOOTHED, "losses")], "You do not smooth; the share is spread over all tokens."),
    ("the share for the wrong tokens alone", [(SMOOTHED, "(1 - smoothing) * losses - smoothing * "
      "(log_probabilities.sum(dim=-1) + losses) / (logits.size(-1) - 1)")],
     "You spread the share over the wrong tokens alone; the right one gets its part too."),
    ("sums for means", [(SMOOTHED, SMOOTHED.replace("mean", "sum"))],
     "You add up the log-probabilities; divide by their number, V."),
    ("shares exchanged", [(SMOOTHED, "smoothing * losses - (1 - smoothing) * log_probabilities.mean(dim=-1)")],
     "You exchange the shares; the right token gets 1 - smoothing."),
    ("the right token still gets 1", [(SMOOTHED, "losses - smoothing * log_probabilities.mean(dim=-1)")],
     "You give the right token all of 1 as well; it gets 1 - smoothing."),
    ("the sign of the second part", [(SMOOTHED, SMOOTHED.replace("losses - s", "losses + s"))],
     "You subtract the second part; log-probabilities are negative, and both parts are costs."),
    ("one token too few to divide by", [(SMOOTHED, "(1 - smoothing) * losses - smoothing * "
      "log_probabilities.sum(dim=-1) / (logits.size(-1) - 1)")], "You divide by V - 1; divide by V."),
    ("a sign", [("losses = -log_probabilities.gather", "losses = log_probabilities.gather"),
      (SMOOTHED, SMOOTHED.replace("losses - smoothing", "losses + smoothing"))],
     "You return the log-probability; a loss is minus that."),
    ("logits taken for log-probabilities", [(LOGS, "logits")],
     "You take logits for log-probabilities; take log_softmax first."),
    ("probabilities taken for log-probabilities", [(LOGS, "torch.softmax(logits, dim=-1)")],
     "You take probabilities; take log_softmax."),
    ("two softmaxes", [(LOGS, "torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)")],
     "You take a softmax before log_softmax, which takes the logits as they are."),
    ("the logarithm of the softmax", [(LOGS, "torch.log(torch.softmax(logits, dim=-1))")], FAR),
    ("the logarithm of the softmax, and a little", [(LOGS, "torch.log(torch.softmax(logits, dim=-1) + 1e-9)")], FAR),
    ("the logarithm of the softmax, or a little", [(LOGS, "torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-12))")], FAR),
    ("the logarithm of the softmax, or a little more",
     [(LOGS, "torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-7))")], FAR),
    ("softmax over the sentence", [(LOGS, "torch.log_softmax(logits, dim=max(0, logits.dim() - 2))")],
     "You let the softmax run over another dimension; the vocabulary is the last: dim=-1."),
    ("softmax over dimension 0", [(LOGS, "torch.log_softmax(logits, dim=0)")],
     "You let the softmax run over another dimension; the vocabulary is the last: dim=-1."),
    ("always float32", [(LOGS, "torch.log_softmax(logits.float(), dim=-1)")],
     "You cast to float32; keep the dtype of the logits."),
    ("detached", [(LOGS, "torch.log_softmax(logits.detach(), dim=-1)")],
     "You cut the gradient; leave detach(), .data, .item() and no_grad() out."),
    ("a default of 0", [("smoothing: float = 0.1", "smoothing: float = 0.0")], "You change a default; keep the signature as it is."),
    ("argmax", [("right[..., None]", "log_probabilities.argmax(-1, keepdim=True)")],
     "You take the likeliest token; take the right one."),
):
    wrong(name, *edits, lost="values", hint=hint)
COUNT = "You count padding in the mean; divide by the number of targets that count."
for name, edits, hint in (
    ("a mean over all targets' tokens", [(SMOOTHED, SMOOTHED.replace("dim=-1", ""))],
     "You take one mean over all targets' tokens; take each target's own, mean(dim=-1)."),
    ("padding leaks", [("        counts = targets != ignore_index\n", "        pass\n")],
     "You do not use ignore_index; targets that equal it cost nothing."),
    ("the mean counts padding", [("losses.sum() / counts.sum()", "losses.mean()")], COUNT),
    ("an ignored target must be a token", [("targets.masked_fill(~counts, 0)", "targets")],
     "You look up ignored targets, which need not be tokens; put 0 in their place before gather."),
    ("0 is always padding", [("if ignore_index is not None:\n        counts = targets != ignore_index",
      "counts = targets != (ignore_index or 0)")], "You take 0 for padding always; None ignores nothing."),
    ("ignore_index 0 taken for None", [("if ignore_index is not None:", "if ignore_index:")],
     "You test whether ignore_index is true, and 0 is not; compare with None."),
    ("targets filled in place", [("targets.masked_fill(", "targets.masked_fill_(")],
     "You change the caller's targets; masked_fill without the underscore makes a copy."),
    ("0 where nothing counts", [("/ counts.sum()", "/ counts.sum().clamp(min=1)")],
     "You return 0 where nothing counts; the mean is NaN there."),
    ("the losses of padding in the sum", [("    losses = losses.masked_fill(~counts, 0.0)\n", "")],
     "You keep the losses of padding in the sum; ignored targets cost 0."),
    ("the losses of padding in the sum, and counted",
     [("    losses = losses.masked_fill(~counts, 0.0)\n", "    counts = torch.ones_like(counts)\n")],
     "You keep the losses of padding and count them; ignored targets cost 0, and count nowhere."),
):
    wrong(name, *edits, lost="padding", hint=hint)
NOT_A_MEAN = "You return a mean for each reduction; the sum is divided by nothing."
for name, edits, hint in (
    ("the sum is a mean", [('losses.sum() if reduction == "sum" else ', "")], NOT_A_MEAN),
    ("no losses without reduction", [('    if reduction == "none":\n        return losses\n', "")],
     "You reduce always; 'none' asks for one loss a target."),
    ("any reduction let through", [('if reduction not in ("mean", "sum", "none"):', "if False:")],
     "You accept any reduction; raise ValueError for one that does not exist."),
    ("any shapes let through", [("logits.dim() == 0 or logits.shape[:-1] != targets.shape:", "False:")],
     "You accept targets of another shape; raise ValueError."),
    ("as many targets as rows, in any shape",
     [("logits.shape[:-1] != targets.shape:", "logits.numel() // logits.size(-1) != targets.numel():"),
      ("-log_probabilities.gather(-1, right[..., None])[..., 0]",
       "-log_probabilities.reshape(-1, logits.size(-1)).gather(-1, right.reshape(-1, 1)).view_as(targets)"),
      ("log_probabilities.mean(dim=-1)", "log_probabilities.mean(dim=-1).view_as(targets)")],
     "You accept targets of another shape; raise ValueError."),
    ("every dimension of 1 taken away", [("right[..., None])[..., 0]", "right[..., None]).squeeze()")],
     "You squeeze() all dimensions of 1 away; take away the last alone: squeeze(-1)."),
    ("a plain number", [("return losses.sum() if", "return losses.sum().item() if")],
     "You return a plain number for the sum; return a tensor."),
    ("one loss a row", [("losses.sum() / counts.sum()", "losses.sum(-1) / counts.sum(-1)")],
     "You take a mean for each row; take one over all targets."),
    ("the softmax over dimension 1", [(LOGS, "torch.log_softmax(logits, dim=min(1, logits.dim() - 1))")],
     "You let the softmax run over another dimension; the vocabulary is the last: dim=-1."),
    ("no gradient from the sum", [("return losses.sum() if", "return losses.detach().sum() if")],
     "You cut the gradient; leave detach(), .data, .item() and no_grad() out."),
    ("no gradient from each loss", [("        return losses\n", "        return losses.data\n")],
     "You cut the gradient; leave detach(), .data, .item() and no_grad() out."),
    ("smoothed by all targets, where there is one loss each", [("log_probabilities.mean(dim=-1)",
      '(log_probabilities[counts].mean() if reduction == "none" else log_probabilities.mean(dim=-1))')],
     "You take one mean over all targets' tokens; take each target's own, mean(dim=-1)."),
):
    wrong(name, *edits, lost="reduction", hint=hint)
wrong("nothing costs anything", ("losses.masked_fill(~counts, 0.0)", "0 * losses.masked_fill(~counts, 0.0)"),
    lost="*", hint="You multiply the losses by 0; return them as they are.")
same("right = targets.masked_fill(~counts, ", "an ignored target may become any token")
same("losses = losses.masked_fill_(", "in place, but on losses that nothing else holds")
same("[..., -1]", "there is one column")
same("if smoothing > 0:", "without smoothing its term is 0")
same("logits.dim() == -1 or", "logits of no dimension fit no targets")
for piece in ("smoothing must", "0 <= smoothing < 1", "targets must lie", "right.dtype != torch.int64", "raise\n+            pass"):
    same(piece, "the homework asks for no error here")
# fmt: on

# %% [markdown]
# ### Warm up, then slow down
#
# A Transformer's first steps are its most dangerous ones: nothing in it is of the right size yet.
# So the learning rate rises evenly to its peak, and from there falls with the root of the steps:
# see [The schedule, derived](book:training#the-schedule).


# %% solution="inverse_sqrt" of="course_lib.training.schedules"
def inverse_sqrt():
    """Return the share of the peak learning rate for one update, a float.

    ``step`` counts the updates already done, so the first is update number 1. Its share is
    ``1 / warmup_steps``; update number ``warmup_steps`` is the peak, 1; then the share of update n
    falls like ``1 / sqrt(n)``.
    """


# %% test="inverse_sqrt-rise" points=1 read="training#the-schedule"
# The rate rises evenly, from the first update on, to its peak
shares = [inverse_sqrt(step, warmup_steps=4) for step in range(4)]
assert_equal(shares, [0.25, 0.5, 0.75, 1.0], what="shares of the first four updates")
### BEGIN HIDDEN TESTS
for warmup in (1, int(torch.randint(5, 12, ()))):
    shares = [inverse_sqrt(step, warmup_steps=warmup) for step in range(warmup)]
    assert_equal(shares, [(step + 1) / warmup for step in range(warmup)], what="shares")
### END HIDDEN TESTS

# %% test="inverse_sqrt-fall" points=1 read="training#the-schedule"
# After the peak the rate falls with the root of the updates
shares = [inverse_sqrt(step, warmup_steps=4) for step in (15, 35, 63)]
# These are updates 16, 36 and 64: 4, 9 and 16 times as many as the warm-up has.
assert_equal(shares, [1 / 2, 1 / 3, 1 / 4], what="shares")
### BEGIN HIDDEN TESTS
warmup = int(torch.randint(3, 12, ()))
steps = [warmup, 2 * warmup, 10 * warmup + 1]
shares = [inverse_sqrt(step, warmup_steps=warmup) for step in steps]
assert_equal(shares, [math.sqrt(warmup / (step + 1)) for step in steps], what="shares")
### END HIDDEN TESTS

# %% variants="inverse_sqrt"
# fmt: off
right("step by step", '''
def inverse_sqrt(step, *, warmup_steps):
    if step < 0 or warmup_steps <= 0:
        raise ValueError((step, warmup_steps))
    if step + 1 <= warmup_steps:
        return (step + 1) / warmup_steps
    return warmup_steps**0.5 / (step + 1) ** 0.5
''')
right("by PyTorch's functions", '''
def inverse_sqrt(step, warmup_steps):
    if step < 0:
        raise ValueError("step")
    if warmup_steps < 1:
        raise ValueError("warmup_steps")
    ratio = (step + 1) / warmup_steps
    return ratio if ratio < 1 else ratio**-0.5
''')
RISE = "min(update / warmup_steps, math.sqrt(warmup_steps / update))"
COUNT = "You count the updates otherwise; the first is number 1, so it is step + 1."
WHOLE = "You divide with //, which leaves whole numbers; divide with /."
for name, old, new, lost, hint in (
    ("counted from 0", "step + 1", "step or 1e-30", "rise", COUNT),
    ("counted from 1 in the first update alone", "step + 1", "max(step, 1)", "rise", COUNT),
    ("counted from 2", "step + 1", "step + 2", "rise", COUNT),
    ("step / warmup_steps", RISE, "step / warmup_steps if step < warmup_steps else math.sqrt(warmup_steps / step)",
     "rise", COUNT),
    ("a root too many", RISE, "math.sqrt(min(update / warmup_steps, warmup_steps / update))", "rise",
     "You take a root of the rise; it is even, and the root is for the fall alone."),
    ("a peak too late", "min(update / warmup_steps", "min(update / (warmup_steps + 1)", "rise",
     "You put the peak one update too late; it is update warmup_steps."),
    ("a fall that does not begin at the peak", RISE,
     "update / warmup_steps if update < warmup_steps else update**-0.5", "rise",
     "You let the fall begin elsewhere than at 1; it is the root of warmup_steps / update."),
    ("no rise", RISE, "min(1.0, math.sqrt(warmup_steps / update))", "rise", "You begin at the peak; rise to it."),
    ("the paper's formula without its scale", RISE, "min(update**-0.5, update * warmup_steps**-1.5)", "rise",
     "You leave out a factor; the peak is 1, so multiply by the root of warmup_steps."),
    ("whole numbers", "update / warmup_steps, m", "update // warmup_steps, m", "rise", WHOLE),
    ("a tensor", f"return {RISE}", f"return torch.tensor({RISE})", "rise", "You return a tensor; return a float."),
    ("whole numbers in the fall", "math.sqrt(warmup_steps / update)", "math.sqrt(warmup_steps // update)", "fall", WHOLE),
    ("the larger of the two", "min(update", "max(update", "rise fall", "You take the larger of the two; take the smaller."),
    ("no fall", RISE, "min(update / warmup_steps, 1.0)", "fall", "You stay at the peak; fall with the root of the updates."),
    ("no end of the rise", RISE, "update / warmup_steps", "fall", "You go on rising; take the smaller of the two."),
    ("a fall with the updates", "math.sqrt(warmup_steps / update)", "warmup_steps / update", "fall",
     "You fall with the updates; fall with their root."),
    ("the root upside down", "math.sqrt(warmup_steps / update)", "math.sqrt(update / warmup_steps)", "fall",
     "You have the root upside down; after the peak the share is below 1."),
    ("the root of the updates after the peak", "math.sqrt(warmup_steps / update)",
     "max(1, update - warmup_steps) ** -0.5", "fall", "You count from the peak; count all updates."),
    ("not a number", f"return {RISE}", "return math.nan", "rise fall", "You return NaN; return a share."),
    *((f"always {share}", RISE, share, "*", f"You return {share} always; the share depends on the step.")
      for share in ("0.0", "1e-12", "float('inf')")),
    ("always 1.0", RISE, "1.0", "*", "You return 1 always; the share depends on the step."),
):
    wrong(name, (old, new), lost=lost, hint=hint)
same("return min(math.sqrt", "the smaller of two, in whichever order")
for piece in ("_check(step", "step must", "step < 0:", "warmup_steps must", "warmup_steps < 1:"):
    same(piece, "the homework asks for no error here")
# fmt: on

# %% [markdown]
# ## Part 5: it learns
#
# `tgt` begins with a start symbol: the model *reads* all but the last token, and at each it is to
# say the *next*, so it is scored against all but the first. See
# [Teacher forcing](book:training#teacher-forcing-in-parallel). Then the five beats of every training
# loop: forget the old gradients, compute the loss, send it back, clip, step. To clip is to scale all
# gradients down *together* where their Euclidean norm is too large; `nn.utils.clip_grad_norm_` does
# it. When must it be done to have any effect?


# %% solution="training_step"
def training_step(model, optimizer, src, tgt, *, pad_id=0, smoothing=0.1, clip_norm=1.0):
    """Update a model once, to make these targets more probable; return the loss before, a float.

    ``model(src, tgt)`` gives logits. ``src`` and ``tgt`` are token ids, ``(batch, src_len)`` and
    ``(batch, 1 + tgt_len)``; targets that are ``pad_id`` do not count. Gradients whose norm over
    all parameters exceeds ``clip_norm`` are scaled down to it. ``train()`` and ``eval()`` are left
    to the caller.
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


# %% test="training_step-loss" points=1 read="training#teacher-forcing-in-parallel"
# The model reads all but the last token and is scored against all but the first
model = call_beside(NextTokenTable, 3, beside=training_step)  # its logits are rows of a table
halves = torch.tensor([[0.0, 0, 0], [0, 1, 2], [3, 0, 0]]) * math.log(2)
model.load_state_dict({"after": halves, "about": torch.zeros(3, 3)})
tgt = torch.tensor([[1, 2, 2, 1]])
loss = training_step(model, call_beside(plain_sgd, model), torch.tensor([[1]]), tgt, smoothing=0.0)
# After 1 comes 2, at 4/7; after 2 come 2 and 1, at 1/10 each.
expected = (math.log(7 / 4) + 2 * math.log(10)) / 3
assert_close(torch.tensor(loss), torch.tensor(expected), what="loss")
### BEGIN HIDDEN TESTS
src, tgt = torch.randint(1, 9, (3, 4)), torch.randint(1, 9, (3, 7))
for pad_id, padding in ((0, 0), (0, 4), (5, 2)):
    tgt[tgt == pad_id] = 6
    tgt[1, 7 - padding :] = pad_id
    for how in ({}, {"smoothing": 0.0}, {"smoothing": 0.3}):
        model, ours = call_beside(NextTokenTable, 9, beside=training_step), NextTokenTable(9)
        load_parameters(model, fix_weights(ours))
        optimizer = call_beside(plain_sgd, model)
        loss = training_step(model, optimizer, src, tgt, pad_id=pad_id, **how)
        expected = reference.training_step(ours, plain_sgd(ours), src, tgt, pad_id=pad_id, **how)
        assert_equal(loss, expected, rel_tol=1e-4, what="loss")
### END HIDDEN TESTS

# %% test="training_step-update" points=1 read="training#a-training-step"
# Old gradients are forgotten, new ones computed, and the optimizer steps once
model = call_beside(NextTokenTable, 3, beside=training_step)  # all of its logits are 0
src, tgt = torch.tensor([[1]]), torch.tensor([[1, 2]])
optimizer = call_beside(plain_sgd, model)  # subtracts the gradient
model(src, tgt[:, :-1]).sum().backward()  # leaves an old gradient behind
training_step(model, optimizer, src, tgt, smoothing=0.0, clip_norm=9.0)
# After 1 each token has probability 1/3: the gradient is 1/3, less 1 for the right token, 2.
assert_close(model.get_parameter("after")[1], torch.tensor([-1 / 3, -1 / 3, 2 / 3]), what="row 1")
### BEGIN HIDDEN TESTS
src, tgt = torch.randint(1, 9, (3, 4)), torch.randint(1, 9, (3, 6))
tgt[1, 4:] = 0
model, ours = call_beside(NextTokenTable, 9, beside=training_step), NextTokenTable(9)
load_parameters(model, fix_weights(ours))
optimizers = call_beside(plain_sgd, model), plain_sgd(ours)
for each in (model, ours):  # gradients of something else are lying about
    (100 * each(src, tgt[:, :-1]).square().mean()).backward()
how = {"smoothing": 0.2, "clip_norm": 1e6}
for _ in range(2):
    training_step(model, optimizers[0], src, tgt, **how)
    reference.training_step(ours, optimizers[1], src, tgt, **how)
    for name in ("after", "about"):
        after, expected = model.get_parameter(name), ours.get_parameter(name).detach()
        assert_close(after, expected, what=f"the model's {name} after the step")
assert_keeps_inputs(training_step, model, optimizers[0], src, tgt)
model = call_beside(NextTokenTable, 9, dropout=0.5, beside=training_step)
for training in (True, False):
    model.train(training)
    ends = []
    for _ in range(2):
        load_parameters(model, ours)
        training_step(model, call_beside(plain_sgd, model), src, tgt)
        ends.append(model.get_parameter("after").clone())
    assert_equal(model.training, training, what="whether the model is in training mode afterwards")
    assert_equal(torch.equal(*ends), not training, what="whether two equal steps give the same")
### END HIDDEN TESTS

# %% test="training_step-clipping" points=1 read="training#a-training-step"
# Gradients that are too large are scaled down together, before the optimizer steps
model = call_beside(NextTokenTable, 3, beside=training_step)
src, tgt = torch.tensor([[1]]), torch.tensor([[1, 2]])
training_step(model, call_beside(plain_sgd, model), src, tgt, clip_norm=0.1)
moved = torch.cat([model.get_parameter(name).flatten() for name in ("after", "about")])
assert_close(moved.norm(), torch.tensor(0.1), what="length of the step, over all parameters")
### BEGIN HIDDEN TESTS
src, tgt, start = torch.randint(1, 9, (3, 4)), torch.randint(1, 9, (3, 6)), NextTokenTable(9)
fix_weights(start)


def moved(**how):
    """Return how far one step moves all parameters."""
    model = call_beside(NextTokenTable, 9, beside=training_step)
    load_parameters(model, start)
    training_step(model, call_beside(plain_sgd, model), src, tgt, **how)
    names = ("after", "about")
    return torch.cat([(model.get_parameter(n) - start.get_parameter(n)).flatten() for n in names])


free = moved(clip_norm=1e6)
for share in (1 / 7, 1.0):
    limit = (share if share < 1 else 3.0) * max(free.norm().item(), 1e-6)
    assert_close(moved(clip_norm=limit), share * free, what=f"the step, clipped by {share:.2g}")
start.after.data[1, 5] = 20.0
src, tgt = (
    torch.tensor([[3]]),
    torch.tensor([[1, 2]]),
)  # so wrong that the gradient is longer than 1
assert_close(moved(smoothing=0.0).norm(), torch.tensor(1.0), what="length of the step by default")
### END HIDDEN TESTS

# %% [markdown]
# ### A toy translation
#
# Now everything together, in a small world of English and French: `draw_batch` draws sentences and
# their translations. Grading trains a fresh model of yours with your `training_step`, at the pace
# of your `inverse_sqrt`, until it should know sixteen sentences by heart. This takes five seconds.

# %% test="training_step-learns" points=2 read="training#training-a-translator"
# Everything together: the model learns
from course_lib.training.loop import build_optimizer

sizes = {"d_model": 32, "num_heads": 2, "d_ff": 64, "num_layers": 1}
model = Transformer(len(ENGLISH), len(FRENCH), **sizes)
optimizer = call_beside(build_optimizer, model, learning_rate=0.01)
src, tgt = draw_batch(8)
losses = [training_step(model, optimizer, src, tgt) for _ in range(21)]
assert_equal(losses[-1] < losses[0] - 1, True, what="whether the loss falls by 1 in twenty steps")
### BEGIN HIDDEN TESTS
src, tgt = draw_batch(16)
for _ in range(2):  # one training in a hundred begins badly: it gets a second try
    model = Transformer(len(ENGLISH), len(FRENCH), **sizes)
    optimizer = call_beside(build_optimizer, model, learning_rate=0.01)
    pace = call_beside(
        torch.optim.lr_scheduler.LambdaLR,
        optimizer,
        lambda step: inverse_sqrt(step, warmup_steps=30),
    )
    for _ in range(100):
        training_step(model, optimizer, src, tgt)
        pace.step()
    model.eval()
    written = tgt[:, :1]
    for _ in range(tgt.size(1) - 1):
        written = torch.cat([written, model(src, written)[:, -1:].argmax(-1)], dim=1)
    share = ((written == tgt) | (tgt == PAD)).all(dim=1).float().mean().item()
    if share > 0.9:
        break
assert_equal(share > 0.9, True, what="whether nine of ten sentences are right")
### END HIDDEN TESTS

# %% variants="training_step"
# fmt: off
right("step by step", '''
def training_step(model, optimizer, src, tgt, *, pad_id=0, smoothing=0.1, clip_norm=1.0):
    read, said = tgt[:, :-1], tgt[:, 1:]
    logits = model(src, read)
    loss = label_smoothed_cross_entropy(
        logits, said, smoothing=smoothing, ignore_index=pad_id, reduction="mean"
    )
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=clip_norm)
    optimizer.step()
    return float(loss)
''')
right("by PyTorch's functions", '''
def training_step(model, optimizer, src, tgt, *, pad_id=0, smoothing=0.1, clip_norm=1.0):
    model.zero_grad()
    size = tgt.size(1) - 1
    logits = model(src, tgt.narrow(1, 0, size))
    losses = label_smoothed_cross_entropy(
        logits, tgt.narrow(1, 1, size), smoothing=smoothing, ignore_index=pad_id, reduction="sum"
    )
    loss = losses / tgt.narrow(1, 1, size).ne(pad_id).sum()
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), clip_norm, norm_type=2.0)
    optimizer.step()
    return loss.tolist()
''')
BEGIN, BACK, UPDATE = "    optimizer.zero_grad()\n", "    loss.backward()\n", "    optimizer.step()\n"
CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), clip_norm)\n"
READS = "model(src, tgt[:, :-1]), tgt[:, 1:]"
right("a step with a closure", (BEGIN, f"    def closure():\n        nonlocal loss\n    {BEGIN}"),
    ("    loss = label_smoothed_cross_entropy(\n", "        loss = label_smoothed_cross_entropy(\n"),
    (BACK + CLIP + UPDATE, f"    {BACK}    {CLIP}        return loss\n\n    loss = None\n    optimizer.step(closure)\n"))
right("PyTorch's own loss", ("    loss = label_smoothed_cross_entropy(\n"
    f"        {READS}, smoothing=smoothing, ignore_index=pad_id\n",
    "    loss = F.cross_entropy(\n        model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten(),\n"
    "        label_smoothing=smoothing, ignore_index=pad_id,\n"))
right("clipped by the optimizer's own groups", ("clip_grad_norm_(model.parameters(), clip_norm)",
    "clip_grad_norm_([p for group in optimizer.param_groups for p in group['params']], clip_norm)"))
AHEAD = "You shift the target otherwise; the model reads tgt[:, :-1], the loss compares with tgt[:, 1:]."
SETTINGS = "You do not hand smoothing and pad_id on to the loss; do."
for name, old, new, hint in (
    ("targets not shifted", READS, "model(src, tgt), tgt", AHEAD),
    ("compared with the tokens read", READS, "model(src, tgt[:, :-1]), tgt[:, :-1]", AHEAD),
    ("it reads the targets", READS, "model(src, tgt[:, 1:]), tgt[:, 1:]", AHEAD),
    ("shifted the wrong way round", READS, "model(src, tgt[:, 1:]), tgt[:, :-1]", AHEAD),
    ("source and target exchanged", "model(src, tgt[:, :-1])", "model(tgt[:, :-1], src[:, :1].expand(-1, tgt.size(1) - 1))",
     "You hand source and target over in the other order; it is model(src, tgt)."),
    ("padding leaks", ", ignore_index=pad_id", "", SETTINGS),
    ("padding is always 0", "ignore_index=pad_id", "ignore_index=0", SETTINGS),
    ("smoothing not handed on", "smoothing=smoothing, ", "", SETTINGS),
    ("no smoothing", "smoothing=smoothing, ", "smoothing=0.0, ", SETTINGS),
    ("the losses summed", "ignore_index=pad_id", 'ignore_index=pad_id, reduction="sum"',
     "You add the losses up; take their mean."),
    ("the last token alone", READS, "model(src, tgt[:, :-1])[:, -1], tgt[:, -1]",
     "You score the last token alone; score each that is said."),
    ("the perplexity", "loss.item()", "math.exp(loss.item())", "You return the perplexity; return the loss."),
    ("divided by the number of sentences", "loss.item()", "loss.item() / len(src)",
     "You divide the loss once more; it is a mean already."),
    ("divided by the number of tokens", "loss.item()", "loss.item() / (tgt[:, 1:] != pad_id).sum().item()",
     "You divide the loss once more; it is a mean already."),
    ("a tensor returned", "loss.item()", "loss", "You return a tensor; return a float: loss.item()."),
    ("nothing returned", "    return loss.item()", "", "You return nothing; return the loss, a float."),
    ("the loss after the update", "    return loss.item()",
     "    with torch.no_grad():\n        loss = label_smoothed_cross_entropy(\n"
     f"            {READS}, smoothing=smoothing, ignore_index=pad_id\n        )\n    return loss.item()",
     "You return the loss after the update; take it before step()."),
    ("moved to a GPU", "model(src, tgt[:", "model(src.cuda(), tgt[:",
     "You call .cuda(); leave tensors on the device on which they come."),
):
    wrong(name, (old, new), lost="loss", hint=hint)
MODE = "You change between train() and eval(); leave that to the caller."
SENT = "You send another loss back than the one that you return; call backward() on that one."
for name, edits, hint in (
    ("old gradients kept", [(BEGIN, "")], "You keep old gradients, and they add up; call zero_grad() first."),
    ("two steps", [(UPDATE, 2 * UPDATE)], "You step twice; step once."),
    ("the mean returned and the sum sent back", [(BACK, "    label_smoothed_cross_entropy(\n"
      f"        {READS}, smoothing=smoothing, ignore_index=pad_id, reduction='sum'\n    ).backward()\n")], SENT),
    ("no smoothing in the loss sent back",
     [(BACK, f"    label_smoothed_cross_entropy({READS}, smoothing=0.0).backward()\n")], SENT),
    ("the model put into training", [(BEGIN, f"    model.train()\n{BEGIN}")], MODE),
    ("the model put into training for the time of the step",
     [(BEGIN, f"    was = model.training\n    model.train()\n{BEGIN}"), (UPDATE, f"{UPDATE}    model.train(was)\n")], MODE),
    ("the model left in evaluation", [("    return loss.item()", "    model.eval()\n    return loss.item()")], MODE),
):
    wrong(name, *edits, lost="update", hint=hint)
for name, edits, hint in (
    ("no step", [(UPDATE, "")], "You do not call optimizer.step(); do, once."),
    ("no backward pass", [(BACK, "")], "You do not call loss.backward(); do, before step()."),
    ("gradients forgotten too late", [(BEGIN, ""), (BACK, BACK + BEGIN)],
     "You call zero_grad() after backward(); forget old gradients before."),
    ("a step before the backward pass", [(UPDATE, ""), (BACK, UPDATE + BACK)],
     "You step before backward(); there are no gradients yet."),
    ("the wrong way", [(BACK, "    (-loss).backward()\n")], "You go up the gradient; call backward() on the loss itself."),
):
    wrong(name, *edits, lost="update learns", hint=hint)
LATE = "You clip too late, too early or not at all; clip after backward() and before step()."
EACH = "You clip each parameter by itself; the norm is that of all gradients together."
for name, edits, hint in (
    ("not clipped", [(CLIP, "")], LATE),
    ("clipped before the backward pass", [(CLIP, ""), (BACK, CLIP + BACK)], LATE),
    ("clipped after the step", [(CLIP, ""), (UPDATE, UPDATE + CLIP)], LATE),
    ("values clipped", [("clip_grad_norm_(", "clip_grad_value_(")],
     "You clip each number; clip the norm of all gradients together."),
    ("each parameter clipped", [(CLIP, "    for parameter in model.parameters():\n    "
      "    nn.utils.clip_grad_norm_(parameter, clip_norm)\n")], EACH),
    ("each of the optimizer's groups clipped", [(CLIP, "    for group in optimizer.param_groups:\n"
      "        nn.utils.clip_grad_norm_(group['params'], clip_norm)\n")], EACH),
    ("the first of the optimizer's groups clipped",
     [("_(model.parameters()", "_(optimizer.param_groups[0]['params']")],
     "You clip some of the parameters; clip all of the model's."),
    ("always clipped to 1", [("clip_norm)\n", "1.0)\n")], "You clip to 1 always; hand clip_norm on."),
    ("another norm", [("clip_norm)\n", "clip_norm, norm_type=1.0)\n")],
     "You take another norm; take the Euclidean one."),
    ("always scaled to clip_norm", [(CLIP, CLIP.replace("    nn", "    norm = nn") + "    for p in model.parameters():\n"
      "        p.grad.mul_(max(1.0, clip_norm / float(norm)))\n")],
     "You scale small gradients up; only those that are too large are scaled down."),
):
    wrong(name, *edits, lost="clipping", hint=hint)
wrong("nothing but a number", (BEGIN + "    loss", "    loss"), (BACK + CLIP + UPDATE, "    loss = torch.tensor(2.5)\n"),
    lost="*", hint="You return a number, and train nothing; follow the five beats.")
# fmt: on

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
# 3. Chloé compares the logits with the tokens that the model has just read, not with the next ones.
#
# ### BEGIN SOLUTION
# Ana's loss falls faster and lower than it should, nearly to the least that smoothing allows: at
# each position the next token is among the keys, so the model needs only to copy it. When it
# translates nothing stands there yet, and it writes nonsense; a low training loss is no proof.
# Ben's loss falls as well, and looks better than it is, for "padding follows padding" is easy and
# makes up most of the average; the words themselves get less of the gradient, so they are learnt
# more slowly, though the model may still translate in the end. (Predictions behind the end
# do no harm.)
# Chloé's loss falls to its least value at once, too: the model has to repeat its input, which it
# sees even with a perfect causal mask, because each position may attend to itself. It translates
# every sentence as "start, start, start".
#
# **Marking guide**, one point each:
#
# 1. *Causal mask*: the loss gets very low **and** translation fails, because the tokens copied
#    in training are missing later. Half a point for "it cheats" without its effect on translation.
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
# ### If you like: break it, predict, measure
#
# No points, but much to see. Choose one thing to leave out of your finished model: the causal mask,
# the scaling of the embeddings, the warm-up, one of the residuals, or something of your own. Write
# down *first* how the loss and the translations will look, and why. Then train the broken
# model as the next cell does, and draw both losses. Where were you wrong?

# %% [markdown]
# ## And now: a green frog
#
# The model has met frogs, and green cats, but no green frog. It is trained by your step at your
# pace, for about five seconds, and then it meets the sentence from the top of this notebook. The
# picture shows where the decoder looks while it writes. Afterwards call `show` with other
# sentences; the words are in `ENGLISH`. Does the mouse know its gender?

# %% demo="green-frog" prints="the green frog does not chase a grey wolf  ->  la grenouille verte ne chasse pas un loup gris"
from course_lib.analysis.recorders import recorded_attention
from course_lib.data.toy_translation_pairs import END, token_ids
from course_lib.plotting.attention import plot_attention

torch.manual_seed(1)
translator = Transformer(len(ENGLISH), len(FRENCH), d_model=32, num_heads=2, d_ff=64, num_layers=1)
optimizer = torch.optim.Adam(translator.parameters(), betas=(0.9, 0.98), lr=0.01)
pace = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(inverse_sqrt, warmup_steps=30))
for step in range(250):
    loss = training_step(translator, optimizer, *draw_batch(32))
    pace.step()
    if step % 50 == 49:
        print(f"step {step + 1:3d}: loss {loss:.2f} nats a token")
translator.eval()


def show(sentence):
    """Translate a sentence, and draw where the decoder looks while it writes."""
    src, tgt = token_ids([sentence.split()], ENGLISH), torch.tensor([[START]])
    with recorded_attention(translator) as weights, torch.no_grad():
        while tgt[0, -1] != END and tgt.size(1) < 12:
            tgt = torch.cat([tgt, translator(src, tgt)[:, -1:].argmax(-1)], dim=1)
    french = [FRENCH[token] for token in tgt[0, 1:]]
    print(f"{sentence}  ->  {' '.join(french[:-1])}")
    looks = weights["decoder.layers.0.cross_attention"][0].mean(dim=0).cpu()  # over both heads
    english = [ENGLISH[token] for token in src[0]]
    return plot_attention(looks, english, french, alt="Where the decoder looks")


show("the green frog does not chase a grey wolf")

# %% [markdown]
# In the book, [A Transformer to take apart](book:living-transformer) runs and lies open, down to a
# single multiplication. The next cell writes yours to a file, `my-model.json`; open it there, as
# [Your own in its place](book:living-transformer#living-own) says.

# %% demo="my-model"
from course_lib.training.export import export_translator

try:
    sentences = ["the green frog does not chase a grey wolf", "the white hen bites the black fox"]
    words = {"src_words": ENGLISH, "tgt_words": FRENCH, "sentences": sentences}
    print("written:", export_translator(translator, "my-model.json", num_heads=2, **words))
except (NameError, NotImplementedError):
    print("Nothing is written yet: your layers first, then the cell above, which trains the model.")
except ValueError as error:
    print(f"Nothing is written: {error}")
