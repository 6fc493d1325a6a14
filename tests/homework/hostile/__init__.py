"""Code that wants marks without work, for the sample classes; the judge must give it none."""

ALWAYS_RIGHT = """
class AlwaysRight:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __bool__(self):
        return True

    def __hash__(self):
        return 0

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self


"""
"""A class whose objects equal everything; assign one to the name that is asked for."""

PATCHED_SHELL = """
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

InteractiveShell.run_cell = lambda self, *args, **kwargs: ExecutionResult(None)
InteractiveShell.run_code = lambda self, *args, **kwargs: False
InteractiveShell.showtraceback = lambda self, *args, **kwargs: None
"""
"""An added cell after which no other would run, or fail, in an ordinary kernel."""

ENDLESS_LOOP = """
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            pass
"""
"""A function's body that never ends, and swallows the interrupt that should end it."""
