#include "source/pytorch/adapter/collectives.h"

#if __has_include(<torch/csrc/distributed/c10d/Work.hpp>)
#include <torch/csrc/distributed/c10d/Work.hpp>
#endif

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "source/pytorch/adapter/operator_facts.h"
#include "source/pytorch/adapter/tensor_facts.h"
#include "source/pytorch/adapter/thread_frames.h"

namespace tensortap::torch_adapter {

#if __has_include(<torch/csrc/distributed/c10d/Work.hpp>)
namespace {

using Future = c10::intrusive_ptr<c10::ivalue::Future>;

struct Written {
  at::Tensor tensor;
  uint32_t slot;
  int32_t element;
  uint32_t flags;
};

// A work has a future, or we have to ask it. A work that runs only while a caller waits for it does not report its end: it is over when we
// hold the last reference.
struct Awaited {
  c10::intrusive_ptr<c10d::Work> work;
  Future future;
  bool tells;
};

// A work without a future raises.
Future future_of(c10d::Work& work) {
  try {
    return work.getFuture();
  } catch (...) {
    return {};
  }
}

bool is_done(const Awaited& awaited) {
  if (awaited.future) return awaited.future->completed();
  return awaited.work->isCompleted() || (!awaited.tells && awaited.work.use_count() == 1);
}

// Empty when the work succeeded.
std::string error_of(const Awaited& awaited) {
  try {
    if (awaited.future) return awaited.future->hasError() ? awaited.future->tryRetrieveErrorMessage() : std::string();
    const std::exception_ptr error = awaited.work->exception();
    if (error) std::rethrow_exception(error);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown error";
  }
}

const void* storage_of(const at::Tensor& tensor) { return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr; }

// The calls that this thread makes for us are not the program's.
class OwnWork {
 public:
  OwnWork() : frames_(thread_frames()), was_busy_(frames_ != nullptr && frames_->busy) {
    if (frames_ == nullptr) return;
    frames_->busy = true;
    frames_->tells_collective = true;
  }
  ~OwnWork() {
    if (frames_ == nullptr) return;
    frames_->busy = was_busy_;
    frames_->tells_collective = false;
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  ThreadFrames* frames_;
  bool was_busy_;
};

}  // namespace

class Collective {
 public:
  std::vector<Awaited> works;
  std::vector<Written> written;
  void* token = nullptr;

  [[nodiscard]] bool writes(const void* storage) const {
    return storage != nullptr && std::ranges::find(storages_, storage) != storages_.end();
  }
  // Call when `works` and `written` are complete.
  void note_facts() {
    for (const Written& one : written) storages_.push_back(storage_of(one.tensor));
    calls_back_ = std::ranges::all_of(works, [](const Awaited& awaited) { return bool{awaited.future}; });
    is_silent_ = !std::ranges::all_of(works, [](const Awaited& awaited) { return awaited.tells; });
  }
  // Whether it is reported without being asked.
  [[nodiscard]] bool calls_back() const { return calls_back_; }
  // Something else writes, or may write, into its memory before it is complete.
  void spoil() { spoilt_ = true; }
  // Whether nothing reports that its memory is complete.
  [[nodiscard]] bool is_silent() const { return is_silent_; }
  // An operator writes into its memory; for a silent one the first write may be its own.
  void note_write() {
    if (!is_silent_ || seen_writes_.fetch_add(1) > 0) spoil();
  }
  [[nodiscard]] bool overlaps(const Collective& other) const {
    return std::ranges::any_of(storages_, [&](const void* storage) { return other.writes(storage); });
  }

  // Reports it if it is complete, or is given up. True when it was reported, now or before. `patient`: waits for a thread that is
  // reporting.
  bool report(const tensortap_torch_tracker& tracker, bool patient, bool give_up = false);

 private:
  void tell(const tensortap_torch_tracker& tracker, bool complete);

  std::mutex mutex_;
  bool told_ = false;
  std::atomic<bool> spoilt_{false};
  std::atomic<uint32_t> seen_writes_{0};
  bool calls_back_ = false;
  bool is_silent_ = false;
  std::vector<const void*> storages_;
};

namespace {

// Never destroyed: threads run while the process ends.
struct Running {
  std::mutex mutex;
  std::vector<std::shared_ptr<Collective>> collectives;
  std::atomic<size_t> count{0};
  const tensortap_torch_tracker* tracker = nullptr;
};

Running& running() {
  static auto& made = *new Running;
  return made;
}

std::vector<std::shared_ptr<Collective>> all_running() {
  const std::lock_guard lock(running().mutex);
  return running().collectives;
}

void forget(const Collective* collective) {
  const std::lock_guard lock(running().mutex);
  std::erase_if(running().collectives, [=](const auto& one) { return one.get() == collective; });
  running().count = running().collectives.size();
}

// Memory that another unfinished collective writes to does not belong to this one alone.
void remember(const std::shared_ptr<Collective>& collective, const tensortap_torch_tracker& tracker) {
  const std::lock_guard lock(running().mutex);
  for (const auto& one : running().collectives) {
    if (one->overlaps(*collective)) collective->spoil();
  }
  running().tracker = &tracker;
  running().collectives.push_back(collective);
  running().count = running().collectives.size();
}

}  // namespace

void Collective::tell(const tensortap_torch_tracker& tracker, bool complete) {
  const OwnWork own;
  std::string error;
  for (const Awaited& awaited : works) {
    if (complete && error.empty()) error = error_of(awaited);
  }
  std::vector<tensortap_torch_tensor> described;
  described.reserve(written.size());
  for (const Written& one : written) {
    described.push_back(describe(one.tensor, one.slot, one.element));
    described.back().flags |= one.flags | (spoilt_ || !complete ? TENSORTAP_TORCH_TENSOR_OVERWRITTEN : 0U);
  }
  ThreadFrames* const frames = thread_frames();
  const size_t copies = frames == nullptr ? 0 : frames->copies.size();
  tracker.collective_done(token, described.data(), static_cast<uint32_t>(described.size()), error.empty() ? nullptr : error.c_str());
  if (frames != nullptr && frames->copies.size() > copies) frames->copies.resize(copies);
}

bool Collective::report(const tensortap_torch_tracker& tracker, bool patient, bool give_up) {
  // Tensors may belong to Python, and a thread that holds Python's lock may wait for ours: they are freed after ours is released.
  std::vector<Written> tensors;
  std::vector<Awaited> done;
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (patient) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return false;
    }
    if (told_) return true;
    const bool complete = std::ranges::all_of(works, is_done);
    if (!complete && !give_up) return false;
    told_ = true;
    tell(tracker, complete);
    tensors.swap(written);
    done.swap(works);
  }
  forget(this);
  return true;
}

