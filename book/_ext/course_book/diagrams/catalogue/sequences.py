"""Words in a row: guessing the next, learning from a text, searching, comparing, counting."""

from course_book.diagrams.parts import About, Box, Diagram, Role, Wire


def _word(name: str, text: str, row: float, column: float, role: Role = "") -> Box:
    return Box(id=name, text=text, row=row, column=column, kind="data", role=role)


def next_word() -> Diagram:
    """Return a language model at work: words in, a probability for each next word out."""
    guesses = {"barks": 6, "sleeps": 3, "table": 1}
    boxes = [
        Box(id="text", text="the dog in the garden …", row=0, column=0, columns=2, kind="data",
            role="encoder"),
        Box(id="model", text="language model", row=1, column=0, columns=2, role="prediction",
            about=About(section="the-next-word")),
        Box(id="answer", text="how probable is each word?", row=2, column=0, columns=2,
            kind="data", role="prediction"),
    ]  # fmt: skip
    for place, (word, share) in enumerate(guesses.items()):
        bar = tuple(range(share))
        boxes += [
            _word(word, word, 5 - place, 0, "prediction"),
            Box(id=f"{word}-bar", row=5 - place, column=1, kind="tensor", cells=8, marked=bar,
                role="prediction"),
        ]  # fmt: skip
    return Diagram(
        title="A language model",
        description="The beginning of a sentence goes into a language model, and a probability for "
        "each possible next word comes out: a long bar for barks, a shorter one for sleeps, a very "
        "short one for table.",
        boxes=tuple(boxes),
        wires=(
            Wire(source="text", target="model", role="encoder"),
            Wire(source="model", target="answer", role="prediction"),
        ),
        row_gap=16,
        column_gap=24,
    )


def teacher_forcing() -> Diagram:
    """Return a decoder in training: all right words in, each shifted by one."""
    given, wanted = ("start", "le", "chien", "dort"), ("le", "chien", "dort", "end")
    boxes = [
        Box(id="decoder", text="decoder: each place sees itself\nand what is left of it", row=1,
            column=0, columns=4, role="decoder",
            about=About(section="teacher-forcing-in-parallel")),
    ]  # fmt: skip
    wires = []
    for place, (before, after) in enumerate(zip(given, wanted, strict=True)):
        boxes += [
            _word(f"given-{place}", before, 0, place, "decoder"),
            Box(id=f"loss-{place}", text="loss", row=2, column=place, kind="norm"),
            _word(f"wanted-{place}", after, 3, place, "truth"),
        ]
        wires += [
            Wire(source=f"given-{place}", target="decoder", role="decoder"),
            Wire(source="decoder", target=f"loss-{place}", role="prediction"),
            Wire(source=f"wanted-{place}", target=f"loss-{place}", leave="bottom", enter="top"),
        ]
    return Diagram(
        title="All places learn at once",
        description="From below the right words go into the decoder: start, le, chien, dort. Each "
        "place says what comes next, and its loss compares that with the same words shifted by "
        "one, from above: le, chien, dort, end.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=24,
        column_gap=26,
    )


def search_tree() -> Diagram:
    """Return the four sentences among which greedy search takes the wrong one."""
    branches = {
        "the": ("0.6", {"cat": "0.55", "dog": "0.45"}),
        "a": ("0.4", {"cat": "0.9", "dog": "0.1"}),
    }
    products = {"the cat": "0.33", "the dog": "0.27", "a cat": "0.36", "a dog": "0.04"}
    path: dict[str, Role] = {
        "the": "key",
        "the cat": "key",
        "a": "prediction",
        "a cat": "prediction",
    }
    boxes = [
        Box(
            id="start",
            text="start",
            row=1.5,
            column=0,
            kind="norm",
            about=About(section="greedy-search"),
        )
    ]
    wires = []
    for place, (first, (share, followers)) in enumerate(branches.items()):
        role = path.get(first, "")
        boxes.append(
            Box(id=first, text=f"{first}\n{share}", row=2.5 - 2 * place, column=1, role=role)
        )
        wires.append(Wire(source="start", target=first, leave="right", enter="left", role=role))
        for leaf, (second, chance) in enumerate(followers.items()):
            name = f"{first} {second}"
            row, role = 3 - 2 * place - leaf, path.get(name, "")
            boxes += [
                Box(id=name, text=f"{second}\n{chance}", row=row, column=2, role=role),
                _word(f"{name} product", f"{share} · {chance} = {products[name]}", row, 3, role),
            ]
            wires += [
                Wire(source=first, target=name, leave="right", enter="left", role=role),
                Wire(source=name, target=f"{name} product", leave="right", enter="left", role=role),
            ]
    return Diagram(
        title="Where greedy search goes wrong",
        description="A tree of four sentences. First the, with probability 0.6, or a, with 0.4; "
        "after the, cat 0.55 or dog 0.45; after a, cat 0.9 or dog 0.1. The products: the cat "
        "0.33, the dog 0.27, a cat 0.36, a dog 0.04. Greedy search takes the and then cat; a cat "
        "is the most probable.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=14,
        column_gap=30,
    )  # fmt: skip


