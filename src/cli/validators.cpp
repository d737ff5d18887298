#include "cli/validators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "write/table_text.h"

namespace graphtag::cli {
namespace {

template <typename Number>
bool is_between(const std::string& text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
}

// An option of the verb that was given; null if there is none.
const CLI::Option* option_of(const CLI::App& app, const std::string& name) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? nullptr : verbs.front()->get_option_no_throw(name);
}

bool has_annotations(const CLI::App& app) {
  const CLI::Option* option = option_of(app, "--annotations");
  return option != nullptr && option->count() > 0;
}

// CLI11 says "--kind: At Most 1 required but received 2", or "--kind: 1 required TEXT missing".
std::string wrong_count(const CLI::App& app, const std::string& said) {
  const std::string name = said.substr(0, said.find(':'));
  const CLI::Option* option = option_of(app, name);
  if (option == nullptr) return said;
  if (option->count() > 1) return fmt::format("{} is given {} times, and takes one value", name, option->count());
  return fmt::format("{} needs a value: {}", name, option->get_type_name());
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> values) {
  return {[values = std::move(values)](const std::string& text) {
            if (std::find(values.begin(), values.end(), text) != values.end()) return std::string{};
            return fmt::format("'{}' is not one of {}", text, fmt::join(values, ", "));
          },
          ""};
}

CLI::Validator file_name() {
  return {[](const std::string& text) { return text.empty() ? "'' is no name (is a variable empty?)" : std::string{}; }, ""};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return {[least, most](const std::string& text) {
            if (is_between(text, least, most)) return std::string{};
            std::string bounds;
            if (most != std::numeric_limits<std::int64_t>::max()) {
              bounds = fmt::format(" from {} to {}", least, most);
            } else if (least != std::numeric_limits<std::int64_t>::min()) {
              bounds = fmt::format(" of {} or more", least);
            }
            return fmt::format("'{}' is not a whole number{}", text, bounds);
          },
          ""};
}

CLI::Validator number_between(int least, int most) {
  return {[least, most](const std::string& text) {
            if (is_between<double>(text, least, most)) return std::string{};
            return fmt::format("'{}' is not a number from {} to {}", text, least, most);
          },
          ""};
}

std::string describe_failure(const CLI::App* app, const CLI::Error& error) {
  std::string what = error.what();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::vector<std::string> rest = app->remaining(true);
    what = fmt::format("this was not expected: {}", fmt::join(rest, " "));
    const bool is_option = std::any_of(rest.begin(), rest.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (!is_option && has_annotations(*app)) what += " (each annotation file needs its own -a, or name their folder)";
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    what = wrong_count(*app, what);
  } else if (app->get_subcommands().empty()) {
    what = "a verb is needed, such as report";
  }
  return "graphtag: " + printable(what) + "; graphtag --help and graphtag VERB --help say more\n";
}

}  // namespace graphtag::cli
