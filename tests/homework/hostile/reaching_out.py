"""Code that reaches for what lies outside of its process, or takes more than its share."""

# ruff: noqa: E501 -- one line an attack

from .attack import Attack, at_padding, attack


def _reach(name: str, tries: str, extra: str, flagged: str = "") -> Attack:
    """Return an attack that runs once, in the added cell ``extra``; the solutions are right."""
    return attack(name, tries, extra=extra, flagged=flagged)


def _take(name: str, tries: str, body: str) -> Attack:
    """Return an attack that runs in each call of the padding mask, which earns nothing."""
    return attack(name, tries, edits=at_padding(body))


# A secret that is found is told by an error in a solution: `problems` looks for it there.
_SEARCH = """
import os, glob
found = []
for place in ("/", "/home", "/root", "/work", "/mnt", "/srv", "/tmp", "/proc", "/etc", "/var", "..", "~"):
    for folder, folders, files in os.walk(os.path.expanduser(place)):
        if folder.startswith(("/usr", "/lib", "/proc", "/sys", "/dev")) or "site-packages" in folder:
            folders.clear()
        found += [f for f in files if f.startswith(("gradebook", "hw0", "authorized_keys", "id_rsa"))]
        if len(found) > 100 or folder.count("/") > 5:
            folders.clear()
assert not found, f"FOUND {found}"
"""

