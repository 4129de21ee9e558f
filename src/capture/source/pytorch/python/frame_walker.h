// Walks the Python frames of the calling thread without the GIL.
//
// Sound because no other thread changes a thread's frames while it is in C code, and each frame keeps its code object alive. The walk reads
// three words for each frame and touches no reference count. Python 3.13 and later publish the offsets of the words for debuggers; a table
// has those of 3.10 to 3.12. A self-test compares with Python's own functions before anything is used.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_FRAME_WALKER_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_FRAME_WALKER_H_

#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// Finds the offsets of the words and compares every frame of this thread with Python's own report. Called with the GIL, from Python code.
// False for an unknown Python, a free-threaded or debug build, or any difference: then frames are walked with the GIL.
bool test_frame_walk();
// Whether the self-test passed and the walk was not switched off.
bool frame_walk_works();
// Switches the walk without the GIL off, or on again if the self-test had passed.
void use_frame_walk(bool enabled);

// The frames of this thread, innermost first; none for a thread that Python does not know. Only while frame_walk_works(); no GIL needed.
class FrameWalk {
 public:
  FrameWalk();
  // The next frame's code object (PyCodeObject*) and byte offset, borrowed while the thread stays in C; {} after the last.
  SourcePosition next();

 private:
  const char* frame_;
};

// The same with the GIL, which the caller holds.
class GilFrameWalk {
 public:
  GilFrameWalk();
  ~GilFrameWalk();
  GilFrameWalk(const GilFrameWalk&) = delete;
  GilFrameWalk& operator=(const GilFrameWalk&) = delete;
  SourcePosition next();

 private:
  void* frame_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_FRAME_WALKER_H_
