// The binary interface between NVTX (versions 2 and 3) in a program and a tool injected into it, in our own words, so that no vendor
// header is needed to build; nvtx_abi_test.cpp compares it with the real headers where they are found.
//
//   program: first NVTX call of a library ──▶ dlopen($NVTX_INJECTION64_PATH)
//                                         ──▶ InitializeInjectionNvtx2(export table function of that library's NVTX)
//   tool:    export table 1 ("callbacks") ──▶ for each module an array of places of function pointers, numbered by callback
//            *places[7] = our range end   ──▶ the library's NVTX calls it from now on; places left alone become no-ops
//
// A process has as many NVTXs as it has libraries that were built with NVTX 3, and each initialises the tool anew.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphtag::inject::nvtx {

using FunctionPointer = void (*)();
using FunctionPlaces = FunctionPointer**;  // place -> where the program keeps the pointer

using GetExportTable = const void* (*)(std::uint32_t table_id);
using InitializeInjection = int (*)(GetExportTable);

constexpr std::uint32_t kCallbacksTable = 1;  // NVTX_ETID_CALLBACKS

struct CallbacksTable {
  std::size_t struct_size;
  // 1 if there is such a module; `size` becomes how many places it has, place 0 (unused) included.
  int (*get_module_functions)(std::int32_t module, FunctionPlaces* places, unsigned* size);
};

enum class Module : std::int32_t { core = 1, cuda = 2, opencl = 3, cudart = 4, core2 = 5, sync = 6 };

// Places of Module::core: the default domain.
enum class Core : unsigned {
  mark_ex = 1,
  mark_a = 2,
  mark_w = 3,
  range_start_ex = 4,
  range_start_a = 5,
  range_start_w = 6,
  range_end = 7,
  range_push_ex = 8,
  range_push_a = 9,
  range_push_w = 10,
  range_pop = 11,
  name_category_a = 12,
  name_category_w = 13,
  name_os_thread_a = 14,
  name_os_thread_w = 15,
};
constexpr unsigned kCorePlaces = 16;

// Places of Module::core2: domains.
enum class Core2 : unsigned {
  mark_ex = 1,
  range_start_ex = 2,
  range_end = 3,
  range_push_ex = 4,
  range_pop = 5,
  resource_create = 6,
  resource_destroy = 7,
  name_category_a = 8,
  name_category_w = 9,
  register_string_a = 10,
  register_string_w = 11,
  domain_create_a = 12,
  domain_create_w = 13,
  domain_destroy = 14,
  initialize = 15,
};
constexpr unsigned kCore2Places = 16;

// The one place of Module::sync that is told of a domain.
constexpr unsigned kSyncUserCreate = 1;
constexpr unsigned kSyncPlaces = 7;

// What a push returns where nobody keeps count of depths.
constexpr int kNoPushPopTracking = -2;

// Opaque to the program: the tool's own.
using DomainHandle = void*;
using StringHandle = void*;
using ResourceHandle = void*;
using RangeId = std::uint64_t;

enum class MessageType : std::int32_t { none = 0, ascii = 1, wide = 2, registered = 3 };
enum class PayloadType : std::int32_t { none = 0, u64 = 1, i64 = 2, f64 = 3, u32 = 4, i32 = 5, f32 = 6 };

// nvtxEventAttributes_v2. Programs of NVTX 1 may hand out a shorter one: `size` says.
struct EventAttributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  PayloadType payload_type;
  std::int32_t reserved;
  union {
    std::uint64_t u64;
    std::int64_t i64;
    double f64;
    std::uint32_t u32;
    std::int32_t i32;
    float f32;
  } payload;
  MessageType message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    StringHandle registered;
  } message;
};
static_assert(sizeof(EventAttributes) == 48);

}  // namespace graphtag::inject::nvtx
