// CrashRecorder: what a session leaves behind when the program gets a signal that ends it (docs/layouts/tap.md, "crash files").

#ifndef TENSORTAP_SESSION_CRASH_RECORDER_H_
#define TENSORTAP_SESSION_CRASH_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"
#include "crash/crash_format.h"
#include "session/op_table.h"
#include "session/record_ring.h"
#include "session/running_ops.h"
#include "session/signal_handlers.h"

namespace tensortap {

// What the recorder may look at in the handler of a signal. All borrowed, for the recorder's life.
struct CrashSources {
  const OpTable* ops = nullptr;
  const RecordRing* ring = nullptr;  // null = none
  std::atomic<uint64_t>* sequence = nullptr;
  const std::atomic<uint32_t>* off = nullptr;  // not 0: the session is off
  int64_t opened_ns = 0;
  int32_t rank = 0;
  bool with_stack = false;  // registers and call stack too
  Access access = Access::kPrivate;
  std::string session;  // the text of a CrashSession
};

// `running` is fed by any thread. The file is made when the recorder opens and removed when it is destroyed, unless the program crashed.
class CrashRecorder : public CrashListener {
 public:
  // Errors: the file cannot be made or there is no memory.
  static Result<std::unique_ptr<CrashRecorder>> open(const std::string& folder, const CrashSources& sources);
  ~CrashRecorder() override;

  RunningOps running;

  void crashed(int signal, const siginfo_t& info, const void* context) noexcept override;
  void survived() noexcept override;

 private:
  CrashRecorder(Folder folder, std::string name, File file, const CrashSources& sources);

  // All of this runs in a handler: pwrite() and arithmetic, no lock and no memory.
  void write_all(int signal, const siginfo_t& info, const void* context) noexcept;
  void write_running(const RunningOp& op, uint32_t flags) noexcept;
  void write_session() noexcept;
  void write_op(const RunningOp& op, uint32_t flags) noexcept;
  void write_tensor(const RunningOp& op, const RememberedTensor& tensor, uint32_t position) noexcept;
  void write_ring() noexcept;
  void write_ring_op(const RecordRow& row) noexcept;
  void write_tensor_frame(CrashTensor& tensor, const std::byte* memory) noexcept;
  void write_registers(const void* context) noexcept;
  void write_stack() noexcept;
  void write_maps() noexcept;
  struct Piece {
    const void* bytes;
    uint64_t size;
  };
  void write_pieces(CrashFrameKind kind, std::span<const Piece> pieces) noexcept;
  void write_frame(CrashFrameKind kind, const void* bytes, uint64_t size) noexcept;
  bool write_at(uint64_t offset, const void* bytes, uint64_t size) noexcept;

  const Folder folder_;
  const std::string name_;
  const File file_;
  const int fd_;  // the file's
  const int process_;
  const CrashSources sources_;
  uint64_t end_ = 0;  // of the file
  uint32_t skipped_ = 0;
  // Too large for the stack of a handler.
  CrashTensor tensor_;
  RunningOp ring_op_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_CRASH_RECORDER_H_
