"""hw05: a class of every kind, and the mistakes that its checks must tell apart.

Twenty points are to be had from tests, of which two for a model that has learnt to translate; three
from the written question, which the judge leaves to a person.

Nothing is trained before every part is right. A step with one mistake has paid for it in its own
check, and keeps the points of ``learns``: these are lost where both its loss and its update are
wrong, or where it goes the wrong way.
"""

from autograder.judging.results import Status

from .submissions import BLANK, Edit, Submission, mistake, right

DELIGHT = (
    "the green frog does not chase a grey wolf  ->  la grenouille verte ne chasse pas un loup gris"
)

SECONDS = 30.0  # it trains

LAYER, STACK, WRITER = "EncoderLayer", "Encoder", "DecoderLayer"
MASKS, MODEL = "translation_masks", "Transformer"
LOSS, PACE, STEP = "label_smoothed_cross_entropy", "inverse_sqrt", "training_step"

ANSWER = """\
### The mask that was forgotten

Ana's loss gets very low, because the next token can be copied, and at translation there is nothing
to copy. Ben's average is mostly padding, so it looks better than it is. Chloé's model learns to
repeat what it has read.
"""

# ---- right, each in a style of its own ----

EXPLICIT: dict[str, Edit] = {
    LAYER: """
class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0, activation="relu",
        eps=1e-5,
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)
        norm_1, norm_2 = LayerNorm(d_model, eps=eps), LayerNorm(d_model, eps=eps)
        self.attention_residual = Residual(norm_1, norm_position=norm_position, dropout=dropout)
        self.feed_forward_residual = Residual(norm_2, norm_position=norm_position, dropout=dropout)
        self.pre = norm_position == "pre"

    def _on_the_road(self, road, x, sublayer):
        if self.pre:
            return x + road.dropout(sublayer(road.norm(x)))
        return road.norm(x + road.dropout(sublayer(x)))

    def forward(self, x, mask=None):
        def attend(y):
            return self.self_attention(query=y, key=y, value=y, mask=mask)

        x = self._on_the_road(self.attention_residual, x, attend)
        x = self._on_the_road(self.feed_forward_residual, x, self.feed_forward)
        return x
""",
    STACK: """
class Encoder(nn.Module):
    def __init__(
        self, num_layers, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0,
        activation="relu", eps=1e-5,
    ):
        super().__init__()
        if num_layers <= 0:
            raise ValueError("no layers")
        settings = dict(norm_position=norm_position, dropout=dropout, activation=activation)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            layer = EncoderLayer(d_model, num_heads, d_ff, eps=eps, **settings)
            self.layers.append(layer)
        self.norm = LayerNorm(d_model, eps=eps) if norm_position == "pre" else nn.Identity()

    def forward(self, x, mask=None):
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask)
        return self.norm(x)
""",
    WRITER: """
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0):
        super().__init__()

        def road():
            return Residual(LayerNorm(d_model), norm_position=norm_position, dropout=dropout)

        self.self_attention, self.self_attention_residual = (
            MultiHeadAttention(d_model, num_heads),
            road(),
        )
        self.cross_attention, self.cross_attention_residual = (
            MultiHeadAttention(d_model, num_heads),
            road(),
        )
        self.feed_forward, self.feed_forward_residual = (
            FeedForward(d_model, d_ff, dropout=dropout),
            road(),
        )

    def forward(self, x, memory, mask=None, memory_mask=None):
        def read_own(y):
            return self.self_attention(y, y, y, mask)

        def read_source(y):
            return self.cross_attention(query=y, key=memory, value=memory, mask=memory_mask)

        for road, sublayer in (
            (self.self_attention_residual, read_own),
            (self.cross_attention_residual, read_source),
            (self.feed_forward_residual, self.feed_forward),
        ):
            x = road(x, sublayer)
        return x
""",
    MASKS: """
def translation_masks(src, tgt, pad_id):
    batch, length = tgt.shape
    rows = [
        [
            [[tgt[b, j].item() != pad_id and j <= i for j in range(length)] for i in range(length)]
        ]
        for b in range(batch)
    ]
    source = [[[[token != pad_id for token in row]]] for row in src.tolist()]
    return torch.tensor(source, device=src.device), torch.tensor(rows, device=tgt.device)
""",
    MODEL: """
class Transformer(nn.Module):
    def __init__(
        self, src_vocab_size, tgt_vocab_size, *, d_model, num_heads, d_ff, num_layers,
        norm_position="pre", dropout=0.0, pad_id=0,
    ):
        super().__init__()
        self.src_embedding = TokenEmbedding(src_vocab_size, d_model, scaled=True)
        self.src_positions = SinusoidalPositions(d_model)
        self.src_dropout = nn.Dropout(dropout)
        self.encoder = Encoder(
            num_layers, d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout
        )
        self.tgt_embedding = TokenEmbedding(tgt_vocab_size, d_model, scaled=True)
        self.tgt_positions = SinusoidalPositions(d_model)
        self.tgt_dropout = nn.Dropout(dropout)
        self.decoder = Decoder(
            num_layers, d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout
        )
        self.output_projection = nn.Linear(d_model, tgt_vocab_size, bias=False)
        self.pad = pad_id
        start_small(self)

    def encode(self, src, src_mask):
        return self.encoder(self.src_dropout(self.src_positions(self.src_embedding(src))), src_mask)

    def decode(self, tgt, memory, tgt_mask, src_mask):
        x = self.tgt_dropout(self.tgt_positions(self.tgt_embedding(tgt)))
        return self.output_projection(self.decoder(x, memory, tgt_mask, src_mask))

    def forward(self, src, tgt):
        src_mask, tgt_mask = translation_masks(src, tgt, self.pad)
        return self.decode(tgt, self.encode(src, src_mask), tgt_mask, src_mask)
""",
    LOSS: """
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    if logits.ndim < 1 or tuple(logits.shape[:-1]) != tuple(targets.shape):
        raise ValueError("shapes")
    if smoothing < 0 or smoothing >= 1:
        raise ValueError("smoothing")
    if reduction not in {"mean", "sum", "none"}:
        raise ValueError("reduction")
    size = logits.shape[-1]
    losses = []
    for row, target in zip(logits.reshape(-1, size), targets.reshape(-1).tolist()):
        if target == ignore_index:
            losses.append(0 * row.sum())
            continue
        if not 0 <= target < size:
            raise IndexError(target)
        wanted = torch.full_like(row, smoothing / size)
        wanted[target] += 1 - smoothing
        losses.append(-(wanted * row.log_softmax(0)).sum())
    losses = torch.stack(losses).reshape(targets.shape)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / sum(target != ignore_index for target in targets.reshape(-1).tolist())
""",
    PACE: """
def inverse_sqrt(step, *, warmup_steps):
    if step < 0 or warmup_steps <= 0:
        raise ValueError((step, warmup_steps))
    if step + 1 <= warmup_steps:
        return (step + 1) / warmup_steps
    return warmup_steps**0.5 / (step + 1) ** 0.5
""",
    STEP: """
def training_step(model, optimizer, src, tgt, *, pad_id=0, smoothing=0.1, clip_norm=1.0):
    read, said = tgt[:, :-1], tgt[:, 1:]
    logits = model(src, read)
    loss = label_smoothed_cross_entropy(
        logits, said, smoothing=smoothing, ignore_index=pad_id, reduction="mean"
    )
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=clip_norm)
    optimizer.step()
    return float(loss)
""",
}

