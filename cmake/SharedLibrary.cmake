# graphtag_shared_library(TARGET OUTPUT name SCRIPT version-script USES rooms...): rooms as one library that fits into any process.
# It brings its own C++ runtime, hidden, so that only glibc is needed, and exports what the version script names alone.
function(graphtag_shared_library target)
  cmake_parse_arguments(LIB "" "OUTPUT;SCRIPT" "USES" ${ARGN})
  # A library needs a source of its own.
  add_library(${target} SHARED ${LIB_SCRIPT})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${LIB_OUTPUT} LINK_DEPENDS ${LIB_SCRIPT})
  foreach(room IN LISTS LIB_USES)
    target_link_libraries(${target} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${room}>)
  endforeach()
  target_link_libraries(${target} PRIVATE graphtag_flags)
  target_link_options(${target} PRIVATE -Wl,--version-script=${LIB_SCRIPT})
  if(NOT GRAPHTAG_SANITIZE)
    # Sanitizers want the shared C++ runtime, and leave symbols to it.
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,defs -Wl,--gc-sections)
  endif()
endfunction()
