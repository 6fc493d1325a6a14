"""The submissions of hw08: right ones in several styles, and one named mistake each.

Nineteen points are to be had from tests, three from the written question.
"""

from dataclasses import replace

from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, PATCHED_SHELL
from .submissions import BLANK, Edit, Submission, mistake, right

ANSWER = """\
### Why not always [MASK]?

There is no `[MASK]` in use, so the vectors of ordinary tokens must be trained too. If they were
only kept, copying would always be right; a random token has to be held against its context. And
what is hidden can't serve as context: with half of it gone, too little is left to guess from.
"""

LOOPS: dict[str, Edit] = {
    "split_word": '''
def split_word(word, vocabulary, *, unknown="[UNK]", max_characters=100):
    """Shorten the candidate from the right until it fits."""
    if max_characters <= 0:
        raise ValueError(max_characters)
    if len(word) > max_characters:
        return [unknown]
    rest, pieces = word, []
    while rest:
        candidate = rest
        while candidate and ("##" if pieces else "") + candidate not in vocabulary:
            candidate = candidate[:-1]
        if not candidate:
            return [unknown]
        pieces.append(("##" if pieces else "") + candidate)
        rest = rest[len(candidate):]
    return pieces
''',
    "corrupt_tokens": '''
def corrupt_tokens(
    token_ids, chosen, *, fate, random_ids, mask_id, mask_share=0.8, random_share=0.1
):
    """One token at a time."""
    if token_ids.dtype != torch.int64 or chosen.dtype != torch.bool:
        raise TypeError("dtypes")
    if min(mask_share, random_share) < 0 or mask_share + random_share > 1:
        raise ValueError("shares")
    changed, labels = token_ids.clone(), torch.full_like(token_ids, NOT_MASKED)
    for row, column in chosen.nonzero().tolist():
        labels[row, column] = token_ids[row, column]
        luck = float(fate[row, column])
        if luck < mask_share:
            changed[row, column] = mask_id
        elif luck < mask_share + random_share:
            changed[row, column] = random_ids[row, column]
    return changed, labels
''',
    "mask_tokens": '''
def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    """All of it by itself, without corrupt_tokens."""
    if token_ids.dtype != torch.long:
        raise TypeError("int64")
    if probability < 0 or probability > 1:
        raise ValueError("probability")
    if not 0 <= mask_id < vocab_size or any(not 0 <= i < vocab_size for i in special_ids):
        raise ValueError("ids")
    ordinary = [i for i in range(vocab_size) if i not in special_ids and i != mask_id]
    if not ordinary:
        raise ValueError("nothing is ordinary")
    changed, labels = token_ids.clone(), torch.full_like(token_ids, -100)
    chance = torch.rand(token_ids.shape, generator=generator).to(token_ids.device)
    chosen = chance < probability
    for special in special_ids:
        chosen &= token_ids != special
    labels[chosen] = token_ids[chosen]
    # What is below probability, stretched to 0 ... 1, is as good as a new draw.
    stretched = chance / max(probability, 1e-9)
    changed[chosen & (stretched < 0.8)] = mask_id
    which = torch.randint(len(ordinary), token_ids.shape, generator=generator)
    drawn = torch.tensor(ordinary)[which].to(token_ids.device)
    return MaskedTokens(torch.where(chosen & (stretched >= 0.9), drawn, changed), labels)
''',
    "next_sentence_pairs": '''
def next_sentence_pairs(documents, *, generator):
    """Indices and a helper list."""
    kept = [d for d in documents if d]
    if len(kept) < 2:
        raise ValueError("two documents")
    pairs = []
    for i in range(len(kept)):
        others = kept[:i] + kept[i + 1 :]
        for j in range(len(kept[i]) - 1):
            if torch.rand((), generator=generator) < 0.5:
                pairs.append(NextSentencePair(kept[i][j], kept[i][j + 1], 0))
            else:
                other = others[torch.randint(0, len(others), (1,), generator=generator).item()]
                place = torch.randint(0, len(other), (1,), generator=generator).item()
                pairs.append(NextSentencePair(kept[i][j], other[place], 1))
    return pairs
''',
    "BertEmbeddings": '''
class BertEmbeddings(nn.Module):
    """Positions looked up by hand."""

    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.tokens = TokenEmbedding(config.vocab_size, d)
        self.segments = nn.Embedding(num_embeddings=config.num_segments, embedding_dim=d)
        self.positions = LearnedPositions(config.max_length, d)
        self.norm = LayerNorm(d, eps=config.eps)
        self.dropout = nn.Dropout(p=config.dropout)
        self.num_segments = config.num_segments

    def forward(self, token_ids, segment_ids=None):
        if segment_ids is None:
            segment_ids = token_ids.new_zeros(token_ids.shape)
        if not {token_ids.dtype, segment_ids.dtype} <= {torch.int64, torch.int32}:
            raise TypeError("integers")
        if token_ids.shape != segment_ids.shape or token_ids.numel() == 0:
            raise ValueError("shapes")
        if token_ids.dim() != 2 or token_ids.shape[1] > len(self.positions.weight):
            raise ValueError("too long")
        if int(segment_ids.max()) >= self.num_segments or int(segment_ids.min()) < 0:
            raise IndexError("segments")
        places = self.positions.weight[: token_ids.shape[1]]
        total = self.tokens(token_ids) + self.segments(segment_ids) + places[None]
        return self.dropout(self.norm(total))
''',
    "MaskedLanguageModelHead": '''
class MaskedLanguageModelHead(nn.Module):
    """Sizes from the embedding's attributes, the product written out."""

    def __init__(self, embedding, *, eps=1e-12):
        super().__init__()
        self.projection = nn.Linear(embedding.embedding_dim, embedding.embedding_dim)
        self.norm = LayerNorm(embedding.embedding_dim, eps=eps)
        self.output_projection = nn.Linear(embedding.embedding_dim, embedding.num_embeddings)
        self.output_projection.weight = embedding.weight
        self.gelu = nn.GELU()

    def forward(self, hidden):
        x = self.norm(self.gelu(self.projection(hidden)))
        return x @ self.output_projection.weight.T + self.output_projection.bias
''',
    "SentenceClassifier": '''
class SentenceClassifier(nn.Module):
    """The mask by hand."""

    def __init__(self, config: BertConfig, num_labels: int):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            num_layers=config.num_layers, d_model=config.d_model, num_heads=config.num_heads,
            d_ff=config.d_ff, dropout=config.dropout, activation="gelu", eps=config.eps,
        )
        self.pooler = Pooler(config.d_model)
        self.classifier = nn.Linear(config.d_model, num_labels)
        init_weights(self, config.init_std)

    def forward(self, token_ids, segment_ids=None):
        real = (token_ids != self.config.pad_id)[:, None, None]
        x = self.encoder(self.embeddings(token_ids, segment_ids), real)
        return self.classifier(self.pooler(x))
''',
    "fine_tune": '''
def fine_tune(classifier, batches, *, learning_rate):
    """The loss by hand."""
    optimizer = torch.optim.AdamW(list(classifier.parameters()), learning_rate)
    history: list[float] = []
    for texts, labels in list(batches):
        classifier.train(True)
        log_probs = classifier(texts).log_softmax(dim=-1)
        loss = -log_probs[torch.arange(len(labels)), labels].mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        history += [float(loss)]
    classifier.train(False)
    return history
''',
    "why-not-always-mask": ANSWER,
}