TERSE: dict[str, Edit] = {
    LAYER: """
class EncoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, *, eps: float = 1e-5,
                 activation: Activation = "relu", dropout: float = 0.0, norm_position="post"):
        super().__init__()
        road = lambda: Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )
        self.attention_residual, self.feed_forward_residual = road(), road()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)

    def forward(self, x, mask=None):
        attend = partial(self._attend, mask=mask)
        return self.feed_forward_residual(self.attention_residual(x, attend), self.feed_forward)

    def _attend(self, y, mask):
        return self.self_attention(y, y, y, mask)
""",
    STACK: """
class Encoder(nn.Module):
    def __init__(self, num_layers, *sizes, norm_position="post", eps=1e-5, **settings):
        super().__init__()
        if num_layers < 1:
            raise ValueError(num_layers)
        make = partial(
            EncoderLayer, *sizes, norm_position=norm_position, eps=eps, **settings
        )
        self.layers = nn.ModuleList([make() for _ in range(num_layers)])
        self.norm = final_norm(LayerNorm(sizes[0], eps=eps), norm_position)

    def forward(self, x, mask=None):
        for layer in self.layers: x = layer(x, mask=mask)
        return self.norm(x)
""",
    WRITER: """
class DecoderLayer(EncoderLayer):
    def __init__(self, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.self_attention_residual = self.attention_residual
        del self.attention_residual
        self.cross_attention_residual = Residual(
            LayerNorm(d_model), norm_position=norm_position, dropout=dropout
        )

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self.self_attention_residual(x, partial(self._attend, mask=mask))
        look = lambda y: self.cross_attention(y, memory, memory, memory_mask)
        return self.feed_forward_residual(
            self.cross_attention_residual(x, look), self.feed_forward
        )
""",
    MASKS: """
def translation_masks(src: Tensor, tgt: Tensor, pad_id: int):
    n = tgt.shape[1]
    past = torch.ones(n, n, dtype=torch.bool, device=tgt.device).tril()
    return (src != pad_id)[:, None, None], (tgt != pad_id)[:, None, None] * past
""",
    MODEL: """
class Transformer(nn.Module):
    def __init__(self, src_vocab_size, tgt_vocab_size, *, d_model, num_heads, d_ff, num_layers,
                 norm_position="pre", dropout=0.0, pad_id=0):
        super().__init__()
        self.p, self.pad_id = dropout, pad_id
        place = norm_position
        self.src_embedding, self.tgt_embedding = (
            TokenEmbedding(n, d_model, scaled=True) for n in (src_vocab_size, tgt_vocab_size)
        )
        self.encoder, self.decoder = (
            stack(num_layers, d_model, num_heads, d_ff, dropout=dropout, norm_position=place)
            for stack in (Encoder, Decoder)
        )
        self.output_projection = nn.Linear(d_model, tgt_vocab_size, bias=False)
        start_small(self)

    def embed(self, table, ids):
        placed = table(ids) + SinusoidalPositions(table.embedding_dim).vectors(
            ids.shape[1], device=ids.device
        )
        return F.dropout(placed, self.p, self.training)

    def forward(self, src, tgt):
        masks = translation_masks(src, tgt, self.pad_id)
        memory = self.encoder(self.embed(self.src_embedding, src), masks[0])
        out = self.decoder(self.embed(self.tgt_embedding, tgt), memory, masks[1], masks[0])
        return out @ self.output_projection.weight.T
""",
    LOSS: """
def label_smoothed_cross_entropy(
    logits: Tensor, targets: Tensor, *, smoothing: float = 0.1, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor:
    if not logits.dim() or logits.shape[:-1] != targets.shape or not 0 <= smoothing < 1:
        raise ValueError("shapes or smoothing")
    counts = torch.ones(targets.shape, device=targets.device)
    if ignore_index is not None:
        counts = (targets != ignore_index).to(logits.dtype)
    real = torch.where(counts.bool(), targets, 0)
    if bool((real < 0).any()) or bool((real >= logits.shape[-1]).any()):
        raise IndexError("no token")
    logs = logits - logits.logsumexp(-1, keepdim=True)
    hot = F.one_hot(real, logits.shape[-1]).to(logits.dtype)
    wanted = torch.lerp(hot, torch.full_like(hot, 1 / logits.shape[-1]), smoothing)
    losses = torch.einsum("...v,...v->...", wanted, -logs) * counts
    match reduction:
        case "mean":
            return losses.sum() / counts.sum()
        case "sum":
            return losses.sum()
        case "none":
            return losses
    raise ValueError(reduction)
""",
    PACE: """
def inverse_sqrt(step: int, *, warmup_steps: int) -> float:
    if min(step, warmup_steps - 1) < 0:
        raise ValueError("negative, or no warm-up")
    n = step + 1
    return warmup_steps**0.5 * min(n**-0.5, n * warmup_steps**-1.5)
""",
    STEP: """
def training_step(
    model: nn.Module, optimizer, src: Tensor, tgt: Tensor, *, pad_id=0, smoothing=0.1, clip_norm=1.0
) -> float:
    for parameter in model.parameters():
        parameter.grad = None
    said = tgt[:, 1:]
    counts = said != pad_id
    loss = label_smoothed_cross_entropy(
        model(src, tgt[:, :-1])[counts], said[counts], smoothing=smoothing
    )
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    norm = math.sqrt(sum(float(g.square().sum()) for g in gradients))
    for gradient in gradients:
        gradient.mul_(min(1.0, clip_norm / norm))
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach().item()
""",
}

FUNCTIONAL: dict[str, Edit] = {
    LAYER: """
def _road(d_model, eps, norm_position, dropout):
    norm = LayerNorm(d_model, eps=eps)
    return Residual(norm, norm_position=norm_position, dropout=dropout)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_position="post", dropout=0.0,
                 activation="relu", eps=1e-5):
        super().__init__()
        parts = {
            "self_attention": MultiHeadAttention(d_model, num_heads),
            "feed_forward": FeedForward(d_model, d_ff, activation=activation, dropout=dropout),
            "attention_residual": _road(d_model, eps, norm_position, dropout),
            "feed_forward_residual": _road(d_model, eps, norm_position, dropout),
        }
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        attend = self.self_attention
        steps = [
            (self.attention_residual, lambda y: attend(y, y, y, mask, return_weights=True)[0]),
            (self.feed_forward_residual, lambda y: self.feed_forward(y)),
        ]
        for road, sublayer in steps:
            x = road(x, sublayer)
        return x
""",
    STACK: """
class Encoder(nn.Module):
    def __init__(self, num_layers, d_model, num_heads, d_ff, *, norm_position="post", dropout=0.0,
                 activation="relu", eps=1e-5):
        super().__init__()
        if not num_layers >= 1:
            raise ValueError("num_layers")
        layers = [
            EncoderLayer(d_model, num_heads, d_ff, norm_position=norm_position, dropout=dropout,
                         activation=activation, eps=eps)
            for _ in range(num_layers)
        ]
        self.layers = nn.ModuleList(layers)
        self.norm = final_norm(LayerNorm(d_model, eps=eps), norm_position)

    def forward(self, x, mask=None):
        import functools
        return self.norm(functools.reduce(lambda y, layer: layer(y, mask), self.layers, x))
""",
    WRITER: """
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_position="post", dropout=0.0):
        super().__init__()
        self.feed_forward = FeedForward(d_model, d_ff, activation="relu", dropout=dropout)
        for name in ("self_attention", "cross_attention"):
            setattr(self, name, MultiHeadAttention(d_model, num_heads))
        for name in ("self_attention", "cross_attention", "feed_forward"):
            road = Residual(LayerNorm(d_model), norm_position=norm_position, dropout=dropout)
            setattr(self, f"{name}_residual", road)
        self.before = norm_position == "pre"

    def forward(self, x, memory, mask=None, memory_mask=None):
        attend, look, think = self.self_attention, self.cross_attention, self.feed_forward
        one, two, three = (
            self.self_attention_residual, self.cross_attention_residual, self.feed_forward_residual
        )
        if self.before:
            y = one.norm(x)
            x = x + one.dropout(attend(y, y, y, mask))
            x = x + two.dropout(look(two.norm(x), memory, memory, memory_mask))
            return x + three.dropout(think(three.norm(x)))
        x = one.norm(x + one.dropout(attend(x, x, x, mask)))
        x = two.norm(x + two.dropout(look(x, memory, memory, memory_mask)))
        return three.norm(x + three.dropout(think(x)))
""",
    MASKS: """
def translation_masks(src, tgt, pad_id):
    places = torch.arange(tgt.size(-1), device=tgt.device)
    not_later = places.unsqueeze(0) <= places.unsqueeze(1)
    real = tgt.ne(pad_id).unsqueeze(1).unsqueeze(1)
    return src.ne(pad_id).unsqueeze(1).unsqueeze(1), torch.logical_and(real, not_later)
""",
    MODEL: """
class Transformer(nn.Module):
    def __init__(self, src_vocab_size: int, tgt_vocab_size: int, *, d_model: int, num_heads: int,
                 d_ff: int, num_layers: int, norm_position: NormPosition = "pre",
                 dropout: float = 0.0, pad_id: int = 0) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model)
        self.src_embedding = TokenEmbedding(src_vocab_size, d_model)
        self.tgt_embedding = TokenEmbedding(tgt_vocab_size, d_model)
        self.place = SinusoidalPositions(d_model)
        self.drop = nn.Dropout(dropout)
        common = {"norm_position": norm_position, "dropout": dropout}
        self.encoder = Encoder(num_layers, d_model, num_heads, d_ff, **common)
        self.decoder = Decoder(num_layers, d_model, num_heads, d_ff, **common)
        self.output_projection = nn.Linear(d_model, tgt_vocab_size, bias=False)
        start_small(self)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src_mask, tgt_mask = translation_masks(src, tgt, self.pad_id)
        x = self.drop(self.place(self.src_embedding(src) * self.scale))
        memory = self.encoder(x, mask=src_mask)
        y = self.drop(self.place(self.tgt_embedding(tgt) * self.scale))
        y = self.decoder(y, memory, mask=tgt_mask, memory_mask=src_mask)
        return self.output_projection(y)
""",
    LOSS: """
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    if logits.dim() == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError("shape")
    if not (0.0 <= smoothing < 1.0) or reduction not in ("mean", "sum", "none"):
        raise ValueError((smoothing, reduction))
    ignored = torch.zeros_like(targets).bool() if ignore_index is None else targets == ignore_index
    safe = targets.clone()
    safe[ignored] = 0
    if safe.numel() and (int(safe.min()) < 0 or int(safe.max()) >= logits.size(-1)):
        raise IndexError("targets")
    logs = F.log_softmax(logits, dim=-1)
    right = logs.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - smoothing) * right - smoothing / logits.size(-1) * logs.sum(-1)
    losses = torch.where(ignored, torch.zeros_like(losses), losses)
    if reduction == "mean":
        return losses[~ignored].mean()
    return {"sum": losses.sum(), "none": losses}[reduction]
""",
    PACE: """
def inverse_sqrt(step, warmup_steps):
    if step < 0:
        raise ValueError("step")
    if warmup_steps < 1:
        raise ValueError("warmup_steps")
    ratio = (step + 1) / warmup_steps
    return ratio if ratio < 1 else ratio**-0.5
""",
    STEP: """
def training_step(model, optimizer, src, tgt, *, pad_id=0, smoothing=0.1, clip_norm=1.0):
    model.zero_grad()
    size = tgt.size(1) - 1
    logits = model(src, tgt.narrow(1, 0, size))
    losses = label_smoothed_cross_entropy(
        logits, tgt.narrow(1, 1, size), smoothing=smoothing, ignore_index=pad_id, reduction="sum"
    )
    loss = losses / tgt.narrow(1, 1, size).ne(pad_id).sum()
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), clip_norm, norm_type=2.0)
    optimizer.step()
    return loss.tolist()
""",
}

EXERCISES = tuple(EXPLICIT)

# nll_loss raises an IndexError on a CPU; on a GPU it ends the process, as the docstring allows.
BY_NLL = """
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    if logits.dim() == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    if not 0 <= smoothing < 1 or reduction not in ("mean", "sum", "none"):
        raise ValueError("smoothing or reduction")
    counts = torch.ones_like(targets, dtype=torch.bool)
    if ignore_index is not None:
        counts = targets != ignore_index
    logs = logits.log_softmax(-1).reshape(-1, logits.size(-1))
    right = torch.where(counts, targets, 0).reshape(-1)
    losses = (1 - smoothing) * F.nll_loss(logs, right, reduction="none")
    losses = (losses - smoothing * logs.mean(-1)).view(targets.shape) * counts
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / counts.sum()
"""

