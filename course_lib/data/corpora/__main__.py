"""List the corpora, or fetch some ahead of time.

python -m course_lib.data.corpora                # list the corpora
python -m course_lib.data.corpora multi30k       # fetch all files of a corpus
"""

import argparse

from course_lib.data.corpora.catalog import CORPORA, data_folder, fetch
from course_lib.data.corpora.download import DownloadError


def _main() -> None:
    """List the corpora, or download those that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.data.corpora",
        description="List the corpora, or fetch some ahead of time.",
    )
    parser.add_argument("corpus", nargs="*", help=f"{', '.join(CORPORA)}; none lists them")
    names = parser.parse_args().corpus
    for name in names:
        if name not in CORPORA:
            parser.error(f"no corpus {name!r}; there are {', '.join(CORPORA)}")
    try:
        for name in names:
            for file_name in CORPORA[name].files:
                print(fetch(CORPORA[name], file_name))
    except DownloadError as error:
        raise SystemExit(str(error)) from error
    if not names:
        print(f"Kept in {data_folder()}\n")
        for corpus in CORPORA.values():
            print(f"{corpus.name}: {corpus.title}\n    {corpus.page}")
            print(f"    licence: {corpus.licence}\n    cite: {corpus.citation}")


if __name__ == "__main__":
    _main()
