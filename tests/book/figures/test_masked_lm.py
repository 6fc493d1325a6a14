"""The engine's BERT is course_lib's; it cuts words into pieces as course_lib's WordPiece does."""

import math

import pytest
import torch
from torch import nn

from course_lib.analysis.recorders import recorded_attention
from course_lib.layers.masks import causal_mask
from course_lib.layers.transformer_layers import Encoder
from course_lib.models.bert import BertConfig, BertEmbeddings
from course_lib.models.bert_heads import MaskedLanguageModelHead
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import split_word
from course_lib.training.export_language_models import masked_language_model_data
from tests.book.figures.test_figure_arithmetic import run_script

pytestmark = pytest.mark.depends_on("book/_ext", "course_lib", "tests/book/figures")

ENGINE = [f"engine/{part}.js" for part in ("matrices", "attention", "weights")]
WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s", "bark"]
READ = """((tokens) => {
  const model = new courseEngine.MaskedLM(data.config, courseEngine.unpack(data.parameters));
  const { logits, weights } = model.read(tokens);
  const plain = (matrix) => matrix.map((row) => [...row]);
  return { logits: plain(logits), weights: weights.map((heads) => heads.map(plain)) };
})"""


class SmallBert(nn.Module):
    """A BERT as homework 8 puts it together; with ``causal`` it reads from left to right."""

    def __init__(self, norm_position="post", causal=False):
        super().__init__()
        config = BertConfig(
            vocab_size=len(WORDS), max_length=9, d_model=8, num_heads=2, d_ff=12, dropout=0.0
        )
        self.causal = causal
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            2, 8, 2, 12, norm_position=norm_position, activation="gelu", eps=1e-3
        )
        self.head = MaskedLanguageModelHead(self.embeddings.tokens, eps=1e-2)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.7)  # no part may be idle

    def forward(self, token_ids):
        mask = causal_mask(token_ids.size(1)) if self.causal else None
        return self.head(self.encoder(self.embeddings(token_ids), mask))


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_bert_in_the_page_is_the_bert_of_the_library(norm_position, causal):
    model = SmallBert(norm_position, causal).eval()
    data = masked_language_model_data(model, words=WORDS, num_heads=2, causal=causal)
    tokens = [1, 4, 5, 3, 6, 2]
    found = run_script("engine/masked-lm.js", f"{READ}({tokens})", data, *ENGINE)
    with torch.no_grad(), recorded_attention(model.double()) as weights:
        logits = model(torch.tensor([tokens]))[0]
    assert (torch.tensor(found["logits"], dtype=torch.float64) - logits).abs().max() < 1e-9
    for layer, heads in enumerate(found["weights"]):
        there = weights[f"encoder.layers.{layer}.self_attention"][0]
        assert (torch.tensor(heads, dtype=torch.float64) - there).abs().max() < 1e-9


def test_the_error_function_is_exact_near_zero_and_far_away():
    numbers = [-7, -3, -0.5, -1e-9, 0, 1e-3, 1, 2.5, 5.9, 6.1]
    found = run_script("engine/masked-lm.js", "data.map(courseEngine.erf)", numbers, *ENGINE)
    assert found == pytest.approx([math.erf(x) for x in numbers], rel=1e-13, abs=1e-16)


@pytest.mark.parametrize("word", ["dog", "dogs", "dogss", "bark", "barks", "cat", "dogcat", "s"])
def test_words_are_cut_as_the_library_cuts_them(word):
    vocabulary = Vocabulary(tokens=(*WORDS, "[UNK]"), specials=("[UNK]",), unknown="[UNK]")
    call = "courseEngine.pieces(data, " + str(WORDS) + ")"
    found = run_script("engine/word-pieces.js", call, word, *ENGINE)
    assert (found or ["[UNK]"]) == list(split_word(word, vocabulary))
