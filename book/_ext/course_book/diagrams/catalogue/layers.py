"""Single layers and models in a few boxes: feed-forward, a residual, three families, captions."""

from typing import Any

from course_book.diagrams.catalogue.blocks import FEED_FORWARD, LAYERS, RESIDUAL, Column
from course_book.diagrams.parts import About, Role
from course_book.diagrams.sketch import ACROSS, Sketch, diagram

CAPTIONING = "course_lib.models.captioning"


@diagram("feed-forward", rows=20)
def feed_forward(sketch: Sketch) -> None:
    """A feed-forward layer.

    One token's vector of five cells goes up through a linear layer into twenty cells, of which
    fourteen are grey, that is negative. Behind the ReLU those are 0 and pale, and six stay. A
    second linear layer leads back down to five cells.
    """
    column = Column(sketch=sketch, name="layer", column=0)
    wide: dict[str, Any] = {
        "kind": "tensor",
        "cells": 20,
        "marked": (1, 4, 5, 9, 12, 17),
        "role": "key",
    }
    column.put("in", kind="tensor", cells=5, role="encoder")
    column.put("up", "Linear $W_1$: up", role="encoder", about=FEED_FORWARD)
    negative = tuple(cell for cell in range(20) if cell not in wide["marked"])
    column.put("inside", **wide, negative=negative)
    column.put("bend", "ReLU: negative numbers become 0", kind="norm", role="key")
    column.put("bent", **wide)
    column.put("down", "Linear $W_2$: down", role="value", about=FEED_FORWARD)
    column.put("out", kind="tensor", cells=5, role="value")


@diagram("residual", rows=24, columns=40)
def residual(sketch: Sketch) -> None:
    """A layer, and a layer with a residual.

    Left, x goes through a layer F, and F of x comes out. Right, x also goes around the layer, and
    is added: x plus F of x. With F zero the right one hands x on.
    """
    layer = About(section="residual-connections")
    plain = Column(sketch=sketch, name="plain", column=0, role="key")
    plain.put("x", "$x$", kind="data")
    plain.put("layer", "layer $F$", about=layer)
    plain.row = 3
    plain.put("y", "$F(x)$", kind="data")
    added = Column(sketch=sketch, name="residual", column=2, role="query")
    added.put("x", "$x$", kind="data")
    fork = added.fork("fork", 0.5)
    box = added.put("layer", "layer $F$", about=layer)
    added.put("add", "+", kind="operation", about=RESIDUAL)
    added.wire(fork, added.top, leave="right", enter="right", around=box)
    added.put("y", "$x + F(x)$", kind="data")


@diagram("families", rows=24, columns=26)
def families(sketch: Sketch) -> None:
    """Three families.

    Encoder only, as BERT: a text goes in, a vector for each word comes out. Both, as T5: a source
    goes into the encoder, whose memory the decoder reads, and a target comes out. Decoder only, as
    GPT: a prefix goes in, the next word comes out.
    """
    roles: dict[str, Role] = {"Encoder": "encoder", "Decoder": "decoder"}
    kinds = {
        "encoder only\nBERT": ("a text", ("Encoder",), "a vector\nfor each word"),
        "both\nT5": ("a source", ("Encoder", "Decoder"), "a target"),
        "decoder only\nGPT": ("a prefix", ("Decoder",), "the next word"),
    }
    same = About(section="the-same-block")
    for column, (name, (given, blocks, result)) in enumerate(kinds.items()):
        ids = [f"{name}-in", *(f"{name}-{block}" for block in blocks), f"{name}-out"]
        first = 1 if blocks[0] == "Encoder" else 2
        sketch.data(ids[0], given, first - 1, column)
        for row, block in enumerate(blocks, first):
            sketch.box(
                f"{name}-{block}", block, row, column, roles[block], kind="stack", about=same
            )
        sketch.data(ids[-1], result, first + len(blocks), column, "prediction")
        sketch.data(f"{name}-name", name, 4, column)
        sketch.path("", *ids)


@diagram("captioner", rows=22, columns=30)
def captioner(sketch: Sketch) -> None:
    """A captioner.

    Convolutions turn a picture into a row of vectors, one for each region. The decoder's state
    before weighs the regions, their weighted sum goes into its new state, and that says the next
    word.
    """
    encoder = About(section="a-picture-is-a-sequence", code=f"{CAPTIONING}.ConvEncoder")
    weigh = About(section="where-it-looks", code=f"{LAYERS}.additive_attention.AdditiveAttention")
    model = About(code=f"{CAPTIONING}.CaptionModel")
    sketch.data("picture", "picture", 0, 1, "encoder")
    sketch.box("eye", "Convolutions", 1, 1, "encoder", about=encoder)
    sketch.tensor("regions", 2, 1, "value", 8, 2, 3)
    sketch.box("attention", "Weigh the regions", 3, 1, "query", about=weigh)
    sketch.box("before", "$s_{t-1}$", 4, 0, "decoder")
    sketch.box("state", "$s_t$", 4, 1, "decoder", about=model)
    sketch.data("word", "the next word", 5, 1, "prediction")
    sketch.path("encoder", "picture", "eye", "regions")
    sketch.wire("regions", "attention", "value")
    sketch.wire("before", "attention", "query", leave="bottom", enter="left")
    sketch.wire("before", "state", "decoder", **ACROSS)
    sketch.wire("attention", "state", "value")
    sketch.wire("state", "word", "prediction")


@diagram("published-weights", rows=20)
def published_weights(sketch: Sketch) -> None:
    """Published weights, our model.

    A file of tensors under its authors' names is renamed; some tensors are cut or transposed.
    Nothing may be left over and nothing missing. Then the course's model holds them.
    """
    convert = About(
        section="published-weights", code="course_lib.models.pretrained.gpt2.from_huggingface"
    )
    sketch.data("file", "a file of tensors,\ntheir names", 0, 0)
    sketch.box("names", "rename", 1, 0, "key", about=convert)
    sketch.box("cut", "cut, transpose", 2, 0, "key", about=convert)
    sketch.box("check", "none left over, none missing", 3, 0, kind="norm")
    sketch.box("model", "the model of this chapter", 4, 0, "prediction")
    sketch.path("", "file", "names", "cut", "check", "model")
