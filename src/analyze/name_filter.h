// A regular expression over names that come from files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace graphtag {

// Perl's syntax, found anywhere in the name. Work is bounded: an expression that costs too much on some name is an error.
class NameFilter {
 public:
  // `option` ("--comm") goes into errors.
  static Result<NameFilter> compile(const std::string& expression, const std::string& option);
  NameFilter(NameFilter&&) noexcept;
  NameFilter& operator=(NameFilter&&) noexcept;
  ~NameFilter();

  Result<bool> matches(std::string_view name) const;

 private:
  struct State;
  explicit NameFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace graphtag
