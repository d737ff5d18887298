// graphtag.scope, a type of its own: what `with graphtag.scope(...)` costs is decided here, and a plain CPython type enters and
// leaves in half the time of a bound class.
#include <nanobind/nanobind.h>

#include <new>
#include <vector>

#include "errors.h"
#include "rooms.h"

namespace nb = nanobind;

namespace graphtag::python {

gt_annotation annotation_of(nb::handle value) {
  gt_annotation annotation{0};
  nb::object json;
  const bool is_name = PyUnicode_Check(value.ptr()) != 0;
  if (!is_name) json = nb::module_::import_("graphtag._annotation").attr("to_json")(value);
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(is_name ? value.ptr() : json.ptr(), &length);
  if (text == nullptr) throw nb::python_error();
  const auto size = static_cast<std::size_t>(length);
  check(is_name ? gt_annotation_from_name(text, size, &annotation) : gt_annotation_from_json(text, size, &annotation));
  return annotation;
}

namespace {

struct Scope {
  PyObject_HEAD PyObject* value;  // what it was made from: str or dict
  gt_annotation annotation;       // 0 until it is first entered while something is recorded
  std::vector<gt_scope> open;
};

Scope* scope_of(PyObject* self) {
  return reinterpret_cast<Scope*>(self);
}

// Runs `function`, which may throw; null with a Python exception if it does.
template <typename Function>
PyObject* guarded(Function function) noexcept {
  try {
    return function();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keys) {
  if (PyTuple_Size(args) != 1) {
    PyErr_SetString(PyExc_TypeError, "scope() takes one name (str) or annotation (dict), and keys: scope(\"name\", bs=8)");
    return nullptr;
  }
  PyObject* value = PyTuple_GetItem(args, 0);
  if (PyUnicode_Check(value) == 0 && PyDict_Check(value) == 0) {
    PyErr_SetString(PyExc_TypeError, "scope() takes a name (str) or an annotation (dict)");
    return nullptr;
  }
  Py_INCREF(value);
  if (keys != nullptr && PyDict_Size(keys) != 0) {
    PyObject* merged = guarded([&] {
      return nb::module_::import_("graphtag._annotation").attr("with_keys")(nb::handle(value), nb::handle(keys)).release().ptr();
    });
    Py_DECREF(value);
    if (merged == nullptr) return nullptr;
    value = merged;
  }
  static const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* self = allocate(type, 0);
  if (self == nullptr) {
    Py_DECREF(value);
    return nullptr;
  }
  scope_of(self)->value = value;
  scope_of(self)->annotation = gt_annotation{0};
  new (&scope_of(self)->open) std::vector<gt_scope>;
  return self;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(scope_of(self)->value);
  scope_of(self)->open.~vector();
  static const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(self);
  Py_DECREF(type);
}

void open(Scope& scope) {
  if (scope.annotation.value == 0) scope.annotation = annotation_of(scope.value);
  scope.open.reserve(scope.open.size() + 1);
  gt_scope opened{0};
  gt_status status = gt_scope_open(scope.annotation, &opened);
  if (status == GT_ERROR_INVALID_HANDLE) {
    // After fork() the parent's handle is none of ours.
    scope.annotation = annotation_of(scope.value);
    status = gt_scope_open(scope.annotation, &opened);
  }
  check(status);
  scope.open.push_back(opened);
}

PyObject* enter(PyObject* self, PyObject*) {
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

// The newest that this thread opened: several threads may be within one object.
void close(std::vector<gt_scope>& open) {
  for (std::size_t i = open.size(); i-- > 0;) {
    if (gt_scope_close(open[i]) == GT_ERROR_WRONG_THREAD) continue;
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

PyObject* exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  if (!scope_of(self)->open.empty()) close(scope_of(self)->open);
  Py_RETURN_NONE;
}

PyObject* decorate(PyObject* self, PyObject* args, PyObject* keys) {
  if (PyTuple_Size(args) != 1 || (keys != nullptr && PyDict_Size(keys) != 0)) {
    PyErr_SetString(PyExc_TypeError, "as a decorator a scope takes the function alone");
    return nullptr;
  }
  return guarded([&] {
    const nb::handle function = PyTuple_GetItem(args, 0);
    return nb::module_::import_("graphtag._annotation")
        .attr("decorate")(nb::handle(scope_of(self)->value), function)
        .release()
        .ptr();
  });
}

PyObject* get_annotation(PyObject* self, void*) {
  Py_INCREF(scope_of(self)->value);
  return scope_of(self)->value;
}

constexpr const char* kDoc =
    "scope(annotation, **keys)\n--\n\n"
    "Names the work that is captured while it is open, on this thread, on any stream.\n\n"
    "`annotation` is a name, or a dict of JSON values; `keys` are laid over it: scope(\"mlp\", layer=3) is scope({\"name\": "
    "\"mlp\", "
    "\"layer\": 3}).\n"
    "Use it in a with statement or as a decorator of a function. An inner scope's keys win, the outer's come through. While no "
    "window is\n"
    "open it does nothing and costs next to nothing. Raises TypeError for anything else, ValueError (InvalidError) where a value "
    "has\n"
    "no form in JSON, both only when entered while something is recorded.";

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exit)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef properties[] = {
    {"annotation", get_annotation, nullptr, "What it was made from: str or dict.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(kDoc)},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_call, reinterpret_cast<void*>(decorate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};
PyType_Spec spec = {"graphtag.scope", sizeof(Scope), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void bind_scope(nb::module_& m) {
  PyObject* type = PyType_FromModuleAndSpec(m.ptr(), &spec, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr("scope") = nb::steal(type);
}

}  // namespace graphtag::python