VECTORS: dict[str, Edit] = {
    "split_word": '''
def split_word(word: str, vocabulary, *, unknown: str = "[UNK]", max_characters: int = 100):
    """Recursively."""
    if max_characters < 1:
        raise ValueError

    def rest_of(start):
        if start == len(word):
            return []
        marks = "" if start == 0 else CONTINUATION
        ends = range(start + 1, len(word) + 1)
        fitting = [end for end in ends if marks + word[start:end] in vocabulary]
        if not fitting:
            return None
        later = rest_of(max(fitting))
        return None if later is None else [marks + word[start : max(fitting)], *later]

    found = rest_of(0) if len(word) <= max_characters else None
    return [unknown] if found is None else found
''',
    "corrupt_tokens": '''
def corrupt_tokens(
    token_ids, chosen, *, fate, random_ids, mask_id, mask_share=0.8, random_share=0.1
):
    """Where in where in where."""
    if token_ids.dtype is not torch.long or chosen.dtype is not torch.bool:
        raise TypeError
    if mask_share < 0 or random_share < 0 or mask_share + random_share > 1:
        raise ValueError
    fated = torch.where(fate < mask_share + random_share, random_ids, token_ids)
    fated = torch.where(fate < mask_share, torch.full_like(token_ids, mask_id), fated)
    return MaskedTokens(
        torch.where(chosen, fated, token_ids), torch.where(chosen, token_ids, NOT_MASKED)
    )
''',
    "mask_tokens": '''
def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    """A table of who may be chosen, and Bernoulli's draw."""
    if token_ids.dtype != torch.int64:
        raise TypeError
    if not 0 <= probability <= 1:
        raise ValueError
    random_ids = draw_ordinary_tokens(
        token_ids.shape, vocab_size, {*special_ids, mask_id}, generator
    )
    may = torch.ones(vocab_size, dtype=torch.double)
    may[list(special_ids)] = 0.0
    chances = may[token_ids.cpu()] * probability
    chosen = torch.bernoulli(chances, generator=generator).bool()
    fate = torch.empty(token_ids.shape).uniform_(generator=generator)
    device = token_ids.device
    return corrupt_tokens(
        token_ids, chosen.to(device), fate=fate.to(device), random_ids=random_ids.to(device),
        mask_id=mask_id,
    )
''',
    "next_sentence_pairs": '''
def next_sentence_pairs(documents, *, generator):
    """All coins at once; another document is drawn until it is another."""
    documents = [list(document) for document in documents if len(document)]
    if len(documents) <= 1:
        raise ValueError("fewer than two documents")
    pairs = [(n, a, b) for n, d in enumerate(documents) for a, b in zip(d, d[1:])]
    coins = torch.randint(2, (len(pairs),), generator=generator).tolist()
    made = []
    for (number, first, second), coin in zip(pairs, coins):
        if coin:
            other = number
            while other == number:
                other = int(torch.randint(len(documents), (), generator=generator))
            place = torch.randint(len(documents[other]), (), generator=generator)
            second = documents[other][int(place)]
        made.append((first, second, coin))
    return made
''',
    "BertEmbeddings": '''
class BertEmbeddings(nn.Module):
    """One-hot segments."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.norm = LayerNorm(config.d_model, eps=config.eps)
        self.positions = LearnedPositions(config.max_length, config.d_model)
        self.segments = nn.Embedding(config.num_segments, config.d_model)
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, token_ids: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        x = self.positions(self.tokens(token_ids))
        if segment_ids is None:
            return self.dropout(self.norm(x + self.segments.weight[0]))
        if segment_ids.dtype not in (torch.int32, torch.int64):
            raise TypeError
        if segment_ids.shape != token_ids.shape:
            raise ValueError
        if segment_ids.max() >= len(self.segments.weight) or segment_ids.min() < 0:
            raise IndexError
        one_hot = F.one_hot(segment_ids.long(), len(self.segments.weight)).to(x.dtype)
        return self.dropout(self.norm(x + one_hot @ self.segments.weight))
''',
    "MaskedLanguageModelHead": '''
class MaskedLanguageModelHead(nn.Module):
    """The embedding is kept out of the modules, its weight is registered once more."""

    def __init__(self, embedding: TokenEmbedding, *, eps: float = 1e-12) -> None:
        super().__init__()
        vocab_size, width = embedding.weight.size()
        self.projection = nn.Linear(width, width)
        self.norm = LayerNorm(width, eps=eps)
        self.output_projection = nn.Linear(width, vocab_size)
        self.output_projection.register_parameter("weight", embedding.weight)

    def forward(self, hidden: Tensor) -> Tensor:
        for step in (self.projection, F.gelu, self.norm, self.output_projection):
            hidden = step(hidden)
        return hidden
''',
    "SentenceClassifier": '''
class SentenceClassifier(nn.Module):
    """Pooled by its own hands."""

    def __init__(self, config, num_labels):
        super().__init__()
        c = config
        self.embeddings, self.pooler = BertEmbeddings(c), Pooler(c.d_model)
        self.encoder = Encoder(
            c.num_layers, c.d_model, c.num_heads, c.d_ff, norm_position="post",
            dropout=c.dropout, activation="gelu", eps=c.eps,
        )
        self.classifier = nn.Linear(c.d_model, num_labels)
        self.mask = lambda ids: padding_mask(ids, c.pad_id)
        init_weights(self, c.init_std)

    def forward(self, token_ids, segment_ids=None):
        hidden = self.encoder(self.embeddings(token_ids, segment_ids), self.mask(token_ids))
        first = self.pooler.projection(hidden[:, 0]).tanh()
        return F.linear(first, self.classifier.weight, self.classifier.bias)
''',
    "fine_tune": '''
def fine_tune(classifier, batches, *, learning_rate):
    """A generator inside, as some like it."""
    classifier.train()
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.AdamW(
        classifier.parameters(), lr=learning_rate
    )

    def steps():
        for batch in batches:
            optimizer.zero_grad(set_to_none=False)
            loss = criterion(classifier(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            yield loss.detach().cpu().item()

    losses = [*steps()]
    classifier.eval()
    return losses
''',
}

SMALL_STEPS: dict[str, Edit] = {
    "split_word": '''
def split_word(word, vocabulary, unknown="[UNK]", max_characters=100):
    """A while loop with two pointers."""
    if max_characters < 1:
        raise ValueError("at least one")
    if len(word) > max_characters: return [unknown]
    i, result = 0, []
    while i < len(word):
        j = len(word)
        while j > i:
            piece = word[i:j] if i == 0 else "##%s" % word[i:j]
            if piece in vocabulary:
                result += [piece]
                break
            j -= 1
        if j == i:
            result = [unknown]
            break
        i = j
    return result
''',
    "corrupt_tokens": '''
def corrupt_tokens(
    token_ids: Tensor, chosen: Tensor, *, fate: Tensor, random_ids: Tensor, mask_id: int,
    mask_share: float = 0.8, random_share: float = 0.1,
):
    """Integers instead of conditions."""
    if token_ids.dtype != torch.int64: raise TypeError("token_ids")
    if chosen.dtype != torch.bool: raise TypeError("chosen")
    if not (0 <= mask_share and 0 <= random_share and mask_share + random_share <= 1):
        raise ValueError("shares")
    is_masked = (chosen & (fate < mask_share)).long()
    is_random = (chosen & ~(fate < mask_share) & (fate < mask_share + random_share)).long()
    is_kept = 1 - is_masked - is_random
    return MaskedTokens(
        token_ids=is_masked * mask_id + is_random * random_ids + is_kept * token_ids,
        labels=token_ids * chosen.long() - 100 * (~chosen).long(),
    )
''',
    "mask_tokens": '''
def _allowed(token_ids, special_ids):
    allowed = torch.ones_like(token_ids, dtype=torch.bool)
    for special in special_ids:
        allowed = allowed & token_ids.ne(special)
    return allowed


def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    """A helper for the specials, three draws."""
    if probability != min(max(probability, 0.0), 1.0):
        raise ValueError("probability")
    device, shape = token_ids.device, token_ids.shape
    draws = torch.rand(2, *shape, generator=generator).to(device)
    ids = draw_ordinary_tokens(list(shape), vocab_size, [*special_ids, mask_id], generator)
    chosen = torch.logical_and(draws[0] < probability, _allowed(token_ids, special_ids))
    return corrupt_tokens(
        token_ids, chosen, fate=draws[1], random_ids=ids.to(device), mask_id=mask_id
    )
''',
    "next_sentence_pairs": '''
def next_sentence_pairs(documents: Sequence, *, generator: torch.Generator) -> list:
    """Numbers from a permutation."""
    documents = list(filter(len, documents))
    if len(documents) < 2:
        raise ValueError("documents")
    def draw(n): return torch.randperm(n, generator=generator)[0].item()
    result = []
    for k, document in enumerate(documents):
        rest = [d for m, d in enumerate(documents) if m != k]
        for here, following in zip(document[:-1], document[1:]):
            label = draw(2)
            if label: d = rest[draw(len(rest))]
            result.append(NextSentencePair(here, d[draw(len(d))] if label else following, label))
    return result
''',
    "SentenceClassifier": '''
class _Body(nn.Module):
    pass


class SentenceClassifier(nn.Module):
    """Built in a loop."""

    def __init__(self, config, num_labels):
        super().__init__()
        sizes = (config.num_layers, config.d_model, config.num_heads, config.d_ff)
        rest = {"dropout": config.dropout, "activation": "gelu", "eps": config.eps}
        for name, part in (
            ("embeddings", BertEmbeddings(config)), ("encoder", Encoder(*sizes, **rest)),
            ("pooler", Pooler(config.d_model)),
            ("classifier", nn.Linear(config.d_model, num_labels)),
        ):
            self.add_module(name, part)
        init_weights(self, config.init_std)
        self.padding = config.pad_id

    def forward(self, token_ids, segment_ids=None):
        x = self.embeddings(token_ids, segment_ids)
        for layer in self.encoder.layers:
            x = layer(x, padding_mask(token_ids, self.padding))
        return self.classifier(self.pooler(x))
''',
    "MaskedLanguageModelHead": '''
class MaskedLanguageModelHead(nn.Module):
    """GELU by its formula, the normal distribution's."""

    def __init__(self, embedding, eps=1e-12):
        super().__init__()
        d_model = embedding.weight.shape[1]
        self.projection = nn.Linear(d_model, d_model)
        self.norm = LayerNorm(d_model, eps=eps)
        self.output_projection = nn.Linear(d_model, embedding.weight.shape[0])
        del self.output_projection.weight
        self.output_projection.weight = embedding.weight

    def forward(self, hidden):
        x = self.projection(hidden)
        x = x * 0.5 * (1 + torch.erf(x / 2**0.5))
        return self.output_projection(self.norm(x))
''',
    "BertEmbeddings": '''
class BertEmbeddings(nn.Module):
    """Checks in a method of its own."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.segments = nn.Embedding(config.num_segments, config.d_model)
        self.positions = LearnedPositions(config.max_length, config.d_model)
        self.norm = LayerNorm(config.d_model, eps=config.eps)
        self.dropout = nn.Dropout(config.dropout)

    def _checked(self, segment_ids, like):
        if segment_ids is None:
            return torch.zeros(like.shape, dtype=torch.long, device=like.device)
        if segment_ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(str(segment_ids.dtype))
        if segment_ids.shape != like.shape:
            raise ValueError(str(segment_ids.shape))
        return segment_ids

    def forward(self, token_ids, segment_ids=None):
        segments = self.segments(self._checked(segment_ids, token_ids))
        parts = torch.stack([self.tokens(token_ids), segments])
        return self.dropout(self.norm(self.positions(parts.sum(0))))
''',
    "fine_tune": '''
def fine_tune(classifier: nn.Module, batches, *, learning_rate: float) -> list[float]:
    """Gradients cleared on the model."""
    losses = []
    optimizer = torch.optim.AdamW(classifier.parameters(), lr=learning_rate)
    classifier.train()
    for step, (x, y) in enumerate(batches):
        classifier.zero_grad()
        loss = F.nll_loss(F.log_softmax(classifier(x), -1), y)
        losses.insert(step, loss.item())
        loss.backward()
        optimizer.step()
    classifier.eval()
    return losses
''',
}

