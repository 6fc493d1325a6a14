"""Recurrent networks: the cells with gates, and translators made of them."""

from itertools import pairwise

from course_book.diagrams.catalogue.blocks import LAYERS
from course_book.diagrams.parts import About, Box, Diagram, Frame, Role, Wire

MODELS = "course_lib.models"
ENCODER = About(section="the-encoder", code=f"{MODELS}.seq2seq.RecurrentEncoder")
DECODER = About(section="the-decoder", code=f"{MODELS}.seq2seq.RecurrentDecoder")
BOTH_WAYS = About(section="why-both-directions", code=ENCODER.code)
ALIGNMENT = About(section="alignment-model", code=f"{LAYERS}.additive_attention.AdditiveAttention")
STEP = About(section="context-for-each-step", code=f"{MODELS}.bahdanau.AttentionDecoder")


def gru() -> Diagram:
    """Return a GRU cell: one gate that forgets, one that mixes."""
    cell = About(section="gated-recurrent-unit", code=f"{LAYERS}.recurrent_cells.GRUCell")
    both = "$h_{t-1}$, $x_t$"
    return Diagram(
        title="A GRU cell",
        description="The state before, h, runs along the top into a mix, and leaves it as the new "
        "state. Three boxes below read the input x. The reset gate r, from x and h, says how much "
        "of h the candidate may read. The candidate n comes from x and from r times the product of "
        "h and U_n. The update gate z, from x and h, says how much of h is kept in the mix: z "
        "times h plus 1 - z times n.",
        boxes=(
            Box(id="x-reset", text=both, row=0, column=1, kind="data"),
            Box(id="x-candidate", text="$x_t$", row=0, column=2, kind="data"),
            Box(id="x-update", text=both, row=0, column=3, kind="data"),
            Box(id="reset", text="reset gate\n$r$", row=1, column=1, role="key", about=cell),
            Box(id="candidate", text="candidate\n$n$", row=1, column=2, role="value", about=cell),
            Box(id="update", text="update gate\n$z$", row=1, column=3, role="query", about=cell),
            Box(id="times", text="×", row=2, column=1, kind="operation", role="key"),
            Box(id="before", text="$h_{t-1}$", row=3, column=0, kind="data", role="encoder"),
            Box(id="fork", row=3, column=0.5, kind="junction", role="encoder"),
            Box(id="mix", text="mix: $z h_{t-1}$ + (1 − $z$) $n$", row=3, column=2, columns=2,
                role="encoder", about=cell),
            Box(id="after", text="$h_t$", row=4, column=2, columns=2, kind="data", role="encoder"),
        ),
        wires=(
            Wire(source="x-reset", target="reset"),
            Wire(source="x-candidate", target="candidate"),
            Wire(source="x-update", target="update"),
            Wire(source="before", target="fork", leave="right", enter="left", role="encoder"),
            Wire(source="fork", target="mix", leave="right", enter="left", role="encoder"),
            Wire(source="fork", target="times", leave="bottom", enter="left", role="encoder",
                 label="$U_n$"),
            Wire(source="reset", target="times", role="key"),
            Wire(source="times", target="candidate", leave="right", enter="left", bend=-12,
                 role="key"),
            Wire(source="candidate", target="mix", role="value"),
            Wire(source="update", target="mix", role="query"),
            Wire(source="mix", target="after", role="encoder"),
        ),
        row_gap=24,
        column_gap=24,
    )  # fmt: skip


