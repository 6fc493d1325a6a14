"""Exported parameters: every number is there, once, in a form that any language can read."""

import base64
import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.generation.step_models import CachedDecoder
from course_lib.models.bert import BertConfig, BertModel
from course_lib.models.bert_heads import MaskedLanguageModelHead
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.export import (
    MAX_LENGTH,
    export_language_model,
    export_masked_language_model,
    export_parameters,
    export_translator,
    language_model_data,
    masked_language_model_data,
)


@pytest.mark.parametrize(("dtype", "code"), [("float32", "<f4"), ("float16", "<f2")])
def test_parameters_follow_their_shapes_in_order_and_shared_ones_once(dtype, code):
    model = nn.Sequential(nn.Embedding(3, 2), nn.LayerNorm(2), nn.Linear(2, 3)).half()
    model[2].weight = model[0].weight
    exported = export_parameters(model, dtype)
    assert exported["shapes"] == {
        "0.weight": [3, 2], "1.weight": [2], "1.bias": [2], "2.bias": [3]
    }  # fmt: skip
    numbers = np.frombuffer(base64.b64decode(exported[dtype]), code)
    expected = torch.cat([parameter.flatten() for parameter in model.parameters()])
    assert numbers.tolist() == expected.float().tolist()
    assert exported.keys() == {"shapes", dtype}


def state_of(written):
    """Return the parameters in an exported file's content as tensors, by name."""
    shapes = written["parameters"]["shapes"]
    numbers = np.frombuffer(base64.b64decode(written["parameters"]["float32"]), "<f4").copy()
    parts = torch.tensor(numbers).split([math.prod(shape) for shape in shapes.values()])
    return {name: part.view(shapes[name]) for name, part in zip(shapes, parts, strict=True)}


# ---- a translator ----

SRC, TGT = ["<pad>", "<end>", "a", "cat"], ["<pad>", "<start>", "<end>", "un", "chat"]
GIVEN = {"src_words": SRC, "tgt_words": TGT, "sentences": ["a cat", "cat"], "num_heads": 2}


def make_translator(**choices):
    torch.manual_seed(3)
    sizes = {"src_vocab_size": 4, "tgt_vocab_size": 5, "d_model": 4, "num_heads": 2, "d_ff": 6}
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 1}
    return Transformer(TransformerConfig(**sizes | layers | choices))


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("tied", ["none", "output"])
def test_translator_file_runs_the_same_model(tmp_path, norm_position, tied):
    model = make_translator(norm_position=norm_position, tied=tied).train()
    file = export_translator(model, tmp_path / "my-model.json", **GIVEN)
    written = json.loads(file.read_text())
    again = Transformer(TransformerConfig(**written["config"], tied=tied)).eval()
    assert written["config"].items() <= dataclasses.asdict(model.config).items()
    assert written["words"] == {"src": SRC, "tgt": TGT}
    assert model.training
    state = state_of(written)
    again.load_state_dict({"output_projection.weight": state["tgt_embedding.weight"]} | state)
    for run, src in zip(written["sentences"], ([2, 3, 1], [3, 1]), strict=True):
        with torch.no_grad():
            logits = again(torch.tensor([src]), torch.tensor([run["read"]]))[0]
        assert run["src"] == src
        assert torch.allclose(torch.tensor(run["logits"]), logits, atol=1e-6)
        chosen = logits.argmax(-1).tolist()
        assert chosen[:-1] == run["read"][1:]
        assert chosen[-1] == 2 or len(run["read"]) == MAX_LENGTH


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"src_words": SRC[:3]}, "src_words must hold 4 different words, got 3"),
        ({"tgt_words": [*TGT[:4], "un"]}, "tgt_words must hold 5 different words"),
        ({"src_words": ["<pad>", "<stop>", "a", "cat"]}, r"src_words must hold \['<end>'\]"),
        ({"sentences": [" "]}, "at least 1 text, each of words"),
        ({"sentences": ["a dog"]}, r"words of src_words, got \['dog'\]"),
        ({"num_heads": 3}, "num_heads must divide the width 4, got 3"),
    ],
)
def test_wrong_argument_of_translator_is_rejected(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        export_translator(make_translator(), tmp_path / "m.json", **GIVEN | changes)


def test_unsuitable_or_diverged_translator_is_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"'tgt_embedding\.weight' is missing"):
        export_translator(nn.Linear(2, 2), tmp_path / "m.json", **GIVEN)
    model = make_translator()
    model.src_embedding.weight.data[1, 2] = math.inf
    with pytest.raises(ValueError, match=r"finite numbers, 'src_embedding\.weight' has others"):
        export_translator(model, tmp_path / "m.json", **GIVEN)
    assert not [*tmp_path.iterdir()]


