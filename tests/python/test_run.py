"""`graphtag run` over programs that use a false CUDA (tests/inject/cuda_program.cpp), as a user starts it."""
import glob
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from recording_file import RecordingFile
from run_programs import BUILD, DECODE, FAKE, HOST, PROGRAMS, environment, only, record, start  # noqa: F401 - record is a fixture



@pytest.mark.parametrize("program", PROGRAMS)
def test_replayed_kernels_have_the_ranges_of_the_capture(record, program):
    done = record(*DECODE, "push:sampling", "eager:2", "pop", "eager:1", program=program)
    assert len(done.traces) == 1
    pid = done.traces[0].name.split(".")[-2]
    assert done.traces[0].name == f"graphtag.{HOST}.{pid}.pftrace"
    trace = RecordingFile(done.traces[0])
    assert trace.regions() == {("decode.attention", True): 6, ("sampling", False): 2, (None, False): 1}
    assert "warning" not in done.stderr
    assert "9 kernels" in done.stderr and "named 6 of 6 graphed records (100.0 %)" in done.stderr and "2 of 3 outside graphs" in done.stderr
    assert "0 dropped" in done.stderr and str(done.traces[0]) in done.stderr
    annotations = json.loads(Path(str(done.traces[0]).replace(".pftrace", ".annotations.json")).read_text())
    assert annotations["schema"] == "graphtag.annotations/1" and annotations["producer"]["pid"] == int(pid)


def test_the_other_verbs_read_what_was_recorded(record, run):
    trace = record(*DECODE, "push:sampling", "eager:2", "pop").traces[0]
    rows = json.loads(run("report", trace, "--format", "json", "--view", "flat").stdout)["rows"]
    assert {row["region"]: row["calls"] for row in rows if row["region"] == "decode.attention"} == {"decode.attention": 2}
    assert "sampling" in {row["region"] for row in rows}
    assert json.loads(run("show", trace, "--json").stdout)["kernels"] == 8
    run("check", trace, "--min-time", "1")


def test_where_no_range_was_open_check_says_so(record, run):
    trace = record("cuda", "graph:3", "replay:2").traces[0]
    beside = str(trace).replace(".pftrace", ".annotations.json")
    for annotations in ([], ["-a", beside]):
        answer = json.loads(run("check", trace, *annotations, "--format", "json").stdout)
        assert answer["rows"][0]["unnamed"] == {"outside-scope": 6}
        assert [warning["code"] for warning in answer["warnings"]] == ["nothing-named"]


def test_ranges_are_drawn_on_the_hosts_tracks(record):
    done = record("push:early", "cuda", "push:decode", "graph:1", "pop", "start:request", "push:replay", "replay:1", "pop", "end", "mark:token", "pop", "push:open")
    ranges = only(done.traces).of("nvtx")
    assert [event.name for event in ranges if event.end > event.start or event.name != "token"].count("replay") == 1
    assert {event.name for event in ranges} == {"early", "decode", "request", "replay", "token", "open"}
    by_name = {event.name: event for event in ranges}
    assert by_name["request"].tracks[0] == "ranges that overlap"
    assert by_name["open"].args.get("unfinished") is True
    assert by_name["early"].start <= by_name["decode"].start <= by_name["decode"].end <= by_name["early"].end


def test_ranges_that_began_before_cuda_name_nodes(record):
    trace = only(record("push:main", "push:capture", "cuda", "graph:2", "pop", "pop", "replay:1").traces)
    assert trace.regions() == {("main.capture", True): 2}


def test_a_range_around_a_replay_does_not_name_its_kernels(record):
    trace = only(record("cuda", "graph:2", "push:step", "replay:1", "pop").traces)
    assert trace.regions() == {(None, True): 2}


@pytest.mark.parametrize("ending, code", [("exit:7", 7), ("_exit:3", 3), ("kill:9", 137), ("kill:15", 143), ("kill:11", 139)])
def test_the_exit_status_is_the_programs(record, ending, code):
    done = record(*DECODE, ending, code=code)
    assert len(done.traces) == 1
    if not ending.startswith("exit"):
        assert "was killed, or left by _exit" in done.stderr
        assert RecordingFile(done.traces[0]).rest == 0


