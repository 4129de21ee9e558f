// Which step of the program runs: an optimizer's step, a call of a model where there is no optimizer, or what the program says.

#ifndef TENSORTAP_SOURCE_PYTORCH_STEP_COUNTER_H_
#define TENSORTAP_SOURCE_PYTORCH_STEP_COUNTER_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace tensortap::pytorch {

// Thread-safe.
class StepCounter {
 public:
  // `on_step` receives whether anything of the step that begins is wanted.
  StepCounter(tensortap_session* session, void (*on_step)(void* context, bool wanted), void* context)
      : session_(session), on_step_(on_step), context_(context) {}
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  [[nodiscard]] int64_t current() const { return step_.load(std::memory_order_relaxed); }
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
  // While the capture pauses, steps are counted and the session is not told of them: they cost what they cost without it.
  void pause(bool paused);

 private:
  enum class Source : uint8_t { kModel, kOptimizer, kProgram };
  void next();
  void settle();
  void tell_begin(int64_t step);

  tensortap_session* const session_;
  void (*const on_step_)(void* context, bool wanted);
  void* const context_;
  std::atomic<int64_t> step_{0};
  std::atomic<bool> backward_ran_{false};
  std::atomic<bool> lingers_{false};
  std::atomic<bool> model_runs_{false};
  std::mutex mutex_;
  Source source_ = Source::kModel;
  std::string optimizer_name_;       // whose steps count: the first one seen
  const void* optimizer_ = nullptr;  // and its address
  bool model_ran_ = false;
  bool paused_ = false;
  bool wanted_ = true;  // whether anything of the current step is
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_STEP_COUNTER_H_
