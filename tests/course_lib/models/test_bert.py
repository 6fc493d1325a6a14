"""Is BERT the same function as the one of `transformers`, and does it have the properties it must?

Dimensions all differ, so that no mix-up of two goes unseen.
"""

import copy
import dataclasses

import pytest
import torch
import transformers

from course_lib.models.bert import BertConfig, BertEmbeddings, BertModel
from course_lib.models.bert_heads import (
    BertForPreTraining,
    BertForSequenceClassification,
    MaskedLanguageModelHead,
    PreTrainingLogits,
    pretraining_loss,
)
from course_lib.models.pretrained.bert import from_huggingface
from tests.course_lib.parity import assert_as_exact_as, randomise

CONFIG = BertConfig(
    vocab_size=37, max_length=11, num_layers=2, d_model=24, num_heads=3, d_ff=40, dropout=0.0,
    eps=1e-2,  # so large that one in the wrong place, or omitted, shows
)  # fmt: skip
CLS, SEP, MASK = 1, 2, 3
TOKEN_IDS = torch.tensor(
    [[1, 8, 3, 9, 2, 20, 3, 2], [1, 30, 2, 3, 2, 0, 0, 0], [1, 5, 6, 3, 2, 7, 2, 0]]
)
SEGMENT_IDS = torch.tensor(
    [[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0]]
)
LABELS = torch.full_like(TOKEN_IDS, -100)
LABELS[TOKEN_IDS == MASK] = torch.tensor([11, 36, 17, 4])
NEXT_LABELS = torch.tensor([1, 0, 1])
REAL = TOKEN_IDS != 0
in_both_dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


@pytest.fixture(scope="module")
def theirs() -> transformers.BertForPreTraining:
    """A random model of `transformers`, in float64."""
    config = transformers.BertConfig(
        vocab_size=37,
        max_position_embeddings=11,
        num_hidden_layers=2,
        hidden_size=24,
        num_attention_heads=3,
        intermediate_size=40,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        layer_norm_eps=1e-2,
    )
    return randomise(transformers.BertForPreTraining(config).double().eval(), std=0.3)


@pytest.fixture(scope="module")
def folder(theirs, tmp_path_factory):
    path = tmp_path_factory.mktemp("bert")
    theirs.save_pretrained(path)
    return path


@pytest.fixture
def ours(folder):
    return from_huggingface(folder)


def in_dtype(model, dtype):
    return copy.deepcopy(model).to(dtype)  # .to by itself would round the model's own weights


def run_theirs(model):
    return model(
        input_ids=TOKEN_IDS,
        token_type_ids=SEGMENT_IDS,
        attention_mask=REAL.long(),
        labels=LABELS,
        next_sentence_label=NEXT_LABELS,
        output_hidden_states=True,
    )


# --- parity --------------------------------------------------------------------------------------


@in_both_dtypes
def test_hidden_states_heads_and_loss_are_those_of_transformers(theirs, ours, dtype):
    def run_peer(dtype):
        model = in_dtype(theirs, dtype)
        out = run_theirs(model)
        pooled = model.bert.pooler(out.hidden_states[-1])
        logits = [out.prediction_logits, out.seq_relationship_logits]
        return [*out.hidden_states, pooled, *logits, out.loss]

    ours = ours.to(dtype)
    states = ours.bert.hidden_states(TOKEN_IDS, SEGMENT_IDS)
    output = ours.bert(TOKEN_IDS, SEGMENT_IDS)
    logits = ours(TOKEN_IDS, SEGMENT_IDS)
    assert torch.equal(output.hidden, states[-1])
    loss = pretraining_loss(logits, LABELS, NEXT_LABELS)
    actual = [*states, output.pooled, *logits, loss]
    for got, peer, exact in zip(actual, run_peer(dtype), run_peer(torch.float64), strict=True):
        if dtype == torch.float64:
            torch.testing.assert_close(got, exact, rtol=1e-10, atol=1e-11)
        else:
            assert_as_exact_as([peer], [got], [exact])


