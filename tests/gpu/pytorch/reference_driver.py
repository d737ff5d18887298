"""What torch.cuda.graph_annotations (the reference) asks of the driver: on a GPU through cuda.bindings, in a rehearsal of the false CUDA.

Drivers before CUDA 13.1 have no ids of graphs and nodes, so the reference is off there. CUPTI knows the same ids, and answers in their place.
"""
import ctypes
import enum

import torch
from harness import REHEARSAL
from torch.cuda import _graph_annotations, _graph_node_callbacks


def _answers(cupti, success, refused):
    """cuda.bindings' functions by name, answered by CUPTI: each takes a handle and returns (error, id)."""

    def answer(function, kind):
        def call(handle):
            value = kind()
            if int(handle) == 0 or function(ctypes.c_void_p(int(handle)), ctypes.byref(value)) != 0:
                return refused, 0
            return success, value.value

        return call

    return {
        "cudaGraphNodeGetToolsId": answer(cupti.cuptiGetGraphNodeId, ctypes.c_uint64),
        "cudaGraphGetId": answer(cupti.cuptiGetGraphId, ctypes.c_uint32),
        "cudaGraphExecGetId": answer(cupti.cuptiGetGraphExecId, ctypes.c_uint32),
    }


def _ok(result):
    error, *values = result
    assert error.value == 0, f"cuda.bindings: {error}"
    return values[0] if len(values) == 1 else values


class _Device:
    def __init__(self):
        from cuda.bindings import driver, runtime
        from records import mapped_library

        torch.cuda.init()
        self.driver, self.runtime = driver, runtime
        errors = runtime.cudaError_t
        self.ids_of = "the driver"
        if runtime.cudaGraphNodeGetToolsId(0)[0] not in (errors.cudaSuccess, errors.cudaErrorInvalidValue):
            self.ids_of = "CUPTI"
            answers = _answers(ctypes.CDLL(mapped_library("libcupti.so")), errors.cudaSuccess, errors.cudaErrorInvalidValue)
            for name, function in answers.items():
                setattr(runtime, name, function)

    def nodes(self, graph):
        template = graph.raw_cuda_graph()
        _, count = _ok(self.driver.cuGraphGetNodes(template))
        found = {}
        for node in _ok(self.driver.cuGraphGetNodes(template, count))[0]:
            kind = _ok(self.driver.cuGraphNodeGetType(node))
            grid = ()
            if kind == self.driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
                kernel = _ok(self.driver.cuGraphKernelNodeGetParams(node))
                grid = (kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ, kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ)
            found[_ok(self.runtime.cudaGraphNodeGetToolsId(node)) & 0xFFFFFFFF] = kind.name, grid
        return found


class _Error(enum.IntEnum):
    cudaSuccess = 0
    cudaErrorInvalidValue = 1


class _CaptureStatus(enum.IntEnum):
    cudaStreamCaptureStatusNone = 0
    cudaStreamCaptureStatusActive = 1
    cudaStreamCaptureStatusInvalidated = 2


class _NodeType(enum.IntEnum):
    CU_GRAPH_NODE_TYPE_KERNEL = 0
    CU_GRAPH_NODE_TYPE_MEMCPY = 1
    CU_GRAPH_NODE_TYPE_MEMSET = 2
    CU_GRAPH_NODE_TYPE_HOST = 3
    CU_GRAPH_NODE_TYPE_GRAPH = 4
    CU_GRAPH_NODE_TYPE_EMPTY = 5
    CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6
    CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7
    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP = 12
    CU_GRAPH_NODE_TYPE_CONDITIONAL = 13


