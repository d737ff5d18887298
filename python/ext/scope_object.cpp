#include "scope_object.h"

#include <cstring>

#include "errors.h"
#include "rooms.h"

namespace nb = nanobind;

namespace graphtag::python {
namespace {

// The autograd adaptor, once there is one: functions of its library, or Python's where that cannot be built.
struct Adaptor {
  std::uint64_t (*open)(std::uint64_t annotation) = nullptr;
  int (*close)(std::uint64_t interval) = nullptr;
  PyObject* open_call = nullptr;
  PyObject* close_call = nullptr;
};
Adaptor adaptor;  // guarded by the GIL

// False with a Python exception where Python's function raised one.
bool open_interval(Opened& opened) {
  if (adaptor.open != nullptr) {
    opened.interval = adaptor.open(0);
  } else if (adaptor.open_call != nullptr) {
    opened.interval_object = PyObject_CallFunctionObjArgs(adaptor.open_call, nullptr);
    return opened.interval_object != nullptr;
  }
  return true;
}

bool close_interval(const Opened& opened) {
  if (opened.interval != 0 && adaptor.close != nullptr) adaptor.close(opened.interval);
  if (opened.interval_object == nullptr) return true;
  PyObject* result = PyObject_CallFunctionObjArgs(adaptor.close_call, opened.interval_object, nullptr);
  Py_DECREF(opened.interval_object);
  Py_XDECREF(result);
  return result != nullptr;
}

void open(ScopeObject& scope) {
  if (scope.annotation.value == 0) scope.annotation = annotation_of(scope.value, scope.any_values);
  scope.open.reserve(scope.open.size() + 1);
  Opened opened;
  gt_status status = gt_scope_open(scope.annotation, &opened.scope);
  if (status == GT_ERROR_INVALID_HANDLE) {
    // After fork() the parent's handle is none of ours.
    scope.annotation = annotation_of(scope.value, scope.any_values);
    status = gt_scope_open(scope.annotation, &opened.scope);
  }
  check(status);
  opened.thread = std::this_thread::get_id();
  if (scope.backward && !open_interval(opened)) {
    gt_scope_close(opened.scope);
    throw nb::python_error();
  }
  scope.open.push_back(opened);
}

}  // namespace

gt_annotation annotation_of(nb::handle value, bool any_values) {
  gt_annotation annotation{0};
  nb::object json;
  const bool is_name = PyUnicode_Check(value.ptr()) != 0;
  if (!is_name) json = nb::module_::import_("graphtag._annotation").attr(any_values ? "to_plain_json" : "to_json")(value);
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(is_name ? value.ptr() : json.ptr(), &length);
  if (text == nullptr) throw nb::python_error();
  const auto size = static_cast<std::size_t>(length);
  check(is_name ? gt_annotation_from_name(text, size, &annotation) : gt_annotation_from_json(text, size, &annotation));
  return annotation;
}

PyObject* make_scope(PyTypeObject* type, PyObject* value, bool any_values, bool backward) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* self = allocate(type, 0);
  if (self == nullptr) {
    Py_DECREF(value);
    return nullptr;
  }
  ScopeObject* scope = scope_of(self);
  scope->value = value;
  scope->annotation = gt_annotation{0};
  scope->any_values = any_values;
  scope->backward = backward;
  new (&scope->open) std::vector<Opened>;
  return self;
}

namespace {

// Everything is done in tp_new. Yet each type has an __init__ of its own: PyTorch 2.4's compiler takes one without for a context manager
// written in Python, and fails.
int init_nothing(PyObject*, PyObject*, PyObject*) {
  return 0;
}

void destroy_scope(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(scope_of(self)->value);
  for (const Opened& opened : scope_of(self)->open) Py_XDECREF(opened.interval_object);
  scope_of(self)->open.~vector();
  // Of this very type: one that Python derives is collected, and freed, by the garbage collector.
  const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(self);
  Py_DECREF(type);
}

PyObject* enter_scope(PyObject* self, PyObject*) {
  if (gt_active()) {
    const auto opened = guarded([self] {
      open(*scope_of(self));
      return self;
    });
    if (opened == nullptr) return nullptr;
  }
  Py_INCREF(self);
  return self;
}

// The newest that this thread opened. One whose window has closed has ended with it, which is no error of the caller's.
PyObject* exit_scope(PyObject* self, PyObject* const*, Py_ssize_t) {
  std::vector<Opened>& open = scope_of(self)->open;
  if (!open.empty()) {
    const std::thread::id thread = std::this_thread::get_id();
    for (std::size_t i = open.size(); i-- > 0;) {
      if (open[i].thread != thread) continue;
      const Opened opened = open[i];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      const bool closed = close_interval(opened);
      gt_scope_close(opened.scope);
      if (!closed) return nullptr;
      break;
    }
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"__enter__", enter_scope, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exit_scope)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_scope_type(nb::module_& m, const ScopeType& type) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(type.doc)},
      {Py_tp_new, reinterpret_cast<void*>(type.make)},
      {Py_tp_init, reinterpret_cast<void*>(init_nothing)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy_scope)},
      {Py_tp_methods, methods},
      {Py_tp_getset, type.properties},
      {type.call == nullptr ? 0 : Py_tp_call, reinterpret_cast<void*>(type.call)},
      {0, nullptr},
  };
  PyType_Spec spec = {type.qualified_name, sizeof(ScopeObject), 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT) | type.flags, slots};
  PyObject* made = PyType_FromModuleAndSpec(m.ptr(), &spec, nullptr);
  if (made == nullptr) throw nb::python_error();
  m.attr(std::strrchr(type.qualified_name, '.') + 1) = nb::steal(made);
}

PyObject* annotation_of_scope(PyObject* self, void*) {
  Py_INCREF(scope_of(self)->value);
  return scope_of(self)->value;
}

void bind_adaptor(nb::module_& m) {
  m.def(
      "set_adaptor",
      [](std::uintptr_t open, std::uintptr_t close) {
        adaptor.open = reinterpret_cast<decltype(adaptor.open)>(open);     // NOLINT(performance-no-int-to-ptr): from ctypes
        adaptor.close = reinterpret_cast<decltype(adaptor.close)>(close);  // NOLINT(performance-no-int-to-ptr)
      },
      nb::arg("open"), nb::arg("close"), "Addresses of gt_backward_open_interval and gt_backward_close_interval.");
  m.def(
      "set_adaptor_calls",
      [](nb::object open, nb::object close) {
        // What was there before may still be closing: kept for good.
        adaptor.open_call = open.release().ptr();
        adaptor.close_call = close.release().ptr();
      },
      nb::arg("open"), nb::arg("close"), "open() -> token and close(token), in Python.");
}

}  // namespace graphtag::python
