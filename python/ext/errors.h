// A gt_status as a Python exception, with the C message.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

#include "graphtag/graphtag.h"

namespace graphtag::python {

// Raises the class of graphtag._errors that stands for `status`, with `message`.
[[noreturn]] void raise(gt_status status, const char* message);

inline void check(gt_status status) {
  if (status != GT_OK) raise(status, gt_last_error());
}

// A message as a str: it may repeat a file name, which need not be UTF-8.
nanobind::str text_of(const char* message);

// A struct of graphtag.h that says its size, empty.
template <typename Struct>
Struct sized() {
  Struct value{};
  value.size = sizeof value;
  return value;
}

// A "text out" of graphtag.h. It may grow between the two calls.
template <typename Ask>
std::string take_text(Ask ask) {
  std::string text;
  std::size_t length = 0;
  check(ask(nullptr, std::size_t{0}, &length));
  for (;;) {
    text.resize(length + 1);
    const gt_status status = ask(text.data(), text.size(), &length);
    if (status == GT_OK) break;
    if (status != GT_ERROR_BUFFER_TOO_SMALL) check(status);
  }
  text.resize(length);
  return text;
}

}  // namespace graphtag::python
