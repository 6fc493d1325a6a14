"""Downloads of Blackboard and Brightspace: one student stays one, and the last attempt counts."""

from datetime import UTC, datetime

import pytest

from autograder.class_run.submissions import read_handed_in
from autograder.collecting.collect import collect
from autograder.collecting.lms_names import Naming, read_blackboard, read_brightspace
from autograder.collecting.placing import Outcome
from tests.autograder.collecting.downloads import (
    BERLIN,
    HW,
    class_list,
    collected,
    make_folder,
    make_zip,
    outcomes,
)


def blackboard(user, when, file=f"_{HW}.ipynb", assignment="Homework_3 (2026)"):
    return f"{assignment}_{user}_attempt_2026-10-{when}{file}"


def brightspace(name, numbers, when, file):
    return f"{numbers} - {name} - {when}{file}"


@pytest.mark.parametrize("made", [make_folder, make_zip])
def test_last_attempt_at_blackboard_counts(tmp_path, into, made):
    files = {
        blackboard("ada12", "05-09-00-00"): "first",
        blackboard("ada12", "05-09-00-00", ".txt"): "Name: Ada Lovelace (ada12)",
        blackboard("ada12", "06-14-30-59"): "second",
        blackboard("ada12", "06-14-30-59", ".txt"): "Name: Ada Lovelace (ada12)",
        blackboard("van_dam", "05-10-00-00"): "van dam",
        blackboard("de_dam", "05-10-00-00"): "de dam",
    }
    told = collect(made(tmp_path / "from", files), HW, into, zone=BERLIN)
    assert told.naming is Naming.BLACKBOARD
    assert told.complete
    assert collected(into) == {"ada12": "second", "van_dam": "van dam", "de_dam": "de dam"}
    assert read_handed_in(into / "ada12" / HW) == datetime(2026, 10, 6, 12, 30, 59, tzinfo=UTC)
    assert outcomes(told)["ada12"][1] == (
        "the newest of 2 notebooks; 2 other files stay where they are"
    )


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("root", ["", "Homework 3 Download Oct 9, 2026 900 AM/"])
def test_last_attempt_at_brightspace_counts(tmp_path, into, flat, root):
    file = f" - {HW}.ipynb" if flat else f"/{HW}.ipynb"
    attempts = {
        brightspace("Ada Lovelace", "12345-801", "Oct 5, 2026 1230 PM", file): "second",
        brightspace("Ada Lovelace", "12345-800", "Oct 5, 2026 130 AM", file): "first",
        brightspace("Bo - the 2nd", "12346-801", "Oct 5, 2026 110 PM", file): "bo",
        "index.html": "<table>",
    }
    files = {f"{root}{name}": text for name, text in attempts.items()}
    told = collect(make_zip(tmp_path / "s.zip", files), HW, into, zone=BERLIN)
    assert told.naming is Naming.BRIGHTSPACE
    assert told.complete
    assert collected(into) == {"Ada-Lovelace_12345": "second", "Bo---the-2nd_12346": "bo"}
    handed_in = read_handed_in(into / "Ada-Lovelace_12345" / HW)
    assert handed_in == datetime(2026, 10, 5, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "moment"),
    [
        ("Oct 5, 2026 130 AM", (1, 30)),
        ("Oct 5, 2026 1230 AM", (0, 30)),
        ("October 5, 2026 110 PM", (13, 10)),
        ("5 October, 2026 1130 PM", (23, 30)),
        ("5 Oct 2026 14.05", (14, 5)),
        ("5 mai 2026 14.05", None),
    ],
)
def test_time_of_a_brightspace_attempt_is_read(when, moment):
    (name,) = read_brightspace([brightspace("Ada", "1-2", when, " - x.ipynb")], HW)
    assert (name.lms_id, name.upload, name.called) == ("1", 2, "Ada")
    assert name.moment == (moment and datetime(2026, 10, 5, *moment))


def test_time_that_cannot_be_is_none():
    (name,) = read_blackboard([blackboard("ada", "32-25-61-61")], HW)
    assert (name.person, name.moment) == ("ada", None)


def test_class_list_finds_users_of_both_platforms(tmp_path, into):
    roster = class_list(tmp_path, "ADA_12,ada,\n12346,bo,\nCy Li,cy,\n")
    bb = make_zip(
        tmp_path / "bb.zip",
        {blackboard("ada_12", "05-09-00-00"): "a", blackboard("zoe", "05-09-00-00"): "z"},
    )
    d2l = make_zip(
        tmp_path / "d2l.zip",
        {
            brightspace("Bo B", "12346-1", "Oct 5, 2026 130 AM", f" - {HW}.ipynb"): "b",
            brightspace("Cy Li", "12347-1", "Oct 5, 2026 130 AM", f" - {HW}.ipynb"): "c",
        },
    )
    for source in (bb, d2l):
        told = collect(source, HW, into, roster=roster)
        assert Outcome.PROBLEM not in {line.outcome for line in told.lines}
    assert collected(into) == {"ada": "a", "zoe": "z", "bo": "b", "cy": "c"}


def test_numbers_in_an_assignments_name_make_it_no_download_of_canvas(tmp_path, into):
    files = {blackboard("77", f"05-09-00-0{n}", assignment="HW_3_4"): str(n) for n in (1, 2)}
    told = collect(make_zip(tmp_path / "s.zip", files), HW, into)
    assert told.naming is Naming.BLACKBOARD
    assert collected(into) == {"77": "2"}
