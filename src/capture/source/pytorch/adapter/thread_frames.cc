#include "source/pytorch/adapter/thread_frames.h"

#include <new>

namespace tensortap::torch_adapter {
namespace {

// Plain data, so that it can be read at any time of a thread's life.
thread_local ThreadFrames* frames = nullptr;
thread_local bool ended = false;

struct EndOfThread {
  EndOfThread() = default;
  ~EndOfThread() {
    ended = true;
    delete frames;
    frames = nullptr;
  }
  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;
};

ThreadFrames* make_frames() {
  static thread_local const EndOfThread end;
  static_cast<void>(end);
  frames = new (std::nothrow) ThreadFrames;
  return frames;
}

}  // namespace

Frame& push_frame(ThreadFrames& frames) {
  if (frames.depth == frames.stack.size()) frames.stack.emplace_back();
  Frame& frame = frames.stack[frames.depth++];
  frame.facts = nullptr;
  frame.token = nullptr;
  frame.is_operator = frame.is_reported = frame.is_node = frame.is_api = frame.calls_others = false;
  frame.flags = 0;
  frame.copies = frames.copies.size();
  frame.leaves_copies = nullptr;
  frame.sequence_number = -1;
  return frame;
}

ThreadFrames* thread_frames() {
  if (frames != nullptr) return frames;
  return ended ? nullptr : make_frames();
}

}  // namespace tensortap::torch_adapter
