"""The plain text that BERT is pre-trained on, and the vocabulary that is made from it.

Three corpora of the course hold English that no task's labels are needed for: the captions of
Multi30k, the plays of Shakespeare, and the questions of Banking77's training part, without their
intents. That the last are of the domain of a task to come is meant: unlabelled text of the domain
is what one has in practice (Gururangan et al., 2020). Nothing of BLiMP is among them, and nothing
of any test part.

BERT's "sentence" is any stretch of running text. A caption, a speech or a question is a document;
its stretches are its lines, or its two halves if it has one line. A stretch that doesn't follow is
drawn from the same corpus: from another one its style alone would give it away.
"""

from collections.abc import Iterable

from tokenizers import BertWordPieceTokenizer

from course_lib.data.corpora.readers import read_banking77, read_multi30k, read_tiny_shakespeare
from course_lib.tokenization.vocabulary import BERT_SPECIALS, Vocabulary
from course_lib.tokenization.wordpiece import CONTINUATION, WordPiece
from course_lib.validation import check_not_string

Document = list[str]
"""Stretches of text that follow each other."""

Corpus = list[Document]
"""Documents of one kind."""


def read_texts() -> list[Corpus]:
    """Collect the text.

    Returns:
        Captions, speeches, questions.

    Raises:
        DownloadError: A corpus could not be had.
    """
    captions = [source for source, _ in read_multi30k("train", "en", "de")]
    plays, _ = read_tiny_shakespeare()
    questions = [question for question, _ in read_banking77("train")]
    return [
        [halves(caption) for caption in captions],
        speeches(plays),
        [halves(question) for question in questions],
    ]


def halves(text: str) -> Document:
    """Cut a text in two at the middle word.

    >>> halves("a dog runs on the beach")
    ['a dog runs', 'on the beach']

    Args:
        text: Any text.

    Returns:
        Two stretches; one if there is but one word, none if there is none.
    """
    words = text.split()
    middle = len(words) // 2
    return [" ".join(part) for part in (words[:middle], words[middle:]) if part]


def speeches(plays: str) -> Corpus:
    """Divide plays into what one person says at a time.

    Args:
        plays: Speeches with an empty line between them, each under the speaker's name and a colon.

    Returns:
        Of each speech its lines, without the name.
    """
    found = []
    for speech in plays.split("\n\n"):
        _, _, said = speech.strip().partition(":\n")
        lines = said.split("\n") if said else []
        found.append(halves(said) if len(lines) == 1 else lines)
    return [document for document in found if document]


def learn_vocabulary(texts: Iterable[str], size: int) -> Vocabulary:
    """Learn the pieces of words that write a text shortest.

    Args:
        texts: The text.
        size: Most pieces, special tokens included.

    Returns:
        The vocabulary, all in small letters and without accents; the same for the same texts.

    Raises:
        TypeError: ``texts`` is one string.

    Source: Schuster and Nakajima (2012); the library ``tokenizers``.
    """
    check_not_string(texts=texts)
    kept = list(texts)
    learner = BertWordPieceTokenizer(lowercase=True)
    characters = {c for text in kept for c in learner.normalizer.normalize_str(text) if c.isalnum()}
    # The library numbers letters inside words in an order that changes from run to run, and with
    # it which of two equally frequent pieces comes first. Tokens that it is given come in order.
    inside_words = [f"{CONTINUATION}{character}" for character in sorted(characters)]
    learner.train_from_iterator(
        kept,
        vocab_size=size,
        special_tokens=[*BERT_SPECIALS, *inside_words],
        show_progress=False,
    )
    ids = learner.get_vocab()
    return Vocabulary(
        tokens=tuple(sorted(ids, key=ids.__getitem__)), specials=BERT_SPECIALS, unknown="[UNK]"
    )


class CachedTokenizer:
    """A tokeniser that splits each word once.

    Args:
        tokenizer: That splits them.
    """

    def __init__(self, tokenizer: WordPiece) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Turn text into ids.

        Args:
            text: Any text.

        Returns:
            One id a piece.
        """
        ids = []
        for word in text.split():
            if word not in self._known:
                self._known[word] = self._tokenizer.encode(word)
            ids += self._known[word]
        return ids
