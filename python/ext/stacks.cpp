// Python launch stacks: which frames of the interpreter launched each node, taken as the node is created.
//
//   node hook   thread's frames, innermost first -> [(code object, line)] -> stack id, each distinct stack stored once
//   read        stack id -> [(file, line, function)]
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "errors.h"
#include "rooms.h"

namespace nb = nanobind;

namespace graphtag::python {
namespace {

// Beyond it the outer frames are left out: a recursion gone wild must not cost a capture its memory.
constexpr std::size_t kMaxFrames = 256;

struct Frame {
  PyObject* code;  // kept alive for good by the first stack that holds it
  int line;
  bool operator<(const Frame& other) const { return code != other.code ? code < other.code : line < other.line; }
};

struct Stacks {
  std::mutex mutex;  // of all; never held while Python runs
  std::map<std::vector<Frame>, std::uint32_t> ids;
  std::vector<const std::vector<Frame>*> stacks;  // by id
  // Graph id -> (local id, stack), in creation order.
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> nodes;
};

Stacks& stacks() {
  static auto* the_one = new Stacks;  // a callback may come as late as the exit of the process
  return *the_one;
}

// The calling thread's frames; the code objects are borrowed.
std::vector<Frame> frames_now() {
  std::vector<Frame> frames;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame != nullptr && frames.size() < kMaxFrames) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    frames.push_back({reinterpret_cast<PyObject*>(code), PyFrame_GetLineNumber(frame)});
    Py_DECREF(code);
    PyObject* back = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_back");
    Py_DECREF(frame);
    if (back == Py_None) {
      Py_DECREF(back);
      back = nullptr;
    }
    frame = reinterpret_cast<PyFrameObject*>(back);
  }
  Py_XDECREF(frame);
  return frames;
}

void keep(std::uint64_t node_id, std::vector<Frame> frames) {
  Stacks& self = stacks();
  const std::lock_guard lock(self.mutex);
  const auto [found, is_new] = self.ids.try_emplace(std::move(frames), static_cast<std::uint32_t>(self.stacks.size()));
  if (is_new) {
    for (const Frame& frame : found->first) Py_INCREF(frame.code);
    self.stacks.push_back(&found->first);
  }
  self.nodes[static_cast<std::uint32_t>(node_id >> 32)].emplace_back(static_cast<std::uint32_t>(node_id), found->second);
}

void on_node(std::uint64_t node_id) {
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  // An exception that is on its way stays as it is.
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  try {
    std::vector<Frame> frames = frames_now();
    if (!frames.empty()) keep(node_id, std::move(frames));
  } catch (...) {
    // No memory for a stack: the node goes without.
  }
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
}

nb::list frames_of(std::uint32_t stack) {
  std::vector<Frame> frames;
  {
    const std::lock_guard lock(stacks().mutex);
    if (stack < stacks().stacks.size()) frames = *stacks().stacks[stack];
  }
  nb::list list;
  for (const Frame& frame : frames) {
    const nb::handle code = frame.code;
    list.append(nb::make_tuple(code.attr("co_filename"), frame.line, code.attr("co_name")));
  }
  return list;
}

}  // namespace

void bind_stacks(nb::module_& m) {
  m.def(
      "record_stacks", [](bool enabled) { check(gt_set_node_hook(enabled ? &on_node : nullptr)); }, nb::arg("enabled"));
  m.def(
      "stacks_of",
      [](std::uint32_t graph_id) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes;
        {
          const std::lock_guard lock(stacks().mutex);
          if (const auto found = stacks().nodes.find(graph_id); found != stacks().nodes.end()) nodes = found->second;
        }
        nb::list list;
        for (const auto& [local_id, stack] : nodes) list.append(nb::make_tuple(local_id, stack));
        return list;
      },
      nb::arg("graph_id"), "[(local id, stack)]");
  m.def("stack_frames", &frames_of, nb::arg("stack"), "[(file, line, function)], innermost first");
  m.def(
      "forget_stacks",
      [](std::uint32_t graph_id) {
        const std::lock_guard lock(stacks().mutex);
        stacks().nodes.erase(graph_id);
      },
      nb::arg("graph_id"));
}

}  // namespace graphtag::python