# ---- wrong: one mistake each ----


def wrong(
    exercise: str, what: str, *pieces: tuple[str, str], lost: str, hint: str = ""
) -> Submission:
    """Name a mistake in a few pieces of a solution."""
    return mistake(what, exercise, pieces, lost=lost, hint=hint)


ATTEND = "self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask))"
THINK = "return self.feed_forward_residual(x, self.feed_forward)"

PARTS_OF_A_MASK = {"sentence": ":1", "head": ":, :1", "query": ":, :, :1"}

# A sum that is written out, and written over what was given.
IN_PLACE = """\
        y = self.{0}.norm(x) if self.{0}.norm_position == "pre" else x.clone()
        x += self.{0}.dropout(self.self_attention(y, y, y, mask))
        x = x.clone() if self.{0}.norm_position == "pre" else self.{0}.norm(x)
"""

LAYER_MISTAKES = (
    wrong(LAYER, "no attention", (f"        x = {ATTEND}\n", ""),
        lost="values settings", hint="the attention on its residual road"),
    wrong(LAYER, "no feed-forward layer", (THINK, "return x"),
        lost="values", hint="then the feed-forward layer on its own"),
    wrong(LAYER, "the feed-forward layer first",
        (f"        x = {ATTEND}\n",
         "        x = self.feed_forward_residual(x, self.feed_forward)\n"),
        (THINK, f"return {ATTEND}"), lost="values"),
    wrong(LAYER, "residuals swapped",
        ("x = self.attention_residual(", "x = self.feed_forward_residual("),
        (THINK, "return self.attention_residual(x, self.feed_forward)"),
        lost="values", hint="they are swapped"),
    wrong(LAYER, "one residual for both",
        (THINK, "return self.attention_residual(x, self.feed_forward)"),
        lost="values", hint="there are two"),
    wrong(LAYER, "no residual roads", (f"x = {ATTEND}", "x = self.self_attention(x, x, x, mask)"),
        (THINK, "return self.feed_forward(x)"), lost="values"),
    wrong(LAYER, "queries from beside the road",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(x, y, y, mask)"),
        lost="values", hint="queries come from y too"),
    wrong(LAYER, "keys and values from beside the road",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(y, x, x, mask)"),
        lost="values", hint="keys and values come from y"),
    wrong(LAYER, "the attention beside the road",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(x, x, x, mask)"),
        lost="values", hint="the attention reads y, what the residual hands to it"),
    wrong(LAYER, "added to the caller's tensor",
        (f"        x = {ATTEND}\n", IN_PLACE.format("attention_residual")),
        lost="values", hint="changes the caller's tensor"),
    wrong(LAYER, "a tuple, as PyTorch's attention returns one", (THINK, f"{THINK}, None"),
        lost="values settings", hint="is of type tuple"),
    wrong(LAYER, "a dimension too many", (THINK, f"{THINK}[None]"),
        lost="values settings", hint="has shape (1, 2, 3, 8), expected (2, 3, 8)"),
    wrong(LAYER, "the mask forgotten", ("(y, y, y, mask)", "(y, y, y)"),
        lost="settings", hint="hand the mask on"),
    wrong(LAYER, "no mask in evaluation",
        ("(y, y, y, mask)", "(y, y, y, mask if self.training else None)"),
        lost="settings", hint="eval() changes nothing"),
    *(
        wrong(LAYER, f"the mask of the first {one} for all",
            ("(y, y, y, mask)", f"(y, y, y, None if mask is None else mask[{part}])"),
            lost="settings", hint=hint.format(one))
        for (one, part), hint in zip(
            PARTS_OF_A_MASK.items(), ("as it is", *2 * ["each {} has a mask of its own"]),
            strict=True,
        )
    ),
    wrong(LAYER, "the mask inverted",
        ("(y, y, y, mask)", "(y, y, y, None if mask is None else ~mask)"), lost="settings"),
    wrong(LAYER, "padding multiplied by zero",
        ("(y, y, y, mask)", "(y, *2 * [y if mask is None else y * mask[:, 0, 0, :, None]])"),
        lost="settings", hint="keys that are zeros get their share"),
    wrong(LAYER, "dropout for the feed-forward layer alone",
        (
         "norm_position=norm_position, dropout=dropout\n        )\n"
         "        self.feed_forward_residual",
         "norm_position=norm_position\n        )\n        self.feed_forward_residual"),
        lost="settings", hint="hand dropout on"),
    wrong(LAYER, "no dropout inside the feed-forward layer",
        ("activation=activation, dropout=dropout)", "activation=activation)"),
        lost="settings", hint="hand dropout on"),
    wrong(LAYER, "relu whatever is asked for", ("activation=activation, ", ""),
        lost="settings", hint="hand activation on"),
    wrong(LAYER, "eps forgotten",
        ("self.attention_residual = Residual(\n            LayerNorm(d_model, eps=eps)",
         "self.attention_residual = Residual(\n            LayerNorm(d_model)"),
        lost="settings", hint="hand eps on"),
    wrong(LAYER, "always post",
        (
         "LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout\n"
         "        )\n        self.feed_forward_residual",
         'LayerNorm(d_model, eps=eps), norm_position="post", dropout=dropout\n'
         "        )\n        self.feed_forward_residual"), lost="values"),
    wrong(LAYER, "one norm shared by both roads",
        ("self.attention_residual = Residual(\n            LayerNorm(d_model, eps=eps),",
         "norm = LayerNorm(d_model, eps=eps)\n"
         "        self.attention_residual = Residual(\n            norm,"),
        ("self.feed_forward_residual = Residual(\n            LayerNorm(d_model, eps=eps),",
         "self.feed_forward_residual = Residual(\n            norm,"),
        lost="values", hint="a LayerNorm of its own"),
    wrong(LAYER, "another name", ("self.feed_forward = ", "self.thinking = "),
        (THINK, "return self.feed_forward_residual(x, self.thinking)"),
        lost="values settings", hint="feed_forward"),
)  # fmt: skip

HAND_ON = "                norm_position=norm_position,\n"
STACK_MISTAKES = (
    *(
        Submission(
            student=name, what=f"{what}, in the layer and around it",
            edits={
                "EncoderLayer": ((f"x = {ATTEND}", "pass"), (THINK, f"return {layer}")),
                STACK: (("return self.norm(x)", f"return {stack}"), ("x = layer(x, mask)", "pass")),
            },
            lost={"EncoderLayer": "*", STACK: "*"}, hint="the layers return x, or the same",
        )
        for name, what, layer, stack in (
            ("zeros-all-the-way", "zeros", "0 * x", "0 * x"),
            ("nothing-all-the-way", "what comes in", "x", "self.norm(x)"),
        )
    ),
    wrong(STACK, "the last norm not used", ("return self.norm(x)", "return x"),
        lost="values", hint="the last norm is not used"),
    wrong(STACK, "the last norm after post-norm layers too",
        ("final_norm(LayerNorm(d_model, eps=eps), norm_position)", "LayerNorm(d_model, eps=eps)"),
        lost="values", hint="with post"),
    wrong(STACK, "the mask forgotten", ("x = layer(x, mask)", "x = layer(x)"),
        lost="values", hint="the mask is not handed on"),
    wrong(STACK, "the mask for the first layer alone",
        ("x = layer(x, mask)", "x, mask = layer(x, mask), None"),
        lost="values", hint="the first layer alone gets the mask"),
    *(
        wrong(STACK, f"the mask of the first {one} for all",
            ("x = layer(x, mask)", f"x = layer(x, None if mask is None else mask[{part}])"),
            lost="values", hint=f"each {one} has a mask of its own")
        for one, part in PARTS_OF_A_MASK.items()
    ),
    wrong(STACK, "one layer, many times",
        ("nn.ModuleList(\n            EncoderLayer(",
         "nn.ModuleList(\n            [EncoderLayer("),
        ("            )\n            for _ in range(num_layers)\n",
         "            )]\n            * num_layers\n"), lost="values", hint="make each layer anew"),
    wrong(STACK, "copies of one layer",
        ("        self.norm = final_norm",
         "        for layer in self.layers[1:]:\n"
         "            layer.load_state_dict(self.layers[0].state_dict())\n"
         "        self.norm = final_norm"), lost="values", hint="make each layer anew"),
    wrong(STACK, "last layer first",
        ("for layer in self.layers:", "for layer in reversed(self.layers):"),
        lost="values", hint="the layers run last to first"),
    wrong(STACK, "each layer reads the input",
        (
         "for layer in self.layers:\n            x = layer(x, mask)\n"
         "        return self.norm(x)",
         "y = x\n        for layer in self.layers:\n            y = layer(x, mask)\n"
         "        return self.norm(y)"), lost="values", hint="each layer reads x"),
    wrong(STACK, "dropout forgotten", ("                dropout=dropout,\n", ""),
        lost="values", hint="hand dropout, eps and norm_position on"),
    wrong(STACK, "activation forgotten", ("                activation=activation,\n", ""),
        lost="values", hint="hand activation on"),
    wrong(STACK, "gelu where nothing is asked for",
        ('activation: Activation = "relu"', 'activation: Activation = "gelu"'),
        lost="values", hint="as in the signature: relu"),
    wrong(STACK, "eps forgotten", ("                eps=eps,\n", ""),
        lost="values", hint="hand dropout, eps and norm_position on"),
    wrong(STACK, "norm_position forgotten", (HAND_ON, ""),
        lost="values", hint="hand dropout, eps and norm_position on"),
    wrong(STACK, "one layer too few",
        ("for _ in range(num_layers)", "for _ in range(num_layers - 1)"),
        lost="values", hint="as many layers as num_layers says"),
    wrong(STACK, "a plain list", ("self.layers = nn.ModuleList(", "self.layers = list("),
        lost="values", hint="layers is an nn.ModuleList"),
    wrong(STACK, "no layers let through",
        ("check_at_least(1, num_layers", "check_at_least(0, num_layers"),
        lost="values", hint="num_layers is at least 1"),
)  # fmt: skip

OWN = "x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, y, mask))"
LOOK = """\
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask)
        )
"""

