"""Every model with a config compiles, exports, trains all parameters, and keeps weights shared."""

import copy
import io

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.models.gpt import DecoderLM, DecoderLMConfig, SequenceClassifier
from course_lib.models.llama import Llama, LlamaConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.course_lib.parity import randomise
from tests.daily import with_proofs

SRC, TGT = torch.tensor([[3, 1, 4, 0], [2, 5, 0, 0]]), torch.tensor([[1, 2, 5], [1, 3, 0]])
VOCABULARIES = {"src_vocab_size": 6, "tgt_vocab_size": 6}
STACKS = VOCABULARIES | {"num_encoder_layers": 1, "num_decoder_layers": 1}
STACK = {"vocab_size": 6, "max_length": 8, "num_layers": 1}
LEARNED = {"norm_position": "pre", "positions": "learned", "max_length": 8, "tied": "all"}
# The class, that of its config, settings, and the number of dropouts.
MODELS = {
    "Transformer": (Transformer, TransformerConfig, STACKS, 8),
    "Transformer, learned positions": (Transformer, TransformerConfig, STACKS | LEARNED, 8),
    "DecoderLM": (DecoderLM, DecoderLMConfig, STACK, 3),
    "DecoderLM, rotary positions": (DecoderLM, DecoderLMConfig, STACK | {"positions": "rotary"}, 3),
    "Llama": (Llama, LlamaConfig, STACK | {"num_kv_heads": 1}, 3),
    "SequenceClassifier": (
        lambda config: SequenceClassifier(DecoderLM(config), 3, pad_id=0),
        DecoderLMConfig,
        STACK,
        3,
    ),
    "BertForPreTraining": (BertForPreTraining, BertConfig, STACK, 4),
}
SELDOM = [name for name in MODELS if name != "Transformer"]
"""Each is traced for seconds, and has the Transformer's layers."""
with_each_model = pytest.mark.parametrize("name", MODELS)
with_models_to_trace = pytest.mark.parametrize("name", with_proofs(MODELS, SELDOM))


def build(name: str, **choices) -> nn.Module:
    kind, config, settings, _ = MODELS[name]
    return kind(config(d_model=8, num_heads=2, d_ff=12, **settings, **choices))


def inputs_of(name: str) -> tuple[Tensor, ...]:
    return (SRC, TGT) if name.startswith("Transformer") else (SRC,)


def run(model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Return the outputs of a model."""
    output = model(*inputs)
    return [output] if isinstance(output, Tensor) else list(output)


def run_with_gradients(model: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Return the outputs, then the gradients of the sum of their squares at all parameters."""
    outputs = run(model, inputs)
    loss = sum(output.square().sum() for output in outputs)
    return [*outputs, *torch.autograd.grad(loss, list(model.parameters()))]


@with_models_to_trace
def test_forward_and_backward_compile_in_one_piece(name):
    model, inputs = build(name).eval(), inputs_of(name)
    # fullgraph makes a break an error; this backend traces forward and backward, and runs both
    # as they are, which a compiler would take minutes for.
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(
        run_with_gradients(compiled, inputs), run_with_gradients(model, inputs)
    )
    torch._dynamo.reset()


@with_models_to_trace
@torch.no_grad()
def test_exported_models_take_other_batches_and_lengths(name):
    model, inputs = build(name).eval(), inputs_of(name)
    longest = 300 if name in ("Transformer", "DecoderLM, rotary positions") else 8
    sizes = tuple(
        {0: Dim("batch"), 1: Dim(f"length_{i}", min=2, max=longest)} for i in range(len(inputs))
    )
    program = torch.export.export(model, inputs, dynamic_shapes=sizes).module()
    for given in (inputs, tuple(tokens[:, :2].repeat(3, 1) for tokens in inputs)):
        torch.testing.assert_close(run(program, given), run(model, given))


@with_each_model
def test_every_parameter_gets_a_gradient(name):
    model, inputs = randomise(build(name)).eval(), inputs_of(name)
    gradients = run_with_gradients(model, inputs)[-len(list(model.parameters())) :]
    for (parameter, _), gradient in zip(model.named_parameters(), gradients, strict=True):
        # The keys' biases move all scores of a query alike, so that softmax does not see them.
        assert gradient.any() or parameter.endswith("key_projection.bias"), parameter


@with_each_model
def test_each_dropout_acts_in_training_alone(name):
    torch.manual_seed(0)
    model, inputs = randomise(build(name, dropout=0.25)), inputs_of(name)
    dropouts = [m for m in model.modules() if isinstance(m, nn.Dropout) and m.p == 0.25]
    assert len(dropouts) == MODELS[name][3]
    for active in dropouts:
        for dropout in dropouts:
            dropout.p = 0.25 if dropout is active else 0.0
        assert not all(map(torch.equal, run(model, inputs), run(model, inputs)))
    model.eval()
    assert all(map(torch.equal, run(model, inputs), run(model, inputs)))


# --- shared weights ------------------------------------------------------------------------------


def number_of_weights(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@with_each_model
def test_weights_stay_shared_through_loading_to_empty_and_saving(name):
    trained, model, file = build(name), build(name), io.BytesIO()
    shared = number_of_weights(model)
    for target in (model, copy.deepcopy(model)):
        target.load_state_dict({k: v.clone() for k, v in trained.state_dict().items()}, assign=True)
        assert number_of_weights(target) == shared
        for key, value in target.state_dict().items():
            assert torch.equal(value, trained.state_dict()[key])
    torch.save(model, file)
    file.seek(0)
    assert number_of_weights(torch.load(file, weights_only=False)) == shared
    with torch.device("meta"):
        model = build(name)
    model.to_empty(device="cpu").load_state_dict(trained.state_dict())
    assert number_of_weights(model) == shared
    if hasattr(model, "tie_weights"):
        model.to_empty(device="cpu")
        model.tie_weights()
        assert number_of_weights(model) == shared


def test_a_model_without_shared_weights_stays_so():
    model = build("Transformer", tied="none")
    before = number_of_weights(model)
    model.load_state_dict(model.state_dict(), assign=True)
    model.tie_weights()
    assert number_of_weights(model) == before
