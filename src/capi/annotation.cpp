// gt_annotation: from names and JSON, and back.
#include "base/json.h"

#include <nlohmann/json.hpp>

#include "capi/handles.h"
#include "model/pickle_text.h"

uint32_t gt_active_windows = 0;

namespace graphtag::capi {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

std::uint32_t mark_of(const Process& process) noexcept {
  return static_cast<std::uint32_t>(mix_bits(reinterpret_cast<std::uintptr_t>(&process))) | 1;
}

}  // namespace

Process& this_process() {
  Process* found = process(&gt_active_windows);
  if (found == nullptr) throw std::bad_alloc();
  return *found;
}

gt_annotation to_handle(const Process& process, AnnotationId id) noexcept {
  if (id == AnnotationId::none) return {0};
  return {std::uint64_t{mark_of(process)} << 32 | static_cast<std::uint32_t>(id)};
}

bool from_handle(const Process& process, gt_annotation handle, AnnotationId& id) noexcept {
  id = AnnotationId::none;
  if (handle.value == 0) return true;
  const auto number = static_cast<AnnotationId>(static_cast<std::uint32_t>(handle.value));
  if (handle.value >> 32 != mark_of(process) || number == AnnotationId::none || !process.registry.knows(number)) {
    fail(GT_ERROR_INVALID_HANDLE, "this gt_annotation was not made in this process (a child of fork() makes its own)");
    return false;
  }
  id = number;
  return true;
}

namespace {

gt_status from_name(std::string_view name, AnnotationId& id) {
  if (name.empty() || name.size() > kMaxBytes || !is_utf8(name)) {
    return fail(GT_ERROR_INVALID_ARGUMENT, "a name must be UTF-8, at least 1 byte and at most 1 MiB long");
  }
  id = this_process().registry.name(name);
  return id != AnnotationId::none
             ? GT_OK
             : fail(GT_ERROR_TOO_LARGE, "there are too many distinct annotations; put what varies into labels instead");
}

}  // namespace
}  // namespace graphtag::capi

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

gt_status gt_annotation_from_name(const char* name, size_t length, gt_annotation* annotation) noexcept {
  return guard([&] {
    std::string_view text;
    if (annotation == nullptr || !take_text(name, length, text)) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    AnnotationId id = AnnotationId::none;
    const gt_status status = from_name(text, id);
    if (status == GT_OK) *annotation = to_handle(this_process(), id);
    return status;
  });
}

gt_status gt_annotation_from_json(const char* json, size_t length, gt_annotation* annotation) noexcept {
  return guard([&] {
    std::string_view text;
    if (annotation == nullptr || !take_text(json, length, text)) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    Result<Json> value = parse_json(text, {}, JsonLimits{kMaxBytes, 64});
    if (!value) return fail(value.error());
    AnnotationId id = AnnotationId::none;
    if (value->is_string()) {
      const gt_status status = from_name(value->get_ref<const std::string&>(), id);
      if (status != GT_OK) return status;
    } else {
      const Result<AnnotationId> interned = this_process().registry.annotation(std::move(value).value());
      if (!interned) return fail(interned.error());
      id = interned.value();
    }
    *annotation = to_handle(this_process(), id);
    return gt_status{GT_OK};
  });
}

gt_status gt_annotation_merge(gt_annotation outer, gt_annotation inner, gt_annotation* merged) noexcept {
  return guard([&] {
    if (merged == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer");
    Process& self = this_process();
    AnnotationId a, b;
    if (!from_handle(self, outer, a) || !from_handle(self, inner, b)) return gt_status{GT_ERROR_INVALID_HANDLE};
    *merged = to_handle(self, self.registry.merge(a, b));
    return gt_status{GT_OK};
  });
}

gt_status gt_annotation_json(gt_annotation annotation, uint32_t flags, char* buffer, size_t capacity, size_t* length) noexcept {
  return guard([&] {
    if ((flags & ~std::uint32_t{GT_JSON_PATH}) != 0) return fail(GT_ERROR_INVALID_ARGUMENT, "an unknown flag");
    Process& self = this_process();
    AnnotationId id;
    if (!from_handle(self, annotation, id)) return gt_status{GT_ERROR_INVALID_HANDLE};
    const Annotation& found = self.registry[id];
    if ((flags & GT_JSON_PATH) == 0 || found.path.empty()) return put_text(dump_json(*found.object), buffer, capacity, length);
    Json with_path = *found.object;
    with_path["graphtag.path"] = found.path;
    return put_text(dump_json(with_path), buffer, capacity, length);
  });
}
}
