"""Who answers for what runs: the course's library for what it calls by name, and for no more."""

import contextlib
import functools
import gc
import json
import re
import signal
import subprocess
import sys
import threading
from argparse import Namespace

import pytest
import sacrebleu
import torch
from IPython.core.interactiveshell import InteractiveShell

from autograder.sandbox.worker import calls, events, frames, kernels, recorder, shell
from autograder.sandbox.worker.library_code import library_code
from autograder.sandbox.worker.operators import (
    FAMILIES,
    LEFT,
    UNDONE,
    families_of,
    spelt_as_operators,
)
from course_lib.layers import attention, normalization
from course_lib.testing import call_beside


def test_the_library_answers_for_what_its_own_text_names():
    code = library_code(re.compile("rms_norm"))
    assert normalization.RMSNorm.forward.__code__ in code
    assert normalization.rms_norm.__code__ in code
    assert attention.MultiHeadAttention.forward.__code__ not in code


def test_what_calls_whatever_it_is_handed_answers_for_nothing():
    assert call_beside.__code__ not in library_code(re.compile("call_beside"))


def test_the_library_does_not_answer_for_whoever_asks_it_for_what_they_may_not_use(monkeypatch):
    def noting(x, *rest):
        recorder._note("torch.rms_norm", re.compile("rms_norm"))
        return x

    monkeypatch.setattr(normalization.F, "rms_norm", noting)
    layer = normalization.RMSNorm(4)
    asks = {"layer": layer, "x": torch.ones(4)}
    exec(compile("layer.forward(x)", "the judge's own", "exec"), asks)
    assert recorder.seen() == []
    exec(compile("\nlayer.forward(x)", 'cell "norm"', "exec"), asks)
    assert [note[:3] for note in recorder.seen()] == [("torch.rms_norm", "norm", 2)]


def test_the_library_does_not_answer_for_a_file_that_a_student_has_written(monkeypatch, tmp_path):
    def answer(message, ask):
        ask()

    made = {"note": functools.partial(recorder._note, "torch.rms_norm", re.compile("rms_norm"))}
    noting = "def noting(x, *rest):\n    note()\n    return x"
    exec(compile(noting, recorder.__file__, "exec"), made)
    monkeypatch.setattr(recorder, "_ANSWERS_JUDGE", answer.__code__)
    monkeypatch.setattr(normalization.F, "rms_norm", made["noting"])
    layer = normalization.RMSNorm(4)
    answer({}, functools.partial(layer.forward, torch.ones(4)))
    assert recorder.seen() == []
    own = {"layer": layer, "x": torch.ones(4)}
    exec(compile("def norm():\n    layer.forward(x)", str(tmp_path / "own.py"), "exec"), own)
    answer({}, own["norm"])
    assert [note[:3] for note in recorder.seen()] == [("torch.rms_norm", "", 0)]


def test_the_library_does_not_answer_for_an_exercise_that_is_its_own_function(monkeypatch):
    def answer(self, message, ask):
        ask()

    made = {"note": functools.partial(recorder._note, "torch.rms_norm", re.compile("rms_norm"))}
    exec(compile("def noting(*args): note()", recorder.__file__, "exec"), made)
    layer = normalization.RMSNorm(4)
    monkeypatch.setattr(recorder, "_ANSWERS_JUDGE", answer.__code__)
    monkeypatch.setattr(normalization.F, "rms_norm", made["noting"])
    monkeypatch.setattr(recorder, "_exercises", {"norm"})
    peer, ask = (
        Namespace(_exports={1: layer.forward}),
        functools.partial(layer.forward, torch.ones(4)),
    )
    of_layer = {"target": {"yours": 1}}
    by_name = {"target": "course_lib.testing:call_beside", "args": {"tuple": [{"yours": 1}]}}
    for question in (of_layer, by_name):
        answer(peer, question, ask)
        assert recorder.seen() == []
    monkeypatch.setitem(InteractiveShell.instance().user_ns, "norm", layer)
    answer(peer, by_name, ask)
    assert recorder.seen() == []
    answer(peer, of_layer, ask)
    assert recorder.seen() == [("torch.rms_norm", "", 0, "", ())]


def test_a_backward_pass_that_the_judge_did_not_ask_for_is_the_students(monkeypatch):
    def answer(self, message, ask):
        ask()

    made = {"note": functools.partial(recorder._note, "torch.rms_norm")}
    exec(compile("def backward(): note()", recorder.__file__, "exec"), made)
    monkeypatch.setattr(recorder, "_ANSWERS_JUDGE", answer.__code__)
    monkeypatch.setattr(recorder, "_BACKWARD", made["backward"].__code__)
    peer, question = Namespace(_exports={1: made["backward"]}), {"target": {"yours": 1}}
    answer(peer, question, made["backward"])
    assert [what for what, *_ in recorder.seen()] == ["torch.rms_norm"]
    monkeypatch.setattr(recorder, "_PERFORMS", answer.__code__)
    answer(peer, question, made["backward"])
    assert recorder.seen() == []


