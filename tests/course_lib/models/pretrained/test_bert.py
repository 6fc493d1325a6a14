"""Are checkpoints of `transformers` read as they were written, and all others refused?

``models/test_bert.py`` compares the numbers that the loaded models compute.
"""

import json
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers

from course_lib.models.bert import BertConfig, BertModel, mean_pooling
from course_lib.models.bert_heads import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
)
from course_lib.models.pretrained.bert import from_huggingface, read_tokenizer
from tests.course_lib.parity import randomise
from tests.course_lib.saved_folder import change_config, change_tensors

TOKEN_IDS = torch.tensor([[1, 8, 4, 9, 2, 20, 3, 2]])
SEGMENT_IDS = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1]])


@pytest.fixture(scope="module")
def theirs():
    config = transformers.BertConfig(
        vocab_size=23,
        max_position_embeddings=9,
        type_vocab_size=3,
        num_hidden_layers=11,  # so that layer 1 and layer 10 could be mixed up
        hidden_size=8,
        num_attention_heads=2,
        intermediate_size=12,
        hidden_dropout_prob=0.2,
        layer_norm_eps=1e-7,
        initializer_range=0.3,
        pad_token_id=4,
    )
    return randomise(transformers.BertForPreTraining(config).eval(), std=1.0)


def assert_same_model(theirs, ours):
    with torch.no_grad():
        expected = theirs(input_ids=TOKEN_IDS)
        actual = ours(TOKEN_IDS, mask=torch.ones(1, 1, 1, 8, dtype=torch.bool))
    torch.testing.assert_close(actual.tokens, expected.prediction_logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(actual.next_sentence, expected.seq_relationship_logits)


def test_reads_configuration_and_weights(theirs, folder):
    model = from_huggingface(folder)
    assert model.bert.config == BertConfig(
        vocab_size=23,
        max_length=9,
        num_segments=3,
        num_layers=11,
        d_model=8,
        num_heads=2,
        d_ff=12,
        dropout=0.2,
        eps=1e-7,
        init_std=0.3,
        pad_id=4,
    )
    assert not model.training
    assert_same_model(theirs, model)
    assert_same_model(theirs, from_huggingface(str(folder)))
    head = model.masked_language_model.output_projection
    assert head.weight is model.bert.embeddings.tokens.weight


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_keeps_the_dtype_of_the_checkpoint(folder, dtype):
    change_tensors(folder, lambda tensors: {name: t.to(dtype) for name, t in tensors.items()})
    assert {parameter.dtype for parameter in from_huggingface(folder).parameters()} == {dtype}


def test_reads_pickled_tensors_if_there_is_nothing_better(theirs, folder):
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    assert_same_model(theirs, from_huggingface(folder))
    (folder / "model.safetensors").unlink()
    torch.save(theirs.state_dict(), folder / "pytorch_model.bin")
    assert_same_model(theirs, from_huggingface(folder))


def test_reads_names_of_checkpoints_converted_from_tensorflow(theirs, folder):
    def rename(tensors):
        old = {}
        for name, tensor in tensors.items():
            if "LayerNorm" in name:
                name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
            old[name] = tensor
        assert sum(name.endswith("gamma") for name in old) == 24
        old["bert.embeddings.position_ids"] = torch.arange(9)[None]
        old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"]
        old["cls.predictions.decoder.bias"] = old["cls.predictions.bias"]
        return old

    change_tensors(folder, rename)
    assert_same_model(theirs, from_huggingface(folder))


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1],
        lambda whole: whole[:5000],
        lambda _: b"",
        lambda _: b"junk",
    ],
    ids=["one byte less", "cut short", "empty", "junk"],
)
def test_a_broken_pickle_is_rejected(theirs, folder, damage):
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save(theirs.state_dict(), path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match="must be plain tensors"):
        from_huggingface(folder)


def test_a_pickled_program_never_runs(folder):
    class Program:
        def __reduce__(self):
            return Path.touch, (folder / "ran",)

    (folder / "model.safetensors").unlink()
    torch.save({"bert.pooler.dense.weight": Program()}, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="must be plain tensors"):
        from_huggingface(folder)
    assert not (folder / "ran").exists()


