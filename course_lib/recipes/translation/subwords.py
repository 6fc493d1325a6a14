"""One vocabulary of pieces of words for both languages.

Byte-pair encoding on bytes, by the ``tokenizers`` package: ``course_lib.tokenization.bpe`` shows
how it works, this one is faster. Any text can be written in it, and comes back whole.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from course_lib.recipes.run_record import write_text
from course_lib.validation import check_not_string

PAD, BOS, EOS = "[PAD]", "[START]", "[END]"
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2
FEWEST_TOKENS = 3 + 256
"""Those for padding, start and end, and the bytes: what a vocabulary has at least."""

_SPACE = "Ġ"  # how pieces of bytes write the space at which a word begins


class Subwords:
    """A trained vocabulary.

    Args:
        tokenizer: As ``train`` or ``load`` made it.

    Raises:
        ValueError: Its first tokens are not those for padding, start and end.

    Source: Sennrich et al. (2016), section 3.2, joint BPE.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        found = [tokenizer.id_to_token(number) for number in range(3)]
        if found != [PAD, BOS, EOS]:
            raise ValueError(f"the first tokens must be {[PAD, BOS, EOS]}, got {found}")
        tokenizer.encode_special_tokens = True  # "[END]" in a text is text like any other
        self._tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], *, vocab_size: int) -> Self:
        """Learn a vocabulary.

        Args:
            texts: Sentences of both languages.
            vocab_size: Most tokens, those for padding, start and end and 256 bytes among them.

        Returns:
            The vocabulary; the same for the same texts.

        Raises:
            TypeError: ``texts`` is one string.
            ValueError: ``vocab_size`` is smaller than ``FEWEST_TOKENS``.
        """
        check_not_string(texts=texts)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        if vocab_size < FEWEST_TOKENS:
            raise ValueError(f"vocab_size must be at least {FEWEST_TOKENS}, got {vocab_size}")
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[PAD, BOS, EOS],
            initial_alphabet=alphabet,
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a vocabulary that ``save`` wrote.

        Args:
            path: The file.

        Returns:
            The vocabulary.

        Raises:
            OSError: The file can't be read.
            ValueError: It holds no such vocabulary.
        """
        text = Path(path).read_text(encoding="utf-8")
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # tokenizers raises nothing more special
            raise ValueError(f"{path} holds no vocabulary: {error}") from error
        return cls(tokenizer)

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON, whole or not at all.

        Args:
            path: The file.

        Raises:
            OSError: It can't be written; what was there before still is.
        """
        write_text(path, self._tokenizer.to_str())

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Turn sentences into token ids, without start and end.

        Args:
            sentences: Any texts.

        Returns:
            The token ids of each.

        Raises:
            TypeError: ``sentences`` is one string.
        """
        check_not_string(sentences=sentences)
        encoded = self._tokenizer.encode_batch(list(sentences), add_special_tokens=False)
        return [entry.ids for entry in encoded]

    def words(self, token_ids: Sequence[int]) -> list[tuple[str, int]]:
        """Put the pieces of words together again.

        Args:
            token_ids: Of a text, without start and end.

        Returns:
            Each word, with what stands at it without a space, and the number of its pieces.
        """
        groups: list[list[int]] = []
        for token_id in token_ids:
            if not groups or str(self._tokenizer.id_to_token(token_id)).startswith(_SPACE):
                groups.append([])
            groups[-1].append(token_id)
        return [(self.decode(group), len(group)) for group in groups]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Turn token ids into a sentence.

        Args:
            token_ids: They may hold padding, start and end, which stand for no text.

        Returns:
            The sentence, without spaces at its ends.
        """
        return self._tokenizer.decode(list(token_ids), skip_special_tokens=True).strip()
