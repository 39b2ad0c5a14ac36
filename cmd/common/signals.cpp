// A thread waits for the signals; see signals.h.
#include "cmd/common/signals.h"

#include <signal.h>

#include <thread>

#include "base/file.h"

namespace dlcb::cmd {

void watch_signals() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    ::sigaction(signal_number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::sigaddset(&watched, signal_number);
  }
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  std::thread([watched] {
    int signal_number = 0;
    while (::sigwait(&watched, &signal_number) != 0) {
    }
    remove_unfinished_files();
    ::signal(signal_number, SIG_DFL);
    ::pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
    ::raise(signal_number);
  }).detach();
}

}  // namespace dlcb::cmd
