// gt_scope: what nodes are called.
#include "capi/handles.h"
#include "capi/recordings.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

namespace {

gt_status changed(Process& self, RecordStatus status) {
  if (status == RecordStatus::ok) note_scopes(self);
  return from_record_status(status, "the scope");
}

}  // namespace

extern "C" {

gt_status gt_scope_begin(gt_annotation annotation) noexcept {
  if (!gt_active()) return GT_OK;
  return guard([&] {
    Process& self = this_process();
    AnnotationId id;
    if (!from_handle(self, annotation, id)) return gt_status{GT_ERROR_INVALID_HANDLE};
    return changed(self, self.recorder.begin_scope(id));
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
  return guard([&] {
    Process& self = this_process();
    return changed(self, self.recorder.end_scope());
  });
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
    const gt_status status = changed(self, self.recorder.open_scope(id, opened));
    if (status == GT_OK) scope->value = static_cast<std::uint64_t>(opened);
    return status;
  });
}

gt_status gt_scope_close(gt_scope scope) noexcept {
  if (scope.value == 0) return GT_OK;
  return guard([&] {
    Process& self = this_process();
    return changed(self, self.recorder.close_scope(ScopeId{scope.value}));
  });
}

gt_status gt_scope_close_anywhere(gt_scope scope) noexcept {
  if (scope.value == 0) return GT_OK;
  return guard([&] {
    Process& self = this_process();
    return changed(self, self.recorder.close_scope_of_any_thread(ScopeId{scope.value}));
  });
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
