// Calls the functions of a preloaded library as ATB does, by a script: driver SCRIPT DATA. A line of the script is a word and what it
// needs, between tabs; tensors lie in DATA. Questions with "ask" are answered on stdout. "PID" in paths becomes the process.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <thread>

#include "probe.h"

namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char mark) {
  Words words(1);
  for (const char c : text) {
    if (c == mark) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::vector<int64_t> numbers_of(const std::string& text) {
  std::vector<int64_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string& word : split(text, ',')) numbers.push_back(std::stoll(word));
  return numbers;
}

class Driver {
 public:
  explicit Driver(std::string data) : data_(std::move(data)) {}

  void run(const Words& lines) {
    for (const std::string& line : lines) {
      if (!line.empty()) obey(split(line, '\t'));
    }
  }

 private:
  using Probe = atb::Probe;

  static uint64_t number(const std::string& text) { return std::stoull(text); }
  static std::string with_process(std::string path) {
    const size_t at = path.find("PID");
    return at == std::string::npos ? path : path.replace(at, 3, std::to_string(getpid()));
  }
  // TYPE;FORMAT;DIMS;PATH for each tensor.
  static Probe::Tensors tensors_of(const std::string& text) {
    Probe::Tensors tensors;
    if (text.empty()) return tensors;
    for (const std::string& one : split(text, '&')) {
      const Words words = split(one, ';');
      tensors.push_back({words.at(0), words.at(1), words.at(2), with_process(words.at(3))});
    }
    return tensors;
  }

  // An operation or kernel is set up: IDS TYPE FOLDER COUNT.
  void set_up(const Words& words) {
    count_ = number(words.at(4));
    needed_ = Probe::IsTensorNeedSave(numbers_of(words.at(1)), words.at(2));
    folder_ = with_process(words.at(3));
    if (Probe::IsSaveTensorDesc()) Probe::UpdateConfig();
  }
  bool is_saved() const { return Probe::IsExecuteCountInRange(count_) && needed_ && Probe::IsSaveTensorInSpecificDir(folder_); }
  void begin_phase(const Words& words) {
    saves_ = is_saved() && (words.at(1) == "before" ? Probe::IsSaveTensorBefore() : Probe::IsSaveTensorAfter());
  }
  // FORMAT TYPE DIMS OFFSET BYTES PATH
  void save_tensor(const Words& words) {
    if (saves_) give_tensor(words);
  }
  void give_tensor(const Words& words) {
    Probe::SaveTensor(words.at(1), words.at(2), words.at(3), data_.data() + number(words.at(4)), number(words.at(5)),
                      with_process(words.at(6)));
  }
  void ask(const Words& words) {
    const std::string& what = words.at(1);
    const std::map<std::string, std::function<bool()>> questions = {
        {"need", [&] { return Probe::IsTensorNeedSave(numbers_of(words.at(2)), words.at(3)); }},
        {"range", [&] { return Probe::IsExecuteCountInRange(number(words.at(2))); }},
        {"folder", [&] { return Probe::IsSaveTensorInSpecificDir(with_process(words.at(2))); }},
        {"child", Probe::IsSaveChild},
        {"data", Probe::IsSaveTensorData},
        {"desc", Probe::IsSaveTensorDesc},
        {"before", Probe::IsSaveTensorBefore},
        {"after", Probe::IsSaveTensorAfter},
        {"intensor", Probe::IsSaveIntensor},
        {"outtensor", Probe::IsSaveOuttensor},
        {"param", Probe::IsSaveParam},
        {"tiling", Probe::IsSaveTiling},
        {"overflow", Probe::IsOverflowCheck},
        {"stop", Probe::IsOverflowStop},
        {"graph", Probe::ReportOperationGraphEnable},
        {"statistic", Probe::ReportOperationStatisticEnable},
        {"operations", Probe::ReportOperationIOTensorEnable},
        {"kernels", Probe::ReportKernelIOTensorEnable},
        {"model", [&] { return atb_speed::SpeedProbe::IsReportModelTopoInfo(words.at(2)); }},
    };
    std::printf("%d\n", questions.at(what)() ? 1 : 0);
    std::fflush(stdout);
  }
  // Runs what is left of the script in THREADS threads.
  void in_threads(const Words& words) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < number(words.at(1)); ++i) {
      threads.emplace_back([this, i] {
        for (int round = 0; round < 100; ++round) {
          const std::string path = "0_PID/" + std::to_string(round) + "/" + std::to_string(i) + "_Thread/after/outtensor0.bin";
          Probe::SaveTensor("2", "0", "2,2", data_.data(), 16, with_process(path));
          Probe::IsTensorNeedSave({static_cast<int64_t>(i), round}, "Thread");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static void fork_child() {
    const pid_t child = fork();
    if (child == 0) return;
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", status);
  }

  void obey(const Words& words) {
    const std::map<std::string, std::function<void()>> actions = {
        {"setup", [&] { set_up(words); }},
        {"phase", [&] { begin_phase(words); }},
        {"tensor", [&] { save_tensor(words); }},
        {"give", [&] { give_tensor(words); }},
        {"ask", [&] { ask(words); }},
        {"param",
         [&] {
           if (Probe::IsSaveParam()) Probe::SaveParam(words.at(1), with_process(words.at(2)));
         }},
        {"tiling", [&] { tiling(words); }},
        {"graph",
         [&] {
           if (Probe::ReportOperationGraphEnable()) Probe::ReportOperationGraph(words.at(1), words.at(2));
         }},
        {"model",
         [&] {
           if (atb_speed::SpeedProbe::IsReportModelTopoInfo(words.at(1)))
             atb_speed::SpeedProbe::ReportModelTopoInfo(words.at(1), words.at(2));
         }},
        {"operation",
         [&] {
           if (Probe::ReportOperationIOTensorEnable())
             Probe::ReportOperationIOTensor(number(words.at(1)), words.at(2), words.at(3), tensors_of(words.at(4)),
                                            tensors_of(words.at(5)));
         }},
        {"kernel",
         [&] {
           if (Probe::ReportKernelIOTensorEnable())
             Probe::ReportKernelIOTensor(number(words.at(1)), words.at(2), words.at(3), tensors_of(words.at(4)), tensors_of(words.at(5)));
         }},
        {"statistic",
         [&] {
           if (Probe::ReportOperationStatisticEnable()) Probe::ReportOperationSetupStatistic(number(words.at(1)), words.at(2), words.at(3));
         }},
        {"execution",
         [&] {
           if (Probe::ReportOperationStatisticEnable())
             Probe::ReportOperationExecuteStatistic(number(words.at(1)), words.at(2), words.at(3));
         }},
        {"overflow",
         [&] {
           if (Probe::IsOverflowCheck()) Probe::ReportOverflowKernel(words.at(1));
         }},
        {"update", Probe::UpdateConfig},
        {"sleep", [&] { usleep(static_cast<useconds_t>(number(words.at(1)) * 1000)); }},
        {"threads", [&] { in_threads(words); }},
        {"fork", fork_child},
        {"exit", [&] { std::exit(static_cast<int>(number(words.at(1)))); }},
        {"_exit", [&] { _exit(static_cast<int>(number(words.at(1)))); }},
        {"kill", [] { raise(SIGKILL); }},
    };
    actions.at(words.at(0))();
  }
  // OFFSET BYTES PATH
  void tiling(const Words& words) {
    if (!is_saved() || !Probe::IsSaveTiling()) return;
    const auto* bytes = reinterpret_cast<const uint8_t*>(data_.data());
    Probe::SaveTiling(bytes + number(words.at(1)), number(words.at(2)), with_process(words.at(3)));
  }

  const std::string data_;
  uint64_t count_ = 0;
  bool needed_ = false;
  bool saves_ = false;
  std::string folder_;
};

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  Driver(content_of(words[2])).run(split(content_of(words[1]), '\n'));
  return 0;
}
