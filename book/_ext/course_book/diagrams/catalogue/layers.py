"""Single layers and models in a few boxes: feed-forward, a residual, three families, captions."""

from itertools import pairwise

from course_book.diagrams.catalogue.blocks import FEED_FORWARD, LAYERS, RESIDUAL, Column
from course_book.diagrams.parts import About, Box, Diagram, Role, Wire

ADDITIVE = f"{LAYERS}.additive_attention"
CAPTIONING = "course_lib.models.captioning"


def feed_forward() -> Diagram:
    """Return the feed-forward layer, wide inside."""
    column = Column(name="layer", column=0)
    column.put("in", kind="tensor", cells=5, role="encoder")
    column.put("up", "Linear $W_1$: up", role="encoder", about=FEED_FORWARD)
    column.put("inside", kind="tensor", cells=20, marked=(1, 4, 5, 9, 12, 17), role="key")
    column.put("bend", "ReLU: what is negative becomes 0", kind="norm", role="key")
    column.put("bent", kind="tensor", cells=20, marked=(1, 4, 5, 9, 12, 17), role="key")
    column.put("down", "Linear $W_2$: down", role="value", about=FEED_FORWARD)
    column.put("out", kind="tensor", cells=5, role="value")
    return Diagram(
        title="A feed-forward layer",
        description="One token's vector of five cells goes up through a linear layer into twenty "
        "cells; the ReLU sets the negative ones to 0, so that a few stay; a second linear layer "
        "leads back down to five cells.",
        boxes=tuple(column.boxes),
        wires=tuple(column.wires),
        row_gap=20,
    )


def residual() -> Diagram:
    """Return a plain layer beside one with a residual."""
    columns = []
    for place, name in enumerate(("plain", "residual")):
        column = Column(name=name, column=2 * place, role=("key", "query")[place])
        column.put("x", "$x$", kind="data")
        fork = column.fork("fork", 0.5) if name == "residual" else ""
        box = column.put("layer", "layer $F$", about=About(section="residual-connections"))
        if fork:
            added = column.put("add", "+", kind="operation", about=RESIDUAL)
            column.wire(fork, added, leave="right", enter="right", around=box)
        column.row = 3
        column.put("y", ("$F(x)$", "$x + F(x)$")[place], kind="data")
        columns.append(column)
    return Diagram(
        title="A layer, and a layer with a residual",
        description="Left, x goes through a layer F, and F of x comes out. Right, x also goes "
        "around the layer, and is added: x plus F of x. With F zero the right one hands x on.",
        boxes=tuple(box for column in columns for box in column.boxes),
        wires=tuple(wire for column in columns for wire in column.wires),
        row_gap=24,
        column_gap=40,
    )


def families() -> Diagram:
    """Return the three families of Transformers."""
    roles: dict[str, Role] = {"Encoder": "encoder", "Decoder": "decoder"}
    kinds = {
        "encoder only\nBERT": ("a text", ("Encoder",), "a vector\nfor each word"),
        "both\nT5": ("a source", ("Encoder", "Decoder"), "a target"),
        "decoder only\nGPT": ("a beginning", ("Decoder",), "the next word"),
    }
    boxes, wires = [], []
    for column, (name, (given, blocks, result)) in enumerate(kinds.items()):
        ids = [f"{name}-in", *(f"{name}-{block}" for block in blocks), f"{name}-out"]
        first = 1 if blocks[0] == "Encoder" else 2
        boxes += [
            Box(id=ids[0], text=given, row=first - 1, column=column, kind="data"),
            *(
                Box(id=f"{name}-{block}", text=block, row=first + place, column=column,
                    role=roles[block], kind="stack", about=About(section="the-same-block"))
                for place, block in enumerate(blocks)
            ),
            Box(id=ids[-1], text=result, row=first + len(blocks), column=column, kind="data",
                role="prediction"),
            Box(id=f"{name}-name", text=name, row=4, column=column, kind="data"),
        ]  # fmt: skip
        wires += [Wire(source=a, target=b) for a, b in pairwise(ids)]
    return Diagram(
        title="Three families",
        description="Encoder only, as BERT: a text goes in, a vector for each word comes out. "
        "Both, as T5: a source goes into the encoder, whose memory the decoder reads, and a target "
        "comes out. Decoder only, as GPT: a beginning goes in, the next word comes out.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=24,
        column_gap=26,
    )


def captioner() -> Diagram:
    """Return a model that describes a picture, looking at a part of it for each word."""
    boxes = [
        Box(id="picture", text="picture", row=0, column=1, kind="data", role="encoder"),
        Box(id="eye", text="Convolutions", row=1, column=1, role="encoder",
            about=About(section="a-picture-is-a-sequence", code=f"{CAPTIONING}.ConvEncoder")),
        Box(id="regions", row=2, column=1, kind="tensor", cells=8, marked=(2, 3), role="value"),
        Box(id="attention", text="Weigh the regions", row=3, column=1, role="query",
            about=About(section="where-it-looks", code=f"{ADDITIVE}.AdditiveAttention")),
        Box(id="before", text="$s_{t-1}$", row=4, column=0, role="decoder"),
        Box(id="state", text="$s_t$", row=4, column=1, role="decoder",
            about=About(code=f"{CAPTIONING}.CaptionModel")),
        Box(id="word", text="the next word", row=5, column=1, kind="data", role="prediction"),
    ]  # fmt: skip
    return Diagram(
        title="A captioner",
        description="Convolutions turn a picture into a row of vectors, one for each region. The "
        "decoder's state before weighs the regions, their weighted sum goes into its new state, "
        "and that says the next word.",
        boxes=tuple(boxes),
        wires=(
            Wire(source="picture", target="eye", role="encoder"),
            Wire(source="eye", target="regions", role="encoder"),
            Wire(source="regions", target="attention", role="value"),
            Wire(source="before", target="attention", leave="bottom", enter="left", role="query"),
            Wire(source="before", target="state", leave="right", enter="left", role="decoder"),
            Wire(source="attention", target="state", role="value"),
            Wire(source="state", target="word", role="prediction"),
        ),
        row_gap=22,
        column_gap=30,
    )


def published_weights() -> Diagram:
    """Return how published weights come into a model of the course."""
    code = About(
        section="published-weights", code="course_lib.models.pretrained.gpt2.from_huggingface"
    )
    return Diagram(
        title="Published weights, our model",
        description="A file of tensors under its authors' names is renamed; some tensors are cut "
        "or transposed. Nothing may be left over and nothing missing. Then the course's model "
        "holds them.",
        boxes=(
            Box(id="file", text="a file of tensors,\ntheir names", row=0, column=0, kind="data"),
            Box(id="names", text="rename", row=1, column=0, role="key", about=code),
            Box(id="cut", text="cut, transpose", row=2, column=0, role="key", about=code),
            Box(id="check", text="none left over, none missing", row=3, column=0, kind="norm"),
            Box(id="model", text="the model of this chapter", row=4, column=0, role="prediction"),
        ),
        wires=tuple(
            Wire(source=low, target=high)
            for low, high in pairwise(("file", "names", "cut", "check", "model"))
        ),
        row_gap=20,
    )
