#include "capture/recorder.h"

#include <algorithm>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <mutex>
#include <new>

#include "capture/boundary_observer.h"
#include "capture/callback_observer.h"
#include "capture/thread_table.h"

namespace graphtag {
namespace {

enum class Mode : std::uint8_t { off, callbacks, boundary };

// In the process: a child of fork() gives out none that its parent had.
std::atomic<std::uint64_t> last_window{0};

// A scope's handle: the number of its thread, and the scope's own on that thread.
constexpr int kSerialBits = 40;
constexpr std::uint64_t kSerialMask = (std::uint64_t{1} << kSerialBits) - 1;
std::uint64_t thread_part(std::uint32_t owner) {
  return std::uint64_t{owner} << kSerialBits;
}

}  // namespace

struct Recorder::State {
  State(Driver found, Registry& to, bool checked, std::uint32_t* counter)
      : registry(to),
        active_windows(counter != nullptr ? counter : &own_active_windows),
        driver(new DriverInUse{found, checked, nullptr}) {}

  struct DriverInUse {
    Driver driver;
    bool numbering_checked;
    std::unique_ptr<const DriverInUse> older;  // a callback may still use it
  };
  struct Window {
    bool observes = true;
    bool all_streams = false;
  };

  RecordStatus start(ThreadState& thread, ObserverChoice choice);
  RecordStatus start_callbacks();
  void stop();
  bool is_observed() const;
  void update_streams();
  RecordStatus push(AnnotationId annotation, std::uint64_t handle, ThreadState& thread) noexcept;
  template <typename Change>
  auto change_scopes(ThreadState& thread, Change change) noexcept {
    const Mode now = mode.load(std::memory_order_acquire);
    if (now == Mode::boundary) return boundary.at_boundary(thread, change);
    if (now == Mode::callbacks) callbacks.flush(thread);
    return change();
  }

  Registry& registry;
  std::uint32_t own_active_windows = 0;
  std::uint32_t* const active_windows;
  // Replaced only while nothing is observed.
  std::atomic<const DriverInUse*> driver;
  std::atomic<Mode> mode{Mode::off};
  std::atomic<std::uint32_t> epoch{1};  // of scopes: counts up when the last window closes, which ends those of older ones
  ThreadTable threads;
  CallbackObserver callbacks{registry, threads};
  BoundaryObserver boundary{registry, threads};

