#include "cli/python_facts.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace graphtag::cli {
namespace {

constexpr std::size_t kAnswerBytes = std::size_t{1} << 16;

// The folder of the caller is taken off the path first, so that no file in it is run. Reads the packages' own descriptions.
constexpr const char* kQuestion = R"(
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib.metadata, json
answer = {"version": "%d.%d.%d" % sys.version_info[:3]}
for package in importlib.metadata.distributions():
    name = (package.metadata["Name"] or "").lower().replace("_", "-")
    if name == "torch" and "torch" not in answer:
        answer["torch"] = package.version
        answer["torch_path"] = str(package.locate_file("torch"))
    elif name == "graphtag" and "graphtag" not in answer:
        answer["graphtag"] = package.version
    elif name.startswith("nvidia-cuda-cupti") and "cupti" not in answer:
        answer["cupti"] = package.version
        for file in package.files or []:
            if file.name.startswith("libcupti.so"):
                answer["cupti_path"] = str(package.locate_file(file))
print(json.dumps(answer))
)";

std::string find_on(const std::string& search_path, const char* name) {
  std::stringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

struct Answer {
  std::string text;
  std::string problem;
};

// What `path -c kQuestion` prints.
Answer ask(const std::string& path, int limit_ms) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return {{}, "no pipe can be made"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = path, option = "-c", question = kQuestion;
  std::array<char*, 4> words = {program.data(), option.data(), question.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, path.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  Answer answer;
  if (failed != 0) {
    close(pipe_ends[0]);
    answer.problem = "it cannot be run";
    return answer;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd waited{pipe_ends[0], POLLIN, 0};
    if (left <= 0 || poll(&waited, 1, static_cast<int>(left)) <= 0) {
      answer.problem = "it gave no answer within " + std::to_string(limit_ms / 1000) + " s";
      break;
    }
    std::array<char, 4096> block{};
    const ssize_t got = read(pipe_ends[0], block.data(), block.size());
    if (got <= 0 || answer.text.size() > kAnswerBytes) break;
    answer.text.append(block.data(), static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  if (!answer.problem.empty()) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (answer.problem.empty() && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) answer.problem = "it cannot tell its packages";
  return answer;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

PythonFacts examine_python(const std::string& search_path, int limit_ms) {
  PythonFacts facts;
  facts.path = find_on(search_path, "python3");
  if (facts.path.empty()) return facts;
  const Answer answer = ask(facts.path, limit_ms);
  facts.problem = answer.problem;
  if (!facts.problem.empty()) return facts;
  const Result<Json> parsed = parse_json(answer.text);
  if (!parsed || !parsed->is_object()) {
    facts.problem = "it cannot tell its packages";
    return facts;
  }
  facts.version = text_at(*parsed, "version");
  facts.torch_version = text_at(*parsed, "torch");
  facts.torch_path = text_at(*parsed, "torch_path");
  facts.cupti_version = text_at(*parsed, "cupti");
  facts.cupti_path = text_at(*parsed, "cupti_path");
  facts.graphtag_version = text_at(*parsed, "graphtag");
  return facts;
}

}  // namespace graphtag::cli
