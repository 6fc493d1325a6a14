"""The kernels that chapters run in: this Python, course_lib at hand, nothing of the builder's."""

import os
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def _set_up_profile(app: Sphinx, config: Config) -> None:
    # What the builder's own IPython runs at its start is no part of the book. And each kernel would
    # warn that it is reached by TCP.
    folder = Path(app.outdir).with_name("kernels")
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(
        "c.IPKernelApp.log_level = 'ERROR'\n", "utf-8"
    )
    os.environ["IPYTHONDIR"] = str(folder)


def _set_up_environment(root: Path) -> None:
    # Our own directives read course_lib too, whether or not it is installed.
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    # Kernels inherit this process's environment. The kernel "python3" then is this very Python,
    # also where the reader's home folder holds a kernel of the same name.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # As many chapters run at once as there are cores: with more threads they would wait for each
    # other, for twice as long on two cores. And the numbers are those of any number of cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(root) not in others:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(root), *others])


def setup(app: Sphinx) -> None:
    """Let kernels import course_lib, and leave out what is the builder's own.

    Args:
        app: The Sphinx application; its source folder holds ``course_lib``.
    """
    app.connect("config-inited", _set_up_profile)
    _set_up_environment(Path(app.srcdir))
