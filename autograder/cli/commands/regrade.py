"""python -m autograder regrade."""

import contextlib

from autograder.cli.bad_input import BadInputError, told_in_one_line
from autograder.cli.grading import begin_judges, grade_and_record, telling_what_is_kept
from autograder.cli.one_at_a_time import alone_in
from autograder.cli.options import (
    BookUrl,
    DatabaseUrl,
    DatesFile,
    Device,
    DeviceChoice,
    Graded,
    HomeworkName,
    SandboxChoice,
    Scheduler,
    Submissions,
    TimeLimit,
    TlsCa,
    TlsCert,
    TlsKey,
    TrustedNetwork,
    Workers,
)
from autograder.cli.outputs import tell_where, write_everything
from autograder.cli.plan import make_options, make_plan
from autograder.cli.terminal import output, print_changes


def regrade(
    homework: HomeworkName,
    submissions: Submissions,
    out: Graded,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    sandbox: SandboxChoice = True,
    device: DeviceChoice = Device.CPU,
    scheduler: Scheduler = "",
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_network: TrustedNetwork = False,
    db: DatabaseUrl = "",
    book_url: BookUrl = "",
    dates: DatesFile = None,
) -> None:
    """Grade a graded class again after a test has changed, and say whose marks changed and why.

    A run that is killed may be run again: it still compares with the marks from before it.

    The arguments are the command's options, described where they are declared.
    """
    from autograder.marks.changes import compare

    with contextlib.closing(begin_judges(scheduler, sandbox=sandbox, device=device)) as judges:
        plan = make_plan(homework, submissions, out, db=db, book_url=book_url, dates=dates)
        options = make_options(
            scheduler=scheduler, workers=workers, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
            trusted_network=trusted_network,
            time_limit=time_limit, sandbox=sandbox, device=device,
        )  # fmt: skip
        with alone_in(plan.out), telling_what_is_kept(plan):
            with told_in_one_line():
                if not plan.kept.of(plan.homework_id):
                    readable = " that can be read" if plan.kept.unread else ""
                    raise BadInputError(
                        f"{out} holds no results of {plan.homework_id}{readable}: grade it first"
                    )
            results, refused = grade_and_record(
                plan, options, judges, on_start=plan.store.keep_copy
            )
            earlier = plan.store.keep_copy()
            interrupted = {result.student for result in results if result.interrupted}
            compared = compare(earlier.read_all(), results)
            changes = [change for change in compared if change.student not in interrupted]
            write_everything(plan, results, changes)
            if not interrupted:  # the next run compares those with what they had before this one
                earlier.remove()
    print_changes(changes, len(results), output())
    tell_where(plan, results, refused)
