// A device for tests: memory that the host cannot touch, and streams that run late on separate threads. An extension of torch; its
// operators are those of the processor, with queued results.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/TensorShape.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/extension.h>
#include <torch/library.h>

#include "driver.h"
#include "memory.h"

namespace tapdev {
namespace {

int index_of(c10::Device device) { return device.has_index() ? device.index() : current_device; }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kKind; }
  c10::Device getDevice() const override { return {kKind, static_cast<c10::DeviceIndex>(current_device)}; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    current_device = index_of(device);
    return old;
  }
  void setDevice(c10::Device device) const override { exchangeDevice(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = index_of(device); }
  static c10::Stream stream(int device, int number) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kKind, static_cast<c10::DeviceIndex>(device)), number);
  }
  c10::Stream getStream(c10::Device device) const override { return stream(index_of(device), current_stream[index_of(device)]); }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(index_of(device), 0); }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    static std::atomic<int> next{0};
    return stream(index_of(device), 1 + next++ % (kStreams - 1));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high*/) const override { return getNewStream(device, 0); }
  c10::Stream exchangeStream(c10::Stream given) const override {
    const c10::Stream old = getStream(given.device());
    current_stream[given.device_index()] = static_cast<int>(given.id());
    return old;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  void record(void** event, const c10::Stream& on, c10::DeviceIndex /*device*/, c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) *event = new Event;
    auto* known = static_cast<Event*>(*event);
    queue(on.device_index(), on.id()).push([known, number = known->record()] { known->finish(number); }, false);
  }
  void block(void* event, const c10::Stream& on) const override {
    auto* known = static_cast<Event*>(event);
    queue(on.device_index(), on.id()).push([known, number = known->recorded()] { known->wait(number); }, false);
  }
  bool queryEvent(void* event) const override {
    TORCH_CHECK(!broken, "tapdev: device-side assertion");
    return event == nullptr || static_cast<Event*>(event)->is_done();
  }
  void synchronizeEvent(void* event) const override {
    if (recording) ++broken_recordings;
    ++counters.host_waits;
    static_cast<Event*>(event)->wait(static_cast<Event*>(event)->recorded());
  }
  void destroyEvent(void* /*event*/, c10::DeviceIndex /*device*/) const noexcept override {}  // a stream may still finish it
  bool queryStream(const c10::Stream& on) const override { return queue(on.device_index(), on.id()).empty(); }
  void synchronizeStream(const c10::Stream& on) const override { queue(on.device_index(), on.id()).wait(); }
  bool isStreamCapturing(const c10::Stream& /*on*/) const override { return recording; }
  void* getStreamNativeHandle(const c10::Stream on) const override { return native_handle(on.device_index(), on.id()); }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    for (int64_t number = 0; number < kStreams; ++number) queue(device, number).wait();
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  at::Allocator* getPinnedMemoryAllocator() const override { return &Pinned::get(); }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(current_device); }
  at::Generator getNewGenerator(c10::DeviceIndex /*device*/) const override { return at::make_generator<at::CPUGeneratorImpl>(); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    static const auto& generator = *new at::Generator(at::make_generator<at::CPUGeneratorImpl>());
    return generator;
  }
};

// A tensor as the device's threads see it.
class Lay {
 public:
  explicit Lay(const at::Tensor& tensor)
      : memory_(const_cast<void*>(tensor.const_data_ptr())),
        sizes_(tensor.sizes().vec()),
        strides_(tensor.strides().vec()),
        dtype_(tensor.scalar_type()) {
    if (tensor.device().type() == kKind) memory_ = Arena::get().readable(memory_);
  }
  [[nodiscard]] at::Tensor view() const { return at::from_blob(memory_, sizes_, strides_, at::TensorOptions().dtype(dtype_)); }

 private:
  void* memory_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  at::ScalarType dtype_;
};

using Size = c10::SymIntArrayRef;
using Dtype = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Place = std::optional<at::Device>;

