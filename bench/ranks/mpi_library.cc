// libtopdnn_mpi.so: the table of mpi_functions.h on MPI 3.1.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>

#include "bench/ranks/mpi_functions.h"
#include "kernels/tensor/bf16.h"

namespace {

using topdnn::MpiGroup;
using topdnn::MpiOperation;

MPI_Comm first = MPI_COMM_NULL;
MPI_Op sum_bf16 = MPI_OP_NULL;
std::array<MPI_Request, topdnn::kMpiRequests> requests;

// An MPI_User_function.
void SumBf16(void* in, void* in_out, int* count, MPI_Datatype* /*type*/) {
  const auto* const a = static_cast<const std::uint16_t*>(in);
  auto* const b = static_cast<std::uint16_t*>(in_out);
  for (int i = 0; i < *count; ++i) {
    b[i] = topdnn::Bf16FromFloat(topdnn::Bf16ToFloat(a[i]) + topdnn::Bf16ToFloat(b[i]));
  }
}

int Start() {
  int provided = 0;
  int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (error != MPI_SUCCESS) return error;
  requests.fill(MPI_REQUEST_NULL);
  error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return error != MPI_SUCCESS ? error : MPI_Op_create(SumBf16, /*commute=*/1, &sum_bf16);
}

int Rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int Ranks() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

void CopyText(const char* from, char* text, int bytes) {
  std::strncpy(text, from, static_cast<std::size_t>(bytes) - 1);
  text[bytes - 1] = '\0';
}

void Library(char* text, int bytes) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> name = {};
  int length = 0;
  MPI_Get_library_version(name.data(), &length);
  CopyText(name.data(), text, bytes);
}

void Explain(int error, char* text, int bytes) {
  std::array<char, MPI_MAX_ERROR_STRING> name = {};
  int length = 0;
  MPI_Error_string(error, name.data(), &length);
  CopyText(name.data(), text, bytes);
}

int ChooseFirst(int ranks) {
  if (first != MPI_COMM_NULL) MPI_Comm_free(&first);
  const int error =
      MPI_Comm_split(MPI_COMM_WORLD, Rank() < ranks ? 0 : MPI_UNDEFINED, Rank(), &first);
  if (error != MPI_SUCCESS || first == MPI_COMM_NULL) return error;
  return MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
}

int Begin(int number, MpiOperation operation, MpiGroup group, void* data, std::int64_t count,
          void* out) {
  if (count > INT_MAX) return MPI_ERR_COUNT;
  const MPI_Comm ranks = group == topdnn::kMpiAll ? MPI_COMM_WORLD : first;
  MPI_Request* const request = &requests[static_cast<std::size_t>(number)];
  const int n = static_cast<int>(count);
  switch (operation) {
    case topdnn::kMpiSumF32:
      return MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, ranks, request);
    case topdnn::kMpiSumBf16:
      return MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_UINT16_T, sum_bf16, ranks, request);
    case topdnn::kMpiSumF64:
      return MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_DOUBLE, MPI_SUM, ranks, request);
    case topdnn::kMpiGather:
      return MPI_Iallgather(data, n, MPI_BYTE, out, n, MPI_BYTE, ranks, request);
    case topdnn::kMpiBarrier:
      return MPI_Ibarrier(ranks, request);
  }
  return MPI_ERR_ARG;
}

int Test(int number, int* finished) {
  return MPI_Test(&requests[static_cast<std::size_t>(number)], finished, MPI_STATUS_IGNORE);
}

int FindWaiting(double seconds, char* waits) {
  constexpr int kTag = 1;
  static char message = 1;  // (a rank that hangs never receives it)
  const int ranks = Ranks();
  const int own = Rank();
  waits[own] = 1;
  // NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): nothing waits for a rank that hangs
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == own) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Isend(&message, 1, MPI_BYTE, rank, kTag, MPI_COMM_WORLD, &request);
    if (error != MPI_SUCCESS) return error;
    MPI_Request_free(&request);
  }
  // NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)
  const double begin = MPI_Wtime();
  while (std::count(waits, waits + ranks, 1) < ranks && MPI_Wtime() - begin < seconds) {
    int arrived = 0;
    MPI_Status status;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &arrived, &status);
    if (error == MPI_SUCCESS && arrived != 0) {
      char byte = 0;
      error =
          MPI_Recv(&byte, 1, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      waits[status.MPI_SOURCE] = 1;
    }
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int Finish() { return MPI_Finalize(); }

void Abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const topdnn::MpiFunctions*
topdnn_mpi_functions() {
  static const topdnn::MpiFunctions table = {
      .table_version = topdnn::kMpiTableVersion,
      .start = Start,
      .rank = Rank,
      .ranks = Ranks,
      .library = Library,
      .explain = Explain,
      .choose_first = ChooseFirst,
      .begin = Begin,
      .test = Test,
      .find_waiting = FindWaiting,
      .finish = Finish,
      .abort = Abort,
  };
  return &table;
}
