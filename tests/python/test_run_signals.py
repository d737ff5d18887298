"""Signals to `graphtag run` and what it runs, over programs that use a false CUDA (tests/inject/cuda_program.cpp)."""
import os
import pty
import shlex
import signal
import subprocess
import sys
import time

import pytest
from recording_file import RecordingFile
from run_programs import DECODE, FAKE, environment, only, record, start  # noqa: F401 - record is a fixture


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_passed_on_after_everything_is_written(graphtag, tmp_path, number):
    process, ready = start(graphtag, tmp_path, *DECODE, "replay:10", "pause")
    assert ready[0] == "ready"
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert only(list((tmp_path / "out").glob("*.pftrace"))).regions() == {("decode.attention", True): 36}
    assert list((tmp_path / "out").glob("*.annotations.json"))
    assert "36 kernels" in stderr


def test_a_hangup_that_is_ignored_ends_nothing(graphtag, tmp_path):
    command = [graphtag, "run", "-o", tmp_path / "out", "--", FAKE / "cuda_program", *DECODE, "replay:10", "pause"]
    script = "trap '' HUP; exec " + shlex.join(map(str, command))  # as nohup does
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert process.stdout.readline().split()[0] == "ready"
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert only(list((tmp_path / "out").glob("*.pftrace"))).regions() == {("decode.attention", True): 36}


def test_all_processes_write_before_a_signal_is_passed_on(graphtag, tmp_path):
    words = " ".join([*DECODE, "pause"])
    script = f"{FAKE}/cuda_program {words} & a=$!; {FAKE}/cuda_program {words} & b=$!; trap 'kill $a $b; exit 9' TERM; wait"
    command = [graphtag, "run", "-o", tmp_path / "out", "--", "sh", "-c", script]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert {process.stdout.readline().split()[0] for _ in range(2)} == {"ready"}
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 9
    traces = list((tmp_path / "out").glob("*.pftrace"))
    assert len(traces) == 2 and all(RecordingFile(trace).regions() == {("decode.attention", True): 6} for trace in traces)


@pytest.mark.parametrize("after", [["exec", "cuda", "pause"], ["exec", "pause"]])
def test_a_signal_after_exec_waits_for_no_image_that_is_gone(graphtag, tmp_path, after):
    process, ready = start(graphtag, tmp_path, *DECODE, *after)
    assert ready[0] == "ready"
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert "did not write out in time" not in stderr and time.monotonic() - begun < 3
    assert "left by _exit or exec" in stderr and "still runs" not in stderr


def test_other_signals_reach_the_program(graphtag, tmp_path):
    script = "import signal, sys, time\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(12))\nprint('ready', flush=True)\ntime.sleep(30)\n"
    command = [graphtag, "run", "-o", tmp_path / "out", "--", sys.executable, "-c", script]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    process.stdout.readline()
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=20)
    assert process.returncode == 12


def test_ctrl_c_reaches_the_program_once(graphtag, tmp_path):
    script = (
        "import signal, time\ncount = 0\ndef note(*_):\n    global count\n    count += 1\nsignal.signal(signal.SIGINT, note)\n"
        "print('ready', flush=True)\nend = time.time() + 1.5\nwhile time.time() < end: time.sleep(0.05)\nprint('interrupts:', count, flush=True)\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(graphtag, [str(graphtag), "run", "-o", str(tmp_path / "out"), "--", sys.executable, "-c", script], environment())
    output = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the terminal's other end is closed
            break
        if not piece:
            break
        output += piece
        if piece.startswith(b"ready"):
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    assert b"interrupts: 1" in output, output
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_terminal_that_goes_away_reaches_the_program_once(graphtag, tmp_path):
    """Where the command leads the session (ssh -t, exec, tmux), the kernel tells it alone."""
    log = tmp_path / "log"
    script = (
        f"import signal, time\nlog = open({str(log)!r}, 'w', buffering=1)\ncount = 0\ndef note(*_):\n    global count\n    count += 1\n"
        "signal.signal(signal.SIGHUP, note)\nlog.write('ready\\n')\nend = time.time() + 10\n"
        "while time.time() < end and not count: time.sleep(0.05)\ntime.sleep(0.5)\nlog.write(f'hangups: {count}')\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execve(graphtag, [str(graphtag), "run", "-o", str(tmp_path / "out"), "--", sys.executable, "-c", script], environment())
    end = time.monotonic() + 30
    while not (log.exists() and log.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert log.read_text() == "ready\nhangups: 1" and os.waitstatus_to_exitcode(status) == 0


def test_the_program_has_the_signals_and_streams_that_run_has(record):
    script = "import signal, sys; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getsignal(signal.SIGXFSZ), signal.getsignal(signal.SIGCHLD), sys.stdin.read())"
    alone = subprocess.run([sys.executable, "-c", script], input="text", capture_output=True, text=True, env=environment())
    given = record(command=["sh", "-c", f"echo -n text | {sys.executable} -c \"{script}\""])
    assert given.stdout == alone.stdout


# --- what is left behind
