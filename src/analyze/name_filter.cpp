#include "analyze/name_filter.h"

#include <boost/regex.hpp>
#include <utility>

namespace graphtag {

// Boost's and not the standard library's: libstdc++'s recurses once a character, so that a long name overflows the stack.
struct NameFilter::State {
  boost::regex expression;
  std::string text;
  std::string option;
};

NameFilter::NameFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
NameFilter::NameFilter(NameFilter&&) noexcept = default;
NameFilter& NameFilter::operator=(NameFilter&&) noexcept = default;
NameFilter::~NameFilter() = default;

Result<NameFilter> NameFilter::compile(const std::string& expression, const std::string& option) {
  try {
    return NameFilter(std::make_unique<State>(State{boost::regex(expression, boost::regex::perl), expression, option}));
  } catch (const std::exception& error) {
    return Error{ErrorCode::invalid_argument, option + " '" + expression + "' is no regular expression: " + error.what(), {}, {}};
  }
}

Result<bool> NameFilter::matches(std::string_view name) const {
  try {
    return boost::regex_search(name.data(), name.data() + name.size(), state_->expression);
  } catch (const std::exception&) {
    return Error{ErrorCode::invalid_argument,
                 state_->option + " '" + state_->text + "' costs too much on the name '" + std::string(name.substr(0, 80)) +
                     "': write it without nested repeats",
                 {},
                 {}};
  }
}

}  // namespace graphtag
