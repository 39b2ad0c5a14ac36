// The format version: raised whenever a reader of the previous one could misread a bundle. Readers take exactly their
// own.
#pragma once

namespace dlcb::bundle {

constexpr int kFormatVersion = 2;
constexpr int kDataAlignment = 256;  // of every entry's data in the file, of arena and weight buffers in memory

}  // namespace dlcb::bundle
