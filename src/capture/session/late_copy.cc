#include "session/late_copy.h"

namespace tensortap {

bool LateRoom::enter() {
  const std::lock_guard lock(mutex_);
  if (inside_ >= kMost) return false;
  ++inside_;
  return true;
}

void LateRoom::leave() {
  {
    const std::lock_guard lock(mutex_);
    --inside_;
    ++left_;
  }
  one_left_.notify_all();
}

void LateRoom::withdraw() {
  const std::lock_guard lock(mutex_);
  --inside_;
}

bool LateRoom::is_empty() const {
  const std::lock_guard lock(mutex_);
  return inside_ == 0;
}

uint64_t LateRoom::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

bool LateRoom::wait_beyond(uint64_t left) {
  std::unique_lock lock(mutex_);
  if (left_ > left) return true;
  if (inside_ == 0 || waited_in_vain_ == left_) return false;
  if (one_left_.wait_for(lock, patience_, [this, left] { return left_ > left; })) return true;
  waited_in_vain_ = left_;
  return false;
}

LateCopy::~LateCopy() {
  device_->drop(device_, ticket_);
  room_.leave();
}

bool LateCopy::is_over() {
  if (is_over_) return true;
  const int state = device_->poll(device_, ticket_, &data_);
  if (state < 0) {
    data_ = nullptr;
    why_not_ = "tensor on a device that gave no copy of it";
  }
  is_over_ = state != 0;
  return is_over_;
}

void LateCopy::give_up() {
  if (is_over_) return;
  is_over_ = true;
  data_ = nullptr;
  why_not_ = "tensor on a device that was not done with it when the capture ended";
}

}  // namespace tensortap
