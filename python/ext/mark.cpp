// graphtag._ext.mark: what graphtag.torch.mark_kernels returns is made of.
#include <nanobind/nanobind.h>

#include "rooms.h"
#include "scope_object.h"

namespace nb = nanobind;

namespace graphtag::python {
namespace {

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keys) {
  if (PyTuple_Size(args) != 2 || (keys != nullptr && PyDict_Size(keys) != 0)) {
    PyErr_SetString(PyExc_TypeError, "mark() takes an annotation (str or dict), and whether backward work is named (bool)");
    return nullptr;
  }
  PyObject* value = PyTuple_GetItem(args, 0);
  if (PyUnicode_Check(value) == 0 && PyDict_Check(value) == 0) {
    PyErr_Format(PyExc_TypeError, "an annotation is a name (str) or a dict, not %R", value);
    return nullptr;
  }
  const int backward = PyObject_IsTrue(PyTuple_GetItem(args, 1));
  if (backward < 0) return nullptr;
  Py_INCREF(value);
  return make_scope(type, value, true, backward != 0);
}

PyObject* get_backward(PyObject* self, void*) {
  return PyBool_FromLong(scope_of(self)->backward ? 1 : 0);
}

PyGetSetDef properties[] = {
    kAnnotationProperty,
    {"backward", get_backward, nullptr, "Are autograd nodes that are made within it to name their backward work?", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void bind_mark(nb::module_& m) {
  add_scope_type(m, {"graphtag._ext.mark",
                     "mark(annotation, backward)\n--\n\n"
                     "As graphtag.scope, but values that JSON has no form for become text, and with `backward` the autograd\n"
                     "adaptor (set_adaptor) is told of what is within.",
                     make, properties, nullptr, Py_TPFLAGS_BASETYPE});
}

}  // namespace graphtag::python
