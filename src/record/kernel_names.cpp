#include "record/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

#include "model/ids.h"

namespace graphtag {

KernelNames::Name& KernelNames::of(const char* mangled) {
  Recent& recent = recent_[mix_bits(reinterpret_cast<std::uintptr_t>(mangled)) % recent_.size()];
  if (mangled == nullptr || recent.mangled != mangled || std::strcmp(recent.name->mangled.c_str(), mangled) != 0) {
    Name& name = find_or_make(mangled);  // may forget all recent ones
    recent = {mangled, &name};
  }
  return *recent.name;
}

KernelNames::Name& KernelNames::find_or_make(const char* mangled) {
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
    recent_.fill({});
    bytes_ = 0;
  }
  bytes_ += bytes;
  Name& made = *name;
  names_.emplace(std::string_view(made.mangled), std::move(name));
  return made;
}

}  // namespace graphtag
