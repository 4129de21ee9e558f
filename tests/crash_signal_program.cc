// Dies, or does not, while a toy op runs: crash_signal_program CONFIG SIGNAL MODE. CONFIG "" captures nothing. The handlers report on
// stdout.

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tensortap/tensortap.h"

namespace {

struct sigaction previous {};
sigjmp_buf recovered;

void say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(90);
}

void give_up(int signal) {
  say("handled ");
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  say("handled ");
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else {
    sigaction(signal, &previous, nullptr);
  }
}

void go_on(int /*signal*/) { say("handled "); }
void jump(int /*signal*/) { siglongjmp(recovered, 1); }

void set_handler(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

void set_passing_handler(int signal) {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, &previous);
}

// As a broken kernel does it.
void fault(int signal) {
  switch (signal) {
    case SIGSEGV: {
      volatile int* nowhere = nullptr;
      *nowhere = 1;
      break;
    }
    case SIGBUS: {
      char name[] = "/tmp/tensortap-bus-XXXXXX";
      const int file = mkstemp(name);
      unlink(name);
      volatile char* map = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
      say(map[0] == 'x' ? "x" : "");
      break;
    }
    case SIGFPE: {
      volatile int number = 1000;
      volatile int zero = 0;
      volatile int result = number / zero;
      say(result == 1 ? "x" : "");
      break;
    }
    case SIGILL:
      __builtin_trap();
    default:
      abort();
  }
}

// Under a frame that leads nowhere: who walks the stack faults, too. The room of a size that only the run knows makes the compiler find the
// frame by its pointer.
__attribute__((noinline)) void fault_in_damaged_frame(size_t size) {
  volatile char* room = static_cast<char*>(__builtin_alloca(size));
  room[0] = 1;
#if defined(__x86_64__)
  asm volatile("movq $8, %%rbp\n\tmovl $1, 0" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("mov x29, #8\n\tstr xzr, [x29]" ::: "memory");
#endif
}

volatile size_t frame_size = 64;
volatile int deepest = 1 << 30;

int overflow_stack(int depth) {
  volatile char page[4096];
  page[0] = static_cast<char>(depth);
  return depth >= deepest ? 0 : overflow_stack(depth + 1) + page[0];
}

tensortap_tensor tensor_of(const float* values, const int64_t* dims, uint32_t slot) {
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = TENSORTAP_FLOAT32;
  tensor.data = values;
  tensor.dims = dims;
  tensor.rank = 1;
  tensor.slot_kind = TENSORTAP_SLOT_INPUT;
  tensor.slot_index = slot;
  tensor.element = -1;
  return tensor;
}

tensortap_session* open_session(const char* config) {
  if (*config == '\0') return nullptr;
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config;
  options.source = "toy 1.0";
  tensortap_session* session = nullptr;
  if (tensortap_session_open(&options, &session, nullptr, 0) != TENSORTAP_OK) _exit(91);
  return session;
}

tensortap_op_id add_op(tensortap_session* session, const char* name) {
  tensortap_op op{};
  op.size = sizeof(op);
  op.name = name;
  op.type = "Toy";
  op.parent = TENSORTAP_NO_OP;
  op.attributes = R"({"axis": 1})";
  return tensortap_register_op(session, &op);
}

struct Program {
  tensortap_session* session;
  tensortap_op_id first;
  tensortap_op_id broken;
  std::vector<float> values = {1, 2, 3, 4};
  const float* unreadable = nullptr;

  void send(tensortap_op_id op, uint32_t flags, uint32_t kind) const {
    const std::array<int64_t, 1> dims = {4};
    std::array<tensortap_tensor, 2> tensors = {tensor_of(values.data(), dims.data(), 0), tensor_of(values.data() + 3, dims.data(), 1)};
    const std::array<int64_t, 1> strides = {-1};
    tensors[1].strides = strides.data();
    if (unreadable != nullptr) tensors[0].data = unreadable;
    for (tensortap_tensor& tensor : tensors) tensor.slot_kind = kind;
    tensortap_op_event event{};
    event.size = sizeof(event);
    event.op = op;
    event.step = 7;
    event.flags = flags;
    event.duration_ns = -1;
    event.phase = TENSORTAP_PHASE_FORWARD;
    event.tensors = tensors.data();
    event.tensor_count = tensors.size();
    tensortap_on_op(session, &event);
  }
  void begin(tensortap_op_id op) const { send(op, TENSORTAP_EVENT_READ_FIRST, TENSORTAP_SLOT_INPUT); }
  void end(tensortap_op_id op) const { send(op, 0, TENSORTAP_SLOT_OUTPUT); }
};

int run(Program& program, int signal, const std::string& mode) {
  program.begin(program.first);
  program.end(program.first);
  if (mode == "unmapped") {
    void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    program.unreadable = static_cast<const float*>(memory);
    program.begin(program.broken);
    munmap(memory, 4096);
  } else {
    program.begin(program.broken);
  }
  if (mode.starts_with("limited")) {
    const rlimit few{64, 64};
    setrlimit(RLIMIT_FSIZE, &few);
  }
  if (mode == "raise" || mode == "survive" || mode == "ignore") {
    raise(signal);
  } else if (mode.starts_with("overflow")) {
    return overflow_stack(0);
  } else if (mode == "jump") {
    if (sigsetjmp(recovered, 1) == 0) fault(signal);
  } else if (mode == "damaged") {
    fault_in_damaged_frame(frame_size);
  } else if (mode.starts_with("damaged-jump")) {
    if (sigsetjmp(recovered, 1) == 0) fault_in_damaged_frame(frame_size);
  } else if (mode == "fork") {
    if (fork() == 0) fault(signal);
    return 0;
  } else {
    fault(signal);
  }
  program.end(program.broken);
  say("alive");
  return tensortap_session_close(program.session);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int signal = atoi(argv[2]);
  const std::string mode = argv[3];
  std::vector<char> stack(1 << 16);
  const stack_t alternative{stack.data(), 0, stack.size()};
  if (mode == "overflow") sigaltstack(&alternative, nullptr);
  if (mode == "before" || mode == "limited-before") set_handler(signal, give_up);
  if (mode == "before-once") set_handler(signal, go_on, static_cast<int>(SA_RESETHAND));
  if (mode == "survive") set_handler(signal, go_on);
  if (mode == "ignore") set_handler(signal, SIG_IGN);
  if (mode == "jump" || mode == "damaged-jump") set_handler(signal, jump);
  if (mode == "damaged-jump-nodefer") set_handler(signal, jump, SA_NODEFER);
  Program program{open_session(argv[1]), 0, 0};
  program.first = add_op(program.session, "first");
  program.broken = add_op(program.session, "broken");
  if (mode == "after") set_passing_handler(signal);
  if (!mode.ends_with("-thread")) return run(program, signal, mode);
  int code = 0;
  std::thread([&] { code = run(program, signal, mode); }).join();
  return code;
}
