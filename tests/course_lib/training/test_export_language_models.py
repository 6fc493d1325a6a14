"""Exported models of text: their files hold all that is needed to run them, and refuse the rest."""

import json
import math

import pytest
import torch
from torch import nn

from course_lib.generation.cached import CachedDecoder
from course_lib.models.bert import BertConfig, BertModel
from course_lib.models.bert_heads import MaskedLanguageModelHead
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.training.export_language_models import (
    export_language_model,
    export_masked_language_model,
    language_model_data,
    masked_language_model_data,
)
from tests.course_lib.training.test_export import state_of

WORDS = ["<start>", "<end>", "a", "cat", "sleeps"]
TOKENS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "cat"]


def make_decoder():
    config = DecoderLMConfig(vocab_size=5, max_length=6, d_model=4, num_heads=2, d_ff=6)
    return DecoderLM(config)


class Blanks(nn.Module):
    """A BERT with its head, as homework 8 puts it together."""

    def __init__(self):
        super().__init__()
        sizes = {"num_layers": 2, "d_model": 4, "num_heads": 2, "d_ff": 6}
        whole = BertModel(BertConfig(vocab_size=5, max_length=7, **sizes, eps=1e-3))
        self.embeddings, self.encoder = whole.embeddings, whole.encoder
        self.head = MaskedLanguageModelHead(self.embeddings.tokens)

    def forward(self, token_ids):
        return self.head(self.encoder(self.embeddings(token_ids)))


def test_a_decoders_file_holds_its_sizes_words_and_what_it_said_token_by_token(tmp_path):
    model = make_decoder().train()
    file = export_language_model(
        model, tmp_path / "m.json", words=WORDS, start="<start>", end="<end>", num_heads=2,
        begin=lambda: CachedDecoder(model).advance, texts=["<start> a cat", "a"],
    )  # fmt: skip
    written = json.loads(file.read_text())
    start, end = written["config"].pop("start"), written["config"].pop("end")
    again = DecoderLM(DecoderLMConfig(**written["config"])).eval()
    state = state_of(written)
    again.load_state_dict(state | {"output_projection.weight": state["embedding.weight"]})
    assert (start, end, written["words"], model.training) == (0, 1, WORDS, True)
    assert [run["read"] for run in written["sentences"]] == [[0, 2, 3], [2]]
    for run in written["sentences"]:
        with torch.no_grad():
            logits = again(torch.tensor([run["read"]]))[0, -1]
        assert torch.allclose(torch.tensor(run["logits"]), logits, atol=1e-6)


def test_a_berts_file_holds_its_sizes_words_and_what_it_said_at_each_place(tmp_path):
    model = Blanks().train()
    file = export_masked_language_model(
        model, tmp_path / "m.json", words=TOKENS, num_heads=2, texts=[[1, 3, 4, 2]]
    )
    written = json.loads(file.read_text())
    config = written["config"]
    assert (config["max_length"], config["num_segments"], config["num_layers"]) == (7, 2, 2)
    assert (config["eps_embeddings"], config["eps_layers"], config["eps_head"]) == (
        1e-3,
        1e-3,
        1e-12,
    )
    assert (config["norm_position"], config["causal"], config["d_ff"]) == ("post", False, 6)
    again = Blanks().eval()
    state = state_of(written)
    shared = {"head.output_projection.weight": state["embeddings.tokens.weight"]}
    again.load_state_dict(state | shared)
    with torch.no_grad():
        logits = again(torch.tensor([[1, 3, 4, 2]]))[0]
    (run,) = written["sentences"]
    assert run["read"] == [1, 3, 4, 2]
    assert torch.allclose(torch.tensor(run["logits"]), logits, atol=1e-6)
    assert model.training


DECODER = {"words": WORDS, "start": "<start>", "end": "<end>", "num_heads": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": WORDS[:4]}, "words must hold 5 different words, got 4"),
        ({"words": [*WORDS[:4], "a"]}, "words must hold 5 different words"),
        ({"end": "."}, r"words must hold \['\.'\]"),
        ({"num_heads": 3}, "num_heads must divide the width 4, got 3"),
    ],
)
def test_what_does_not_go_with_a_decoder_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        language_model_data(make_decoder(), **DECODER | changes)


@pytest.mark.parametrize("texts", [[], ["a", " "]])
def test_texts_must_hold_words(tmp_path, texts):
    with pytest.raises(ValueError, match="at least 1 text, each of words"):
        export_language_model(
            make_decoder(), tmp_path / "m.json", **DECODER, begin=lambda: None, texts=texts
        )
    with pytest.raises(ValueError, match=r"words in the vocabulary, got \['dog'\]"):
        export_language_model(
            make_decoder(), tmp_path / "m.json", **DECODER, begin=lambda: None, texts=["a dog"]
        )
    with pytest.raises(ValueError, match="at least 1 text, got none"):
        export_masked_language_model(
            Blanks(), tmp_path / "m.json", words=TOKENS, num_heads=2, texts=[]
        )
    assert not [*tmp_path.iterdir()]


def test_another_model_or_one_that_went_astray_is_refused():
    with pytest.raises(ValueError, match=r"'embedding\.weight' is missing"):
        language_model_data(nn.Linear(2, 2), **DECODER)
    with pytest.raises(ValueError, match=r"'embeddings\.tokens\.weight' is missing"):
        masked_language_model_data(nn.Linear(2, 2), words=TOKENS, num_heads=2)
    model = Blanks()
    model.head.norm = nn.Linear(4, 4)
    with pytest.raises(ValueError, match=r"a normalisation 'head\.norm' that says its eps"):
        masked_language_model_data(model, words=TOKENS, num_heads=2)
    model.head.projection.bias.data[0] = math.nan
    with pytest.raises(ValueError, match=r"finite numbers, 'head\.projection\.bias' has others"):
        masked_language_model_data(model, words=TOKENS, num_heads=2)
