#include "source/pytorch/python/python_bridge.h"

#include <atomic>
#include <new>

#include "python/python_api.h"
#include "source/pytorch/python/frame_walker.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/source_lines.h"

namespace tensortap::pytorch {
namespace {

constinit PythonEvents no_events{};
constinit std::atomic<const PythonEvents*> told_events{&no_events};

// The first frame of the program's own; `owner` says of each whose it is; {} also when a frame's owner is not known.
template <class Walk, class Owner>
SourcePosition first_program_frame(Walk& walk, Owner owner, bool* unknown) {
  bool prints = false;
  for (SourcePosition position = walk.next(); position.code != nullptr; position = walk.next()) {
    switch (owner(position.code)) {
      case CodeOwner::kProgram:
        position.prints = prints;
        return position;
      case CodeOwner::kUnknown:
        *unknown = true;
        return {};
      case CodeOwner::kPrinter:
        prints = true;
        break;
      case CodeOwner::kForeign:
        break;
    }
  }
  return {};
}

SourcePosition walk_with_gil() {
  const GilGuard gil;
  bool unknown = false;
  if (frame_walk_works()) {
    FrameWalk walk;
    return first_program_frame(walk, resolve_code, &unknown);
  }
  GilFrameWalk walk;
  return first_program_frame(walk, resolve_code, &unknown);
}

}  // namespace

SourcePosition source_position(bool may_take_gil) {
  try {
    if (frame_walk_works()) {
      FrameWalk walk;
      bool unknown = false;
      const SourcePosition position = first_program_frame(walk, code_owner, &unknown);
      if (!unknown) return position;
    }
    // A thread that Python does not know has no frames, and asking for the GIL would make it known.
    if (!may_take_gil || !python_is_there() || PyGILState_GetThisThreadState() == nullptr) return {};
    return walk_with_gil();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

std::string source_text(SourcePosition position) { return line_text(position); }

ModuleId module_of(SourcePosition position) { return told_module(position); }

void set_python_events(const PythonEvents& given) {
  // The old ones stay: another thread may be about to call one.
  told_events.store(new PythonEvents(given), std::memory_order_release);
}

const PythonEvents& python_events() { return *told_events.load(std::memory_order_acquire); }

}  // namespace tensortap::pytorch
