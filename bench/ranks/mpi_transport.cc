#include "bench/ranks/mpi_transport.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "bench/command_line/command.h"
#include "bench/ranks/mpi_functions.h"
#include "harness/text/errors.h"
#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

constexpr int kOwnRequest = kMpiRequests - 1;  // of the operations that wait

// "Open MPI v4.1.4". May be asked before MPI starts (MPI 3.1, section 8.1.1).
std::string LibraryOf(const MpiFunctions& mpi) {
  std::array<char, 256> text;
  mpi.library(text.data(), text.size());
  const std::string line = text.data();
  return line.substr(0, line.find_first_of(",\n"));
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const MpiFunctions& mpi) : mpi_(mpi) {
    Check(mpi_.start(), "MPI_Init_thread");
    rank_ = mpi_.rank();
    ChooseGroup(mpi_.ranks());
  }
  // (an error while the ranks end cannot be reported)
  ~MpiTransport() override { mpi_.finish(); }

  int rank() const override { return rank_; }
  int ranks() const override { return mpi_.ranks(); }
  std::string library() const override { return LibraryOf(mpi_); }

  void ChooseGroup(int ranks) override {
    Check(mpi_.choose_first(ranks), "MPI_Comm_split");
    group_ = ranks;
  }

  void BeginSum(int request, void* data, std::int64_t elements, Wire wire) override {
    if (request >= kOwnRequest) {
      throw InputError(
          fmt::format("more than {} buckets: give a larger --bucket-size", kOwnRequest));
    }
    const MpiOperation operation = wire == Wire::kF32 ? kMpiSumF32 : kMpiSumBf16;
    Check(mpi_.begin(request, operation, kMpiFirst, data, elements, nullptr), "MPI_Iallreduce");
  }

  bool IsFinished(int request) override {
    int finished = 0;
    Check(mpi_.test(request, &finished), "MPI_Test");
    return finished != 0;
  }

  void Sum(std::span<double> values) override {
    Run(kMpiSumF64, kMpiFirst, values.data(), static_cast<std::int64_t>(values.size()), nullptr);
  }
  void Barrier() override { Run(kMpiBarrier, kMpiFirst, nullptr, 0, nullptr); }

  std::vector<std::string> Gather(const std::string& text) override {
    Run(kMpiBarrier, kMpiAll, nullptr, 0, nullptr, /*sleeps=*/true);
    const auto count = static_cast<std::size_t>(ranks());
    std::vector<std::int64_t> sizes(count);
    auto size = static_cast<std::int64_t>(text.size());
    Run(kMpiGather, kMpiAll, &size, sizeof size, sizes.data());
    // All ranks send as many bytes as the longest text has.
    const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
    std::string own = text;
    own.resize(longest);
    std::string all(longest * count, '\0');
    Run(kMpiGather, kMpiAll, own.data(), static_cast<std::int64_t>(longest), all.data());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
      texts.push_back(all.substr(i * longest, static_cast<std::size_t>(sizes[i])));
    }
    return texts;
  }

  void Abort(int status) override {
    mpi_.abort(status);
    std::_Exit(status);
  }

 protected:
  std::vector<int> Absent() override {
    constexpr double kSeconds = 2;
    std::vector<char> waits(static_cast<std::size_t>(ranks()));
    Check(mpi_.find_waiting(kSeconds, waits.data()), "MPI_Iprobe");
    std::vector<int> absent;
    for (int rank = 0; rank < group_; ++rank) {
      if (waits[static_cast<std::size_t>(rank)] == 0) absent.push_back(rank);
    }
    return absent;
  }

 private:
  void Run(MpiOperation operation, MpiGroup group, void* data, std::int64_t count, void* out,
           bool sleeps = false) {
    Check(mpi_.begin(kOwnRequest, operation, group, data, count, out), "a collective of MPI");
    WaitUntil([this] { return IsFinished(kOwnRequest); }, sleeps);
  }

  void Check(int error, const char* call) const {
    if (error == 0) return;
    std::array<char, 256> text;
    mpi_.explain(error, text.data(), text.size());
    throw RunFailure(fmt::format("{} failed: {}", call, text.data()));
  }

  const MpiFunctions& mpi_;
  int rank_ = 0;
};

