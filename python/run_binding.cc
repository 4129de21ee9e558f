// tensortap._core.run_model: the ONNX Runtime source, called without the interpreter's lock.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "bindings.h"
#include "plan/selection.h"
#include "registry/registry.h"
#include "tensor/dtype.h"
#include "tensortap/onnxruntime.h"

namespace nb = nanobind;

namespace tensortap::python {
namespace {

using InputBytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string take_text(char* text) {
  std::string taken = text == nullptr ? "{}" : text;
  tensortap_free(text);
  return taken;
}

// Inputs as the C interface takes them, with what they borrow from.
class Inputs {
 public:
  explicit Inputs(const nb::sequence& given) {
    for (const nb::handle one : given) add(nb::cast<nb::tuple>(one));
  }
  [[nodiscard]] const std::vector<tensortap_onnxruntime_input>& list() const { return list_; }

 private:
  // (name, position, step, dtype, shape, bytes or list of texts)
  void add(const nb::tuple& fields) {
    Held& held = held_.emplace_back();
    held.name = nb::cast<std::string>(fields[0]);
    held.shape = nb::cast<std::vector<int64_t>>(fields[4]);
    tensortap_onnxruntime_input input{};
    input.size = sizeof input;
    input.step = nb::cast<int64_t>(fields[2]);
    input.tensor.size = sizeof input.tensor;
    input.tensor.dtype = nb::cast<uint32_t>(fields[3]);
    input.tensor.data = hold_data(held, fields[5]);
    input.tensor.dims = held.shape.data();
    input.tensor.rank = static_cast<uint32_t>(held.shape.size());
    input.tensor.slot_kind = TENSORTAP_SLOT_INPUT;
    input.tensor.slot_index = nb::cast<uint32_t>(fields[1]);
    input.tensor.name = held.name.c_str();
    input.tensor.element = -1;
    list_.push_back(input);
  }

  struct Held {
    std::string name;
    std::vector<int64_t> shape;
    InputBytes bytes;
    std::vector<std::string> texts;
    std::vector<tensortap_string> strings;
  };

  static const void* hold_data(Held& held, const nb::handle& data) {
    if (!nb::isinstance<nb::list>(data)) {
      held.bytes = nb::cast<InputBytes>(data);
      return held.bytes.data();
    }
    for (const nb::handle text : nb::cast<nb::list>(data)) {
      const auto bytes = nb::cast<nb::bytes>(text);
      held.texts.emplace_back(bytes.c_str(), bytes.size());
    }
    for (const std::string& text : held.texts) held.strings.push_back({text.data(), text.size()});
    return held.strings.data();
  }

