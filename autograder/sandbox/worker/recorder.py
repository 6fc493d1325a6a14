"""Notes what runs of the forbidden while the judge asks the student's code for something.

What PyTorch computes it dispatches as operators, whoever asked for them and in whichever thread.
Those that an exercise forbids are given kernels here that note the call, then run PyTorch's own;
all others cost nothing. Of what has no operators, functions of ``course_lib`` say, calls are noted.

The student's code runs in the same process, and could keep it from noting anything. It can only
speak against itself: so what is noted may cost marks, and what is not proves nothing.
"""

import functools
import re
import sys
from pathlib import Path
from types import CodeType, FrameType, MethodType
from typing import Any

import torch

from . import shell
from .calls import find_twins, watch_calls, watch_scripts, watch_twins
from .engines import take_away_undispatched, watch_gradients
from .events import RUNS_CELLS, is_traced, note_events
from .frames import running_frames, settle_main_thread
from .gradients import Backward
from .inspection import belongs, file_of, is_any_of, item_of
from .installed_code import is_installed, places, remember_loaded
from .kernels import OPERATORS, are_all_there, watch_operator
from .library_code import library_code, library_texts
from .notes import NOTES, Note, keep, take_notes
from .operators import (
    COMPILED,
    PROCESS,
    TRACED,
    TRACES,
    UNDONE,
    families_of,
    full_name,
    spelt_as_operators,
)
from .peer import Peer
from .replacing import are_all_in_place, replace_copies
from .seals import Seal
from .tracing import let_nobody_profile
from .untouched import are_builtins_untouched, are_untouched
from .wire import to_json

_TORCH = str(Path(torch.__file__).parent)
_MODULES = f"{_TORCH}/nn/modules/"
_AUTOGRAD = f"{_TORCH}/autograd/"
_GRAPHS = (*(f"{_TORCH}/{name}/" for name in ("_dynamo", "_inductor", "export", "fx", "jit")),
           "<eval_with_key>")  # fmt: skip
_NOTHING = re.compile("$^")
_ANSWERS_JUDGE = Peer._answer.__code__  # until what it answers is sent
_PERFORMS = Peer._perform.__code__  # what is asked for
_BACKWARD = Backward.__call__.__code__
_CELL_ASKED = f"{shell.run_cell.__module__}:{shell.run_cell.__name__}"  # as the judge asks for one

_exercises: set[str] = set()

_seals: list[Seal] = []
_prepared: list[list[str]] = []  # the names that notes are made of, once it is settled

find_twins()


def watch(names: list[str], exercises: list[str], key: str) -> None:
    """Note from now on what runs of these.

    Args:
        names: As for ``prepare``, which is done now unless it was before the worker was forked.
        exercises: The labels of the cells that stand for something.
        key: What ``told`` is sealed with, in hexadecimal digits.
    """
    prepare(names)
    _seals[:] = [Seal(bytes.fromhex(key), NOTES)]
    _exercises.update(exercises)
    settle_main_thread()
    places()
    if names:
        sys.addaudithook(functools.partial(note_events, _note))


def prepare(names: list[str]) -> None:
    """Have all that can run of these say so: once, it may be for all workers of one judge.

    Args:
        names: Full names such as ``torch.nn.LayerNorm``; those that are not here are passed over.

    Raises:
        ValueError: It was done for others: what says so can't be taken back.
    """
    if _prepared:
        if _prepared != [sorted(names)]:
            raise ValueError("what runs here is noted for another homework already")
        return
    files = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
    remember_loaded(file for file in files if file.startswith(_TORCH))
    library_texts()
    families = list(families_of(names))
    for name in set(names) - {name for name, family in families if not family.parts}:
        watch_calls(name, _note)
    own: dict[str, dict[str, None]] = {}
    sharing: dict[str, dict[str, str]] = {}
    for name, family in families:
        for operator in OPERATORS[family.operators]:
            own.setdefault(operator, {})[family.names] = None
        for operator in OPERATORS[family.shared]:
            sharing.setdefault(operator, {})[name] = family.operators
    for operator, words in own.items():
        pattern = re.compile(rf"\b({'|'.join(words)})\b")
        watch_operator(operator, functools.partial(_note, full_name(operator), pattern))
    for operator, patterns in sharing.items():
        compiled = tuple((name, re.compile(pattern or "$^")) for name, pattern in patterns.items())
        watch_operator(operator, functools.partial(_note_askers, compiled))
    if "torch.autograd" in names:
        watch_gradients(_note)
    if families:
        watch_twins([family for _, family in families], _note)
        watch_scripts(functools.partial(_note, COMPILED))
        take_away_undispatched()
    if names:
        let_nobody_profile(lambda: any(f.f_code is RUNS_CELLS for f, _ in running_frames()))
    replace_copies()
    _prepared.append(sorted(names))  # only now: what failed half-way is not taken for done


def told() -> list[str]:
    """Return what ``seen`` does, as JSON, and its seal, in hexadecimal digits.

    Of a text nothing on its way looks into what it holds; and nobody else has the seal of another.
    """
    text = to_json(seen())
    return [text, _seals[0].next([text.encode()]).hex()]


