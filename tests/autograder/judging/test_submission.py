"""Reading notebooks: limits on size, outputs, questions, notebooks of other programs."""

import copy
import json
import subprocess
import sys

import pytest

from autograder.homework_source.homework import CellKind
from autograder.judging import notebook_file
from autograder.judging.notebook_file import (
    MAX_FILE_BYTES,
    MAX_NOTEBOOK_BYTES,
    SubmissionError,
    without_outputs,
)
from autograder.judging.submission import read_submission
from tests.autograder.conftest import DOUBLE, ROOT, notebook
from tests.homework.tables import load_homework, released_notebook, solved_notebook
from tests.processor_time import limited_to

TWENTY_MIB = (20 << 20) - 30
FLOODS = {
    "cells": "{},",
    "cells with a key": '{"a":1},',
    "numbers": "9.1,",
    "texts": '"ab",',
    "quotes": '"',
}


def flood(part):
    return ('{"cells":[' + part * (TWENTY_MIB // len(part)) + "{}]}").encode()


@pytest.mark.parametrize("part", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_notebook_of_millions_of_values_is_rejected_before_parsing(monkeypatch, part, encoding):
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("it was read"))
    data = flood(part).decode()[: TWENTY_MIB // 2].encode(encoding)
    with pytest.raises(SubmissionError, match="more than 500,000 values"):
        read_submission(data, DOUBLE)


@pytest.mark.parametrize(
    "text",
    ["\\n" * 5_000_000, '\\"' * 5_000_000, "[{,},]" * 3_000_000, "∀" * 5_000_000],
    ids=["escapes", "quotes", "brackets", "signs"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_long_output_counts_as_one_value(text, encoding):
    shown = {"output_type": "stream", "name": "stdout", "text": "TEXT"}
    whole = json.dumps({"cells": [{"cell_type": "code", "source": "", "outputs": [shown]}]})
    long = whole.replace("TEXT", text[: 9_000_000 // len(text[0].encode())]).encode(encoding)
    assert len(long) < 20 << 20
    read_submission(long, DOUBLE)


MIB_2 = 2 << 20
OUTPUTS = {
    "picture": {"data": {"image/png": "A" * MIB_2}},
    "page": {"data": {"text/html": ['<td class="}">\n'] * (MIB_2 // 20)}},
    "numbers": {"data": {"application/vnd.plotly.v1+json": {"x": [0.125] * (MIB_2 // 7)}}},
    "text": {"output_type": "stream", "text": '\\"]}' * (MIB_2 // 7)},
    "lists": {"data": {"application/json": [[[]]] * (MIB_2 // 6)}},
}


@pytest.mark.parametrize("kind", [*OUTPUTS, "attachments", "widgets"])
def test_outputs_are_ignored(kind, monkeypatch):
    monkeypatch.setattr(notebook_file, "MAX_NOTEBOOK_BYTES", 1 << 20)
    light = json.loads(notebook(("double", 'x = {"outputs": [1]}\ndef double(x):\n    return x')))
    heavy = copy.deepcopy(light)
    heavy["cells"].append({"cell_type": "markdown", "source": "my note", "attachments": {}})
    light["cells"].append(heavy["cells"][-1].copy())
    if kind in OUTPUTS:
        heavy["cells"][0]["outputs"] = [OUTPUTS[kind]]
    elif kind == "widgets":
        heavy["metadata"]["widgets"] = {"state": {"text/plain": "x" * MIB_2}}
    else:
        heavy["cells"][-1]["attachments"] = {"a.png": {"image/png": "A" * MIB_2}}
    for indent in (None, 1):
        data = json.dumps(heavy, indent=indent).encode()
        assert len(data) > notebook_file.MAX_NOTEBOOK_BYTES
        assert len(without_outputs(data)) < 2_000
        expected = read_submission(json.dumps(light).encode(), DOUBLE)
        assert read_submission(data, DOUBLE) == expected


def test_for_students_page_names_the_size_limit():
    page = (ROOT / "book" / "for-students.md").read_text()
    for limit in (MAX_NOTEBOOK_BYTES, MAX_FILE_BYTES):
        assert f"{limit >> 20} MiB" in page


def test_outputs_with_too_many_values_are_rejected(monkeypatch):
    monkeypatch.setattr(notebook_file, "_MAX_OUTPUT_PARTS", 2_000_000)
    data = b'{"cells": [{"outputs": [' + b"{}," * 11_000_000
    with limited_to(seconds=20), pytest.raises(SubmissionError, match="outputs hold more than"):
        read_submission(data, DOUBLE)


def test_unterminated_string_is_scanned_once():
    with limited_to(seconds=10), pytest.raises(SubmissionError, match="not valid JSON"):
        read_submission(b'{"cells":["' + b'\\"' * 10_000_000, DOUBLE)


def test_more_than_ten_thousand_cells_are_rejected():
    cells = {"cells": [{"cell_type": "markdown", "source": ""}] * 10_001}
    with pytest.raises(SubmissionError, match="10,001 cells; the limit is 10,000"):
        read_submission(json.dumps(cells).encode(), DOUBLE)
    cells["cells"] = cells["cells"][1:]
    assert read_submission(json.dumps(cells).encode(), DOUBLE).steps


COST = """
import resource, sys
from autograder.judging.notebook_file import SubmissionError
from autograder.judging.submission import read_submission
from tests.autograder.conftest import DOUBLE
from tests.autograder.judging.test_submission import flood
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
data = flood(sys.argv[1])
before = peak()
try:
    read_submission(data, DOUBLE)
except SubmissionError:
    print(peak() - before)
"""


@pytest.mark.proof
def test_notebook_of_empty_cells_uses_little_memory():
    done = subprocess.run(
        [sys.executable, "-c", COST, "{},"], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 200  # MiB; read as JSON it would take 1,500


HW03 = "hw03-self-attention"


def test_fetch_cell_never_runs_and_may_be_of_another_release():
    homework, released = load_homework(HW03), json.loads(released_notebook(HW03).read_text())
    (fetch,) = (c.grade_id for c in homework.cells if c.kind is CellKind.FETCH)
    (cell,) = (c for c in released["cells"] if c["id"] == fetch)
    cell["source"] = "".join(cell["source"]).replace('address=""', 'address="forged"')
    read = read_submission(json.dumps(released).encode(), homework)
    assert not [step for step in read.steps if step.label == fetch or "forged" in step.source]
    released["cells"].remove(cell)
    assert read.flags == read_submission(json.dumps(released).encode(), homework).flags == ()


def test_notebook_saved_by_colab_is_read_like_the_original():
    homework, saved = load_homework(HW03), json.loads(solved_notebook(HW03))
    before = read_submission(json.dumps(saved).encode(), homework)
    saved |= {"nbformat_minor": 0}  # no cell ids; Colab has names of its own
    saved["metadata"] |= {"colab": {"provenance": []}, "accelerator": "GPU"}
    for number, cell in enumerate(saved["cells"]):
        del cell["id"]
        cell["metadata"] |= {"id": f"x{number}", "outputId": "y", "colab": {"height": 1}}
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    assert read_submission(json.dumps(saved).encode(), homework) == before
