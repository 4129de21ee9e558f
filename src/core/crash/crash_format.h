// The file that a handler of a signal leaves behind (docs/layouts/tap.md, "crash files"): plain structures, written with nothing but
// pwrite().

#ifndef TENSORTAP_CRASH_CRASH_FORMAT_H_
#define TENSORTAP_CRASH_CRASH_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"
#include "trace/record_row.h"

namespace tensortap {

inline constexpr std::string_view kCrashFilePrefix = "crash-";
inline constexpr std::string_view kCrashFileSuffix = ".bin";
inline constexpr uint64_t kCrashMagic = 0x3248534152435454;  // "TTCRASH2"

// Begins the file.
struct CrashHeader {
  uint64_t magic = kCrashMagic;
  int32_t signal = 0;
  int32_t code = 0;      // si_code
  uint64_t address = 0;  // si_addr, where the signal has one
  int64_t time_ns = 0;   // since the session opened
  uint32_t process = 0;
  uint32_t thread = 0;    // number of the system's
  uint32_t complete = 0;  // 1 once all frames are written
  uint32_t skipped = 0;   // tensors whose memory could not be read
};
static_assert(sizeof(CrashHeader) == 48);

// kNarrowTensor: as earlier versions write a tensor, a CrashTensor whose row has kNarrowRowBytes.
enum class CrashFrameKind : uint32_t { kOp = 1, kNarrowTensor = 2, kRegisters = 3, kStack = 4, kMaps = 5, kSession = 6, kTensor = 7 };

// Stands before each frame, whose `bytes` bytes follow, filled up to a multiple of 8.
struct CrashFrame {
  CrashFrameKind kind{};
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};
static_assert(sizeof(CrashFrame) == 16);

enum CrashOpFlag : uint32_t {
  kCrashedHere = 1U << 0,    // it ran, innermost, on the thread that got the signal
  kCrashedAround = 1U << 1,  // an op around that one
  kCrashedNext = 1U << 2,    // the next by the order of the graph after the last op that was done on the thread that got the signal
  kCrashedTold = 1U << 3,    // it did not run: records of the ring are of it
};

// An op that ran, or that records of the ring are of; its name, type and attributes follow, then a CrashOpPlace.
struct CrashOp {
  uint32_t op = 0;
  uint32_t call = 0;
  int64_t step = 0;
  uint64_t run = 0;
  uint32_t phase = 0;
  uint32_t thread = 0;  // number of the system's
  uint32_t flags = 0;   // CrashOpFlag bits
  uint32_t name_bytes = 0;
  uint32_t type_bytes = 0;
  uint32_t attributes_bytes = 0;
};
static_assert(sizeof(CrashOp) == 48);

// What trees of other systems store of an op; its graph and the name of the author's node that it implements follow.
struct CrashOpPlace {
  uint32_t place = 0;    // in the order of execution
  uint32_t outputs = 0;  // 0 = not known
  uint32_t single = 0;   // 1: called by itself, outside every model
  uint32_t graph_bytes = 0;
  uint32_t original_bytes = 0;
  uint32_t thread = 0;  // number given to it by the session, as in rows
};
static_assert(sizeof(CrashOpPlace) == 24);

// Describes the session, so that its layout can be written. JSON follows: "layout", "spec" (as spec_to_json() has it), and the members of a
// DumpInfo.
struct CrashSession {
  int64_t time_us = 0;  // of the crash, since 1970
};

// A tensor; its memory follows, from its lowest element to its highest.
struct CrashTensor {
  RecordRow row;
  int64_t strides[kMaxRank] = {};  // in elements
  uint64_t first = 0;              // bytes from the lowest element to the first one
  uint64_t bytes = 0;              // that follow; 0 = the memory could not be read
  uint32_t strided = 0;            // 1: by `strides`; 0: contiguous
  uint32_t reserved = 0;
};
static_assert(sizeof(CrashTensor) == 856);

}  // namespace tensortap

#endif  // TENSORTAP_CRASH_CRASH_FORMAT_H_
