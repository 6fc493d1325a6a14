"""Transformers: the whole model, its halves, and one sublayer with its norm."""

from typing import Any

from course_book.diagrams.catalogue.blocks import (
    CROSS_ATTENTION,
    EMBEDDING,
    FEED_FORWARD,
    LAYERS,
    NORM,
    POSITIONS,
    RESIDUAL,
    SELF_ATTENTION,
    Column,
    NormPosition,
)
from course_book.diagrams.parts import About
from course_book.diagrams.sketch import Sketch, diagram

MODELS = "course_lib.models"
MASKED = "Masked\nself-attention"
RMS_NORM = About(section="rms-norm", code=f"{LAYERS}.normalization.RMSNorm")


@diagram(
    "transformer",
    rows=14,
    columns=24,
    legend="Norms",
    variants={"post-norm": ("post",), "pre-norm": ("pre",)},
)
def transformer(sketch: Sketch, norm_position: NormPosition) -> None:
    """The Transformer.

    Left, the encoder: source tokens are embedded, positions are added, and N layers follow, of
    self-attention and feed-forward, each with a residual around it. Its output, the memory, gives
    keys and values to the decoder's cross-attention. Right, the decoder: target tokens so far are
    embedded, positions are added, and N layers follow, of masked self-attention, cross-attention
    with queries of the target, and feed-forward. The generator makes logits of the next word.
    """
    pre = norm_position == "pre"
    sketch.description += (
        " Each sublayer has its norm before it, inside the residual; a last norm ends each stack."
        if pre
        else " Each sublayer is followed by its residual's sum, and then by its norm."
    )
    shared: Any = {"sketch": sketch, "norm_position": norm_position}
    encoder = Column(name="encoder", column=0, role="encoder", **shared)
    encoder.embedding("source tokens")
    encoder.sublayer("attention", "Self-attention", ports="VKQ", about=SELF_ATTENTION)
    encoder.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    decoder = Column(name="decoder", column=2, row=3, role="decoder", bypass="right", **shared)
    decoder.embedding("target so far")
    decoder.sublayer("attention", MASKED, ports="VKQ", about=SELF_ATTENTION)
    decoder.sublayer("cross", "Cross-attention", ports="Q", about=CROSS_ATTENTION)
    decoder.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    sketch.frame(*encoder.names(3), role="encoder", label="N×", side="left")
    sketch.frame(*decoder.names(3), role="decoder", label="N×", side="right")
    if pre:
        encoder.norm("last-norm")
        decoder.norm("last-norm")
    generator = About(section="the-way-out", code=f"{MODELS}.transformer.Transformer")
    decoder.put("generator", "Generator", role="prediction", about=generator)
    decoder.put("logits", "next-word logits", kind="data")
    sketch.junction("memory", 9.25 if pre else 10.05, 1, "encoder")
    sketch.box("encoder-title", "Encoder", 10 if pre else 11, 0, "encoder", kind="title")
    sketch.box("decoder-title", "Decoder", 2, 2, "decoder", kind="title")
    encoder.wire(encoder.top, "memory", enter="left", label="memory")
    sketch.wire("memory", "decoder-cross", "key", leave="right", enter_at=1 / 2)
    sketch.wire("memory", "decoder-cross", "value", enter_at=1 / 6, bend=6)


@diagram("sublayer", rows=21, columns=30)
def sublayer(sketch: Sketch) -> None:
    """Post-norm and pre-norm.

    Two ways to put a norm to a sublayer. Post-norm: the sublayer reads x, its output is added to x,
    and the sum is normalised. Pre-norm: the norm stands before the sublayer, inside the residual,
    and the way around it is left alone.
    """
    about = About(section="pre-and-post-norm", code=RESIDUAL.code)
    post = Column(sketch=sketch, name="post", column=0, role="encoder", norm_position="post")
    pre = Column(sketch=sketch, name="pre", column=2, role="encoder", bypass="right")
    for column in (post, pre):
        column.put("x", "$x$", kind="data")
        column.sublayer("sublayer", "Attention or\nfeed-forward", about=about)
        column.row = 5
        column.put("y", "new $x$", kind="data")
        column.put("title", f"{column.name}-norm", kind="title", wired=False)


@diagram("decoder-only", rows=21, columns=30)
def decoder_only(sketch: Sketch) -> None:
    """The decoder-only model.

    Tokens so far are embedded, positions are added, and N layers follow, of masked self-attention
    and feed-forward, each with its norm before it and a residual around it. After a last norm the
    generator scores all tokens; the one that is chosen is put behind the tokens so far, and the
    model runs again.
    """
    model = Column(sketch=sketch, name="model", column=0, role="decoder")
    model.embedding("tokens so far")
    model.sublayer("attention", MASKED, ports="VKQ", about=SELF_ATTENTION)
    model.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    sketch.frame(*model.names(3), role="decoder", label="N×")
    model.norm("last-norm")
    generator = About(code=f"{MODELS}.gpt.DecoderLM")
    model.put("generator", "Generator", role="prediction", about=generator)
    logits = model.put("logits", "next token", kind="data", role="prediction")
    sketch.wire(
        logits, "model-tokens", "prediction", leave="right", enter="right",
        around="model-generator", bend=46,
    )  # fmt: skip


