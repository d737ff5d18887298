/* The header in C: every function is called once, wrongly or harmlessly. Returns the line of what went wrong, or 0. */
#include "graphtag/graphtag.h"

#include <string.h>

int graphtag_c_abi(void);

#define EXPECT(condition) \
  if (!(condition)) return __LINE__

int graphtag_c_abi(void) {
  gt_annotation annotation = {0}, other = {0};
  gt_window window = {0};
  gt_scope scope = {0};
  gt_observer observer = 0;
  gt_resolution resolution;
  gt_counters counters;
  uint32_t id = 0;
  uint64_t node = 0;
  size_t length = 0;

  EXPECT(gt_version() == GT_VERSION);
  EXPECT(strcmp(gt_version_string(), "0.1.0") == 0);
  EXPECT(strcmp(gt_status_name(GT_ERROR_REFUSED), "GT_ERROR_REFUSED") == 0);
  EXPECT(gt_last_error() != NULL);
  EXPECT(gt_available(99) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_doctor_json(0, NULL, 0, &length) == GT_OK && length > 2);
  EXPECT(gt_annotation_from_name("attention", GT_NUL, &annotation) == GT_OK && annotation.value != 0);
  EXPECT(gt_annotation_from_json("{\"bs\":8}", GT_NUL, &other) == GT_OK && other.value != annotation.value);
  EXPECT(gt_annotation_merge(annotation, other, &other) == GT_OK);
  EXPECT(gt_annotation_json(other, GT_JSON_PATH, NULL, 0, &length) == GT_OK && length > 2);
  EXPECT(gt_window_open(NULL, NULL) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_window_close(window) == GT_ERROR_INVALID_HANDLE);
  EXPECT(gt_window_add_stream(window, NULL) == GT_ERROR_INVALID_HANDLE);
  EXPECT(gt_window_observer(window, &observer) == GT_ERROR_INVALID_HANDLE);
  EXPECT(gt_active() == 0);
  EXPECT(gt_scope_begin(annotation) == GT_OK);
  EXPECT(gt_scope_begin_name("decoder", 7) == GT_OK);
  EXPECT(gt_scope_end() == GT_OK);
  EXPECT(gt_enter(annotation) == GT_OK && gt_enter_name("") == GT_OK && gt_leave() == GT_OK);
  EXPECT(gt_scope_open(annotation, &scope) == GT_OK && scope.value == 0);
  EXPECT(gt_scope_close(scope) == GT_OK);
  EXPECT(gt_scope_current(&annotation) == GT_OK && annotation.value == 0);
  EXPECT(gt_graph_id(NULL, &id) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_exec_id(NULL, &id) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_node_id(NULL, &node) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_label_graph(NULL, "1", GT_NUL) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_link_exec(NULL, NULL) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_link_body(NULL, NULL, 0) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(strcmp(gt_origin_name(GT_ORIGIN_BOUNDARY_APPROXIMATE), "boundary-approximate") == 0);
  resolution.size = sizeof resolution;
  EXPECT(gt_resolve(1, GT_NOW, &resolution) == GT_OK && resolution.origin == GT_ORIGIN_UNKNOWN_GRAPH);
  EXPECT(gt_snapshot_file(NULL, 0) == GT_ERROR_INVALID_ARGUMENT);
  EXPECT(gt_snapshot_buffer(NULL, 0, &length) == GT_OK && length > 2);
  EXPECT(gt_forget() == GT_OK);
  EXPECT(gt_set_retired_limit((uint64_t)256 << 20) == GT_OK);
  counters.size = sizeof counters;
  EXPECT(gt_counters_get(&counters) == GT_OK);
  return 0;
}