def lstm() -> Diagram:
    """Return an LSTM cell: its memory runs straight through."""
    cell = About(section="lstm", code=f"{LAYERS}.recurrent_cells.LSTMCell")
    gates: dict[str, tuple[str, Role]] = {
        "forget": ("forget\n$f$", "key"),
        "input": ("input\n$i$", "query"),
        "candidate": ("candidate\n$g$", "value"),
        "output": ("output\n$o$", "decoder"),
    }
    boxes = [
        Box(id=name, text=text, row=1, column=place, role=role, about=cell)
        for place, (name, (text, role)) in enumerate(gates.items(), 1)
    ]
    return Diagram(
        title="An LSTM cell",
        description="The memory c runs along the top: it is multiplied by the forget gate f, and "
        "the input gate i times the candidate g is added. That is the new memory. Its tanh times "
        "the output gate o is the new state h. All four gates read the input x and the state "
        "before.",
        boxes=(
            Box(id="inputs", text="$h_{t-1}$ and $x_t$, for every gate", row=0, column=1, columns=4,
                kind="norm"),
            *boxes,
            Box(id="keep", text="×", row=4, column=1, kind="operation", role="key"),
            Box(id="write", text="×", row=2, column=2, kind="operation", role="query"),
            Box(id="sum", text="+", row=4, column=2, kind="operation", role="encoder"),
            Box(id="fork", row=4, column=4, kind="junction", role="encoder"),
            Box(id="tanh", text="tanh", row=3, column=4, kind="operation", role="encoder"),
            Box(id="show", text="×", row=2, column=4, kind="operation", role="decoder"),
            Box(id="before", text="$c_{t-1}$", row=4, column=0, kind="data", role="encoder"),
            Box(id="after", text="$c_t$", row=4, column=5, kind="data", role="encoder"),
            Box(id="state", text="$h_t$", row=2, column=5, kind="data", role="decoder"),
        ),
        wires=(
            *(Wire(source="inputs", target=name) for name in gates),
            Wire(source="before", target="keep", leave="right", enter="left", role="encoder"),
            Wire(source="keep", target="sum", leave="right", enter="left", role="encoder"),
            Wire(source="sum", target="fork", leave="right", enter="left", role="encoder"),
            Wire(source="fork", target="after", leave="right", enter="left", role="encoder"),
            Wire(source="fork", target="tanh", leave="bottom", enter="top", role="encoder"),
            Wire(source="tanh", target="show", leave="bottom", enter="top", role="encoder"),
            Wire(source="forget", target="keep", role="key"),
            Wire(source="input", target="write", role="query"),
            Wire(source="candidate", target="write", enter="right", role="value"),
            Wire(source="write", target="sum", role="query"),
            Wire(source="output", target="show", role="decoder"),
            Wire(source="show", target="state", leave="right", enter="left", role="decoder"),
        ),
        row_gap=24,
        column_gap=12,
    )  # fmt: skip


def _in_a_row(ids: list[str], role: Role) -> list[Wire]:
    return [
        Wire(source=left, target=right, leave="right", enter="left", role=role)
        for left, right in pairwise(ids)
    ]


def encoder_decoder() -> Diagram:
    """Return the recurrent encoder-decoder, unrolled over a short sentence."""
    read, written = ("the", "dog", "sleeps"), ("le", "chien", "dort")
    boxes, wires = [], []
    for place, word in enumerate(read):
        boxes += [
            Box(id=f"read-{place}", text=word, row=0, column=place, kind="data", role="encoder"),
            Box(id=f"h-{place}", text=f"$h_{place + 1}$", row=1, column=place, role="encoder",
                about=ENCODER),
        ]  # fmt: skip
        wires.append(Wire(source=f"read-{place}", target=f"h-{place}", role="encoder"))
    for place, word in enumerate(written):
        column, given = place + 4, ("start", *written)[place]
        boxes += [
            Box(id=f"given-{place}", text=given, row=0, column=column, kind="data", role="decoder"),
            Box(id=f"s-{place}", text=f"$s_{place + 1}$", row=1, column=column, role="decoder",
                about=DECODER),
            Box(id=f"written-{place}", text=word, row=2, column=column, kind="data",
                role="prediction"),
        ]  # fmt: skip
        wires += [
            Wire(source=f"given-{place}", target=f"s-{place}", role="decoder"),
            Wire(source=f"s-{place}", target=f"written-{place}", role="prediction"),
        ]
    boxes += [
        Box(id="encoder", text="Encoder", row=2, column=0, columns=3, kind="title", role="encoder"),
        Box(id="decoder", text="Decoder", row=3, column=4, columns=3, kind="title", role="decoder"),
    ]
    boxes.append(Box(id="context", text="$c$", row=1, column=3, kind="norm", role="encoder"))
    wires += _in_a_row(["h-0", "h-1", "h-2", "context"], "encoder")
    wires += _in_a_row(["context", "s-0", "s-1", "s-2"], "decoder")
    return Diagram(
        title="The recurrent encoder-decoder",
        description="The encoder reads the, dog, sleeps, one word after another; each state goes "
        "into the next. The last one is the context c, all that the decoder gets. The decoder "
        "starts from it and writes le, chien, dort, reading each word that it has written.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        frames=(
            Frame(boxes=("h-0", "h-1", "h-2"), role="encoder"),
            Frame(boxes=("s-0", "s-1", "s-2"), role="decoder"),
        ),
        row_gap=30,
        column_gap=15,
    )


