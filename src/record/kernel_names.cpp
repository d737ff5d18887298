#include "record/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>

namespace graphtag {

KernelNames::Name& KernelNames::of(const char* mangled) {
  const std::string_view key = mangled == nullptr ? std::string_view("?") : std::string_view(mangled);
  if (const auto found = names_.find(key); found != names_.end()) return *found->second;
  auto name = std::make_unique<Name>();
  name->mangled = key;
  int status = -1;
  if (key.starts_with("_Z") && key.size() <= kLongest) {
    if (char* text = abi::__cxa_demangle(name->mangled.c_str(), nullptr, nullptr, &status)) {
      name->text = text;
      std::free(text);
    }
  }
  if (name->text.empty()) name->text = key;
  const std::size_t bytes = sizeof(Name) + name->mangled.size() + name->text.size();
  if (bytes_ + bytes > kBytes) {
    names_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
  Name& made = *name;
  names_.emplace(std::string_view(made.mangled), std::move(name));
  return made;
}

}  // namespace graphtag
