// The file of a program that is about to be run, and whether anything can be injected into it.
#pragma once

#include <string>
#include <variant>

namespace graphtag::cli {

// Why a program cannot be run, as a shell's exit code: 127 not found, 126 found but not executable.
struct CannotRun {
  int exit_code = 127;
  std::string what;
};

// `name` as execvp takes it: with a slash a path, else looked for in the folders of `path` (the value of PATH).
std::variant<std::string, CannotRun> find_program(const std::string& name, const std::string& path);

enum class Linkage {
  dynamic,       // has a dynamic loader
  fixed,         // statically linked: it loads no libraries, also not CUDA's
  other_machine  // of another processor or word size
};

// Of the program at `path`; of a script ("#!") that of its interpreter, where "env NAME" is followed through PATH. What cannot be read or is no ELF
// file counts as dynamic: the system will say.
Linkage linkage_of(const std::string& path, const std::string& search_path);

}  // namespace graphtag::cli
