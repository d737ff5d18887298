// What every function of the C ABI is wrapped in: nothing is thrown across it, and what went wrong is kept for gt_last_error().
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include "base/error.h"
#include "capture/recorder.h"
#include "graphtag/graphtag.h"

namespace graphtag::capi {

// Keeps `message` as this thread's last error and returns `status`. Long messages are cut at 1 KiB.
gt_status fail(gt_status status, std::string_view message) noexcept;
gt_status fail(const Error& error) noexcept;
// GT_OK for ok; else with a message about `what`, the thing that was asked for: "the scope", "the window".
gt_status from_record_status(RecordStatus status, std::string_view what) noexcept;

template <typename Function>
gt_status guard(Function function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(GT_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(GT_ERROR_INTERNAL, error.what());
  } catch (...) {
    return fail(GT_ERROR_INTERNAL, "something that is no exception was thrown");
  }
}

// `length` bytes at `text`, or up to its NUL for GT_NUL; nothing if `text` is null (unless `length` is 0).
bool take_text(const char* text, std::size_t length, std::string_view& out) noexcept;

// "Texts out" of graphtag.h.
gt_status put_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* length) noexcept;

}  // namespace graphtag::capi
