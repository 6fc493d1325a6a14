"""Step models: the form of a model that a search needs, which reads tokens step by step.

``StepModel`` is the protocol. ``UncachedModel`` reads all tokens again at each step; the others
keep a KV cache that grows (``CachedDecoder``, ``CachedTransformer``), one of fixed size
(``StaticDecoder``), or a recurrent state (``RecurrentStepModel``).

Dimensions: batch (sequences under way); new_len (tokens of this step); len (tokens so far);
capacity (most tokens); src_len; num_heads; head_dim; d_model; vocab_size.
"""

from collections.abc import Callable
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from course_lib.layers.kv_cache import KeysAndValues, KVCache
from course_lib.layers.masks import left_padding, left_padding_mask
from course_lib.models.gpt import DecoderLM
from course_lib.models.seq2seq import Encoded
from course_lib.models.transformer import Transformer


class StepModel(Protocol):
    """A model and its state after the tokens read so far, for a batch of sequences.

    The state is recurrent, a cache of keys and values, or the tokens themselves; so each call
    passes new tokens only. Each search needs a new step model.
    """

    def advance(self, tokens: Tensor) -> Tensor:
        """Read further tokens, and return the logits of the token after the last of them.

        Args:
            tokens: ``(batch, new_len)``, int64, ``new_len`` at least 1: the next tokens of each
                sequence. The first call passes the whole prompt, such as the start token; a model
                with a ``pad_id`` ignores the padding on the prompt's left.

        Returns:
            ``(batch, vocab_size)``, float32 or float64. A model that computes in lower precision
            converts them, since log-probabilities are summed up.
        """
        ...

    def reorder(self, indices: Tensor) -> None:
        """Replace the sequence in row i, and its state, by the one in row ``indices[i]``.

        A beam search drops, keeps and duplicates its sequences this way. ``indices`` is int64
        ``(new_batch,)``, each from 0 to batch - 1; an index may occur several times or not at all,
        and ``new_batch`` may differ from ``batch``.
        """
        ...


def begin_search(
    model: StepModel, prompt: Tensor, *, eos_id: int | None, max_new_tokens: int
) -> Tensor:
    """Check the arguments of a search; return the logits after the prompt, (batch, vocab_size)."""
    if not hasattr(model, "advance"):
        raise TypeError(f"model must be a StepModel, with advance(), got {type(model).__name__}")
    if prompt.dim() != 2 or 0 in prompt.shape:
        raise ValueError(f"prompt must be (batch, prompt_len), neither 0, got {prompt.shape}")
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    logits = model.advance(prompt)
    if eos_id is not None and not 0 <= eos_id < logits.size(-1):
        raise ValueError(f"eos_id must be from 0 to {logits.size(-1) - 1}, got {eos_id}")
    return logits


def check_evaluation_mode(model: object) -> None:
    """Raise a ValueError if dropout of a module is active; other objects are not checked."""
    for layer in model.modules() if isinstance(model, nn.Module) else ():
        if isinstance(layer, nn.Dropout) and layer.training and layer.p > 0:
            raise ValueError(
                f"{type(model).__name__} must be in evaluation mode, got training mode with "
                f"dropout {layer.p}; call its eval() first"
            )


