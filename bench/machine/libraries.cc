#include "bench/machine/libraries.h"

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>

#include <Eigen/Core>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>

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

}  // namespace

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
