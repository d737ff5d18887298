// The order in which analyses walk the records.
#pragma once

#include "base/grow_array.h"
#include "model/gpu_operation.h"

namespace graphtag {

// Whether `a` comes first: by device and start; ties by fields that do not depend on the order in the file.
bool starts_before(const GpuOperation& a, const GpuOperation& b);

// In place, O(n) where the order is right already.
void sort_by_start(GrowArray<GpuOperation>& operations);

}  // namespace graphtag