def test_a_killed_program_leaves_what_it_had_written(record):
    done = record(*DECODE, "sleep:2500", "replay:1", "kill:9", code=137)
    trace = only(done.traces)
    assert trace.regions().get(("decode.attention", True), 0) >= 6, "what was a second old"
    annotations = json.loads(Path(str(done.traces[0]).replace(".pftrace", ".annotations.json")).read_text())
    assert annotations["graphs"]


def test_a_killed_program_has_told_of_its_last_exec_graph(record):
    done = record("cuda", "push:decode", "capture:3", "pop", "sleep:2000", "instantiate", "sleep:7500", "kill:9", code=137)
    annotations = json.loads(Path(str(done.traces[0]).replace(".pftrace", ".annotations.json")).read_text())
    assert len(annotations["execs"]) == 1, "behind the nodes, which had been written before"


def test_a_program_that_is_not_there_or_cannot_be_executed(record, tmp_path):
    assert "no such program" in record(command=["no-such-program"], code=127).stderr
    plain = tmp_path / "plain"
    plain.write_text("text")
    assert "cannot be executed" in record(command=[plain], code=126).stderr
    bad = tmp_path / "bad"
    bad.write_text("#!/no/such/interpreter\n")
    bad.chmod(0o755)
    record(command=[bad], code=127)


def test_a_program_without_cuda(record, tmp_path):
    done = record("push:a", "pop", "exit:4", code=4)
    assert not done.traces and "no CUDA work was seen" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []
    assert record(command=["sh", "-c", "echo $1 ; exit 6", "sh", "text"], code=6).stdout == "text\n"


def test_a_program_without_nvtx(record):
    done = record("cuda", "graph:2", "replay:1", "eager:1")
    assert only(done.traces).regions() == {(None, True): 2, (None, False): 1}
    assert "no NVTX was seen" in done.stderr


def test_a_statically_linked_program(record):
    done = record(program="static_program", code=5)
    assert done.stdout == "done\n" and "statically linked" in done.stderr and not done.traces


def test_a_program_with_an_injection_library_of_its_own(record, tmp_path):
    other = {"CUDA_INJECTION64_PATH": str(FAKE / "libother_tool.so"), "NVTX_INJECTION64_PATH": str(FAKE / "libother_tool.so"),
             "OTHER_TOOL_LOG": str(tmp_path / "log")}
    done = record(*DECODE, "start:a", "end", env=other)
    assert only(done.traces).regions() == {("decode.attention", True): 6}
    assert (tmp_path / "log").read_text() == "cuda\nnvtx\npush_a decode\npush_a attention\npop\npop\nstart_a a\nend 1001\n"


def test_an_injection_library_that_cannot_be_loaded(record):
    done = record(*DECODE, env={"NVTX_INJECTION64_PATH": "/no/such/library.so"})
    assert only(done.traces).regions() == {("decode.attention", True): 6}
    assert "could not be loaded" in done.stderr


def test_a_run_within_a_run(record, graphtag, tmp_path):
    done = record(command=[graphtag, "run", "-q", "-o", tmp_path / "inner", "--", FAKE / "cuda_program", *DECODE])
    assert not done.traces
    assert only(list((tmp_path / "inner").glob("*.pftrace"))).regions() == {("decode.attention", True): 6}


def test_a_program_that_executes_itself_anew(record):
    done = record("push:first", *DECODE, "exec", "push:second", *DECODE)
    assert len(done.traces) == 2, "the second image has the same process id"
    assert done.traces[0].name.replace(".pftrace", "") in done.traces[1].name or done.traces[1].name.replace(".pftrace", "") in done.traces[0].name
    regions = [RecordingFile(trace).regions() for trace in done.traces]
    assert {("second.decode.attention", True): 6} in regions
    # A launcher that uses no CUDA itself.
    assert only(record(command=["sh", "-c", f"exec {FAKE}/cuda_program {' '.join(DECODE)}"]).traces[-1:]).regions()


def test_children_have_files_of_their_own(record):
    done = record(command=["sh", "-c", f"{FAKE}/cuda_program {' '.join(DECODE)} & {FAKE}/cuda_program {' '.join(DECODE)}; wait"])
    assert len(done.traces) == 2
    for trace in done.traces:
        assert RecordingFile(trace).regions() == {("decode.attention", True): 6}
        assert str(trace) in done.stderr


def test_a_child_of_fork_before_cuda(record):
    assert only(record("push:main", "fork", *DECODE).traces).regions() == {("main.decode.attention", True): 6}


