"""What a person sees: tables fitted to the terminal, a progress bar, colours; and what a program gets through a pipe."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest


def on_terminal(graphtag, *arguments, columns=100, **environment):
    """Runs the command with a terminal of `columns` as its standard output and error; returns what it showed."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LC_ALL", "LANG")}
    variables.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **environment})
    process = subprocess.Popen([graphtag, *map(str, arguments)], stdin=child, stdout=child, stderr=child, env=variables)
    os.close(child)
    shown = b""
    while True:
        try:
            block = os.read(parent, 65536)
        except OSError:  # the child has closed the terminal
            break
        if not block:
            break
        shown += block
    os.close(parent)
    assert process.wait(timeout=60) == 0, shown
    return shown.decode()


def without_colors(text):
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


@pytest.fixture
def report(graphtag, trace_files):
    trace, annotations = trace_files("decode")

    def shown(*options, **others):
        return on_terminal(graphtag, "report", trace, "-a", annotations, "--quiet", *options, **others)

    return shown


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_table_fits_the_terminal(report, columns):
    lines = without_colors(report(columns=columns)).replace("\r", "").split("\n")
    rules = [number for number, line in enumerate(lines) if line.startswith("\u2500\u2500\u2500")]
    table = lines[rules[0] - 1 : rules[-1]]
    assert len(table) > 5
    assert max(map(len, table)) <= columns
    assert any("o_proj" in line for line in lines), "the leaf of a long name must stay"


def test_dropped_columns_are_named(report):
    narrow = without_colors(report(columns=60))
    assert "--wide" in narrow
    assert "--wide" not in without_colors(report("--wide", columns=60))


def test_colors_on_a_terminal_can_be_switched_off(report):
    assert "\x1b[" in report()
    assert "\x1b[" not in report(NO_COLOR="1")
    assert "\x1b[" not in report(TERM="dumb")
    assert "\x1b[" not in report("--color", "never")
    assert "\x1b[" in report("--color", "always", NO_COLOR="1")


def test_a_terminal_without_utf8_gets_ascii(report):
    assert report(LC_ALL="C", columns=60).isascii()


def test_a_pipe_gets_rows_for_programs(run, trace_files):
    trace, annotations = trace_files("decode")
    done = run("report", trace, "-a", annotations)
    header, *rows = done.stdout.splitlines()
    columns = header.split("\t")
    assert "region" in columns and "total_ns" in columns
    assert all(len(row.split("\t")) == len(columns) for row in rows)
    cell = rows[0].split("\t")[columns.index("total_ns")]
    assert cell.isdigit()
    assert "\x1b" not in done.stdout


def test_progress_is_shown_on_a_terminal_alone(graphtag, run, trace_files, tmp_path):
    trace, annotations = trace_files("decode_60")
    words = ("annotate", trace, "-a", annotations, "-o", tmp_path / "out.json")
    assert "\r" not in run(*words).stderr
    quiet = on_terminal(graphtag, *words, "--quiet")
    assert quiet == ""
