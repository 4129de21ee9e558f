/* An adapter that observes nothing, for tests of how adapters are found, loaded and refused. */
#include "source/pytorch/adapter/adapter_interface.h"

#ifndef FAKE_INTERFACE
#define FAKE_INTERFACE TENSORTAP_ADAPTER_INTERFACE_VERSION
#endif
#ifndef FAKE_RELEASE
#define FAKE_RELEASE "2.13.0"
#endif
#ifndef FAKE_RESULT
#define FAKE_RESULT 0
#endif
#ifndef FAKE_PROBLEM
#define FAKE_PROBLEM 0
#endif
#ifndef FAKE_NAME
#define FAKE_NAME tensortap_torch_adapter_attach
#endif

static void storage(const void* one) { (void)one; }
static int expired(const void* one) { return one == 0; }
static void observe(int enabled, uint32_t levels) { (void)enabled, (void)levels; }
static void parallel_for(void* pool, void (*task)(void* context, size_t index), size_t count, void* context) {
  (void)pool;
  for (size_t i = 0; i < count; ++i) task(context, i);
}
#ifdef FAKE_LOADED
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
  const char text[] = "fake adapter loaded\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}
#endif
static const char* self_test(void) {
#ifdef FAKE_CRASH
  *(volatile int*)0 = 1;
#endif
  return FAKE_PROBLEM;
}

__attribute__((visibility("default"))) int FAKE_NAME(const tensortap_torch_tracker* tracker, tensortap_torch_adapter* adapter) {
  (void)tracker;
  adapter->size = sizeof *adapter;
  adapter->version = FAKE_INTERFACE;
  adapter->torch_version = FAKE_RELEASE;
  adapter->hold_storage = storage;
  adapter->drop_storage = storage;
  adapter->storage_expired = expired;
  adapter->observe = observe;
  adapter->parallel_for = parallel_for;
  adapter->self_test = self_test;
  return FAKE_RESULT;
}
