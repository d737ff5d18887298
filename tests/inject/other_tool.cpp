// Another tool that a program was to be injected with: it writes down each call that it gets, with its own handles. Handles: domains 0xd1, 0xd2 ..;
// strings 0x51, 0x52 ..; ranges 1001, 1002 ..; resources 0xe1 ..; sync users 0xf1 ...
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>

#include "inject/nvtx_abi.h"

namespace {

using namespace graphtag::inject::nvtx;  // NOLINT(google-build-using-namespace)

std::mutex mutex;
std::string log_text;
std::atomic<std::uint64_t> domains{0xd0}, strings{0x50}, ranges{1000}, resources{0xe0}, users{0xf0};

template <typename... Parts>
void write(Parts... parts) {
  std::ostringstream line;
  ((line << parts << ' '), ...);
  const std::lock_guard lock(mutex);
  std::string text = line.str();
  text.back() = '\n';
  log_text += text;
  // Where it is loaded into a program of its own, a file tells.
  if (const char* path = std::getenv("OTHER_TOOL_LOG")) std::ofstream(path, std::ios::app) << text;
}

std::string number(const void* handle) {
  std::ostringstream text;
  text << std::hex << reinterpret_cast<std::uintptr_t>(handle);
  return text.str();
}
void* handle(std::uint64_t value) {
  return reinterpret_cast<void*>(value);
}
std::string narrow(const wchar_t* text) {
  std::string result;
  for (; *text != 0; ++text) result += static_cast<char>(*text);
  return result;
}
std::string message(const EventAttributes* event) {
  switch (event->message_type) {
    case MessageType::ascii:
      return event->message.ascii;
    case MessageType::wide:
      return narrow(event->message.wide);
    case MessageType::registered:
      return "string " + number(event->message.registered);
    default:
      return "nothing";
  }
}

int module_core(FunctionPlaces places, unsigned size) {
  const auto put = [&](Core place, auto function) {
    if (static_cast<unsigned>(place) < size) *places[static_cast<unsigned>(place)] = reinterpret_cast<FunctionPointer>(+function);
  };
  put(Core::mark_ex, [](const EventAttributes* event) { write("mark", message(event)); });
  put(Core::mark_a, [](const char* text) { write("mark_a", text); });
  put(Core::mark_w, [](const wchar_t* text) { write("mark_w", narrow(text)); });
  put(Core::range_start_ex, [](const EventAttributes* event) -> RangeId {
    write("start", message(event));
    return ++ranges;
  });
  put(Core::range_start_a, [](const char* text) -> RangeId {
    write("start_a", text);
    return ++ranges;
  });
  put(Core::range_start_w, [](const wchar_t* text) -> RangeId {
    write("start_w", narrow(text));
    return ++ranges;
  });
  put(Core::range_end, [](RangeId id) { write("end", id); });
  put(Core::range_push_ex, [](const EventAttributes* event) -> int {
    write("push", message(event));
    return 77;
  });
  put(Core::range_push_a, [](const char* text) -> int {
    write("push_a", text);
    return 77;
  });
  put(Core::range_push_w, [](const wchar_t* text) -> int {
    write("push_w", narrow(text));
    return 77;
  });
  put(Core::range_pop, []() -> int {
    write("pop");
    return 77;
  });
  put(Core::name_category_a, [](std::uint32_t category, const char* name) { write("category_a", category, name); });
  put(Core::name_category_w, [](std::uint32_t category, const wchar_t* name) { write("category_w", category, narrow(name)); });
  put(Core::name_os_thread_a, [](std::uint32_t thread, const char* name) { write("thread", thread, name); });
  return 1;
}

void module_core2(FunctionPlaces places) {
  const auto put = [&](Core2 place, auto function) {
    *places[static_cast<unsigned>(place)] = reinterpret_cast<FunctionPointer>(+function);
  };
  put(Core2::mark_ex,
      [](DomainHandle domain, const EventAttributes* event) { write("domain_mark", number(domain), message(event)); });
  put(Core2::range_start_ex, [](DomainHandle domain, const EventAttributes* event) -> RangeId {
    write("domain_start", number(domain), message(event));
    return ++ranges;
  });
  put(Core2::range_end, [](DomainHandle domain, RangeId id) { write("domain_end", number(domain), id); });
  put(Core2::range_push_ex, [](DomainHandle domain, const EventAttributes* event) -> int {
    write("domain_push", number(domain), message(event));
    return 77;
  });
  put(Core2::range_pop, [](DomainHandle domain) -> int {
    write("domain_pop", number(domain));
    return 77;
  });
  put(Core2::resource_create, [](DomainHandle domain, void*) -> ResourceHandle {
    write("resource", number(domain));
    return handle(++resources);
  });
  put(Core2::resource_destroy, [](ResourceHandle resource) { write("resource_destroy", number(resource)); });
  put(Core2::name_category_a, [](DomainHandle domain, std::uint32_t category, const char* name) {
    write("domain_category", number(domain), category, name);
  });
  put(Core2::register_string_a, [](DomainHandle domain, const char* text) -> StringHandle {
    write("string_a", number(domain), text);
    return handle(++strings);
  });
  put(Core2::register_string_w, [](DomainHandle domain, const wchar_t* text) -> StringHandle {
    write("string_w", number(domain), narrow(text));
    return handle(++strings);
  });
  put(Core2::domain_create_a, [](const char* name) -> DomainHandle {
    write("domain_a", name);
    return handle(++domains);
  });
  put(Core2::domain_create_w, [](const wchar_t* name) -> DomainHandle {
    write("domain_w", narrow(name));
    return handle(++domains);
  });
  put(Core2::domain_destroy, [](DomainHandle domain) { write("domain_destroy", number(domain)); });
}

void module_sync(FunctionPlaces places) {
  *places[1] = reinterpret_cast<FunctionPointer>(+[](DomainHandle domain, const void*) -> void* {
    write("sync_user", number(domain));
    return handle(++users);
  });
  *places[2] = reinterpret_cast<FunctionPointer>(+[](void* user) { write("sync_user_destroy", number(user)); });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int InitializeInjection() {
  write("cuda");
  return 1;
}

int InitializeInjectionNvtx2(GetExportTable tables) {
  const auto* table = static_cast<const CallbacksTable*>(tables(kCallbacksTable));
  FunctionPlaces places = nullptr;
  unsigned size = 0;
  write("nvtx");
  if (table->get_module_functions(1, &places, &size) != 0) module_core(places, size);
  if (table->get_module_functions(5, &places, &size) != 0) module_core2(places);
  if (table->get_module_functions(6, &places, &size) != 0) module_sync(places);
  return 1;
}

// What was written down since the last time. Ranges are counted anew.
const char* other_tool_log() {
  static std::string taken;
  const std::lock_guard lock(mutex);
  taken = std::move(log_text);
  log_text.clear();
  ranges = 1000;
  return taken.c_str();
}
}
#pragma GCC visibility pop
