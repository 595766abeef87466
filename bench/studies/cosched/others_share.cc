#include "bench/studies/cosched/others_share.h"

#include <unistd.h>

#include <algorithm>

namespace topdnn {

OthersShare::OthersShare(int cpus)
    : cpus_(cpus),
      begin_(std::chrono::steady_clock::now()),
      machine_(ReadMachineTime()),
      own_(std::clock()) {}

std::optional<double> OthersShare::Share(double jobs) const {
  const auto machine = ReadMachineTime();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (!machine_ || !machine || online != cpus_) return std::nullopt;
  // (a hypervisor may reset the stolen time)
  if (machine->wanted < machine_->wanted) return std::nullopt;
  const double busy = static_cast<double>(machine->wanted - machine_->wanted) /
                      static_cast<double>(sysconf(_SC_CLK_TCK));
  const double own = static_cast<double>(std::clock() - own_) / CLOCKS_PER_SEC;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return std::max(busy - jobs - own, 0.0) / (static_cast<double>(online) * seconds);
}

}  // namespace topdnn
