// `graphtag report`, printed.
#pragma once

#include "analyze/regions.h"
#include "write/report_style.h"

namespace graphtag {

// `table` is what `report` was made from. Error (invalid_argument): a column of --columns or --sort that is not there; the message lists those that are.
Result<Rendered> render_report(const RegionReport& report, const OperationTable& table, const ReportContext& context,
                               const ReportStyle& style);

}  // namespace graphtag
