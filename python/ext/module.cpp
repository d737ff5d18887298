// graphtag._ext: libgraphtag.so for Python. What it offers is private to the package; see graphtag/__init__.py.
#include "rooms.h"

NB_MODULE(_ext, m) {
  graphtag::python::bind_scope(m);
  graphtag::python::bind_mark(m);
  graphtag::python::bind_adaptor(m);
  graphtag::python::bind_calls(m);
  graphtag::python::bind_files(m);
  graphtag::python::bind_stacks(m);
  graphtag::python::bind_record(m);
}
