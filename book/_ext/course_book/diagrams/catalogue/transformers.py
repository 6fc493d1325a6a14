"""Transformers: the whole model, its halves, and one sublayer with its norm."""

from course_book.diagrams.catalogue.blocks import (
    CROSS_ATTENTION,
    EMBEDDING,
    FEED_FORWARD,
    POSITIONS,
    RESIDUAL,
    SELF_ATTENTION,
    Column,
    NormPosition,
)
from course_book.diagrams.parts import About, Box, Diagram, Frame, Wire

MODELS = "course_lib.models"
RESIDUAL_PLACE = About(section="pre-and-post-norm", code=RESIDUAL.code)


def _encoder(norm_position: NormPosition) -> Column:
    encoder = Column(name="encoder", column=0, role="encoder", norm_position=norm_position)
    encoder.embedding("source tokens")
    encoder.sublayer("attention", "Self-attention", ports="VKQ", about=SELF_ATTENTION)
    encoder.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    return encoder


def _decoder(norm_position: NormPosition) -> Column:
    decoder = Column(
        name="decoder", column=2, row=3, role="decoder", bypass="right", norm_position=norm_position
    )
    decoder.embedding("target so far")
    decoder.sublayer("attention", "Masked\nself-attention", ports="VKQ", about=SELF_ATTENTION)
    decoder.sublayer("cross", "Cross-attention", ports="Q", about=CROSS_ATTENTION)
    decoder.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    return decoder


def transformer(norm_position: NormPosition) -> Diagram:
    """Return the Transformer, whole.

    Args:
        norm_position: Whether norms stand before sublayers or after their residuals.

    Returns:
        Its diagram: the encoder on the left, the decoder on the right and higher, so that the
        memory runs straight across.
    """
    encoder, decoder = _encoder(norm_position), _decoder(norm_position)
    layers = encoder.names(3), decoder.names(3)
    if norm_position == "pre":
        encoder.norm("last-norm")
        decoder.norm("last-norm")
    decoder.put(
        "generator",
        "Generator",
        role="prediction",
        about=About(section="the-way-out", code=f"{MODELS}.transformer.Transformer"),
    )
    decoder.put("logits", "next-word logits", kind="data")
    encoder.boxes.append(
        Box(
            id="memory",
            row=9.25 if norm_position == "pre" else 10.05,
            column=1,
            kind="junction",
            role="encoder",
        )
    )
    encoder.boxes.append(
        Box(id="encoder-title", text="Encoder", row=11, column=0, kind="title", role="encoder")
    )
    decoder.boxes.append(
        Box(id="decoder-title", text="Decoder", row=2, column=2, kind="title", role="decoder")
    )
    encoder.wire(encoder.top, "memory", enter="left", label="memory")
    wires = (
        Wire(source="memory", target="decoder-cross", leave="right", enter_at=1 / 2, role="key"),
        Wire(source="memory", target="decoder-cross", enter_at=1 / 6, bend=6, role="value"),
    )
    where = {
        "pre": "Each sublayer has its norm before it, inside the residual; a last norm ends each "
        "stack.",
        "post": "Each sublayer is followed by its residual's sum, and then by its norm.",
    }
    return Diagram(
        title=f"The Transformer, {norm_position}-norm",
        description="Left, the encoder: source tokens are embedded, positions are added, and N "
        "layers follow, of self-attention and feed-forward, each with a residual around it. Its "
        "output, the memory, gives keys and values to the decoder's cross-attention. Right, the "
        "decoder: target tokens so far are embedded, positions are added, and N layers follow, of "
        "masked self-attention, cross-attention with queries of the target, and feed-forward. The "
        f"generator makes logits of the next word. {where[norm_position]}",
        boxes=(*encoder.boxes, *decoder.boxes),
        wires=(*encoder.wires, *decoder.wires, *wires),
        frames=(
            Frame(boxes=layers[0], label="N×", side="left", role="encoder"),
            Frame(boxes=layers[1], label="N×", side="right", role="decoder"),
        ),
        row_gap=21,
        column_gap=24,
    )


