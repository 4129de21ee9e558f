// LateCopy: what comes from a device later, a copy of a tensor or what the device measured of it; and how much may be on its way.

#ifndef TENSORTAP_SESSION_LATE_COPY_H_
#define TENSORTAP_SESSION_LATE_COPY_H_

#include <tensortap/asking.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

namespace tensortap {

// How many copies are on their way. Thread-safe.
class LateRoom {
 public:
  static constexpr uint64_t kMost = 4096;
  static constexpr std::chrono::milliseconds kPatience{2000};

  explicit LateRoom(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}
  LateRoom(const LateRoom&) = delete;
  LateRoom& operator=(const LateRoom&) = delete;

  // Takes a place; false when there is none.
  bool enter();
  void leave();
  // Takes back an enter() for which there was no copy.
  void withdraw();
  // How many have left so far.
  [[nodiscard]] uint64_t left() const;
  [[nodiscard]] bool is_empty() const;
  // Waits until more than `left` have left. False when none is under way, or when none leaves for some time: the next callers do not wait
  // then, until one leaves.
  bool wait_beyond(uint64_t left);

 private:
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable one_left_;
  uint64_t inside_ = 0;
  uint64_t left_ = 0;
  uint64_t waited_in_vain_ = UINT64_MAX;  // the value of left_ then
};

// Owns a ticket of a device and a place in the room. One thread at a time.
class LateCopy {
 public:
  // `packed`: as tensortap_device::queue() has it. `parts`: as tensortap_device::measure() has them, 0 = a copy.
  LateCopy(LateRoom& room, const tensortap_device* device, void* ticket, bool packed, uint64_t parts = 0)
      : room_(room), device_(device), ticket_(ticket), packed_(packed), parts_(parts) {}
  ~LateCopy();
  LateCopy(const LateCopy&) = delete;
  LateCopy& operator=(const LateCopy&) = delete;

  // Whether the elements came, or will not come. Never waits.
  bool is_over();
  void give_up();
  // The first element or the first part, null when they did not come; why_not() says why.
  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] bool is_measured() const { return parts_ > 0; }
  // The device measured them.
  [[nodiscard]] std::span<const tensortap_measured> parts() const { return {static_cast<const tensortap_measured*>(data_), parts_}; }
  [[nodiscard]] const char* why_not() const { return why_not_; }
  [[nodiscard]] bool is_packed() const { return packed_; }
  [[nodiscard]] const tensortap_device* device() const { return device_; }

 private:
  LateRoom& room_;
  const tensortap_device* const device_;
  void* const ticket_;
  const bool packed_;
  const uint64_t parts_;
  bool is_over_ = false;
  const void* data_ = nullptr;
  const char* why_not_ = nullptr;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_LATE_COPY_H_
