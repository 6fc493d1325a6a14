"""Recurrent networks: the cells with gates, and translators made of them."""

from course_book.diagrams.catalogue.blocks import LAYERS
from course_book.diagrams.parts import About, Role
from course_book.diagrams.sketch import ACROSS, Sketch, diagram

MODELS = "course_lib.models"
ENCODER = About(section="the-encoder", code=f"{MODELS}.seq2seq.RecurrentEncoder")
DECODER = About(section="the-decoder", code=f"{MODELS}.seq2seq.RecurrentDecoder")
BOTH_WAYS = About(section="why-both-directions", code=ENCODER.code)
ALIGNMENT = About(section="alignment-model", code=f"{LAYERS}.additive_attention.AdditiveAttention")
STEP = About(section="context-for-each-step", code=f"{MODELS}.bahdanau.AttentionDecoder")


@diagram("notes-of-a-reader", rows=24, columns=26)
def reader(sketch: Sketch) -> None:
    """A recurrent network reads.

    Three words, the, dog, sleeps. Each goes into the same function f, together with the state that
    f made of the words before; the state after the last word is all that is kept of the sentence.
    """
    step = About(section="one-step", code=f"{LAYERS}.recurrent_cells.RNNCell")
    for place, word in enumerate(("the", "dog", "sleeps"), 1):
        sketch.data(f"word-{place}", word, 0, place)
        sketch.box(f"step-{place}", "$f$", 1, place, "encoder", about=step)
        sketch.wire(f"word-{place}", f"step-{place}")
    sketch.data("before", "$h_0$", 1, 0, "encoder")
    sketch.data("after", "$h_3$", 1, 4, "encoder")
    sketch.path("encoder", "before", *(f"step-{place}" for place in (1, 2, 3)), "after", **ACROSS)


@diagram("gru-cell", rows=24, columns=24)
def gru(sketch: Sketch) -> None:
    """A GRU cell.

    The state before, h, runs along the top into a mix, and leaves it as the new state. Three boxes
    below read the input x. The reset gate r, from x and h, says how much of h the candidate may
    read. The candidate n comes from x and from r times the product of h and U_n. The update gate z,
    from x and h, says how much of h is kept in the mix: z times h plus 1 - z times n.
    """
    cell = About(section="gated-recurrent-unit", code=f"{LAYERS}.recurrent_cells.GRUCell")
    both = "$h_{t-1}$, $x_t$"
    sketch.data("x-reset", both, 0, 1)
    sketch.data("x-candidate", "$x_t$", 0, 2)
    sketch.data("x-update", both, 0, 3)
    sketch.box("reset", "reset gate\n$r$", 1, 1, "key", about=cell)
    sketch.box("candidate", "candidate\n$n$", 1, 2, "value", about=cell)
    sketch.box("update", "update gate\n$z$", 1, 3, "query", about=cell)
    sketch.box("times", "×", 2, 1, "key", kind="operation")
    sketch.data("before", "$h_{t-1}$", 3, 0, "encoder")
    sketch.junction("fork", 3, 0.5, "encoder")
    mix = "mix: $z h_{t-1}$ + (1 − $z$) $n$"
    sketch.box("mix", mix, 3, 2, "encoder", columns=2, about=cell)
    sketch.data("after", "$h_t$", 4, 2, "encoder", columns=2)
    sketch.wire("x-reset", "reset")
    sketch.wire("x-candidate", "candidate")
    sketch.wire("x-update", "update")
    sketch.path("encoder", "before", "fork", "mix", **ACROSS)
    sketch.wire("fork", "times", "encoder", leave="bottom", enter="left", label="$U_n$")
    sketch.wire("reset", "times", "key")
    sketch.wire("times", "candidate", "key", bend=-12, **ACROSS)
    sketch.wire("candidate", "mix", "value")
    sketch.wire("update", "mix", "query")
    sketch.wire("mix", "after", "encoder")


@diagram("lstm-cell", rows=24, columns=12)
def lstm(sketch: Sketch) -> None:
    """An LSTM cell.

    The memory c runs along the top: it is multiplied by the forget gate f, and the input gate i
    times the candidate g is added. That is the new memory. Its tanh times the output gate o is the
    new state h. All four gates read the input x and the state before.
    """
    cell = About(section="lstm", code=f"{LAYERS}.recurrent_cells.LSTMCell")
    gates: dict[str, tuple[str, Role]] = {
        "forget": ("forget\n$f$", "key"),
        "input": ("input\n$i$", "query"),
        "candidate": ("candidate\n$g$", "value"),
        "output": ("output\n$o$", "decoder"),
    }
    sketch.box("inputs", "$h_{t-1}$ and $x_t$, for every gate", 0, 1, columns=4, kind="norm")
    for place, (name, (text, role)) in enumerate(gates.items(), 1):
        sketch.box(name, text, 1, place, role, about=cell)
        sketch.wire("inputs", name)
    sketch.box("keep", "×", 4, 1, "key", kind="operation")
    sketch.box("write", "×", 2, 2, "query", kind="operation")
    sketch.box("sum", "+", 4, 2, "encoder", kind="operation")
    sketch.junction("fork", 4, 4, "encoder")
    sketch.box("tanh", "tanh", 3, 4, "encoder", kind="operation")
    sketch.box("show", "×", 2, 4, "decoder", kind="operation")
    sketch.data("before", "$c_{t-1}$", 4, 0, "encoder")
    sketch.data("after", "$c_t$", 4, 5, "encoder")
    sketch.data("state", "$h_t$", 2, 5, "decoder")
    sketch.path("encoder", "before", "keep", "sum", "fork", "after", **ACROSS)
    sketch.path("encoder", "fork", "tanh", "show", leave="bottom", enter="top")
    sketch.wire("forget", "keep", "key")
    sketch.wire("input", "write", "query")
    sketch.wire("candidate", "write", "value", enter="right")
    sketch.wire("write", "sum", "query")
    sketch.wire("output", "show", "decoder")
    sketch.wire("show", "state", "decoder", **ACROSS)


