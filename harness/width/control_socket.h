// A UNIX socket (SOCK_SEQPACKET) that takes requests for a width while a workload runs
// (control_messages.h).
//
// Only processes of the same user are served. A client can neither block the run nor take much of
// its CPUs: a client that does not read its replies loses its connection, and requests beyond the
// rate wait.

#ifndef TOPDNN_HARNESS_WIDTH_CONTROL_SOCKET_H_
#define TOPDNN_HARNESS_WIDTH_CONTROL_SOCKET_H_

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/width/control_messages.h"
#include "harness/width/width_control.h"
#include "harness/width/width_source.h"

namespace topdnn {

inline constexpr std::size_t kMaxControlClients = 16;

class ControlSocket final : public WidthSource {
 public:
  // Makes the socket, mode 0600. Replaces the file of a socket that no process has open any more.
  // `user` is the only user whose processes are served. Throws InputError for a path that
  // is too long, a file that is no socket, and a socket in use.
  ControlSocket(WidthControl& control, std::string path, uid_t user);
  // Removes the socket's file, if it is still this socket's.
  ~ControlSocket() override;

  const std::string& path() const { return path_; }
  // Removes the file at once, for a process that is about to exit.
  void RemoveFile() const;

  void AddTo(std::vector<pollfd>& waits) override;
  void Serve() override;

 private:
  using Clock = std::chrono::steady_clock;

  void Accept();
  // Serves a waiting packet; false: the connection is over.
  bool ServeClient(int client);
  // Whether another packet may be served now.
  bool WithinRate();

  WidthControl& control_;
  std::string path_;
  uid_t user_;
  int listening_ = -1;
  dev_t device_ = 0;  // of the socket's file
  ino_t inode_ = 0;
  std::vector<int> clients_;
  std::array<char, kMaxControlPacket + 1> packet_;
  Clock::time_point accept_after_;  // of a failed accept
  Clock::time_point window_;        // the start of this period of the rate
  int served_ = 0;                  // packets in it
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_CONTROL_SOCKET_H_