def noted_in(cell, asks):
    exec(compile("note()", f'cell "{cell}"', "exec"), {"note": asks})
    return recorder.seen()


def test_what_runs_between_two_questions_may_be_anybodys_work(monkeypatch):
    monkeypatch.setattr(recorder, "_exercises", {"norm", "other"})
    noted = noted_in("norm", lambda: recorder._note("torch.rms_norm"))
    assert noted == [("torch.rms_norm", "norm", 1, "", ("norm", "other"))]


def test_a_cell_runs_in_the_main_thread_alone(monkeypatch):
    def run_cell():
        recorder._note("torch.rms_norm")

    def aside():
        thread = threading.Thread(target=run_cell)
        thread.start()
        thread.join()

    monkeypatch.setattr(frames, "_main_thread", [threading.get_ident()])
    monkeypatch.setattr(recorder, "RUNS_CELLS", run_cell.__code__)
    run_cell()
    assert recorder.seen() == []
    aside()
    assert [what for what, *_ in recorder.seen()] == ["torch.rms_norm"]


@contextlib.contextmanager
def a_timer():
    before = signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_VIRTUAL, 99)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def a_profiler():
    sys.setprofile(lambda *event: None)
    yield
    sys.setprofile(None)


@contextlib.contextmanager
def a_callback_of_the_collector():
    gc.callbacks.append(print)
    yield
    gc.callbacks.remove(print)


@contextlib.contextmanager
def a_thread():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()


@pytest.mark.parametrize("left", [a_timer, a_profiler, a_callback_of_the_collector, a_thread])
def test_what_is_left_to_run_beside_a_cell_is_noted(left, monkeypatch):
    others = sys._current_frames().keys() - {threading.get_ident()}  # of who runs the tests
    own = lambda: {k: f for k, f in sys._current_frames().items() if k not in others}
    monkeypatch.setattr(events, "_current_frames", own)
    monkeypatch.setattr(events.gc, "callbacks", [])
    events.note_events(recorder._note, shell.BEGINS_CELL, ("norm",))
    assert recorder.seen() == []
    with left():
        events.note_events(recorder._note, shell.BEGINS_CELL, ("norm",))
    assert recorder.seen() == [(LEFT, "norm", 1, "", ())]


def test_all_that_a_forbidden_module_or_class_consists_of_is_watched():
    metrics, bleu = sys.modules["sacrebleu.metrics"], sys.modules["sacrebleu.metrics.bleu"]
    helpers = sys.modules["sacrebleu.metrics.helpers"]
    inside = set(calls.functions(sacrebleu, "metrics", metrics))
    assert {(helpers, "extract_all_word_ngrams"), (bleu, "extract_all_word_ngrams")} <= inside
    assert (metrics.BLEU, "compute_bleu") in inside
    assert (sacrebleu.BLEU, "__init__") in set(calls.functions(None, "BLEU", sacrebleu.BLEU))
    layer = torch.nn.TransformerEncoderLayer
    used = {"forward", "_sa_block", "_ff_block"}  # and not who makes one and never calls it
    assert set(calls.functions(None, "", layer)) == {(layer, name) for name in used}
    model = torch.nn.Transformer  # a mask, which a static method of it makes, is no Transformer
    assert set(calls.functions(None, "", model)) == {(model, "forward")}


def test_a_whole_package_is_watched_by_nobody():
    calls.watch_calls("sympy", pytest.fail)  # it is found by its name alone


def test_an_operator_without_the_kernel_that_notes_it_is_told(monkeypatch):
    assert recorder.seen() == []
    monkeypatch.setattr(kernels, "_watched", [*kernels._watched, "aten::relu"])
    assert recorder.seen() == [(UNDONE, "", 0, "", ())]


def test_what_pytorch_computes_in_python_is_known_by_its_name():
    asks = {"torch.nn.MultiheadAttention": "attention_23", "torch.nn.LayerNorm": "_normalize"}
    for name, family in families_of(asks):
        patterns = ((name, re.compile(family.operators)),)
        assert recorder._forbidden_names(asks[name], patterns) == [name]
        if name.endswith("LayerNorm"):
            assert recorder._forbidden_names("rmsnorm_ref", patterns) == [name]
        for honest in (
            "renorm",
            "scaled_dot_product_attention",
            "flex_attention",
            "normalize",
            "softmax",
        ):
            assert recorder._forbidden_names(honest, patterns) == []


def test_what_pytorch_has_in_python_for_operators_is_found():
    twins = {name for found in calls.find_twins()[0].values() for _, _, name in found}
    for name in ("native_layer_norm", "_normalize", "native_layer_norm_backward", "gru_cell_data",
                 "native_layer_norm_default", "cross_map_lrn2d", "gru_while_loop_impl",
                 "multihead_attention", "attention_23",
                 "_linear_cross_entropy_batch_chunked_no_reduction"):  # fmt: skip
        assert f"torch.ops.python.{name}" in twins
    honest = {"_normalize_start_end", "normalize", "softmax", "binary_cross_entropy", "_softmax"}
    assert not twins & {f"torch.ops.python.{name}" for name in honest}


