// The process's recorder and registry behind the C ABI, and annotation ids as handles.
//
//   gt_annotation  | mark of the registry : 32 | annotation id : 32 |      0: no annotation
//
// The mark differs after fork(), where the child begins with an empty registry, so that a parent's handle is found out.
#pragma once

#include <cstdint>

#include "capi/guard.h"
#include "capture/process.h"
#include "graphtag/graphtag.h"

namespace graphtag::capi {

// Never null: throws std::bad_alloc.
Process& this_process();

gt_annotation to_handle(const Process& process, AnnotationId id) noexcept;
// False, with the error set, if the handle is none that this process was given.
bool from_handle(const Process& process, gt_annotation handle, AnnotationId& id) noexcept;

}  // namespace graphtag::capi