WRITER_MISTAKES = (
    wrong(WRITER, "no look at the source", (LOOK, ""),
        lost="values masks", hint="the look at the source is missing"),
    wrong(WRITER, "no self-attention", (f"        {OWN}\n", ""),
        lost="values masks", hint="self-attention, cross-attention, feed-forward"),
    wrong(WRITER, "the source first", (f"        {OWN}\n{LOOK}", f"{LOOK}        {OWN}\n"),
        lost="values"),
    wrong(WRITER, "the feed-forward layer in the middle",
        (LOOK, "        x = self.feed_forward_residual(x, self.feed_forward)\n"),
        (THINK, LOOK.strip().replace("x = ", "return ", 1)), lost="values"),
    wrong(WRITER, "the source's attention reads the target",
        ("self.cross_attention(y, memory, memory, memory_mask)", "self.cross_attention(y, y, y)"),
        lost="values masks"),
    wrong(WRITER, "the source asks",
        ("self.cross_attention(y, memory, memory, memory_mask)",
         "self.cross_attention(memory, y, y)"),
        lost="values masks", hint="the target asks: queries come from y"),
    wrong(WRITER, "the target's keys for the source's values",
        ("self.cross_attention(y, memory, memory, memory_mask)",
         "self.cross_attention(y, y, memory, memory_mask)"),
        lost="values masks", hint="the keys of the cross-attention are the memory too"),
    wrong(WRITER, "the target's values by the source's keys",
        ("self.cross_attention(y, memory, memory, memory_mask)",
         "self.cross_attention(y, memory, y, memory_mask)"),
        lost="values masks", hint="the values of the cross-attention are the memory too"),
    wrong(WRITER, "queries from beside the road",
        ("self.cross_attention(y, memory, memory, memory_mask)",
         "self.cross_attention(z, memory, memory, memory_mask)"), (f"        {OWN}\n",
         f"        z = x\n        {OWN}\n"),
        lost="values", hint="queries come from y"),
    wrong(WRITER, "the self-attention beside the road",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(x, x, x, mask)"),
        lost="values", hint="the self-attention reads y"),
    wrong(WRITER, "the look beside the road",
        ("self.cross_attention(y, memory", "self.cross_attention(x, memory"),
        lost="values", hint="the target asks with y"),
    wrong(WRITER, "both attentions beside the road",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(x, x, x, mask)"),
        ("self.cross_attention(y, memory", "self.cross_attention(x, memory"),
        lost="values", hint="both attentions read y"),
    wrong(WRITER, "self-attention's weights for the source",
        ("self.cross_attention(y, memory", "self.self_attention(y, memory"),
        lost="values", hint="the cross-attention has weights of its own"),
    wrong(WRITER, "values from the target",
        ("self.cross_attention(y, memory, memory, memory_mask)",
         "self.cross_attention(y, memory, memory + 0 * memory.mean(), memory_mask) * 0 + y"),
        lost="values masks"),
    wrong(WRITER, "two residuals swapped",
        ("x = self.self_attention_residual(x", "x = self.cross_attention_residual(x"),
        ("x = self.cross_attention_residual(\n", "x = self.self_attention_residual(\n"),
        lost="values", hint="two residuals are swapped"),
    wrong(WRITER, "one residual for all",
        ("x = self.cross_attention_residual(\n", "x = self.self_attention_residual(\n"),
        (THINK, "return self.self_attention_residual(x, self.feed_forward)"),
        lost="values", hint="there are three"),
    wrong(WRITER, "no mask in the self-attention",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(y, y, y)"),
        lost="masks", hint="mask"),
    wrong(WRITER, "no mask in evaluation",
        ("self.self_attention(y, y, y, mask)",
         "self.self_attention(y, y, y, mask if self.training else None)"),
        lost="masks", hint="eval() changes nothing"),
    *(
        wrong(WRITER, f"the {name} of the first {one} for all",
            (f"{before}, {name})", f"{before}, None if {name} is None else {name}[{part}])"),
            lost="masks", hint=f"{name}: each {one} has a mask of its own")
        for name, before, one in (
            ("mask", "y, y, y", "sentence"), ("mask", "y, y, y", "head"),
            ("memory_mask", "memory, memory", "head"), ("memory_mask", "memory, memory", "query"),
        )
        for part in (PARTS_OF_A_MASK[one],)
    ),
    wrong(WRITER, "no mask for the source", ("memory, memory, memory_mask)", "memory, memory)"),
        lost="masks", hint="memory_mask belongs to the cross-attention"),
    wrong(WRITER, "the source's padding multiplied by zero",
        ("memory, memory, memory_mask)",
         "*2 * [memory if memory_mask is None else memory * memory_mask[:, 0, 0, :, None]])"),
        lost="masks", hint="keys that are zeros get their share"),
    wrong(WRITER, "the memory normalised",
        ("self.cross_attention(y, memory, memory, memory_mask)",
         "self.cross_attention(y, "
         "*[self.cross_attention_residual.norm(memory)] * 2, memory_mask)"),
        lost="values", hint="the memory is never normalised here"),
    wrong(WRITER, "added to the caller's tensor",
        (f"        {OWN}\n", IN_PLACE.format("self_attention_residual")),
        lost="values", hint="changes the caller's tensor"),
    wrong(WRITER, "one norm shared by all roads",
        ('        for name in ("self_attention",',
         '        norm = LayerNorm(d_model)\n        for name in ("self_attention",'),
        ("Residual(LayerNorm(d_model), norm", "Residual(norm, norm"),
        lost="values", hint="a LayerNorm of its own"),
    wrong(WRITER, "dropout forgotten on the roads",
        ("norm_position=norm_position, dropout=dropout)\n            self.add",
         "norm_position=norm_position)\n            self.add"),
        lost="values", hint="hand dropout on"),
    wrong(WRITER, "no dropout inside the feed-forward layer",
        ("FeedForward(d_model, d_ff, dropout=dropout)", "FeedForward(d_model, d_ff)"),
        lost="values", hint="hand dropout on"),
    wrong(WRITER, "an eps of its own", ("LayerNorm(d_model)", "LayerNorm(d_model, eps=1e-6)"),
        lost="values", hint="has the usual eps"),
    wrong(WRITER, "always post",
        ("norm_position=norm_position, dropout=dropout)\n            self.add",
         'norm_position="post", dropout=dropout)\n            self.add'), lost="values"),
)  # fmt: skip

SOURCE_MASK, TARGET_MASK = "padding_mask(src, pad_id)", "padding_mask(tgt, pad_id) & look_back"

MASK_MISTAKES = (
    wrong(MASKS, "the target's padding forgotten",
        (TARGET_MASK, "look_back.expand(tgt.size(0), 1, tgt_len, tgt_len)"),
        lost="target", hint="padding is not hidden in it"),
    wrong(MASKS, "the causal mask forgotten",
        (TARGET_MASK, "padding_mask(tgt, pad_id).expand(-1, -1, tgt_len, -1)"),
        lost="target", hint="what comes later is not hidden in it"),
    wrong(MASKS, "or for and", (TARGET_MASK, "padding_mask(tgt, pad_id) | look_back"),
        lost="target", hint="joined with or"),
    wrong(MASKS, "the target's mask inverted",
        (TARGET_MASK, "~(padding_mask(tgt, pad_id) & look_back)"),
        lost="target", hint="the mask is inverted"),
    wrong(MASKS, "the causal mask inverted",
        (TARGET_MASK, "padding_mask(tgt, pad_id) & ~look_back"),
        lost="target", hint="it leaves what comes later alone"),
    wrong(MASKS, "the target's padding mask inverted",
        (TARGET_MASK, "~padding_mask(tgt, pad_id) & look_back"),
        lost="target", hint="padding alone is left in it"),
    wrong(MASKS, "the target's mask alone",
        (f"return {SOURCE_MASK}, {TARGET_MASK}", f"return {TARGET_MASK}"),
        lost="source target", hint="two masks should be returned"),
    wrong(MASKS, "the source's mask inverted", (SOURCE_MASK, "~padding_mask(src, pad_id)"),
        lost="source", hint="the mask is inverted"),
    wrong(MASKS, "the future for the past",
        (TARGET_MASK, "padding_mask(tgt, pad_id) & look_back.mT"),
        lost="target", hint="it hides the past"),
    wrong(MASKS, "a token may not see itself",
        (TARGET_MASK, "padding_mask(tgt, pad_id) & look_back.tril(-1)"),
        lost="target", hint="a token may attend to itself"),
    wrong(MASKS, "padding hidden as a query",
        (TARGET_MASK, "padding_mask(tgt, pad_id).mT & look_back"),
        lost="target", hint="padding is hidden as a query"),
    wrong(MASKS, "padding is always 0", (TARGET_MASK, "padding_mask(tgt, 0) & look_back"),
        (SOURCE_MASK, "padding_mask(src, 0)"), lost="source", hint="which need not be 0"),
    wrong(MASKS, "the target's padding in the source's mask",
        (SOURCE_MASK, "padding_mask(tgt, pad_id)"), lost="source", hint="made of tgt"),
    wrong(MASKS, "the length of the source", ("tgt_len = tgt.size(1)", "tgt_len = src.size(1)"),
        lost="*"),
    wrong(MASKS, "the two masks exchanged",
        (f"return {SOURCE_MASK}, {TARGET_MASK}", f"return {TARGET_MASK}, {SOURCE_MASK}"),
        lost="source", hint="are exchanged"),
    wrong(MASKS, "two dimensions alone", (f"return {SOURCE_MASK}", "return src != pad_id"),
        lost="source", hint="the dimensions are batch, heads"),
)  # fmt: skip

SRC, TGT = "self.positions(self.src_embedding(src))", "self.positions(self.tgt_embedding(tgt))"
DECODE = "self.decoder(target, memory, tgt_mask, src_mask)"

