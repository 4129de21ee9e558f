// What handing late records to the writer thread costs the thread of the program, when the writer is woken for each of them and when it
// waits for company: both in one process, in the order A B B A. Prints medians in microseconds for a step of 75 records: of the whole step,
// whose own work is 2,250, and of handing over alone.
//
// usage: late_queue_bench [ROUNDS]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "session/record_queue.h"

namespace tensortap {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRecords = 75;
constexpr std::chrono::microseconds kBetween{30};   // the program's own work for an operator
constexpr std::chrono::microseconds kDevice{100};   // until the elements come
constexpr std::chrono::microseconds kMeasuring{5};  // the writer's work for a record

void work_for(std::chrono::microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

struct Coming final : LateWork {
  bool is_over() override { return Clock::now() >= there; }
  void give_up() override {}
  void finish(QueuedRecord& /*record*/) override {}
  const Clock::time_point there = Clock::now() + kDevice;
};

struct Times {
  std::vector<double> steps;
  std::vector<double> pushes;
};

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

void step(RecordQueue& queue, Times& times) {
  Clock::duration pushing{};
  const auto start = Clock::now();
  for (int i = 0; i < kRecords; ++i) {
    work_for(kBetween);
    QueuedRecord record;
    record.late = std::make_unique<Coming>();
    const auto begin = Clock::now();
    queue.push(std::move(record));
    pushing += Clock::now() - begin;
  }
  times.steps.push_back(microseconds(Clock::now() - start));
  times.pushes.push_back(microseconds(pushing));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(int rounds) {
  const RecordQueue::Write write = [](void*, QueuedRecord&) { work_for(kMeasuring); };
  RecordQueue each(write, nullptr, RecordQueue::kPatience, std::chrono::microseconds(0));
  RecordQueue several(write, nullptr);
  Times of_each;
  Times of_several;
  for (int i = 0; i < rounds; ++i) {
    step(each, of_each);
    step(several, of_several);
    step(several, of_several);
    step(each, of_each);
  }
  std::printf("woken for each record: step %.0f us, handing over %.0f us\n", median(of_each.steps), median(of_each.pushes));
  std::printf("woken for several:     step %.0f us, handing over %.0f us\n", median(of_several.steps), median(of_several.pushes));
}

}  // namespace
}  // namespace tensortap

int main(int argc, char** argv) { tensortap::compare(argc > 1 ? std::atoi(argv[1]) : 200); }
