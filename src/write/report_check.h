// `graphtag check`, printed.
#pragma once

#include "analyze/check.h"
#include "write/report_style.h"

namespace graphtag {

// As render_report; all graphs are shown unless style.top says how many; style.min_percent means nothing here.
Result<Rendered> render_check(const CheckReport& report, const OperationTable& table, const ReportContext& context,
                              const ReportStyle& style);

}  // namespace graphtag
