// Where launchers of several processes say which one a process is.
#pragma once

#include <array>

namespace graphtag {

// Of torchrun, Open MPI, PMIx, MPICH and Slurm; the first that is set to a number counts.
constexpr std::array kRankVariables = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

}  // namespace graphtag
