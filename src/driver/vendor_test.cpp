// Our layouts and numbers against the real headers, where a toolkit is found.
#include "driver/vendor.h"
#include "driver/vendor_activity.h"

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
static_assert(kInstantiations[0] == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate);
static_assert(kInstantiations[1] == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2);
static_assert(kInstantiations[2] == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags);
static_assert(kInstantiations[3] == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams);
static_assert(kInstantiations[4] == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz);
static_assert(offsetof(CallData, site) == offsetof(CUpti_CallbackData, callbackSite));
static_assert(offsetof(CallData, params) == offsetof(CUpti_CallbackData, functionParams));
static_assert(kCallBegins == CUPTI_API_ENTER);

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

// Of each record the oldest and the newest struct that CUDA 12.0 to 13.x write.
static_assert(offsetof(KernelRecord, kind) == offsetof(CUpti_ActivityKernel9, kind));
static_assert(offsetof(KernelRecord, registers) == offsetof(CUpti_ActivityKernel9, registersPerThread));
static_assert(offsetof(KernelRecord, start) == offsetof(CUpti_ActivityKernel9, start));
static_assert(offsetof(KernelRecord, end) == offsetof(CUpti_ActivityKernel9, end));
static_assert(offsetof(KernelRecord, device) == offsetof(CUpti_ActivityKernel9, deviceId));
static_assert(offsetof(KernelRecord, context) == offsetof(CUpti_ActivityKernel9, contextId));
static_assert(offsetof(KernelRecord, stream) == offsetof(CUpti_ActivityKernel9, streamId));
static_assert(offsetof(KernelRecord, grid) == offsetof(CUpti_ActivityKernel9, gridX));
static_assert(offsetof(KernelRecord, block) == offsetof(CUpti_ActivityKernel9, blockX));
static_assert(offsetof(KernelRecord, static_shared) == offsetof(CUpti_ActivityKernel9, staticSharedMemory));
static_assert(offsetof(KernelRecord, dynamic_shared) == offsetof(CUpti_ActivityKernel9, dynamicSharedMemory));
static_assert(offsetof(KernelRecord, correlation) == offsetof(CUpti_ActivityKernel9, correlationId));
static_assert(offsetof(KernelRecord, name) == offsetof(CUpti_ActivityKernel9, name));
static_assert(offsetof(KernelRecord, graph_node) == offsetof(CUpti_ActivityKernel9, graphNodeId));
static_assert(offsetof(KernelRecord, graph) == offsetof(CUpti_ActivityKernel9, graphId));
static_assert(sizeof(KernelRecord) <= sizeof(CUpti_ActivityKernel9));
static_assert(offsetof(MemcpyRecord, copy_kind) == offsetof(CUpti_ActivityMemcpy5, copyKind));
static_assert(offsetof(MemcpyRecord, source_kind) == offsetof(CUpti_ActivityMemcpy5, srcKind));
static_assert(offsetof(MemcpyRecord, target_kind) == offsetof(CUpti_ActivityMemcpy5, dstKind));
static_assert(offsetof(MemcpyRecord, bytes) == offsetof(CUpti_ActivityMemcpy5, bytes));
static_assert(offsetof(MemcpyRecord, start) == offsetof(CUpti_ActivityMemcpy5, start));
static_assert(offsetof(MemcpyRecord, end) == offsetof(CUpti_ActivityMemcpy5, end));
static_assert(offsetof(MemcpyRecord, device) == offsetof(CUpti_ActivityMemcpy5, deviceId));
static_assert(offsetof(MemcpyRecord, context) == offsetof(CUpti_ActivityMemcpy5, contextId));
static_assert(offsetof(MemcpyRecord, stream) == offsetof(CUpti_ActivityMemcpy5, streamId));
static_assert(offsetof(MemcpyRecord, correlation) == offsetof(CUpti_ActivityMemcpy5, correlationId));
static_assert(offsetof(MemcpyRecord, graph_node) == offsetof(CUpti_ActivityMemcpy5, graphNodeId));
static_assert(offsetof(MemcpyRecord, graph) == offsetof(CUpti_ActivityMemcpy5, graphId));
static_assert(sizeof(MemcpyRecord) <= sizeof(CUpti_ActivityMemcpy5));
static_assert(offsetof(PeerMemcpyRecord, copy_kind) == offsetof(CUpti_ActivityMemcpyPtoP4, copyKind));
static_assert(offsetof(PeerMemcpyRecord, source_kind) == offsetof(CUpti_ActivityMemcpyPtoP4, srcKind));
static_assert(offsetof(PeerMemcpyRecord, target_kind) == offsetof(CUpti_ActivityMemcpyPtoP4, dstKind));
static_assert(offsetof(PeerMemcpyRecord, bytes) == offsetof(CUpti_ActivityMemcpyPtoP4, bytes));
static_assert(offsetof(PeerMemcpyRecord, start) == offsetof(CUpti_ActivityMemcpyPtoP4, start));
static_assert(offsetof(PeerMemcpyRecord, end) == offsetof(CUpti_ActivityMemcpyPtoP4, end));
static_assert(offsetof(PeerMemcpyRecord, device) == offsetof(CUpti_ActivityMemcpyPtoP4, deviceId));
static_assert(offsetof(PeerMemcpyRecord, context) == offsetof(CUpti_ActivityMemcpyPtoP4, contextId));
static_assert(offsetof(PeerMemcpyRecord, stream) == offsetof(CUpti_ActivityMemcpyPtoP4, streamId));
static_assert(offsetof(PeerMemcpyRecord, correlation) == offsetof(CUpti_ActivityMemcpyPtoP4, correlationId));
static_assert(offsetof(PeerMemcpyRecord, graph_node) == offsetof(CUpti_ActivityMemcpyPtoP4, graphNodeId));
static_assert(offsetof(PeerMemcpyRecord, graph) == offsetof(CUpti_ActivityMemcpyPtoP4, graphId));
static_assert(offsetof(PeerMemcpyRecord, source_device) == offsetof(CUpti_ActivityMemcpyPtoP4, srcDeviceId));
static_assert(sizeof(PeerMemcpyRecord) <= sizeof(CUpti_ActivityMemcpyPtoP4));
static_assert(offsetof(MemsetRecord, value) == offsetof(CUpti_ActivityMemset4, value));
static_assert(offsetof(MemsetRecord, bytes) == offsetof(CUpti_ActivityMemset4, bytes));
static_assert(offsetof(MemsetRecord, start) == offsetof(CUpti_ActivityMemset4, start));
static_assert(offsetof(MemsetRecord, end) == offsetof(CUpti_ActivityMemset4, end));
static_assert(offsetof(MemsetRecord, device) == offsetof(CUpti_ActivityMemset4, deviceId));
static_assert(offsetof(MemsetRecord, context) == offsetof(CUpti_ActivityMemset4, contextId));
static_assert(offsetof(MemsetRecord, stream) == offsetof(CUpti_ActivityMemset4, streamId));
static_assert(offsetof(MemsetRecord, correlation) == offsetof(CUpti_ActivityMemset4, correlationId));
static_assert(offsetof(MemsetRecord, memory_kind) == offsetof(CUpti_ActivityMemset4, memoryKind));
static_assert(offsetof(MemsetRecord, graph_node) == offsetof(CUpti_ActivityMemset4, graphNodeId));
static_assert(offsetof(MemsetRecord, graph) == offsetof(CUpti_ActivityMemset4, graphId));
static_assert(sizeof(MemsetRecord) <= sizeof(CUpti_ActivityMemset4));
static_assert(offsetof(ApiRecord, callback_id) == offsetof(CUpti_ActivityAPI, cbid));
static_assert(offsetof(ApiRecord, start) == offsetof(CUpti_ActivityAPI, start));
static_assert(offsetof(ApiRecord, end) == offsetof(CUpti_ActivityAPI, end));
static_assert(offsetof(ApiRecord, thread) == offsetof(CUpti_ActivityAPI, threadId));
static_assert(offsetof(ApiRecord, correlation) == offsetof(CUpti_ActivityAPI, correlationId));
static_assert(offsetof(ApiRecord, return_value) == offsetof(CUpti_ActivityAPI, returnValue));
static_assert(sizeof(ApiRecord) <= sizeof(CUpti_ActivityAPI));
static_assert(offsetof(ExternalRecord, external_kind) == offsetof(CUpti_ActivityExternalCorrelation, externalKind));
static_assert(offsetof(ExternalRecord, external_id) == offsetof(CUpti_ActivityExternalCorrelation, externalId));
static_assert(offsetof(ExternalRecord, correlation) == offsetof(CUpti_ActivityExternalCorrelation, correlationId));
static_assert(sizeof(ExternalRecord) <= sizeof(CUpti_ActivityExternalCorrelation));
static_assert(offsetof(OverheadRecord, overhead_kind) == offsetof(CUpti_ActivityOverhead, overheadKind));
static_assert(offsetof(OverheadRecord, object_kind) == offsetof(CUpti_ActivityOverhead, objectKind));
static_assert(offsetof(OverheadRecord, object) == offsetof(CUpti_ActivityOverhead, objectId));
static_assert(offsetof(OverheadRecord, start) == offsetof(CUpti_ActivityOverhead, start));
static_assert(offsetof(OverheadRecord, end) == offsetof(CUpti_ActivityOverhead, end));
static_assert(sizeof(OverheadRecord) <= sizeof(CUpti_ActivityOverhead));
#if CUPTI_API_VERSION >= 130000
static_assert(offsetof(KernelRecord, kind) == offsetof(CUpti_ActivityKernel10, kind));
static_assert(offsetof(KernelRecord, registers) == offsetof(CUpti_ActivityKernel10, registersPerThread));
static_assert(offsetof(KernelRecord, start) == offsetof(CUpti_ActivityKernel10, start));
static_assert(offsetof(KernelRecord, end) == offsetof(CUpti_ActivityKernel10, end));
static_assert(offsetof(KernelRecord, device) == offsetof(CUpti_ActivityKernel10, deviceId));
static_assert(offsetof(KernelRecord, context) == offsetof(CUpti_ActivityKernel10, contextId));
static_assert(offsetof(KernelRecord, stream) == offsetof(CUpti_ActivityKernel10, streamId));
static_assert(offsetof(KernelRecord, grid) == offsetof(CUpti_ActivityKernel10, gridX));
static_assert(offsetof(KernelRecord, block) == offsetof(CUpti_ActivityKernel10, blockX));
static_assert(offsetof(KernelRecord, static_shared) == offsetof(CUpti_ActivityKernel10, staticSharedMemory));
static_assert(offsetof(KernelRecord, dynamic_shared) == offsetof(CUpti_ActivityKernel10, dynamicSharedMemory));
static_assert(offsetof(KernelRecord, correlation) == offsetof(CUpti_ActivityKernel10, correlationId));
static_assert(offsetof(KernelRecord, name) == offsetof(CUpti_ActivityKernel10, name));
static_assert(offsetof(KernelRecord, graph_node) == offsetof(CUpti_ActivityKernel10, graphNodeId));
static_assert(offsetof(KernelRecord, graph) == offsetof(CUpti_ActivityKernel10, graphId));
static_assert(sizeof(KernelRecord) <= sizeof(CUpti_ActivityKernel10));
static_assert(offsetof(MemcpyRecord, copy_kind) == offsetof(CUpti_ActivityMemcpy6, copyKind));
static_assert(offsetof(MemcpyRecord, source_kind) == offsetof(CUpti_ActivityMemcpy6, srcKind));
static_assert(offsetof(MemcpyRecord, target_kind) == offsetof(CUpti_ActivityMemcpy6, dstKind));
static_assert(offsetof(MemcpyRecord, bytes) == offsetof(CUpti_ActivityMemcpy6, bytes));
static_assert(offsetof(MemcpyRecord, start) == offsetof(CUpti_ActivityMemcpy6, start));
static_assert(offsetof(MemcpyRecord, end) == offsetof(CUpti_ActivityMemcpy6, end));
static_assert(offsetof(MemcpyRecord, device) == offsetof(CUpti_ActivityMemcpy6, deviceId));
static_assert(offsetof(MemcpyRecord, context) == offsetof(CUpti_ActivityMemcpy6, contextId));
static_assert(offsetof(MemcpyRecord, stream) == offsetof(CUpti_ActivityMemcpy6, streamId));
static_assert(offsetof(MemcpyRecord, correlation) == offsetof(CUpti_ActivityMemcpy6, correlationId));
static_assert(offsetof(MemcpyRecord, graph_node) == offsetof(CUpti_ActivityMemcpy6, graphNodeId));
static_assert(offsetof(MemcpyRecord, graph) == offsetof(CUpti_ActivityMemcpy6, graphId));
static_assert(sizeof(MemcpyRecord) <= sizeof(CUpti_ActivityMemcpy6));
static_assert(offsetof(OverheadRecord, overhead_kind) == offsetof(CUpti_ActivityOverhead3, overheadKind));
static_assert(offsetof(OverheadRecord, object_kind) == offsetof(CUpti_ActivityOverhead3, objectKind));
static_assert(offsetof(OverheadRecord, object) == offsetof(CUpti_ActivityOverhead3, objectId));
static_assert(offsetof(OverheadRecord, start) == offsetof(CUpti_ActivityOverhead3, start));
static_assert(offsetof(OverheadRecord, end) == offsetof(CUpti_ActivityOverhead3, end));
static_assert(sizeof(OverheadRecord) <= sizeof(CUpti_ActivityOverhead3));
#endif

static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::kernel)] == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::memcpy)] == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::peer_memcpy)] == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::memset)] == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::driver_call)] == CUPTI_ACTIVITY_KIND_DRIVER);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::runtime_call)] == CUPTI_ACTIVITY_KIND_RUNTIME);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::external_id)] == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
static_assert(kActivityNumbers[static_cast<std::size_t>(ActivityKind::overhead)] == CUPTI_ACTIVITY_KIND_OVERHEAD);
static_assert(kCuptiMaxLimitReached == CUPTI_ERROR_MAX_LIMIT_REACHED);
static_assert(kCuptiQueueEmpty == CUPTI_ERROR_QUEUE_EMPTY);
static_assert(kDriverDomain == CUPTI_CB_DOMAIN_DRIVER_API);
static_assert(kRuntimeDomain == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(kSystemThreadIds == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
static_assert(kExternalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
static_assert(kObjectThread == CUPTI_ACTIVITY_OBJECT_THREAD);

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
