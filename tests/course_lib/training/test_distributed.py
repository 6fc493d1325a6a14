"""Do two processes of ``torchrun`` on the CPU train like one, and resume exactly?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.training.distributed import process_group, rank, world_size
from tests.course_lib.data_parallel_program import (
    ACCUMULATION,
    build,
    compute_loss,
    count_tokens,
    draw_batch,
    main,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the results of training in one process, and in two."""
    path = tmp_path_factory.mktemp("processes")
    main(path)  # one process, here
    subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "tests.course_lib.data_parallel_program", str(path)),
        ],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=True,
        timeout=1200,
    )
    return path


def read(folder, name):
    """Return the result ``name``: the number of processes and the rank, such as ``2-0``."""
    return json.loads((folder / f"{name}.json").read_text())


@pytest.mark.parametrize("kind", ["plain", "counted"])
def test_two_processes_have_the_loss_curve_of_one(folder, kind):
    alone, together = read(folder, "1-0")[kind], read(folder, "2-0")[kind]
    assert (alone["processes"], together["processes"]) == (1, 2)
    # Float32 has 7 digits. Weights are not compared: where a gradient is 0 but for rounding, as
    # that of a key's bias is, AdamW makes a whole step of the rounding.
    assert together["losses"] == pytest.approx(alone["losses"], rel=3e-6)
    assert together["gradient_norms"] == pytest.approx(alone["gradient_norms"], rel=3e-5)
    assert [value for _, value in together["evaluations"]] == pytest.approx(
        [value for _, value in alone["evaluations"]], rel=1e-5
    )
    assert max(alone["losses"]) - min(alone["losses"]) > 0.03  # there was a curve to agree on


def test_batches_of_different_sizes_count_by_their_tokens(folder):
    together = read(folder, "2-0")
    assert together["counted"]["losses"] != pytest.approx(together["plain"]["losses"], rel=1e-3)
    batches = [draw_batch(number) for number in range(ACCUMULATION)]
    tokens = [int(count_tokens(batch)) for batch in batches]
    first = sum(
        compute_loss(build(0.0), batch).item() * count
        for batch, count in zip(batches, tokens, strict=True)
    ) / sum(tokens)
    assert together["counted"]["losses"][0] == pytest.approx(first, rel=1e-6)


def test_processes_have_the_same_history_but_different_dropout(folder):
    first, second, alone = (read(folder, name) for name in ("2-0", "2-1", "1-0"))
    assert first == second
    assert first["dropout"]["losses"] != pytest.approx(alone["dropout"]["losses"], rel=1e-3)
    assert read(folder, "seed-2-0") != read(folder, "seed-2-1")


@pytest.mark.parametrize("count", [1, 2])
def test_interrupted_run_resumes_to_the_bit(folder, count):
    runs = read(folder, f"{count}-0")
    assert runs["resumed"] == runs["dropout"]


def test_unsupported_settings_of_several_processes_are_reported(folder):
    runs = read(folder, "2-0")
    assert runs["odd"] == "accumulation must be divisible by the 2 processes, got 3"
    assert runs["other number"].endswith("1.pt is of 1 processes, and can't be taken up by 2")


def test_alone_there_is_one_process():
    with process_group("cpu") as device:
        assert (device.type, world_size(), rank()) == ("cpu", 1, 0)
    with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', got 'tpu'"):
        process_group("tpu").__enter__()
