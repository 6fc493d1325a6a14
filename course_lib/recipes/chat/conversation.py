"""A conversation with a language model that caches the keys and values of earlier messages."""

import codecs
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from course_lib.generation.sampling import keep_top_p
from course_lib.generation.step_models import CachedDecoder
from course_lib.models.llama import Llama
from course_lib.tokenization.byte_level import ByteLevelTokenizer
from course_lib.tokenization.chat_template import render_chat


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The text and the costs of one token of an answer.

    >>> Piece(text="Hello", cache_bytes=46_080, seconds=0.1).text
    'Hello'

    Attributes:
        text: The text that the token adds; empty while a character is incomplete.
        cache_bytes: Size of the cache of keys and values (bytes).
        seconds: Time to compute the token.
    """

    text: str
    cache_bytes: int
    seconds: float


@dataclass(kw_only=True)
class Conversation:
    """A chat: its messages, and a model with a cache of keys and values.

    For each answer the model reads only the tokens that its cache lacks. If the template renders
    earlier messages differently than before, the model reads all tokens again.

    >>> from course_lib.models.llama import LlamaConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "num_kv_heads": 1, "d_ff": 8, "num_layers": 1}
    >>> model = Llama(LlamaConfig(vocab_size=3, **sizes)).eval()
    >>> tokenizer = ByteLevelTokenizer(tokens=("<end>", "a", "b"), merges=(), specials=("<end>",))
    >>> template = "{% for m in messages %}{{ m.content }}<end>{% endfor %}"
    >>> talk = Conversation(model=model, tokenizer=tokenizer, template=template, end="<end>")
    >>> answer = "".join(piece.text for piece in talk.answer("ab", max_new_tokens=3))
    >>> [message["role"] for message in talk.messages]
    ['user', 'assistant']

    Attributes:
        model: The language model, in evaluation mode.
        tokenizer: Its tokenizer.
        template: Its chat template.
        end: The token that ends a message.
        messages: The messages in order; it may start with a system message.
        temperature: Divides the logits before sampling; 0 always takes the most probable token.
        top_p: Sample from the fewest tokens whose probabilities sum to at least this.
        generator: Random numbers for sampling; PyTorch's default generator if None.

    Raises:
        ValueError: ``temperature`` is negative, or ``top_p`` is not in (0, 1].

    Source: Holtzman et al. (2020), section 3.1, top p; chapter "Caching keys and values".
    """

    model: Llama
    tokenizer: ByteLevelTokenizer
    template: str
    end: str
    messages: list[dict[str, str]] = field(default_factory=list)
    temperature: float = 0.0
    top_p: float = 1.0
    generator: torch.Generator | None = None

    def __post_init__(self) -> None:
        """Check ``temperature`` and ``top_p``, and make an empty cache."""
        if self.temperature < 0:
            raise ValueError(f"temperature must not be negative, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        self._steps = CachedDecoder(self.model)
        self._read: list[int] = []  # ids of the tokens in the cache

    def answer(self, text: str, *, max_new_tokens: int) -> Iterator[Piece]:
        """Send a message, and generate the answer token by token.

        Special tokens in the message are encoded as plain text. ``messages`` gets the message and
        the answer after the last piece.

        Args:
            text: The user's message.
            max_new_tokens: Maximum number of tokens of the answer.

        Yields:
            The pieces of the answer; joined, they are its text.

        Raises:
            ValueError: Message and answer could exceed the model's ``max_length``.
        """
        began = time.perf_counter()
        messages = [*self.messages, {"role": "user", "content": text}]
        logits = self._catch_up(self._encode(messages), room=max_new_tokens)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        answer, end = "", self.tokenizer.id_of(self.end)
        for number in range(max_new_tokens):
            token = self._choose(logits)
            written = b"" if token == end else self.tokenizer.decode_bytes([token])
            is_last = token == end or number == max_new_tokens - 1
            piece = decoder.decode(written, final=is_last)
            answer += piece
            cache_bytes = self._steps.cache.num_bytes
            yield Piece(text=piece, cache_bytes=cache_bytes, seconds=time.perf_counter() - began)
            if is_last:
                break
            began = time.perf_counter()
            logits = self._steps.advance(torch.tensor([[token]]))
            self._read.append(token)
        self.messages = [*messages, {"role": "assistant", "content": answer}]

    def _encode(self, messages: list[dict[str, str]]) -> list[int]:
        """Return the token ids of a conversation; special tokens in messages are plain text."""
        marks = [f"\x00{number}\x00" for number in range(len(messages))]
        marked = [
            message | {"content": mark} for message, mark in zip(messages, marks, strict=True)
        ]
        rest, ids = render_chat(self.template, marked), list[int]()
        for message, mark in zip(messages, marks, strict=True):
            before, found, after = rest.partition(mark)
            if found:
                ids += self.tokenizer.encode(before)
                ids += self.tokenizer.encode(message["content"], specials=False)
                rest = after
        return ids + self.tokenizer.encode(rest)

    def _catch_up(self, ids: list[int], *, room: int) -> torch.Tensor:
        """Read the tokens that are not cached; return the logits ``(1, vocab_size)`` of the next.

        ``ids`` are the tokens of the conversation, ``room`` is the number of tokens to generate.
        """
        longest = self.model.config.max_length
        if len(ids) + room > longest:
            raise ValueError(
                f"the conversation must be at most {longest} tokens long, got {len(ids)} and "
                f"{room} to write"
            )
        if ids[: len(self._read)] != self._read or len(ids) == len(self._read):
            self._steps, self._read = CachedDecoder(self.model), []
        new = ids[len(self._read) :]
        self._read = ids
        return self._steps.advance(torch.tensor([new]))

    def _choose(self, logits: torch.Tensor) -> int:
        """Return the next token's id for logits ``(1, vocab_size)``."""
        if self.temperature == 0:
            return int(logits.argmax())
        logits = keep_top_p(logits / self.temperature, self.top_p)
        return int(torch.multinomial(logits.softmax(dim=-1), 1, generator=self.generator))
