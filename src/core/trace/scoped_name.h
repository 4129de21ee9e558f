// Scoped names of ops, "Default/encoder/MatMul_1/MatMul-op12": the form in which graph-compiling frameworks list, select and store them.
// Their tools split such names into scopes and accept few characters.

#ifndef TENSORTAP_TRACE_SCOPED_NAME_H_
#define TENSORTAP_TRACE_SCOPED_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/op_info.h"

namespace tensortap {

// Stands for a graph's input or a weight, and so runs nothing.
bool is_pseudo_op(const OpInfo& op);

// The text with "_" in place of every character that is no ASCII letter, digit, "_" or one of `also`; "_" for an empty text.
std::string identifier(std::string_view text, std::string_view also = {});

// "Default/SCOPES/TYPE-opNUMBER": the parts of the op's name between slashes and dots are scopes, so that "Net.fc/addmm" becomes
// "Default/Net/fc/addmm/addmm-op3". Scopes and type are identifiers. The bare name for a pseudo-op.
std::string scoped_op_name(const OpInfo& op, uint32_t number);

// Numbers ops from 0 in the order in which they are added, pseudo-ops left out: one number for an op wherever it is written. Value type.
class ScopedNames {
 public:
  std::string add(const OpInfo& op) { return scoped_op_name(op, is_pseudo_op(op) ? 0 : next_++); }
  // Ops that are not added also have numbers.
  void pass_over(uint32_t ops) { next_ += ops; }

 private:
  uint32_t next_ = 0;
};

// The part of a scoped name that contains the type: after the last '/', before the last '-'.
std::string_view scoped_name_type(std::string_view scoped_name);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_SCOPED_NAME_H_