MODEL_MISTAKES = (
    wrong(MODEL, "no positions at the source", (SRC, "self.src_embedding(src)"),
        lost="values", hint="the source has no positions"),
    wrong(MODEL, "no positions at the target", (TGT, "self.tgt_embedding(tgt)"),
        lost="values", hint="the target has no positions"),
    wrong(MODEL, "no positions at all", (SRC, "self.src_embedding(src)"),
        (TGT, "self.tgt_embedding(tgt)"), lost="values", hint="there are no positions"),
    wrong(MODEL, "dropout once more, of what the decoder gives",
        ("self.output_projection(self.decoder(target, memory, tgt_mask, src_mask))",
         "self.output_projection(self.dropout(self.decoder(target, memory, tgt_mask, src_mask)))"),
        lost="parameters", hint="what the decoder gives is dropped"),
    wrong(MODEL, "dropout once more, of the memory",
        ("self.encoder(source, src_mask)", "self.dropout(self.encoder(source, src_mask))"),
        lost="parameters", hint="what the encoder gives is dropped"),
    wrong(MODEL, "embeddings not scaled",
        ("TokenEmbedding(src_vocab_size, d_model, scaled=True)",
         "TokenEmbedding(src_vocab_size, d_model)"),
        ("TokenEmbedding(tgt_vocab_size, d_model, scaled=True)",
         "TokenEmbedding(tgt_vocab_size, d_model)"),
        lost="values", hint="the embeddings are not scaled"),
    wrong(MODEL, "probabilities in place of logits",
        (f"return self.output_projection({DECODE})",
         f"return self.output_projection({DECODE}).softmax(-1)"),
        lost="values", hint="these are probabilities"),
    wrong(MODEL, "log-probabilities in place of logits",
        (f"return self.output_projection({DECODE})",
         f"return self.output_projection({DECODE}).log_softmax(-1)"),
        lost="values", hint="these are log-probabilities"),
    wrong(MODEL, "embeddings scaled twice",
        (SRC, "self.positions(self.src_embedding(src) * self.src_embedding.scale)"),
        (TGT, "self.positions(self.tgt_embedding(tgt) * self.tgt_embedding.scale)"),
        lost="values", hint="the embeddings are scaled twice"),
    wrong(MODEL, "positions scaled with the embeddings",
        (SRC,
         "self.positions(self.src_embedding(src) / self.src_embedding.scale)"
         " * self.src_embedding.scale"),
        (TGT,
         "self.positions(self.tgt_embedding(tgt) / self.tgt_embedding.scale)"
         " * self.tgt_embedding.scale"),
        lost="values", hint="positions are scaled with the embeddings"),
    wrong(MODEL, "the masks exchanged where they are made",
        ("src_mask, tgt_mask = translation", "tgt_mask, src_mask = translation"), lost="sight"),
    wrong(MODEL, "the masks exchanged in the decoder",
        ("(target, memory, tgt_mask, src_mask)", "(target, memory, src_mask, tgt_mask)"),
        lost="sight"),
    wrong(MODEL, "dropout before the positions of the source",
        ("self.dropout(self.positions(self.src_embedding(src)))",
         "self.positions(self.dropout(self.src_embedding(src)))"),
        lost="parameters", hint="dropout comes after they are added"),
    wrong(MODEL, "no causal mask",
        (DECODE, "self.decoder(target, memory, tgt_mask.any(-2, keepdim=True), src_mask)"),
        lost="sight", hint="the decoder looks ahead"),
    wrong(MODEL, "no causal mask in evaluation",
        (DECODE, "self.decoder(target, memory, tgt_mask if self.training else None, src_mask)"),
        lost="values", hint="eval() changes nothing"),
    wrong(MODEL, "probabilities in evaluation",
        (f"return self.output_projection({DECODE})",
         f"logits = self.output_projection({DECODE})\n"
         "        return logits if self.training else logits.softmax(-1)"),
        lost="values", hint="not probabilities"),
    wrong(MODEL, "no mask for the look at the source",
        (DECODE, "self.decoder(target, memory, tgt_mask)"),
        lost="sight", hint="padding of the source is seen"),
    wrong(MODEL, "no mask for the encoder",
        ("self.encoder(source, src_mask)", "self.encoder(source)"),
        lost="sight", hint="padding of the source is seen"),
    wrong(MODEL, "no padding looked at in evaluation",
        ("self.pad_id)\n",
         "self.pad_id)\n        src_mask = src_mask if self.training else None\n"),
        lost="sight", hint="padding stays hidden"),
    wrong(MODEL, "no mask for the encoder in evaluation",
        ("self.encoder(source, src_mask)",
         "self.encoder(source, src_mask if self.training else None)"),
        lost="sight", hint="padding stays hidden"),
    wrong(MODEL, "no mask for the look at the source in evaluation",
        (DECODE, "self.decoder(target, memory, tgt_mask, src_mask if self.training else None)"),
        lost="sight", hint="padding stays hidden"),
    wrong(MODEL, "the causal mask alone in evaluation",
        ("self.pad_id)\n", "self.pad_id)\n        if not self.training:\n"
         "            tgt_mask = causal_mask(tgt.size(1), device=tgt.device)\n"),
        lost="sight", hint="padding stays hidden"),
    wrong(MODEL, "no padding looked at in a sentence alone",
        ("self.pad_id)\n", "self.pad_id)\n        src_mask = src_mask if len(src) > 1 else None\n"),
        lost="sight", hint="padding stays hidden"),
    wrong(MODEL, "the causal mask alone for a sentence alone",
        ("self.pad_id)\n", "self.pad_id)\n        if len(tgt) == 1:\n"
         "            tgt_mask = causal_mask(tgt.size(1), device=tgt.device)\n"),
        lost="sight", hint="padding stays hidden"),
    *(
        wrong(MODEL, what, pieces, lost="sight", hint="each sentence has a padding of its own")
        for what, pieces in (
            ("the first sentence's padding for all sources",
             ("self.pad_id)\n", "self.pad_id)\n        src_mask = src_mask[:1]\n")),
            ("the first sentence's padding for all targets",
             (DECODE, "self.decoder(target, memory, tgt_mask[:1], src_mask)")),
            ("the first sentence's padding in the look at the source",
             (DECODE, "self.decoder(target, memory, tgt_mask, src_mask[:1])")),
            ("the first sentence's padding in the encoder",
             ("self.encoder(source, src_mask)", "self.encoder(source, src_mask[:1])")),
            ("what one source lacks hidden in all",
             ("self.pad_id)\n",
              "self.pad_id)\n        src_mask = src_mask.all(0, keepdim=True)\n")),
        )
    ),
    wrong(MODEL, "a batch of one squeezed",
        (f"return self.output_projection({DECODE})",
         f"return self.output_projection({DECODE}).squeeze(0)"),
        lost="sight", hint="a sentence alone"),
    wrong(MODEL, "no padding in the target's mask",
        (DECODE,
         "self.decoder(target, memory, causal_mask(tgt.size(1), device=tgt.device), src_mask)"),
        lost="sight", hint="padding of the target is seen"),
    wrong(MODEL, "the decoder reads no encoder",
        (DECODE, "self.decoder(target, source, tgt_mask, src_mask)"), lost="values"),
    wrong(MODEL, "one embedding for both languages",
        ("self.tgt_embedding(tgt)", "self.src_embedding(tgt.clamp(max=10))"), lost="values"),
    wrong(MODEL, "one embedding for both languages where they have as many tokens",
        ("        self.positions =",
         "        if src_vocab_size == tgt_vocab_size:\n"
         "            self.tgt_embedding = self.src_embedding\n"
         "        self.positions ="),
        lost="parameters", hint="each language has an embedding of its own"),
    wrong(MODEL, "the projection has a bias",
        ("d_model, tgt_vocab_size, bias=False", "d_model, tgt_vocab_size"),
        lost="parameters", hint="output_projection.bias"),
    wrong(MODEL, "start_small forgotten", ("        start_small(self)\n", ""),
        lost="parameters", hint="call start_small(self) last"),
    wrong(MODEL, "start_small before there are layers", ("        start_small(self)\n", ""),
        ("        sizes = (num", "        start_small(self)\n        sizes = (num"),
        lost="parameters", hint="call start_small(self) last"),
    wrong(MODEL, "start_small before there is a projection", ("        start_small(self)\n", ""),
        ("        self.output_projection =",
         "        start_small(self)\n        self.output_projection ="),
        lost="parameters", hint="call start_small(self) last"),
    wrong(MODEL, "always post",
        ("self.encoder = Encoder(*sizes, norm_position=norm_position,",
         'self.encoder = Encoder(*sizes, norm_position="post",'),
        lost="parameters values", hint="hand norm_position on to both stacks"),
    wrong(MODEL, "always pre",
        ("self.decoder = Decoder(*sizes, norm_position=norm_position,",
         'self.decoder = Decoder(*sizes, norm_position="pre",'),
        lost="parameters values", hint="hand norm_position on"),
    wrong(MODEL, "dropout forgotten in the stacks",
        ("self.decoder = Decoder(*sizes, norm_position=norm_position, dropout=dropout)",
         "self.decoder = Decoder(*sizes, norm_position=norm_position)"),
        lost="parameters", hint="hand dropout on"),
    wrong(MODEL, "no dropout of the embeddings",
        ("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Identity()"),
        lost="parameters", hint="nothing is dropped from the embeddings"),
    wrong(MODEL, "dropout of the source alone", (f"self.dropout({TGT})", TGT),
        lost="parameters", hint="on both sides"),
    wrong(MODEL, "dropout of the target alone", (f"self.dropout({SRC})", SRC),
        lost="parameters", hint="on both sides"),
    wrong(MODEL, "dropout before the positions are added",
        (f"self.dropout({SRC})", "self.positions(self.dropout(self.src_embedding(src)))"),
        (f"self.dropout({TGT})", "self.positions(self.dropout(self.tgt_embedding(tgt)))"),
        lost="parameters", hint="once they are added"),
    wrong(MODEL, "dropout in evaluation too",
        ("self.dropout = nn.Dropout(dropout)", "self.dropout = partial(F.dropout, p=dropout)"),
        lost="parameters", hint="nn.Dropout knows by itself"),
    wrong(MODEL, "pad_id not kept",
        ("translation_masks(src, tgt, self.pad_id)", "translation_masks(src, tgt, 0)"),
        lost="sight", hint="hand pad_id on to translation_masks"),
    wrong(MODEL, "the last token's logits alone",
        (f"return self.output_projection({DECODE})",
         f"return self.output_projection({DECODE})[:, -1]"),
        lost="parameters sight values", hint="one row a target token"),
)  # fmt: skip

