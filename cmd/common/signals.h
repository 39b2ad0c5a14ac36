// What a program does when it is told to end: no unfinished output may stay behind.
#pragma once

namespace dlcb::cmd {

// SIGINT, SIGTERM and SIGHUP, unless they are ignored (nohup), end the process as they always do, but unfinished files
// are removed first. Blocks them in the calling thread and so in all that it starts: called once, before there are
// others. No handler is installed, since NVRTC installs its own while it compiles.
void watch_signals();

}  // namespace dlcb::cmd