def seen() -> list[Note]:
    """Return what was noted since it was last asked for."""
    if is_traced():  # since a cell, after which none has begun
        keep(TRACES)
    grounds = (are_all_there, are_all_in_place, are_untouched, are_builtins_untouched)
    if not all(hold() for hold in grounds):
        keep(UNDONE)
    shell.leave_dual_level()
    return take_notes()


def _note(what: str, words: re.Pattern[str] = _NOTHING) -> bool:
    """Note what runs, unless a cell of the student's runs it, or the library, which names it so.

    Returns:
        Whether it was noted.
    """
    place: tuple[str, int] | None = None
    handed = excused = False
    inside: set[str] = set()
    owner = ""
    answers: FrameType | None = None
    in_cell = foreign = between = traced = False
    performed = 0  # at once: more than one where a cell itself answers what the judge asks
    for frame, is_main in running_frames():
        code = frame.f_code
        traced = traced or _is_graphs(code)
        performed += code is _PERFORMS
        in_cell = in_cell or (is_main and code is RUNS_CELLS)  # who calls it elsewhere runs none
        if code is _ANSWERS_JUDGE:  # the outermost is the judge's, others may be the student's
            answers, between = frame, foreign
        foreign = foreign or not is_installed(file_of(code))
        label = shell.cell_of(file_of(code))
        if label is not None:
            in_cell = False  # not unless this itself is run as a cell
            place = place or (label, frame.f_lineno or 0)
            if label in _exercises:  # of any other label there may be as many as a student likes
                inside.add(label)
                owner = label if belongs(code, label) else owner
        elif place is None and not excused:
            handed = handed or file_of(code).startswith(_MODULES)
            # The judge's own; or the library's, if the judge asked it and not the student's code.
            excused = _is_judges(frame) or (not handed and code in library_code(words))
    if answers:
        asked = _asked(answers)
        in_cell = in_cell and performed < 2 and type(asked) is str and asked == _CELL_ASKED
    # A graph of one's own is nobody's business, nor is the compiler that is started for it.
    if in_cell and traced and what not in (COMPILED, PROCESS):
        keep(TRACED, place or ("", 0))
    if in_cell or (excused and place is None and not between and not _asks_exercise(answers)):
        if not are_untouched():  # what was looked at here may be what somebody put there
            keep(UNDONE, place or ("", 0))
        return False
    if not answers:  # between two questions: perhaps for the next one, and perhaps for none
        owner, inside = "", _exercises
    keep(what, place or ("", 0), owner=owner, inside=tuple(sorted(inside)))
    return True


def _note_askers(patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> None:
    """Note the forbidden functions and classes whose code asks for what is running.

    Also where the student's code stands between: it may have taken the place of one of their parts.

    Args:
        patterns: Forbidden names, each with what PyTorch's other functions for it are called.
    """
    in_cell = False
    for frame, _ in running_frames():
        file = file_of(frame.f_code)
        if in_cell and file.startswith(_AUTOGRAD):
            return  # it asked for the derivative of what the student's code computes
        if file.startswith(_TORCH):
            for name in _forbidden_names(frame.f_code.co_qualname, patterns):
                _note(name)
        in_cell = in_cell or shell.cell_of(file) is not None
        if not in_cell and _is_graphs(frame.f_code):
            _note(COMPILED)


@functools.cache
def _forbidden_names(asker: str, patterns: tuple[tuple[str, re.Pattern[str]], ...]) -> list[str]:
    """Return which forbidden names a function or method of PyTorch's stands for: its own first."""
    asker = asker.partition(".")[0]
    spelt = spelt_as_operators(asker)
    called_so = [name for name, _ in patterns if asker == name.rpartition(".")[2]]
    like_it = [name for name, pattern in patterns if pattern.search(spelt)]
    return list(dict.fromkeys([*called_so, *like_it]))


def _is_graphs(code: CodeType) -> bool:
    """Whether it makes or runs graphs, and does not keep the compiler away as checkpoints do."""
    is_around = file_of(code).startswith(_GRAPHS)
    return is_around and not code.co_qualname.startswith("DisableContext.")


def _is_judges(frame: FrameType) -> bool:
    """Whether it is the backward pass that the judge asked for; the student's code may call one."""
    asker = frame.f_back
    return frame.f_code is _BACKWARD and asker is not None and asker.f_code is _PERFORMS


def _asked(answers: FrameType) -> Any:
    """Return what the judge asks for, from the outermost frame that answers it."""
    return item_of(answers.f_locals["message"], "target")


def _asks_exercise(answers: FrameType | None) -> bool:
    """Whether the judge asks an exercise's object, an instance or a method of it.

    That may be a function of the library's, or a partial: no code of the student's need run.

    Args:
        answers: The frame in which the worker answers the judge; None between two questions.
    """
    number = item_of(_asked(answers), "yours") if answers else None
    if not answers or type(number) is not int:
        return False  # by name, the library itself say
    thing = item_of(item_of(vars(answers.f_locals["self"]), "_exports"), number)
    thing = thing.__self__ if type(thing) is MethodType else thing
    return is_any_of(thing, _exercises)
