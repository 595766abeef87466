// Ranks: processes that run the same program and combine their data by collective operations, in
// the words of MPI. A run without a launcher is one rank.

#ifndef TOPDNN_BENCH_RANKS_TRANSPORT_H_
#define TOPDNN_BENCH_RANKS_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace topdnn {

// The element type of gradients between ranks.
enum class Wire { kF32, kBf16 };
std::int64_t BytesOf(Wire wire);

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;  // all of them
  virtual std::string library() const = 0;

  // The first `ranks` ranks are the group of the sums below. All ranks call it. At the start the
  // group is all ranks.
  virtual void ChooseGroup(int ranks) = 0;
  int group() const { return group_; }
  bool in_group() const { return rank() < group_; }

  // Begins to sum the elements over the group, in place. `request` is 0 or more, and not in use.
  virtual void BeginSum(int request, void* data, std::int64_t elements, Wire wire) = 0;
  // Lets all sums make progress, and returns whether this one is finished.
  virtual bool IsFinished(int request) = 0;
  // Sums over the group, and waits.
  virtual void Sum(std::span<double> values) = 0;
  // Waits until all ranks of the group are here.
  virtual void Barrier() = 0;
  // Waits until all ranks are here, for any time and with little use of the CPU, and returns their
  // texts, by rank.
  virtual std::vector<std::string> Gather(const std::string& text) = 0;

  // Waits for a sum. Throws RunFailure, which names the ranks that are absent, if it takes
  // longer than the limit.
  void Wait(int request);
  void set_limit(double seconds) { limit_ = seconds; }

  // Ends every rank, including this one.
  [[noreturn]] virtual void Abort(int status) = 0;

 protected:
  // The ranks of the group that do not wait for this one, found out within some seconds.
  virtual std::vector<int> Absent() { return {}; }

  // Calls `finished` until it returns true. Throws RunFailure as Wait does, unless it sleeps.
  void WaitUntil(const std::function<bool()>& finished, bool sleeps = false);

  int group_ = 1;

 private:
  double limit_ = 120;
};

// One rank, without MPI.
std::unique_ptr<Transport> MakeSoleRank();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RANKS_TRANSPORT_H_
