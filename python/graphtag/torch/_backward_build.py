"""Compiles the library that graphtag.torch._backward loads: graphtag/torch.hpp for the PyTorch that is installed, once a version.

It is kept in the user's cache: $GRAPHTAG_CACHE_DIR, or graphtag in $XDG_CACHE_HOME or ~/.cache. `python -m graphtag.torch build` makes it ahead
of time, such as where an image is built.
"""
from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import logging
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import torch

_LIBRARY = "libgraphtag.so.0"
_SOURCE = Path(__file__).with_name("_backward.cpp")
_COMPILERS = ("g++", "c++", "clang++")
# Headers of PyTorch 2.15 need the first; should those of an old version not take it, the second.
_STANDARDS = ("c++20", "c++17")
_TIMEOUT_S = 600

_log = logging.getLogger("graphtag")


class BuildError(RuntimeError):
    """The library could not be made or loaded; the message says why and what to do."""


def graphtag_library() -> Path:
    """The libgraphtag.so that this process uses."""
    ctypes.CDLL(_LIBRARY)  # by its SONAME: graphtag's extension has loaded it
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if path and Path(path).name.startswith("libgraphtag.so"):
                return Path("/" + path)
    raise BuildError(f"{_LIBRARY} is loaded, but not found among the files mapped into this process")


def _include_dir() -> Path:
    """Where graphtag/torch.hpp is: in the package, or beside it in the sources."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "include", package.parents[1] / "include"):
        if (folder / "graphtag" / "torch.hpp").exists():
            return folder
    raise BuildError(f"the headers of graphtag are not in {package / 'include'}: install graphtag anew")


def compiler() -> list[str] | None:
    """The C++ compiler to call: $CXX, or the first of g++, c++ and clang++ that is there. None if there is none."""
    try:
        asked_for = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise BuildError(f"CXX={os.environ['CXX']!r} is no command line ({error}); set it to a C++ compiler, or unset it") from error
    for words in [asked_for] if asked_for else [[name] for name in _COMPILERS]:
        if shutil.which(words[0]):
            return words
    return None


def _cache_dir() -> Path:
    base = os.environ.get("GRAPHTAG_CACHE_DIR")
    if base:
        return Path(base)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphtag"
    except RuntimeError as error:
        raise BuildError("this user has no home folder for the compiled library; set GRAPHTAG_CACHE_DIR") from error


def library_path() -> Path:
    """Where the library for this PyTorch and this graphtag is, or will be."""
    facts = [torch.__version__, str(torch.version.git_version), str(int(torch._C._GLIBCXX_USE_CXX11_ABI)), platform.machine()]
    headers = sorted((_include_dir() / "graphtag").glob("*.h*"))
    digest = hashlib.sha256("\0".join(facts).encode())
    for file in [_SOURCE, *headers]:
        digest.update(file.read_bytes())
    return _cache_dir() / f"backward-torch{torch.__version__}-{digest.hexdigest()[:16]}.so"


def is_ours(path: Path) -> bool:
    """Whether the file is there, and nobody but this user or root can have written it."""
    try:
        facts = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_uid in (os.getuid(), 0) and not facts.st_mode & 0o022


def _command(words: list[str], standard: str, output: Path) -> list[str]:
    torch_dir = Path(torch.__file__).parent
    return [
        *words, f"-std={standard}", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        f"-I{_include_dir()}", f"-isystem{torch_dir / 'include'}", str(_SOURCE), "-o", str(output),
        f"-L{torch_dir / 'lib'}", "-ltorch_cpu", "-lc10", str(graphtag_library()),
    ]  # fmt: skip


def _compile(words: list[str], output: Path) -> None:
    complaints = ""
    for standard in _STANDARDS:
        try:
            done = subprocess.run(_command(words, standard, output), capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildError(f"{words[0]} did not run: {error}") from error
        if done.returncode == 0:
            return
        complaints = complaints or done.stderr
    first = next((line for line in complaints.splitlines() if "error" in line), complaints.strip()[:200])
    raise BuildError(f"{shlex.join(words)} could not compile {_SOURCE.name} for PyTorch {torch.__version__}: {first}")


@contextlib.contextmanager
def _one_at_a_time(lock_path: Path) -> Iterator[None]:
    """Several ranks start at once: one of them compiles, the others wait. Where files cannot be locked each compiles for itself."""
    with open(lock_path, "w") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(force: bool = False) -> Path:
    """Makes the library unless it is there (or `force`d), which takes some seconds, and returns its path. BuildError says why not."""
    path = library_path()
    if is_ours(path) and not force:
        return path
    words = compiler()
    if words is None:
        raise BuildError(f"no C++ compiler: none of {', '.join(_COMPILERS)} is on PATH; install one, or set CXX")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _one_at_a_time(path.with_suffix(".lock")):
            if is_ours(path) and not force:
                return path
            _log.info("compiling %s for PyTorch %s, once (%s)", _SOURCE.name, torch.__version__, path)
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                made = Path(folder) / path.name
                _compile(words, made)
                made.chmod(0o755)
                os.replace(made, path)
    except OSError as error:
        raise BuildError(f"cannot keep the library in {path.parent}: {error}; set GRAPHTAG_CACHE_DIR to a folder that can be written") from error
    return path


def main(arguments: list[str]) -> int:
    """`python -m graphtag.torch build [--force]`: prints the library's path. Exit code 1 where it cannot be made, 2 for wrong arguments."""
    if arguments not in ([], ["--force"]):
        print("usage: python -m graphtag.torch build [--force]", file=sys.stderr)
        return 2
    try:
        print(build(force=bool(arguments)))
    except BuildError as error:
        print(f"graphtag: {error}", file=sys.stderr)
        return 1
    return 0
