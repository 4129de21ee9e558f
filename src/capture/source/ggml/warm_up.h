// Whether a computation is one that llama.cpp makes so that later ones are fast.

#ifndef TENSORTAP_SOURCE_GGML_WARM_UP_H_
#define TENSORTAP_SOURCE_GGML_WARM_UP_H_

namespace tensortap::ggml {

// Whether this thread is in llama.cpp's common_init_from_params(), which computes nothing but the warm-up. False where the program does not
// export that function.
bool is_in_common_init();

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_WARM_UP_H_
