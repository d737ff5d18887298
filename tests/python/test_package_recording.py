"""The package `graphtag` over a false CUDA, without torch: scopes, windows, answers, files."""
import asyncio
import json
import os
import pickle
import subprocess
import sys
import threading

import fake_cuda
import pytest

import graphtag


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    assert not graphtag._ext.active(), "a window stayed open"
    assert not fake_cuda.call("has_subscriber"), "a subscription stayed"
    graphtag.forget()


def capture(body):
    """Captures body() within a window; {tag: node id} of a replay."""
    stream = fake_cuda.Stream()
    graph = fake_cuda.CUDAGraph()
    with graphtag.window(), fake_cuda.stream(stream):
        graph.capture_begin()
        body()
        graph.capture_end()
    kept.append(graph)
    return graph.records()


kept = []


def test_scopes_name_nodes_by_program_order():
    tags = {}

    def body():
        tags["none"] = fake_cuda.launch()
        with graphtag.scope("decoder", layer=3):
            tags["outer"] = fake_cuda.launch()
            with graphtag.scope({"name": "mlp", "bs": 8}):
                tags["inner"] = fake_cuda.launch()

    ids = capture(body)
    assert graphtag.resolve(ids[tags["inner"]]) == ({"name": "mlp", "bs": 8, "layer": 3}, ("decoder", "mlp"), "callback")
    assert graphtag.resolve(ids[tags["outer"]]).annotation == {"name": "decoder", "layer": 3}
    assert graphtag.resolve(ids[tags["none"]]) == (None, (), "outside-scope")
    assert graphtag.resolve(1 << 60).origin == "unknown-graph"
    assert graphtag.annotations()[ids[tags["inner"]]] == {"name": "mlp", "bs": 8, "layer": 3}
    assert ids[tags["none"]] not in graphtag.annotations()


def test_a_scope_decorates_and_can_be_used_again():
    @graphtag.scope("decorated")
    def work(a, *, b):
        """Doc."""
        return a + b, fake_cuda.launch()

    again, tags = graphtag.scope("again"), {}
    assert work.__doc__ == "Doc." and again.annotation == "again"

    def body():
        total, tags["decorated"] = work(1, b=2)
        assert total == 3
        with again:
            with again:
                pass
            tags["again"] = fake_cuda.launch()

    ids = capture(body)
    assert graphtag.resolve(ids[tags["decorated"]]).annotation == {"name": "decorated"}
    assert graphtag.resolve(ids[tags["again"]]).annotation == {"name": "again"}


def test_one_scope_object_on_two_threads():
    shared, inside, leave = graphtag.scope("shared"), threading.Event(), threading.Event()

    def other():
        with shared:
            inside.set()
            leave.wait(10)

    with graphtag.window():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10)
        with shared:
            pass
        assert graphtag._ext.scope_current() == 0, "this thread's is closed, not the other's"
        leave.set()
        thread.join()


@pytest.mark.parametrize("arguments", [(), (1,), (None,), ("a", "b"), (b"a",)])
def test_what_is_no_annotation(arguments):
    with pytest.raises(TypeError, match="scope"):
        graphtag.scope(*arguments)


def test_values_without_a_json_form():
    with graphtag.window():
        with pytest.raises(TypeError, match="not JSON serializable"):
            graphtag.scope({"name": object()}).__enter__()
        with pytest.raises(ValueError):
            graphtag.scope({"name": float("nan")}).__enter__()
        with pytest.raises(graphtag.InvalidError):
            graphtag.scope("").__enter__()
    assert graphtag.scope({"name": object()}).__enter__() is not None, "nothing is looked at while nothing is recorded"


def test_generators_and_coroutines_are_refused():
    async def coroutine():
        await asyncio.sleep(0)

    def generator():
        yield

    for function in (coroutine, generator):
        with pytest.raises(TypeError, match="program order"):
            graphtag.scope("a")(function)
    with pytest.raises(TypeError, match="decorates a function"):
        graphtag.scope("a")(3)


def test_a_scope_does_not_swallow_exceptions():
    with graphtag.window(), pytest.raises(ZeroDivisionError):
        with graphtag.scope("a"):
            raise ZeroDivisionError
    assert graphtag._ext.scope_current() == 0


