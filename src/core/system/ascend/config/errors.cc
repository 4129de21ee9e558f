#include "system/ascend/config/errors.h"

#include "base/text.h"

namespace tensortap::ascend {
namespace {

std::string codes_text(Fault kind) { return concat(" (EP000", static_cast<int>(kind), ", AscendCL error ", kInvalidDumpConfig, ")"); }

}  // namespace

Status fault(const SpecValue& value, Fault kind, std::string_view what) {
  return value.error(concat(what, codes_text(kind))).with_foreign_code(kInvalidDumpConfig);
}

Status fault_without(const SpecValue& object, std::string_view member, Fault kind, std::string_view what) {
  return invalid_argument(concat(object.position(), ": ", object.key(), ".", member, ": ", what, codes_text(kind)))
      .with_foreign_code(kInvalidDumpConfig);
}

Status wrong_type(const SpecValue& value, std::string_view expected) {
  const Status plain = value.wrong_type(expected);
  return Status(plain.code(), plain.message() + codes_text(Fault::kItem)).with_foreign_code(kInvalidDumpConfig);
}

}  // namespace tensortap::ascend
