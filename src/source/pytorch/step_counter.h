// Which step of the program runs: an optimizer's step, a call of a model where there is no optimizer, or what the program says. Or, for
// layouts that tell calls apart, which round: a call of a model in its phase.

#ifndef TENSORTAP_SOURCE_PYTORCH_STEP_COUNTER_H_
#define TENSORTAP_SOURCE_PYTORCH_STEP_COUNTER_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "source/pytorch/running_operations.h"

namespace tensortap::pytorch {

// Thread-safe.
class StepCounter {
 public:
  // `on_step` receives whether anything of the step that begins is to be looked at. `by_rounds`: round_begins() alone begins steps.
  StepCounter(tensortap_session* session, void (*on_step)(void* context, bool wanted), void* context, bool by_rounds = false)
      : session_(session), on_step_(on_step), context_(context), by_rounds_(by_rounds) {}
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  [[nodiscard]] int64_t current() const { return step_.load(std::memory_order_relaxed); }
  // What tensortap_step_begin() got with it: the phase of the model in a round, otherwise 0.
  [[nodiscard]] uint64_t run() const { return run_.load(std::memory_order_relaxed); }
  // That of the current step, where steps are rounds.
  [[nodiscard]] Round round() const { return {count_.load(std::memory_order_relaxed), static_cast<uint32_t>(run())}; }
  // Begins step 0.
  void begin();
  // Ends the last one.
  void end();

  // Whether an optimizer has ended the current step and nothing of the next one has run. A step goes on until then, so that what the
  // program still reads of it, such as the loss, belongs to it.
  [[nodiscard]] bool lingers() const { return lingers_.load(std::memory_order_relaxed); }
  // Something of the next step runs: begins it if the current one lingers.
  void move_on();

  // Something ran that belongs to the step: without it a call of a model begins no new one.
  // `optimizer`: its address, null where only the name is known.
  void optimizer_ends(const char* name, const void* optimizer);
  // The program has an optimizer, whose steps are to come: calls of a model are none.
  void optimizer_made();
  // Whether a model ran yet, or a step has ended.
  [[nodiscard]] bool model_runs() const { return model_runs_.load(std::memory_order_relaxed); }
  void backward_ran() { backward_ran_.store(true, std::memory_order_relaxed); }
  void root_module_begins();
  void program_steps();
  // A model is called in this phase, enum tensortap_model_phase: the step is how often it was before. The first round of each is looked at
  // even when nothing of it is wanted, since operations are numbered in the order in which they first run. Only where steps are rounds.
  void round_begins(uint32_t model, uint32_t phase);
  // While the capture pauses, steps are counted and the session is not told of them: they cost what they cost without it.
  void pause(bool paused);

 private:
  enum class Source : uint8_t { kModel, kOptimizer, kProgram };
  void next();
  void begin_step(int64_t step, uint64_t run);
  void settle();
  void tell_begin();

  tensortap_session* const session_;
  void (*const on_step_)(void* context, bool wanted);
  void* const context_;
  const bool by_rounds_;
  std::atomic<int64_t> step_{0};
  std::atomic<uint64_t> run_{0};
  std::atomic<uint64_t> count_{0};  // of the steps that began before
  std::atomic<bool> backward_ran_{false};
  std::atomic<bool> lingers_{false};
  std::atomic<bool> model_runs_{false};
  std::mutex mutex_;
  Source source_ = Source::kModel;
  std::string optimizer_name_;       // whose steps count: the first one seen
  const void* optimizer_ = nullptr;  // and its address
  bool model_ran_ = false;
  bool paused_ = false;
  bool wanted_ = true;                                       // whether anything of the current step is
  std::map<std::pair<uint32_t, uint32_t>, int64_t> rounds_;  // by model and phase: how many began
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_STEP_COUNTER_H_