  std::list<Held> held_;
  std::vector<tensortap_onnxruntime_input> list_;
};

// What the callbacks of a run work on. A Python exception is kept until the run is over: none may pass through C.
struct Callbacks {
  nb::object on_output;
  std::exception_ptr error;
};

nb::object tensor_data(const tensortap_tensor& tensor) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= static_cast<uint64_t>(tensor.dims[i]);
  if (tensor.dtype != TENSORTAP_STRING) {
    return nb::bytes(tensor.data, packed_bytes(static_cast<DType>(tensor.dtype), count).value_or(0));
  }
  nb::list texts;
  const auto* strings = static_cast<const tensortap_string*>(tensor.data);
  for (uint64_t i = 0; i < count; ++i) texts.append(nb::bytes(strings[i].data, strings[i].size));
  return texts;
}

void on_output(void* user, int64_t step, const tensortap_tensor* output) {
  auto& callbacks = *static_cast<Callbacks*>(user);
  if (callbacks.error) return;
  const nb::gil_scoped_acquire acquire;
  try {
    const std::vector<int64_t> shape(output->dims, output->dims + output->rank);
    callbacks.on_output(step, output->name == nullptr ? "" : output->name, output->element, output->dtype, shape, tensor_data(*output));
  } catch (...) {
    callbacks.error = std::current_exception();
  }
}

int should_stop(void* user) {
  auto& callbacks = *static_cast<Callbacks*>(user);
  if (callbacks.error) return 1;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return 0;
  callbacks.error = std::make_exception_ptr(nb::python_error());
  return 1;
}

std::pair<int, std::string> run_model(const std::string& request, const nb::sequence& given, const nb::object& output_function) {
  const Inputs inputs(given);
  Callbacks callbacks{output_function, nullptr};
  tensortap_onnxruntime_run_options options{};
  options.size = sizeof options;
  options.request = request.c_str();
  options.inputs = inputs.list().data();
  options.input_count = inputs.list().size();
  options.on_output = output_function.is_none() ? nullptr : on_output;
  options.should_stop = should_stop;
  options.user = &callbacks;
  char* report = nullptr;
  int code = 0;
  {
    const nb::gil_scoped_release release;
    code = tensortap_onnxruntime_run(&options, &report);
  }
  std::string text = take_text(report);
  if (callbacks.error) std::rethrow_exception(callbacks.error);
  return {code, std::move(text)};
}

// The text of an option, nothing when it was not given.
std::optional<std::string> option_text(const nb::dict& options, const char* name) {
  if (!options.contains(name)) return std::nullopt;
  return nb::cast<std::string>(options[name]);
}

bool option_flag(const nb::dict& options, const char* name) { return options.contains(name) && nb::cast<bool>(options[name]); }

std::vector<std::string> option_list(const nb::dict& options, const char* name) {
  if (!options.contains(name)) return {};
  return nb::cast<std::vector<std::string>>(options[name]);
}

std::optional<CaptureSpec> parse_config(const nb::dict& options) {
  const auto text = option_text(options, "config");
  if (!text) return std::nullopt;
  const std::string profile = option_text(options, "profile").value_or("");
  const std::string name = option_text(options, "config_name").value_or("config");
  return value_or_throw(read_config(*text, name, {}, {profile, option_flag(options, "profile_strict")}));
}

// What tensortap_check_config() reports of a config, as JSON text.
std::string check_config(const std::string& text, const std::string& name, const std::string& dialect) {
  char* report = nullptr;
  tensortap_check_config(text.c_str(), name.c_str(), dialect.c_str(), &report);
  std::string kept = report == nullptr ? "{}" : report;
  tensortap_free(report);
  return kept;
}

// The options of `tensortap run`, as typed there, in the neutral form.
std::string capture_config(const nb::dict& given) {
  CaptureOptions options;
  options.config = parse_config(given);
  if (const auto profile = option_text(given, "profile"); profile && !options.config)
    options.profile = value_or_throw(complete_profile(*profile));
  options.ops = option_list(given, "ops");
  options.types = option_list(given, "types");
  options.steps = option_text(given, "steps");
  options.step_at = option_text(given, "step_at");
  options.slots = option_text(given, "slots");
  options.where = option_text(given, "where");
  options.stats = option_flag(given, "stats");
  options.tensors = option_flag(given, "tensors");
  options.full = option_flag(given, "full");
  options.describe = option_flag(given, "describe");
  options.budget = option_text(given, "budget");
  options.max_bytes = option_text(given, "max_bytes");
  options.keep_free = option_text(given, "keep_free");
  options.stop_after = option_text(given, "stop_after");
  options.mode = option_text(given, "mode").value_or("");
  options.strict = option_flag(given, "strict");
  options.layout = option_text(given, "layout");
  options.out = option_text(given, "out");
  return to_json_text(spec_to_json(value_or_throw(spec_from_options(options))));
}

// A report of the source, or the failure that it describes.
std::string report_or_throw(int code, char* report) {
  std::string text = take_text(report);
  if (code != TENSORTAP_OK) throw StatusError{Status(static_cast<StatusCode>(code), text)};
  return text;
}

std::string describe_model(const std::string& request) {
  char* report = nullptr;
  const int code = tensortap_onnxruntime_describe(request.c_str(), &report);
  return report_or_throw(code, report);
}

std::string doctor(const std::string& request) {
  char* report = nullptr;
  const int code = tensortap_onnxruntime_doctor(request.c_str(), &report);
  return report_or_throw(code, report);
}

}  // namespace

void bind_run(nb::module_& module) {
  module.def(
      "run_model",
      [](const std::string& request, const nb::sequence& inputs, const nb::object& output_function) {
        const auto [code, report] = run_model(request, inputs, output_function);
        return nb::make_tuple(code, report);
      },
      nb::arg("request"), nb::arg("inputs"), nb::arg("on_output").none());
  module.def("capture_config", capture_config);
  module.def("check_config", check_config);
  module.def("describe_model", describe_model);
  module.def("doctor", doctor);
  module.def("read_file", [](const std::string& path, uint64_t limit) {
    const std::string content = value_or_throw(read_file(path, limit));
    return nb::bytes(content.data(), content.size());
  });
}

}  // namespace tensortap::python
