#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <vector>

namespace graphtag::cli {
namespace {

struct OptionFacts {
  std::vector<std::string> names;   // with their dashes
  std::vector<std::string> values;  // empty: a file name or free text
  bool takes_value = false;
  std::string description;
};

struct VerbFacts {
  std::string name, description;
  std::vector<OptionFacts> options;
  std::vector<std::string> values;  // of the positional argument
};

// A type name such as "none|all" lists the values; one such as "FILE" or "N|all" does not.
std::vector<std::string> listed_values(const std::string& type_name) {
  std::vector<std::string> values;
  std::stringstream stream(type_name);
  for (std::string value; std::getline(stream, value, '|');) {
    if (value.empty() || !std::islower(static_cast<unsigned char>(value[0]))) return {};
    values.push_back(value);
  }
  return values;
}

std::vector<VerbFacts> collect(const CLI::App& app) {
  std::vector<VerbFacts> verbs;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    VerbFacts facts{verb->get_name(), verb->get_description(), {}, {}};
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_positional()) {
        facts.values = listed_values(option->get_type_name());
        continue;
      }
      OptionFacts one;
      for (const auto& name : option->get_snames()) one.names.push_back("-" + name);
      for (const auto& name : option->get_lnames()) one.names.push_back("--" + name);
      one.takes_value = option->get_items_expected_max() > 0;
      if (one.takes_value) one.values = listed_values(option->get_type_name());
      one.description = option->get_description();
      facts.options.push_back(std::move(one));
    }
    verbs.push_back(std::move(facts));
  }
  return verbs;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string all_names(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const auto& option : verb.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names);
}

// Inside single quotes of any of the three shells. (Not "quoted": of a std::string that would find std::quoted.)
std::string shell_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string bash(const std::vector<VerbFacts>& verbs) {
  std::ostringstream out;
  out << "# bash completion of graphtag\n_graphtag() {\n  local word=${COMP_WORDS[COMP_CWORD]} "
         "before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n"
         "  local words=''\n  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='";
  for (const auto& verb : verbs) out << verb.name << ' ';
  out << "--help --version'\n  else\n    case \"$verb:$before\" in\n";
  for (const auto& verb : verbs) {
    for (const auto& option : verb.options) {
      if (!option.takes_value) continue;
      for (const auto& name : option.names) {
        out << "      " << verb.name << ':' << name << ") ";
        out << (option.values.empty() ? std::string("words=FILES") : "words='" + join(option.values) + "'") << " ;;\n";
      }
    }
  }
  out << "      *)\n        case \"$verb\" in\n";
  for (const auto& verb : verbs) {
    out << "          " << verb.name << ") words='" << (verb.values.empty() ? "" : join(verb.values) + " ") << all_names(verb)
        << "' ;;\n";
  }
  out << "        esac\n        [[ $word == -* ]] || [ \"$verb\" = completion ] || words=FILES ;;\n    esac\n  fi\n"
         "  if [ \"$words\" = FILES ]; then\n    compopt -o filenames 2>/dev/null\n    mapfile -t COMPREPLY < <(compgen -f -- "
         "\"$word\")\n"
         "  else\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n  fi\n}\ncomplete -F _graphtag graphtag\n";
  return out.str();
}

std::string zsh(const std::vector<VerbFacts>& verbs) {
  const auto bracketed = [](const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
    return shell_quoted(out);
  };
  std::ostringstream out;
  out << "#compdef graphtag\n_graphtag() {\n  if (( CURRENT == 2 )); then\n    local -a verbs=(\n";
  for (const auto& verb : verbs) out << "      '" << verb.name << ':' << shell_quoted(verb.description) << "'\n";
  out << "    )\n    _describe verb verbs\n    return\n  fi\n  case $words[2] in\n";
  for (const auto& verb : verbs) {
    out << "    " << verb.name << ")\n      shift words; (( CURRENT-- ))\n      _arguments \\\n";
    for (const auto& option : verb.options) {
      for (const auto& name : option.names) {
        out << "        '*" << name << '[' << bracketed(option.description) << ']';
        if (option.takes_value)
          out << ":value:" << (option.values.empty() ? std::string("_files") : "(" + join(option.values) + ")");
        out << "' \\\n";
      }
    }
    out << "        '*:file:" << (verb.values.empty() ? std::string("_files") : "(" + join(verb.values) + ")") << "' ;;\n";
  }
  out << "  esac\n}\n_graphtag \"$@\"\n";
  return out.str();
}

std::string fish(const std::vector<VerbFacts>& verbs) {
  std::ostringstream out;
  out << "# fish completion of graphtag\n";
  for (const auto& verb : verbs) {
    out << "complete -c graphtag -n __fish_use_subcommand -f -a " << verb.name << " -d '" << shell_quoted(verb.description)
        << "'\n";
  }
  for (const auto& verb : verbs) {
    const std::string condition = " -n '__fish_seen_subcommand_from " + verb.name + "'";
    if (!verb.values.empty()) out << "complete -c graphtag" << condition << " -f -a '" << join(verb.values) << "'\n";
    for (const auto& option : verb.options) {
      out << "complete -c graphtag" << condition;
      for (const auto& name : option.names) out << (name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (option.takes_value) out << (option.values.empty() ? std::string(" -r") : " -x -a '" + join(option.values) + "'");
      out << " -d '" << shell_quoted(option.description) << "'\n";
    }
  }
  return out.str();
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const auto verbs = collect(app);
  return shell == "bash" ? bash(verbs) : shell == "zsh" ? zsh(verbs) : fish(verbs);
}

}  // namespace graphtag::cli
