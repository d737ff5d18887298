#include "errors.h"

#include <cstring>

namespace nb = nanobind;

namespace graphtag::python {

nb::str text_of(const char* message) {
  PyObject* text = PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

void raise(gt_status status, const char* message) {
  const nb::object error = nb::module_::import_("graphtag._errors").attr("from_status")(status, text_of(message));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace graphtag::python
