// Where the file of a value went, for the ops that read it and for the end of the step.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_PLACE_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_PLACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "layout/dump_room.h"
#include "system/mindspore/tree/writer_folder.h"
#include "trace/record_row.h"
#include "tree/statistics_table.h"

namespace tensortap::mindspore {

using FolderPointer = std::shared_ptr<IterationFolder>;

struct Place {
  enum class State : uint8_t {
    kNone,        // no file
    kSettled,     // under its own name
    kForTheStep,  // a parameter's, until the step ends
    kForReader,   // of an output that is kept only because an op reads it, until that op's turn
  };
  State state = State::kNone;
  FolderPointer folder;
  std::string stored;
  uint64_t taken = 0;  // of the dump's room, by the file
  StatisticDigests digests;

  void clear(DumpRoom& room) {
    if (state == State::kForReader) {
      folder->files().remove(stored);
      room.give_back(taken);
    }
    state = State::kNone;
    folder.reset();
  }
};

// Whether MindSpore's tree can store such a record at all.
inline Status check_place(const RecordRow& row) {
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  const bool is_input = kind == SlotKind::kInput;
  if (!is_input && kind != SlotKind::kOutput) return unsupported("MindSpore's tree can store inputs and outputs only");
  if (row.desc().dtype == DType::kString) return unsupported("MindSpore's tree cannot store strings");
  if (!is_input && row.moment == static_cast<uint8_t>(Moment::kBefore)) {
    return unsupported("MindSpore's tree cannot store outputs from before an op");
  }
  return {};
}

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_PLACE_H_
