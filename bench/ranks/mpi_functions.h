// The functions that the library libtopdnn_mpi.so exports in one table.
//
// MPI is optional, and each implementation has its own binary interface. So the program does not
// link to it: the only code that includes mpi.h is compiled into this library, and the program
// loads it when ranks need to communicate (mpi_transport.cc).

#ifndef TOPDNN_BENCH_RANKS_MPI_FUNCTIONS_H_
#define TOPDNN_BENCH_RANKS_MPI_FUNCTIONS_H_

#include <cstdint>

namespace topdnn {

// The version of this table. A library of another version is not used.
inline constexpr int kMpiTableVersion = 1;

// A non-blocking collective operation.
enum MpiOperation : int {
  kMpiSumF32,   // in place
  kMpiSumBf16,  // in place; each sum of two numbers is rounded to bf16
  kMpiSumF64,   // in place
  kMpiGather,   // `count` bytes of each rank, to all ranks
  kMpiBarrier,
};

// The ranks that take part.
enum MpiGroup : int {
  kMpiAll,
  kMpiFirst,  // the first ones, see `choose_first`
};

inline constexpr int kMpiRequests = 4096;  // operations that can be in progress at once

// `rank` and `ranks` return a number. The other functions that return int return 0, or an error
// code of MPI. `library` and `explain` write a text of at most `bytes` bytes, with the zero at its
// end.
struct MpiFunctions {
  int table_version;
  int (*start)();  // MPI_Init_thread
  int (*rank)();
  int (*ranks)();
  void (*library)(char* text, int bytes);  // name and version of the MPI library
  void (*explain)(int error, char* text, int bytes);
  // Makes kMpiFirst the first `ranks` ranks. All ranks call it.
  int (*choose_first)(int ranks);
  // `request` is a free number below kMpiRequests. `out` is used by kMpiGather only.
  int (*begin)(int request, MpiOperation operation, MpiGroup group, void* data, std::int64_t count,
               void* out);
  // Lets the operations make progress. Sets `*finished` and frees the number if this one is done.
  int (*test)(int request, int* finished);
  // Finds the ranks that wait. Sends the other ranks a message that this one waits, then receives
  // the same message from other ranks, for at most `seconds`. `waits` has an element per rank, all
  // 0: sets those of this rank and of each sender to 1.
  int (*find_waiting)(double seconds, char* waits);
  int (*finish)();            // MPI_Finalize
  void (*abort)(int status);  // MPI_Abort: ends every rank
};

}  // namespace topdnn

// The only symbol of the library.
extern "C" const topdnn::MpiFunctions* topdnn_mpi_functions();

#endif  // TOPDNN_BENCH_RANKS_MPI_FUNCTIONS_H_
