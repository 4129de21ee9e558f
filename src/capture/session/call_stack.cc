#include "session/call_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "crash/crash_file.h"

namespace tensortap {
namespace {

constexpr size_t kMostCalls = 64;

std::string place_of_call(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "?";
  const auto offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(info.dli_fbase);
  std::string place = concat(info.dli_fname, "+", hexadecimal(offset));
  if (info.dli_sname != nullptr) place += concat(" (", info.dli_sname, ")");
  return place;
}

}  // namespace

Json call_stack() {
  std::array<void*, kMostCalls> calls{};
  const int count = backtrace(calls.data(), static_cast<int>(calls.size()));
  Json list = Json::array();
  for (int i = 1; i < count; ++i) {
    void* address = calls.at(static_cast<size_t>(i));
    list.push_back({{"address", hexadecimal(reinterpret_cast<uint64_t>(address))}, {"in", place_of_call(address)}});
  }
  return list;
}

Json registers_here() {
  ucontext_t context{};
  if (getcontext(&context) != 0) return nullptr;
#if defined(__x86_64__)
  std::array<uint64_t, NGREG> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[i]);
  return registers_json(numbers);
#else
  return nullptr;
#endif
}

}  // namespace tensortap
