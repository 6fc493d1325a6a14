"""Attention: one head, several heads, and a step with a cache; values, keys, queries in a row."""

from course_book.diagrams.catalogue.blocks import LAYERS, PORT_ROLES, SELF_ATTENTION
from course_book.diagrams.parts import About, Box, Diagram, Frame, Role, Side, Wire

CACHED = About(section="attention-with-a-cache", code=f"{LAYERS}.attention.CachedAttention")
NAMES = {"V": "values", "K": "keys", "Q": "queries"}
HEAD = About(section="self-attention", code=f"{LAYERS}.attention.scaled_dot_product_attention")
MASK = About(section="masking", code=f"{LAYERS}.masks.causal_mask")


def scaled_dot_product() -> Diagram:
    """Return the attention of one head, step by step."""
    inputs = [
        Box(id=letter, text=f"${letter}$\n{NAMES[letter]}", row=0, column=column, kind="data",
            role=PORT_ROLES[letter])
        for column, letter in enumerate("VKQ")
    ]  # fmt: skip
    steps = [
        Box(
            id="products", text="Dot products", row=1, column=1, columns=2, role="query", about=HEAD
        ),
        Box(
            id="scale",
            text="Divide by √$d_k$",
            row=2,
            column=1,
            columns=2,
            role="query",
            about=HEAD,
        ),
        Box(id="mask", text="Mask", row=3, column=1, columns=2, role="mask", about=MASK),
        Box(id="softmax", text="Softmax", row=4, column=1, columns=2, role="query", about=HEAD),
        Box(id="sum", text="Weighted sum", row=5, column=0, columns=3, role="value", about=HEAD),
        Box(id="out", text="a row for each query", row=6, column=0, columns=3, kind="data"),
    ]
    return Diagram(
        title="Scaled dot-product attention",
        description="From below: keys and queries go into dot products, which are divided by the "
        "root of d_k; these are the scores. A mask takes out what may not be seen, and the "
        "softmax makes weights of the rest. With them values are averaged: one row for each query.",
        boxes=(*inputs, *steps),
        wires=(
            Wire(source="K", target="products", role="key"),
            Wire(source="Q", target="products", role="query"),
            Wire(source="products", target="scale", role="query"),
            Wire(source="scale", target="mask", role="query", label="scores"),
            Wire(source="mask", target="softmax", role="query"),
            Wire(source="softmax", target="sum", role="query", label="weights"),
            Wire(source="V", target="sum", role="value"),
            Wire(source="sum", target="out", role="value"),
        ),
        row_gap=24,
        column_gap=26,
    )


def multi_head() -> Diagram:
    """Return multi-head attention, with one head as a box."""
    boxes = []
    wires = []
    for column, letter in enumerate("VKQ"):
        role, linear = PORT_ROLES[letter], f"linear-{letter}"
        boxes += [
            Box(id=letter, text=f"${letter}$\n{NAMES[letter]}", row=0, column=column, kind="data",
                role=role),
            Box(id=linear, text=f"Linear $W^{letter}$", row=1, column=column, role=role,
                about=About(section="several-heads", code=SELF_ATTENTION.code)),
        ]  # fmt: skip
        wires += [
            Wire(source=letter, target=linear, role=role),
            Wire(source=linear, target="heads", role=role),
        ]
    boxes += [
        Box(id="heads", text="Scaled dot-product attention\n$h$ heads, side by side", row=2,
            column=0, columns=3, kind="stack", about=HEAD),
        Box(id="concat", text="Concatenate", row=3, column=0, columns=3, kind="norm",
            about=About(section="several-heads")),
        Box(id="linear-O", text="Linear $W^O$", row=4, column=0, columns=3,
            about=About(section="sum-over-heads", code=SELF_ATTENTION.code)),
        Box(id="out", text="a row for each query", row=5, column=0, columns=3, kind="data"),
    ]  # fmt: skip
    wires += [
        Wire(source=source, target=target)
        for source, target in (("heads", "concat"), ("concat", "linear-O"), ("linear-O", "out"))
    ]
    return Diagram(
        title="Multi-head attention",
        description="Values, keys and queries go through a linear layer each, and into h heads "
        "side by side. Each head is scaled dot-product attention on its own part of the width. "
        "What the heads return is concatenated and goes through a last linear layer.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=26,
        column_gap=20,
    )