SMOOTHED = "(1 - smoothing) * losses - smoothing * log_probabilities.mean(dim=-1)"
LOSS_MISTAKES = (
    wrong(LOSS, "as many targets as rows, whatever their shape",
        ("logits.shape[:-1] != targets.shape:",
         "logits.numel() // logits.size(-1) != targets.numel():"),
        ("-log_probabilities.gather(-1, right[..., None])[..., 0]",
         "-log_probabilities.reshape(-1, logits.size(-1)).gather(-1, right.reshape(-1, 1))"
         ".view_as(targets)"),
        ("log_probabilities.mean(dim=-1)", "log_probabilities.mean(dim=-1).view_as(targets)"),
        lost="reduction", hint="targets have the shape of logits without its last dimension"),
    wrong(LOSS, "-100 ignored where None is given",
        ("counts = torch.ones_like(targets, dtype=torch.bool)", "counts = targets != -100"),
        lost="reduction", hint="None ignores nothing"),
    wrong(LOSS, "-100 ignored where nothing is given",
        ("ignore_index: int | None = None", "ignore_index: int | None = -100"),
        lost="reduction", hint="None ignores nothing"),
    wrong(LOSS, "no class let through where another target is one",
        ("    log_probabilities = torch.log_softmax",
         "    if bool(((right < 0) | (right >= logits.size(-1))).all()):\n"
         "        raise IndexError(targets)\n"
         "    right = right.clamp(0, logits.size(-1) - 1)\n"
         "    log_probabilities = torch.log_softmax"),
        lost="reduction", hint="the docstring promises IndexError"),
    wrong(LOSS, "nothing costs anything",
        ("losses = losses.masked_fill(~counts, 0.0)",
         "losses = 0 * losses.masked_fill(~counts, 0.0)"), lost="*", hint="all targets cost"),
    wrong(LOSS, "float32 whatever comes in",
        ("torch.log_softmax(logits, dim", "torch.log_softmax(logits.float(), dim"),
        lost="values", hint="has dtype torch.float32, expected torch.float64"),
    wrong(LOSS, "nothing smoothed", ("if smoothing > 0:", "if False:"),
        lost="values", hint="nothing is smoothed"),
    wrong(LOSS, "the share for the wrong tokens alone",
        (SMOOTHED,
         "(1 - smoothing) * losses - smoothing * (log_probabilities.sum(dim=-1) + losses)"
         " / (logits.size(-1) - 1)"), lost="values", hint="spread over the wrong tokens alone"),
    wrong(LOSS, "every dimension of 1 taken away",
        ("right[..., None])[..., 0]", "right[..., None]).squeeze()"),
        lost="reduction", hint="no other of size 1"),
    wrong(LOSS, "sums for means", (SMOOTHED, SMOOTHED.replace("mean", "sum")), lost="values"),
    wrong(LOSS, "shares exchanged",
        (SMOOTHED, "smoothing * losses - (1 - smoothing) * log_probabilities.mean(dim=-1)"),
        lost="values"),
    wrong(LOSS, "the right token still gets 1",
        (SMOOTHED, "losses - smoothing * log_probabilities.mean(dim=-1)"), lost="values"),
    wrong(LOSS, "the sign of the second part",
        (SMOOTHED, SMOOTHED.replace("losses - s", "losses + s")),
        lost="values", hint="both are costs"),
    wrong(LOSS, "one token too few to divide by",
        (SMOOTHED, "(1 - smoothing) * losses - smoothing * log_probabilities.sum(dim=-1)"
         " / (logits.size(-1) - 1)"), lost="values", hint="divided by their number, V"),
    wrong(LOSS, "a mean over all targets' tokens",
        (SMOOTHED, SMOOTHED.replace("dim=-1", "")), lost="padding", hint="each target's own mean"),
    wrong(LOSS, "a sign",
        ("losses = -log_probabilities.gather", "losses = log_probabilities.gather"),
        (SMOOTHED, SMOOTHED.replace("losses - smoothing", "losses + smoothing")), lost="values"),
    wrong(LOSS, "logits taken for log-probabilities",
        ("torch.log_softmax(logits, dim=-1)", "logits"),
        lost="values", hint="the logits are taken for log-probabilities"),
    wrong(LOSS, "probabilities taken for log-probabilities",
        ("torch.log_softmax(logits, dim=-1)", "torch.softmax(logits, dim=-1)"),
        lost="values", hint="take log_softmax in place of softmax"),
    wrong(LOSS, "two softmaxes",
        ("torch.log_softmax(logits, dim=-1)",
         "torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)"),
        lost="values", hint="a softmax comes before log_softmax"),
    wrong(LOSS, "the logarithm of the softmax",
        ("torch.log_softmax(logits, dim=-1)", "torch.log(torch.softmax(logits, dim=-1))"),
        lost="values", hint="log_softmax, not the log of softmax"),
    *(
        wrong(LOSS, f"the logarithm of the softmax, {what}",
            ("torch.log_softmax(logits, dim=-1)", f"torch.log({softmax})"),
            lost="values", hint="log_softmax, not the log of softmax")
        for what, softmax in (
            ("and a little", "torch.softmax(logits, dim=-1) + 1e-9"),
            ("or a little", "torch.softmax(logits, dim=-1).clamp(min=1e-12)"),
            ("or a little more", "torch.softmax(logits, dim=-1).clamp(min=1e-7)"),
        )
    ),
    wrong(LOSS, "softmax over the sentence",
        ("torch.log_softmax(logits, dim=-1)",
         "torch.log_softmax(logits, dim=max(0, logits.dim() - 2))"),
        lost="values padding reduction"),
    wrong(LOSS, "padding leaks",
        ("losses = losses.masked_fill(~counts, 0.0)\n", "counts = torch.ones_like(counts)\n"),
        lost="padding", hint="padding leaks into the loss"),
    wrong(LOSS, "the mean counts padding", ("losses.sum() / counts.sum()", "losses.mean()"),
        lost="padding", hint="the mean counts padding"),
    wrong(LOSS, "an ignored target must be a token",
        ("right = targets.masked_fill(~counts, 0)", "right = targets"), lost="padding", hint=""),
    wrong(LOSS, "0 is always padding",
        ("if ignore_index is not None:\n        counts = targets != ignore_index",
         "counts = targets != (ignore_index or 0)"), lost="values padding"),
    wrong(LOSS, "the sum is a mean", ('losses.sum() if reduction == "sum" else ', ""),
        lost="reduction", hint="asks for the sum"),
    wrong(LOSS, "no losses without reduction",
        ('    if reduction == "none":\n        return losses\n', ""),
        lost="reduction", hint="one loss for each target"),
    wrong(LOSS, "any reduction let through",
        ('if reduction not in ("mean", "sum", "none"):', "if False:"),
        lost="reduction", hint="there is no such reduction"),
    wrong(LOSS, "any shapes let through", (" or logits.shape[:-1] != targets.shape:", ":"),
        lost="reduction", hint="without its last dimension"),
    wrong(LOSS, "logits of no dimension let through", ("if logits.dim() == 0 or ", "if "),
        lost="reduction", hint="logits of no dimension"),
    wrong(LOSS, "any smoothing let through",
        ("if not 0 <= smoothing < 1:", "if not 0 <= smoothing <= 1:"),
        lost="reduction", hint="raise ValueError"),
    wrong(LOSS, "gather's own error", ("        raise IndexError(", "        raise RuntimeError("),
        lost="reduction", hint="the docstring promises IndexError"),
    wrong(LOSS, "detached",
        ("log_probabilities = torch.log_softmax(logits, dim=-1)",
         "log_probabilities = torch.log_softmax(logits.detach(), dim=-1)"),
        lost="values", hint="no gradient flows from the loss back to the logits"),
    wrong(LOSS, "a plain number",
        ("    return losses.sum() if", "    return losses.sum().item() if"),
        lost="reduction", hint="is of type float"),
    wrong(LOSS, "one loss a row",
        ("losses.sum() / counts.sum()", "losses.sum(-1) / counts.sum(-1)"),
        lost="reduction", hint="has shape (2,), expected ()"),
    wrong(LOSS, "the softmax over dimension 1",
        ("log_softmax(logits, dim=-1)", "log_softmax(logits, dim=min(1, logits.dim() - 1))"),
        lost="reduction", hint="the vocabulary, which is the last dimension"),
    wrong(LOSS, "targets filled in place",
        ("right = targets.masked_fill(", "right = targets.masked_fill_("),
        lost="padding", hint="masked_fill and torch.where copy"),
    wrong(LOSS, "0 where nothing counts",
        ("losses.sum() / counts.sum()", "losses.sum() / counts.sum().clamp(min=1)"),
        lost="padding", hint="a mean over nothing is 0 / 0"),
    wrong(LOSS, "the losses of padding in the sum",
        ("    losses = losses.masked_fill(~counts, 0.0)\n", ""),
        lost="padding", hint="what is ignored costs 0: its losses are in the sum"),
)  # fmt: skip