@diagram("bert", rows=21, columns=10)
def bert(sketch: Sketch) -> None:
    """BERT.

    Two segments of text, with [CLS] before them and [SEP] after each, some words replaced by
    [MASK]. Embeddings of tokens, segments and positions are added and normalised. N encoder layers
    follow, of self-attention without a causal mask and feed-forward, each with a residual around it
    and its norm after it. From the vector of [CLS] the pooler and a classifier tell whether the
    second segment follows the first; from each masked place the other head names the word.
    """
    model = Column(
        sketch=sketch, name="bert", column=0, columns=3, row=2, role="encoder", norm_position="post"
    )
    sketch.data("words", "[CLS] the dog [MASK] [SEP] it barks [SEP]", 0, 0, columns=3)
    embeddings = About(section="bert-embeddings", code=f"{MODELS}.bert.BertEmbeddings")
    kinds = {"token": "left", "segment": "bottom", "position": "right"}
    for column, kind in enumerate(kinds):
        text = f"{kind.title()}\nembedding"
        sketch.box(kind, text, 1, column, "encoder", about=embeddings)
    model.put("sum", "+", kind="operation")
    model.norm("first-norm")
    model.sublayer("attention", "Self-attention", ports="VKQ", about=SELF_ATTENTION)
    model.sublayer("feed-forward", "Feed-forward", about=FEED_FORWARD)
    sketch.frame(*model.names(2), role="encoder", label="N×")
    heads = {
        "next": ("Pooler and\nclassifier", 0, "does B follow A?", "NextSentenceHead"),
        "masked": ("Masked-word\nhead", 2, "sleeps", "MaskedLanguageModelHead"),
    }
    for name, (text, column, answer, code) in heads.items():
        about = About(section="bert-heads", code=f"{MODELS}.bert_heads.{code}")
        sketch.box(name, text, model.row, column, "prediction", about=about)
        sketch.data(f"{name}-answer", answer, model.row + 1, column, "prediction")
        model.wire(model.top, name)
        sketch.wire(name, f"{name}-answer", "prediction")
    for kind, side in kinds.items():
        model.wire("words", kind)
        model.wire(kind, "bert-sum", enter=side)


