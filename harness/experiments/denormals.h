// Denormals: floating-point numbers so small that their exponent is 0 and their mantissa is not.
// Some CPUs compute with them in microcode, many times slower. They may flush them instead: take
// denormal operands as zero (DAZ), and write denormal results as zero (FTZ).

#ifndef TOPDNN_HARNESS_EXPERIMENTS_DENORMALS_H_
#define TOPDNN_HARNESS_EXPERIMENTS_DENORMALS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace topdnn {

enum class FloatFormat { kF16, kBF16, kF32, kF64 };

// The share of `count` elements that are denormal. Of more than `most` elements (0: no limit), only
// about that many are read, in evenly spaced blocks.
double DenormalShare(FloatFormat format, const void* data, std::size_t count, std::size_t most = 0);

// Why this machine cannot flush denormals; empty if it can.
std::string WhyNoFlushing();

// FTZ and DAZ of every thread of this process, whichever pool it belongs to. Each thread has its
// own MXCSR, and the kernel loads it from the frame of a signal when the handler returns. So every
// thread gets a signal (SIGURG, which is ignored otherwise), whose handler changes that frame.
// A thread that blocks the signal keeps its mode. One that is started later has its creator's.
class FlushMode {
 public:
  // Reads the mode of each thread. Throws ExperimentError if a thread does not answer; so do the
  // others.
  FlushMode();
  // Gives each thread the mode that it had, as AsFound does, and ignores a failure.
  ~FlushMode();
  FlushMode(const FlushMode&) = delete;
  FlushMode& operator=(const FlushMode&) = delete;

  void Flush();
  void AsFound();
  // Threads that had FTZ or DAZ at the start: a library or a caller set it.
  std::size_t flushed_before() const;
  std::size_t threads() const { return found_.size(); }

 private:
  std::map<pid_t, std::uint32_t> found_;  // MXCSR by thread
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_DENORMALS_H_
