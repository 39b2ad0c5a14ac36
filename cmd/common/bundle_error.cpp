// See bundle_error.h.
#include "cmd/common/bundle_error.h"

#include "bundle_format/reader.h"
#include "bundle_format/version.h"

namespace dlcb::cmd {

Diagnostic bundle_refused(const std::string& path, const bundle::Error& error) {
  if (error.fault == bundle::Fault::CannotOpen) return diag(DiagKind::CannotOpen, {path, error.message});
  std::string manifest;
  int version = 0;
  if (error.fault == bundle::Fault::Version && !bundle::read_manifest(path, &manifest, &version))
    return diag(DiagKind::BundleVersion, {std::to_string(version), std::to_string(bundle::kFormatVersion)},
                {path, "", "", ""}, {{"dlcb-inspect --manifest still prints its description", {}}});
  return diag(DiagKind::BadBundle, {path, error.message});
}

}  // namespace dlcb::cmd
