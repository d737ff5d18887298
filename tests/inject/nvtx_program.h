// The side of NVTX that is compiled into a program, as its documentation tells it: function pointers that a tool may fill in, and calls through them.
// Each object is one NVTX, as each library of a process that was built with NVTX 3 has.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "inject/nvtx_abi.h"

namespace graphtag::inject {

class NvtxProgram {
 public:
  explicit NvtxProgram(nvtx::InitializeInjection tool, bool has_domains = true) : has_domains_(has_domains) {
    fill(core_places_, core_);
    fill(core2_places_, core2_);
    fill(sync_places_, sync_);
    current() = this;
    is_attached_ = tool(&NvtxProgram::export_table) != 0;
    current() = nullptr;
  }
  NvtxProgram(const NvtxProgram&) = delete;
  NvtxProgram& operator=(const NvtxProgram&) = delete;

  bool is_attached() const { return is_attached_; }

  // --- nvtx.h's calls
  int push(const char* text) { return call<int>(core_[9], -2, text); }
  int push(const wchar_t* text) { return call<int>(core_[10], -2, text); }
  int push(const nvtx::EventAttributes& event) { return call<int>(core_[8], -2, &event); }
  int pop() { return call<int>(core_[11], -2); }
  nvtx::RangeId start(const char* text) { return call<nvtx::RangeId>(core_[5], 0, text); }
  nvtx::RangeId start(const wchar_t* text) { return call<nvtx::RangeId>(core_[6], 0, text); }
  nvtx::RangeId start(const nvtx::EventAttributes& event) { return call<nvtx::RangeId>(core_[4], 0, &event); }
  void end(nvtx::RangeId id) { call<void>(core_[7], id); }
  void mark(const char* text) { call<void>(core_[2], text); }
  void mark(const wchar_t* text) { call<void>(core_[3], text); }
  void mark(const nvtx::EventAttributes& event) { call<void>(core_[1], &event); }
  void name_category(std::uint32_t category, const char* name) { call<void>(core_[12], category, name); }
  void name_category(std::uint32_t category, const wchar_t* name) { call<void>(core_[13], category, name); }
  void name_os_thread(std::uint32_t thread, const char* name) { call<void>(core_[14], thread, name); }

  nvtx::DomainHandle create_domain(const char* name) { return call<nvtx::DomainHandle>(core2_[12], nullptr, name); }
  nvtx::DomainHandle create_domain(const wchar_t* name) { return call<nvtx::DomainHandle>(core2_[13], nullptr, name); }
  void destroy_domain(nvtx::DomainHandle domain) { call<void>(core2_[14], domain); }
  nvtx::StringHandle register_string(nvtx::DomainHandle domain, const char* text) {
    return call<nvtx::StringHandle>(core2_[10], nullptr, domain, text);
  }
  nvtx::StringHandle register_string(nvtx::DomainHandle domain, const wchar_t* text) {
    return call<nvtx::StringHandle>(core2_[11], nullptr, domain, text);
  }
  int push(nvtx::DomainHandle domain, const nvtx::EventAttributes& event) { return call<int>(core2_[4], -2, domain, &event); }
  int pop(nvtx::DomainHandle domain) { return call<int>(core2_[5], -2, domain); }
  nvtx::RangeId start(nvtx::DomainHandle domain, const nvtx::EventAttributes& event) {
    return call<nvtx::RangeId>(core2_[2], 0, domain, &event);
  }
  void end(nvtx::DomainHandle domain, nvtx::RangeId id) { call<void>(core2_[3], domain, id); }
  void mark(nvtx::DomainHandle domain, const nvtx::EventAttributes& event) { call<void>(core2_[1], domain, &event); }
  void name_category(nvtx::DomainHandle domain, std::uint32_t category, const char* name) {
    call<void>(core2_[8], domain, category, name);
  }
  nvtx::ResourceHandle create_resource(nvtx::DomainHandle domain, void* attributes) {
    return call<nvtx::ResourceHandle>(core2_[6], nullptr, domain, attributes);
  }
  void destroy_resource(nvtx::ResourceHandle resource) { call<void>(core2_[7], resource); }
  void* create_sync_user(nvtx::DomainHandle domain) {
    return call<void*>(sync_[1], nullptr, domain, static_cast<const void*>(nullptr));
  }
  void destroy_sync_user(void* user) { call<void>(sync_[2], user); }

 private:
  template <typename Result, typename... Arguments>
  static Result call(nvtx::FunctionPointer function, Result otherwise, Arguments... arguments) {
    return function == nullptr ? otherwise : reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
  }
  template <typename Result, typename... Arguments>
  static void call(nvtx::FunctionPointer function, Arguments... arguments) requires std::is_void_v<Result> {
    if (function != nullptr) reinterpret_cast<void (*)(Arguments...)>(function)(arguments...);
  }

  template <std::size_t N>
  static void fill(std::array<nvtx::FunctionPointer*, N + 1>& places, std::array<nvtx::FunctionPointer, N>& functions) {
    for (std::size_t i = 1; i < N; ++i) places[i] = &functions[i];
  }
  static NvtxProgram*& current() {
    thread_local NvtxProgram* program = nullptr;
    return program;
  }
  static int module_functions(std::int32_t module, nvtx::FunctionPlaces* places, unsigned* size) {
    NvtxProgram& self = *current();
    if (module == 1) {
      *places = self.core_places_.data();
      *size = 16;
    } else if (module == 5 && self.has_domains_) {
      *places = self.core2_places_.data();
      *size = 16;
    } else if (module == 6 && self.has_domains_) {
      *places = self.sync_places_.data();
      *size = 7;
    } else {
      return 0;
    }
    return 1;
  }
  static const void* export_table(std::uint32_t id) {
    static const nvtx::CallbacksTable kTable{sizeof kTable, &NvtxProgram::module_functions};
    return id == 1 ? &kTable : nullptr;
  }

  const bool has_domains_;
  bool is_attached_ = false;
  std::array<nvtx::FunctionPointer, 16> core_{}, core2_{};
  std::array<nvtx::FunctionPointer, 7> sync_{};
  std::array<nvtx::FunctionPointer*, 17> core_places_{}, core2_places_{};
  std::array<nvtx::FunctionPointer*, 8> sync_places_{};
};

inline nvtx::EventAttributes event_of(const char* text) {
  nvtx::EventAttributes event{};
  event.version = 3;
  event.size = sizeof event;
  event.message_type = nvtx::MessageType::ascii;
  event.message.ascii = text;
  return event;
}

}  // namespace graphtag::inject