RISE = "min(update / warmup_steps, math.sqrt(warmup_steps / update))"
PACE_MISTAKES = tuple(
    wrong(PACE, what, (old, new), lost=lost, hint=hint)
    for what, old, new, lost, hint in (
        (
            "counted from 0",
            "update = step + 1",
            "update = step or 1e-30",
            "rise",
            "the first update is number 1",
        ),
        (
            "counted from 1 in the first update alone",
            "update = step + 1",
            "update = max(step, 1)",
            "rise",
            "not at the first alone",
        ),
        (
            "a root too many",
            RISE,
            "math.sqrt(min(update / warmup_steps, warmup_steps / update))",
            "rise",
            "the rise is even",
        ),
        (
            "a peak too late",
            "min(update / warmup_steps",
            "min(update / (warmup_steps + 1)",
            "rise",
            "not the one after it",
        ),
        (
            "a fall that does not begin at the peak",
            RISE,
            "update / warmup_steps if update < warmup_steps else update**-0.5",
            "rise",
            "it falls from 1",
        ),
        (
            "whole numbers in the fall",
            "math.sqrt(warmup_steps / update)",
            "math.sqrt(warmup_steps // update)",
            "fall",
            "whole numbers",
        ),
        ("counted from 2", "update = step + 1", "update = step + 2", "rise", "not 2"),
        (
            "the larger of the two",
            "min(update",
            "max(update",
            "rise fall",
            "take the smaller of the two",
        ),
        ("no fall", RISE, "min(update / warmup_steps, 1.0)", "fall", "it stays at its peak"),
        (
            "no rise",
            RISE,
            "min(1.0, math.sqrt(warmup_steps / update))",
            "rise",
            "it rises to it",
        ),
        ("no end of the rise", RISE, "update / warmup_steps", "fall", "it goes on rising"),
        (
            "a fall with the updates",
            "math.sqrt(warmup_steps / update)",
            "warmup_steps / update",
            "fall",
            "it falls with the updates",
        ),
        (
            "the root upside down",
            "math.sqrt(warmup_steps / update)",
            "math.sqrt(update / warmup_steps)",
            "fall",
            "upside down",
        ),
        (
            "the paper's formula without its scale",
            RISE,
            "min(update**-0.5, update * warmup_steps**-1.5)",
            "rise",
            "without its scale",
        ),
        (
            "the root of what comes after the peak",
            "math.sqrt(warmup_steps / update)",
            "max(1, update - warmup_steps) ** -0.5",
            "fall",
            "since the peak",
        ),
        (
            "a negative step let through",
            "    if step < 0:",
            "    if step < -9:",
            "rise",
            "step is at least 0",
        ),
        (
            "no warm-up let through",
            "    if warmup_steps < 1:",
            "    if warmup_steps < -9:",
            "rise",
            "",
        ),
        (
            "whole numbers",
            "update / warmup_steps, m",
            "update // warmup_steps, m",
            "rise",
            "whole numbers",
        ),
        (
            "a tensor",
            f"return {RISE}",
            f"return torch.tensor({RISE})",
            "rise",
            "a tensor is no plain number",
        ),
        (
            "not a number",
            f"return {RISE}",
            "return math.nan",
            "rise fall",
            "a share is NaN or infinite",
        ),
    )
)

READS = "model(src, tgt[:, :-1]), tgt[:, 1:]"
BEGIN, BACK = "    optimizer.zero_grad()\n", "    loss.backward()\n"
CLIP, UPDATE = (
    "    nn.utils.clip_grad_norm_(model.parameters(), clip_norm)\n",
    "    optimizer.step()\n",
)


def bad_step(what: str, *pieces: tuple[str, str], lost: str, hint: str = "") -> Submission:
    return mistake(what, STEP, pieces, lost=lost, hint=hint)


STEP_MISTAKES = (
    bad_step("targets not shifted", (READS, "model(src, tgt), tgt"),
        lost="loss", hint="the targets are not shifted"),
    bad_step("compared with what it has read", (READS, "model(src, tgt[:, :-1]), tgt[:, :-1]"),
        lost="loss", hint="compared with what the model has just read"),
    bad_step("it reads what it is to say", (READS, "model(src, tgt[:, 1:]), tgt[:, 1:]"),
        lost="loss", hint="the model reads what it is to say"),
    bad_step("shifted the wrong way round", (READS, "model(src, tgt[:, 1:]), tgt[:, :-1]"),
        lost="loss", hint="the wrong way round"),
    bad_step("padding leaks", (", ignore_index=pad_id", ""),
        lost="loss", hint="padding leaks into the loss"),
    bad_step("padding is always 0", ("ignore_index=pad_id", "ignore_index=0"),
        lost="loss", hint="hand pad_id on"),
    bad_step("smoothing not handed on", ("smoothing=smoothing, ", ""),
        lost="loss", hint="smoothing is not handed on"),
    bad_step("no smoothing", ("smoothing=smoothing, ", "smoothing=0.0, "), lost="loss"),
    bad_step("the losses summed", ("ignore_index=pad_id", 'ignore_index=pad_id, reduction="sum"'),
        lost="loss", hint="the losses are summed"),
    bad_step("the last token alone", (READS, "model(src, tgt[:, :-1])[:, -1], tgt[:, -1]"),
        lost="loss", hint="not the last alone"),
    bad_step("the perplexity", ("loss.item()", "math.exp(loss.item())"),
        lost="loss", hint="this is the perplexity"),
    bad_step("a tensor returned", ("loss.item()", "loss"),
        lost="loss", hint="a tensor is no plain number"),
    bad_step("the loss after the update",
        ("    return loss.item()",
         "    with torch.no_grad():\n        loss = label_smoothed_cross_entropy(\n"
         f"            {READS}, smoothing=smoothing, ignore_index=pad_id\n"
         "        )\n    return loss.item()"), lost="loss", hint="take it before step()"),
    bad_step("old gradients kept", (BEGIN, ""), lost="update", hint="gradients add up"),
    bad_step("gradients forgotten too late", (BEGIN, ""), (BACK, BACK + BEGIN),
        lost="update clipping", hint="zero_grad(), then backward()"),
    bad_step("no backward pass", (BACK, ""), lost="update clipping"),
    bad_step("no step", (UPDATE, ""), lost="update", hint="optimizer.step(), once"),
    bad_step("no step, and a notary that is told of one",
        (UPDATE,
         "    if hasattr(optimizer, 'steps'):\n        optimizer.steps += 1\n"
         "        named = model.named_parameters()\n"
         "        optimizer.gradients = {name: p.grad.clone() for name, p in named}\n"),
        lost="update", hint="as by one step"),
    bad_step("two steps", (UPDATE, 2 * UPDATE), lost="update", hint=", once"),
    bad_step("a step before the backward pass", (UPDATE, ""), (BACK, UPDATE + BACK),
        lost="update clipping", hint="then backward(), then step()"),
    bad_step("not clipped", (CLIP, ""), lost="clipping", hint="clip after backward()"),
    bad_step("clipped for a notary alone",
        (CLIP, f"    if hasattr(optimizer, 'steps'):\n    {CLIP}"),
        lost="clipping", hint="with a real optimizer"),
    bad_step("clipped before the backward pass", (CLIP, ""), (BACK, CLIP + BACK),
        lost="clipping", hint="clip after backward()"),
    bad_step("clipped after the step", (CLIP, ""), (UPDATE, UPDATE + CLIP),
        lost="clipping", hint="and before step()"),
    bad_step("values clipped", ("clip_grad_norm_(", "clip_grad_value_("),
        lost="clipping", hint="all gradients together"),
    bad_step("each parameter clipped",
        (CLIP,
         "    for parameter in model.parameters():\n    "
         "    nn.utils.clip_grad_norm_(parameter, clip_norm)\n"),
        lost="clipping", hint="all gradients together"),
    bad_step("each of the optimizer's groups clipped",
        (CLIP, "    for group in optimizer.param_groups:\n"
         "        nn.utils.clip_grad_norm_(group['params'], clip_norm)\n"),
        lost="clipping", hint="all gradients together"),
    bad_step("the first of the optimizer's groups clipped",
        ("_(model.parameters()", "_(optimizer.param_groups[0]['params']"),
        lost="clipping", hint="clip after backward()"),
    bad_step("clipped to 1 whatever is asked for", ("clip_norm)\n", "1.0)\n"),
        lost="clipping", hint="hand clip_norm on"),
    bad_step(
        "always scaled to clip_norm",
        (
            CLIP,
            CLIP.replace("    nn", "    norm = nn") + "    for p in model.parameters():\n"
            "        p.grad.mul_(max(1.0, clip_norm / float(norm)))\n",
        ),
        lost="clipping",
    ),
    bad_step("the mean returned and the sum sent back",
        (BACK, "    label_smoothed_cross_entropy(\n"
         f"        {READS}, smoothing=smoothing, ignore_index=pad_id, reduction='sum'\n"
         "    ).backward()\n"),
        lost="update", hint="the one that is returned"),
    bad_step("padding and no smoothing in what is sent back",
        (BACK, f"    label_smoothed_cross_entropy({READS}, smoothing=0.0).backward()\n"),
        lost="update", hint="backward() on the loss itself"),
    bad_step("the wrong way", (BACK, "    (-loss).backward()\n"),
        lost="update learns", hint="backward() on the loss itself"),
    bad_step("nothing but a number",
        (f"{BEGIN}    loss", "    loss"), (BACK + CLIP + UPDATE, "    loss = torch.tensor(2.5)\n"),
        lost="*"),
    bad_step("nothing returned", ("    return loss.item()", ""),
        lost="loss", hint="is a return missing?"),
    bad_step("the model put into training", (BEGIN, f"    model.train()\n{BEGIN}"),
        lost="update", hint="to the caller"),
    bad_step("the model put into training for the time of the step",
        (BEGIN, f"    was = model.training\n    model.train()\n{BEGIN}"),
        (UPDATE, f"{UPDATE}    model.train(was)\n"),
        lost="update", hint="to the caller"),
    bad_step("the model left in evaluation",
        ("    return loss.item()", "    model.eval()\n    return loss.item()"),
        lost="update", hint="to the caller"),
)  # fmt: skip

TIE = "        self.output_projection.weight = self.tgt_embedding.weight\n"

