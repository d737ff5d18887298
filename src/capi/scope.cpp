// gt_scope: what nodes are called.
#include "capi/handles.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

gt_status gt_scope_begin(gt_annotation annotation) noexcept {
  if (!gt_active()) return GT_OK;
  return guard([&] {
    Process& self = this_process();
    AnnotationId id;
    if (!from_handle(self, annotation, id)) return gt_status{GT_ERROR_INVALID_HANDLE};
    return from_record_status(self.recorder.begin_scope(id), "the scope");
  });
}

gt_status gt_scope_begin_name(const char* name, size_t length) noexcept {
  if (!gt_active()) return GT_OK;
  gt_annotation annotation;
  const gt_status status = gt_annotation_from_name(name, length, &annotation);
  return status == GT_OK ? gt_scope_begin(annotation) : status;
}

gt_status gt_scope_end(void) noexcept {
  if (!gt_active()) return GT_OK;
  return guard([&] { return from_record_status(this_process().recorder.end_scope(), "the scope"); });
}

gt_status gt_scope_open(gt_annotation annotation, gt_scope* scope) noexcept {
  if (scope == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the scope");
  if (!gt_active()) {
    scope->value = 0;
    return GT_OK;
  }
  return guard([&] {
    Process& self = this_process();
    AnnotationId id;
    if (!from_handle(self, annotation, id)) return gt_status{GT_ERROR_INVALID_HANDLE};
    ScopeId opened = ScopeId::none;
    const gt_status status = from_record_status(self.recorder.open_scope(id, opened), "the scope");
    if (status == GT_OK) scope->value = static_cast<std::uint64_t>(opened);
    return status;
  });
}

gt_status gt_scope_close(gt_scope scope) noexcept {
  if (scope.value == 0) return GT_OK;
  return guard([&] { return from_record_status(this_process().recorder.close_scope(ScopeId{scope.value}), "the scope"); });
}

gt_status gt_scope_current(gt_annotation* annotation) noexcept {
  return guard([&] {
    if (annotation == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the annotation");
    Process& self = this_process();
    *annotation = to_handle(self, self.recorder.current());
    return gt_status{GT_OK};
  });
}
}
