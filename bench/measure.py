"""Times whole commands: wall seconds, CPU seconds and peak resident memory of each run, as the kernel accounts for the finished process."""
import os
import statistics
import subprocess
import time
from dataclasses import dataclass


@dataclass
class Run:
    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str


def run_once(command):
    """Runs `command` (a list) to its end; an exit code other than 0 is an error."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command} ended with {process.returncode}:\n{output}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def median_run(command, runs=5, warm_up=1):
    """The run with the median wall time, and the spread of the wall times as 'min..max'."""
    for _ in range(warm_up):
        run_once(command)
    done = sorted((run_once(command) for _ in range(runs)), key=lambda run: run.wall_s)
    middle = done[len(done) // 2]
    assert middle.wall_s == statistics.median_high(run.wall_s for run in done)
    return middle, f"{done[0].wall_s:.2f}..{done[-1].wall_s:.2f} s"
