// Versions of the libraries that do the arithmetic, the ISA that each detected, and the builds of
// the program and of all libraries: a measurement depends on them as much as on the machine.

#ifndef TOPDNN_BENCH_MACHINE_LIBRARIES_H_
#define TOPDNN_BENCH_MACHINE_LIBRARIES_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace topdnn {

// {"onednn": {"version": "2.6.3", "isa": "..."}, "openblas": {...}, "eigen": {...}, ...}
nlohmann::ordered_json LibraryVersions();

// The build IDs (the linker's note GNU build-id, in hexadecimal) of the program, which is the
// first, and of each library that it has loaded; empty for one without.
std::vector<std::string> BuildIds();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_MACHINE_LIBRARIES_H_
