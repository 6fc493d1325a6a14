"""The catalogue of corpora: files, authors, licences, and the folder on this machine.

A file is downloaded at its first use, compared with its checksum, and kept as

    <COURSE_DATA>/<corpus>/<file>

``COURSE_DATA`` is an environment variable; without it the folder is ``seq2seq-to-bert`` in the
user's cache folder. Files that exist are not downloaded, so the folder may be shared and read-only.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from course_lib.data.corpora.download import (
    DownloadError,
    RemoteFile,
    WrongFileError,
    check_file,
    download,
)


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A published collection of texts.

    >>> TINY_SHAKESPEARE.licence
    'MIT; the text itself is in the public domain'
    >>> list(TINY_SHAKESPEARE.files)
    ['input.txt']

    Attributes:
        name: Name of its folder.
        title: A description in one line.
        page: Address of a page about it.
        licence: The terms of use.
        citation: The papers to cite.
        files: From the name of each file in its folder to its address, size and checksum.
    """

    name: str
    title: str
    page: str
    licence: str
    citation: str
    files: dict[str, RemoteFile]


def data_folder() -> Path:
    """Return the folder of downloads, ``COURSE_DATA`` or a cache folder; it need not exist."""
    named = os.environ.get("COURSE_DATA")
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "seq2seq-to-bert"


def fetch(corpus: Corpus, file_name: str) -> Path:
    """Return the path of a corpus's file after comparing its checksum; download it if missing.

    A failed download raises a ``DownloadError``, a wrong checksum a ``WrongFileError``.
    """
    if file_name not in corpus.files:
        raise KeyError(f"file_name must be one of {list(corpus.files)}, got {file_name!r}")
    remote = corpus.files[file_name]
    path = data_folder() / corpus.name / file_name
    if not path.exists():
        download(remote, path)
        return path
    try:
        check_file(path, remote)
    except WrongFileError as error:
        raise WrongFileError(f"{error}. Remove it, and it is fetched again") from error
    except OSError as error:
        raise DownloadError(f"{path} can't be read: {error.strerror}") from error
    return path


def _at(base: str, table: str) -> dict[str, RemoteFile]:
    """Return files by name from a table: path below the address ``base``, bytes and SHA-256."""
    rows = [line.split() for line in table.strip().splitlines()]
    return {
        path.rpartition("/")[2]: RemoteFile(address=f"{base}/{path}", size=int(size), sha256=sha256)
        for path, size, sha256 in rows
    }


MULTI30K = Corpus(
    name="multi30k",
    title="captions of photographs in English, German and French: 29,000 to train on",
    page="https://github.com/multi30k/dataset",
    licence="none stated; its authors provide it for non-commercial research and education",
    citation="Elliott, Frank, Sima'an and Specia (2016); for French Elliott et al. (2017)",
    files=_at(
        "https://raw.githubusercontent.com/multi30k/dataset/"
        "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw",
        """
test_2016_flickr.de.gz 22890 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8
test_2016_flickr.en.gz 21077 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
test_2016_flickr.fr.gz 22310 6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90
test_2017_flickr.de.gz 21471 a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee
test_2017_flickr.en.gz 19138 76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074
test_2017_flickr.fr.gz 20434 3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496
test_2017_mscoco.de.gz 10230 799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338
test_2017_mscoco.en.gz 8844 aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58
test_2017_mscoco.fr.gz 9751 754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0
test_2018_flickr.de.gz 26461 ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608
test_2018_flickr.en.gz 23514 ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d
test_2018_flickr.fr.gz 25321 fb2b83fcceb937a4f7e3e93c1c51c22aba92f1e342391e6b5ba392b16a920501
train.de.gz 637044 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6
train.en.gz 568929 d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
train.fr.gz 604242 622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
val.de.gz 24681 f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a
val.en.gz 21650 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
val.fr.gz 23001 ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
""",
    ),
)

BANKING77 = Corpus(
    name="banking77",
    title="questions to a bank, each with one of 77 intents: 10,003 to train on, 3,080 to test",
    page="https://github.com/PolyAI-LDN/task-specific-datasets",
    licence="CC BY 4.0",
    citation="Casanueva et al. (2020)",
    files=_at(
        "https://raw.githubusercontent.com/PolyAI-LDN/task-specific-datasets/"
        "57ec275d8078af65b7731c2a98be812d844a6d6b/banking_data",
        """
categories.json 2036 53261da888122daf2d120d925458631d9619e15d82e56052e7a42e535ce32b63
train.csv 839073 b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b
test.csv 239961 d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d
""",
    ),
)

BLIMP = Corpus(
    name="blimp",
    title="67 kinds of English sentences in pairs of a right and a wrong one, 1,000 of each",
    page="https://github.com/alexwarstadt/blimp",
    licence="CC BY 4.0",
    citation="Warstadt et al. (2020)",
    files=_at(
        "https://raw.githubusercontent.com/alexwarstadt/blimp/"
        "3e56b06fcabca9b30822fc66435fca6b1aa40bb1",
        """
BLiMP.zip 2354164 172a1a714d72e72a89e8384dd531483f3d0f8a9aee3d33dccaf7992d8cecbb73
raw_results/summary/models_summary.jsonl 10064 d54b1b361559eec9182f89930d5012af89d1a35d8e2ff435637b3166e2e3037a
""",  # noqa: E501
    ),
)

TINY_SHAKESPEARE = Corpus(
    name="tinyshakespeare",
    title="40,000 lines of Shakespeare's plays in one file",
    page="https://github.com/karpathy/char-rnn",
    licence="MIT; the text itself is in the public domain",
    citation="Karpathy (2015)",
    files=_at(
        "https://raw.githubusercontent.com/karpathy/char-rnn/"
        "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare",
        """
input.txt 1115394 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
""",
    ),
)

CORPORA: dict[str, Corpus] = {
    corpus.name: corpus for corpus in (MULTI30K, BANKING77, BLIMP, TINY_SHAKESPEARE)
}
"""All corpora by name."""