def test_windows():
    window = graphtag.window("callbacks")
    assert not window.is_open
    with window:
        assert window.observer == "callbacks"
        window.add_stream(fake_cuda.Stream().cuda_stream)
        with pytest.raises(RuntimeError, match="open already"):
            window.open()
    with pytest.raises(RuntimeError, match="not open"):
        window.observer  # noqa: B018
    window.close()
    with pytest.raises(ValueError, match="'auto', 'callbacks', 'boundary'"):
        graphtag.window("cupti")
    assert fake_cuda.call("take_subscription")
    try:
        with pytest.raises(graphtag.BusyError) as raised:
            graphtag.window("callbacks").open()
        assert raised.value.status == 5 and isinstance(raised.value, RuntimeError) and str(raised.value)
        with graphtag.window() as fallen_back:
            assert fallen_back.observer == "boundary"
    finally:
        fake_cuda.call("release_subscription")


def test_a_snapshot_is_read_back(tmp_path):
    tags = {}

    def body():
        with graphtag.scope("a"):
            tags["a"] = [fake_cuda.launch(), fake_cuda.launch()]
        tags["none"] = fake_cuda.launch()

    ids = capture(body)
    graphtag.snapshot(tmp_path / "a.json")
    file = graphtag.load(tmp_path / "a.json")
    assert file.format == "graphtag.annotations/1" and file.document["producer"]["pid"] == os.getpid()
    assert {ids[tag] for tag in tags["a"]} <= set(file) and ids[tags["none"]] not in file
    assert all(file[node_id] == {"name": "a"} for node_id in file)
    with pytest.raises(graphtag.FileError, match="nowhere"):
        graphtag.snapshot(tmp_path / "nowhere" / "a.json")


def test_load_reads_torchs_files(tmp_path):
    expected = {(7 << 32) | 1: {"name": "a"}, (7 << 32) | 2: {"name": "b", "bs": 8}}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({node_id: [value] for node_id, value in expected.items()}))
    file = graphtag.load(tmp_path / "a.pkl")
    assert dict(file) == expected and len(file) == 2 and file.format == "torch pickle"
    (tmp_path / "bad.json").write_text('{"schema": "graphtag.annotations/1", "graphs": 3}')
    with pytest.raises(graphtag.InvalidError, match="bad.json"):
        graphtag.load(tmp_path / "bad.json")
    with pytest.raises(graphtag.FileError, match="absent"):
        graphtag.load(tmp_path / "absent")


def test_load_resolves_as_the_format_says():
    """The example of docs/annotation-file.md, id by id."""
    file = graphtag.load(fake_cuda.Path(__file__).parents[2] / "examples/annotations/serving.json")
    table = [entry["object"] for entry in file.document["annotations"]]
    attention, mlp = table[0], table[1]
    assert file[4 << 32 | 3] == attention and file[4 << 32 | 11] == mlp
    assert file[4 << 32 | 9] == table[2] and file[5 << 32 | 9] == table[3]
    for absent in (4 << 32 | 12, 4 << 32 | 4, 99 << 32):
        assert absent not in file
    assert set(file) >= {4 << 32 | 3, 4 << 32 | 10, 5 << 32 | 9} and all(node_id in file for node_id in file)


def test_the_doctor_and_availability():
    report = graphtag.doctor()
    assert report["works"] is True and isinstance(report["findings"], list)
    assert graphtag.available() is None and graphtag.available("callbacks") is None
    with pytest.raises(ValueError):
        graphtag.available("cupti")


def test_a_child_of_fork_begins_anew():
    scope = graphtag.scope("a")
    with graphtag.window():
        with scope:
            pass
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with graphtag.window():
                with scope:
                    code = 0 if json.loads(graphtag._ext.annotation_json(graphtag._ext.scope_current())) == {"name": "a"} else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_sub_interpreters_are_refused_with_a_reason():
    program = (
        "import sys\n"
        "import _interpreters\n"
        "code = 'import sys; sys.path[:] = ' + repr(sys.path) + '; import graphtag'\n"
        "error = _interpreters.run_string(_interpreters.create(), code)\n"
        "print(error.formatted)\n"
    )
    if sys.version_info < (3, 13):
        program = program.replace("_interpreters", "_xxsubinterpreters").replace("error = ", "error = None\ntry:\n    ").replace(
            "print(error.formatted)", "except Exception as raised:\n    print(raised)"
        )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60, env=environment)
    if sys.version_info >= (3, 12):
        assert "sub-interpreters" in done.stdout + done.stderr
    assert done.returncode >= 0, "no crash"