@diagram("encoder-decoder", rows=30, columns=15)
def encoder_decoder(sketch: Sketch) -> None:
    """The recurrent encoder-decoder.

    The encoder reads the, dog, sleeps, one word after another; each state goes into the next. The
    last one is the context c, all that the decoder gets. The decoder starts from it and writes le,
    chien, dort, reading each word that it has written.
    """
    for place, word in enumerate(("the", "dog", "sleeps")):
        sketch.data(f"read-{place}", word, 0, place, "encoder")
        sketch.box(f"h-{place}", f"$h_{place + 1}$", 1, place, "encoder", about=ENCODER)
        sketch.wire(f"read-{place}", f"h-{place}", "encoder")
    written = ("le", "chien", "dort")
    for place, (given, word) in enumerate(zip(("start", *written), written, strict=False)):
        state, column = f"s-{place}", place + 4
        sketch.data(f"given-{place}", given, 0, column, "decoder")
        sketch.box(state, f"$s_{place + 1}$", 1, column, "decoder", about=DECODER)
        sketch.data(f"written-{place}", word, 2, column, "prediction")
        sketch.wire(f"given-{place}", state, "decoder")
        sketch.wire(state, f"written-{place}", "prediction")
    sketch.box("encoder", "Encoder", 2, 0, "encoder", columns=3, kind="title")
    sketch.box("decoder", "Decoder", 3, 4, "decoder", columns=3, kind="title")
    sketch.box("context", "$c$", 1, 3, "encoder", kind="norm")
    sketch.path("encoder", "h-0", "h-1", "h-2", "context", **ACROSS)
    sketch.path("decoder", "context", "s-0", "s-1", "s-2", **ACROSS)
    sketch.frame("h-0", "h-1", "h-2", role="encoder")
    sketch.frame("s-0", "s-1", "s-2", role="decoder")


@diagram("bahdanau-step", rows=26, columns=24)
def bahdanau(sketch: Sketch) -> None:
    """One step of Bahdanau's decoder.

    Each source word has its state h of the encoder. The decoder's state before, s, is the query:
    every h is scored against it, the softmax makes weights, and the weighted sum of all h is the
    context of this step. From the state before, the context and the last word y comes the new
    state, and from that the next word.
    """
    for place, word in enumerate(("the", "dog", "sleeps", "end")):
        sketch.data(f"word-{place}", word, 0, place + 1, "encoder")
        sketch.box(f"h-{place}", f"$h_{place + 1}$", 1, place + 1, "encoder", about=BOTH_WAYS)
        sketch.wire(f"word-{place}", f"h-{place}", "encoder")
        sketch.wire(f"h-{place}", "weights", "value")
    weigh = "Score each $h_j$, softmax,\nweighted sum"
    sketch.box("weights", weigh, 2, 1, "query", columns=4, about=ALIGNMENT)
    sketch.data("context", "context $c_t$", 3, 1, "value", columns=4)
    sketch.box("before", "$s_{t-1}$", 4, 0, "decoder", about=STEP)
    sketch.box("state", "$s_t$", 4, 1, "decoder", columns=4, about=STEP)
    sketch.data("given", "$y_{t-1}$", 4, 5, "decoder")
    sketch.data("written", "$y_t$", 5, 1, "prediction", columns=4)
    sketch.wire("before", "weights", "query", leave="bottom", enter="left")
    sketch.wire("before", "state", "decoder", **ACROSS)
    sketch.wire("given", "state", "decoder", leave="left", enter="right")
    sketch.path("value", "weights", "context", "state")
    sketch.wire("state", "written", "prediction")


@diagram("deep-network", rows=22, columns=26)
def deep(sketch: Sketch) -> None:
    """Two layers.

    Three words, each of which goes into layer 1; what layer 1 makes of it goes up into layer 2. In
    both layers the state also goes to the right, into the next step.
    """
    code = About(section="deep-networks", code=f"{LAYERS}.recurrent.Recurrent")
    for place, word in enumerate(("the", "dog", "sleeps")):
        sketch.data(f"word-{place}", word, 0, place, "encoder")
        sketch.box(f"layer-0-{place}", "layer 1", 1, place, "encoder", about=code)
        sketch.box(f"layer-1-{place}", "layer 2", 2, place, "query", about=code)
        sketch.data(f"out-{place}", f"$h_{place + 1}$", 3, place, "query")
        sketch.path("encoder", f"word-{place}", f"layer-0-{place}", f"layer-1-{place}")
        sketch.wire(f"layer-1-{place}", f"out-{place}", "query")
    sketch.path("encoder", *(f"layer-0-{place}" for place in range(3)), **ACROSS)
    sketch.path("query", *(f"layer-1-{place}" for place in range(3)), **ACROSS)