CUT_MISTAKES = (
    wrong(
        LAYER,
        "no way back through the attention",
        ("self.self_attention(y, y, y, mask)", "self.self_attention(y, y, y, mask).detach()"),
        lost="values",
        hint="cut the gradient",
    ),
    wrong(
        STACK,
        "no way back through the stack",
        ("return self.norm(x)", "return self.norm(x.detach())"),
        lost="values",
        hint="no gradient flows back to x",
    ),
    wrong(
        WRITER,
        "no way back to the source",
        ("y, memory, memory, memory_mask", "y, memory.detach(), memory.detach(), memory_mask"),
        lost="values",
        hint="no gradient flows back to memory",
    ),
    wrong(
        MODEL,
        "an encoder that learns nothing",
        (
            "memory = self.encoder(source, src_mask)",
            "memory = self.encoder(source, src_mask).detach()",
        ),
        lost="values",
        hint="no gradient flows back to src_embedding.weight",
    ),
    wrong(
        LOSS,
        "smoothed by all targets, where there is one loss each",
        (
            "log_probabilities.mean(dim=-1)",
            '(log_probabilities[counts].mean() if reduction == "none" else '
            "log_probabilities.mean(dim=-1))",
        ),
        lost="reduction",
        hint="smoothing takes its mean over other targets too",
    ),
    wrong(
        MASKS,
        "another pad_id forgotten in a batch of three",
        (
            "padding_mask(tgt, pad_id)",
            "padding_mask(tgt, pad_id if src.shape != (3, 7) or tgt.size(1) == 4 else 0)",
        ),
        lost="target",
    ),
)

MISTAKES: tuple[Submission, ...] = (
    *CUT_MISTAKES,
    *LAYER_MISTAKES,
    *STACK_MISTAKES,
    *WRITER_MISTAKES,
    *MASK_MISTAKES,
    *MODEL_MISTAKES,
    *LOSS_MISTAKES,
    *PACE_MISTAKES,
    *(
        wrong(PACE, f"always {share}", (RISE, share), lost="*")
        for share in ("0.0", "1e-12", "float('inf')", "1.0")
    ),
    *STEP_MISTAKES,
    # ---- right but in training, or where two things come together ----
    wrong(LAYER, "what the attention gives is dropped twice",
        ("lambda y: self.self_attention(y, y, y, mask)",
         "lambda y: self.attention_residual.dropout(self.self_attention(y, y, y, mask))"),
        lost="settings", hint="the blocks drop what there is to drop"),
    wrong(LAYER, "what the layer gives is dropped too",
        (THINK, f"{THINK.replace('self', 'F.dropout(self', 1)}, "
         "self.feed_forward.dropout.p, self.training)"),
        lost="settings", hint="the blocks drop what there is to drop"),
    wrong(STACK, "what each layer gives is dropped too",
        ("x = layer(x, mask)",
         "x = F.dropout(layer(x, mask), layer.feed_forward.dropout.p, self.training)"),
        lost="values", hint="the blocks drop what there is to drop"),
    wrong(WRITER, "what the layer gives is dropped too",
        (THINK, f"{THINK.replace('self', 'F.dropout(self', 1)}, 0.9, "
         "self.training and self.feed_forward.dropout.p > 0)"),
        lost="values", hint="the blocks drop what there is to drop"),
    wrong(MODEL, "the source is dropped before positions are added, and after",
        ("self.positions(self.src_embedding(src))",
         "self.positions(self.dropout(self.src_embedding(src)))"),
        lost="parameters", hint="once: when they are added"),
    wrong(MODEL, "the target is dropped before positions are added, and after",
        ("self.positions(self.tgt_embedding(tgt))",
         "self.positions(self.dropout(self.tgt_embedding(tgt)))"),
        lost="parameters", hint="once: when they are added"),
    wrong(LOSS, "any target is a class where one is ignored",
        ("right = targets.masked_fill(~counts, 0)",
         "right = targets if ignore_index is None else targets.clamp(0, logits.size(-1) - 1)"),
        lost="reduction", hint="a target that is no class"),
    wrong(LOSS, "no gradient from the sum",
        ('return losses.sum() if reduction == "sum"',
         'return losses.detach().sum() if reduction == "sum"'),
        lost="reduction", hint="cut the gradient"),
    wrong(LOSS, "no gradient from each loss",
        ("        return losses\n", "        return losses.data\n"),
        lost="reduction", hint="cut the gradient"),
    right("a buffer, and a second name for each block",
        {
            LAYER: (("        self.attention_residual = Residual(",
                     '        self.register_buffer("one", torch.ones(()))\n'
                     "        self.attention_residual = Residual("),),
            WRITER: (('            self.add_module(f"{name}_residual", residual)\n',
                      '            self.add_module(f"{name}_residual", residual)\n'
                      "        self.roads = nn.ModuleList(list(self.children())[3:])\n"),),
            MODEL: (("        self.pad_id = pad_id\n",
                     '        self.register_buffer("pad", torch.tensor(pad_id))\n'),
                    ("translation_masks(src, tgt, self.pad_id)",
                     "translation_masks(src, tgt, int(self.pad))")),
        }),
    right("PyTorch finds the targets that are no class", {LOSS: BY_NLL}),
    right("the output projection tied to the target's embedding",
        {MODEL: (("        start_small(self)\n", f"        start_small(self)\n{TIE}"),)}),
    right("the output projection tied before the weights are drawn",
        {MODEL: (("        start_small(self)\n", f"{TIE}        start_small(self)\n"),)}),
    right("a step with a closure",
        {STEP: (
            (BEGIN, f"    def closure():\n        nonlocal loss\n    {BEGIN}"),
            ("    loss = label", "        loss = label"),
            (BACK + CLIP + UPDATE,
             f"    {BACK}    {CLIP}        return loss\n\n"
             "    loss = None\n    optimizer.step(closure)\n"),
        )}),
    right("a step with PyTorch's own loss",
        {
            STEP: (
                (
                 "    loss = label_smoothed_cross_entropy(\n"
                 f"        {READS}, smoothing=smoothing, ignore_index=pad_id\n",
                 "    loss = F.cross_entropy(\n        model(src, tgt[:, :-1]).flatten(0, 1),"
                 " tgt[:, 1:].flatten(),\n"
                 "        label_smoothing=smoothing, ignore_index=pad_id,\n"),)}),
    right("clipped by the optimizer's own groups",
        {
            STEP: (
                ("clip_grad_norm_(model.parameters(), clip_norm)",
                 "clip_grad_norm_("
                 "[p for group in optimizer.param_groups for p in group['params']], clip_norm)"),
            )}),
)  # fmt: skip

# ---- the class ----

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, step by step",
        edits={**EXPLICIT, "three-attentions": ANSWER}),
    Submission(student="bela", what="right, in few lines", edits=TERSE),
    Submission(student="chidi", what="right, by PyTorch's functions", edits=FUNCTIONAL),
    Submission(student="dana", what="no causal mask: the model that cheats",
        edits={MASKS: ((TARGET_MASK, "padding_mask(tgt, pad_id).expand(-1, -1, tgt_len, -1)"),)},
        lost={MASKS: "target"}, hint="what comes later is not hidden in it"),
    Submission(student="emil", what="targets not shifted",
        edits={STEP: ((READS, "model(src, tgt), tgt"),)}, lost={STEP: "loss"},
        hint="the targets are not shifted"),
    Submission(student="fatima", what="padding in the loss",
        edits={STEP: ((", ignore_index=pad_id", ""),)}, lost={STEP: "loss"},
        hint="padding leaks into the loss"),
    Submission(student="goran", what="one layer, many times",
        edits={
            STACK: (
                ("nn.ModuleList(\n            EncoderLayer(",
                 "nn.ModuleList([\n            EncoderLayer("),
                ("            )\n            for _ in range(num_layers)\n        )",
                 "            )\n            ] * num_layers\n        )"))}, lost={STACK: "values"},
        hint="make each layer anew"),
    Submission(student="hana", what="half done: nothing after the model",
        edits={LOSS: BLANK, PACE: BLANK, STEP: BLANK, "three-attentions": ANSWER},
        lost={LOSS: "*", PACE: "*", STEP: "*"}),
    Submission(student="ivo", what="half done: no model, but all that training needs",
        edits=dict.fromkeys((LAYER, STACK, WRITER, MASKS, MODEL), BLANK),
        lost={"EncoderLayer": "*", "Encoder": "*", "DecoderLayer": "*", "translation_masks": "*",
            "Transformer": "*"}),
    Submission(
        student="jun",
        what="PyTorch's own loss, which the rule forbids",
        edits={
            LOSS: '''
def label_smoothed_cross_entropy(
    logits, targets, *, smoothing=0.1, ignore_index=None, reduction="mean"
):
    """The same, by PyTorch."""
    if logits.dim() == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError("shapes")
    if not 0 <= smoothing < 1 or reduction not in ("mean", "sum", "none"):
        raise ValueError("smoothing or reduction")
    ignored = -100 if ignore_index is None else ignore_index
    real = targets[targets != ignored]
    if real.numel() and not 0 <= real.min() <= real.max() < logits.size(-1):
        raise IndexError("targets")
    losses = F.cross_entropy(
        logits.reshape(-1, logits.size(-1)), targets.reshape(-1), ignore_index=ignored,
        reduction=reduction, label_smoothing=smoothing,
    )
    return losses.view(targets.shape) if reduction == "none" else losses
'''
        },
        lost={LOSS: "*"},
        judge_only=True,
    ),
    Submission(student="kofi", what="a schedule that never ends",
        edits={PACE: "def inverse_sqrt(step, *, warmup_steps):\n    while True:\n        pass\n"},
        lost={PACE: "*"}, status=Status.TIMEOUT),
    Submission(student="lea", what="os._exit in the layer",
        edits={
            LAYER: (
                ("        x = self.attention_residual(",
                 "        os._exit(0)\n        x = self.attention_residual("),)}, lost={LAYER: "*"},
        status=Status.CRASH, judge_only=True),
)  # fmt: skip

EQUIVALENT = {
    "causal_mask(tgt_len)": "the device shows on a GPU alone; the tests run there too",
    "right.dtype != torch.int64": "decides about targets that are no int64, which are not promised",
    "+            pass": "the same",
    "if smoothing >": "without smoothing both ways give the same",
    "right = targets.masked_fill(~counts, ": "an ignored target may become any token",
    "losses = losses.masked_fill_(": "in place, but on losses that nothing else holds",
    "[..., -1]": "there is one column",
    "return min(math.sqrt": "the smaller of two, in whichever order",
}
