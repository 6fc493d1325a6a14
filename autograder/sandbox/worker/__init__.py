"""The student's side of the judge: all that the sandbox holds besides Python and ``course_lib``.

Nothing here imports the rest of ``autograder``; the judge's side imports what
both need, such as ``wire``.
"""

from .own_builtins import give_own_builtins

give_own_builtins(__name__)
