# A draft of a formula. HOMEPAGE, SOURCE-ARCHIVE and SHA256 belong to a release.
class Swarmwood < Formula
  desc "Gradient boosting and decision trees found by search"
  homepage "HOMEPAGE"
  url "SOURCE-ARCHIVE"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--profile", "dist", *std_cargo_args(path: "crates/swarmwood-cli")
    generate_completions_from_executable(bin/"swarmwood", "completions")
  end

  test do
    system bin/"swarmwood", "train", "--demo", "--method", "cart", "--out", "model.json"
    assert_path_exists testpath/"model.json"
  end
end