def test_a_child_of_fork_after_cuda_harms_nothing(record):
    done = record(*DECODE, "sleep:1500", "fork", "push:child", "pop", "exit:5", code=5)
    assert only(done.traces).regions() == {("decode.attention", True): 6}


def test_work_of_another_thread(record):
    trace = only(record("push:main", "cuda", "thread", "push:worker", "graph:2", "pop", "replay:1", "push:eager", "eager:1", "pop").traces)
    assert trace.regions() == {("worker", True): 2, ("eager", False): 1}


def test_ranks_are_in_the_names(record):
    done = record(*DECODE, env={"RANK": "3"})
    assert ".rank3." in done.traces[0].name


def test_out_is_a_file(graphtag, tmp_path):
    def run(*words):
        command = [graphtag, "run", "-q", "-o", tmp_path / "x/app.pftrace", "--", *words]
        return subprocess.run(list(map(str, command)), check=True, timeout=60, env=environment(), cwd=tmp_path)

    run(FAKE / "cuda_program", *DECODE)
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == ["app.annotations.json", "app.pftrace"]
    run("sh", "-c", f"{FAKE}/cuda_program {' '.join(DECODE)}; {FAKE}/cuda_program {' '.join(DECODE)}")
    names = sorted(path.name for path in (tmp_path / "x").glob("*.pftrace"))
    assert len(names) == 2 and "app.pftrace" in names and any(name.startswith(f"app.{HOST}.") for name in names)


def test_nothing_of_an_earlier_run_stays_beside_a_file_that_is_named(graphtag, tmp_path):
    def run(*words):
        command = [graphtag, "run", "-q", "-o", tmp_path / "x/app.pftrace", "--", *words]
        subprocess.run(list(map(str, command)), check=True, timeout=60, env=environment(), cwd=tmp_path)
        return sorted(path.name for path in (tmp_path / "x").iterdir())

    assert run(FAKE / "cuda_program", *DECODE) == ["app.annotations.json", "app.pftrace"]
    (tmp_path / "x/app2.annotations.json").write_text("another's")
    assert run("true") == ["app2.annotations.json"], "where this run records nothing"


def test_out_is_where_you_are_if_not_said(graphtag, tmp_path):
    subprocess.run([graphtag, "run", "-q", "--", FAKE / "cuda_program", *DECODE], check=True, timeout=60, env=environment(), cwd=tmp_path)
    assert len(list(tmp_path.glob("graphtag.*.pftrace"))) == 1


def test_out_that_cannot_be_made(graphtag, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run([graphtag, "run", "-o", tmp_path / "file/folder", "--", "true"], capture_output=True, text=True, env=environment())
    assert done.returncode == 3 and "file/folder" in done.stderr


def test_each_option_is_in_the_help_and_in_the_documentation(run, source_dir):
    text = run("run", "--help").stdout
    documented = (source_dir / "docs/run.md").read_text()
    for option in ("-o", "--delay", "--duration", "--start-on", "--no-api", "--max-size", "--buffers", "--nvtx-domains", "--no-guard"):
        assert option in text and f"`{option}" in documented, option


def test_quiet_says_warnings_alone(record):
    assert record(*DECODE, options=["-q"]).stderr == ""


# --- when it records


def test_delay(record):
    done = record(*DECODE, "sleep:1200", "replay:3", options=["--delay", "0.6"])
    assert only(done.traces).regions() == {("decode.attention", True): 9}, "the graph was captured before, and has its names"
    assert "9 kernels" in done.stderr and "warning" not in done.stderr


@pytest.mark.parametrize("out", ["file", "file/", "file/app.pftrace"])
def test_a_file_where_a_folder_is_needed(run, tmp_path, out):
    (tmp_path / "file").write_text("mine")
    said = run("run", "-o", f"{tmp_path}/{out}", "--", "true", code=3).stderr
    assert str(tmp_path / "file") in said and "-o takes a folder, or a file that ends with .pftrace" in said
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["app.json", "app.json.gz", "app.pftrace.gz"])
def test_a_trace_that_a_recording_cannot_be(run, tmp_path, name):
    said = run("run", "-o", tmp_path / name, "--", "touch", tmp_path / "ran", code=2).stderr
    assert str(tmp_path / name) in said and ".pftrace" in said and "a folder" in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())
    # A folder that is meant as one.
    run("run", "-o", f"{tmp_path / name}/", "--", "true")
    run("run", "-o", tmp_path / name, "--", "true")
    assert (tmp_path / name).is_dir()


