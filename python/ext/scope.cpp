// graphtag.scope.
#include <nanobind/nanobind.h>

#include "rooms.h"
#include "scope_object.h"

namespace nb = nanobind;

namespace graphtag::python {
namespace {

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
  return make_scope(type, value, false, false);
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
    {"__enter__", enter_scope, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exit_scope)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef properties[] = {
    {"annotation", annotation_of_scope, nullptr, "What it was made from: str or dict.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(kDoc)},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(init_nothing)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy_scope)},
    {Py_tp_call, reinterpret_cast<void*>(decorate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};
PyType_Spec spec = {"graphtag.scope", sizeof(ScopeObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void bind_scope(nb::module_& m) {
  PyObject* type = PyType_FromModuleAndSpec(m.ptr(), &spec, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr("scope") = nb::steal(type);
}

}  // namespace graphtag::python