NAMES = (
    "split_word", "corrupt_tokens", "mask_tokens", "next_sentence_pairs", "BertEmbeddings",
    "MaskedLanguageModelHead", "SentenceClassifier", "fine_tune",
)  # fmt: skip
NOTHING_WRITTEN: dict[str, Edit] = dict.fromkeys(NAMES, BLANK)
EVERYTHING = dict.fromkeys(NAMES, "*")

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, with loops", edits=LOOPS),
    Submission(student="bela", what="right, in vectors", edits=VECTORS),
    Submission(student="chidi", what="right, in small steps", edits=SMALL_STEPS),
    Submission(student="dana", what="half done: parts 4 and 5 not begun",
        edits=dict.fromkeys(NAMES[4:], BLANK), lost=dict.fromkeys(NAMES[4:], "*")),
    Submission(student="fatima", what="os._exit",
        edits={"split_word": "def split_word(*args, **kwargs):\n    os._exit(0)\n"},
        lost={"split_word": "*"}, status=Status.CRASH, judge_only=True),
    Submission(student="goran", what="hostile: a result that equals everything",
        edits={name: f"{ALWAYS_RIGHT}{name} = AlwaysRight()" for name in NAMES}, lost=EVERYTHING),
    Submission(student="hana", what="hostile: run_cell patched, nothing written",
        edits=NOTHING_WRITTEN, extra=PATCHED_SHELL, lost=EVERYTHING, judge_only=True),
)  # fmt: skip

# ---- one mistake each, as edits of the solution ----


