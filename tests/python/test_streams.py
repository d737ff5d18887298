"""Standard streams that are full, closed, or whose reader is gone."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from run_programs import DECODE, FAKE, environment

MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def nothing_is_left_in_memory():
    before = set(MEMORY.glob("graphtag-run-*"))
    yield
    left = set(MEMORY.glob("graphtag-run-*")) - before
    deadline = time.time() + 20  # another's run may be going on
    while any(folder.exists() for folder in left) and time.time() < deadline:
        time.sleep(0.05)
    assert not [folder for folder in left if folder.exists()]


def gone():
    """The end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


def full():
    return open("/dev/full", "wb")


def run_with(graphtag, *words, **streams):
    # Python ignores SIGPIPE; a shell's programs do not.
    return subprocess.run([graphtag, *map(str, words)], timeout=60, env=environment(), preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL), **streams).returncode


@pytest.mark.parametrize("stderr", [full, gone])
@pytest.mark.parametrize("command, code", [(["sh", "-c", "exit 3"], 3), (["no-such-program"], 127), ([FAKE / "static_program"], 5), ([FAKE / "cuda_program", *DECODE, "exit:7"], 7),
                                           ([FAKE / "cuda_program", *DECODE, "_exit:3"], 3), ([FAKE / "cuda_program", *DECODE, "kill:15"], 143)])
def test_run_has_the_programs_exit_code_though_it_cannot_speak(graphtag, tmp_path, stderr, command, code):
    with stderr() as stream:
        assert run_with(graphtag, "run", "-o", tmp_path, "--", *command, stderr=stream) == code


def test_the_program_of_run_dies_of_a_closed_pipe_as_ever(graphtag, tmp_path):
    for ignored in ("", "trap '' PIPE; "):
        shown = [
            subprocess.run(["sh", "-c", f'{ignored}exec "$@"', "sh", *map(str, words), "sh", "-c", "grep SigIgn /proc/self/status"], capture_output=True, text=True, timeout=60,
                           preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)).stdout
            for words in (["env"], [graphtag, "run", "-q", "-o", tmp_path, "--"])
        ]
        assert shown[0] == shown[1] != ""


@pytest.mark.parametrize("stderr", [full, gone])
@pytest.mark.parametrize("verb", ["report", "check", "show"])
def test_an_error_that_cannot_be_said_has_its_exit_code(graphtag, tmp_path, stderr, verb):
    with stderr() as stream:
        assert run_with(graphtag, verb, tmp_path / "none", stderr=stream) in ((3,) if stderr is full else (3, -signal.SIGPIPE))


def test_annotate_goes_on_though_it_cannot_speak(graphtag, trace_files, tmp_path):
    traces = [trace_files(f"all_reduce_rank{rank}")[0] for rank in (0, 1)]
    with full() as stream:
        assert run_with(graphtag, "annotate", *traces, "-a", trace_files("all_reduce_rank0")[1], "--force", "-o", tmp_path / "named", stderr=stream) == 0
    assert sorted(os.listdir(tmp_path / "named")) == ["all_reduce_rank0.json.gz", "all_reduce_rank1.json.gz"]


def test_a_reader_that_is_gone_leaves_no_half_written_file(graphtag, trace_files, tmp_path):
    trace, annotations = trace_files("decode")
    with gone() as stream:
        run_with(graphtag, "report", trace, "-a", annotations, "--format", "tsv", "-o", tmp_path / "x.tsv", stderr=stream)
    assert not list(tmp_path.glob("*.tmp"))


def big_annotations(folder):
    """Of more keys than a buffer of standard output holds."""
    path = folder / "a.json"
    path.write_text(json.dumps({"schema": "graphtag.annotations/1", "producer": {"tool": "t"}, "annotations": [{"object": {f"key{n}": 1 for n in range(5000)}}], "graphs": [], "execs": []}))
    return path


def verbs_that_print(trace_files, folder):
    trace, annotations = trace_files("two_phases")
    return [("report", trace, "-a", annotations), ("check", trace), ("show", trace), ("show", big_annotations(folder)), ("show", big_annotations(folder), "--json"), ("completion", "bash"),
            ("--help",), ("report", "--help"), ("--version",), ("annotate", trace, "-a", annotations, "--format", "chrome", "-o", "/dev/stdout"), ("report", trace, "-o", "/dev/stdout")]


@pytest.mark.parametrize("stdout", ["1>&-", "1>/dev/full"])
@pytest.mark.parametrize("number", range(11))
def test_output_that_goes_nowhere_is_an_error(graphtag, trace_files, tmp_path, stdout, number):
    words = verbs_that_print(trace_files, tmp_path)[number]
    done = subprocess.run(["bash", "-c", f'exec "$@" {stdout}', "bash", graphtag, *map(str, words)], stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3 and "stdout" in done.stderr.replace("standard output", "stdout") and "mistake" not in done.stderr


def test_closed_output_harms_nothing_where_nothing_is_printed(graphtag, trace_files, tmp_path):
    trace, annotations = trace_files("two_phases")
    for words in (("annotate", trace, "-a", annotations, "-o", tmp_path / "x.json"), ("report", trace, "-o", tmp_path / "x.tsv"), ("run", "-o", tmp_path, "--", "sh", "-c", "echo text")):
        assert subprocess.run(["bash", "-c", 'exec "$@" 1>&- 2>&-', "bash", graphtag, *map(str, words)], timeout=60).returncode == 0
