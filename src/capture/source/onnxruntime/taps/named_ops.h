// What a program may ask for by name: tensortap_onnxruntime_set_dump().

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_NAMED_OPS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_NAMED_OPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "source/onnxruntime/taps/registered_ops.h"

namespace tensortap::onnxruntime {

// The executed nodes of a model by their names. Immutable; keeps nothing of the models that the table is made of.
class NamedOps {
 public:
  NamedOps(const OpTable& ops, const OpIds& ids);

  // The ops of this name, with all that is below it: the name of an op, of an author's node or of a value, or a scope, which ends before a
  // "/". Where there is none, the ops of this type. "" = all. Errors: kInvalidArgument with the nearest names.
  [[nodiscard]] Result<OpIds> find(std::string_view name) const;

 private:
  struct Op {
    tensortap_op_id id = TENSORTAP_NO_OP;
    std::vector<std::string> names;
    std::vector<std::string> types;
  };
  [[nodiscard]] Status unknown(std::string_view name) const;

  std::vector<Op> ops_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_NAMED_OPS_H_