@diagram("fine-tuning", rows=18, columns=6)
def fine_tuning(sketch: Sketch) -> None:
    """Four ways to fine-tune BERT.

    Four small models, each with BERT in the middle and its tokens below. A class of a pair, and a
    class of a text: the new layer reads the vector above [CLS]. The span of an answer: it reads the
    vectors of the paragraph that follows the question, and finds start and end. A tag for each
    token: it reads the vector of every token.
    """
    text = ("[CLS]", "she", "met", "Ana")
    ways = {
        "a class of a pair": (("[CLS]", "A", "[SEP]", "B"), {0: "class"}),
        "a class of a text": (text, {0: "class"}),
        "the span of an answer": (("[CLS]", "Q", "[SEP]", "P"), {3: "start,\nend"}),
        "a tag for each token": (text, {1: "other", 2: "other", 3: "name"}),
    }
    about = About(section="fine-tuning", code=f"{MODELS}.bert.BertModel")
    for place, (name, (tokens, answers)) in enumerate(ways.items()):
        row, left = (4, 0)[place // 2], (0, 5)[place % 2]
        bert_box = f"{name}-bert"
        sketch.box(bert_box, "BERT", row + 1, left, "encoder", columns=4, about=about)
        sketch.data(f"{name}-name", name, row + 3, left, columns=4)
        for column, token in enumerate(tokens):
            sketch.data(f"{name}-{column}", token, row, left + column, "encoder")
            sketch.wire(f"{name}-{column}", bert_box, "encoder")
        for column, answer in answers.items():
            sketch.data(f"{name}-{column}-out", answer, row + 2, left + column, "prediction")
            sketch.wire(bert_box, f"{name}-{column}-out", "prediction")


@diagram(
    "sentence-encoders",
    rows=21,
    columns=14,
    legend="Encoder",
    variants={"bi-encoder": (False,), "cross-encoder": (True,)},
)
def sentence_encoders(sketch: Sketch, is_cross: bool) -> None:
    """Comparing two sentences.

    Read from below. The bi-encoder: two sentences, each with an encoder and pooling above it; both
    encoders have the same weights. Two vectors result, and above them their cosine. The
    cross-encoder: both sentences enter one encoder, whose vector at [CLS] a linear layer turns into
    a score.
    """
    encoder = About(section="bert", code=f"{MODELS}.bert.BertModel")
    pooling = About(section="mean-or-cls", code=f"{MODELS}.bert.mean_pooling")
    places = {"A": 0, "B": 2}
    for name, column in places.items():
        sketch.data(name, f"sentence {name}", 0, column, "encoder")
    if is_cross:
        sketch.box("encoder", "Encoder", 1, 0, "encoder", columns=3, about=encoder)
        sketch.box("pooling", "Vector at [CLS]", 2, 0, "encoder", columns=3)
        sketch.box("linear", "Linear layer", 3, 0, "prediction", columns=3)
        sketch.data("score", "score of the pair", 4, 0, "prediction", columns=3)
        for name in places:
            sketch.wire(name, "encoder", "encoder")
        sketch.path("encoder", "encoder", "pooling", "linear")
        sketch.wire("linear", "score", "prediction")
        return
    sketch.box("cosine", "cosine of the two", 4, 0, "prediction", columns=3)
    for name, column in places.items():
        sketch.box(f"{name}-encoder", "Encoder", 1, column, "encoder", about=encoder)
        sketch.box(f"{name}-pooling", "Pooling", 2, column, "encoder", about=pooling)
        sketch.data(f"{name}-vector", f"vector of {name}", 3, column, "encoder")
        sketch.path("encoder", name, f"{name}-encoder", f"{name}-pooling", f"{name}-vector")
        sketch.wire(f"{name}-vector", "cosine", "prediction")
    sketch.data("same", "the same\nweights", 1, 1, "encoder")


def _decoder(
    sketch: Sketch, name: str, title: str, column: float, changes: tuple[str, ...]
) -> None:
    def changed(*which: str) -> dict[str, Any]:
        return {"role": "prediction" if set(which) & set(changes) else "decoder"}

    modern = set(changes)
    norm = {
        "text": "RMSNorm" if "norms" in modern else "LayerNorm",
        "about": RMS_NORM if "norms" in modern else NORM,
        **changed("norms"),
    }
    model = Column(sketch=sketch, name=name, column=column, role="decoder", norm_fields=norm)
    model.norm_position = "pre" if "norms" in modern else "post"
    model.bypass = "right" if column else "left"
    model.put("tokens", "tokens so far", kind="data")
    model.put("embedding", "Embedding", about=EMBEDDING, **changed("tied"))
    if "rotary" in modern:
        model.row += 1
    else:
        model.put("positions", "+ positions", kind="norm", about=POSITIONS)
    first = len(model.names())
    keys = "8 heads,\n2 of keys" if "groups" in modern else "8 heads,\n8 of keys"
    turned = ", turned" if "rotary" in modern else ""
    attention = About(section="sharing-keys", code=f"{LAYERS}.attention.GroupedQueryAttention")
    model.sublayer(
        "attention", f"Attention{turned}\n{keys}", about=attention, **changed("groups", "rotary")
    )
    bias = "" if "no biases" in modern else "\n+ biases"
    gated = "gate" in modern
    feed_forward = About(
        section="the-gate" if gated else "feed-forward",
        code=f"{LAYERS}.feed_forward.{'GatedFeedForward' if gated else 'FeedForward'}",
    )
    model.sublayer(
        "feed-forward", ("SwiGLU" if gated else "ReLU layer") + bias, about=feed_forward,
        **changed("gate", "no biases"),
    )  # fmt: skip
    sketch.frame(
        *model.names(first), role="decoder", label="N×", side="right" if column else "left"
    )
    if "norms" in modern:
        model.norm("last-norm")
    else:
        model.row += 1
    output = "Output matrix\n= embedding" if "tied" in modern else "Output matrix"
    model.put("output", output, **changed("tied"))
    model.put("logits", "next token", kind="data")
    model.put("title", title, kind="title", wired=False)


CHANGES = ("norms", "gate", "rotary", "groups", "no biases", "tied")


@diagram(
    "modern-block",
    rows=21,
    columns=24,
    legend="Change",
    variants={"all six": CHANGES} | {change: (change,) for change in CHANGES},
)
def modern_block(sketch: Sketch, *changes: str) -> None:
    """A decoder of 2017 and a decoder of 2024.

    Two columns, read from below. Left, the decoder of 2017 without its cross-attention: embedding,
    sinusoidal positions added, masked self-attention with eight heads of keys and a feed-forward
    layer with biases, each followed by its residual's sum and by LayerNorm; then the output matrix.
    Right, the same decoder with the chosen changes, in the colour of predictions.
    """
    sketch.description += f" Changed here: {', '.join(changes)}."
    _decoder(sketch, "old", "2017", 0, ())
    _decoder(sketch, "new", "2024" if len(changes) == len(CHANGES) else "2017, changed", 2, changes)
