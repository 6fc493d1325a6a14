"""The language models before the Transformer under one roof, and what they are measured by.

Each lives in a file of its own: ``ngram_model.py``, ``neural_language_model.py``,
``recurrent_language_model.py``, ``perplexity.py``. All of them map tokens ``(batch, length)`` to
the logits of each next token, ``(batch, length, vocab_size)``. The Transformer's is in
``language_model.py``.
"""

from course_lib.neural_language_model import NeuralLanguageModel
from course_lib.ngram_model import NGramModel
from course_lib.perplexity import perplexity, token_log_probabilities
from course_lib.recurrent_language_model import RecurrentLanguageModel

__all__ = [
    "NGramModel",
    "NeuralLanguageModel",
    "RecurrentLanguageModel",
    "perplexity",
    "token_log_probabilities",
]