def split(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in split_word."""
    return mistake(what, "split_word", edits, **promised)


def corrupt(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in corrupt_tokens."""
    return mistake(what, "corrupt_tokens", edits, **promised)


def masking(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in mask_tokens."""
    return mistake(what, "mask_tokens", edits, **promised)


def pairing(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in next_sentence_pairs."""
    return mistake(what, "next_sentence_pairs", edits, **promised)


def embedding(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in BertEmbeddings."""
    return mistake(what, "BertEmbeddings", edits, **promised)


def head(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in MaskedLanguageModelHead."""
    return mistake(what, "MaskedLanguageModelHead", edits, **promised)


def classifier(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in SentenceClassifier."""
    return mistake(what, "SentenceClassifier", edits, **promised)


def tuning(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in fine_tune."""
    return mistake(what, "fine_tune", edits, **promised)


CHOOSE = "drawn & ~special"
DRAWN = "drawn = torch.rand(token_ids.shape, generator=generator).to(device) < probability"
FATE = "fate=torch.rand(token_ids.shape, generator=generator).to(device)"
LABELS = "token_ids.masked_fill(~chosen, NOT_MASKED)"
LOGITS = "self.output_projection(transformed)"
SEED_READ = "torch.Generator().manual_seed(generator.initial_seed() + 1)"
STARTED = "        init_weights(self, config.init_std)\n"
SHARED = "        self.output_projection.weight = embedding.weight\n"

TOKEN_BY_TOKEN = '''
def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    """As the text tells it; three draws at most for each token."""
    if token_ids.dtype != torch.int64:
        raise TypeError("token_ids")
    if not 0 <= probability <= 1 or not all(0 <= i < vocab_size for i in [mask_id, *special_ids]):
        raise ValueError("probability or ids")
    ordinary = [i for i in range(vocab_size) if i not in [mask_id, *special_ids]]
    if not ordinary:
        raise ValueError("all special")

    def luck():
        return float(torch.rand((), generator=generator))

    changed, labels = token_ids.clone(), torch.full_like(token_ids, -100)
    for row, tokens in enumerate(token_ids.tolist()):
        for place, token in enumerate(tokens):
            if token in special_ids or luck() >= probability:
                continue
            labels[row, place] = token
            fate = luck()
            if fate < 0.8:
                changed[row, place] = mask_id
            elif fate < 0.9:
                which = torch.randint(len(ordinary), (), generator=generator)
                changed[row, place] = ordinary[which]
    return MaskedTokens(changed, labels)
'''

MISTAKES: tuple[Submission, ...] = (
    split("no marks where a limit is given", ("pieces.append(mark + word[start:end])",
         "pieces.append((mark if max_characters == 100 else '') + word[start:end])"),
        lost="limits", hint="the pieces stand in no list, or lack their marks"),
    right("a tuple of pieces", {"split_word": (("return pieces", "return tuple(pieces)"),)}),
    pairing("labels by a pattern in place of a coin",
        ("label = draw(2)", "label = len(pairs) // 2 % 2"),
        lost="balance", hint="labels that the next call with the same generator gives again"),
    pairing("labels that are no ints where documents are long",
        ("label = draw(2)", "label = draw(2) if not 50 < len(document) < 300 else draw(2) == 1"),
        lost="balance", hint="shows here: a label is no int"),
    pairing("labels the other way round where documents are long",
        ("label=label)", "label=label if len(document) < 300 else 1 - label)"),
        lost="random", hint="shows here: a label does not say whether the second follows"),
    embedding("no way back to the tokens",
        ("tokens = self.tokens(token_ids)", "tokens = self.tokens(token_ids).detach()"),
        lost="values", hint="no gradient flows back to tokens.weight"),
    head("no way back to the body",
        ("self.projection(hidden)", "self.projection(hidden.detach())"),
        lost="values", hint="no gradient flows back to hidden"),
    head("a bias that learns nothing",
        (LOGITS,
         "F.linear(transformed, self.output_projection.weight, "
         "self.output_projection.bias.detach())"),
        lost="sharing", hint="the output's bias is trained too"),
    classifier("a head that trains alone",
        ("self.pooler(hidden)", "self.pooler(hidden.detach())"),
        lost="values", hint="no gradient flows back to embeddings"),
    classifier("tokens without places",
        ("self.embeddings = BertEmbeddings(config)",
         "self.tokens_alone = nn.Embedding(config.vocab_size, config.d_model)\n"
         "        self.embeddings = lambda token_ids, _: self.tokens_alone(token_ids)"),
        lost="values", hint="they are BertEmbeddings(config)"),
    classifier("a state beside which nothing counts",
        ("    def forward(",
         "    def state_dict(self, *args, **settings):\n"
         "        state = super().state_dict(*args, **settings)\n"
         "        return state | {'classifier.bias': state['classifier.bias'] + 1e9}\n\n"
         "    def forward("),
        ("self.embeddings(token_ids, segment_ids)", "self.embeddings(token_ids)"),
        lost="values", hint="the segments are not handed on"),
    Submission(student="fine-tune-positions-left", what="positions left as they are",
        edits={
            "BertEmbeddings": LOOPS["BertEmbeddings"],
            "fine_tune": (
                ("classifier.parameters()",
                 "[p for name, p in classifier.named_parameters() if 'positions' not in name]"),)},
        lost={"fine_tune": "learns"},
        hint="shows here: embeddings.positions.weight is not trained"),
    # ---- split_word ----
    split("in lower case", ("    if max_characters < 1:",
         "    word = word.lower()\n    if max_characters < 1:"),
        lost="pieces", hint="a word is looked for as it is written"),
    split("shortest piece first",
        ("range(len(word), start, -1)", "range(start + 1, len(word) + 1)"),
        lost="pieces", hint="try the longest piece first; all but the first carry the"),
    split("the whole vocabulary, longest first",
        ("        for end in range(len(word), start, -1):\n"
         "            if mark + word[start:end] in vocabulary:\n                break\n",
         "        for piece in sorted(vocabulary, key=len, reverse=True):\n"
         "            end = start + len(piece) - len(mark)\n"
         "            if end > start and piece == mark + word[start:end]:\n"
         "                break\n"),
        lost="pieces", hint="is not iterable"),
    split("the last letter never reached",
        ("range(len(word), start, -1)", "range(len(word) - 1, start, -1)"),
        lost="*", hint="reaches to the end of the word"),
    split("no mark inside a word", ("CONTINUATION if start > 0 else", "'' if start > 0 else"),
        lost="pieces", hint="try the longest piece first; all but the first carry the"),
    split("the mark before every piece", ('CONTINUATION if start > 0 else ""', "CONTINUATION"),
        lost="pieces", hint="try the longest piece first; all but the first carry the"),
    split("marks looked up but not written",
        ("pieces.append(mark + word[start:end])", "pieces.append(word[start:end])"),
        lost="pieces", hint="pieces inside a word begin with ##"),
    split("marks written but not looked up",
        ("if mark + word[start:end] in", "if word[start:end] in"),
        lost="pieces", hint="try the longest piece first; all but the first carry the"),
    split("what was found before the unknown is kept",
        ("        else:\n            return [unknown]",
         "        else:\n            return [*pieces, unknown]"),
        lost="unknown", hint="the pieces that were found must go too"),
    split("what can't be written is left out",
        ("        else:\n            return [unknown]",
         "        else:\n            return pieces"),
        lost="unknown", hint="one unknown for the whole word"),
    split("unknown letter by letter",
        ("        else:\n            return [unknown]\n",
         "        else:\n            pieces += [unknown]\n"
         "            start += 1\n            continue\n"),
        lost="unknown", hint="the pieces that were found must go too"),
    split("the name of the unknown written in stone",
        ("        else:\n            return [unknown]",
         "        else:\n            return ['[UNK]']"),
        lost="unknown", hint="the argument unknown says what to write"),
    split("too long by one", ("len(word) > max_characters", "len(word) >= max_characters"),
        lost="limits", hint="3 are allowed, 4 are too long"),
    split("no limit", ("    if len(word) > max_characters:\n        return [unknown]\n", ""),
        lost="limits", hint="3 are allowed, 4 are too long"),
    split("cut at the limit",
        ("        return [unknown]\n    pieces",
         "        word = word[:max_characters]\n    pieces"),
        lost="limits", hint="3 are allowed, 4 are too long"),
    split("an empty word is unknown", ("    return pieces", "    return pieces or [unknown]"),
        lost="limits", hint="no letters, no pieces"),
    split("any limit accepted", ("    if max_characters < 1:\n", "    if False:\n"),
        lost="limits", hint="max_characters must be at least 1: raise ValueError"),
    split("the name of the unknown written in stone for words that are too long",
        ("    if len(word) > max_characters:\n        return [unknown]",
         "    if len(word) > max_characters:\n        return ['[UNK]']"),
        lost="unknown", hint="the argument unknown says what to write"),
    split("the name of the unknown written in stone behind a piece",
        ("        else:\n            return [unknown]",
         "        else:\n            return ['[UNK]'] if pieces else [unknown]"),
        lost="unknown", hint="the argument unknown says what to write"),
    split("pieces joined with spaces", ("    return pieces", "    return ' '.join(pieces)"),
        lost="pieces", hint="of type str, expected list"),
    # ---- corrupt_tokens ----
    corrupt("always masked", ("chosen & (fate < mask_share)", "chosen"),
        ("chosen & (fate >= mask_share) & (fate < mask_share + random_share)",
         "chosen & (fate < 0)"),
        lost={"corrupt_tokens": "fates"}, hint="every chosen token is masked; 80 % are"),
    corrupt("never random", ("torch.where(replaced, random_ids, changed)", "changed"),
        lost={"corrupt_tokens": "fates"}, hint="10 % become a random token"),
    corrupt("never kept",
        ("(fate >= mask_share) & (fate < mask_share + random_share)", "(fate >= mask_share)"),
        lost="fates", hint="10 % stay as they are"),
    corrupt("random and kept exchanged",
        ("(fate >= mask_share) & (fate < mask_share + random_share)",
         "(fate >= mask_share + random_share)"),
        lost="fates", hint="random and kept have changed places"),
    corrupt("masked where nothing was chosen",
        ("masked = chosen & (fate < mask_share)", "masked = fate < mask_share"),
        lost="fates", hint="only chosen tokens may change"),
    corrupt("random where nothing was chosen", ("replaced = chosen & (fate", "replaced = (fate"),
        lost="fates", hint="below mask_share masked; below mask_share + random_share"),
    corrupt("random over masked",
        ("(fate >= mask_share) & (fate < mask_share + random_share)",
         "(fate < mask_share + random_share)"),
        lost="fates", hint="below 0.8 it becomes [MASK], from there below 0.9 a random"),
    corrupt("random_share measured from zero",
        ("(fate < mask_share + random_share)", "(fate < random_share)"),
        lost="fates", hint="10 % become a random token"),
    corrupt("shares written in stone", ("fate < mask_share)", "fate < 0.8)"),
        ("(fate >= mask_share) & (fate < mask_share + random_share)",
         "(fate >= 0.8) & (fate < 0.9)"),
        lost="fates", hint="below mask_share masked; below mask_share + random_share"),
    corrupt("labels everywhere", (LABELS, "token_ids.clone()"),
        lost="labels", hint="a token that was not chosen has the label -100"),
    corrupt("labels where nothing was chosen",
        (LABELS, "token_ids.masked_fill(chosen, NOT_MASKED)"),
        lost="labels", hint="-100 belongs where nothing was chosen"),
    corrupt("no label for what was kept",
        (LABELS, "token_ids.masked_fill(~(masked | replaced), NOT_MASKED)"),
        lost="labels", hint="chosen tokens that stay must be guessed too"),
    corrupt("labels of what they became",
        (LABELS, "torch.where(replaced, random_ids, changed).masked_fill(~chosen, NOT_MASKED)"),
        lost="labels", hint="the label is what the token was, not what it became"),
    corrupt("labels of what is masked", (LABELS, "changed.masked_fill(~chosen, NOT_MASKED)"),
        lost="labels", hint="the label is what the token was, before any was masked"),
    replace(
        corrupt("labels after masking in place",
            ("changed = token_ids.masked_fill(", "changed = token_ids.masked_fill_("),
            lost="labels errors", hint="the label is what the token was, before any was masked"),
        judge_only=True),
    replace(
        corrupt("labels made in token_ids",
            ("    changed = token_ids", "    labels = token_ids\n    labels[~chosen] = NOT_MASKED\n"
             "    changed = token_ids"),
            (LABELS, "labels"),
            lost="fates errors", hint="-100 belongs in the labels alone"),
        judge_only=True),
    corrupt("labels that are no integers", (LABELS, f"{LABELS}.float()"),
        lost="labels", hint="labels has dtype torch.float32"),
    corrupt("labels with a dimension too much", (LABELS, f"{LABELS}[:, None]"),
        lost="labels", hint="labels has shape"),
    corrupt("label 0 for nothing", (LABELS, "token_ids.masked_fill(~chosen, 0)"),
        lost="labels", hint="0 is a token; -100 is what the loss leaves out"),
    replace(
        corrupt("in place",
            ("changed = token_ids.masked_fill(masked, mask_id)",
             "labels = token_ids + 0\n    changed = token_ids.masked_fill_(masked, mask_id)"),
            (LABELS, "labels.masked_fill(~chosen, NOT_MASKED)"),
            lost="errors", hint="methods that end in _ and assignments such as x[mask] = y"),
        judge_only=True),
    corrupt("any integers accepted",
        ("    if token_ids.dtype != torch.int64:\n", "    if False:\n"),
        lost="errors", hint="int64 alone"),
    corrupt("shares not compared",
        ("    if not (mask_share >= 0 and", "    if False and not (mask_share >= 0 and"),
        lost="errors", hint="no share may be negative, nor may the two make more than 1:"),
    corrupt("labels first",
        ("token_ids=torch.where(replaced, random_ids, changed),  # (batch, length)",
         "token_ids=" + LABELS + ","),
        ("labels=" + LABELS + ",  # (batch, length)",
         "labels=torch.where(replaced, random_ids, changed),"),
        lost="fates", hint="these are the labels; token_ids come first"),
    # ---- mask_tokens ----
    masking("special tokens chosen too", (CHOOSE, "drawn"),
        lost="specials", hint="leave out special tokens when you choose: torch.isin finds"),
    masking("special tokens alone chosen", (CHOOSE, "drawn & special"),
        lost="chosen specials fates", hint="choose where torch.rand(...) < probability"),
    masking("only the first special id looked at",
        ("torch.tensor([*special_ids], device=device)",
         "torch.tensor([*special_ids][:1], device=device)"),
        lost="specials", hint="leave out special tokens when you choose: torch.isin finds"),
    masking("probability turned round", (DRAWN, DRAWN.replace("<", ">=")),
        lost="chosen fates", hint="choose where torch.rand(...) < probability"),
    masking("half of all by default",
        ("probability: float = 0.15", "probability: float = 0.5"),
        lost="chosen", hint="which is 0.15 if nothing else"),
    masking("always 15 %", (DRAWN, DRAWN.replace("< probability", "< 0.15")),
        lost="chosen fates", hint="choose where torch.rand(...) < probability"),
    masking("15 % of them masked, not chosen",
        (DRAWN, DRAWN.replace("< probability", "< probability / 0.8")),
        lost="chosen", hint="choose where torch.rand(...) < probability"),
    masking(
        "one draw for a whole column",
        (
            DRAWN,
            DRAWN.replace("token_ids.shape", "token_ids.shape[1:]").replace(
                "drawn = ", "drawn = torch.ones_like(special) & ("
            )
            + ")",
        ),
        lost="chosen",
    ),
    masking(
        "one draw for a whole row",
        (
            DRAWN,
            DRAWN.replace("token_ids.shape", "(len(token_ids), 1)").replace(
                "drawn = ", "drawn = torch.ones_like(special) & ("
            )
            + ")",
        ),
        lost="chosen",
    ),
    masking("the same number in each row",
        (DRAWN,
         "ranks = torch.rand(token_ids.shape, generator=generator).argsort(1).argsort(1)\n"
         "    drawn = ranks.to(device) < probability * token_ids.size(1)"),
        lost="chosen", hint="each token is chosen by itself: a row may hold any number"),
    masking("the first tokens of each row",
        (DRAWN,
         "places = torch.arange(token_ids.size(1), device=device).expand_as(special)\n"
         "    drawn = places < probability * token_ids.size(1)"),
        lost="chosen", hint="each token is chosen by itself: draw a number for each"),
    masking(
        "one draw for both",
        (
            DRAWN,
            DRAWN.replace("drawn = ", "luck = ").replace(" < probability", "")
            + "\n    drawn = luck < probability",
        ),
        (FATE, "fate=luck"),
        lost="fates",
        hint="who is chosen and what becomes of it are two draws",
    ),
    masking("the global generator", (DRAWN, DRAWN.replace(", generator=generator", "")),
        lost="chosen", hint="draw every random number from the generator that is handed"),
    masking("the same seed each time",
        (DRAWN, "generator = torch.Generator().manual_seed(0)\n    " + DRAWN),
        lost="chosen", hint="draw every random number from the generator that is handed"),
    masking("the generator's seed, not the generator",
        (DRAWN, f"generator = {SEED_READ}\n    {DRAWN}"),
        lost="chosen", hint="same generator chooses the same tokens"),
    masking("one fate for each row",
        (FATE, FATE.replace("(token_ids.shape", "((len(token_ids), 1)") + ".expand_as(token_ids)"),
        lost="fates", hint="draw a fate for each token"),
    masking("one fate for each column",
        (FATE, FATE.replace("(token_ids.shape", "(token_ids.size(1)") + ".expand_as(token_ids)"),
        lost="fates", hint="draw a fate for each token"),
    masking("special ids joined to a list", ("[mask_id, *special_ids]", "[mask_id] + special_ids"),
        ("[*special_ids]", "special_ids"),
        lost="specials"),
    masking("fates by the generator's seed",
        (FATE, FATE.replace("generator=generator", f"generator={SEED_READ}")),
        lost="chosen", hint="same generator masks the same tokens"),
    masking("random tokens by the generator's seed",
        ("[mask_id, *special_ids], generator", f"[mask_id, *special_ids], {SEED_READ}"),
        lost="chosen", hint="same generator puts in the same tokens"),
    right("one token after the other", {"mask_tokens": TOKEN_BY_TOKEN}),
    masking("one random token for all",
        ("random_ids=draw_ordinary_tokens(\n            token_ids.shape,",
         "random_ids=draw_ordinary_tokens(\n            (1, 1),"),
        lost="fates", hint="the random tokens are all ordinary ones, each as likely as"),
    masking("a row of random tokens for the whole batch",
        ("random_ids=draw_ordinary_tokens(\n            token_ids.shape,",
         "random_ids=draw_ordinary_tokens(\n            token_ids.shape[1:],"),
        lost="fates", hint="all random tokens of a column are the same"),
    masking("special tokens put in",
        ("vocab_size, [mask_id, *special_ids], generator", "vocab_size, [], generator"),
        lost="specials", hint="draw_ordinary_tokens leaves out the ids that you name"),
    masking("[CLS] alone kept out",
        ("vocab_size, [mask_id, *special_ids], generator", "vocab_size, [mask_id], generator"),
        lost="specials", hint="draw_ordinary_tokens leaves out the ids that you name"),
    masking("never random",
        (FATE, "fate=torch.rand(token_ids.shape, generator=generator).to(device) * 0.8"),
        lost="fates", hint="every chosen token is masked"),
    masking("fates from the bell curve", (FATE, FATE.replace("rand(", "randn(")),
        lost="fates", hint="drawn evenly from 0 to 1"),
    masking("always masked", (FATE, "fate=torch.zeros(token_ids.shape).to(device)"),
        lost="fates", hint="every chosen token is masked"),
    masking("fates in equal parts",
        ("        mask_id=mask_id,\n",
         "        mask_id=mask_id,\n        mask_share=1 / 3,\n        random_share=1 / 3,\n"),
        lost="fates", hint="the three fates are equally likely"),
    masking("exactly so many of each batch",
        (DRAWN,
         "ranks = torch.rand(token_ids.numel(), generator=generator).argsort().argsort()\n"
         "    drawn = ranks.view(token_ids.shape).to(device)"
         " < round(probability * token_ids.numel())"),
        lost="chosen", hint="a batch may hold any number of them"),
    masking("a token that no vocabulary holds",
        ("        ).to(device),\n        mask_id=mask_id,",
         "        ).to(device)\n        + 400_000_000,\n        mask_id=mask_id,"),
        lost="fates", hint="every id lies from 0 up to vocab_size - 1"),
    masking("any probability accepted", ("    if not 0 <= probability <= 1:\n", "    if False:\n"),
        lost="specials", hint="probability must lie in 0 to 1: ValueError"),
    masking("an error where nothing is special",
        ("torch.isin(token_ids, torch.tensor([*special_ids], device=device))",
         "torch.stack([token_ids == i for i in special_ids]).any(0)"),
        lost="specials", hint="stack expects a non-empty TensorList"),
    masking("what is [MASK] already never chosen",
        ("torch.isin(token_ids, torch.tensor([*special_ids], device=device))",
         "torch.isin(token_ids, torch.tensor([mask_id, *special_ids], device=device))"),
        lost="fates", hint="[MASK] is special where special_ids names it"),
    mistake("special ids beyond the vocabulary accepted", "mask_tokens",
        TOKEN_BY_TOKEN.replace("for i in [mask_id, *special_ids]):", "for i in [mask_id]):"),
        lost="specials", hint="mask_id and special ids must lie below vocab_size"),
    mistake("negative ids accepted", "mask_tokens",
        TOKEN_BY_TOKEN.replace("0 <= i < vocab_size", "i < vocab_size"),
        lost="specials", hint="none may be negative"),
    masking("any mask_id accepted",
        ("[mask_id, *special_ids], generator", "special_ids, generator"),
        lost="specials", hint="mask_id and special ids must lie below vocab_size"),
    # ---- next_sentence_pairs ----
    pairing("the next document in place of its own",
        ("(number + 1 + draw(len(documents) - 1)) % len(documents)",
         "[*range(number), (number + 1) % len(documents), *range(number + 1, len(documents))]["
         "draw(len(documents))]"),
        lost="random", hint="take the next one in place of its own"),
    pairing("random ones as texts",
        ("second = other[draw(len(other))]", "second = str(other[draw(len(other))])"),
        lost="order", hint="a sentence may be a list of tokens, too"),
    pairing("labels that are True and False", ("label=label)", "label=bool(label))"),
        lost="order", hint="int() one of a bool"),
    pairing("labels exchanged", ("label=label)", "label=1 - label)"),
        lost="order", hint="label 0: the second is the true next one; label 1: it is random"),
    pairing("labels that are tensors", ("label=label)", "label=torch.tensor(label))"),
        lost="order", hint="the label is the int 0 or 1"),
    pairing("a label of 400,000,000", ("label=label)", "label=400_000_000 * label)"),
        lost="order balance random", hint="a label is neither 0 nor 1"),
    pairing("always the next one", ("label = draw(2)", "label = 0"),
        lost="balance random", hint="toss a coin for each pair: torch.randint(2, (),"),
    pairing("always random", ("label = draw(2)", "label = 1"),
        lost="balance", hint="toss a coin for each pair: torch.randint(2, (),"),
    pairing("a quarter is random", ("label = draw(2)", "label = int(draw(4) == 0)"),
        lost="balance", hint="toss a coin for each pair: torch.randint(2, (),"),
    pairing("next and random in turns", ("label = draw(2)", "label = len(pairs) % 2"),
        lost="balance", hint="each pair has its own coin; here the labels follow a pattern"),
    pairing("from any document, its own too",
        ("(number + 1 + draw(len(documents) - 1)) % len(documents)", "draw(len(documents))"),
        lost="random", hint="a random sentence of the same document may be the true next"),
    pairing("from its own document",
        ("documents[(number + 1 + draw(len(documents) - 1)) % len(documents)]", "document"),
        lost="random", hint="may be the true next one"),
    pairing("always from the next document",
        ("(number + 1 + draw(len(documents) - 1)) % len(documents)",
         "(number + 1) % len(documents)"),
        lost="random", hint="every sentence of another document may be drawn, its first"),
    pairing("never from the last of the others",
        ("draw(len(documents) - 1)) %", "draw(max(len(documents) - 2, 1))) %"),
        lost="random", hint="every sentence of another document may be drawn, its first"),
    pairing("always the first sentence of another", ("other[draw(len(other))]", "other[0]"),
        lost="random", hint="every sentence of another document may be drawn, its first"),
    pairing("never the last sentence of another",
        ("other[draw(len(other))]", "other[draw(max(len(other) - 1, 1))]"),
        lost="random", hint="every sentence of another document may be drawn, its first"),
    pairing("another document is one that reads otherwise",
        ("other = documents[(number + 1 + draw(len(documents) - 1)) % len(documents)]",
         "others = [d for d in documents if d != document]\n"
         "                other = others[draw(len(others))]"), lost="random"),
    pairing("pairs left out where another document reads alike",
        ("        for first, following",
         "        if len([d for d in documents if d != document]) < 1:\n"
         "            continue\n        for first, following"),
        lost="random", hint="tell documents apart by their place"),
    pairing("from all sentences alike",
        ("other = documents[(number + 1 + draw(len(documents) - 1)) % len(documents)]",
         "other = [s for d in documents if d is not document for s in d]"),
        lost="random", hint="first draw the other document, each equally likely; then"),
    pairing("documents run into each other",
        ("pairwise(document)",
         "pairwise([*document, *sum(map(list, documents[number + 1 : number + 2]), [])[:1]])"),
        lost="order", hint="documents must not run into each other"),
    pairing("every other sentence",
        ("in pairwise(document):", "in zip(document[::2], document[1::2]):"),
        lost="order", hint="one pair for each sentence that has a next one in its"),
    pairing("empty documents drawn from",
        ("[document for document in documents if len(document) > 0]", "list(documents)"),
        lost="order"),
    pairing("empty documents taken out of the list that is given",
        ("    documents = [document for document in documents if len(document) > 0]\n",
         "    for document in list(documents):\n"
         "        if len(document) == 0:\n"
         "            documents.remove(document)\n"),
        lost="order", hint="leave out empty documents in a list of your own"),
    pairing("one document accepted", ("    if len(documents) < 2:\n", "    if False:\n"),
        lost="order", hint="a random sentence needs another document to come from:"),
    pairing("the global generator",
        ("torch.randint(count, (), generator=generator)", "torch.randint(count, ())"),
        lost="order", hint="draw every random number from the generator that is handed"),
    pairing("the generator's seed, not the generator",
        ("    pairs = []\n", f"    pairs, generator = [], {SEED_READ}\n"),
        lost="balance", hint="its seed stays as it is"),
    pairing("random ones by the generator's seed",
        ("    pairs = []\n", f"    pairs, dice = [], {SEED_READ}\n"),
        ("other[draw(len(other))]", "other[int(torch.randint(len(other), (), generator=dice))]"),
        lost="random", hint="draws the same ones"),
    pairing("texts alone",
        ("second=second", "second=str(second)"), ("first=first", "first=str(first)"),
        lost="order", hint="sentences of tokens"),
    pairing("from the first document wherever it is another",
        ("(number + 1 + draw(len(documents) - 1)) % len(documents)",
         "0 if number else 1 + draw(len(documents) - 1)"),
        lost="random", hint="every sentence of another document may be drawn, its first"),
    pairing("a new coin with the same seed",
        ("label = draw(2)",
         "label = int(torch.randint(2, (), generator=torch.Generator().manual_seed(0)))"),
        lost="balance random", hint="toss a coin for each pair: torch.randint(2, (),"),
    # ---- BertEmbeddings ----
    embedding("no positions", ("self.positions(tokens + segments)", "tokens + segments"),
        lost="values", hint="add the positions"),
    embedding("no segments", ("self.positions(tokens + segments)", "self.positions(tokens)"),
        lost="values", hint="add self.segments(segment_ids)"),
    embedding("positions added twice",
        ("self.positions(tokens + segments)",
         "tokens + segments + self.positions(tokens + segments) - tokens"),
        lost="values", hint="tokens + segments, then positions, then norm"),
    embedding("what the positions were added to, once more",
        ("self.positions(tokens + segments)",
         "tokens + segments + self.positions(tokens + segments)"),
        lost="values", hint="do not add x once more"),
    embedding("not normalised", ("self.dropout(self.norm(embedded))", "self.dropout(embedded)"),
        lost="values", hint="normalise last"),
    embedding("normalised before the positions",
        ("self.positions(tokens + segments)", "self.positions(self.norm(tokens + segments))"),
        ("self.dropout(self.norm(embedded))", "self.dropout(embedded)"),
        lost="values", hint="normalise last"),
    embedding("each part normalised",
        ("self.positions(tokens + segments)",
         "self.positions(self.norm(tokens) + self.norm(segments))"),
        lost="values", hint="tokens + segments, then positions, then norm"),
    embedding("all in segment 1 by default",
        ("torch.zeros_like(token_ids)", "torch.ones_like(token_ids)"),
        lost="values", hint="without segment_ids all tokens are in segment 0"),
    embedding("segments left out if not given",
        ("            segment_ids = torch.zeros_like(token_ids)\n",
         "            return self.dropout(self.norm(self.positions(tokens)))\n"),
        lost="values", hint="without segment_ids all tokens are in segment 0"),
    embedding("eps of its own",
        ("LayerNorm(config.d_model, eps=config.eps)", "LayerNorm(config.d_model)"),
        lost="values", hint="config.eps is not used"),
    embedding("two segments only",
        ("nn.Embedding(config.num_segments, config.d_model)", "nn.Embedding(2, config.d_model)"),
        lost="values", hint="the sizes stand in config"),
    embedding("dropout before the norm",
        ("self.dropout(self.norm(embedded))", "self.norm(self.dropout(embedded))"),
        lost="errors", hint="dropout comes last"),
    embedding("dropout always",
        ("self.dropout(self.norm(embedded))", "F.dropout(self.norm(embedded), self.dropout.p)"),
        lost="errors", hint="no dropout in evaluation"),
    embedding("no dropout", ("self.dropout(self.norm(embedded))", "self.norm(embedded)"),
        lost="errors", hint="training and evaluation give the same"),
    embedding("scaled as the Transformer does",
        ("TokenEmbedding(config.vocab_size, config.d_model)",
         "TokenEmbedding(config.vocab_size, config.d_model, scaled=True)"),
        lost="values", hint="the tokens are scaled by the root of d_model"),
    embedding("dropout of a half", ("nn.Dropout(config.dropout)", "nn.Dropout()"),
        lost="errors", hint="config.dropout is the share"),
    embedding("dropout of a tenth", ("nn.Dropout(config.dropout)", "nn.Dropout(0.1)"),
        lost="errors", hint="config.dropout is the share"),
    embedding("ValueError for a segment that is none",
        ('raise IndexError(\n                f"segment_ids must lie',
         'raise ValueError(\n                f"segment_ids must lie'),
        lost="errors", hint="IndexError"),
    embedding("segments of any shape",
        ("        if segment_ids.shape != token_ids.shape:\n", "        if False:\n"),
        lost="errors", hint="segment_ids must have the shape of token_ids: ValueError"),
    embedding("segments of any dtype",
        ("        if segment_ids.dtype not in (torch.int64, torch.int32):\n",
         "        if False:\n"), lost="errors", hint="segment ids are integers: TypeError"),
    embedding("one row of segments for all",
        ("segment_ids.shape != token_ids.shape:",
         "segment_ids.dim() != 2 or segment_ids.size(1) != token_ids.size(1):"),
        lost="errors", hint="segment_ids must have the shape of token_ids: ValueError"),
    embedding("segments counted from the end",
        ("segments = self.segments(segment_ids)", "segments = self.segments.weight[segment_ids]"),
        lost="errors", hint="segment ids must lie in 0 to num_segments - 1"),
    embedding("an embedding that checks no token ids",
        ("TokenEmbedding(config.vocab_size, config.d_model)",
         "nn.Embedding(config.vocab_size, config.d_model)"),
        lost="errors", hint="refuse token ids that don't fit"),
    embedding("the last token for -1",
        ("tokens = self.tokens(token_ids)",
         "self.tokens(token_ids.clamp(min=0))\n        tokens = self.tokens.weight[token_ids]"),
        lost="errors", hint="refuse token ids that don't fit"),
    embedding("positions that go on in a circle",
        ("self.positions(tokens + segments)",
         "tokens + segments + self.positions.weight[\n"
         "            torch.arange(token_ids.size(1)) % len(self.positions.weight)]"),
        lost="errors", hint="refuse token ids that don't fit"),
    embedding("dropout before the norm too",
        ("self.dropout(self.norm(embedded))", "self.dropout(self.norm(self.dropout(embedded)))"),
        lost="errors", hint="dropout comes once"),
    embedding("dropout of the tokens' vectors too",
        ("self.positions(tokens + segments)", "self.positions(self.dropout(tokens) + segments)"),
        lost="errors", hint="dropout comes once"),
    right("the padding's embedding does not learn",
        {
            "BertEmbeddings": (
                ("        self.segments =",
                 "        self.tokens.padding_idx = config.pad_id\n        self.segments ="),)}),
    right("the segments that stand for None in a buffer",
        {
            "BertEmbeddings": (
                ("        self.norm =",
                 "        none = torch.zeros(1, 1, dtype=torch.long)\n"
                 '        self.register_buffer("no_segments", none)\n        self.norm ='),
                ("torch.zeros_like(token_ids)",
                 "self.no_segments.expand_as(token_ids)"))}),
    # ---- MaskedLanguageModelHead ----
    head("no GELU", ("F.gelu(self.projection(hidden))", "self.projection(hidden)"),
        lost="values", hint="the GELU is missing"),
    head("probabilities in evaluation",
        (f"return {LOGITS}",
         f"logits = {LOGITS}\n        return logits if self.training else logits.softmax(-1)"),
        lost="values", hint="not probabilities"),
    head("a batch of one squeezed", (f"return {LOGITS}", f"return {LOGITS}.squeeze(0)"),
        lost="values", hint="takes away each dimension that is 1"),
    head("ReLU", ("F.gelu(", "F.relu("), lost="values", hint="GELU, not ReLU"),
    head("normalised before the GELU",
        ("self.norm(F.gelu(self.projection(hidden)))",
         "F.gelu(self.norm(self.projection(hidden)))"),
        lost="values", hint="the normalisation comes after the GELU"),
    head("not normalised",
        ("self.norm(F.gelu(self.projection(hidden)))", "F.gelu(self.projection(hidden))"),
        lost="values", hint="the normalisation is missing"),
    head("no first layer", ("F.gelu(self.projection(hidden))", "F.gelu(hidden)"),
        lost="values", hint="the first layer is missing"),
    head("probabilities", (LOGITS, f"{LOGITS}.softmax(-1)"),
        lost="values", hint="these are probabilities; return logits"),
    head("log-probabilities", (LOGITS, f"{LOGITS}.log_softmax(-1)"),
        lost="values", hint="these are log-probabilities; return logits"),
    head("not a number anywhere", (LOGITS, f'{LOGITS} * float("nan")'),
        lost="values sharing", hint="NaN entries where none belongs"),
    head("the first token alone", (LOGITS, "self.output_projection(transformed[:, 0])"),
        lost="values sharing", hint="a logit for each token"),
    head("weights of its own", (SHARED, ""),
        lost="sharing", hint="self.output_projection.weight = embedding.weight, the"),
    head("a copy of the weights",
        (SHARED,
         "        self.output_projection.weight = nn.Parameter(embedding.weight.detach() + 0)\n"),
        lost="sharing", hint="self.output_projection.weight = embedding.weight, the"),
    head("copied when it is made",
        (SHARED, "        self.output_projection.weight.data.copy_(embedding.weight)\n"),
        lost="sharing", hint="self.output_projection.weight = embedding.weight, the"),
    head("the embedding made to share the head's weights",
        (SHARED, "        embedding.weight = self.output_projection.weight\n"),
        lost="sharing", hint="the embedding may be trained already"),
    head("the shared weights drawn anew",
        (SHARED, SHARED + "        nn.init.normal_(embedding.weight, std=0.02)\n"),
        lost="sharing", hint="the embedding may be trained already"),
    head("shared, but without a gradient",
        (LOGITS,
         "transformed @ self.output_projection.weight.detach().T + self.output_projection.bias"),
        lost="sharing", hint="self.output_projection.weight = embedding.weight, the"),
    head("no bias",
        ("= nn.Linear(d_model, vocab_size)", "= nn.Linear(d_model, vocab_size, bias=False)"),
        lost="values", hint="the docstring names the three parts"),
    head("another eps by default", ("eps: float = 1e-12", "eps: float = 1e-5"),
        lost="values", hint="what is not given is as in the signature"),
    head("eps of its own", ("LayerNorm(d_model, eps=eps)", "LayerNorm(d_model)"),
        lost="values", hint="output_projection(norm(gelu(projection(hidden))))"),
    # ---- SentenceClassifier ----
    classifier("a single label loses its dimension",
        ("return self.classifier(self.pooler(hidden))",
         "return self.classifier(self.pooler(hidden)).squeeze(-1)"),
        lost="values", hint="one label has its dimension too"),
    classifier("padding not masked", (", padding_mask(token_ids, self.pad_id))", ")"),
        lost="values", hint="the padding, config.pad_id, is not masked"),
    classifier("padding not masked in a text alone",
        ("padding_mask(token_ids, self.pad_id))",
         "padding_mask(token_ids, self.pad_id) if len(token_ids) > 1 else None)"),
        lost="values", hint="its padding is masked"),
    classifier("padding not masked in training",
        ("padding_mask(token_ids, self.pad_id))",
         "None if self.training else padding_mask(token_ids, self.pad_id))"),
        lost="values"),
    classifier("padding is always 0", ("self.pad_id = config.pad_id", "self.pad_id = 0"),
        lost="values", hint="the padding, config.pad_id, is not masked"),
    classifier("segments not handed on",
        ("self.embeddings(token_ids, segment_ids)", "self.embeddings(token_ids)"),
        lost="values", hint="the segments are not handed on"),
    classifier("mean of all tokens",
        ("self.pooler(hidden)", "self.pooler(hidden.mean(1, keepdim=True))"),
        lost="values", hint="read the first token"),
    classifier("the last token", ("self.pooler(hidden)", "self.pooler(hidden.flip(1))"),
        lost="values", hint="read the first token"),
    classifier("not pooled", ("self.classifier(self.pooler(hidden))", "self.classifier(hidden)"),
        lost="values", hint="one row for each text: pool before you classify"),
    classifier("the first token, past the pooler",
        ("self.classifier(self.pooler(hidden))", "self.classifier(hidden[:, 0])"),
        lost="values", hint="the pooler is left out"),
    classifier("encoder left out",
        ("hidden = self.encoder(embedded, padding_mask(token_ids, self.pad_id))",
         "hidden = embedded"), lost="values", hint="the encoder is left out"),
    classifier("one layer, whatever the config says",
        ("            config.num_layers,\n", "            1,\n"),
        lost="values", hint="and 13 more"),
    classifier("pre-norm", ('norm_position="post"', 'norm_position="pre"'),
        lost="values", hint="it ends without a norm"),
    classifier("ReLU", ('activation="gelu"', 'activation="relu"'),
        lost="values", hint="the encoder bends with ReLU"),
    classifier("eps of its own", ("            eps=config.eps,\n", ""),
        lost="values", hint="the encoder does not have config.eps"),
    classifier("no dropout in the encoder", ("            dropout=config.dropout,\n", ""),
        lost="values", hint="hand config.dropout on"),
    classifier("no dropout in the embeddings",
        ("        self.embeddings = BertEmbeddings(config)",
         "        import dataclasses\n"
         "        without = dataclasses.replace(config, dropout=0.0)\n"
         "        self.embeddings = BertEmbeddings(without)"),
        lost="values", hint="the embeddings drop nothing"),
    classifier("dropout of a half before the last layer",
        ("self.classifier(self.pooler(hidden))",
         "self.classifier(F.dropout(self.pooler(hidden), 0.5, self.training))"),
        lost="values", hint="logits in training"),
    classifier("probabilities",
        ("return self.classifier(self.pooler(hidden))",
         "return self.classifier(self.pooler(hidden)).softmax(-1)"),
        lost="values", hint="return logits"),
    classifier("PyTorch's start", (STARTED, ""),
        lost="values", hint="init_weights(self, config.init_std) comes last"),
    classifier("all parameters drawn alike",
        (STARTED,
         "        [nn.init.normal_(p, std=config.init_std) for p in self.parameters()]\n"),
        lost="values", hint="norms begin at 1, biases at 0"),
    classifier("PyTorch's biases",
        (STARTED,
         "        for parameter in self.parameters():\n"
         "            if parameter.dim() == 2:\n"
         "                nn.init.normal_(parameter, std=config.init_std)\n"),
        lost="values", hint="norms begin at 1, biases at 0"),
    *(
        classifier(f"dropout once more, {where}", (piece, f"self.embeddings.dropout({piece})"),
            lost="values", hint="nothing else does")
        for where, piece in (
            ("as in Hugging Face's classifier", "self.pooler(hidden)"),
            ("of the embeddings", "self.embeddings(token_ids, segment_ids)"),
        )
    ),
    classifier("two labels",
        ("= nn.Linear(config.d_model, num_labels)", "= nn.Linear(config.d_model, 2)"),
        lost="values", hint="one row for each text: pool before you classify"),
    # ---- fine_tune ----
    tuning("gradients never cleared", ("        optimizer.zero_grad()\n", ""),
        lost="steps learns", hint="the gradients of earlier steps are still there"),
    tuning("cleared before the step",
        ("        optimizer.zero_grad()\n        loss.backward()\n",
         "        loss.backward()\n        optimizer.zero_grad()\n"),
        lost="steps learns", hint="nothing is learnt"),
    tuning("no step", ("        optimizer.step()\n", ""),
        lost="steps learns", hint="nothing is learnt"),
    tuning("the head alone", ("classifier.parameters()", "list(classifier.parameters())[-2:]"),
        lost="steps learns", hint="the last layer alone is trained"),
    tuning("Adam", ("optimizer = torch.optim.AdamW", "optimizer = torch.optim.Adam"),
        lost="steps", hint="nothing decays"),
    tuning("SGD", ("optimizer = torch.optim.AdamW", "optimizer = torch.optim.SGD"),
        lost="steps", hint="this is SGD; AdamW was asked for"),
    tuning("no weight decay", ("lr=learning_rate", "lr=learning_rate, weight_decay=0"),
        lost="steps", hint="nothing decays"),
    tuning("a learning rate of its own", ("lr=learning_rate", "lr=1e-3"),
        lost="steps", hint="hand learning_rate on"),
    tuning("a new optimiser in each step",
        ("    for token_ids, labels in batches:\n",
         "    for token_ids, labels in batches:\n"
         "        optimizer = torch.optim.AdamW(classifier.parameters(), lr=learning_rate)\n"),
        lost="steps", hint="has forgotten the steps before"),
    tuning("batches by their number",
        ("    for token_ids, labels in batches:\n",
         "    for number in range(len(batches)):\n        token_ids, labels = batches[number]\n"),
        lost="steps", hint="has no len()"),
    tuning("in evaluation mode", ("    classifier.train()\n", "    classifier.eval()\n"),
        lost="steps", hint="the forward pass is in evaluation mode"),
    tuning("left in training mode", ("    classifier.eval()\n", ""),
        lost="steps", hint="classifier.eval() at the end"),
    tuning("left in the mode in which it came",
        ("    classifier.train()\n", "    mode = classifier.training\n    classifier.train()\n"),
        ("    classifier.eval()\n", "    classifier.train(mode)\n"),
        lost="steps", hint="classifier.eval() at the end"),
    tuning("the sum of the losses",
        ("F.cross_entropy(classifier(token_ids), labels)",
         'F.cross_entropy(classifier(token_ids), labels, reduction="sum")'),
        lost="steps", hint="the sum over the batch; take the mean"),
    tuning("the loss after the step",
        ("losses.append(loss.item())",
         "losses.append(F.cross_entropy(classifier(token_ids), labels).item())"),
        lost="steps", hint="the mean over the batch, before the step"),
    tuning("the last loss alone", ("    return losses", "    return losses[-1]"),
        lost="steps", hint="one loss for each batch"),
    tuning("logits and labels exchanged",
        ("F.cross_entropy(classifier(token_ids), labels)",
         "F.cross_entropy(labels, classifier(token_ids))"),
        lost="*", hint="have two arguments changed places"),
    tuning("tensors for losses", ("losses.append(loss.item())", "losses.append(loss)"),
        lost="steps", hint="loss.item()"),
    tuning("softmax before the loss",
        ("F.cross_entropy(classifier(token_ids)",
         "F.cross_entropy(classifier(token_ids).softmax(-1)"),
        lost="steps", hint="no softmax before it"),
)  # fmt: skip

DELIGHT = "the two dogs [bark] all night ."

EQUIVALENT = {
    "-    device = token_ids.device": "the notebook's own device is the same on a CPU",
    "torch.tensor([*special_ids]))": "the device shows on a GPU alone; the tests run there too",
    ".to(device) <= probability": "differs if torch.rand gives exactly this number",
    "eps: float=2e-12": "so small that no float can tell",
    "eps: float=5e-13": "likewise",
    "config.d_ff, dropout=config.dropout": "post-norm is what Encoder does if not told otherwise",
}
