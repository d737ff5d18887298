#include "errors.h"

namespace nb = nanobind;

namespace graphtag::python {

void raise(gt_status status, const char* message) {
  const nb::object error = nb::module_::import_("graphtag._errors").attr("from_status")(status, message);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace graphtag::python