  mutable std::mutex mutex;                                  // of opening and closing, and of what follows
  boost::unordered_flat_map<std::uint64_t, Window> windows;  // id -> window
  std::uint64_t windows_opened = 0;
};

Recorder::Recorder(Driver driver, Registry& registry, bool numbering_checked, std::uint32_t* active_windows)
    : state_(std::make_unique<State>(driver, registry, numbering_checked, active_windows)),
      active_windows_(state_->active_windows) {}

Recorder::~Recorder() {
  if (state_->mode.load() != Mode::off) state_->stop();
  delete state_->driver.load();
}

void Recorder::set_driver(Driver driver, bool numbering_checked) noexcept {
  const std::lock_guard lock(state_->mutex);
  const State::DriverInUse* used = state_->driver.load();
  if (state_->mode.load() != Mode::off || (used->driver == driver && used->numbering_checked == numbering_checked)) return;
  auto* next = new (std::nothrow) State::DriverInUse{driver, numbering_checked, nullptr};
  if (next == nullptr) return;
  next->older.reset(used);
  state_->driver.store(next);
}

RecordStatus Recorder::State::start_callbacks() {
  const DriverResult result = callbacks.start(driver.load()->driver, epoch.load());
  if (!result.ok()) return result.status == DriverStatus::busy ? RecordStatus::busy : RecordStatus::unavailable;
  mode.store(Mode::callbacks, std::memory_order_release);
  return RecordStatus::ok;
}

RecordStatus Recorder::State::start(ThreadState& thread, ObserverChoice choice) {
  if (choice != ObserverChoice::boundary) {
    const RecordStatus status = start_callbacks();
    if (status == RecordStatus::ok || choice == ObserverChoice::callbacks) return status;
  }
  const Driver& used = driver.load()->driver;
  // Without ids there is nothing to record.
  GraphId id;
  if (used.graph_id(nullptr, id).status == DriverStatus::missing) return RecordStatus::unavailable;
  boundary.start(thread, used, epoch.load());
  mode.store(Mode::boundary, std::memory_order_release);
  return RecordStatus::ok;
}

void Recorder::State::stop() {
  const Mode was = mode.exchange(Mode::off, std::memory_order_acq_rel);
  if (was == Mode::callbacks) callbacks.stop();
  boundary.stop();
}

// Both with the lock held.
bool Recorder::State::is_observed() const {
  return std::any_of(windows.begin(), windows.end(), [](const auto& window) { return window.second.observes; });
}
void Recorder::State::update_streams() {
  bool all = true;
  for (const auto& [id, window] : windows) all = all && (window.all_streams || !window.observes);
  boundary.set_all_streams(all && is_observed());
}

RecordStatus Recorder::open_window(const WindowOptions& options, WindowId& window) noexcept {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  try {
    ThreadState* thread = state.threads.current();
    if (thread == nullptr) return RecordStatus::out_of_memory;
    state.windows.reserve(state.windows.size() + 1);
    RecordStatus status = RecordStatus::ok;
    const bool observes = options.observer != ObserverChoice::none;
    if (observes && state.mode.load() == Mode::off) {
      status = state.start(*thread, options.observer);
    } else if (options.observer == ObserverChoice::callbacks && state.mode.load() == Mode::boundary) {
      state.boundary.read_boundary(*thread);
      status = state.start_callbacks();
      if (status == RecordStatus::ok) state.boundary.pause();
    }
    if (status != RecordStatus::ok) return status;
    const std::uint64_t id = last_window.fetch_add(1, std::memory_order_relaxed) + 1;
    ++state.windows_opened;
    state.windows[id] = {observes, options.all_streams};
    state.update_streams();
    // Callbacks need none; what observes once they have made way does.
    if (state.mode.load() != Mode::off) {
      for (const StreamHandle stream : options.streams) state.boundary.add_stream(*thread, stream);
    }
    __atomic_store_n(active_windows_, static_cast<std::uint32_t>(state.windows.size()), __ATOMIC_RELEASE);
    window = static_cast<WindowId>(id);
    return RecordStatus::ok;
  } catch (...) {
    return RecordStatus::out_of_memory;
  }
}

RecordStatus Recorder::close_window(WindowId window) noexcept {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const auto found = state.windows.find(static_cast<std::uint64_t>(window));
  if (found == state.windows.end()) return RecordStatus::invalid_handle;
  settle();
  state.windows.erase(found);
  __atomic_store_n(active_windows_, static_cast<std::uint32_t>(state.windows.size()), __ATOMIC_RELEASE);
  state.update_streams();
  if (!state.is_observed() && state.mode.load() != Mode::off) state.stop();
  if (state.windows.empty()) state.epoch.fetch_add(1, std::memory_order_acq_rel);
  return RecordStatus::ok;
}

void Recorder::make_way() noexcept {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (state.mode.load() != Mode::callbacks) return;
  ThreadState* thread = state.threads.current();
  if (thread == nullptr) return;
  settle();
  // Scopes stay open: the epoch goes on.
  state.boundary.start(*thread, state.driver.load()->driver, state.epoch.load());
  state.mode.store(Mode::boundary, std::memory_order_release);
  state.callbacks.stop();
}

RecordStatus Recorder::add_stream(WindowId window, StreamHandle stream) noexcept {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (!state.windows.contains(static_cast<std::uint64_t>(window))) return RecordStatus::invalid_handle;
  if (state.mode.load() == Mode::off) return RecordStatus::ok;
  ThreadState* thread = state.threads.current();
  if (thread == nullptr) return RecordStatus::out_of_memory;
  state.boundary.add_stream(*thread, stream);
  return RecordStatus::ok;
}

RecordStatus Recorder::observer_of(WindowId window, ObserverChoice& observer) const noexcept {
  const std::lock_guard lock(state_->mutex);
  if (!state_->windows.contains(static_cast<std::uint64_t>(window))) return RecordStatus::invalid_handle;
  constexpr ObserverChoice kObservers[] = {ObserverChoice::none, ObserverChoice::callbacks, ObserverChoice::boundary};
  observer = kObservers[static_cast<std::size_t>(state_->mode.load())];  // by Mode
  return RecordStatus::ok;
}

RecordStatus Recorder::State::push(AnnotationId annotation, std::uint64_t handle, ThreadState& thread) noexcept {
  const bool pushed = change_scopes(thread, [&] { return thread.stack.push(registry, epoch.load(), annotation, handle); });
  if (!pushed) return RecordStatus::out_of_memory;
  count_alone(thread.scopes_begun);
  return RecordStatus::ok;
}

RecordStatus Recorder::begin_scope(AnnotationId annotation) noexcept {
  if (!active()) return RecordStatus::ok;
  ThreadState* thread = state_->threads.current();
  return thread == nullptr ? RecordStatus::out_of_memory : state_->push(annotation, 0, *thread);
}

RecordStatus Recorder::end_scope() noexcept {
  if (!active()) return RecordStatus::ok;
  State& state = *state_;
  ThreadState* thread = state.threads.current();
  if (thread == nullptr) return RecordStatus::no_scope;
  const bool ended = state.change_scopes(*thread, [&] { return thread->stack.pop(state.registry, state.epoch.load()); });
  return ended ? RecordStatus::ok : RecordStatus::no_scope;
}

RecordStatus Recorder::open_scope(AnnotationId annotation, ScopeId& scope) noexcept {
  scope = ScopeId::none;
  if (!active()) return RecordStatus::ok;
  ThreadState* thread = state_->threads.current();
  if (thread == nullptr) return RecordStatus::out_of_memory;
  const std::uint64_t serial = (thread->last_scope + 1) & kSerialMask;
  const std::uint64_t handle = thread_part(thread->scopes.owner()) | serial;
  const RecordStatus status = state_->push(annotation, handle, *thread);
  if (status != RecordStatus::ok) return status;
  thread->note_scope(serial, state_->epoch.load());
  scope = static_cast<ScopeId>(handle);
  return RecordStatus::ok;
}

RecordStatus Recorder::close_scope(ScopeId scope) noexcept {
  if (!active() || scope == ScopeId::none) return RecordStatus::ok;
  State& state = *state_;
  const auto handle = static_cast<std::uint64_t>(scope);
  ThreadState* thread = state.threads.current();
  if (thread == nullptr) return RecordStatus::invalid_handle;
  if (handle >> kSerialBits != thread_part(thread->scopes.owner()) >> kSerialBits) {
    return state.threads.gave_out(handle >> kSerialBits, handle & kSerialMask) ? RecordStatus::wrong_thread
                                                                               : RecordStatus::invalid_handle;
  }
  const bool ended =
      state.change_scopes(*thread, [&] { return thread->stack.remove(state.registry, state.epoch.load(), handle); });
  if (ended) return RecordStatus::ok;
  // Those of windows that are gone have ended already.
  return thread->is_of_older_epoch(handle & kSerialMask, state.epoch.load()) ? RecordStatus::ok : RecordStatus::invalid_handle;
}

RecordStatus Recorder::close_scope_of_any_thread(ScopeId scope) noexcept {
  State& state = *state_;
  const RecordStatus here = close_scope(scope);
  if (here != RecordStatus::wrong_thread) return here;
  const auto handle = static_cast<std::uint64_t>(scope);
  ThreadState* owner = state.threads.giver_of(handle >> kSerialBits, handle & kSerialMask);
  if (owner == nullptr) return RecordStatus::ok;  // it has just ended, and its scopes with it
  const auto remove = [&] { return owner->stack.remove_elsewhere(state.registry, state.epoch.load(), handle); };
  const bool ended =
      state.mode.load(std::memory_order_acquire) == Mode::boundary ? state.boundary.at_boundary(*owner, remove) : remove();
  return ended ? RecordStatus::ok : RecordStatus::invalid_handle;
}

AnnotationId Recorder::current() noexcept {
  if (!active()) return AnnotationId::none;
  const ThreadState* thread = state_->threads.current();
  return thread == nullptr ? AnnotationId::none : thread->scopes.current(state_->epoch.load());
}

RecordStatus Recorder::link_exec(ExecHandle exec, GraphHandle graph) noexcept {
  State& state = *state_;
  const State::DriverInUse& used = *state.driver.load();
  GraphId id;
  const DriverResult result = used.driver.exec_id(exec, id);
  if (!result.ok()) return result.status == DriverStatus::missing ? RecordStatus::unavailable : RecordStatus::refused;
  if (state.mode.load() == Mode::callbacks && state.callbacks.saw_exec(id)) return RecordStatus::ok;
  ThreadState* thread = state.threads.current();
  if (thread == nullptr) return RecordStatus::out_of_memory;
  return state.boundary.link_exec(*thread, used.driver, id, graph, used.numbering_checked) ? RecordStatus::ok
                                                                                           : RecordStatus::refused;
}

void Recorder::set_node_hook(NodeHook hook) noexcept {
  state_->callbacks.set_node_hook(hook);
}

RecordStatus Recorder::link_bodies(NodeHandle node, std::span<const GraphHandle> bodies) noexcept {
  State& state = *state_;
  const Driver& driver = state.driver.load()->driver;
  NodeId id;
  const DriverResult result = driver.node_id(node, id);
  if (!result.ok()) return result.status == DriverStatus::missing ? RecordStatus::unavailable : RecordStatus::refused;
  ThreadState* thread = state.threads.current();
  if (thread == nullptr) return RecordStatus::out_of_memory;
  try {
    std::vector<GraphId> ids(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (!driver.graph_id(bodies[i], ids[i]).ok()) return RecordStatus::refused;
      // CUDA makes a body after the graph that holds it, so that no circle gets past this.
      if (ids[i].value <= id.graph().value || std::find(ids.begin(), ids.begin() + i, ids[i]) != ids.begin() + i)
        return RecordStatus::not_a_body;
    }
    if (state.mode.load() == Mode::callbacks) {
      state.callbacks.link_bodies(id, ids);
    } else if (!state.boundary.link_bodies(*thread, id, bodies, ids)) {
      return RecordStatus::not_a_body;
    }
    return RecordStatus::ok;
  } catch (const std::bad_alloc&) {
    return RecordStatus::out_of_memory;
  }
}

void Recorder::settle() noexcept {
  State& state = *state_;
  switch (state.mode.load(std::memory_order_acquire)) {
    case Mode::off:
      break;
    case Mode::callbacks:
      state.callbacks.settle();
      break;
    case Mode::boundary:
      if (ThreadState* thread = state.threads.current()) state.boundary.read_boundary(*thread);
      break;
  }
}

RecorderCounters Recorder::counters() const noexcept {
  const State& state = *state_;
  RecorderCounters counters;
  {
    const std::lock_guard lock(state.mutex);
    counters.windows_opened = state.windows_opened;
  }
  counters.scopes_begun = state.threads.scopes_begun();
  counters.nodes_seen = state.threads.nodes_seen();
  counters.boundaries_read = state.boundary.boundaries_read();
  counters.failures = state.callbacks.failures() + state.boundary.failures();
  return counters;
}

bool numbering_checked(int driver_version) {
  return driver_version / 10 == 1300;
}

}  // namespace graphtag