void note_work(c10::ArrayRef<const c10::IValue> returns, std::vector<c10::IValue>& works) {
  for (const c10::IValue& value : returns) {
    if (value.isCustomClass()) works.push_back(value);
  }
}

std::shared_ptr<Collective> collective_of(const Frame& frame, c10::ArrayRef<const c10::IValue> returns) {
  auto collective = std::make_shared<Collective>();
  for (const c10::IValue& value : frame.works) {
    auto work = value.toCustomClass<c10d::Work>();
    Future future = future_of(*work);
    const bool tells = future || std::string_view(frame.facts->name).substr(0, 10) == "c10d::recv";
    collective->works.push_back({std::move(work), std::move(future), tells});
  }
  for (uint32_t slot = 0; slot < returns.size(); ++slot) {
    for_each_tensor(returns[slot], [&](const at::Tensor& tensor, int32_t element) {
      if (tensor.defined()) collective->written.push_back({tensor, slot, element, 0});
    });
  }
  for (const KeptArgument<at::Tensor>& kept : frame.written) {
    const auto is_same = [&](const Written& one) { return one.tensor.is_same(kept.tensor); };
    if (!kept.tensor.defined() || std::ranges::any_of(collective->written, is_same)) continue;
    collective->written.push_back({kept.tensor, kept.slot, kept.element, TENSORTAP_TORCH_TENSOR_WRITTEN});
  }
  if (collective->works.empty() || collective->written.empty()) return nullptr;
  collective->note_facts();
  collective->token = frame.token;
  return collective;
}

void follow(const std::shared_ptr<Collective>& collective, const tensortap_torch_tracker& tracker) {
  std::vector<Future> futures;
  for (const Awaited& awaited : collective->works) {
    if (awaited.future) futures.push_back(awaited.future);
  }
  remember(collective, tracker);
  if (collective->report(tracker, true)) return;
  for (const Future& future : futures) {
    future->addCallback([known = std::weak_ptr(collective), &tracker](c10::ivalue::Future& /*done*/) {
      if (const auto alive = known.lock()) alive->report(tracker, true);
    });
  }
}

void report_complete(std::span<tensortap_torch_tensor> tensors, bool may_write) {
  if (running().count.load(std::memory_order_acquire) == 0) return;
  // A thread that does the work of collectives calls operators for it, which read and write unfinished values.
  const ThreadFrames* frames = thread_frames();
  if (frames == nullptr || !frames->starts_collectives) return;
  for (const auto& collective : all_running()) {
    const auto is_touched = [&](const tensortap_torch_tensor& tensor) { return collective->writes(tensor.storage); };
    const bool touched = std::ranges::any_of(tensors, is_touched);
    if (collective->report(*running().tracker, touched) || !touched) continue;
    for (tensortap_torch_tensor& tensor : tensors) {
      if (!is_touched(tensor)) continue;
      if (!collective->is_silent()) tensor.flags |= TENSORTAP_TORCH_TENSOR_UNFINISHED;
      if (may_write && (tensor.flags & TENSORTAP_TORCH_TENSOR_WRITTEN) != 0) collective->note_write();
    }
  }
}

void lose_sight_of_collectives() {
  if (running().count.load(std::memory_order_acquire) == 0) return;
  for (const auto& collective : all_running()) {
    // A collective without a future would be held until something asks it.
    if (!collective->report(*running().tracker, true, !collective->calls_back())) collective->spoil();
  }
}
#else
class Collective {};
void note_work(c10::ArrayRef<const c10::IValue> /*returns*/, std::vector<c10::IValue>& /*works*/) {}
std::shared_ptr<Collective> collective_of(const Frame& /*frame*/, c10::ArrayRef<const c10::IValue> /*returns*/) { return nullptr; }
void follow(const std::shared_ptr<Collective>& /*collective*/, const tensortap_torch_tracker& /*tracker*/) {}
void report_complete(std::span<tensortap_torch_tensor> /*tensors*/, bool /*may_write*/) {}
void lose_sight_of_collectives() {}
#endif

}  // namespace tensortap::torch_adapter
