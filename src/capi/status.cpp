// Statuses, errors, versions.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/version.h"
#include "capi/guard.h"

namespace graphtag::capi {
namespace {

constexpr std::array<const char*, 16> kStatusNames = {
    "GT_OK",
    "GT_ERROR_INVALID_ARGUMENT",
    "GT_ERROR_INVALID_HANDLE",
    "GT_ERROR_INVALID_SIZE",
    "GT_ERROR_UNAVAILABLE",
    "GT_ERROR_BUSY",
    "GT_ERROR_NOT_FOUND",
    "GT_ERROR_NO_SCOPE",
    "GT_ERROR_WRONG_THREAD",
    "GT_ERROR_BUFFER_TOO_SMALL",
    "GT_ERROR_MALFORMED",
    "GT_ERROR_TOO_LARGE",
    "GT_ERROR_IO",
    "GT_ERROR_OUT_OF_MEMORY",
    "GT_ERROR_INTERNAL",
    "GT_ERROR_REFUSED",
};
static_assert(GT_ERROR_REFUSED + 1 == static_cast<int>(kStatusNames.size()));

// No destructor and no allocation: usable while the thread and the process end.
thread_local char last_error[1024] = "";

}  // namespace

gt_status fail(gt_status status, std::string_view message) noexcept {
  const std::size_t length = std::min(message.size(), sizeof last_error - 1);
  std::memmove(last_error, message.data(), length);
  last_error[length] = '\0';
  return status;
}

gt_status fail(const Error& error) noexcept {
  gt_status status = GT_ERROR_INTERNAL;
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::malformed:
    case ErrorCode::unsupported:
    case ErrorCode::refused:
      status = GT_ERROR_MALFORMED;
      break;
    case ErrorCode::not_found:
      status = GT_ERROR_NOT_FOUND;
      break;
    case ErrorCode::io:
      status = GT_ERROR_IO;
      break;
    case ErrorCode::too_large:
      status = GT_ERROR_TOO_LARGE;
      break;
  }
  try {
    return fail(status, error.to_string());
  } catch (...) {
    return fail(status, "out of memory while saying why");
  }
}

gt_status from_record_status(RecordStatus status, std::string_view what) noexcept {
  const auto say = [what](gt_status code, const char* words) {
    try {
      return fail(code, std::string(what) + words);
    } catch (...) {
      return fail(code, words);
    }
  };
  switch (status) {
    case RecordStatus::ok:
      return GT_OK;
    case RecordStatus::unavailable:
      return say(GT_ERROR_UNAVAILABLE, " needs what this driver or CUPTI lacks or refused; gt_doctor_json() says what");
    case RecordStatus::busy:
      return say(GT_ERROR_BUSY,
                 " needs CUPTI's subscription, which another tool holds: take GT_OBSERVER_BOUNDARY, or record before a profiler "
                 "has run");
    case RecordStatus::invalid_handle:
      return say(GT_ERROR_INVALID_HANDLE, " is not open: it was closed already, or never was one");
    case RecordStatus::no_scope:
      return say(GT_ERROR_NO_SCOPE, ": none of this thread is open");
    case RecordStatus::wrong_thread:
      return say(GT_ERROR_WRONG_THREAD, " must be ended on the thread on which it began");
    case RecordStatus::refused:
      return say(GT_ERROR_REFUSED, " is not known to CUDA");
    case RecordStatus::not_a_body:
      return say(GT_ERROR_INVALID_ARGUMENT,
                 " is no body: it holds the node, or another node has it; give the graphs that CUDA made for the node");
    case RecordStatus::out_of_memory:
      return fail(GT_ERROR_OUT_OF_MEMORY, "out of memory");
  }
  return fail(GT_ERROR_INTERNAL, "unknown status");
}

bool take_text(const char* text, std::size_t length, std::string_view& out) noexcept {
  if (text == nullptr) {
    out = {};
    return length == 0;
  }
  out = {text, length == GT_NUL ? std::strlen(text) : length};
  return true;
}

gt_status put_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* length) noexcept {
  if (length == nullptr || (buffer == nullptr && capacity != 0)) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "a text out needs a pointer for its length, and a buffer unless its capacity is 0");
  }
  *length = text.size();
  if (buffer == nullptr) return GT_OK;
  if (capacity <= text.size())
    return fail(GT_ERROR_BUFFER_TOO_SMALL, "the buffer must have room for the text and a NUL; its length was stored");
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return GT_OK;
}

}  // namespace graphtag::capi

extern "C" {

const char* gt_status_name(gt_status status) noexcept {
  const auto& names = graphtag::capi::kStatusNames;
  return status >= 0 && static_cast<std::size_t>(status) < names.size() ? names[static_cast<std::size_t>(status)] : nullptr;
}

const char* gt_last_error(void) noexcept {
  return graphtag::capi::last_error;
}

uint32_t gt_version(void) noexcept {
  return GT_VERSION;
}

const char* gt_version_string(void) noexcept {
  return graphtag::kVersion.data();
}
}
