// The layouts and numbers of CUDA's and CUPTI's C interfaces that graphtag uses, in its own words, so that no vendor header is
// needed to build. They are the same from CUDA 12.0 to 13.x; vendor_test.cpp compares them with the real headers where a toolkit
// is found. For this folder alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "driver/driver.h"

namespace graphtag::vendor {

// CUresult
constexpr std::int32_t kCudaSuccess = 0;
constexpr std::int32_t kCudaInvalidValue = 1;
constexpr std::int32_t kCudaNotInitialized = 3;
constexpr std::int32_t kCudaDeinitialized = 4;
constexpr std::int32_t kCudaStubLibrary = 34;
constexpr std::int32_t kCudaInvalidHandle = 400;

// CUptiResult
constexpr std::int32_t kCuptiSuccess = 0;
constexpr std::int32_t kCuptiInvalidParameter = 1;
constexpr std::int32_t kCuptiNotInitialized = 15;
constexpr std::int32_t kCuptiMultipleSubscribers = 39;

constexpr std::uint32_t kDriverDomain = 1, kRuntimeDomain = 2, kResourceDomain = 3;  // CUPTI_CB_DOMAIN_*

// Callback ids of the driver domain: cuGraphInstantiate, _v2, WithFlags, WithParams, WithParams_ptsz.
constexpr std::array<std::uint32_t, 5> kInstantiations = {513, 578, 643, 656, 657};

// The head of CUpti_CallbackData, for calls of the driver domain.
struct CallData {
  std::int32_t site;
  const char* name;
  const void* params;
};
// The head of the parameters of all of kInstantiations.
struct InstantiateParams {
  ExecHandle* exec;
  GraphHandle graph;
};
constexpr std::int32_t kCallBegins = 0;  // CUPTI_API_ENTER; 1: it returns

// GraphEventKind -> callback id of the resource domain
constexpr std::array<std::uint32_t, kGraphEventKinds> kCallbackIds = {
    9,   // graph_created
    10,  // graph_destroy_starting
    11,  // graph_cloned
    12,  // node_create_starting
    13,  // node_created
    14,  // node_destroy_starting
    15,  // dependency_created
    16,  // dependency_destroy_starting
    17,  // exec_create_starting
    18,  // exec_created
    19,  // exec_destroy_starting
    20,  // node_cloned
    22,  // node_updated
    23,  // node_params_set
};

// CUpti_ResourceData; for graph events `descriptor` points to a GraphData.
struct ResourceData {
  void* context;
  void* resource;
  const void* descriptor;
};

// CUpti_GraphData
struct GraphData {
  GraphHandle graph;
  GraphHandle original_graph;
  NodeHandle node;
  NodeHandle original_node;
  std::int32_t node_type;  // always 0 (kernel) where it was looked at: not used
  NodeHandle dependency;
  ExecHandle exec;
};

using CallbackFunction = void (*)(void* user, std::uint32_t domain, std::uint32_t callback_id, const void* data);

// CUpti_SubscriberParams of CUPTI 13.0; newer ones have more behind it, which `size` tells.
struct SubscriberParams {
  std::size_t size;
  const char* name;
  char* old_name;
  std::size_t old_name_size;
};
constexpr std::size_t kOldNameBytes = 64;  // CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN

// The head of CUgraphNodeParams for a conditional node, padded to the whole.
struct ConditionalNodeParams {
  std::int32_t type;
  std::int32_t reserved[3];
  std::uint64_t handle;
  std::int32_t conditional_type;
  std::uint32_t body_count;
  GraphHandle* bodies;  // the driver's, valid as long as the node
  void* context;
  std::uint64_t padding[26];
};
static_assert(sizeof(ConditionalNodeParams) == 256);

}  // namespace graphtag::vendor
