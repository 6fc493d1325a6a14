"""Code that uses the library passes mypy's strict checks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import torch
from course_lib.layers.attention import scaled_dot_product_attention

query = torch.randn(1, 2, 4)
output = scaled_dot_product_attention(query, query, query)
print(output.shape)
output, weights = scaled_dot_product_attention(query, query, query, return_weights=True)
print(weights.shape)
"""


def test_attention_with_and_without_weights_has_exact_types(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)]
    checked = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
