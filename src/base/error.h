// Errors as values. Nothing here throws; libraries that do are wrapped where they are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace graphtag {

enum class ErrorCode {
  invalid_argument,  // the caller asked for something that makes no sense
  not_found,         // a file or an entry is not there
  io,                // the operating system refused
  malformed,         // input that breaks its format
  unsupported,       // input of a format or version that is not known
  refused,           // input that asks for something unsafe, such as running code
  too_large,         // input beyond a stated bound
};

// What went wrong, where, and what to do about it. `message` holds the last two parts ("what, and what to do").
struct Error {
  ErrorCode code = ErrorCode::malformed;
  std::string message;
  std::string file;                     // empty where there is none
  std::optional<std::uint64_t> offset;  // in bytes from the file's start (of the decompressed content)

  // "FILE: offset N: message"
  std::string to_string() const {
    std::string text;
    if (!file.empty()) text += file + ": ";
    if (offset) text += "offset " + std::to_string(*offset) + ": ";
    return text + message;
  }
};

// A value or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace graphtag