def kv_cache() -> Diagram:
    """Return one step of attention with a cache of keys and values."""
    boxes = [
        Box(id="token", text="the new token alone", row=0, column=0, columns=3, kind="data",
            role="decoder"),
        Box(id="fork", row=0.45, column=0, columns=3, kind="junction", role="decoder"),
    ]  # fmt: skip
    wires = [Wire(source="token", target="fork", role="decoder")]
    sides: tuple[Side, ...] = ("left", "top", "right")
    for column, letter in enumerate("VKQ"):
        side = sides[column]
        linear, role = f"linear-{letter}", PORT_ROLES[letter]
        boxes.append(
            Box(id=linear, text=f"Linear $W^{letter}$", row=1, column=column, role=role,
                about=About(section="what-may-be-kept"))
        )  # fmt: skip
        wires.append(Wire(source="fork", target=linear, leave=side, role="decoder"))
        if letter != "Q":
            boxes.append(
                Box(id=letter, row=2, column=column, kind="tensor", cells=6, marked=(5,), role=role)
            )
            wires.append(Wire(source=linear, target=letter, enter_at=11 / 12, role=role))
    boxes += [
        Box(id="weights", text="Scores, softmax", row=3, column=1, columns=2, role="query",
            about=CACHED),
        Box(id="sum", text="Weighted sum", row=4, column=0, columns=3, role="value",
            about=CACHED),
        Box(id="out", text="one row: the new token's", row=5, column=0, columns=3, kind="data"),
    ]  # fmt: skip
    wires += [
        Wire(source="K", target="weights", role="key"),
        Wire(source="linear-Q", target="weights", role="query"),
        Wire(source="V", target="sum", role="value"),
        Wire(source="weights", target="sum", role="query"),
        Wire(source="sum", target="out", role="value"),
    ]
    return Diagram(
        title="A step with a cache",
        description="The new token alone goes through the three linear layers. Its value is put "
        "behind the cached values, its key behind the cached keys; the earlier ones are not "
        "computed again. Its query is scored against all cached keys, and with the weights all "
        "cached values are averaged: one row, the new token's.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        frames=(
            Frame(boxes=("V",), label="cache", role="value"),
            Frame(boxes=("K",), label="cache", role="key"),
        ),
        row_gap=34,
        column_gap=36,
    )


def additive() -> Diagram:
    """Return how additive attention scores one state of the encoder."""
    code = About(section="alignment-model", code=f"{LAYERS}.additive_attention.AdditiveAttention")
    return Diagram(
        title="An additive score",
        description="The decoder's state before, s, goes through W, a state of the encoder, h, "
        "through U. The two are added, tanh is applied, and the product with v is the score e: "
        "how well the two go together.",
        boxes=(
            Box(id="s", text="$s_{t-1}$", row=0, column=0, kind="data", role="decoder"),
            Box(id="h", text="$h_i$", row=0, column=2, kind="data", role="encoder"),
            Box(id="W", text="times $W$", row=1, column=0, role="query", about=code),
            Box(id="U", text="times $U$", row=1, column=2, role="key", about=code),
            Box(id="sum", text="+", row=2, column=1, kind="operation"),
            Box(id="tanh", text="tanh", row=3, column=1, kind="norm"),
            Box(id="v", text="times $v$", row=4, column=1, about=code),
            Box(id="score", text="score $e_{ti}$", row=5, column=1, kind="data"),
        ),
        wires=(
            Wire(source="s", target="W", role="decoder"),
            Wire(source="h", target="U", role="encoder"),
            Wire(source="W", target="sum", enter="left", role="query"),
            Wire(source="U", target="sum", enter="right", role="key"),
            Wire(source="sum", target="tanh"),
            Wire(source="tanh", target="v"),
            Wire(source="v", target="score"),
        ),
        row_gap=20,
        column_gap=24,
    )


