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

PyGetSetDef properties[] = {kAnnotationProperty, {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

void bind_scope(nb::module_& m) {
  add_scope_type(m, {"graphtag.scope", kDoc, make, properties, decorate});
}

}  // namespace graphtag::python
