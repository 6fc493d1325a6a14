"""The packages that students install for a homework: no others are there when it is graded."""

STUDENT_PACKAGES = ("torch", "numpy", "matplotlib", "safetensors", "tqdm", "jupyterlab")
"""What the notebook and the student edition of course_lib import, and what shows the notebook."""
