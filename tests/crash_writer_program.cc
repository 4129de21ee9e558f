// Captures a known pattern until it is killed: crash_writer_program FOLDER [STEPS]. Prints a line once the first step is written.

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "crash_pattern.h"
#include "tensortap/tensortap.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int64_t steps = argc > 2 ? std::strtoll(argv[2], nullptr, 10) : INT64_MAX;
  tensortap::Session session;
  const std::string config =
      std::string(R"({"payload": "full", "limits": {"pool_bytes": 1048576, "keep_free": 0}, "out": ")") + argv[1] + "\"}";
  if (!session.open(config, "crash_writer 1.0").empty()) return 3;
  std::array<tensortap::Op, crash_pattern::kOps> ops{};
  for (uint32_t i = 0; i < crash_pattern::kOps; ++i) ops[i] = session.add_op({.name = "op" + std::to_string(i), .type = "Pattern"});
  for (int64_t step = 0; step < steps; ++step) {
    for (uint32_t i = 0; i < crash_pattern::kOps; ++i) {
      const std::vector<float> values = crash_pattern::values(step, i);
      const std::array<int64_t, 1> dims = {static_cast<int64_t>(values.size())};
      session.on_op(ops[i], step, {tensortap::output(TENSORTAP_FLOAT32, values.data(), dims)});
    }
    if (step == 0 && tensortap_session_flush(session.get()) != TENSORTAP_OK) return 5;
    if (step == 0 && write(STDOUT_FILENO, "started\n", 8) != 8) return 4;
  }
  return session.close();
}
