"""Do compiler and exporter take whole forward passes, without a break, and compute the same?"""

import pytest
import torch
from torch.export import Dim

from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.models.gpt import DecoderLM, DecoderLMConfig, SequenceClassifier
from course_lib.models.llama import Llama, LlamaConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.daily import with_proofs

SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 12}
SRC, TGT = torch.tensor([[3, 1, 4, 0], [2, 5, 0, 0]]), torch.tensor([[1, 2, 5], [1, 3, 0]])


def build_transformer(**choices):
    vocabularies = {"src_vocab_size": 6, "tgt_vocab_size": 6}
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    return Transformer(TransformerConfig(**vocabularies, **layers, **SIZES, **choices))


def build_decoder(positions):
    return DecoderLM(
        DecoderLMConfig(vocab_size=6, max_length=8, num_layers=1, positions=positions, **SIZES)
    )


MODELS = {
    "Transformer, post-norm": (lambda: build_transformer(norm_position="post"), (SRC, TGT)),
    "Transformer, pre-norm, learned positions": (
        lambda: build_transformer(norm_position="pre", positions="learned", tied="all"),
        (SRC, TGT),
    ),
    "DecoderLM, learned positions": (lambda: build_decoder("learned"), (SRC,)),
    "DecoderLM, rotary positions": (lambda: build_decoder("rotary"), (SRC,)),
    "Llama": (
        lambda: Llama(LlamaConfig(vocab_size=6, num_kv_heads=1, num_layers=1, **SIZES)),
        (SRC,),
    ),
    "SequenceClassifier": (
        lambda: SequenceClassifier(build_decoder("learned"), 3, pad_id=0),
        (SRC,),
    ),
    "BertForPreTraining": (
        lambda: BertForPreTraining(BertConfig(vocab_size=6, max_length=8, num_layers=1, **SIZES)),
        (SRC,),
    ),
}


SELDOM = [name for name in MODELS if name != "Transformer, post-norm"]
"""Each is traced for seconds, and has the Transformer's layers."""


@pytest.mark.parametrize("name", with_proofs(MODELS, SELDOM))
def test_forward_and_backward_compile_in_one_piece(name):
    torch.manual_seed(0)
    build, inputs = MODELS[name]
    model = build().eval()
    # fullgraph makes a break an error; this backend traces forward and backward, and runs both
    # as they are, which a compiler would take minutes for.
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    results = []
    for run in (compiled, model):
        output = run(*inputs)
        outputs = [output] if isinstance(output, torch.Tensor) else list(output)
        model.zero_grad()
        torch.stack([out.square().sum() for out in outputs]).sum().backward()
        results.append([*outputs, *(p.grad for p in model.parameters())])
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected)
    torch._dynamo.reset()


@pytest.mark.parametrize("name", with_proofs(MODELS, SELDOM))
@torch.no_grad()
def test_exported_models_take_other_batches_and_lengths(name):
    build, inputs = MODELS[name]
    model = build().eval()
    longest = 300 if name in ("Transformer, post-norm", "DecoderLM, rotary positions") else 8
    sizes = tuple(
        {0: Dim("batch"), 1: Dim(f"length_{i}", min=2, max=longest)} for i in range(len(inputs))
    )
    program = torch.export.export(model, inputs, dynamic_shapes=sizes)
    for given in (inputs, [tokens[:, :2].repeat(3, 1) for tokens in inputs]):
        actual, expected = program.module()(*given), model(*given)
        torch.testing.assert_close(actual, expected)