def sublayer() -> Diagram:
    """Return one sublayer with its residual and its norm, in both orders."""
    columns = []
    positions: tuple[NormPosition, ...] = ("post", "pre")
    for place, position in enumerate(positions):
        column = Column(
            name=position, column=2 * place, role="encoder", bypass=("left", "right")[place],
            norm_position=position,
        )  # fmt: skip
        column.put("x", "$x$", kind="data")
        column.sublayer("sublayer", "Attention or\nfeed-forward", about=RESIDUAL_PLACE)
        column.row = 5
        column.put("y", "new $x$", kind="data")
        column.put("title", f"{position}-norm", kind="title", wired=False)
        columns.append(column)
    return Diagram(
        title="Post-norm and pre-norm",
        description="Two ways to put a norm to a sublayer. Post-norm: the sublayer reads x, its "
        "output is added to x, and the sum is normalised. Pre-norm: the norm stands before the "
        "sublayer, inside the residual, and the way around it is left alone.",
        boxes=tuple(box for column in columns for box in column.boxes),
        wires=tuple(wire for column in columns for wire in column.wires),
        row_gap=21,
        column_gap=30,
    )


def decoder_only() -> Diagram:
    """Return the decoder-only model, which reads what it has written."""
    model = Column(name="model", column=0, role="decoder", bypass="left")
    model.put("tokens", "tokens so far", kind="data")
    model.put("embedding", "Embedding", about=EMBEDDING)
    model.put("positions", "+ positions", kind="norm", about=POSITIONS)
    model.sublayer("attention", "Masked\nself-attention", ports="VKQ", about=SELF_ATTENTION)
    model.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    layers = model.names(3)
    model.norm("last-norm")
    model.put(
        "generator", "Generator", role="prediction", about=About(code=f"{MODELS}.gpt.DecoderLM")
    )
    logits = model.put("logits", "next token", kind="data", role="prediction")
    model.wire(
        logits, "model-tokens", leave="right", enter="right", role="prediction",
        around="model-generator", bend=46,
    )  # fmt: skip
    return Diagram(
        title="The decoder-only model",
        description="Tokens so far are embedded, positions are added, and N layers follow, of "
        "masked self-attention and feed-forward, each with its norm before it and a residual "
        "around it. After a last norm the generator scores all tokens; the one that is chosen is "
        "put behind the tokens so far, and the model runs again.",
        boxes=tuple(model.boxes),
        wires=tuple(model.wires),
        frames=(Frame(boxes=layers, label="N×", side="left", role="decoder"),),
        row_gap=21,
        column_gap=30,
    )


def bert() -> Diagram:
    """Return BERT, from three embeddings to its two heads of pre-training."""
    model = Column(name="bert", column=0, columns=3, row=2, role="encoder", norm_position="post")
    kinds = ("token", "segment", "position")
    entries = [
        Box(id=kind, text=f"{kind.title()}\nembedding", row=1, column=place, role="encoder",
            about=About(section="bert-embeddings", code=f"{MODELS}.bert.BertEmbeddings"))
        for place, kind in enumerate(kinds)
    ]  # fmt: skip
    words = Box(
        id="words", text="[CLS] the dog [MASK] [SEP] it barks [SEP]",
        row=0, column=0, columns=3, kind="data",
    )  # fmt: skip
    model.put("sum", "+", kind="operation")
    model.norm("first-norm")
    model.sublayer("attention", "Self-attention", ports="VKQ", about=SELF_ATTENTION)
    model.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    layers = model.names(2)
    row = float(model.row)
    heads = {
        "next": ("Pooler and\nclassifier", 0, "does B follow A?", "NextSentenceHead"),
        "masked": ("Masked-word\nhead", 2, "sleeps", "MaskedLanguageModelHead"),
    }
    for name, (text, column, answer, code) in heads.items():
        model.boxes += [
            Box(id=name, text=text, row=row, column=column, role="prediction",
                about=About(section="bert-heads", code=f"{MODELS}.bert_heads.{code}")),
            Box(id=f"{name}-answer", text=answer, row=row + 1, column=column, kind="data",
                role="prediction"),
        ]  # fmt: skip
        model.wire(model.top, name)
        model.wire(name, f"{name}-answer", role="prediction")
    sides = {"token": "left", "segment": "bottom", "position": "right"}
    for kind, side in sides.items():
        model.wire("words", kind)
        model.wire(kind, "bert-sum", enter=side)
    return Diagram(
        title="BERT",
        description="Two segments of text, with [CLS] before them and [SEP] after each, some words "
        "replaced by [MASK]. Embeddings of tokens, segments and positions are added and "
        "normalised. N encoder layers follow, of self-attention without a causal mask and "
        "feed-forward, each with a residual around it and its norm after it. From the vector of "
        "[CLS] the pooler and a classifier tell whether the second segment follows the first; "
        "from each masked place the other head names the word.",
        boxes=(words, *entries, *model.boxes),
        wires=tuple(model.wires),
        frames=(Frame(boxes=layers, label="N×", side="left", role="encoder"),),
        row_gap=21,
        column_gap=10,
    )
