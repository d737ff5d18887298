/* For header_is_c11, which includes graphtag.h into it. */
typedef int not_empty;