c10::Device place_of(const Place& place) {
  return {kKind, static_cast<c10::DeviceIndex>(place.has_value() ? index_of(*place) : current_device)};
}

at::Tensor empty(Size size, Dtype dtype, Layout /*layout*/, Place place, std::optional<bool> /*pin*/,
                 std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(place_of(place));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &Allocator::get(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(Size size, Size stride, Dtype dtype, Layout /*layout*/, Place place, std::optional<bool> /*pin*/) {
  const c10::DeviceGuard guard(place_of(place));
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &Allocator::get(),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}

// A pageable source is copied before the call returns, a pinned one is read when the stream gets there.
at::Tensor staged(const at::Tensor& source, bool non_blocking) {
  const at::NoGradGuard no_grad;
  const at::RecordFunctionGuard quiet(false);
  return non_blocking ? source : source.clone();
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  ++counters.copies;
  TORCH_CHECK(!broken, "tapdev: device-side assertion");
  if (self.numel() == 0) return to;
  const bool from_device = self.device().type() == kKind;
  const bool to_device = to.device().type() == kKind;
  Queue& stream = here(from_device ? self.device().index() : to.device().index());
  if (!from_device) {
    stream.push([source = staged(self, non_blocking), target = Lay(to)] { target.view().copy_(source); });
  } else if (to_device) {
    stream.push([source = Lay(self), target = Lay(to)] { target.view().copy_(source.view()); });
    if (to.device().index() != self.device().index()) stream.wait();
  } else {
    stream.push([source = Lay(self), target = Lay(to), keep = to] { target.view().copy_(source.view()); });
    if (!non_blocking) stream.wait();
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  at::native::resize_(to, self.sizes(), std::nullopt);
  return copy_from(self, to, false);
}

const at::Tensor& resize(const at::Tensor& self, Size size, std::optional<at::MemoryFormat> /*format*/) {
  const at::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  const int64_t elements = c10::multiply_integers(sizes) + self.storage_offset();
  const size_t bytes = static_cast<size_t>(elements) * self.itemsize();
  c10::StorageImpl* const storage = self.storage().unsafeGetStorageImpl();
  if (bytes > storage->nbytes()) {
    auto fresh = Allocator::get().allocate(bytes);
    if (const void* old = storage->data(); old != nullptr) Allocator::get().copy_data(fresh.get(), old, std::min(bytes, storage->nbytes()));
    storage->set_data_ptr(std::move(fresh));
    storage->set_nbytes(bytes);
  }
  self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return self;
}

at::Scalar item(const at::Tensor& self) {
  const at::RecordFunctionGuard quiet(false);
  const at::Tensor host = at::empty({}, self.options().device(at::kCPU));
  copy_from(self.reshape({}), host, false);
  return host.item();
}

void record_stream(at::Tensor& self, c10::Stream stream) { Allocator::get().record_stream(self.storage().data(), stream); }

at::Tensor& set_storage(at::Tensor& self, at::Storage storage, c10::SymInt offset, Size size, Size stride) {
  c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_storage_offset(offset.expect_int());
  impl->set_sizes_and_strides(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
  return self;
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(), source.sym_sizes(), source.sym_strides());
}

at::Tensor view(const at::Tensor& self, Size size) { return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size)); }

at::Tensor as_strided(const at::Tensor& self, Size size, Size stride, std::optional<c10::SymInt> offset) {
  const auto begin = offset.has_value() ? std::optional<int64_t>(offset->expect_int()) : std::nullopt;
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), begin);
}

at::Tensor reshape_alias(const at::Tensor& self, Size size, Size stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  struct Inside {
    bool was = in_fallback;
    Inside() { in_fallback = true; }
    ~Inside() { in_fallback = was; }
  } const inside;
  at::native::cpu_fallback(op, stack);
}

