// Our layouts and numbers against NVTX's own headers, where they are found.
#include "inject/nvtx_abi.h"

#include <gtest/gtest.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include <type_traits>

namespace graphtag::inject::nvtx {
namespace {

static_assert(static_cast<int>(Module::core) == NVTX_CB_MODULE_CORE);
static_assert(static_cast<int>(Module::cuda) == NVTX_CB_MODULE_CUDA);
static_assert(static_cast<int>(Module::opencl) == NVTX_CB_MODULE_OPENCL);
static_assert(static_cast<int>(Module::cudart) == NVTX_CB_MODULE_CUDART);
static_assert(static_cast<int>(Module::core2) == NVTX_CB_MODULE_CORE2);
static_assert(static_cast<int>(Module::sync) == NVTX_CB_MODULE_SYNC);
static_assert(kCallbacksTable == NVTX_ETID_CALLBACKS);

static_assert(static_cast<int>(Core::mark_ex) == NVTX_CBID_CORE_MarkEx);
static_assert(static_cast<int>(Core::mark_a) == NVTX_CBID_CORE_MarkA);
static_assert(static_cast<int>(Core::mark_w) == NVTX_CBID_CORE_MarkW);
static_assert(static_cast<int>(Core::range_start_ex) == NVTX_CBID_CORE_RangeStartEx);
static_assert(static_cast<int>(Core::range_start_a) == NVTX_CBID_CORE_RangeStartA);
static_assert(static_cast<int>(Core::range_start_w) == NVTX_CBID_CORE_RangeStartW);
static_assert(static_cast<int>(Core::range_end) == NVTX_CBID_CORE_RangeEnd);
static_assert(static_cast<int>(Core::range_push_ex) == NVTX_CBID_CORE_RangePushEx);
static_assert(static_cast<int>(Core::range_push_a) == NVTX_CBID_CORE_RangePushA);
static_assert(static_cast<int>(Core::range_push_w) == NVTX_CBID_CORE_RangePushW);
static_assert(static_cast<int>(Core::range_pop) == NVTX_CBID_CORE_RangePop);
static_assert(static_cast<int>(Core::name_category_a) == NVTX_CBID_CORE_NameCategoryA);
static_assert(static_cast<int>(Core::name_category_w) == NVTX_CBID_CORE_NameCategoryW);
static_assert(static_cast<int>(Core::name_os_thread_a) == NVTX_CBID_CORE_NameOsThreadA);
static_assert(static_cast<int>(Core::name_os_thread_w) == NVTX_CBID_CORE_NameOsThreadW);
static_assert(kCorePlaces == NVTX_CBID_CORE_SIZE);

static_assert(static_cast<int>(Core2::mark_ex) == NVTX_CBID_CORE2_DomainMarkEx);
static_assert(static_cast<int>(Core2::range_start_ex) == NVTX_CBID_CORE2_DomainRangeStartEx);
static_assert(static_cast<int>(Core2::range_end) == NVTX_CBID_CORE2_DomainRangeEnd);
static_assert(static_cast<int>(Core2::range_push_ex) == NVTX_CBID_CORE2_DomainRangePushEx);
static_assert(static_cast<int>(Core2::range_pop) == NVTX_CBID_CORE2_DomainRangePop);
static_assert(static_cast<int>(Core2::resource_create) == NVTX_CBID_CORE2_DomainResourceCreate);
static_assert(static_cast<int>(Core2::resource_destroy) == NVTX_CBID_CORE2_DomainResourceDestroy);
static_assert(static_cast<int>(Core2::name_category_a) == NVTX_CBID_CORE2_DomainNameCategoryA);
static_assert(static_cast<int>(Core2::name_category_w) == NVTX_CBID_CORE2_DomainNameCategoryW);
static_assert(static_cast<int>(Core2::register_string_a) == NVTX_CBID_CORE2_DomainRegisterStringA);
static_assert(static_cast<int>(Core2::register_string_w) == NVTX_CBID_CORE2_DomainRegisterStringW);
static_assert(static_cast<int>(Core2::domain_create_a) == NVTX_CBID_CORE2_DomainCreateA);
static_assert(static_cast<int>(Core2::domain_create_w) == NVTX_CBID_CORE2_DomainCreateW);
static_assert(static_cast<int>(Core2::domain_destroy) == NVTX_CBID_CORE2_DomainDestroy);
static_assert(static_cast<int>(Core2::initialize) == NVTX_CBID_CORE2_Initialize);
static_assert(kCore2Places == NVTX_CBID_CORE2_SIZE);
static_assert(kSyncUserCreate == NVTX_CBID_SYNC_DomainSyncUserCreate);
static_assert(kSyncPlaces == NVTX_CBID_SYNC_SIZE);
static_assert(kNoPushPopTracking == NVTX_NO_PUSH_POP_TRACKING);

static_assert(sizeof(CallbacksTable) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(CallbacksTable, get_module_functions) == offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(sizeof(FunctionPlaces) == sizeof(NvtxFunctionTable));
static_assert(sizeof(RangeId) == sizeof(nvtxRangeId_t) && std::is_unsigned_v<nvtxRangeId_t>);

static_assert(static_cast<int>(MessageType::none) == NVTX_MESSAGE_UNKNOWN);
static_assert(static_cast<int>(MessageType::ascii) == NVTX_MESSAGE_TYPE_ASCII);
static_assert(static_cast<int>(MessageType::wide) == NVTX_MESSAGE_TYPE_UNICODE);
static_assert(static_cast<int>(MessageType::registered) == NVTX_MESSAGE_TYPE_REGISTERED);
static_assert(static_cast<int>(PayloadType::none) == NVTX_PAYLOAD_UNKNOWN);
static_assert(static_cast<int>(PayloadType::u64) == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
static_assert(static_cast<int>(PayloadType::i64) == NVTX_PAYLOAD_TYPE_INT64);
static_assert(static_cast<int>(PayloadType::f64) == NVTX_PAYLOAD_TYPE_DOUBLE);
static_assert(static_cast<int>(PayloadType::u32) == NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
static_assert(static_cast<int>(PayloadType::i32) == NVTX_PAYLOAD_TYPE_INT32);
static_assert(static_cast<int>(PayloadType::f32) == NVTX_PAYLOAD_TYPE_FLOAT);

static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
static_assert(offsetof(EventAttributes, size) == offsetof(nvtxEventAttributes_t, size));
static_assert(offsetof(EventAttributes, category) == offsetof(nvtxEventAttributes_t, category));
static_assert(offsetof(EventAttributes, color) == offsetof(nvtxEventAttributes_t, color));
static_assert(offsetof(EventAttributes, payload_type) == offsetof(nvtxEventAttributes_t, payloadType));
static_assert(offsetof(EventAttributes, payload) == offsetof(nvtxEventAttributes_t, payload));
static_assert(offsetof(EventAttributes, message_type) == offsetof(nvtxEventAttributes_t, messageType));
static_assert(offsetof(EventAttributes, message) == offsetof(nvtxEventAttributes_t, message));

}  // namespace
}  // namespace graphtag::inject::nvtx
#endif

// The numbers that a program of any NVTX relies on, from its documentation.
TEST(NvtxAbi, AttributesAreAsDocumented) {
  using graphtag::inject::nvtx::EventAttributes;
  EXPECT_EQ(sizeof(EventAttributes), 48u);
  EXPECT_EQ(offsetof(EventAttributes, payload), 24u);
  EXPECT_EQ(offsetof(EventAttributes, message), 40u);
}
