// What graphtag.scope and the marks of graphtag.torch are made of: plain CPython types, since what a `with` statement costs is decided here,
// and they enter and leave in half the time of a bound class.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "graphtag/graphtag.h"

namespace graphtag::python {

// One entry into a scope.
struct Opened {
  gt_scope scope{0};
  std::thread::id thread;               // several threads may be within one object
  std::uint64_t interval = 0;           // of the autograd adaptor; 0: none
  PyObject* interval_object = nullptr;  // the same where Python opened it; null: none
};

struct ScopeObject {
  PyObject_HEAD PyObject* value;  // what it was made from: str or dict
  gt_annotation annotation;       // 0 until it is first entered while something is recorded
  bool any_values;                // what JSON has no form for is kept as text; else an error
  bool backward;                  // autograd nodes made within it name their backward work
  std::vector<Opened> open;
};

inline ScopeObject* scope_of(PyObject* self) {
  return reinterpret_cast<ScopeObject*>(self);
}

// Runs `function`, which may throw; null with a Python exception if it does.
template <typename Function>
PyObject* guarded(Function function) noexcept {
  try {
    return function();
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// A new object of `type`; takes over the reference `value`. Null with a Python exception where there is no memory.
PyObject* make_scope(PyTypeObject* type, PyObject* value, bool any_values, bool backward);

PyObject* annotation_of_scope(PyObject* self, void*);
inline constexpr PyGetSetDef kAnnotationProperty = {"annotation", annotation_of_scope, nullptr,
                                                    "What it was made from: str or dict.", nullptr};

// What a type has of its own. All is kept: it must live for ever.
struct ScopeType {
  const char* qualified_name;
  const char* doc;
  newfunc make;
  PyGetSetDef* properties;
  ternaryfunc call = nullptr;  // null: it cannot be called
  unsigned flags = 0;          // beside Py_TPFLAGS_DEFAULT
};
// Into the module, by the last part of its name: a type that enters and leaves scopes.
void add_scope_type(nanobind::module_& m, const ScopeType& type);

}  // namespace graphtag::python
