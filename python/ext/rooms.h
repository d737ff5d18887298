// The parts of the module, one a file.
#pragma once

#include <nanobind/nanobind.h>

#include "graphtag/graphtag.h"

namespace graphtag::python {

void bind_scope(nanobind::module_& m);
void bind_mark(nanobind::module_& m);
void bind_adaptor(nanobind::module_& m);
void bind_calls(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_stacks(nanobind::module_& m);
void bind_record(nanobind::module_& m);

// From a str (the name) or a dict. With `any_values` what JSON has no form for becomes text; else it is an error.
gt_annotation annotation_of(nanobind::handle value, bool any_values = false);

}  // namespace graphtag::python
