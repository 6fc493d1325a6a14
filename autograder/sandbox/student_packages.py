"""The packages that students install for a homework: no others are there when it is graded."""

NOTEBOOK_SERVER = "jupyterlab"
STUDENT_PACKAGES = ("torch", "numpy", "matplotlib", "safetensors", "tqdm", NOTEBOOK_SERVER)
"""What the notebook and the student edition of course_lib import, and what shows the notebook."""
