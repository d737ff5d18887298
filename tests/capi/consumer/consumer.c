#include <graphtag/graphtag.h>
#include <stdio.h>

int main(void) {
  size_t length = 0;
  if (gt_version() != GT_VERSION || gt_active()) return 1;
  if (gt_scope_begin_name("consumer", GT_NUL) != GT_OK || gt_scope_end() != GT_OK) return 2;
  if (gt_doctor_json(0, NULL, 0, &length) != GT_OK || length == 0) return 3;
  printf("C: graphtag %s\n", gt_version_string());
  return 0;
}