// The library stays loaded. Its symbols are global, because Open MPI loads its own parts with
// dlopen, and they refer to it.
const MpiFunctions& LoadMpi() {
  constexpr const char* kFile = "libtopdnn_mpi.so";
  std::error_code ignored;  // the path stays empty, and dlopen reports the error
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  void* library = nullptr;
  bool exists = false;
  for (const auto& path : {folder / kFile, folder.parent_path() / kFile}) {
    exists = exists || std::filesystem::exists(path, ignored);
    if (library == nullptr) library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  void* const symbol = library == nullptr ? nullptr : dlsym(library, "topdnn_mpi_functions");
  const MpiFunctions* functions =
      symbol == nullptr ? nullptr : reinterpret_cast<decltype(&topdnn_mpi_functions)>(symbol)();
  if (functions != nullptr && functions->table_version == kMpiTableVersion) return *functions;
  if (!exists) {
    throw UsageError(
        "scale: no MPI here: install Debian's package topdnn-mpi; or, for a build, install "
        "libopenmpi-dev and openmpi-bin, run `cmake --preset release` and build again");
  }
  throw UsageError(fmt::format(
      "scale: cannot load {}: {}; install openmpi-bin, or build it again on this machine", kFile,
      functions != nullptr ? "it belongs to another version" : dlerror()));
}

// Open MPI 4 that speaks only PMIx ends the process in MPI_Init, after 20 lines, if the launcher
// speaks an older PMI. Each protocol is a file (opal/mca/pmix of Open MPI 4.1): s1 and s2 are those
// of Slurm. An MPI whose files are not known is tried.
bool SpeaksOldPmi(const MpiFunctions& mpi) {
  if (!LibraryOf(mpi).starts_with("Open MPI")) return true;
  Dl_info info;
  void* const symbol = dlsym(RTLD_DEFAULT, "MPI_Init");
  if (symbol == nullptr || dladdr(symbol, &info) == 0) return true;
  std::error_code error;
  const auto library = std::filesystem::canonical(info.dli_fname, error);
  bool known = false;
  for (const auto& folder : std::filesystem::directory_iterator(library.parent_path(), error)) {
    if (!folder.path().filename().string().starts_with("openmpi")) continue;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path(), error)) {
      const std::string name = file.path().filename();
      if (name.starts_with("mca_pmix_s")) return true;
      known = known || name.starts_with("mca_pmix_");
    }
  }
  return !known;
}

}  // namespace

std::optional<int> TasksOfNode(std::string_view list, int node) {
  const auto number = [](std::string_view text) -> std::optional<int> {
    const auto value = ParseNumber<int>(text);
    return value >= 1 ? value : std::nullopt;
  };
  for (const std::string_view part : SplitText(list, ",")) {
    const std::size_t open = part.find("(x");
    const auto tasks = number(part.substr(0, open));
    std::optional<int> nodes = 1;
    if (open != std::string_view::npos && part.ends_with(')')) {
      nodes = number(part.substr(open + 2, part.size() - open - 3));
    }
    if (!tasks || !nodes) return std::nullopt;
    if (node < *nodes) return tasks;
    node -= *nodes;
  }
  return std::nullopt;
}

Launch LaunchOf(const std::function<const char*(const char*)>& variable) {
  const auto number = [&variable](const char* name) -> std::optional<int> {
    const char* const value = variable(name);
    if (value == nullptr || std::atoi(value) < 1) return std::nullopt;
    return std::atoi(value);
  };
  Launch launch;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
    launch.by_mpi = launch.by_mpi || variable(name) != nullptr;
  }
  launch.old_pmi = launch.by_mpi && variable("OMPI_COMM_WORLD_SIZE") == nullptr &&
                   variable("PMIX_RANK") == nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (!launch.node_ranks) launch.node_ranks = number(name);
  }
  // srun says how many tasks each node has, and which node this is, from 0.
  const char* const tasks_of_nodes = variable("SLURM_STEP_TASKS_PER_NODE");
  if (launch.by_mpi && !launch.node_ranks && tasks_of_nodes != nullptr) {
    launch.node_ranks = TasksOfNode(tasks_of_nodes, number("SLURM_NODEID").value_or(0));
  }
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    launch.first = launch.first && !number(name);
  }
  const int tasks = number("SLURM_STEP_NUM_TASKS").value_or(1);
  launch.ranks = number("OMPI_COMM_WORLD_SIZE").value_or(number("PMI_SIZE").value_or(tasks));
  if (!launch.by_mpi && tasks > 1) {
    launch.problem = fmt::format(
        "scale: srun started {} tasks that cannot communicate: use `srun --mpi=pmix`, or start "
        "mpirun in the allocation",
        tasks);
  }
  return launch;
}

std::unique_ptr<Transport> OpenRanks(const Launch& launch) {
  if (!launch.problem.empty()) throw UsageError(launch.problem);
  const MpiFunctions& mpi = LoadMpi();
  if (!launch.by_mpi) return MakeSoleRank();
  if (launch.old_pmi && !SpeaksOldPmi(mpi)) {
    throw UsageError(
        "scale: the launcher speaks PMI, and this Open MPI only PMIx: use `srun --mpi=pmix`, or "
        "start mpirun in the allocation");
  }
  auto transport = std::make_unique<MpiTransport>(mpi);
  if (transport->ranks() < launch.ranks) {
    throw UsageError(fmt::format(
        "scale: {} ranks were started, but MPI connects {}: use the mpirun of {}, or `srun "
        "--mpi=pmix` if Slurm starts the ranks",
        launch.ranks, transport->ranks(), transport->library()));
  }
  return transport;
}

}  // namespace topdnn
