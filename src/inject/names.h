// What the program names: domains, categories, registered strings; and the labels of its ranges, each of which becomes an annotation.
//
//   domain "NCCL", category 3 "collective", text "all_reduce", payload 1024
//     -> {"name": "all_reduce", "nvtx_domain": "NCCL", "nvtx_category": "collective", "nvtx_payload": 1024}
//
// Everything here lives as long as the object, as programs may keep handles for ever, and is bounded: what goes over a bound is
// counted. All may be called from any thread; a known label is found without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inject/bounded_set.h"
#include "inject/nvtx_abi.h"
#include "inject/text.h"

namespace graphtag::inject {

constexpr std::size_t kLabelsMax = 65'536;
constexpr std::size_t kLabelsWithPayloadMax = kLabelsMax / 2;  // payloads that count up leave room for texts
constexpr std::size_t kLabelBytesMax = std::size_t{24} << 20;
constexpr std::size_t kDomainsMax = 4096;
constexpr std::size_t kCategoriesMax = 4096;
constexpr std::size_t kStringsMax = 65'536;

struct Domain {
  std::uint32_t id = 0;               // 0: the default domain
  std::string name;                   // "" of the default domain
  bool is_wanted = true;              // --nvtx-domains
  std::atomic<void*> other{nullptr};  // the handle of the tool behind us
};

// What nvtxDomainRegisterString hands out.
struct RegisteredString {
  std::string utf8;
  std::atomic<void*> other{nullptr};  // the handle of the tool behind us
};

struct Payload {
  nvtx::PayloadType type = nvtx::PayloadType::none;  // none, u64, i64 or f64: narrower ones are widened
  std::uint64_t bits = 0;
  bool operator==(const Payload&) const = default;
};

// What a range or a mark was given.
struct Attributes {
  std::string_view text;  // as the program gave it; "" if it gave none
  std::uint32_t category = 0;
  Payload payload;
  const wchar_t* wide = nullptr;  // instead of `text`
};

// `given` may be null, or of an older, shorter layout.
Attributes read_attributes(const nvtx::EventAttributes* given);

// A label's parts as the program gave them; the texts are views.
struct LabelKey {
  const Domain* domain = nullptr;
  const std::string* category_name = nullptr;
  std::uint32_t category = 0;
  bool says_default = false;      // the default domain, within a range of another one, is named
  bool says_no_category = false;  // within a range that has one, of another domain: NVTX's number for none, 0
  Payload payload;
  std::string_view text;
};

// What would show through from the ranges around one.
struct Within {
  bool other_domain = false;     // one with a name
  bool others_category = false;  // of another domain
};

struct Label {
  LabelKey key;  // its text is `given`
  std::string given;
  std::string text;                          // UTF-8
  std::string json;                          // the annotation; "" if there is nothing to say
  std::atomic<std::uint64_t> annotation{0};  // the gt_annotation, once it was needed; 0 again after fork()
};

// Counts since the process began.
struct NameCounts {
  std::atomic<std::uint64_t> texts_mended{0};       // distinct ones that were not UTF-8
  std::atomic<std::uint64_t> texts_cut{0};          // distinct ones longer than kTextBytesMax
  std::atomic<std::uint64_t> labels_refused{0};     // ranges whose label was new when there was no room
  std::atomic<std::uint64_t> payloads_left_out{0};  // ranges labelled without their payload, as there was no room
  std::atomic<std::uint64_t> others_refused{0};     // domains, categories and registered strings beyond the bounds
};

class Names {
 public:
  // `wanted_domains`: names, "default" for the default domain; nothing: all.
  explicit Names(std::optional<std::vector<std::string>> wanted_domains = {});

  // Null stands for the default domain.
  Domain& domain(void* handle) noexcept { return handle == nullptr ? default_domain_ : *static_cast<Domain*>(handle); }
  Domain& create_domain(const Text& name);
  void name_category(const Domain& domain, std::uint32_t category, const Text& name);
  RegisteredString& register_string(const Domain& domain, const Text& text);
  // The tool behind us has forgotten the domain and its strings; here they go on, as programs may still use them.
  void destroyed_behind(Domain& domain);

  // Null: it is new, and there is no room.
  Label* label(const Domain& domain, const Attributes& attributes, Within within);
  // A label for one use, with the texts as UTF-8, without an annotation.
  std::unique_ptr<Label> passing_label(const Domain& domain, const Attributes& attributes);

  // Around a fork(), and then in the child: annotations are to be made anew.
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }
  void start_anew() noexcept;

  const NameCounts& counts() const noexcept { return counts_; }

 private:
  bool is_wanted(std::string_view domain) const;
  const std::string* category_name(const Domain& domain, std::uint32_t category);
  std::unique_ptr<Label> make_label(const LabelKey& key, Text&& text);
  void count(const Text& text);
  Label* find_or_add(const LabelKey& key, const wchar_t* wide);

  const std::optional<std::vector<std::string>> wanted_domains_;
  Domain default_domain_;
  NameCounts counts_;

  std::mutex mutex_;                                                                  // of all below but finding labels
  std::map<std::string, std::unique_ptr<Domain>> domains_;                            // name -> domain
  std::map<std::pair<std::uint32_t, std::uint32_t>, const std::string*> categories_;  // domain id, category -> name
  std::deque<std::string> category_names_;                                            // each name ever given
  std::map<std::pair<std::uint32_t, std::string>, RegisteredString> strings_;         // domain id, text -> string
  BoundedIndex<Label, kLabelsMax> labels_;
  std::size_t labels_with_payload_ = 0;
  std::size_t label_bytes_ = 0;
};

}  // namespace graphtag::inject