def test_a_file_that_cannot_be_read_is_not_called_broken(theirs, folder, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied")

    (folder / "model.safetensors").unlink()
    torch.save(theirs.state_dict(), folder / "pytorch_model.bin")
    monkeypatch.setattr(torch, "load", fail)
    with pytest.raises(PermissionError):
        from_huggingface(folder)


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("config.json", None, FileNotFoundError, "folder must hold config.json"),
        ("model.safetensors", None, FileNotFoundError, "model.safetensors or pytorch_model.bin"),
        ("config.json", b"model_type: bert", ValueError, r"config\.json must be JSON"),
        ("model.safetensors", b"broken", ValueError, "must be plain tensors"),
    ],
)
def test_a_missing_or_broken_file_is_named(folder, name, content, error, message):
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(error, match=message):
        from_huggingface(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model_type", "roberta", "model_type in .* must be 'bert', got 'roberta'"),
        ("hidden_act", "relu", "hidden_act in .* must be 'gelu', got 'relu'"),
        ("position_embedding_type", "relative_key", "must be 'absolute', got 'relative_key'"),
        ("is_decoder", True, "is_decoder in .* must be False, got True"),
        ("tie_word_embeddings", False, "tie_word_embeddings in .* must be True, got False"),
        ("num_attention_heads", 3, "d_model=8 must be divisible by num_heads=3"),
        ("vocab_size", 24, r"must have shape \(24, 8\) by config.json, got \(23, 8\)"),
    ],
)
def test_a_configuration_that_does_not_fit_is_rejected(folder, name, value, message):
    change_config(folder, **{name: value})
    with pytest.raises(ValueError, match=message):
        from_huggingface(folder)


def without(name):
    return lambda tensors: {n: t for n, t in tensors.items() if n != name}


def with_tensor(name, tensor):
    return lambda tensors: tensors | {name: tensor}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("cls.seq_relationship.bias"), "lacks next_sentence.projection.bias"),
        (
            without("bert.encoder.layer.10.attention.self.key.bias"),
            "lacks bert.encoder.layers.10.self_attention.key_projection.bias",
        ),
        (
            with_tensor("classifier.weight", torch.ones(2, 8)),
            "no place in BertForPreTraining for classifier.weight",
        ),
        (
            with_tensor("cls.predictions.decoder.weight", torch.zeros(23, 8)),
            "cls.predictions.decoder.weight must equal .* they differ",
        ),
        (
            with_tensor("cls.predictions.decoder.bias", torch.zeros(23)),
            "cls.predictions.decoder.bias must equal .* they differ",
        ),
        (
            with_tensor("bert.pooler.dense.bias", torch.ones(8, dtype=torch.int8)),
            "must be floating-point, got torch.int8",
        ),
        (
            lambda tensors: {name: t.to(torch.int8) for name, t in tensors.items()},
            "must be floating-point, got torch.int8",
        ),
    ],
)
def test_other_tensors_are_rejected_by_name(folder, change, message):
    change_tensors(folder, change)
    with pytest.raises(ValueError, match=message):
        from_huggingface(folder)


# --- encoders, masked-language models, classifiers -----------------------------------------------

EVERYTHING = torch.ones(1, 1, 1, 8, dtype=torch.bool)
NAMES = ("Model", "ForMaskedLM", "ForSequenceClassification", "ForPreTraining")


