// The role of a record in the model: a weight, a gradient, the output of an activation function.

#ifndef TENSORTAP_FIND_RECORD_ROLES_H_
#define TENSORTAP_FIND_RECORD_ROLES_H_

#include <string>
#include <string_view>

#include "query/op_facts.h"
#include "trace/dump_index.h"

namespace tensortap {

// Immutable; borrows the dump. Making one is linear in the ops.
class RecordRoles {
 public:
  explicit RecordRoles(const DumpIndex& dump) : dump_(dump), facts_(dump) {}
  // A weight of the model, where it is kept or where an op reads it.
  [[nodiscard]] bool is_weight(const RecordRow& record) const;
  // Made in the backward pass, or called a gradient by its slot or its scope.
  [[nodiscard]] bool is_gradient(const RecordRow& record) const;
  // Made by an op of the forward pass whose type is the name of an activation function, in any framework's spelling.
  [[nodiscard]] bool is_activation(const RecordRow& record) const;
  [[nodiscard]] const OpFactsTable& facts() const { return facts_; }

 private:
  const DumpIndex& dump_;
  OpFactsTable facts_;
};

// "leakyrelu" of "LeakyRelu", "leaky_relu" and "leaky_relu_".
std::string plain_type(std::string_view type);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_RECORD_ROLES_H_