ATTACKS: tuple[Attack, ...] = (
    _reach("searches", "gradebook, course folder, other submissions, home, by name", _SEARCH),
    _reach("judges-memory", "/proc of the judge and of its parents", """
import os
for pid in {os.getppid(), 1, 2, os.getpid() + 1, os.getpid() - 1} - {os.getpid(), 0, -1}:
    for name in ("mem", "environ", "cmdline", "maps", "fd", "root", "cwd"):
        try:
            open(f"/proc/{pid}/{name}", "rb").read(1)
        except OSError:
            continue
        raise SystemExit(f"FOUND {pid} {name}")
"""),
    _reach("environment", "secrets of the environment", """
import os
secret = [name for name in os.environ if any(word in name.upper() for word in ("TOKEN", "KEY", "SECRET", "USER", "SSH"))]
if os.environ["USER"] == "student":  # a name for every worker
    secret.remove("USER")
assert not secret, f"FOUND {secret}"
"""),
    _reach("network", "another machine, the machine itself, names, Unix sockets", """
import glob, socket
for family, address in (
    (socket.AF_INET, ("127.0.0.1", 8786)), (socket.AF_INET, ("8.8.8.8", 53)), (socket.AF_INET6, ("::1", 22, 0, 0)),
    (socket.AF_UNIX, "/run/docker.sock"), (socket.AF_UNIX, "\\0/tmp/dbus"),
):
    try:
        with socket.socket(family) as s:
            s.settimeout(0.2)
            s.connect(address)
    except OSError:
        continue
    raise SystemExit(f"FOUND {address}")
""", "pries into socket"),
    _reach("writes", "files of Python, of the library, of the system, changed for the next student", """
import os, pathlib, sys, torch
for folder in (torch.__path__[0], "/grading/course_lib", "/grading/course_worker", "/usr/bin", "/etc", "/dev", "/", sys.prefix):
    try:
        pathlib.Path(folder, "sitecustomize.py").write_text("raise SystemExit")
    except OSError:
        continue
    raise SystemExit(f"FOUND {folder}")
"""),
    _reach("kills", "the parent, every process, the group; a new parent", """
import os, signal
for pid in (os.getppid(), -1, 0, 2, -os.getpgrp()):
    for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGWINCH):
        try:
            os.kill(pid, number)
        except OSError:
            pass
""", "pries into os.kill"),
    _reach("traces", "ptrace of the parent and of others, privileges, mounts", """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
reached = [
    libc.ptrace(16, pid, 0, 0) == 0 for pid in (2, 3)
] + [
    libc.setuid(0) == 0, libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0, libc.umount2(b"/proc", 2) == 0,
    libc.chroot(b"/tmp") == 0, libc.sethostname(b"x", 1) == 0, libc.syscall(246, 0, 0, 0, 0) == 0,
]
assert not any(reached), f"FOUND {reached}"
""", "pries into ctypes"),
    _reach("own-namespaces", "more privileges in namespaces of its own", """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if os.fork() == 0:
    libc.unshare(0x10000000 | 0x20000)
    libc.mount(b"none", b"/", None, 0x44000, None)
    libc.mount(b"/tmp", b"/grading", None, 0x1000, None)
    os._exit(0)
os.wait()
assert os.path.exists("/grading/course_worker"), "FOUND"
""", "pries into os.fork"),
    _reach("daemons", "processes that outlive the notebook", """
import os, subprocess
for _ in range(5):
    subprocess.Popen(["setsid", "sleep", "86397"], stdin=-3, stdout=-3, stderr=-3)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time
        time.sleep(86397)
    os._exit(0)
"""),
    _reach("outlives", "a process that refuses to die with its parent", """
import ctypes, os
libc = ctypes.CDLL(None)
libc.prctl(1, 0, 0, 0, 0)
try:
    os.setsid()
except OSError:
    pass
""", "pries into ctypes"),
    _reach("left-behind", "files for the next student", """
import pathlib
for folder in ("/tmp", "/dev/shm"):
    assert not pathlib.Path(folder, "left-behind").exists(), "FOUND"
    pathlib.Path(folder, "left-behind").write_text("mine")
    pathlib.Path(folder, "course_lib.py").write_text("raise SystemExit")
"""),
    _reach("keyrings", "the staff's keys, and keys for the next student", """
import ctypes
call = ctypes.CDLL(None).syscall
for keyring in (-3, -4, -5):
    assert call(250, 10, keyring, b"user", b"left", 0) < 0, "FOUND"
    call(248, b"user", b"left", b"solutions", 9, keyring)
    [call(248, b"user", b"%d" % number, b"x", 1, keyring) for number in range(300)]
""", "pries into ctypes"),
    _take("crowd", "processes that each count as a session of their own", """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(30):
    if not os.fork():
        os.setsid()
        while True:
            pass
while True:
    pass
"""),
    _take("fork-bomb", "processes without end", """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""),
    _take("memory", "all the memory", "kept = []\nwhile True:\n    kept.append(bytearray(64 << 20))"),
    _take("disk", "all the disk", """
with open("/tmp/flood", "wb") as file:
    while True:
        file.write(bytes(1 << 20))
"""),
    _take("inodes", "files without end", """
import itertools
for number in itertools.count():
    open(f"/tmp/{number}", "w").close()
"""),
    _take("open-files", "open files without end", "kept = []\nwhile True:\n    kept.append(open('/dev/null'))"),
    _take("output", "output without end, in every way", """
import os, sys
while True:
    print("x" * 100_000)
    os.write(1, b"y" * 100_000)
    os.write(2, b"z" * 100_000)
"""),
    _take("threads", "threads without end", """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
"""),
    _take("growing-result", "a result that grows when the check computes with it", "return torch.zeros(1 << 24, 1, 1, 1, 1, dtype=torch.bool)"),
    _take("large-result", "a result larger than the wire takes", "return torch.ones(1 << 27, dtype=torch.float64)"),
    _take("endless-result", "a result that never ends", """
class Endless:
    def __iter__(self): return self
    def __next__(self): return 1
    def __len__(self): return 1 << 60
    def __getitem__(self, index): return self
    shape = dtype = device = property(lambda self: Endless())
return Endless() if pad_id else (x for x in iter(int, 1))
"""),
    _take("deep-result", "a result nested without end", "kept = []\nfor _ in range(100_000):\n    kept = [kept]\nreturn kept"),
    _take("signals", "an end by a signal", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nos.abort()"),
)  # fmt: skip