def test_a_delay_that_is_longer_than_the_program(record):
    done = record(*DECODE, options=["--delay", "1h"])
    assert "recording never began" in done.stderr and not done.traces


def test_duration(graphtag, tmp_path):
    process, ready = start(graphtag, tmp_path, *DECODE, "sleep:1500", "replay:5", "pause", options=["--duration", "700ms"])
    assert ready[0] == "ready"
    deadline = time.time() + 20
    while not list((tmp_path / "out").glob("*.annotations.json")) and time.time() < deadline:
        time.sleep(0.05)
    trace = only(list((tmp_path / "out").glob("*.pftrace")))
    assert trace.regions() == {("decode.attention", True): 6}
    assert any(event.name == "graphtag.end" for event in trace.events)
    assert process.poll() is None, "the program goes on"
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert "--duration gives is over; the program goes on" in stderr and "6 kernels" in stderr


def test_start_on(record):
    words = ["cuda", "push:warm", "graph:2", "replay:1", "pop", "push:go", "replay:2", "pop", "push:go", "replay:3", "pop"]
    assert only(record(*words, options=["--start-on", "nvtx:go"]).traces).regions() == {("warm", True): 10}
    done = record(*words, options=["--start-on", "nvtx:never"])
    assert "recording never began" in done.stderr


def test_start_on_a_range_before_cuda(record):
    assert only(record("push:go", *DECODE, options=["--start-on", "nvtx:go"]).traces).regions() == {("go.decode.attention", True): 6}


# --- what it records


def test_no_api(record):
    done = record(*DECODE, "push:x", "eager:1", "pop", options=["--no-api"])
    trace = only(done.traces)
    assert trace.of("cuda_runtime") == [] and ", 0 API calls" in done.stderr
    assert trace.regions() == {("decode.attention", True): 6, (None, False): 1}


def test_domains(record):
    trace = only(record(*DECODE, options=["--nvtx-domains", "NCCL"]).traces)
    assert trace.regions() == {(None, True): 6} and trace.of("nvtx") == []
    assert only(record(*DECODE, options=["--nvtx-domains", "NCCL,default"]).traces[-1:]).regions()


def test_tiny_buffers_drop_and_say_so(record):
    done = record("cuda", "graph:100", "replay:200", options=["--buffers", "2x4K"])
    trace = only(done.traces)
    kept = sum(trace.regions().values())
    ended = next(event for event in trace.events if event.name == "graphtag.end")
    calls = len(trace.of("cuda_runtime"))
    assert kept + calls + ended.args["dropped_by_cupti"] >= 20_200, "each is there, or counted"
    assert kept < 20_000 and "dropped by CUPTI" in done.stderr


def test_max_size_keeps_the_newest(record):
    words = ["cuda", "push:a", "graph:1000", "pop"] + ["replay:10", "sleep:300"] * 10
    done = record(*words, options=["--max-size", "1M"])
    assert len(done.traces) > 1 and sum(trace.stat().st_size for trace in done.traces) < 2 << 20
    assert all(".pftrace" in trace.name and trace.name.split(".")[-2].isdigit() for trace in done.traces)
    assert "segments were deleted" in done.stderr
    named = {line.split(": ")[-2] for line in done.stderr.splitlines() if ".pftrace" in line}
    assert len(named) == 1 and sorted(glob.glob(named.pop())) == list(map(str, done.traces)), "the names of what is there"