def test_what_stands_for_several_forbidden_names_is_noted_for_each():
    """An LSTM's cell with its gates held open is an RNN's, and may be a GRU's."""
    rules = ("torch.nn.GRUCell", "torch.nn.RNNCell", "torch.nn.LayerNorm")
    patterns = tuple((name, re.compile(family.operators)) for name, family in families_of(rules))
    names = recorder._forbidden_names("LSTMCell.forward", patterns)
    assert names == ["torch.nn.GRUCell", "torch.nn.RNNCell"]
    names = recorder._forbidden_names("RNNCell.forward", patterns)
    assert names == ["torch.nn.RNNCell", "torch.nn.GRUCell"]


ALIKE = re.compile(r"norm(?!al)|gru|lstm|rnn|cross_?entropy|attention|transformer")
OTHERS = re.compile(
    r"(?<![a-z])(linalg_(vector_|matrix_)?|frobenius_|nuclear_|native_|_foreach_|_weight_)?(re)?norm"
    "|binary_cross_entropy|embedding_renorm"
    "|(scaled_dot_product|scaled_dot|flash|efficient|cudnn)(_[a-z]+)?_attention|nn.attention$"
    "|onnx::attention"  # noted by the function that computes it
    "|transformers::"  # a package that students do not have
)
"""The lengths of vectors, and what attends without a projection: anybody may use them."""


def test_whatever_is_called_alike_is_known():
    """A new PyTorch may bring more: who computes what is forbidden belongs to a family, or here."""
    names = {op.partition(".")[0] for op in torch._C._dispatch_get_all_op_names()}
    names |= {f"torch.{name}" for name in dir(torch)}
    names |= {f"nn.{name}" for module in (torch.nn, torch.nn.functional) for name in dir(module)}
    words = {name: spelt_as_operators(name) for name in names}
    alike = {n: word for n, word in words.items() if ALIKE.search(word) and not OTHERS.search(word)}
    assert "torch_nn::_linear_cross_entropy_batch_chunked" in alike  # made when it is asked for
    for family in FAMILIES:
        for name, word in list(alike.items()):
            named = re.fullmatch(family.names, name.rpartition(".")[2])
            if named or (family.operators and re.search(family.operators, word)):
                del alike[name]
    assert alike == {}


WATCH_ALL = """
import json, torch
from autograder.sandbox.worker import kernels
operators = sorted({each for found in kernels.OPERATORS.values() for each in found})
for each in operators:
    kernels.watch_operator(each, list)
"""
SHOW_TABLES = "print(json.dumps({o: torch._C._dispatch_dump_table(o) for o in operators}))"
UNDER_MODES = """
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
for mode in (FakeTensorMode, Passing):
    with mode():
        x = torch.ones(2, 4)
        normal = torch.native_layer_norm(x, [4], None, None, 1e-5)[0]
        for y in (torch.tanh(x), torch.ops.prims.sqrt(x), normal):
            assert tuple(y.shape) == (2, 4)
"""


def with_all_watched(code: str) -> str:
    """Run code in a process of its own: what watches can't be taken back."""
    program = WATCH_ALL + code
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


HAND_ON = re.compile(
    "ADInplaceOrView|Autocast.*|AutogradNestedTensor|(FuncTorch)?Batched|FuncTorchVmapMode"
    "|Functionalize|Tracer"
)
"""Keys whose kernels compute nothing by themselves: they dispatch what they are made of anew."""


def why_not_ours(operator: str, key: str, kind: str, *, in_python: bool, on_cpu: str) -> str:
    """Say why a kernel does not note; nothing if there is no reason."""
    if in_python and key == "Meta":
        return "for tensors without numbers; with some, what it runs is noted"
    if in_python and operator.startswith(("prims::", "torch_nn::")):
        return "who runs it is noted, or the function that it runs"
    if HAND_ON.fullmatch(key):
        return "it dispatches anew"
    if kind == "autograd kernel" and on_cpu == "kernel":
        return "it dispatches what stands below, which notes"
    return ""


def test_the_kernel_of_every_key_notes():
    """Those of other machines' keys too: PyTorch's own for all machines stand there, and run."""
    for operator, table in json.loads(with_all_watched(SHOW_TABLES)).items():
        found = re.findall(r"^(\w+): (.*) \[(.*)\]", table, re.MULTILINE)
        on_cpu = next((kind for key, _, kind in found if key == "CPU"), "")
        for key, place, kind in found:
            if "fallback" not in kind and "worker/kernels.py" not in place:
                in_python = ".py:" in place
                why = why_not_ours(operator, key, kind, in_python=in_python, on_cpu=on_cpu)
                assert why, (operator, key, kind, place)


def test_what_is_watched_runs_under_modes_as_before():
    """PyTorch finds a kernel in Python by its place then, and by none that has it replaced."""
    with_all_watched(UNDER_MODES)
