#include "bench/machine/libraries.h"

#include <cblas.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <omp.h>

#include <Eigen/Core>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "bench/formats/checksum.h"
#include "bench/formats/whole_file.h"
#include "kernels/plugin/plugins.h"

namespace topdnn {

namespace {

std::string NameOfIsa(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return fmt::format("isa 0x{:x}", static_cast<unsigned>(isa));
  }
}

// The build ID in a segment of notes, in hexadecimal; empty if it has none (ELF specification,
// "Note Section"; names and descriptions are padded to 4 bytes).
std::string BuildIdIn(const std::byte* notes, std::size_t size) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + padded(note.n_namesz);
    at = content + padded(note.n_descsz);
    if (at > size) break;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
        std::memcmp(notes + name, "GNU", 4) != 0) {
      continue;
    }
    std::string id;
    for (std::size_t i = 0; i < note.n_descsz; ++i) {
      id += fmt::format("{:02x}", static_cast<unsigned>(notes[content + i]));
    }
    return id;
  }
  return "";
}

// Callback of dl_iterate_phdr: adds the build ID of one object.
int AddBuildId(dl_phdr_info* info, std::size_t, void* ids) {
  std::string id;
  for (int i = 0; i < info->dlpi_phnum && id.empty(); ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const ElfW(Addr) address = info->dlpi_addr + header.p_vaddr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    id = BuildIdIn(reinterpret_cast<const std::byte*>(address), header.p_memsz);
  }
  static_cast<std::vector<std::string>*>(ids)->push_back(std::move(id));
  return 0;
}

}  // namespace

std::vector<std::string> BuildIds() {
  std::vector<std::string> ids;
  dl_iterate_phdr(AddBuildId, &ids);
  return ids;
}

nlohmann::ordered_json LibraryVersions() {
  const dnnl_version_t* onednn = dnnl_version();
  nlohmann::ordered_json versions = {
      {"onednn",
       {{"version", fmt::format("{}.{}.{}", onednn->major, onednn->minor, onednn->patch)},
        {"isa", NameOfIsa(dnnl::get_effective_cpu_isa())}}},
      {"openblas", {{"config", openblas_get_config()}, {"core", openblas_get_corename()}}},
      {"eigen",
       {{"version",
         fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)}}},
      {"openmp", {{"version", _OPENMP}, {"library", "libgomp"}}},
      {"compiler", __VERSION__},
  };
  for (const PluginLibrary& plugin : Plugins()) {
    // Two builds of a plug-in are two libraries, whatever version they give.
    versions[plugin.name] = {{"version", plugin.version},
                             {"checksum", Checksum(ReadWholeFile(plugin.path, 0))}};
  }
  return versions;
}

}  // namespace topdnn