@in_both_dtypes
def test_gradients_of_the_loss_are_those_of_transformers(theirs, folder, tmp_path, dtype):
    """The gradients of `transformers` are saved as if they were weights, to get our names."""

    def gradients_of_theirs(dtype):
        model = in_dtype(theirs, dtype)
        run_theirs(model).loss.backward()
        shell = transformers.BertForPreTraining(model.config).to(dtype)
        with torch.no_grad():
            for target, source in zip(shell.parameters(), model.parameters(), strict=True):
                target.copy_(source.grad)
        shell.save_pretrained(tmp_path)
        return dict(from_huggingface(tmp_path).named_parameters())

    ours = from_huggingface(folder).to(dtype)
    pretraining_loss(ours(TOKEN_IDS, SEGMENT_IDS), LABELS, NEXT_LABELS).backward()
    exact, reference = gradients_of_theirs(torch.float64), gradients_of_theirs(dtype)
    actual = {name: parameter.grad for name, parameter in ours.named_parameters()}
    assert exact.keys() == actual.keys()
    assert_as_exact_as(reference.values(), actual.values(), exact.values())
    for name, truth in exact.items():
        # The keys' biases move all scores of a query alike, so that softmax does not see them.
        assert truth.abs().max() > 1e-9 or name.endswith("key_projection.bias")


def test_segments_are_all_first_and_padding_is_masked_unless_told_otherwise(theirs, ours):
    with torch.no_grad():
        expected = theirs.bert(input_ids=TOKEN_IDS, attention_mask=REAL.long())
        unmasked = theirs.bert(input_ids=TOKEN_IDS)
        actual = ours.bert(TOKEN_IDS)
        everything = ours.bert(TOKEN_IDS, mask=torch.ones(1, 1, 1, 8, dtype=torch.bool))
        states = ours.bert.hidden_states(TOKEN_IDS, mask=torch.ones(1, 1, 1, 8, dtype=torch.bool))
    torch.testing.assert_close(actual.hidden, expected.last_hidden_state)
    torch.testing.assert_close(actual.pooled, expected.pooler_output)
    torch.testing.assert_close(everything.hidden, unmasked.last_hidden_state)
    assert torch.equal(states[-1], everything.hidden)
    assert not torch.allclose(actual.hidden, everything.hidden)


@pytest.mark.parametrize("token_ids", [TOKEN_IDS, TOKEN_IDS[:, :3].clamp(min=1)])
@pytest.mark.parametrize("name", ["bert", "hidden_states", "pre-training", "classifier"])
def test_attention_mask_given_for_the_segments_is_rejected(ours, name, token_ids):
    call = {
        "bert": ours.bert,
        "hidden_states": ours.bert.hidden_states,
        "pre-training": ours,
        "classifier": BertForSequenceClassification(CONFIG, 5).double(),
    }[name]
    attention_mask = (token_ids != CONFIG.pad_id).long()  # as Hugging Face's tokenizers give it
    with pytest.raises(ValueError, match="leave attention masks out"):
        call(token_ids, attention_mask)
    call(token_ids, 1 - attention_mask)


# --- properties ----------------------------------------------------------------------------------


def test_the_pad_id_of_the_configuration_is_padding():
    model = BertModel(dataclasses.replace(CONFIG, pad_id=36)).double()
    short, long = TOKEN_IDS[:1, :4], TOKEN_IDS[:1, :4].repeat(1, 2)
    long[:, 4:] = 36
    torch.testing.assert_close(model(long).pooled, model(short).pooled)
    for state, expected in zip(model.hidden_states(long), model.hidden_states(short), strict=True):
        torch.testing.assert_close(state[:, :4], expected)
    long[:, 4:] = 0  # here a token like any other
    assert not torch.allclose(model(long).pooled, model(short).pooled, rtol=1e-6)


def test_the_head_shares_the_embeddings_weight_and_reads_masked_positions_alone(ours):
    embedding = BertEmbeddings(CONFIG).tokens
    assert MaskedLanguageModelHead(embedding).output_projection.weight is embedding.weight
    hidden = ours.bert(TOKEN_IDS, SEGMENT_IDS).hidden
    chosen = LABELS != -100
    alone = ours.masked_language_model(hidden[chosen])
    torch.testing.assert_close(alone, ours.masked_language_model(hidden)[chosen])


