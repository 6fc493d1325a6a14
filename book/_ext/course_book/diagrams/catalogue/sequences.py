"""Words in a row: guessing the next, learning from a text, searching, comparing, counting."""

from course_book.diagrams.parts import About, Role
from course_book.diagrams.sketch import ACROSS, Sketch, diagram


@diagram("next-word", rows=16, columns=24)
def next_word(sketch: Sketch) -> None:
    """A language model.

    A prefix of a sentence goes into a language model, and a probability for each possible next
    word comes out: a long bar for barks, a shorter one for sleeps, a very short one for table.
    """
    model = About(section="the-next-word")
    sketch.data("text", "the dog in the garden …", 0, 0, "encoder", columns=2)
    sketch.box("model", "language model", 1, 0, "prediction", columns=2, about=model)
    sketch.data("answer", "how probable is each word?", 2, 0, "prediction", columns=2)
    for row, (word, share) in {5: ("barks", 6), 4: ("sleeps", 3), 3: ("table", 1)}.items():
        sketch.data(word, word, row, 0, "prediction")
        sketch.tensor(f"{word}-bar", row, 1, "prediction", 8, *range(share))
    sketch.wire("text", "model", "encoder")
    sketch.wire("model", "answer", "prediction")


@diagram("teacher-forcing", rows=24, columns=26)
def teacher_forcing(sketch: Sketch) -> None:
    """All places learn at once.

    From below the right words go into the decoder: start, le, chien, dort. Each place says what
    comes next, and its loss compares that with the same words shifted by one, from above: le,
    chien, dort, end.
    """
    decoder = "decoder: each place sees itself\nand the places before it"
    about = About(section="teacher-forcing-in-parallel")
    sketch.box("decoder", decoder, 1, 0, "decoder", columns=4, about=about)
    words = ("start", "le", "chien", "dort", "end")
    for place in range(4):
        sketch.data(f"given-{place}", words[place], 0, place, "decoder")
        sketch.box(f"loss-{place}", "loss", 2, place, kind="norm")
        sketch.data(f"wanted-{place}", words[place + 1], 3, place, "truth")
        sketch.wire(f"given-{place}", "decoder", "decoder")
        sketch.wire("decoder", f"loss-{place}", "prediction")
        sketch.wire(f"wanted-{place}", f"loss-{place}", leave="bottom", enter="top")


@diagram("search-tree", rows=14, columns=30)
def search_tree(sketch: Sketch) -> None:
    """Where greedy search goes wrong.

    A tree of four sentences. First the, with probability 0.6, or a, with 0.4; after the, cat 0.55
    or dog 0.45; after a, cat 0.9 or dog 0.1. The products: the cat 0.33, the dog 0.27, a cat 0.36,
    a dog 0.04. Greedy search takes the and then cat; a cat is the most probable.
    """
    branches = {
        "the": ("0.6", {"cat": ("0.55", "0.33"), "dog": ("0.45", "0.27")}),
        "a": ("0.4", {"cat": ("0.9", "0.36"), "dog": ("0.1", "0.04")}),
    }
    path: dict[str, Role] = {"the": "key", "the cat": "key", "a": "prediction"}
    path["a cat"] = "prediction"
    sketch.box("start", "start", 1.5, 0, kind="norm", about=About(section="greedy-search"))
    for place, (first, (share, followers)) in enumerate(branches.items()):
        role = path[first]
        sketch.box(first, f"{first}\n{share}", 2.5 - 2 * place, 1, role)
        sketch.wire("start", first, role, **ACROSS)
        for leaf, (second, (chance, product)) in enumerate(followers.items()):
            name, row = f"{first} {second}", 3 - 2 * place - leaf
            role = path.get(name, "")
            sketch.box(name, f"{second}\n{chance}", row, 2, role)
            sketch.data(f"{name} product", f"{share} · {chance} = {product}", row, 3, role)
            sketch.path(role, first, name, f"{name} product", **ACROSS)


@diagram("clipped-matches", rows=26, columns=8)
def clipped_matches(sketch: Sketch) -> None:
    """Each word of the reference counts once.

    The candidate, the cat the cat on the mat, stands above the reference, the cat is on the mat.
    Five of its seven words find a partner; the second cat, and the the before it, find none that is
    still free.
    """
    candidate = ("the", "cat", "the", "cat", "on", "the", "mat")
    reference = ("the", "cat", "is", "", "on", "the", "mat")
    for place, (said, meant) in enumerate(zip(candidate, reference, strict=True)):
        clipped = place in (2, 3)
        sketch.box(f"said-{place}", said, 1, place, "mask" if clipped else "prediction")
        if meant:
            sketch.data(f"meant-{place}", meant, 0, place, "truth")
        if not clipped:
            sketch.wire(f"meant-{place}", f"said-{place}", "prediction")
    sketch.data("count", "5 of 7 words count", 2, 0, "prediction", columns=7)


