#include "source/pytorch/attach/adapter_loader.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/code_file.h"
#include "base/files.h"
#include "base/text.h"
#include "exec/torch_files.h"
#include "source/pytorch/attach/adapter_places.h"

namespace tensortap::pytorch {
namespace {

using AbiVersion = uint64_t (*)();

template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: what dlsym is for
}

// The text of the GNU build id among the notes [begin, end), "" = none.
std::string build_id_in(const char* begin, const char* end) {
  constexpr std::string_view kOwner("GNU\0", 4);
  constexpr size_t kMostBytes = 64;
  const auto aligned = [](size_t size) { return (size + 3) & ~size_t{3}; };
  while (begin + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, begin, sizeof note);
    const char* owner = begin + sizeof note;
    const size_t left = static_cast<size_t>(end - owner);
    if (aligned(note.n_namesz) > left || aligned(note.n_descsz) > left - aligned(note.n_namesz)) return {};
    const char* content = owner + aligned(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(owner, note.n_namesz) == kOwner && note.n_descsz <= kMostBytes) {
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(content[i]);
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
      }
      return text;
    }
    begin = content + aligned(note.n_descsz);
  }
  return {};
}

struct BuildIdSearch {
  const link_map* library;
  std::string found;
};

int look_for_build_id(dl_phdr_info* object, size_t /*size*/, void* context) {
  auto& search = *static_cast<BuildIdSearch*>(context);
  if (object->dlpi_addr != search.library->l_addr || std::strcmp(object->dlpi_name, search.library->l_name) != 0) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.found.empty(); ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);  // NOLINT: an address of the loader
    search.found = build_id_in(begin, begin + header.p_memsz);
  }
  return 1;
}

std::string build_id_of(void* library) {
  BuildIdSearch search{nullptr, {}};
  if (dlinfo(library, RTLD_DI_LINKMAP, &search.library) != 0 || search.library == nullptr) return {};
  dl_iterate_phdr(look_for_build_id, &search);
  return search.found;
}

std::string release_text(int major, int minor) { return concat("torch ", major, ".", minor); }

// The folder that build-adapter takes: that of the include folder, which is the one above lib.
std::string build_command(const TorchVersion& version) {
  const std::string folder = parent_path(parent_path(version.library));
  return concat("`tensortap build-adapter --libtorch ", version.library.empty() ? "FOLDER" : folder, "`");
}

Status refused(const TorchVersion& version, const std::string& path, const std::string& why) {
  return unsupported(concat("the adapter ", path, " is not used: ", why, "; remove it and run ", build_command(version)));
}

}  // namespace

Result<TorchVersion> torch_version(void* library, const std::string& path) {
  TorchVersion version;
  version.library = path;
  if (const auto abi_version = function_of<AbiVersion>(library, "aoti_torch_abi_version"); abi_version != nullptr) {
    const uint64_t packed = abi_version();
    version.major = static_cast<int>(packed >> 56);
    version.minor = static_cast<int>(packed >> 48 & 255);
  }
  const Result<TorchRelease> beside = torch_release_beside(path);
  version.released = beside.ok() && is_torch_release(beside->text);
  if (version.major == 0) {
    TENSORTAP_RETURN_IF_ERROR(beside.status());
    version.major = beside->major;
    version.minor = beside->minor;
  }
  if (dlsym(library, kTorchStringAbiOne) != nullptr) {
    version.string_abi = 1;
  } else if (dlsym(library, kTorchStringAbiZero) != nullptr) {
    version.string_abi = 0;
  } else {
    return not_found(concat("the string ABI of ", path, " is unknown: it exports no at::show_config()"));
  }
  version.number_of_threads = function_of<int (*)()>(library, "_ZN2at15get_num_threadsEv");
  version.build_id = build_id_of(library);
  return version;
}

std::string adapter_file_name(const TorchVersion& version) { return torch_adapter_file(version.major, version.minor, version.string_abi); }

Status load_adapter_file(const TorchVersion& version, const std::string& path, const tensortap_torch_tracker& tracker,
                         tensortap_torch_adapter& adapter) {
  static const int here = 0;
  const Result<std::string> trusted = trusted_code_file(path, folder_of_code(&here));
  if (!trusted.ok()) return unsupported(concat("the adapter ", path, " is not used: ", trusted.status().message()));
  void* library = dlopen(trusted->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return refused(version, path, concat("it cannot be loaded: ", reason != nullptr ? reason : "unknown"));
  }
  const auto function = function_of<tensortap_torch_adapter_attach_function>(library, TENSORTAP_TORCH_ADAPTER_ATTACH);
  if (function == nullptr) {
    dlclose(library);  // one that came to its attach function stays for ever
    return refused(version, path, "it is no adapter (it has no " TENSORTAP_TORCH_ADAPTER_ATTACH ")");
  }
  tensortap_torch_adapter filled{};
  filled.size = sizeof filled;
  filled.version = TENSORTAP_ADAPTER_INTERFACE_VERSION;
  const int failed = function(&tracker, &filled);
  if (filled.version != TENSORTAP_ADAPTER_INTERFACE_VERSION) {
    return refused(version, path,
                   concat("it was built for interface ", filled.version, ", this tensortap has ", TENSORTAP_ADAPTER_INTERFACE_VERSION));
  }
  if (failed != 0) return refused(version, path, concat("it refused to work with this process (", failed, ")"));
  if (filled.size != sizeof filled || filled.observe == nullptr || filled.hold_storage == nullptr || filled.drop_storage == nullptr ||
      filled.storage_expired == nullptr) {
    return refused(version, path, "its interface is incomplete");
  }
  const auto release = parse_torch_release(filled.torch_version == nullptr ? "" : filled.torch_version);
  if (!release || release->major != version.major || release->minor != version.minor) {
    filled.observe(0, 0);
    return refused(version, path,
                   concat("it was built for torch ", release ? release->text : "of an unknown release", ", this process has ",
                          release_text(version.major, version.minor)));
  }
  adapter = filled;
  return {};
}

Status load_adapter(const TorchVersion& version, const std::vector<std::string>& folders, const tensortap_torch_tracker& tracker,
                    tensortap_torch_adapter& adapter) {
  const std::string name = adapter_file_name(version);
  const std::string prebuilt = package_adapters();
  for (const std::string& folder : folders) {
    std::error_code none_there;
    if (!version.released && std::filesystem::equivalent(folder, prebuilt, none_there)) continue;
    const std::string path = join_path(folder, name);
    if (path_exists(path)) return load_adapter_file(version, path, tracker, adapter);
  }
  return not_found(concat("there is no adapter for ", release_text(version.major, version.minor), " (", version.library,
                          "). Build it once: ", build_command(version)));
}

}  // namespace tensortap::pytorch
