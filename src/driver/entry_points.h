// The functions that are looked up in libcuda and CUPTI, as one table. For this folder alone.
#pragma once

#include <array>
#include <cstdint>

namespace graphtag {

enum class Library : std::uint8_t { cuda, cupti };

// Rows of kEntrySpecs.
enum class Entry : std::uint8_t {
  driver_get_version,
  init,
  device_get_count,
  device_get_uuid,
  device_get_name,
  graph_get_nodes,
  node_get_type,
  child_get_graph,
  stream_get_capture_info_v2,
  stream_get_capture_info_v3,
  node_get_params,
  node_get_tools_id,
  graph_get_id,
  exec_get_id,
  cupti_get_version,
  cupti_node_id,
  cupti_graph_id,
  cupti_exec_id,
  cupti_result_string,
  cupti_subscribe,
  cupti_subscribe_v2,
  cupti_unsubscribe,
  cupti_enable_callback,
  cupti_timestamp,
  activity_register_callbacks,
  activity_enable,
  activity_disable,
  activity_flush_all,
  activity_next_record,
  activity_dropped,
  activity_push_external_id,
  activity_pop_external_id,
  set_thread_id_type,
  get_thread_id_type,
  cupti_callback_name,
};
constexpr std::size_t kEntries = 35;

struct EntrySpec {
  Entry entry;
  Library library;
  const char* symbol;   // with the version suffix: cuGetProcAddress would hand out another signature on an older driver
  const char* since;    // the first CUDA release that has it, or 12.0
  const char* purpose;  // what it gives
};

constexpr std::array<EntrySpec, kEntries> kEntrySpecs = {{
    {Entry::driver_get_version, Library::cuda, "cuDriverGetVersion", "12.0", "the driver's version"},
    {Entry::init, Library::cuda, "cuInit", "12.0", "listing devices in a program that has not used CUDA"},
    {Entry::device_get_count, Library::cuda, "cuDeviceGetCount", "12.0", "listing devices"},
    {Entry::device_get_uuid, Library::cuda, "cuDeviceGetUuid_v2", "12.0", "which devices an annotation file belongs to"},
    {Entry::device_get_name, Library::cuda, "cuDeviceGetName", "12.0", "the names of devices in recordings"},
    {Entry::graph_get_nodes, Library::cuda, "cuGraphGetNodes", "12.0", "boundaries by counting, node kinds"},
    {Entry::node_get_type, Library::cuda, "cuGraphNodeGetType", "12.0", "node kinds"},
    {Entry::child_get_graph, Library::cuda, "cuGraphChildGraphNodeGetGraph", "12.0", "child graphs without callbacks"},
    {Entry::stream_get_capture_info_v2, Library::cuda, "cuStreamGetCaptureInfo_v2", "12.0", "boundaries from frontiers"},
    {Entry::stream_get_capture_info_v3, Library::cuda, "cuStreamGetCaptureInfo_v3", "12.3", "frontiers with edge data"},
    {Entry::node_get_params, Library::cuda, "cuGraphNodeGetParams", "13.2",
     "conditional bodies without callbacks or gt_link_body"},
    {Entry::node_get_tools_id, Library::cuda, "cuGraphNodeGetToolsId", "13.1", "node ids without CUPTI"},
    {Entry::graph_get_id, Library::cuda, "cuGraphGetId", "13.1", "graph ids without CUPTI"},
    {Entry::exec_get_id, Library::cuda, "cuGraphExecGetId", "13.1", "exec graph ids without CUPTI"},
    {Entry::cupti_get_version, Library::cupti, "cuptiGetVersion", "12.0", "CUPTI's version"},
    {Entry::cupti_node_id, Library::cupti, "cuptiGetGraphNodeId", "12.0", "node ids"},
    {Entry::cupti_graph_id, Library::cupti, "cuptiGetGraphId", "12.0", "graph ids"},
    {Entry::cupti_exec_id, Library::cupti, "cuptiGetGraphExecId", "12.3", "exec graph ids without callbacks"},
    {Entry::cupti_result_string, Library::cupti, "cuptiGetResultString", "12.0", "CUPTI's words for its errors"},
    {Entry::cupti_subscribe, Library::cupti, "cuptiSubscribe", "12.0", "callbacks"},
    {Entry::cupti_subscribe_v2, Library::cupti, "cuptiSubscribe_v2", "13.0", "who holds the subscription"},
    {Entry::cupti_unsubscribe, Library::cupti, "cuptiUnsubscribe", "12.0", "callbacks"},
    {Entry::cupti_enable_callback, Library::cupti, "cuptiEnableCallback", "12.0", "callbacks"},
    {Entry::cupti_timestamp, Library::cupti, "cuptiGetTimestamp", "12.0", "one instant on both clocks"},
    {Entry::activity_register_callbacks, Library::cupti, "cuptiActivityRegisterCallbacks", "12.0", "recordings"},
    {Entry::activity_enable, Library::cupti, "cuptiActivityEnable", "12.0", "recordings"},
    {Entry::activity_disable, Library::cupti, "cuptiActivityDisable", "12.0", "recordings"},
    {Entry::activity_flush_all, Library::cupti, "cuptiActivityFlushAll", "12.0", "recordings"},
    {Entry::activity_next_record, Library::cupti, "cuptiActivityGetNextRecord", "12.0", "recordings"},
    {Entry::activity_dropped, Library::cupti, "cuptiActivityGetNumDroppedRecords", "12.0", "how much a recording lacks"},
    {Entry::activity_push_external_id, Library::cupti, "cuptiActivityPushExternalCorrelationId", "12.0",
     "scopes of work outside graphs in recordings"},
    {Entry::activity_pop_external_id, Library::cupti, "cuptiActivityPopExternalCorrelationId", "12.0",
     "scopes of work outside graphs in recordings"},
    {Entry::set_thread_id_type, Library::cupti, "cuptiSetThreadIdType", "12.0", "the threads of CUDA calls in recordings"},
    {Entry::get_thread_id_type, Library::cupti, "cuptiGetThreadIdType", "12.0", "the threads of CUDA calls in recordings"},
    {Entry::cupti_callback_name, Library::cupti, "cuptiGetCallbackName", "12.0", "the names of CUDA calls in recordings"},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kEntries; ++i) {
    if (kEntrySpecs[i].entry != static_cast<Entry>(i)) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace graphtag