def bahdanau() -> Diagram:
    """Return one step of Bahdanau's decoder."""
    boxes, wires = [], []
    for place, word in enumerate(("the", "dog", "sleeps", "end")):
        boxes += [
            Box(id=f"word-{place}", text=word, row=0, column=place + 1, kind="data",
                role="encoder"),
            Box(id=f"h-{place}", text=f"$h_{place + 1}$", row=1, column=place + 1, role="encoder",
                about=BOTH_WAYS),
        ]  # fmt: skip
        wires += [
            Wire(source=f"word-{place}", target=f"h-{place}", role="encoder"),
            Wire(source=f"h-{place}", target="weights", role="value"),
        ]
    boxes += [
        Box(id="weights", text="Score each $h_j$, softmax,\nweighted sum", row=2, column=1,
            columns=4, role="query", about=ALIGNMENT),
        Box(id="context", text="context $c_t$", row=3, column=1, columns=4, kind="data",
            role="value"),
        Box(id="before", text="$s_{t-1}$", row=4, column=0, role="decoder",
            about=STEP),
        Box(id="state", text="$s_t$", row=4, column=1, columns=4, role="decoder",
            about=STEP),
        Box(id="given", text="$y_{t-1}$", row=4, column=5, kind="data", role="decoder"),
        Box(id="written", text="$y_t$", row=5, column=1, columns=4, kind="data",
            role="prediction"),
    ]  # fmt: skip
    wires += [
        Wire(source="before", target="weights", leave="bottom", enter="left", role="query"),
        Wire(source="before", target="state", leave="right", enter="left", role="decoder"),
        Wire(source="given", target="state", leave="left", enter="right", role="decoder"),
        Wire(source="weights", target="context", role="value"),
        Wire(source="context", target="state", role="value"),
        Wire(source="state", target="written", role="prediction"),
    ]
    return Diagram(
        title="One step of Bahdanau's decoder",
        description="Each source word has its state h of the encoder. The decoder's state before, "
        "s, is the query: every h is scored against it, the softmax makes weights, and the "
        "weighted sum of all h is the context of this step. From the state before, the context "
        "and the last word y comes the new state, and from that the next word.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=26,
        column_gap=24,
    )


def deep() -> Diagram:
    """Return two layers of a recurrent network over three words."""
    code = About(section="deep-networks", code=f"{LAYERS}.recurrent.Recurrent")
    boxes, wires = [], []
    roles: tuple[Role, ...] = ("encoder", "query")
    for place, word in enumerate(("the", "dog", "sleeps")):
        names = [f"layer-{layer}-{place}" for layer in range(2)]
        boxes += [
            Box(id=f"word-{place}", text=word, row=0, column=place, kind="data", role="encoder"),
            *(
                Box(id=name, text=f"layer {layer + 1}", row=layer + 1, column=place,
                    role=roles[layer], about=code)
                for layer, name in enumerate(names)
            ),
            Box(id=f"out-{place}", text=f"$h_{place + 1}$", row=3, column=place, kind="data",
                role="query"),
        ]  # fmt: skip
        wires += [
            Wire(source=f"word-{place}", target=names[0], role="encoder"),
            Wire(source=names[0], target=names[1], role="encoder"),
            Wire(source=names[1], target=f"out-{place}", role="query"),
        ]
    for layer, role in enumerate(roles):
        wires += _in_a_row([f"layer-{layer}-{place}" for place in range(3)], role)
    return Diagram(
        title="Two layers",
        description="Three words, each of which goes into layer 1; what layer 1 makes of it goes "
        "up into layer 2. In both layers the state also goes to the right, into the next step.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=22,
        column_gap=26,
    )
