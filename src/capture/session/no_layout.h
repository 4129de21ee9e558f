// NoLayout: takes everything and writes nothing.

#ifndef TENSORTAP_SESSION_NO_LAYOUT_H_
#define TENSORTAP_SESSION_NO_LAYOUT_H_

#include "layout/layout.h"

namespace tensortap {

// The layout of a session that is off from the start.
class NoLayout : public LayoutWriter {
 public:
  Status add_op(OpId /*id*/, const OpInfo& /*op*/) override { return {}; }
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return true; }
  Status add_record(RecordRow& /*row*/, const TensorView* /*data*/, const ExponentHistogram* /*histogram*/) override { return {}; }
  Status flush() override { return {}; }
  Status finish(std::string_view /*manifest*/) override { return {}; }
  [[nodiscard]] uint64_t bytes_written() const override { return 0; }
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_NO_LAYOUT_H_
