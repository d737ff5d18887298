// Checks of values on the command line, and what is said of those that fail.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace graphtag::cli {

// None of these is described in --help: the option's type name and text say it.
CLI::Validator one_of(std::vector<std::string> values);
CLI::Validator file_name();  // of a folder, too
CLI::Validator whole_number(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                            std::int64_t most = std::numeric_limits<std::int64_t>::max());
CLI::Validator number_between(int least, int most);

// A line for a command line that is wrong.
std::string describe_failure(const CLI::App* app, const CLI::Error& error);

}  // namespace graphtag::cli
