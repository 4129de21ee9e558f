// Which step of the program runs: an optimizer's step, a call of a model where there is no optimizer, a call of the modules that the user
// chose, or a step that the program announces. For layouts that distinguish calls, which round: a call of a model in its phase.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_STEP_COUNTER_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_STEP_COUNTER_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "source/pytorch/identity/running_operations.h"
#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// The events that begin steps.
enum class StepsBy : uint8_t {
  kProgram,  // the program: its optimizer, its models, or its own announcements
  kRounds,   // round_begins() alone
  kModules,  // chosen_module_begins() alone
};

// The optimizer whose steps are those of a training: the first that stepped. A new one takes over when that one is gone, when the new one
// was made after that one's last step (the next of several trainings), or when that one no longer steps. Not thread-safe.
class PacingOptimizer {
 public:
  // `optimizer`: its address.
  void made(const void* optimizer);
  void gone(const void* optimizer);
  // Whether a step of the training ends with this step of an optimizer. `optimizer` is null where only the name is known.
  bool ends_step(const std::string& name, const void* optimizer);

 private:
  // After so many steps of another optimizer in a row, the first one is done.
  static constexpr int kMostOfAnother = 32;
  [[nodiscard]] bool takes_over(const std::string& name, const void* optimizer);

  bool known_ = false;
  std::string name_;
  const void* address_ = nullptr;
  std::set<const void*> newcomers_;  // made since its last step
  const void* other_ = nullptr;      // that stepped last, since its last step
  int steps_of_other_ = 0;
};

// Thread-safe.
class StepCounter {
 public:
  // `on_step` receives whether anything of the step that begins is looked at.
  StepCounter(tensortap_session* session, void (*on_step)(void* context, bool wanted), void* context, StepsBy by = StepsBy::kProgram)
      : session_(session), on_step_(on_step), context_(context), by_(by) {}
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  [[nodiscard]] int64_t current() const { return step_.load(std::memory_order_relaxed); }
  // The run that tensortap_step_begin() got with it: the phase of the model in a round, otherwise 0.
  [[nodiscard]] uint64_t run() const { return run_.load(std::memory_order_relaxed); }
  // What the model does now, enum tensortap_model_phase. Any thread.
  [[nodiscard]] uint32_t model_phase() const { return model_phase_.load(std::memory_order_relaxed); }
  // That of the current step, where steps are rounds.
  [[nodiscard]] Round round() const { return {count_.load(std::memory_order_relaxed), static_cast<uint32_t>(run())}; }
  // Begins step 0.
  void begin();
  // Ends the last one.
  void end();

  // Whether an optimizer has ended the current step and nothing of the next one has run. A step goes on until then, so that values which
  // the program still reads of it, such as the loss, belong to it.
  [[nodiscard]] bool lingers() const { return lingers_.load(std::memory_order_relaxed); }
  // Something of the next step runs: begins it if the current one lingers.
  void move_on();

  // An optimizer's step ends. `optimizer`: its address, null where only the name is known.
  void optimizer_ends(const char* name, const void* optimizer);
  // The program has an optimizer, whose steps will come: calls of a model are no steps. Null = its address is not known.
  void optimizer_made(const void* optimizer);
  // An optimizer is gone.
  void optimizer_gone(const void* optimizer);
  // An optimizer was made before the capture began: operators after a backward pass may belong to its step.
  void optimizer_may_come() { optimizer_may_come_.store(true, std::memory_order_relaxed); }
  // Whether a model ran yet, or a step has ended.
  [[nodiscard]] bool model_runs() const { return model_runs_.load(std::memory_order_relaxed); }
  void backward_ran() { backward_ran_.store(true, std::memory_order_relaxed); }
  // A module is called while none runs: a step begins if the module already ran in the current one. One that holds no tensors and first ran
  // behind a model that does, such as a sampler, belongs to the model's step however often it runs. 0 = its path is not known. The phase of
  // the call holds until the next one; a module without tensors that has none does not change it.
  void root_module_begins(ModuleId module, const RootCall& call = {});
  // One of the modules that the user chose is called, inside of no other one.
  void chosen_module_begins();
  void program_steps();
  // A model is called in this phase, enum tensortap_model_phase. The step is the number of its earlier calls in the phase. The first round
  // of each is looked at even when nothing of it is wanted, since operations are numbered in the order in which they first run. Only where
  // steps are rounds.
  void round_begins(uint32_t model, uint32_t phase);
  // While the capture pauses, steps are counted but not reported to the session: they cost the same as without a capture.
  void pause(bool paused);

 private:
  enum class Source : uint8_t { kModel, kOptimizer, kProgram };
  void next();
  void begin_step(int64_t step, uint64_t run);
  void settle();
  void begin_step_of_model(ModuleId module, bool holds_tensors);
  // For a module without tensors.
  bool follows_models(ModuleId module);
  void tell_begin();

  tensortap_session* const session_;
  void (*const on_step_)(void* context, bool wanted);
  void* const context_;
  const StepsBy by_;
  std::atomic<int64_t> step_{0};
  std::atomic<uint64_t> run_{0};
  std::atomic<uint32_t> model_phase_{0};
  std::atomic<uint64_t> count_{0};  // of the steps that began before
  std::atomic<bool> backward_ran_{false};
  std::atomic<bool> optimizer_may_come_{false};
  std::atomic<bool> lingers_{false};
  std::atomic<bool> model_runs_{false};
  std::mutex mutex_;
  Source source_ = Source::kModel;
  PacingOptimizer optimizer_;
  std::set<ModuleId> models_;     // that ran in the current step, where they begin steps
  std::set<ModuleId> followers_;  // of the modules without tensors those that first ran behind a model of their step
  std::set<ModuleId> leaders_;    // and the others
  bool model_ran_ = false;        // a model with tensors ran in the current step
  bool chosen_ran_ = false;
  bool paused_ = false;
  bool wanted_ = true;                                       // whether anything of the current step is
  std::map<std::pair<uint32_t, uint32_t>, int64_t> rounds_;  // by model and phase: how many began
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_STEP_COUNTER_H_
