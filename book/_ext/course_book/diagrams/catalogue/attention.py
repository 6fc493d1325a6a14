"""Attention: one head, several heads, and a step with a cache; values, keys, queries in a row."""

from course_book.diagrams.catalogue.blocks import LAYERS, PORT_ROLES, SELF_ATTENTION
from course_book.diagrams.parts import About, Side
from course_book.diagrams.sketch import ACROSS, Sketch, diagram

CACHED = About(section="attention-with-a-cache", code=f"{LAYERS}.attention.CachedAttention")
NAMES = {"V": "values", "K": "keys", "Q": "queries"}
HEAD = About(section="self-attention", code=f"{LAYERS}.attention.scaled_dot_product_attention")
MASK = About(section="masking", code=f"{LAYERS}.masks.causal_mask")
SIDES: tuple[Side, ...] = ("left", "top", "right")


@diagram("scaled-dot-product", rows=24, columns=26)
def scaled_dot_product(sketch: Sketch) -> None:
    """Scaled dot-product attention.

    From below: keys and queries go into dot products, which are divided by the root of d_k; these
    are the scores. A mask takes out hidden keys, and the softmax makes weights of the rest. With
    them values are averaged: one row for each query.
    """
    for column, letter in enumerate("VKQ"):
        sketch.data(letter, f"${letter}$\n{NAMES[letter]}", 0, column, PORT_ROLES[letter])
    sketch.box("products", "Dot products", 1, 1, "query", columns=2, about=HEAD)
    sketch.box("scale", "Divide by √$d_k$", 2, 1, "query", columns=2, about=HEAD)
    sketch.box("mask", "Mask", 3, 1, "mask", columns=2, about=MASK)
    sketch.box("softmax", "Softmax", 4, 1, "query", columns=2, about=HEAD)
    sketch.box("sum", "Weighted sum", 5, 0, "value", columns=3, about=HEAD)
    sketch.data("out", "a row for each query", 6, 0, columns=3)
    sketch.wire("K", "products", "key")
    sketch.path("query", "Q", "products", "scale")
    sketch.wire("scale", "mask", "query", label="scores")
    sketch.wire("mask", "softmax", "query")
    sketch.wire("softmax", "sum", "query", label="weights")
    sketch.path("value", "V", "sum", "out")


@diagram("learnt-attention", rows=24, columns=20)
def learnt(sketch: Sketch) -> None:
    """The parts that are learnt.

    Letters and their places become vectors. Three matrices make values, keys and queries of them;
    attention mixes the values; a last matrix names a letter. All but attention itself is learnt.
    """
    reader = About(
        section="trained-attention", code="course_lib.analysis.attention_reader.AttentionReader"
    )
    sketch.data("letters", "letters and places", 0, 0, columns=3)
    sketch.box("vectors", "Embeddings: learnt", 1, 0, "encoder", columns=3, about=reader)
    sketch.wire("letters", "vectors")
    for column, letter in enumerate("VKQ"):
        role = PORT_ROLES[letter]
        sketch.box(f"linear-{letter}", f"$W^{letter}$: learnt", 2, column, role, about=reader)
        sketch.path(role, "vectors", f"linear-{letter}", "attention")
    sketch.box("attention", "Attention: a formula", 3, 0, columns=3, kind="norm", about=HEAD)
    sketch.box("names", "Names a letter: learnt", 4, 0, "prediction", columns=3, about=reader)
    sketch.data("out", "a letter for each place", 5, 0, columns=3)
    sketch.path("", "attention", "names", "out")


@diagram("multi-head-attention", rows=26, columns=20)
def multi_head(sketch: Sketch) -> None:
    """Multi-head attention.

    Values, keys and queries go through a linear layer each, and into h heads side by side. Each
    head is scaled dot-product attention on its own part of the width. Their outputs are
    concatenated and go through a last linear layer.
    """
    linear = About(section="several-heads", code=SELF_ATTENTION.code)
    output = About(section="sum-over-heads", code=SELF_ATTENTION.code)
    for column, letter in enumerate("VKQ"):
        role = PORT_ROLES[letter]
        sketch.data(letter, f"${letter}$\n{NAMES[letter]}", 0, column, role)
        sketch.box(f"linear-{letter}", f"Linear $W^{letter}$", 1, column, role, about=linear)
        sketch.path(role, letter, f"linear-{letter}", "heads")
    heads = "Scaled dot-product attention\n$h$ heads, side by side"
    sketch.box("heads", heads, 2, 0, columns=3, kind="stack", about=HEAD)
    concatenated = About(section="several-heads")
    sketch.box("concat", "Concatenate", 3, 0, columns=3, kind="norm", about=concatenated)
    sketch.box("linear-O", "Linear $W^O$", 4, 0, columns=3, about=output)
    sketch.data("out", "a row for each query", 5, 0, columns=3)
    sketch.path("", "heads", "concat", "linear-O", "out")