// Runs an operator that writes into one of its arguments when the stream gets there: the program does not wait, as on a real device.
void queued(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& declared = op.schema().arguments();
  const size_t count = declared.size();
  std::vector<c10::IValue> arguments(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
  std::vector<std::pair<size_t, Lay>> lays;
  at::Tensor written;
  for (size_t i = 0; i < count; ++i) {
    if (!arguments[i].isTensor()) continue;
    const at::Tensor tensor = arguments[i].toTensor();
    if (declared[i].alias_info() != nullptr && declared[i].alias_info()->isWrite()) written = tensor;
    if (tensor.device().type() != kKind) continue;
    lays.emplace_back(i, Lay(tensor));
    arguments[i] = c10::IValue();
  }
  TORCH_CHECK(!broken, "tapdev: device-side assertion");
  const std::string name = op.schema().name().substr(6);
  const bool is_wrong = std::getenv("TAPDEV_WRONG") != nullptr && name == std::getenv("TAPDEV_WRONG");
  const auto work = [op, arguments, lays, is_wrong] {
    torch::jit::Stack own(arguments);
    for (const auto& [place, lay] : lays) own[place] = lay.view();
    if (!is_wrong) op.callBoxed(&own);
  };
  // Statistics are many small operators: a few of them are late.
  here(written.device().index()).push(work, name == "sum");
  torch::jit::drop(*stack, count);
  torch::jit::push(*stack, written);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, library) { library.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) { library.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("as_strided", as_strided);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("resize_", resize);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", item);
  library.impl("record_stream", record_stream);
  library.impl("set_.source_Storage_storage_offset", set_storage);
  library.impl("set_.source_Tensor", set_tensor);
  for (const char* name : {"ne.Tensor_out", "eq.Scalar_out", "lt.Scalar_out", "any.out", "sum.IntList_out", "argmax.out", "amin.out",
                           "amax.out", "masked_fill_.Scalar", "add.out", "mul.out", "div.out", "abs.out"}) {
    if (std::getenv("TAPDEV_LACKS") != nullptr && std::string(name) == std::getenv("TAPDEV_LACKS")) continue;
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&queued>());
  }
}

// Kernels that are not operators, like those of Triton and of extensions.
void unseen_fill(const at::Tensor& tensor, double value) {
  here(tensor.device().index()).push([lay = Lay(tensor), value] { lay.view().fill_(value); });
}

void unseen_scale(const at::Tensor& to, const at::Tensor& from, double factor) {
  here(to.device().index()).push([target = Lay(to), source = Lay(from), factor] { target.view().copy_(source.view().mul(factor)); });
}

std::map<std::string, int64_t> counted() {
  return {{"host_waits", counters.host_waits},
          {"fallback_waits", counters.fallback_waits},
          {"copies", counters.copies},
          {"pinned_bytes", counters.pinned_bytes},
          {"most_bytes", Allocator::get().most_bytes()},
          {"broken_recordings", broken_recordings},
          {"launches", launches},
          {"compilations", compilations}};
}

void synchronize() {
  for (int64_t number = 0; number < kStreams; ++number) queue(current_device, number).wait();
}

}  // namespace
}  // namespace tapdev

PYBIND11_MODULE(tapdev_c, module) {
  using namespace tapdev;
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  c10::SetAllocator(kKind, &Allocator::get());
  module.def("device_count", [] { return kDevices; });
  module.def("current_device", [] { return current_device; });
  module.def("set_device", [](int device) { current_device = device; });
  // Without the interpreter's lock: a stream may end the life of a tensor that Python made.
  module.def("synchronize", &synchronize, pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("unseen_fill", &unseen_fill);
  module.def("unseen_scale", &unseen_scale);
  module.def("delay", [](int microseconds) { delay_us = microseconds; });
  module.def("record", [](bool on) { recording = on; });
  module.def("hold", [](bool on) { held = on; });
  module.def("break_down", [] { broken = true; });
  module.def("spend_memory", [](bool on) { memory_is_spent = on; });
  module.def("spend_pinned", [](bool on) { pinned_is_spent = on; });
  module.def("counters", &counted);
}
