# Everything comes from the system's packages; `./dev build` installs what is missing.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED)

# protozero ships neither a CMake config nor a .pc file.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)
add_library(graphtag_protozero INTERFACE)
target_include_directories(graphtag_protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE_DIR})

if(GRAPHTAG_COMMAND)
  find_package(fmt 9 CONFIG REQUIRED)
  # No version asked for: simdjson's config refuses every other minor version, newer ones too.
  find_package(simdjson CONFIG REQUIRED)
  if(simdjson_VERSION VERSION_LESS 3.0)
    message(FATAL_ERROR "simdjson 3.0 or newer is needed; this is ${simdjson_VERSION}")
  endif()
  find_package(CLI11 2.1 CONFIG REQUIRED)
  find_package(OpenSSL REQUIRED)
  pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
endif()
if(GRAPHTAG_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(rapidcheck CONFIG REQUIRED)
endif()
if(GRAPHTAG_BENCH)
  find_package(benchmark CONFIG REQUIRED)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