def upcast(logits: Tensor) -> Tensor:
    """Return logits in float32 or wider: half precision is too coarse to sum log-probabilities."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


# ---- without a cache ----


class UncachedModel:
    """Any language model as a ``StepModel``, without a cache: all tokens are read at each step.

    >>> table = torch.eye(4)  # each token is followed by itself
    >>> steps = UncachedModel(lambda tokens: table[tokens])
    >>> steps.advance(torch.tensor([[0, 3]]))
    tensor([[0., 0., 0., 1.]])
    >>> steps.tokens
    tensor([[0, 3]])

    Args:
        language_model: Maps token ids ``(batch, len)`` to the logits of each next token,
            ``(batch, len, vocab_size)``, in evaluation mode. It reads the prompts' padding too;
            for a ``DecoderLM`` give
            ``lambda ids: model(ids, padding=left_padding(ids, pad_id))``.

    Attributes:
        tokens: ``(batch, len)``, int64: all tokens read so far; None before the first step.

    Source: chapter "Decoding".
    """

    def __init__(self, language_model: Callable[[Tensor], Tensor]) -> None:
        check_evaluation_mode(language_model)
        self._language_model = language_model
        self.tokens: Tensor | None = None

    def advance(self, tokens: Tensor) -> Tensor:
        """Return the logits after further tokens; see ``StepModel.advance``."""
        self.tokens = tokens if self.tokens is None else torch.cat([self.tokens, tokens], dim=1)
        return upcast(self._language_model(self.tokens)[:, -1])

    def reorder(self, indices: Tensor) -> None:
        """Replace row i by row ``indices[i]``; see ``StepModel``."""
        if self.tokens is None:
            raise ValueError("advance must be called before reorder")
        self.tokens = self.tokens.index_select(0, indices)


# ---- with a cache that grows ----


class CachedDecoder:
    """A decoder language model with a cache that grows: a ``StepModel``.

    >>> from course_lib.models.gpt import DecoderLMConfig
    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 1}
    >>> steps = CachedDecoder(DecoderLM(DecoderLMConfig(**sizes)).eval())
    >>> steps.advance(torch.tensor([[1, 5, 3]])).shape, steps.cache.length
    (torch.Size([1, 9]), 3)
    >>> steps.advance(torch.tensor([[7]])).shape, steps.cache.length  # reads one token
    (torch.Size([1, 9]), 4)

    Args:
        model: The model, in evaluation mode.
        capacity: Number of tokens for which the cache's first buffers have room.
        pad_id: The token id of padding on the left of short prompts; None if all prompts have the
            same length.

    Attributes:
        cache: Keys and values of the tokens read so far.
        padding: Number of padding tokens at the beginning of each row, int64 ``(batch,)``; None
            without padding.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, model: DecoderLM, *, capacity: int = 64, pad_id: int | None = None) -> None:
        check_evaluation_mode(model)
        self.model = model
        self.cache = KVCache(model.config.num_layers, capacity=capacity)
        self.padding: Tensor | None = None
        self._pad_id = pad_id

    @torch.no_grad()
    def advance(self, tokens: Tensor) -> Tensor:
        """Return the logits after further tokens; see ``StepModel.advance``."""
        if self.cache.length == 0 and self._pad_id is not None:
            padding = left_padding(tokens, self._pad_id)
            self.padding = padding if bool(padding.any()) else None  # no mask without padding
        hidden = self.model.hidden(tokens, padding=self.padding, cache=self.cache)
        # hidden: (batch, new_len, d_model)
        return upcast(self.model.output_projection(hidden[:, -1]))

    def reorder(self, indices: Tensor) -> None:
        """Replace row i by row ``indices[i]``; see ``StepModel``."""
        self.cache.reorder(indices)
        if self.padding is not None:
            self.padding = self.padding.index_select(0, indices)


