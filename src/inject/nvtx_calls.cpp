// The functions that NVTX calls: thin shells over Names and Ranges, and behind them over the other tool, if there is one. None throws.
#include <utility>

#include "inject/injected.h"

namespace graphtag::inject {
namespace {

using nvtx::Core;
using nvtx::Core2;
using nvtx::DomainHandle;
using nvtx::EventAttributes;
using nvtx::RangeId;
using nvtx::ResourceHandle;
using nvtx::StringHandle;

// What the program gets where there is no memory.
template <typename Result, typename Act>
Result guarded(Result otherwise, Act act) noexcept {
  try {
    Injected* self = injected();
    return self == nullptr ? otherwise : act(*self);
  } catch (...) {
    return otherwise;
  }
}
template <typename Act>
void guarded(Act act) noexcept {
  guarded(0, [&](Injected& self) {
    act(self);
    return 0;
  });
}

Attributes of_text(const char* text) {
  Attributes attributes;
  attributes.text = bounded_view(text);
  return attributes;
}
Attributes of_text(const wchar_t* text) {
  Attributes attributes;
  attributes.wide = text;
  return attributes;
}

// The other tool's function for `place`, called with `arguments` if it wants that.
template <typename Result, typename... Arguments>
Result ask_core(const Injected& self, Core place, Arguments... arguments) {
  const auto function = self.chain.core<Result (*)(Arguments...)>(place);
  return function == nullptr ? Result() : function(arguments...);
}
template <typename Result, typename... Arguments>
Result ask_core2(const Injected& self, Core2 place, Arguments... arguments) {
  const auto function = self.chain.core2<Result (*)(Arguments...)>(place);
  return function == nullptr ? Result() : function(arguments...);
}

void note_range(Injected& self, const Domain& domain, const Attributes& attributes) {
  Session& session = *self.session.load(std::memory_order_acquire);
  if (!session.waits_for_range() || !domain.is_wanted) return;
  session.range_began(attributes.wide != nullptr ? text_of(attributes.wide).utf8 : text_of(attributes.text).utf8);
}

int push(Injected& self, const Domain& domain, const Attributes& attributes) {
  const int depth = self.ranges.push(domain, attributes);
  note_range(self, domain, attributes);
  return depth;
}
RangeId start(Injected& self, const Domain& domain, const Attributes& attributes) {
  const RangeId id = self.ranges.start(domain, attributes);
  note_range(self, domain, attributes);
  return id;
}

// --- the default domain

void mark_ex(const EventAttributes* event) noexcept {
  guarded([&](Injected& self) {
    self.ranges.mark(self.names.domain(nullptr), read_attributes(event));
    if (!self.chain.exists()) return;
    const EventAttributes translated = Chain::translate(event);
    ask_core<void, const EventAttributes*>(self, Core::mark_ex, &translated);
  });
}
template <Core kPlace, typename Char>
void mark(const Char* text) noexcept {
  guarded([&](Injected& self) {
    self.ranges.mark(self.names.domain(nullptr), of_text(text));
    ask_core<void, const Char*>(self, kPlace, text);
  });
}

RangeId range_start_ex(const EventAttributes* event) noexcept {
  return guarded(RangeId{0}, [&](Injected& self) {
    const RangeId id = start(self, self.names.domain(nullptr), read_attributes(event));
    if (!self.chain.exists()) return id;
    const EventAttributes translated = Chain::translate(event);
    self.chain.remember(id, ask_core<RangeId, const EventAttributes*>(self, Core::range_start_ex, &translated));
    return id;
  });
}
template <Core kPlace, typename Char>
RangeId range_start(const Char* text) noexcept {
  return guarded(RangeId{0}, [&](Injected& self) {
    const RangeId id = start(self, self.names.domain(nullptr), of_text(text));
    if (self.chain.exists()) self.chain.remember(id, ask_core<RangeId, const Char*>(self, kPlace, text));
    return id;
  });
}
void range_end(RangeId id) noexcept {
  guarded([&](Injected& self) {
    self.ranges.end(id);
    if (self.chain.exists()) ask_core<void, RangeId>(self, Core::range_end, self.chain.take(id));
  });
}

int range_push_ex(const EventAttributes* event) noexcept {
  return guarded(nvtx::kNoPushPopTracking, [&](Injected& self) {
    const int depth = push(self, self.names.domain(nullptr), read_attributes(event));
    if (!self.chain.exists()) return depth;
    const EventAttributes translated = Chain::translate(event);
    ask_core<int, const EventAttributes*>(self, Core::range_push_ex, &translated);
    return depth;
  });
}
template <Core kPlace, typename Char>
int range_push(const Char* text) noexcept {
  return guarded(nvtx::kNoPushPopTracking, [&](Injected& self) {
    const int depth = push(self, self.names.domain(nullptr), of_text(text));
    ask_core<int, const Char*>(self, kPlace, text);
    return depth;
  });
}
int range_pop() noexcept {
  return guarded(nvtx::kNoPushPopTracking, [&](Injected& self) {
    const int depth = self.ranges.pop(self.names.domain(nullptr));
    ask_core<int>(self, Core::range_pop);
    return depth;
  });
}

template <Core kPlace, typename Char>
void name_category(std::uint32_t category, const Char* name) noexcept {
  guarded([&](Injected& self) {
    self.names.name_category(self.names.domain(nullptr), category, text_of(name));
    ask_core<void, std::uint32_t, const Char*>(self, kPlace, category, name);
  });
}

// --- domains

void domain_mark_ex(DomainHandle handle, const EventAttributes* event) noexcept {
  guarded([&](Injected& self) {
    Domain& domain = self.names.domain(handle);
    self.ranges.mark(domain, read_attributes(event));
    if (!self.chain.exists()) return;
    const EventAttributes translated = Chain::translate(event);
    ask_core2<void, DomainHandle, const EventAttributes*>(self, Core2::mark_ex, domain.other, &translated);
  });
}

RangeId domain_range_start_ex(DomainHandle handle, const EventAttributes* event) noexcept {
  return guarded(RangeId{0}, [&](Injected& self) {
    Domain& domain = self.names.domain(handle);
    const RangeId id = start(self, domain, read_attributes(event));
    if (!self.chain.exists()) return id;
    const EventAttributes translated = Chain::translate(event);
    self.chain.remember(
        id, ask_core2<RangeId, DomainHandle, const EventAttributes*>(self, Core2::range_start_ex, domain.other, &translated));
    return id;
  });
}
void domain_range_end(DomainHandle handle, RangeId id) noexcept {
  guarded([&](Injected& self) {
    self.ranges.end(id);
    if (!self.chain.exists()) return;
    ask_core2<void, DomainHandle, RangeId>(self, Core2::range_end, self.names.domain(handle).other, self.chain.take(id));
  });
}

int domain_range_push_ex(DomainHandle handle, const EventAttributes* event) noexcept {
  return guarded(nvtx::kNoPushPopTracking, [&](Injected& self) {
    Domain& domain = self.names.domain(handle);
    const int depth = push(self, domain, read_attributes(event));
    if (!self.chain.exists()) return depth;
    const EventAttributes translated = Chain::translate(event);
    ask_core2<int, DomainHandle, const EventAttributes*>(self, Core2::range_push_ex, domain.other, &translated);
    return depth;
  });
}
int domain_range_pop(DomainHandle handle) noexcept {
  return guarded(nvtx::kNoPushPopTracking, [&](Injected& self) {
    Domain& domain = self.names.domain(handle);
    const int depth = self.ranges.pop(domain);
    ask_core2<int, DomainHandle>(self, Core2::range_pop, domain.other);
    return depth;
  });
}

template <Core2 kPlace, typename Char>
void domain_name_category(DomainHandle handle, std::uint32_t category, const Char* name) noexcept {
  guarded([&](Injected& self) {
    Domain& domain = self.names.domain(handle);
    self.names.name_category(domain, category, text_of(name));
    ask_core2<void, DomainHandle, std::uint32_t, const Char*>(self, kPlace, domain.other, category, name);
  });
}

template <Core2 kPlace, typename Char>
StringHandle register_string(DomainHandle handle, const Char* text) noexcept {
  return guarded(StringHandle{nullptr}, [&](Injected& self) -> StringHandle {
    Domain& domain = self.names.domain(handle);
    RegisteredString& string = self.names.register_string(domain, text_of(text));
    if (string.other.load() == nullptr)
      string.other.store(ask_core2<StringHandle, DomainHandle, const Char*>(self, kPlace, domain.other, text));
    return &string;
  });
}

template <Core2 kPlace, typename Char>
DomainHandle domain_create(const Char* name) noexcept {
  return guarded(DomainHandle{nullptr}, [&](Injected& self) -> DomainHandle {
    Domain& domain = self.names.create_domain(text_of(name));
    if (domain.id != 0 && domain.other.load() == nullptr)
      domain.other.store(ask_core2<DomainHandle, const Char*>(self, kPlace, name));
    return &domain;
  });
}
void domain_destroy(DomainHandle handle) noexcept {
  guarded([&](Injected& self) {
    Domain& domain = self.names.domain(handle);
    const DomainHandle other = domain.other.load();
    if (other == nullptr) return;
    self.names.destroyed_behind(domain);
    ask_core2<void, DomainHandle>(self, Core2::domain_destroy, other);
  });
}

// --- for the other tool alone: we have nothing to do with these, but they name domains

ResourceHandle resource_create(DomainHandle handle, void* attributes) noexcept {
  return guarded(ResourceHandle{nullptr}, [&](Injected& self) {
    return ask_core2<ResourceHandle, DomainHandle, void*>(self, Core2::resource_create, self.names.domain(handle).other,
                                                          attributes);
  });
}
void* sync_user_create(DomainHandle handle, const void* attributes) noexcept {
  return guarded(static_cast<void*>(nullptr), [&](Injected& self) -> void* {
    const auto function = self.chain.sync_user_create<void* (*)(DomainHandle, const void*)>();
    return function == nullptr ? nullptr : function(self.names.domain(handle).other, attributes);
  });
}

template <typename Function>
nvtx::FunctionPointer pointer(Function* function) {
  return reinterpret_cast<nvtx::FunctionPointer>(function);
}

}  // namespace

bool attach_to_nvtx(nvtx::GetExportTable program, bool with_chain) {
  const auto* table = static_cast<const nvtx::CallbacksTable*>(program(nvtx::kCallbacksTable));
  if (table == nullptr || table->struct_size < sizeof(nvtx::CallbacksTable) || table->get_module_functions == nullptr)
    return false;
  nvtx::FunctionPlaces places = nullptr;
  unsigned size = 0;
  const auto has_module = [&](nvtx::Module module) {
    return table->get_module_functions(static_cast<std::int32_t>(module), &places, &size) != 0 && places != nullptr;
  };
  const auto put = [&](auto place, nvtx::FunctionPointer function) {
    const auto index = static_cast<unsigned>(place);
    if (index < size && places[index] != nullptr) *places[index] = function;
  };
  if (!has_module(nvtx::Module::core)) return false;
  put(Core::mark_ex, pointer(&mark_ex));
  put(Core::mark_a, pointer(&mark<Core::mark_a, char>));
  put(Core::mark_w, pointer(&mark<Core::mark_w, wchar_t>));
  put(Core::range_start_ex, pointer(&range_start_ex));
  put(Core::range_start_a, pointer(&range_start<Core::range_start_a, char>));
  put(Core::range_start_w, pointer(&range_start<Core::range_start_w, wchar_t>));
  put(Core::range_end, pointer(&range_end));
  put(Core::range_push_ex, pointer(&range_push_ex));
  put(Core::range_push_a, pointer(&range_push<Core::range_push_a, char>));
  put(Core::range_push_w, pointer(&range_push<Core::range_push_w, wchar_t>));
  put(Core::range_pop, pointer(&range_pop));
  put(Core::name_category_a, pointer(&name_category<Core::name_category_a, char>));
  put(Core::name_category_w, pointer(&name_category<Core::name_category_w, wchar_t>));

  // NVTX 1 has no domains.
  if (has_module(nvtx::Module::core2)) {
    put(Core2::mark_ex, pointer(&domain_mark_ex));
    put(Core2::range_start_ex, pointer(&domain_range_start_ex));
    put(Core2::range_end, pointer(&domain_range_end));
    put(Core2::range_push_ex, pointer(&domain_range_push_ex));
    put(Core2::range_pop, pointer(&domain_range_pop));
    put(Core2::name_category_a, pointer(&domain_name_category<Core2::name_category_a, char>));
    put(Core2::name_category_w, pointer(&domain_name_category<Core2::name_category_w, wchar_t>));
    put(Core2::register_string_a, pointer(&register_string<Core2::register_string_a, char>));
    put(Core2::register_string_w, pointer(&register_string<Core2::register_string_w, wchar_t>));
    put(Core2::domain_create_a, pointer(&domain_create<Core2::domain_create_a, char>));
    put(Core2::domain_create_w, pointer(&domain_create<Core2::domain_create_w, wchar_t>));
    put(Core2::domain_destroy, pointer(&domain_destroy));
    if (with_chain) put(Core2::resource_create, pointer(&resource_create));
  }
  if (with_chain && has_module(nvtx::Module::sync)) put(nvtx::kSyncUserCreate, pointer(&sync_user_create));
  return true;
}

}  // namespace graphtag::inject