def test_max_size_of_one_file_that_is_named(graphtag, tmp_path):
    command = [graphtag, "run", "-o", tmp_path / "ms.pftrace", "--max-size", "1M", "--", FAKE / "cuda_program", *DECODE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    assert f"{tmp_path}/ms.*.pftrace: 6 kernels" in done.stderr and f"{tmp_path}/ms.pftrace" not in done.stderr
    assert [path.name for path in tmp_path.glob("*.pftrace")] == ["ms.1.pftrace"]


RING = ["cuda", "push:a", "graph:200", "pop", "replay:400"]  # more than 1 MiB, in one second


def test_every_file_of_a_ring_can_be_read(record, run):
    """Also the last one, whatever the write that ended the recording has filled."""
    for _ in range(5):
        traces = record(*RING, options=["--max-size", "1M"]).traces
        assert all(trace.stat().st_size for trace in traces)
        for trace in traces:
            run("report", trace)
            trace.unlink()


def test_a_ring_replaces_that_of_an_earlier_run(record, tmp_path):
    ring = {"out": "out/ring.pftrace", "options": ["--max-size", "1M"]}
    kept = tmp_path / "out" / "ring.other.7.pftrace"
    first = record(*RING, **ring)
    assert "ring.1.pftrace" not in {trace.name for trace in first.traces}
    kept.write_text("of another process")
    second = record(*DECODE, **ring)
    assert [trace.name for trace in second.traces] == ["ring.1.pftrace", kept.name]
    assert record("push:a", "pop", **ring).traces == [kept], "nobody shall take it for this run's"


@pytest.mark.parametrize("out", ["out", "out/ring.pftrace"])
def test_the_ring_of_an_image_before_an_exec_stays(record, out):
    """Its first segment, which stands for the name, is long deleted then."""
    done = record(*RING, "sleep:1500", "exec", *DECODE, out=out, options=["--max-size", "1M"])
    regions = [RecordingFile(trace).regions() for trace in done.traces]
    assert any(("a", True) in found for found in regions) and {("decode.attention", True): 6} in regions


# --- signals


def test_nothing_is_left_in_memory(record):
    before = set(Path("/dev/shm").glob("graphtag-run-*")) if Path("/dev/shm").exists() else set()
    record(*DECODE)
    after = set(Path("/dev/shm").glob("graphtag-run-*")) if Path("/dev/shm").exists() else set()
    assert after <= before


def test_the_gpu_tests_reader_agrees_with_the_official_schema(record, source_dir, monkeypatch):
    monkeypatch.syspath_prepend(str(source_dir / "tests/gpu/inject"))
    import pftrace

    path = record(*DECODE, "push:x", "eager:2", "mark:m", "pop").traces[0]
    official, own = RecordingFile(path), pftrace.Trace(path)
    assert [(one.name, one.category, one.start, one.end, one.args) for one in own.slices] == [
        (one.name, one.category, one.start, one.end, one.args) for one in official.events
    ]
    assert own.rest == 0 and own.ended()["kernels"] == 8
    light = pftrace.Trace(path, light=True)
    assert light.counts["kernel"] == own.counts["kernel"] == 8 and light.counts["nvtx"] == 3 and light.ended() == own.ended()
    truth = {"1": {"region": "decode.attention", "graph": True, "launches": 6}}
    assert pftrace.compare(own, truth, "graphed", say=lambda _: None)
    assert not pftrace.compare(own, {"1": {**truth["1"], "region": "decode"}}, "graphed", say=lambda _: None), "a wrong name"
    assert not pftrace.compare(own, {"1": {**truth["1"], "launches": 7}}, "graphed", say=lambda _: None), "a record that is missing"


def test_the_library_alone_records_without_the_command(tmp_path):
    library = str(BUILD / "libgraphtag_inject.so")
    env = environment(CUDA_INJECTION64_PATH=library, NVTX_INJECTION64_PATH=library, GRAPHTAG_RUN_OUT=str(tmp_path))
    subprocess.run([FAKE / "cuda_program", *DECODE], check=True, timeout=60, env=env)
    assert only(list(tmp_path.glob("*.pftrace"))).regions() == {("decode.attention", True): 6}
    # Of the folder in which it began.
    env["GRAPHTAG_RUN_OUT"] = "relative.pftrace"
    (tmp_path / "began/elsewhere").mkdir(parents=True)
    program = [FAKE / "cuda_program", *DECODE, "chdir:elsewhere", "sleep:2500"]  # enough to write annotations meanwhile
    subprocess.run(program, check=True, timeout=60, env=env, cwd=tmp_path / "began")
    assert {path.name for path in (tmp_path / "began").glob("relative.*")} == {"relative.pftrace", "relative.annotations.json"}
    assert not list((tmp_path / "began/elsewhere").iterdir())
    # Nothing that is there is written over.
    env["GRAPHTAG_RUN_OUT"] = str(tmp_path / "file/app.pftrace")
    (tmp_path / "file").mkdir()
    for _ in range(2):
        subprocess.run([FAKE / "cuda_program", *DECODE], check=True, timeout=60, env=env)
    traces = sorted((tmp_path / "file").glob("*.pftrace"))
    assert len(traces) == 2 and all(RecordingFile(trace).regions() == {("decode.attention", True): 6} for trace in traces)
