#include "base/together.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tensortap {
namespace {

constexpr size_t kMostTogether = 8;

// A machine that gives no more threads has fewer of them at work.
void start(std::vector<std::thread>& threads, const std::function<void()>& work) {
  try {
    threads.emplace_back(work);
  } catch (const std::system_error&) {
    return;
  }
}

}  // namespace

size_t tasks_together() { return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostTogether); }

void for_each_together(size_t count, const std::function<void(size_t)>& task, size_t most) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const std::function<void()> work = [&] {
    try {
      for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::min(most, count));
  for (size_t i = 1; i < std::min(most, count); ++i) start(others, work);
  work();
  for (std::thread& other : others) other.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace tensortap