class _Rehearsal:
    """Stands in for cuda.bindings' driver and runtime, and for the callbacks of a node's creation."""

    cudaError_t, cudaStreamCaptureStatus, CUgraphNodeType = _Error, _CaptureStatus, _NodeType

    def __init__(self):
        import fake_cuda

        self.ids_of = "the false CUPTI"
        self._cuda = ctypes.CDLL(str(fake_cuda.BUILD / "fake/libcuda.so.1"))
        cupti = ctypes.CDLL(str(fake_cuda.BUILD / "fake/libcupti.so.fake"))
        self.__dict__.update(_answers(cupti, _Error.cudaSuccess, _Error.cudaErrorInvalidValue))
        self._roots, self._dependents, self._armed = {}, {}, False  # by ids: handles are used again
        self._launch, self._current_stream = fake_cuda.launch, fake_cuda.current_stream
        fake_cuda.launch = self._launch_and_tell
        _graph_annotations._HAS_CUDA_BINDINGS = True
        _graph_annotations._cuda_driver = _graph_annotations._cuda_runtime = self
        _graph_annotations._check_cuda_bindings = _graph_annotations._check_cuda_bindings_driver = _ok
        _graph_node_callbacks.register = lambda **_: True
        _graph_node_callbacks.arm = lambda: self._arm(True)
        _graph_node_callbacks.disarm = lambda: self._arm(False)
        torch.cuda.CUDAGraph = _with_annotations(torch.cuda.CUDAGraph)

    def _arm(self, armed):
        self._armed = armed
        return True

    def _launch_and_tell(self, *arguments):
        stream = self._current_stream().cuda_stream
        before = self.cudaStreamGetCaptureInfo(stream)[4]
        tag = self._launch(*arguments)
        _, _, _, graph, (node,), _, _ = self.cudaStreamGetCaptureInfo(stream)
        for dependency in before:
            self._dependents.setdefault(_ok(self.cudaGraphNodeGetToolsId(dependency)), []).append(node)
        if not before:
            self._roots.setdefault(_ok(self.cudaGraphGetId(graph)), []).append(node)
        annotation = _graph_annotations.current_annotation() if self._armed else None
        if annotation is not None:
            _graph_annotations.record_node_annotation(_ok(self.cudaGraphNodeGetToolsId(node)), annotation)
        return tag

    def cudaStreamGetCaptureInfo(self, stream):
        status, number, graph, count = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_size_t()
        frontier = ctypes.POINTER(ctypes.c_void_p)()
        self._cuda.cuStreamGetCaptureInfo_v2(ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph),
                                             ctypes.byref(frontier), ctypes.byref(count))  # fmt: skip
        return _Error.cudaSuccess, _CaptureStatus(status.value), number.value, graph.value, frontier[: count.value], None, count.value

    def cudaGraphGetRootNodes(self, graph, pNumRootNodes=0):
        nodes = self._roots.get(_ok(self.cudaGraphGetId(graph)), [])
        return _Error.cudaSuccess, nodes, len(nodes)

    def cudaGraphNodeGetDependentNodes(self, node, pNumDependentNodes=0):
        nodes = self._dependents.get(_ok(self.cudaGraphNodeGetToolsId(node)), [])
        return _Error.cudaSuccess, nodes, None, len(nodes)

    def cuGraphNodeGetType(self, node):
        kind = ctypes.c_int()
        return _Error(self._cuda.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))), _NodeType(kind.value)

    def nodes(self, graph):
        import rehearsal

        return {node_id & 0xFFFFFFFF: node for node_id, node in rehearsal.nodes(graph).items()}


def _with_annotations(base):
    class Graph(base):
        """With what torch.cuda.CUDAGraph of 2.15 keeps for the reference."""

        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self._capture_graph_id = self._remapped_exec_id = None
            self._recorded_exec_ids = set()
            self._annotation_key_by = "exec"

        @property
        def _has_graph_exec(self):
            return bool(self._exec)

        def _instantiate(self):
            super()._instantiate()
            _graph_annotations.remap_to_exec_graph(self)

        def reset(self):
            super().reset()
            _graph_annotations.remove_kernel_annotations(self._recorded_exec_ids | {self._remapped_exec_id})
            self._recorded_exec_ids, self._capture_graph_id = set(), None

    return Graph


driver = _Rehearsal() if REHEARSAL else _Device()
_graph_annotations._tools_id_available = None


def nodes(graph):
    """{local id: (kind or name, grid and block)} of a graph that was kept and instantiated."""
    return driver.nodes(graph)


def exec_id(graph):
    return _ok(_graph_annotations._cuda_runtime.cudaGraphExecGetId(graph.raw_cuda_graph_exec()))