def sum_over_heads() -> Diagram:
    """Return multi-head attention as a sum of what each head writes."""
    section = About(section="sum-over-heads")
    boxes = [
        Box(id="x", text="$X$", row=0, column=0, columns=3, kind="data", role="encoder"),
        Box(id="fork", row=0.5, column=0, columns=3, kind="junction", role="encoder"),
        Box(id="sum", text="+", row=3, column=1, kind="operation"),
        Box(id="out", text="output", row=4, column=1, kind="data"),
    ]
    wires = [
        Wire(source="x", target="fork", role="encoder"),
        Wire(source="sum", target="out"),
    ]
    sides: tuple[Side, ...] = ("left", "top", "right")
    enters: tuple[Side, ...] = ("left", "bottom", "right")
    for place, (leave, enter) in enumerate(zip(sides, enters, strict=True)):
        head, block, name = f"head-{place}", f"block-{place}", ("1", "2", "h")[place]
        boxes += [
            Box(id=head, text=f"head ${name}$", row=1, column=place, role="query", about=HEAD),
            Box(id=block, text=f"times $W^O_{name}$", row=2, column=place, role="value",
                about=section),
        ]  # fmt: skip
        wires += [
            Wire(source="fork", target=head, leave=leave, role="encoder"),
            Wire(source=head, target=block, role="value"),
            Wire(source=block, target="sum", enter=enter, role="value"),
        ]
    return Diagram(
        title="A sum over heads",
        description="X goes into heads 1, 2, up to h. What each head finds is multiplied by its "
        "own block of the output matrix, which makes it as wide as X; and all of this is added.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=24,
        column_gap=22,
    )


def rotary() -> Diagram:
    """Return a score with rotary positions."""
    code = About(section="rotary-positions", code=f"{LAYERS}.positional.RotaryPositions")
    return Diagram(
        title="A score that knows the distance",
        description="The query at place m is turned by theta m, the key at place n by theta n. "
        "Their dot product knows the distance m - n, and neither place.",
        boxes=(
            Box(id="q", text="query at $m$", row=0, column=0, kind="data", role="query"),
            Box(id="k", text="key at $n$", row=0, column=1, kind="data", role="key"),
            Box(id="turn-q", text="turn by $θm$", row=1, column=0, role="query", about=code),
            Box(id="turn-k", text="turn by $θn$", row=1, column=1, role="key", about=code),
            Box(id="product", text="Dot product", row=2, column=0, columns=2, about=HEAD),
            Box(id="score", text="knows $m-n$ alone", row=3, column=0, columns=2, kind="data"),
        ),
        wires=(
            Wire(source="q", target="turn-q", role="query"),
            Wire(source="k", target="turn-k", role="key"),
            Wire(source="turn-q", target="product", role="query"),
            Wire(source="turn-k", target="product", role="key"),
            Wire(source="product", target="score"),
        ),
        row_gap=22,
        column_gap=40,
    )


def reordered_cache() -> Diagram:
    """Return a cache of three hypotheses, one of which is dropped and one doubled."""
    survivors = (1, 1, 2)
    boxes, wires = [], []
    for row, old in enumerate(survivors):
        kept: tuple[int, ...] = (0, 1, 2, 3) if row in survivors else ()
        role: Role = "key" if row in survivors else "mask"
        boxes += [
            Box(id=f"before-{row}", row=2 - row, column=0, kind="tensor", cells=4, role=role,
                marked=kept),
            Box(id=f"after-{row}", row=2 - row, column=1, kind="tensor", cells=5, role="key",
                marked=(0, 1, 2, 3)),
        ]  # fmt: skip
        wires.append(
            Wire(source=f"before-{old}", target=f"after-{row}", leave="right", enter="left",
                 role="key")
        )  # fmt: skip
    boxes += [
        Box(id="before", text="three hypotheses", row=3, column=0, kind="data"),
        Box(id="after", text="go on from 1, 1, 2", row=3, column=1, kind="data"),
    ]
    return Diagram(
        title="A cache follows its hypotheses",
        description="Left, the cached keys of three hypotheses, a row each; right, those after the "
        "next step, each row with room for a new key. The first row is dropped, the second goes "
        "on twice, the third once.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=16,
        column_gap=60,
    )
