"""What an installed wheel of graphtag must do, in an environment that has nothing else: run by tests/wheel/run with each interpreter.

usage: check.py SOURCES      (SOURCES: graphtag's sources, for a recorded trace and a C++ program; -I leaves them off the path)
"""
import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import graphtag

SOURCES = Path(sys.argv[1])
PACKAGE = Path(graphtag.__file__).parent
# Beside glibc a machine needs nothing.
GLIBC = re.compile(r"(linux-vdso|ld-linux[^/]*|libc|libm|libdl|libpthread|librt)\.so")

CPP_RUNTIME = re.compile(GLIBC.pattern + r"|libstdc\+\+\.so|libgcc_s\.so")


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, check=True, timeout=300, **options).stdout


def check_contents():
    wanted = ["py.typed", "_ext.pyi", "bin/graphtag", "lib/libgraphtag.so", "lib/libgraphtag.so.0", "lib/libgraphtag_inject.so", "lib/libgraphtag_guard.so",
              "include/graphtag/graphtag.h", "include/graphtag/graphtag.hpp", "include/graphtag/torch.hpp",
              "lib/cmake/graphtag/graphtagConfig.cmake", "lib/pkgconfig/graphtag.pc", "torch/_backward.cpp"]  # fmt: skip
    missing = [name for name in wanted if not (PACKAGE / name).exists()]
    assert not missing, f"not in the wheel: {missing}"
    files = {str(file) for file in importlib.metadata.files("graphtag")}
    assert not any("test" in name for name in files), sorted(files)
    assert importlib.metadata.version("graphtag") == graphtag.__version__


def check_what_is_linked():
    """All that the binaries need is in the package, or is glibc; the extension takes the machine's C++ runtime, as nanobind-backend does."""
    for binary in [PACKAGE / "bin/graphtag", *PACKAGE.glob("*.so"), *PACKAGE.glob("lib/*.so")]:
        allowed = CPP_RUNTIME if binary.parent == PACKAGE else GLIBC
        for line in run("ldd", binary).splitlines():
            name, _, path = line.strip().partition(" => ")
            path = path.split(" (")[0]
            assert "not found" not in line, f"{binary.name}: {line}"
            assert allowed.match(Path(name.split(" (")[0]).name) or PACKAGE in Path(path).resolve().parents, f"{binary.name} needs {line}"


def check_the_command():
    script = Path(sys.executable).with_name("graphtag")
    version = run(script, "--version")
    assert version == run(sys.executable, "-m", "graphtag", "--version") and graphtag.__version__ in version
    trace, names = SOURCES / "examples/decode/decode.json.gz", SOURCES / "examples/decode/decode.annotations.pkl"
    assert "self_attn" in run(script, "report", trace, "-a", names)
    rows = graphtag.report(trace, names, top=3)
    assert len(rows) == 3 and rows[0]["total_ns"] > 0
    with tempfile.TemporaryDirectory() as folder:
        graphtag.annotate(trace, Path(folder, "named.pftrace"), names)
        assert Path(folder, "named.pftrace").stat().st_size > 1000


def check_recording_without_cuda():
    assert "torch" not in sys.modules
    with graphtag.scope("a", bs=8):
        pass

    @graphtag.scope("b")
    def function():
        return 7

    assert function() == 7 and graphtag.annotations() == {}
    assert graphtag.doctor()["graphtag"] == graphtag.__version__
    reason = graphtag.available()
    try:
        graphtag.window().open()
    except graphtag.UnavailableError as error:
        assert reason is not None and "libcuda" in str(error), error
    else:
        assert reason is None
    with tempfile.TemporaryDirectory() as folder:
        graphtag.snapshot(Path(folder, "a.json"))
        assert graphtag.load(Path(folder, "a.json")).format == "graphtag.annotations/1"
    try:
        importlib.import_module("graphtag.torch")
    except ImportError as error:
        assert "PyTorch" in str(error)
    else:
        assert "torch" in sys.modules


def check_a_program_in_c():
    """The CMake package and the pkg-config file lead to the library, wherever the package is."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CMAKE_PREFIX_PATH": str(PACKAGE)}
        run("cmake", "-S", SOURCES / "tests/capi/consumer", "-B", folder, env=environment)
        run("cmake", "--build", folder)
        flags = run("pkg-config", "--cflags", "--libs", "graphtag", env={**os.environ, "PKG_CONFIG_PATH": str(PACKAGE / "lib/pkgconfig")})
        assert str(PACKAGE) in flags, flags


def main():
    checks = [function for name, function in globals().items() if name.startswith("check_")]
    for function in checks:
        function()
    print(f"ok: {len(checks)} checks with {sys.implementation.name} {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
