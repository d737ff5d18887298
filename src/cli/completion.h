// Shell completion, made from the options themselves.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace graphtag::cli {

// A completion script of `app` for "bash", "zsh" or "fish": verbs, options, the values of options that have a fixed set, files.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace graphtag::cli
