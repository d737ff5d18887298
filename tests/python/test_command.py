"""The command's manners: exit codes, messages, files that appear whole or not at all."""
import gzip
import json
import os
import pickle
import shutil
import signal
import subprocess
import time

import pytest

VERBS = ("annotate", "report", "check", "show", "run", "doctor", "completion")


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples(run, verb):
    done = run(verb, "--help")
    assert f"graphtag {verb}" in done.stdout.split("Examples:")[1]
    assert done.stderr == ""


def test_every_verb_is_in_the_help(run):
    text = run("--help").stdout
    for verb in VERBS:
        assert verb in text
    assert "Exit codes" in text


def test_version(run):
    assert run("--version").stdout.startswith("graphtag 0.")


@pytest.mark.parametrize("words", [[], ["fly"], ["annotate"], ["report", "--no-such"], ["annotate", "t.json", "-o", "name-without-ending"]])
def test_a_wrong_command_line_ends_with_2_and_says_why(run, words):
    done = run(*words, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("graphtag: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", ["report", "check", "show"])
def test_a_missing_file_ends_with_3_and_is_named(run, tmp_path, verb):
    done = run(verb, tmp_path / "none.json", code=3)
    assert str(tmp_path / "none.json") in done.stderr
    assert done.stderr.startswith("graphtag: ")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00\x01\x02", b'{"a": 1}', b"\x1f\x8b garbage", b"PK\x03\x04zip"])
def test_a_file_that_is_no_trace_ends_with_3_and_leaves_no_output(run, tmp_path, content):
    trace, out = tmp_path / "t.json", tmp_path / "out.json"
    trace.write_bytes(content)
    done = run("annotate", trace, "-o", out, code=3)
    assert str(trace) in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["t.json"]


def test_a_folder_as_a_trace_ends_with_3(run, tmp_path):
    assert str(tmp_path) in run("report", tmp_path, code=3).stderr


@pytest.mark.parametrize("content", [b"hello", b"\x00\x01\x02", b"no database"])
@pytest.mark.parametrize("verb", ["report", "check", "show"])
def test_a_file_of_no_known_kind_is_told_what_is_needed(run, tmp_path, verb, content):
    path = tmp_path / "report.sqlite"
    path.write_bytes(content)
    said = run(verb, path, code=3).stderr
    assert said.startswith(f"graphtag: {path}: offset 0: ") and "Chrome JSON" in said and "Nsight Systems" in said
    assert ("annotations" in said) == (verb == "show")


@pytest.mark.parametrize("verb", ["report", "check"])
def test_where_the_table_goes_is_looked_at_before_the_trace_is_read(run, trace_files, tmp_path, verb):
    trace, annotations = trace_files("train_step")
    for out, why in ((tmp_path / "no" / "x.tsv", "make the folder first"), (tmp_path, "it is a folder")):
        done = run(verb, trace, "-a", annotations, "-o", out, code=3)
        assert done.stderr.count("\n") == 1 and why in done.stderr
    # A trace that cannot be read leaves what was there.
    (tmp_path / "old.tsv").write_text("old")
    run(verb, tmp_path / "none.json", "-o", tmp_path / "old.tsv", code=3)
    assert [path.name for path in tmp_path.iterdir()] == ["old.tsv"] and (tmp_path / "old.tsv").read_text() == "old"


def test_output_into_a_missing_folder_ends_with_3(run, trace_files, tmp_path):
    trace, annotations = trace_files("two_phases")
    done = run("annotate", trace, "-a", annotations, "-o", tmp_path / "no/such/out.json", code=3)
    assert "out.json" in done.stderr


def test_a_hostile_pickle_is_refused_and_nothing_runs(run, trace_files, tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    bad = tmp_path / "bad.pkl"
    bad.write_bytes(pickle.dumps({1: [Hostile()]}))
    trace, _ = trace_files("two_phases")
    done = run("annotate", trace, "-a", bad, "-o", tmp_path / "out.json", code=3)
    assert "offset" in done.stderr and str(bad) in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["bad.pkl"]


def test_several_traces_go_into_a_folder(run, trace_files, tmp_path):
    first, second = trace_files("all_reduce_rank0")[0], trace_files("all_reduce_rank1")[0]
    run("annotate", first, second, "-a", trace_files("all_reduce_rank0")[1], "--force", "-o", tmp_path / "named")
    assert sorted(os.listdir(tmp_path / "named")) == ["all_reduce_rank0.json.gz", "all_reduce_rank1.json.gz"]
    for name in os.listdir(tmp_path / "named"):
        assert json.loads(gzip.open(tmp_path / "named" / name).read())["cudaGraphInlineAnnotated"] is True


def test_several_traces_need_a_folder(run, trace_files, tmp_path):
    first, second = trace_files("all_reduce_rank0")[0], trace_files("all_reduce_rank1")[0]
    (tmp_path / "file").write_text("mine")
    said = run("annotate", first, second, "-a", trace_files("all_reduce_rank0")[1], "--force", "-o", tmp_path / "file", code=2).stderr
    assert str(tmp_path / "file") in said and "name a folder" in said
    assert (tmp_path / "file").read_text() == "mine"


def ranked_annotations(path, rank, name):
    """An annotation file of one rank, as PyTorch's pickles do not say whose they are."""
    path.write_text(
        json.dumps(
            {
                "schema": "graphtag.annotations/1",
                "producer": {"tool": "test", "rank": rank},
                "annotations": [{"object": {"name": name}}],
                "graphs": [{"id": 2, "runs": [[0, 1]]}],
                "execs": [],
            }
        )
    )


def test_each_file_of_a_folder_goes_to_the_trace_of_its_rank(run, trace_files, tmp_path):
    folder = tmp_path / "annotations"
    folder.mkdir()
    for rank in (0, 1):
        ranked_annotations(folder / f"rank{rank}.json", rank, f"from rank {rank}")
    traces = [trace_files(f"all_reduce_rank{rank}")[0] for rank in (0, 1)]
    done = run("annotate", *traces, "-a", folder, "-o", tmp_path / "named")
    assert "passed over" in done.stderr and "rank1.json" in done.stderr
    for rank in (0, 1):
        events = json.loads(gzip.open(tmp_path / f"named/all_reduce_rank{rank}.json.gz").read())["traceEvents"]
        names = {e["args"].get("name") for e in events if e.get("cat") == "kernel" and e["args"].get("graph id")}
        assert names == {f"from rank {rank}"}


def test_a_named_file_that_fits_no_trace_is_a_usage_error(run, trace_files, tmp_path):
    ranked_annotations(tmp_path / "a.json", 5, "x")
    traces = [trace_files(f"all_reduce_rank{rank}")[0] for rank in (0, 1)]
    for given in (traces[:1], traces):
        done = run("annotate", *given, "-a", tmp_path / "a.json", "-o", f"{tmp_path}/out/", code=2)
        assert "rank 5" in done.stderr and "a.json" in done.stderr
        assert not (tmp_path / "out").exists() or os.listdir(tmp_path / "out") == []
    run("annotate", *traces, "-a", tmp_path / "a.json", "-o", f"{tmp_path}/out/", "--force")


def test_a_named_file_that_fits_one_of_several_traces_is_none(run, trace_files, tmp_path):
    ranked_annotations(tmp_path / "a.json", 1, "x")
    traces = [trace_files(f"all_reduce_rank{rank}")[0] for rank in (0, 1)]
    run("annotate", *traces, "-a", tmp_path / "a.json", "-o", f"{tmp_path}/out/")
    first, second = (json.loads(gzip.open(tmp_path / f"out/all_reduce_rank{rank}.json.gz").read()) for rank in (0, 1))
    assert first["graphtag"]["inputs"] == []
    assert [i["name"] for i in second["graphtag"]["inputs"]] == ["a.json"]


def test_no_match_is_a_warning_that_says_how_to_record(run, trace_files, tmp_path):
    done = run("annotate", trace_files("decode")[0], "-a", trace_files("two_phases")[1], "-o", tmp_path / "out.json")
    assert "warning" in done.stderr and "record" in done.stderr


def test_quiet_prints_nothing(run, trace_files, tmp_path):
    trace, annotations = trace_files("decode")
    done = run("annotate", trace, "-a", annotations, "-o", tmp_path / "out.json", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


def test_a_closed_pipe_is_quiet(graphtag, trace_files):
    trace, annotations = trace_files("decode")
    done = subprocess.run(
        f"'{graphtag}' report '{trace}' -a '{annotations}' --view flat --top all | head -n 1", shell=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("\n") == 1
    assert "rror" not in done.stderr and "ipe" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(graphtag, tmp_path, number):
    trace, out = tmp_path / "t.json", tmp_path / "out.json"
    with open(trace, "wb") as file:
        file.write(b'{"traceEvents": [\n')
        for _ in range(300):  # 300 MB: long enough to be interrupted
            file.write(b'{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1},\n' * 16_000)
    out.write_text("old")
    process = subprocess.Popen([graphtag, "annotate", trace, "-o", out], stderr=subprocess.PIPE)
    while len(os.listdir(tmp_path)) < 3:
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(number)
    assert process.wait(timeout=20) == -number
    process.stderr.close()
    assert sorted(os.listdir(tmp_path)) == ["out.json", "t.json"]
    assert out.read_text() == "old"


def test_a_pipe_as_a_trace_is_refused_with_what_to_do(graphtag, trace_files):
    script = f"exec '{graphtag}' report <(zcat '{trace_files('two_phases')[0]}')"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "write it to a file" in done.stderr


def test_a_full_disk_is_an_error_and_leaves_the_old_file(graphtag, trace_files, tmp_path):
    trace, annotations = trace_files("decode")
    out = tmp_path / "out.json"
    out.write_text("old")
    # A file size limit stands for the full disk; Python ignores SIGXFSZ, and so then does its child.
    script = f"ulimit -f 100; exec '{graphtag}' annotate '{trace}' -a '{annotations}' -o '{out}'"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done
    assert "out.json" in done.stderr
    assert out.read_text() == "old" and os.listdir(tmp_path) == ["out.json"]


def test_report_into_dev_full_is_an_error(graphtag, trace_files):
    with open("/dev/full", "w") as full:
        done = subprocess.run([graphtag, "report", trace_files("two_phases")[0]], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 3
    assert "graphtag: " in done.stderr


def test_standard_streams_may_be_closed(graphtag, trace_files, tmp_path):
    trace, annotations = trace_files("two_phases")
    out = tmp_path / "out.json"
    done = subprocess.run(["bash", "-c", f"exec '{graphtag}' annotate '{trace}' -a '{annotations}' -o '{out}' 0<&- 1>&- 2>&-"], timeout=60)
    assert done.returncode == 0
    json.loads(out.read_text())


def test_the_output_may_be_the_input(run, trace_files, tmp_path):
    trace, annotations = trace_files("two_phases")
    copy = tmp_path / "t.json.gz"
    shutil.copy(trace, copy)
    run("annotate", copy, "-a", annotations, "-o", copy)
    assert json.loads(gzip.open(copy).read())["cudaGraphInlineAnnotated"] is True


@pytest.mark.parametrize("name", ["decode", "train_step", "train_step_cuspy", "all_reduce_rank1"])
def test_show_a_trace(run, trace_files, name):
    trace, _ = trace_files(name)
    events = json.loads(gzip.open(trace).read())["traceEvents"]
    facts = json.loads(run("show", trace, "--json").stdout)
    assert facts["kind"] == "trace"
    assert facts["events"] == len(events)
    assert facts["kernels"] == sum(e.get("cat") == "kernel" for e in events)
    assert facts["memcpys"] == sum(e.get("cat") == "gpu_memcpy" for e in events)
    graphed = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"].get("graph id")]
    assert facts["records_in_graphs"] == len(graphed)
    assert facts["replays"] == len({(e["args"]["graph id"], e["args"]["correlation"]) for e in graphed})
    assert facts["host"] == "vm"
    assert facts["problems"] == []
    text = run("show", trace).stdout
    assert f"{len(events)}" in text and "exec_graphs" in text


@pytest.mark.parametrize("name", ["decode", "two_phases", "lanes"])
def test_show_an_annotation_file(run, trace_files, name):
    _, annotations = trace_files(name)
    known = pickle.loads(annotations.read_bytes())
    facts = json.loads(run("show", annotations, "--json").stdout)
    assert facts["kind"] == "annotation file"
    assert facts["graphs"] == len({node >> 32 for node in known})
    merged = {json.dumps({k: v for d in entries for k, v in d.items()}, sort_keys=True) for entries in known.values()}
    assert facts["distinct_annotations"] == len(merged)
    assert set(facts["keys"]) == {key for entries in known.values() for d in entries for key in d}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(run, shell, tmp_path):
    script = run("completion", shell).stdout
    if shutil.which(shell):
        path = tmp_path / "completion"
        path.write_text(script)
        subprocess.run([shell, "-n", path], check=True)
    assert "annotate" in script


def test_bash_completion_completes(run, tmp_path):
    path = tmp_path / "completion"
    path.write_text(run("completion", "bash").stdout)

    def complete(*words):
        script = f'source "{path}"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _graphtag; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True).stdout.split()

    assert complete("graphtag", "ann") == ["annotate"]
    assert set(complete("graphtag", "annotate", "--lanes", "")) == {"none", "all"}
    assert "--skip-replays" in complete("graphtag", "report", "--s")
    assert set(complete("graphtag", "completion", "")) >= {"bash", "zsh", "fish"}


ESCAPES = "\x1b]0;owned\x07\x1b[31mred\n\u009b2J\u202e"


def is_harmless(text):
    return not any(ord(c) < 0x20 and c != "\n" or 0x7F <= ord(c) <= 0x9F or ord(c) == 0x202E for c in text)


def hostile_annotations(folder):
    path = folder / "a.json"
    path.write_text(json.dumps({"schema": "graphtag.annotations/1", "producer": {"tool": "t", "host": ESCAPES},
                                "annotations": [{"object": {"name": "x", ESCAPES: 1}}], "graphs": [{"id": 2, "label": ESCAPES, "runs": [[0, 1]]}], "execs": []}))
    return path


def test_show_prints_no_control_characters_of_a_file(run, tmp_path):
    path = hostile_annotations(tmp_path)
    shown = run("show", path).stdout
    assert is_harmless(shown) and shown.count(r"\u{1b}]0;owned\u{7}\u{1b}[31mred\n\u{9b}2J\u{202e}") == 3, "host, key and label"
    assert shown.count("\n") == len(json.loads(run("show", path, "--json").stdout))
    trace = tmp_path / "t.json"
    trace.write_text('{"traceEvents": [\n{"ph": "X", "name": "a\x1b[31mb\x01", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {"x": "\x1b[2J" \x07}}\n]}')
    assert is_harmless(run("show", trace).stdout)
    run("annotate", trace, "-o", tmp_path / "out.json")
    assert is_harmless(run("annotate", trace, "-o", tmp_path / "out.json").stderr)


def test_messages_hold_no_control_characters_of_files_and_names(run, trace_files, tmp_path):
    trace = trace_files("all_reduce_rank0")[0]
    name = tmp_path / f"no{ESCAPES}"
    wrong = [("report", name), ("check", trace, "-a", name), ("show", name), ("annotate", name, "-o", tmp_path / "o.json"), ("run", "--", f"{name}"), ("report", trace, "-o", f"{name}/x")]
    for words in wrong:
        assert is_harmless(said := run(*words, code=127 if words[0] == "run" else 3).stderr) and said.count("\n") == 1 and "owned" in said
    for words in ((f"verb{ESCAPES}",), ("run", f"-{ESCAPES}", "--", "true"), ("report", trace, ESCAPES), ("report", trace, f"--{ESCAPES}"), ("report", trace, "--kind", ESCAPES),
                  ("report", trace, "--include", f"({ESCAPES}"), ("report", trace, "--sort", ESCAPES), ("annotate", trace, "-a", hostile_annotations(tmp_path), "-o", tmp_path / "o.json")):
        assert is_harmless(said := run(*words, code=2).stderr) and said.count("\n") == 1 and "owned" in said
    copy = tmp_path / f"copy{ESCAPES}.json.gz"
    shutil.copy(trace, copy)
    for words in (("report", copy), ("check", copy), ("annotate", copy, "-o", tmp_path / f"n{ESCAPES}.json")):
        assert is_harmless(run(*words).stderr)
    (tmp_path / "résumé.json").write_text("")
    assert "résumé.json" in run("show", tmp_path / "résumé.json", code=3).stderr


@pytest.mark.parametrize("verb", ["annotate", "report", "check"])
def test_an_annotation_file_where_a_trace_is_needed(run, trace_files, tmp_path, verb):
    trace, pickled = trace_files("all_reduce_rank0")
    ours = tmp_path / "a.json"
    ranked_annotations(ours, 0, "x")
    theirs = tmp_path / "torch.json"
    theirs.write_text(json.dumps({"8589934592": [{"name": "x"}]}))
    out = ["-o", tmp_path / "out.json"] if verb == "annotate" else []
    for annotations in (pickled, ours, theirs):
        # As a shell writes -a *.json
        said = [run(verb, annotations, *out, code=2), run(verb, trace, "-a", pickled, annotations, *out, code=2), run(verb, "-a", pickled, annotations, trace, *out, code=2)]
        assert all("its own -a" in done.stderr and "folder" in done.stderr and done.stderr.count("\n") == 1 for done in said)
    assert not (tmp_path / "out.json").exists()
    said = run(verb, tmp_path / "none.json", tmp_path / "none2.json", *out, code=3 if verb == "annotate" else 2).stderr
    assert "its own -a" not in said
    text = run(verb, "--help").stdout
    assert "--annotations FILE " in text and "FILE ..." not in text.split("Options:")[1]
    # A trace that only speaks of annotation files.
    trace = tmp_path / "t.json"
    trace.write_text('{"traceEvents": [{"ph": "X", "name": "graphtag.annotations/1", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}')
    run(verb, trace, *out)


def test_a_folder_of_annotation_files_as_graphtag_auto_leaves_them(run, trace_files, tmp_path, source_dir):
    trace, annotations = trace_files("two_phases")
    shutil.copy(trace, tmp_path / "trace.json.gz")
    for process in (1, 2):
        shutil.copy(annotations, tmp_path / f"graphtag.{process}.annotations.json")
    command = next(line for line in (source_dir / "docs/pytorch.md").read_text().splitlines() if line.startswith("graphtag annotate trace.json.gz -a . "))
    assert "named 18 of 21 graphed records" in run(*command.split()[1:], cwd=tmp_path).stderr


@pytest.mark.parametrize("name", ["x.pkl", "x.json"])
@pytest.mark.parametrize("content", ["", " \n\t \n", "\ufeff"])
def test_show_of_an_empty_file(run, tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert run("show", tmp_path / name, code=3).stderr == f"graphtag: {tmp_path / name}: the file is empty\n"


@pytest.mark.parametrize("which", [0, 1])
def test_show_of_a_pipe_says_what_to_do(graphtag, trace_files, which):
    done = subprocess.run([graphtag, "show", "/dev/stdin"], input=trace_files("two_phases")[which].read_bytes(), capture_output=True, timeout=60)
    assert done.returncode == 2 and b"cannot be read twice" in done.stderr and b"write it to a file" in done.stderr


@pytest.mark.parametrize("words", [["report", "--kind", "kernel", "--kind", "kernel"], ["report", "--depth", "1", "--depth", "2"], ["check", "--min-time", "0", "--min-time", "1"], ["report", "-o", "a", "-o", "b"],
                                   ["show", "--process", "1", "--process", "1"], ["annotate", "-o", "a.json", "--out", "b.json"], ["run", "--max-size", "1M", "--max-size", "2M"], ["report", "--top", "1", "--top", "all"]])
def test_an_option_that_takes_one_value(run, words):
    verb, *options = words
    name = "--out" if "-o" in options else options[0]
    behind = ["--", "true"] if verb == "run" else ["t.json"]
    assert run(verb, *options, *behind, code=2).stderr.startswith(f"graphtag: {name} is given 2 times, and takes one value; ")
    given = options[0]
    assert run(verb, *([] if verb == "run" else behind), given, code=2).stderr.startswith(f"graphtag: {name} needs a value: ")


def test_options_that_may_repeat(run, trace_files):
    trace, annotations = trace_files("decode")
    run("report", trace, "-a", annotations, "-a", annotations, "--where", "bs=8", "--where", "phase=decode", "--by", "bs", "--by", "phase", "-q", "-q")


def test_an_empty_name_is_a_usage_error(run, trace_files, tmp_path):
    trace, annotations = trace_files("decode")
    for words in (["report", ""], ["check", ""], ["show", ""], ["annotate", "", "-o", "x.json"], ["report", trace, "-a", ""], ["report", trace, "-o", ""], ["annotate", trace, "-o", ""],
                  ["annotate", trace, "", "-a", annotations, "-o", "x"], ["run", "-o", "", "--", "true"]):
        said = run(*words, code=2, cwd=tmp_path).stderr
        assert "'' is no name" in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["report", "check"])
def test_the_columns_that_a_wrong_one_is_told_are_each_another(run, trace_files, verb):
    trace, annotations = trace_files("decode")
    said = run(verb, trace, "-a", annotations, "--sort", "foo", code=2).stderr
    names = said.strip().split("choose of ")[1].split(", ")
    header = run(verb, trace, "-a", annotations, "--format", "tsv", "--columns", ",".join(names), "-q").stdout.splitlines()[0].split("\t")
    assert len(header) == len(set(header)) == len(names) == len(set(names))
    for name in names:
        run(verb, trace, "-a", annotations, "--sort", name, "-q")
