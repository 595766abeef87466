// The client of a job's control socket (SOCK_SEQPACKET, one JSON object in each packet). Nothing
// here waits: a job that does not answer cannot stop the scheduler.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_CONTROL_CLIENT_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_CONTROL_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

// A reply to a request. `error` is empty if the job did what it was asked.
struct ControlReply {
  int width = 0;   // in effect
  int wanted = 0;  // of the last request
  std::int64_t iterations = 0;
  std::string error;
};

// Absent if the packet is not a reply. Pure.
std::optional<ControlReply> ParseControlReply(std::string_view packet);

class ControlClient {
 public:
  explicit ControlClient(std::string path) : path_(std::move(path)) {}
  ~ControlClient() { Close(); }
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // Tries to connect. False: the job has not made its socket yet.
  bool Connect();
  bool connected() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }
  int fd() const { return fd_; }  // -1: not connected
  void Close();

  // Requests. False: it could not be sent now.
  bool SetWidth(int width);
  bool AskStatus();
  bool Stop();

  // A packet, if one has arrived. An empty one is the end of the connection.
  std::optional<std::string> Receive();

 private:
  bool Send(std::string_view packet) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_CONTROL_CLIENT_H_
