// The dump that is asked of a process over ATB, by `tensortap llm dump` or by the environment that msit sets.

#ifndef TENSORTAP_SOURCE_ATB_DUMP_REQUEST_H_
#define TENSORTAP_SOURCE_ATB_DUMP_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "source/atb/entry.h"

namespace tensortap::atb {

struct DumpRequest {
  std::string config;       // in tensortap's own language, without what this source writes itself
  std::string config_name;  // for messages
  std::string program;
  std::string out;       // folder of the dumps
  std::string time;      // "20251120_200000", of the dump's name
  uint32_t wishes = 0;   // bits 1 << Wish
  bool follows = false;  // the config that decides what is captured may change

  [[nodiscard]] bool has(Wish wish) const { return (wishes >> static_cast<unsigned>(wish) & 1U) != 0; }
};

// Nothing if no dump is asked of this process. Errors: kInvalidArgument for a config that is wrong.
Result<std::optional<DumpRequest>> read_dump_request();

}  // namespace tensortap::atb

#endif  // TENSORTAP_SOURCE_ATB_DUMP_REQUEST_H_