@diagram("word-and-place", rows=22, columns=6)
def word_and_place(sketch: Sketch) -> None:
    """A word and its place.

    Three columns, dog, bites, man. To the vector of each word the vector of its place is added, 0,
    1 or 2; the sum is what attention reads.
    """
    words = {"dog": ((0, 2), (0, 2)), "bites": ((1,), (1, 3)), "man": ((0, 3), (0, 2, 3))}
    for place, (word, (before, after)) in enumerate(words.items()):
        column, added = 2 * place + 1, f"sum-{place}"
        sketch.data(f"word-{place}", word, 0, column, "encoder")
        sketch.tensor(f"vector-{place}", 1, column, "encoder", 4, *before)
        sketch.box(added, "+", 2, column, kind="operation")
        sketch.data(f"place-{place}", f"place {place}", 2, column - 1, "key")
        sketch.tensor(f"result-{place}", 3, column, "query", 4, *after)
        sketch.path("encoder", f"word-{place}", f"vector-{place}", added)
        sketch.wire(f"place-{place}", added, "key", **ACROSS)
        sketch.wire(added, f"result-{place}", "query")


@diagram("task-shapes", rows=20, columns=10)
def task_shapes(sketch: Sketch) -> None:
    """One and many.

    Four small recurrent networks. Many to one: three words are read, one answer comes at the end.
    One to many: one thing is read, three words come out. In step: an answer for each of three
    words. One after the other: two words are read, then three are written.
    """
    kinds = {"one": ("111", "001"), "many": ("100", "111"), "step": ("111", "111")}
    kinds["after"] = ("11000", "00111")
    for place, (name, (read, written)) in enumerate(kinds.items()):
        row, left = (3, 0)[place // 2], (0, 6)[place % 2]
        for step, (reads, writes) in enumerate(zip(read, written, strict=True)):
            cell, column = f"{name}-{step}", left + step
            decodes = len(read) == 5 and step > 1
            sketch.box(cell, "$h$", row + 1, column, "decoder" if decodes else "encoder")
            if step:
                sketch.wire(f"{name}-{step - 1}", cell, **ACROSS)
            if reads == "1":
                sketch.data(f"{cell}-in", "$x$", row, column, "encoder")
                sketch.wire(f"{cell}-in", cell, "encoder")
            if writes == "1":
                sketch.data(f"{cell}-out", "$y$", row + 2, column, "prediction")
                sketch.wire(cell, f"{cell}-out", "prediction")


@diagram("masked-words", rows=20, columns=14)
def masked_words(sketch: Sketch) -> None:
    """The loss of a hidden word.

    The dog barks, with barks replaced by [MASK], goes into the encoder. Only the vector at the
    hidden place goes on into the head, and the loss compares its answer with barks.
    """
    encoder = "encoder: each place sees all places"
    about = About(section="a-small-bert")
    sketch.box("encoder", encoder, 1, 0, "encoder", columns=5, about=about)
    sketch.box("head", "head", 2, 3, "prediction", about=About(section="bert-heads"))
    sketch.box("loss", "loss", 3, 3, kind="norm")
    sketch.data("truth", "barks", 4, 3, "truth")
    for place, word in enumerate(("[CLS]", "the", "dog", "[MASK]", "[SEP]")):
        sketch.data(f"word-{place}", word, 0, place, "encoder")
        sketch.wire(f"word-{place}", "encoder", "encoder")
    sketch.path("prediction", "encoder", "head", "loss")
    sketch.wire("truth", "loss", "truth", leave="bottom", enter="top")


@diagram("paths", rows=20, columns=10)
def paths(sketch: Sketch) -> None:
    """The way from the first word to the fourth.

    Three networks read four words; the way of the first word to the fourth is coloured. Recurrent:
    it passes through the states of all words between, in three steps. Convolutions that see three
    words: it goes through two layers. Self-attention: one step leads from any word to the fourth.
    """
    names = ("recurrent:\n3 steps", "convolutions:\n2 layers", "self-attention:\n1 step")
    for panel, name in enumerate(names):
        left = 5 * panel
        sketch.data(f"name-{panel}", name, 3, left, columns=4)
        for place in range(4):
            sketch.data(f"word-{panel}-{place}", str(place + 1), 0, left + place, "encoder")
            for layer in (1, 2) if panel == 1 else (1,):
                node = f"node-{panel}-{layer}-{place}"
                sketch.box(node, "", layer, left + place, kind="operation")
    for place in range(1, 4):
        sketch.wire(f"word-0-{place}", f"node-0-1-{place}")
    sketch.wire("word-0-0", "node-0-1-0", "query")
    sketch.path("query", *(f"node-0-1-{place}" for place in range(4)), **ACROSS)
    for place in (1, 2):
        sketch.wire(f"word-1-{place}", "node-1-1-2")
    for place in (1, 3):
        sketch.wire(f"node-1-1-{place}", "node-1-2-3")
    sketch.path("query", "word-1-0", "node-1-1-2", "node-1-2-3")
    for place in (1, 2, 3):
        sketch.wire(f"word-2-{place}", "node-2-1-3")
    sketch.wire("word-2-0", "node-2-1-3", "query")
