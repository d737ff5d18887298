// Defines GRAPHTAG_SANITIZED where a sanitizer brings its own operator new.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRAPHTAG_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GRAPHTAG_SANITIZED
#endif
#endif