def clipped_matches() -> Diagram:
    """Return a candidate above a reference, and the words that count."""
    candidate = ("the", "cat", "the", "cat", "on", "the", "mat")
    reference = ("the", "cat", "is", "", "on", "the", "mat")
    clipped = (2, 3)
    boxes, wires = [], []
    for place, (said, meant) in enumerate(zip(candidate, reference, strict=True)):
        role: Role = "mask" if place in clipped else "prediction"
        boxes.append(Box(id=f"said-{place}", text=said, row=1, column=place, role=role))
        if meant:
            boxes.append(_word(f"meant-{place}", meant, 0, place, "truth"))
        if place not in clipped:
            wires.append(Wire(source=f"meant-{place}", target=f"said-{place}", role="prediction"))
    boxes.append(
        Box(id="count", text="5 of 7 words count", row=2, column=0, columns=7, kind="data",
            role="prediction")
    )  # fmt: skip
    return Diagram(
        title="Each word of the reference counts once",
        description="The candidate, the cat the cat on the mat, stands above the reference, the "
        "cat is on the mat. Five of its seven words find a partner; the second cat, and the the "
        "before it, find none that is still free.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=26,
        column_gap=8,
    )


def word_and_place() -> Diagram:
    """Return a sentence whose words get their places."""
    boxes, wires = [], []
    for place, word in enumerate(("dog", "bites", "man")):
        column = 2 * place + 1
        boxes += [
            _word(f"word-{place}", word, 0, column, "encoder"),
            Box(id=f"vector-{place}", row=1, column=column, kind="tensor", cells=4, role="encoder",
                marked=((0, 2), (1,), (0, 3))[place]),
            Box(id=f"sum-{place}", text="+", row=2, column=column, kind="operation"),
            _word(f"place-{place}", f"place {place}", 2, column - 1, "key"),
            Box(id=f"result-{place}", row=3, column=column, kind="tensor", cells=4, role="query",
                marked=((0, 2), (1, 3), (0, 2, 3))[place]),
        ]  # fmt: skip
        wires += [
            Wire(source=f"word-{place}", target=f"vector-{place}", role="encoder"),
            Wire(source=f"vector-{place}", target=f"sum-{place}", role="encoder"),
            Wire(source=f"place-{place}", target=f"sum-{place}", leave="right", enter="left",
                 role="key"),
            Wire(source=f"sum-{place}", target=f"result-{place}", role="query"),
        ]  # fmt: skip
    return Diagram(
        title="A word and its place",
        description="Three columns, dog, bites, man. To the vector of each word the vector of its "
        "place is added, 0, 1 or 2; the sum is what attention reads.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=22,
        column_gap=6,
    )


def task_shapes() -> Diagram:
    """Return the ways in which a recurrent network is connected to its task."""
    kinds = {
        "many to one": ("111", "001"),
        "one to many": ("100", "111"),
        "in step": ("111", "111"),
        "one after the other": ("11000", "00111"),
    }
    boxes, wires, column = [], [], 0
    for place, (name, (read, written)) in enumerate(kinds.items()):
        row, column = (3, 0)[place // 2], (0, 6)[place % 2]
        for step, (reads, writes) in enumerate(zip(read, written, strict=True)):
            cell = f"{name}-{step}"
            side: Role = "decoder" if len(read) == 5 and step > 1 else "encoder"
            boxes.append(Box(id=cell, text="$h$", row=row + 1, column=column + step, role=side))
            if step:
                wires.append(
                    Wire(source=f"{name}-{step - 1}", target=cell, leave="right", enter="left")
                )
            if reads == "1":
                boxes.append(_word(f"{cell}-in", "$x$", row, column + step, "encoder"))
                wires.append(Wire(source=f"{cell}-in", target=cell, role="encoder"))
            if writes == "1":
                boxes.append(_word(f"{cell}-out", "$y$", row + 2, column + step, "prediction"))
                wires.append(Wire(source=cell, target=f"{cell}-out", role="prediction"))
    return Diagram(
        title="One and many",
        description="Four small recurrent networks. Many to one: three words are read, one answer "
        "comes at the end. One to many: one thing is read, three words come out. In step: an "
        "answer for each of three words. One after the other: two words are read, then three are "
        "written.",
        boxes=tuple(boxes),
        wires=tuple(wires),
        row_gap=20,
        column_gap=10,
    )


def masked_words() -> Diagram:
    """Return a sentence with a word hidden, and the loss at that place alone."""
    words = ("[CLS]", "the", "dog", "[MASK]", "[SEP]")
    boxes = [
        Box(id="encoder", text="encoder: each place sees all places", row=1, column=0, columns=5,
            role="encoder", about=About(section="a-small-bert")),
        Box(id="head", text="head", row=2, column=3, role="prediction",
            about=About(section="bert-heads")),
        Box(id="loss", text="loss", row=3, column=3, kind="norm"),
        _word("truth", "barks", 4, 3, "truth"),
    ]  # fmt: skip
    boxes += [_word(f"word-{place}", word, 0, place, "encoder") for place, word in enumerate(words)]
    return Diagram(
        title="The loss of a hidden word",
        description="The dog barks, with barks replaced by [MASK], goes into the encoder. Only the "
        "vector at the hidden place goes on into the head, and the loss compares what it says "
        "with barks.",
        boxes=tuple(boxes),
        wires=(
            *(Wire(source=f"word-{place}", target="encoder", role="encoder") for place in range(5)),
            Wire(source="encoder", target="head", role="prediction"),
            Wire(source="head", target="loss", role="prediction"),
            Wire(source="truth", target="loss", leave="bottom", enter="top", role="truth"),
        ),
        row_gap=20,
        column_gap=14,
    )
