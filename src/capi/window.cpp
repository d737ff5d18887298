// gt_window: when nodes are observed.
#include <vector>

#include "capi/handles.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::capi;  // NOLINT(google-build-using-namespace)

static_assert(GT_OBSERVER_AUTO == static_cast<int>(ObserverChoice::automatic));
static_assert(GT_OBSERVER_CALLBACKS == static_cast<int>(ObserverChoice::callbacks));
static_assert(GT_OBSERVER_BOUNDARY == static_cast<int>(ObserverChoice::boundary));
static_assert(GT_OBSERVER_NONE == static_cast<int>(ObserverChoice::none));

namespace {

StreamHandle stream_handle(const void* stream) {
  return static_cast<StreamHandle>(const_cast<void*>(stream));
}

}  // namespace

extern "C" {

gt_status gt_window_open(const gt_window_options* options, gt_window* window) noexcept {
  return guard([&] {
    if (window == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the window");
    WindowOptions wanted;
    std::vector<StreamHandle> streams;
    if (options != nullptr) {
      if (options->size != sizeof(gt_window_options))
        return fail(GT_ERROR_INVALID_SIZE, "gt_window_options.size must be sizeof(gt_window_options)");
      if (options->observer > GT_OBSERVER_NONE)
        return fail(GT_ERROR_INVALID_ARGUMENT, "gt_window_options.observer is none of GT_OBSERVER_*");
      if ((options->flags & ~std::uint32_t{GT_WINDOW_ALL_STREAMS}) != 0) {
        return fail(GT_ERROR_INVALID_ARGUMENT, "gt_window_options.flags has an unknown flag");
      }
      if (options->streams == nullptr && options->stream_count != 0) {
        return fail(GT_ERROR_INVALID_ARGUMENT, "gt_window_options.streams is null, stream_count is not 0");
      }
      if (options->stream_count > 1'000'000) return fail(GT_ERROR_TOO_LARGE, "more than a million streams");
      for (std::size_t i = 0; i < options->stream_count; ++i) streams.push_back(stream_handle(options->streams[i]));
      wanted.observer = static_cast<ObserverChoice>(options->observer);
      wanted.all_streams = (options->flags & GT_WINDOW_ALL_STREAMS) != 0;
      wanted.streams = streams;
    }
    if (const gt_status status = gt_available(static_cast<gt_observer>(wanted.observer)); status != GT_OK) return status;
    WindowId id = WindowId::none;
    const gt_status status = from_record_status(this_process().open_window(wanted, id), "a window");
    if (status == GT_OK) window->value = static_cast<std::uint64_t>(id);
    return status;
  });
}

gt_status gt_window_close(gt_window window) noexcept {
  return guard([&] { return from_record_status(this_process().recorder.close_window(WindowId{window.value}), "the window"); });
}

gt_status gt_window_add_stream(gt_window window, const void* stream) noexcept {
  return guard([&] {
    return from_record_status(this_process().recorder.add_stream(WindowId{window.value}, stream_handle(stream)), "the window");
  });
}

gt_status gt_window_observer(gt_window window, gt_observer* observer) noexcept {
  return guard([&] {
    if (observer == nullptr) return fail(GT_ERROR_INVALID_ARGUMENT, "a null pointer for the observer");
    ObserverChoice choice = ObserverChoice::automatic;
    const gt_status status =
        from_record_status(this_process().recorder.observer_of(WindowId{window.value}, choice), "the window");
    if (status == GT_OK) *observer = static_cast<gt_observer>(choice);
    return status;
  });
}
}
