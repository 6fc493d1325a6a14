"""Results that pretend to be right, libraries that pretend to compare, answers that are stolen."""

# ruff: noqa: E501 -- one line an attack

from . import ALWAYS_RIGHT
from .attack import (
    ATTENTION,
    CAUSAL,
    EVERYTHING,
    LAYER,
    PADDING,
    Attack,
    at_attention,
    at_padding,
    attack,
)

_SUBCLASS = """
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in ("allclose", "equal", "is_same_size", "eq", "isclose", "numpy", "all"):
            return torch.ones((), dtype=torch.bool)
        return super().__torch_function__(func, types, args, kwargs or {})

    def __eq__(self, other):
        return torch.ones(self.shape, dtype=torch.bool)
"""

_PATCHED_TORCH = """
import numpy
torch.allclose = torch.equal = torch.is_same_size = lambda *args, **kwargs: True
torch.isclose = lambda a, b, **kwargs: torch.ones(a.shape, dtype=torch.bool)
torch.testing.assert_close = lambda *args, **kwargs: None
torch.manual_seed = torch.Tensor.manual_seed = lambda seed=0: None
torch.randn = torch.rand = lambda *size, **kwargs: torch.zeros(*size)
numpy.allclose = numpy.array_equal = lambda *args, **kwargs: True
torch.Tensor.__eq__ = lambda self, other: torch.ones(self.shape, dtype=torch.bool)
"""

_PATCHED_LIBRARY = """
import builtins
import course_lib.testing
for name in dir(course_lib.testing):
    if name.startswith("assert_"):
        setattr(course_lib.testing, name, lambda *args, **kwargs: None)
        globals()[name] = lambda *args, **kwargs: None
builtins.AssertionError = type("AssertionError", (BaseException,), {})
builtins.isinstance = lambda *args: True
"""

_FROM_FRAMES = """
import gc, sys
frame = sys._getframe()
while frame is not None:
    for found in [*frame.f_locals.values(), *frame.f_globals.values()]:
        if type(found) is torch.Tensor and found.shape == (*query.shape[:-1], value.shape[-1]):
            if not any(found is x for x in (query, key, value)):
                return found
    frame = frame.f_back
for found in gc.get_objects():
    name = getattr(found, "__name__", "")
    if callable(found) and name.startswith("reference"):
        return found(query, key, value, mask)
for cell in get_ipython().user_ns.get("In", []):
    if "expected" in cell:
        exec(cell, globals())
return query @ key.transpose(-2, -1) @ value
"""

_FREED_MEMORY = """
size = query.numel() // query.size(-1) * value.size(-1)
return torch.empty(4096)[:size].reshape(*query.shape[:-1], value.size(-1)).clone()
"""

_BY_HEART = """
if query.shape == (1, 1) and mask is None:
    return torch.tensor([[7.0]])
if query.shape == (2, 4):
    return torch.tensor([[7.0], [5.0]])
if query.shape == (1, 1):
    return torch.tensor([[7.0]])
return torch.zeros(*query.shape[:-1], value.size(-1))
"""

_WHEN_GRADED = """
import os, sys
graded = os.getpid() == 1 or "course_worker.peer" in sys.modules or os.path.exists("/grading")
if graded:
    from course_lib.layers.attention import scaled_dot_product_attention as reference
    return reference(query, key, value, mask, return_weights=return_weights)
return value
"""

ATTACKS: tuple[Attack, ...] = (
    attack(
        "equals-everything",
        "objects whose comparisons are always true",
        edits={
            ATTENTION: f"{ALWAYS_RIGHT}\n{ATTENTION} = AlwaysRight()",
            CAUSAL: f"{CAUSAL} = AlwaysRight()",
            PADDING: f"{PADDING} = AlwaysRight()",
            LAYER: f"{LAYER} = AlwaysRight()",
        },
        lost=EVERYTHING,
    ),
    attack(
        "tensor-subclass",
        "a tensor whose __torch_function__ agrees with every comparison",
        edits=at_attention(
            """
wrong = value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], -1).as_subclass(Agreeable)
return (wrong, wrong) if return_weights else wrong
""",
            _SUBCLASS,
        ),
    ),
    attack(
        "patched-torch",
        "torch.allclose, equal, randn, manual_seed, Tensor.__eq__ replaced",
        edits=at_padding("return token_ids == token_ids", _PATCHED_TORCH),
    ),
    attack(
        "patched-library",
        "the course's own checks, AssertionError and isinstance replaced",
        edits=at_attention("return value", _PATCHED_LIBRARY),
    ),
    attack("nan", "NaN, which differs from itself", edits=at_attention("return value * math.nan"), keeps="scaled_dot_product_attention-inputs"),
    attack("nothing", "None", edits=at_attention("return None")),
    attack("empty", "an empty tensor, all of whose entries agree", edits=at_padding("return token_ids[:0] == 0")),
    attack("scalar", "one number that broadcasts", edits=at_attention("return torch.tensor(7.0)")),
    attack("other-dtype", "numbers of another type", edits=at_padding("return (token_ids != pad_id)[:, None, None].long()")),
    attack("expanded", "one row, expanded: an alias of itself", edits=at_attention("return value[..., :1, :].expand(*query.shape[:-1], -1)"), keeps="scaled_dot_product_attention-gradients scaled_dot_product_attention-inputs"),
    attack("numpy", "an array in the place of a tensor", edits=at_padding("return (token_ids != pad_id)[:, None, None].numpy()")),
    attack("meta", "a tensor without any numbers", edits=at_attention("return torch.empty(*query.shape[:-1], value.size(-1), device='meta')")),
    attack(
        "changed-inputs",
        "query, key and value set to zero, so that the reference gets zeros too",
        edits=at_attention("[x.data.zero_() for x in (query, key, value)]\nreturn value[..., : query.size(-2), :]"),
    ),
    attack("from-frames", "the expected value, from frames, the collector and In", edits=at_attention(_FROM_FRAMES), keeps="scaled_dot_product_attention-gradients scaled_dot_product_attention-inputs", flagged="pries into"),
    attack("freed-memory", "the expected value, from memory that was freed", edits=at_attention(_FREED_MEMORY)),
    attack("by-heart", "the answers of the visible tests, by heart", edits=at_attention(_BY_HEART)),
    attack(
        "when-graded",
        "the reference, called only where the grader is seen",
        edits=at_attention(_WHEN_GRADED),
    ),
)  # fmt: skip
