#include "cli/program_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

namespace graphtag::cli {
namespace {

constexpr int kInterpretersMax = 4;  // of a script whose interpreter is a script

bool is_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// 0, or the errno of executing it.
int problem_of(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return errno;
  if (S_ISDIR(facts.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

CannotRun cannot_run(const std::string& name, int problem) {
  const bool is_absent = problem == ENOENT || problem == ENOTDIR;
  return {is_absent ? 127 : 126,
          name + ": " + (is_absent ? "no such program" : "it cannot be executed: " + std::string(std::strerror(problem)))};
}

Linkage linkage_of_elf(std::ifstream& file, const Elf64_Ehdr& head) {
#if defined(__x86_64__)
  constexpr auto kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr auto kMachine = EM_AARCH64;
#else
  const auto kMachine = head.e_machine;
#endif
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != kMachine) return Linkage::other_machine;
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(head.e_phoff) + std::streamoff{i} * head.e_phentsize);
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return Linkage::dynamic;
    if (segment.p_type == PT_INTERP) return Linkage::dynamic;
  }
  return Linkage::fixed;
}

}  // namespace

std::variant<std::string, CannotRun> find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) {
    const int problem = problem_of(name);
    if (problem != 0) return cannot_run(name, problem);
    return name;
  }
  int problem = ENOENT;
  std::stringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    const int found = problem_of(candidate);
    if (found == 0) return candidate;
    // A file that may not be executed is what there is to say, unless a later folder has one that may.
    if (is_file(candidate)) problem = found;
  }
  return cannot_run(name, problem);
}

Linkage linkage_of(const std::string& path, const std::string& search_path) {
  std::string program = path;
  for (int i = 0; i < kInterpretersMax; ++i) {
    std::ifstream file(program, std::ios::binary);
    Elf64_Ehdr head{};
    file.read(reinterpret_cast<char*>(&head), sizeof head);
    const auto length = static_cast<std::size_t>(file.gcount());
    if (length == sizeof head && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0) return linkage_of_elf(file, head);
    const std::string_view start(reinterpret_cast<const char*>(&head), length);
    if (!start.starts_with("#!")) return Linkage::dynamic;
    file.clear();
    file.seekg(2);
    std::array<char, 256> line{};  // as much as Linux looks at
    file.getline(line.data(), line.size());
    std::istringstream words(line.data());
    std::string interpreter, argument;
    words >> interpreter >> argument;
    if (interpreter.ends_with("/env") && !argument.empty() && argument[0] != '-') {
      const auto found = find_program(argument, search_path);
      if (!std::holds_alternative<std::string>(found)) return Linkage::dynamic;
      interpreter = std::get<std::string>(found);
    }
    program = interpreter;
  }
  return Linkage::dynamic;
}

}  // namespace graphtag::cli