@diagram("kv-cache", rows=34)
def kv_cache(sketch: Sketch) -> None:
    """A step with a cache.

    The new token alone goes through the three linear layers. Its value is put behind the cached
    values, its key behind the cached keys; the earlier ones are not computed again. Its query is
    scored against all cached keys, and with the weights all cached values are averaged: one row,
    the new token's.
    """
    kept = About(section="what-may-be-kept")
    sketch.data("token", "the new token alone", 0, 0, "decoder", columns=3)
    sketch.junction("fork", 0.45, 0, "decoder", columns=3)
    sketch.wire("token", "fork", "decoder")
    for column, (letter, side) in enumerate(zip("VKQ", SIDES, strict=True)):
        linear, role = f"linear-{letter}", PORT_ROLES[letter]
        sketch.box(linear, f"Linear $W^{letter}$", 1, column, role, about=kept)
        sketch.wire("fork", linear, "decoder", leave=side)
        if letter != "Q":
            sketch.tensor(letter, 2, column, role, 6, 5)
            sketch.wire(linear, letter, role, enter_at=11 / 12)
    sketch.box("weights", "Scores, softmax", 3, 1, "query", columns=2, about=CACHED)
    sketch.box("sum", "Weighted sum", 4, 0, "value", columns=3, about=CACHED)
    sketch.data("out", "one row: the new token's", 5, 0, columns=3)
    sketch.wire("K", "weights", "key")
    sketch.wire("linear-Q", "weights", "query")
    sketch.wire("V", "sum", "value")
    sketch.wire("weights", "sum", "query")
    sketch.wire("sum", "out", "value")
    sketch.frame("V", role="value", label="cache")
    sketch.frame("K", role="key", label="cache")


@diagram("additive-score", rows=20, columns=24)
def additive(sketch: Sketch) -> None:
    """An additive score.

    The decoder's state before, s, goes through W, a state of the encoder, h, through U. The two are
    added, tanh is applied, and the product with v is the score e: how well the two go together.
    """
    code = About(section="alignment-model", code=f"{LAYERS}.additive_attention.AdditiveAttention")
    sketch.data("s", "$s_{t-1}$", 0, 0, "decoder")
    sketch.data("h", "$h_i$", 0, 2, "encoder")
    sketch.box("W", "times $W$", 1, 0, "query", about=code)
    sketch.box("U", "times $U$", 1, 2, "key", about=code)
    sketch.box("sum", "+", 2, 1, kind="operation")
    sketch.box("tanh", "tanh", 3, 1, kind="norm")
    sketch.box("v", "times $v$", 4, 1, about=code)
    sketch.data("score", "score $e_{ti}$", 5, 1)
    sketch.wire("s", "W", "decoder")
    sketch.wire("h", "U", "encoder")
    sketch.wire("W", "sum", "query", enter="left")
    sketch.wire("U", "sum", "key", enter="right")
    sketch.path("", "sum", "tanh", "v", "score")


@diagram("sum-over-heads", rows=24, columns=22)
def sum_over_heads(sketch: Sketch) -> None:
    """A sum over heads.

    X goes into heads 1, 2, up to h. What each head finds is multiplied by its own block of the
    output matrix, which makes it as wide as X; and all of this is added.
    """
    section = About(section="sum-over-heads")
    sketch.data("x", "$X$", 0, 0, "encoder", columns=3)
    sketch.junction("fork", 0.5, 0, "encoder", columns=3)
    sketch.box("sum", "+", 3, 1, kind="operation")
    sketch.data("out", "output", 4, 1)
    sketch.wire("x", "fork", "encoder")
    sketch.wire("sum", "out")
    for place, (name, leave) in enumerate(zip("12h", SIDES, strict=True)):
        head, block = f"head-{place}", f"block-{place}"
        sketch.box(head, f"head ${name}$", 1, place, "query", about=HEAD)
        sketch.box(block, f"times $W^O_{name}$", 2, place, "value", about=section)
        sketch.wire("fork", head, "encoder", leave=leave)
        sketch.wire(head, block, "value")
        sketch.wire(block, "sum", "value", enter=("left", "bottom", "right")[place])


@diagram("rotary", rows=22, columns=40)
def rotary(sketch: Sketch) -> None:
    """A score that knows the distance.

    The query at place m is turned by theta m, the key at place n by theta n. Their dot product
    knows the distance m - n, and neither place.
    """
    code = About(section="rotary-positions", code=f"{LAYERS}.positional.RotaryPositions")
    sketch.data("q", "query at $m$", 0, 0, "query")
    sketch.data("k", "key at $n$", 0, 1, "key")
    sketch.box("turn-q", "turn by $θm$", 1, 0, "query", about=code)
    sketch.box("turn-k", "turn by $θn$", 1, 1, "key", about=code)
    sketch.box("product", "Dot product", 2, 0, columns=2, about=HEAD)
    sketch.data("score", "knows $m-n$ alone", 3, 0, columns=2)
    sketch.path("query", "q", "turn-q", "product")
    sketch.path("key", "k", "turn-k", "product")
    sketch.wire("product", "score")


@diagram("reordered-cache", rows=16, columns=60)
def reordered_cache(sketch: Sketch) -> None:
    """A cache follows its hypotheses.

    Left, the cached keys of three hypotheses, a row each; right, those after the next step, each
    row with room for a new key. The first row is dropped, the second goes on twice, the third once.
    """
    survivors = (1, 1, 2)
    for row, old in enumerate(survivors):
        kept = row in survivors
        cells = (0, 1, 2, 3) if kept else ()
        sketch.tensor(f"before-{row}", 2 - row, 0, "key" if kept else "mask", 4, *cells)
        sketch.tensor(f"after-{row}", 2 - row, 1, "key", 5, 0, 1, 2, 3)
        sketch.wire(f"before-{old}", f"after-{row}", "key", **ACROSS)
    sketch.data("before", "three hypotheses", 3, 0)
    sketch.data("after", "go on from 1, 1, 2", 3, 1)
