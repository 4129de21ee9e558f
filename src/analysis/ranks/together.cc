#include "ranks/together.h"

#include <algorithm>
#include <atomic>
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

void for_each_together(size_t count, const std::function<void(size_t)>& task) {
  std::atomic<size_t> next{0};
  const std::function<void()> work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
  };
  std::vector<std::thread> others;
  const size_t most = std::min(tasks_together(), count);
  for (size_t i = 1; i < most; ++i) start(others, work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace tensortap