# ---- language models ----

WORDS = ["<start>", "<end>", "a", "cat", "sleeps"]
TOKENS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "cat"]
DECODER = {"words": WORDS, "start": "<start>", "end": "<end>", "num_heads": 2}


def make_decoder():
    return DecoderLM(DecoderLMConfig(vocab_size=5, max_length=6, d_model=4, num_heads=2, d_ff=6))


class Blanks(nn.Module):
    """A BERT with a masked-language-model head, built as in homework 8."""

    def __init__(self):
        super().__init__()
        sizes = {"num_layers": 2, "d_model": 4, "num_heads": 2, "d_ff": 6}
        whole = BertModel(BertConfig(vocab_size=5, max_length=7, **sizes, eps=1e-3))
        self.embeddings, self.encoder = whole.embeddings, whole.encoder
        self.head = MaskedLanguageModelHead(self.embeddings.tokens)

    def forward(self, token_ids):
        return self.head(self.encoder(self.embeddings(token_ids)))


def test_decoder_file_holds_sizes_words_and_logits(tmp_path):
    model = make_decoder().train()
    options = {"begin": lambda: CachedDecoder(model).advance, "texts": ["<start> a cat", "a"]}
    file = export_language_model(model, tmp_path / "m.json", **DECODER, **options)
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


def test_bert_file_holds_sizes_words_and_logits(tmp_path):
    model = Blanks().train()
    file = export_masked_language_model(
        model, tmp_path / "m.json", words=TOKENS, num_heads=2, texts=[[1, 3, 4, 2]]
    )
    written = json.loads(file.read_text())
    config = written["config"]
    sizes = {"vocab_size": 5, "max_length": 7, "num_segments": 2, "d_model": 4, "num_heads": 2}
    sizes |= {"d_ff": 6, "num_layers": 2, "norm_position": "post", "causal": False}
    assert config == sizes | {"eps_embeddings": 1e-3, "eps_layers": 1e-3, "eps_head": 1e-12}
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": WORDS[:4]}, "words must hold 5 different words, got 4"),
        ({"words": [*WORDS[:4], "a"]}, "words must hold 5 different words"),
        ({"end": "."}, r"words must hold \['\.'\]"),
        ({"num_heads": 3}, "num_heads must divide the width 4, got 3"),
    ],
)
def test_wrong_argument_of_decoder_is_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        language_model_data(make_decoder(), **DECODER | changes)


def test_texts_without_words_or_with_unknown_ones_are_rejected(tmp_path):
    file = tmp_path / "m.json"
    for texts, message in (
        ([], "at least 1 text, each of words"),
        (["a dog"], r"words of words, got \['dog'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            export_language_model(make_decoder(), file, **DECODER, begin=lambda: None, texts=texts)
    with pytest.raises(ValueError, match="at least 1 text, got none"):
        export_masked_language_model(Blanks(), file, words=TOKENS, num_heads=2, texts=[])
    assert not file.exists()


def test_unsuitable_or_diverged_language_model_is_rejected():
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