def save(theirs, name, folder):
    """Save the ``transformers`` model ``Bert<name>`` in a folder, and return it.

    Its encoder has the weights of that of ``theirs``; its head is random.
    """
    settings = {"num_labels": 5} if "Classification" in name else {}
    config = transformers.BertConfig(**theirs.config.to_diff_dict() | settings)
    model = getattr(transformers, f"Bert{name}")(config).eval()
    (model if name == "Model" else model.bert).load_state_dict(
        theirs.bert.state_dict(), strict=False
    )
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_encoder_is_read_from_each_kind_of_checkpoint(theirs, name, tmp_path):
    save(theirs, name, tmp_path)
    model = from_huggingface(tmp_path, BertModel)
    assert not model.training
    output, expected = model(TOKEN_IDS, mask=EVERYTHING), theirs.bert(input_ids=TOKEN_IDS)
    torch.testing.assert_close(output.hidden, expected.last_hidden_state, rtol=1e-4, atol=1e-4)
    pooled = torch.zeros(1, 8) if name == "ForMaskedLM" else expected.pooler_output
    torch.testing.assert_close(output.pooled, pooled, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "kind", "logits"),
    [
        ("ForMaskedLM", BertForMaskedLM, "logits"),
        ("ForPreTraining", BertForMaskedLM, "prediction_logits"),
        ("ForSequenceClassification", BertForSequenceClassification, "logits"),
    ],
)
@torch.no_grad()
def test_head_is_read_with_its_logits(theirs, name, kind, logits, tmp_path):
    peer = save(theirs, name, tmp_path)
    model = from_huggingface(tmp_path, kind)
    if kind is BertForMaskedLM:
        weight = model.masked_language_model.output_projection.weight
        assert weight is model.bert.embeddings.tokens.weight
    expected = peer(input_ids=TOKEN_IDS, token_type_ids=SEGMENT_IDS)[logits]
    actual = model(TOKEN_IDS, SEGMENT_IDS, EVERYTHING)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(model(TOKEN_IDS, SEGMENT_IDS), actual)  # token 4 is padding


@pytest.mark.parametrize(
    ("name", "kind", "lacks"),
    [
        ("Model", BertForPreTraining, "masked_language_model"),
        ("Model", BertForSequenceClassification, "classifier"),
        ("ForMaskedLM", BertForPreTraining, "bert.pooler"),
        ("ForMaskedLM", BertForSequenceClassification, "bert.pooler"),
        ("ForSequenceClassification", BertForMaskedLM, "masked_language_model"),
    ],
)
def test_missing_head_is_named(theirs, name, kind, lacks, tmp_path):
    save(theirs, name, tmp_path)
    with pytest.raises(ValueError, match=f"lacks {lacks}"):
        from_huggingface(tmp_path, kind)


def test_mean_leaves_padding_out():
    hidden = torch.tensor([[[1.0, 2], [3, 6], [9, 9]], [[1, 1], [2, 2], [3, 3]]])
    is_real = torch.tensor([[True, True, False], [True, True, True]])
    assert mean_pooling(hidden, is_real).tolist() == [[2, 4], [2, 2]]


# --- tokenizer -----------------------------------------------------------------------------------

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = (*SPECIALS, "a", "play", "##ful", "##ness", ".", "é", "A")
TEXTS = ("A playful play.", "Playfulness, [MASK] É\n.", "aplayful", "a" * 101, "")


def save_tokenizer(folder, *, lowercase=True, strip_accents=None):
    tokenizer = tokenizers.BertWordPieceTokenizer(
        {piece: number for number, piece in enumerate(PIECES)},
        lowercase=lowercase,
        strip_accents=strip_accents,
    )
    tokenizer.add_special_tokens(list(SPECIALS))
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


@pytest.mark.parametrize("settings", [{}, {"lowercase": False}, {"strip_accents": False}], ids=str)
def test_tokenizer_splits_as_it_did(settings, tmp_path):
    peer = save_tokenizer(tmp_path, **settings)
    tokenizer = read_tokenizer(tmp_path)
    assert tokenizer.vocabulary.tokens == PIECES
    assert tokenizer.vocabulary.specials == SPECIALS
    for text in TEXTS:
        assert tokenizer.encode(text) == peer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"WordPiece","unk', '"Unigram","unk', "type in .*tokenizer.json must be 'WordPiece'"),
        ('prefix":"##","max', 'prefix":"@@","max', "continuing_subword_prefix in .* must be '##'"),
        ('"clean_text":true', '"clean_text":false', "clean_text in .* must be True"),
        ('"A":11', '"A":12', "must number its tokens from 0 on"),
        ('"[UNK]":1,', '"[NONE]":1,', "must have a vocab with its unk_token in it"),
        ("{", "[{", "must be JSON"),
    ],
)
def test_other_tokenizers_are_rejected(old, new, message, tmp_path):
    save_tokenizer(tmp_path)
    path = tmp_path / "tokenizer.json"
    text = json.dumps(json.loads(path.read_text()), separators=(",", ":"))
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_tokenizer(tmp_path)


def test_missing_tokenizer_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"must hold tokenizer\.json"):
        read_tokenizer(tmp_path)
