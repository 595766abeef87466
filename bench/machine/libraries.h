// Versions of the libraries that do the arithmetic, and the ISA that each detected: a measurement
// depends on them as much as on the machine.

#ifndef TOPDNN_BENCH_MACHINE_LIBRARIES_H_
#define TOPDNN_BENCH_MACHINE_LIBRARIES_H_

#include <nlohmann/json_fwd.hpp>

namespace topdnn {

// {"onednn": {"version": "2.6.3", "isa": "..."}, "openblas": {...}, "eigen": {...}, ...}
nlohmann::ordered_json LibraryVersions();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_MACHINE_LIBRARIES_H_
