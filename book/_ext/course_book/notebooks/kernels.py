"""The kernels that run chapters: this Python, with ``course_lib``, without the user's settings."""

import os
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def _write_profile(app: Sphinx, config: Config) -> None:
    # An empty IPython profile; kernels would also warn that they are reached by TCP.
    folder = Path(app.outdir).with_name("kernels")
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(
        "c.IPKernelApp.log_level = 'ERROR'\n", "utf-8"
    )
    os.environ["IPYTHONDIR"] = str(folder)


def set_environment(root: Path) -> None:
    """Set the environment variables that kernels inherit; ``root`` is the project's folder."""
    if str(root) not in sys.path:  # our directives read course_lib, installed or not
        sys.path.insert(0, str(root))
    # The kernel "python3" is this Python, even if the home folder has a kernel of that name.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # One thread a chapter, since as many chapters run at once as there are cores. The numbers then
    # don't depend on the number of cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(root) not in others:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(root), *others])


def setup(app: Sphinx) -> None:
    """Set up the environment of kernels."""
    app.connect("config-inited", _write_profile)
    set_environment(Path(app.srcdir))