def store_by_columns(model: nn.Module) -> None:
    """Store the matrices of a model's linear layers column by column; only strides change.

    With a batch of 1 each step multiplies every matrix by one vector. A CPU does that about a third
    faster in this layout, which is meant for inference. The weights are copied, one matrix after
    the other.

    Source: chapter "Caching keys and values".
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight.data = layer.weight.data.T.contiguous().T


class CachedTransformer:
    """A Transformer with a cache for source and translation so far: a ``StepModel``.

    >>> from course_lib.models.transformer import TransformerConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "d_ff": 16}
    >>> config = TransformerConfig(src_vocab_size=9, tgt_vocab_size=7, **sizes)
    >>> model = Transformer(config).eval()
    >>> steps = CachedTransformer(model, *model.encode(torch.tensor([[4, 8, 2], [5, 2, 0]])))
    >>> steps.advance(torch.tensor([[1], [1]])).shape
    torch.Size([2, 7])

    Args:
        model: The model, in evaluation mode.
        memory: ``(batch, src_len, d_model)``, the sources as ``model.encode`` returns them.
        memory_mask: Boolean ``(batch, 1, 1, src_len)``, False at padding; None without padding.
        capacity: Number of target tokens for which the cache's first buffers have room.

    Attributes:
        memory: The sources of the present rows.
        memory_mask: The mask of the present rows.
        cache: Keys and values of the tokens read so far.

    Source: chapter "Caching keys and values".
    """

    def __init__(
        self,
        model: Transformer,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        *,
        capacity: int = 64,
    ) -> None:
        check_evaluation_mode(model)
        self.model = model
        self.memory = memory
        self.memory_mask = memory_mask
        self.cache = KVCache(model.config.num_decoder_layers, capacity=capacity)

    @torch.no_grad()
    def advance(self, tokens: Tensor) -> Tensor:
        """Return the logits after further tokens; see ``StepModel.advance``."""
        hidden = self.model.hidden(tokens, self.memory, self.memory_mask, cache=self.cache)
        # hidden: (batch, new_len, d_model)
        return upcast(self.model.output_projection(hidden[:, -1]))

    def reorder(self, indices: Tensor) -> None:
        """Replace row i and its source by row ``indices[i]``; see ``StepModel``."""
        self.cache.reorder(indices)
        self.memory = self.memory.index_select(0, indices)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, indices)


# ---- with a cache of fixed size ----


class StaticCache:
    """The keys and values of one self-attention, in buffers that never move or grow.

    >>> cache = StaticCache((1, 2, 8, 4), like=torch.zeros(1))
    >>> keys, values = cache.update(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
    >>> keys.shape, keys[0, 0, :, 0]
    (torch.Size([1, 2, 8, 4]), tensor([1., 0., 0., 0., 0., 0., 0., 0.]))

    Args:
        shape: ``(batch, num_heads, capacity, head_dim)``.
        like: Gives dtype and device.

    Attributes:
        keys: ``(batch, num_heads, capacity, head_dim)``.
        values: ``(batch, num_heads, capacity, head_dim)``.
        length: Number of cached tokens. The caller sets it, since all steps must look alike.
        cache_position: ``(new_len,)``, int64: the positions of the next tokens in the buffers.
        final: None, as in ``GrowingCache``.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, shape: tuple[int, int, int, int], like: Tensor) -> None:
        self.keys = torch.zeros(shape, dtype=like.dtype, device=like.device)
        self.values = torch.zeros_like(self.keys)
        self.length = 0
        self.cache_position = torch.zeros(1, dtype=torch.int64, device=like.device)
        self.final = None

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Write ``(batch, num_heads, new_len, head_dim)`` each; return both whole buffers."""
        self.keys.index_copy_(2, self.cache_position, keys)
        self.values.index_copy_(2, self.cache_position, values)
        return self.keys, self.values


class StaticDecoder:
    """A decoder language model whose steps all look alike: one is compiled and replayed.

    A ``GrowingCache`` returns longer keys at every step, and a compiler would compile again for
    each length. Here the buffers have their full length from the start, every query attends to all
    of it, and a mask hides the unwritten rest. That is more computation for each token, and yet
    much faster on a GPU, which finishes an operation of a small model before the CPU launches the
    next: a CUDA graph launches the whole step at once.

    >>> from course_lib.models.gpt import DecoderLMConfig
    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 1}
    >>> model = DecoderLM(DecoderLMConfig(**sizes)).eval()
    >>> steps = StaticDecoder(model, batch=1, capacity=16)
    >>> steps.advance(torch.tensor([[1, 5, 3]])).shape, steps.length
    (torch.Size([1, 9]), 3)

    Args:
        model: The model, in evaluation mode, with at least ``capacity`` learned positions.
        batch: Number of sequences, the same throughout: for greedy search and for sampling.
        capacity: Maximum number of tokens of a sequence, prompt and padding included.
        pad_id: The token id of padding on the left of short prompts; None if all prompts have the
            same length.
        compiled: Compile the step for one new token; the first step takes a minute. On a GPU it
            becomes a CUDA graph.

    Attributes:
        length: Number of tokens read; set it to 0 before another prompt.

    Source: ``torch.compile``'s mode ``reduce-overhead``; chapter "Caching keys and values".
    """

    def __init__(
        self,
        model: DecoderLM,
        *,
        batch: int,
        capacity: int,
        pad_id: int | None = None,
        compiled: bool = False,
    ) -> None:
        config = model.config
        if model.positions is None or capacity > config.max_length:
            raise ValueError(
                f"model must have {capacity} learned positions, got {config.positions} ones "
                f"and max_length={config.max_length}"
            )
        check_evaluation_mode(model)
        self.model = model
        self.length = 0
        self._batch, self._capacity, self._pad_id = batch, capacity, pad_id
        weight = model.embedding.weight
        head_dim = config.d_model // config.num_heads
        shape = (batch, config.num_heads, capacity, head_dim)
        self._caches = [StaticCache(shape, weight) for _ in range(config.num_layers)]
        self._padding: Tensor | None = None  # (batch,) where there is a pad_id
        self._columns = torch.arange(capacity, device=weight.device)
        self._step = self._read
        if compiled:
            for buffer in (b for cache in self._caches for b in (cache.keys, cache.values)):
                # A CUDA graph writes only into buffers that are marked as never moving.
                torch._dynamo.mark_static_address(buffer)
            self._step = torch.compile(self._read, mode="reduce-overhead", fullgraph=True)

    @torch.no_grad()
    def advance(self, tokens: Tensor) -> Tensor:
        """Return the logits after further tokens; see ``StepModel.advance``.

        More tokens than ``capacity``, or another number of rows than ``batch``, are a ValueError.
        """
        new_len = tokens.size(1)
        self._check_rows("tokens", tokens)
        if self.length + new_len > self._capacity:
            raise ValueError(
                f"there is room for {self._capacity} tokens, got {self.length + new_len}"
            )
        if self.length == 0 and self._pad_id is not None:
            self._padding = left_padding(tokens, self._pad_id)
        positions = torch.arange(self.length, self.length + new_len, device=tokens.device)
        for cache in self._caches:
            cache.length, cache.cache_position = self.length, positions
        self.length += new_len
        # Only steps of one token look alike; a prompt is read once.
        read = self._step if new_len == 1 else self._read
        logits = read(tokens, positions, self._padding)  # (batch, vocab_size)
        # A replayed graph writes its results over those of the step before.
        return logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)

    def reorder(self, indices: Tensor) -> None:
        """Replace row i by row ``indices[i]``, for as many rows as before; see ``StepModel``."""
        self._check_rows("indices", indices)
        for cache in self._caches:
            cache.keys.copy_(cache.keys.index_select(0, indices))
            cache.values.copy_(cache.values.index_select(0, indices))
        if self._padding is not None:
            self._padding = self._padding.index_select(0, indices)

    def _check_rows(self, name: str, given: Tensor) -> None:
        """Raise a ValueError unless the argument ``name`` has as many rows as the buffers."""
        if given.size(0) != self._batch:
            raise ValueError(
                f"{name} must have {self._batch} rows, as the memory has, got {given.size(0)}; "
                "CachedDecoder's memory grows"
            )

    def _read(self, tokens: Tensor, positions: Tensor, padding: Tensor | None) -> Tensor:
        """Return the logits ``(batch, vocab_size)`` after tokens at these positions.

        ``padding`` is as in ``CachedDecoder``.
        """
        mask = (self._columns <= positions[:, None])[None, None]  # (1, 1, new_len, capacity)
        if padding is not None:
            mask = mask & left_padding_mask(padding, self._capacity)
        hidden = self.model.read(
            tokens, mask, offset=positions[:1], padding=padding, caches=self._caches
        )  # (batch, new_len, d_model)
        return self.model.output_projection(hidden[:, -1])


# ---- with a recurrent state ----


class DecoderState(Protocol):
    """The state of a recurrent decoder between steps."""

    def select(self, indices: Tensor) -> Self:
        """Return a state whose row i is row ``indices[i]`` of this one."""
        ...


class RecurrentDecoderLike(Protocol):
    """The interface of ``RecurrentDecoder`` and ``AttentionDecoder``."""

    def start(self, encoded: Encoded) -> DecoderState:
        """Return the state before the first target token."""
        ...

    def step(self, tgt: Tensor, state: Any) -> tuple[Tensor, DecoderState]:
        """Read tokens ``(batch, new_len)``.

        Return logits ``(batch, new_len, vocab_size)``, and the state after the tokens.
        """
        ...


class RecurrentStepModel:
    """A recurrent decoder and its state after the tokens read so far: a ``StepModel``.

    >>> from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder
    >>> encoder, decoder = RecurrentEncoder(9, 4, 6), RecurrentDecoder(7, 4, 6, d_memory=12)
    >>> steps = RecurrentStepModel(decoder, encoder(torch.tensor([[5, 8, 2]])))
    >>> steps.advance(torch.tensor([[1]])).shape
    torch.Size([1, 7])

    Args:
        decoder: Such as a ``RecurrentDecoder`` or an ``AttentionDecoder``, in evaluation mode.
        encoded: The sources, one for each sequence to write.

    Attributes:
        state: The decoder's state after the tokens read so far.

    Source: chapter "Decoding".
    """

    def __init__(self, decoder: RecurrentDecoderLike, encoded: Encoded) -> None:
        check_evaluation_mode(decoder)
        self.decoder = decoder
        self.state = decoder.start(encoded)

    def advance(self, tokens: Tensor) -> Tensor:
        """Return the logits after further tokens; see ``StepModel.advance``."""
        logits, self.state = self.decoder.step(tokens, self.state)
        return upcast(logits[:, -1])

    def reorder(self, indices: Tensor) -> None:
        """Replace row i by row ``indices[i]``; see ``StepModel``."""
        self.state = self.state.select(indices)