def test_a_batch_without_a_masked_token_teaches_pairs_alone(ours):
    logits = ours(TOKEN_IDS, SEGMENT_IDS)
    loss = pretraining_loss(logits, torch.full_like(TOKEN_IDS, -100), NEXT_LABELS)
    assert torch.equal(loss, torch.nn.functional.cross_entropy(logits.next_sentence, NEXT_LABELS))
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in ours.parameters())
    assert (ours.masked_language_model.projection.weight.grad == 0).all()
    assert (ours.next_sentence.projection.weight.grad != 0).any()


def test_dropout_follows_the_norm_of_the_embeddings_and_stands_before_the_classifier():
    config = dataclasses.replace(CONFIG, dropout=0.1)
    assert (BertModel(config).embeddings(TOKEN_IDS) == 0).any()
    classifier = BertForSequenceClassification(config, 3).eval()
    assert torch.equal(classifier(TOKEN_IDS), classifier(TOKEN_IDS))
    classifier.dropout.train()
    assert not torch.equal(classifier(TOKEN_IDS), classifier(TOKEN_IDS))


def test_starts_with_small_weights_and_no_biases():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=500, max_length=64, num_layers=2, d_model=64, num_heads=4, d_ff=128,
        init_std=0.05,
    )  # fmt: skip
    models = [BertForPreTraining(config), BertForSequenceClassification(config, 50)]
    for model in models:
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                assert (parameter == 0).all(), name
            elif name.endswith("norm.weight"):
                assert (parameter == 1).all(), name
            else:
                relative = parameter.std() / 0.05
                assert abs(relative - 1) < 5 / (2 * parameter.numel()) ** 0.5, name
    first, second = models[0].bert.encoder.layers
    assert not torch.equal(
        first.feed_forward.up_projection.weight, second.feed_forward.up_projection.weight
    )


def test_bert_base_has_the_parameters_of_the_paper():
    with torch.device("meta"):
        model = BertForPreTraining(BertConfig())
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 110_106_428  # what transformers counts for bert-base-uncased
    assert sum(p.numel() for p in model.bert.parameters()) == 109_482_240
    with torch.device("meta"):
        large = BertModel(BertConfig(num_layers=24, d_model=1024, num_heads=16, d_ff=4096))
    assert sum(p.numel() for p in large.parameters()) == 335_141_888


# --- wrong arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 10, "num_heads": 4}, "d_model=10 must be divisible by num_heads=4"),
        ({"pad_id": 30_522}, "pad_id must lie in 0 to 30521, got 30522"),
    ],
)
def test_bad_configurations_are_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        BertConfig(**changes)


def test_inputs_that_do_not_fit_are_rejected():
    model = BertForPreTraining(CONFIG)
    with pytest.raises(ValueError, match=r"shape of token_ids, \(3, 8\), got \(3, 7\)"):
        model(TOKEN_IDS, SEGMENT_IDS[:, 1:])
    with pytest.raises(IndexError, match=r"token_ids must lie in 0 to 36, got 1 to 37"):
        model(torch.tensor([[1, 37]]))
    with pytest.raises(IndexError, match=r"segment_ids must lie in 0 to 1, got 0 to 2"):
        model(torch.tensor([[1, 5]]), torch.tensor([[0, 2]]))
    with pytest.raises(TypeError, match=r"segment_ids must be int64 or int32, got torch.bool"):
        model(TOKEN_IDS, SEGMENT_IDS.bool())
    with pytest.raises(ValueError, match="max_length=11, got a sequence of 12"):
        model(torch.ones(1, 12, dtype=torch.int64))
    with pytest.raises(TypeError, match="mask must be boolean"):
        model(TOKEN_IDS, mask=torch.ones(1, 1, 1, 8))
    with pytest.raises(ValueError, match="eps must be positive, got 0"):
        MaskedLanguageModelHead(BertEmbeddings(CONFIG).tokens, eps=0)


@pytest.mark.parametrize(
    ("labels", "next_labels"),
    [(LABELS[:, 1:], NEXT_LABELS), (LABELS, NEXT_LABELS[1:]), (LABELS[1:], NEXT_LABELS[1:])],
)
def test_labels_of_other_shapes_are_rejected(labels, next_labels):
    logits = PreTrainingLogits(tokens=torch.zeros(3, 8, 37), next_sentence=torch.zeros(3, 2))
    with pytest.raises(ValueError, match=r"must have shapes \(3, 8\) and \(3,\), got"):
        pretraining_loss(logits, labels, next_labels)
