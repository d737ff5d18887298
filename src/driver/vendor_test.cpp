// Our layouts and numbers against the real headers, where a toolkit is found.
#include "driver/vendor.h"

#include <gtest/gtest.h>

#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cupti.h>

namespace graphtag::vendor {
namespace {

constexpr std::uint32_t callback_id(GraphEventKind kind) {
  return kCallbackIds[static_cast<std::size_t>(kind)];
}

static_assert(kCudaSuccess == CUDA_SUCCESS);
static_assert(kCudaInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(kCudaNotInitialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(kCudaDeinitialized == CUDA_ERROR_DEINITIALIZED);
static_assert(kCudaStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(kCudaInvalidHandle == CUDA_ERROR_INVALID_HANDLE);
static_assert(kCuptiSuccess == CUPTI_SUCCESS);
static_assert(kCuptiInvalidParameter == CUPTI_ERROR_INVALID_PARAMETER);
static_assert(kCuptiNotInitialized == CUPTI_ERROR_NOT_INITIALIZED);
static_assert(kCuptiMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kResourceDomain == CUPTI_CB_DOMAIN_RESOURCE);

static_assert(callback_id(GraphEventKind::graph_created) == CUPTI_CBID_RESOURCE_GRAPH_CREATED);
static_assert(callback_id(GraphEventKind::graph_destroy_starting) == CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
static_assert(callback_id(GraphEventKind::graph_cloned) == CUPTI_CBID_RESOURCE_GRAPH_CLONED);
static_assert(callback_id(GraphEventKind::node_create_starting) == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING);
static_assert(callback_id(GraphEventKind::node_created) == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
static_assert(callback_id(GraphEventKind::node_destroy_starting) == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
static_assert(callback_id(GraphEventKind::dependency_created) == CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED);
static_assert(callback_id(GraphEventKind::dependency_destroy_starting) ==
              CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING);
static_assert(callback_id(GraphEventKind::exec_create_starting) == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
static_assert(callback_id(GraphEventKind::exec_created) == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
static_assert(callback_id(GraphEventKind::exec_destroy_starting) == CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
static_assert(callback_id(GraphEventKind::node_cloned) == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
#if CUPTI_API_VERSION >= 130000
static_assert(callback_id(GraphEventKind::node_updated) == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
static_assert(callback_id(GraphEventKind::node_params_set) == CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS);
static_assert(sizeof(SubscriberParams) == CUpti_SubscriberParams_STRUCT_SIZE || CUPTI_API_VERSION > 130001);
static_assert(offsetof(SubscriberParams, name) == offsetof(CUpti_SubscriberParams, subscriberName));
static_assert(offsetof(SubscriberParams, old_name) == offsetof(CUpti_SubscriberParams, oldSubscriberName));
static_assert(offsetof(SubscriberParams, old_name_size) == offsetof(CUpti_SubscriberParams, oldSubscriberSize));
static_assert(kOldNameBytes == CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif

static_assert(sizeof(ResourceData) == sizeof(CUpti_ResourceData));
static_assert(offsetof(ResourceData, descriptor) == offsetof(CUpti_ResourceData, resourceDescriptor));
static_assert(sizeof(GraphData) == sizeof(CUpti_GraphData));
static_assert(offsetof(GraphData, graph) == offsetof(CUpti_GraphData, graph));
static_assert(offsetof(GraphData, original_graph) == offsetof(CUpti_GraphData, originalGraph));
static_assert(offsetof(GraphData, node) == offsetof(CUpti_GraphData, node));
static_assert(offsetof(GraphData, original_node) == offsetof(CUpti_GraphData, originalNode));
static_assert(offsetof(GraphData, dependency) == offsetof(CUpti_GraphData, dependency));
static_assert(offsetof(GraphData, exec) == offsetof(CUpti_GraphData, graphExec));

static_assert(sizeof(ConditionalNodeParams) == sizeof(CUgraphNodeParams));
static_assert(offsetof(ConditionalNodeParams, handle) == offsetof(CUgraphNodeParams, conditional));
static_assert(offsetof(ConditionalNodeParams, body_count) ==
              offsetof(CUgraphNodeParams, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, size));
static_assert(offsetof(ConditionalNodeParams, bodies) ==
              offsetof(CUgraphNodeParams, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out));

static_assert(static_cast<int>(NodeType::kernel) == CU_GRAPH_NODE_TYPE_KERNEL);
static_assert(static_cast<int>(NodeType::memcpy) == CU_GRAPH_NODE_TYPE_MEMCPY);
static_assert(static_cast<int>(NodeType::memset) == CU_GRAPH_NODE_TYPE_MEMSET);
static_assert(static_cast<int>(NodeType::host) == CU_GRAPH_NODE_TYPE_HOST);
static_assert(static_cast<int>(NodeType::child_graph) == CU_GRAPH_NODE_TYPE_GRAPH);
static_assert(static_cast<int>(NodeType::empty) == CU_GRAPH_NODE_TYPE_EMPTY);
static_assert(static_cast<int>(NodeType::event_wait) == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
static_assert(static_cast<int>(NodeType::event_record) == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
static_assert(static_cast<int>(NodeType::semaphore_signal) == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
static_assert(static_cast<int>(NodeType::semaphore_wait) == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
static_assert(static_cast<int>(NodeType::memory_alloc) == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
static_assert(static_cast<int>(NodeType::memory_free) == CU_GRAPH_NODE_TYPE_MEM_FREE);
static_assert(static_cast<int>(NodeType::batch_memory_op) == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
static_assert(static_cast<int>(NodeType::conditional) == CU_GRAPH_NODE_TYPE_CONDITIONAL);
static_assert(static_cast<int>(CaptureStatus::none) == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(static_cast<int>(CaptureStatus::active) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
static_assert(static_cast<int>(CaptureStatus::invalidated) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);

TEST(Vendor, LayoutsAndNumbersAreThoseOfTheToolkit) {
  // The comparisons are above; a program that links has passed them.
  EXPECT_EQ(sizeof(NodeType), sizeof(CUgraphNodeType));
  EXPECT_EQ(sizeof(CaptureStatus), sizeof(CUstreamCaptureStatus));
}

}  // namespace
}  // namespace graphtag::vendor

#else

TEST(Vendor, LayoutsAndNumbersAreThoseOfTheToolkit) {
  GTEST_SKIP() << "no CUDA toolkit with CUPTI on this machine";
}

#endif
