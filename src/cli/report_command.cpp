#include "write/report_regions.h"

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/table_output.h"

namespace graphtag::cli {

int run_report(const ReportArguments& arguments, const Common& common) {
  auto out = open_out(arguments.table, arguments.trace, arguments.input);
  if (!out) return fail(out.error());
  auto operations = read_with_progress(arguments.trace, arguments.input, common);
  if (!operations) return fail(operations.error());
  const auto report = analyze_regions(*operations, arguments.regions);
  if (!report) return fail(report.error());
  const auto rendered =
      render_report(*report, *operations, report_context(arguments.trace, *operations), report_style(arguments.table, common));
  if (!rendered) return fail(rendered.error());
  return print_rendered(*rendered, *out, common);
}

}  // namespace graphtag::cli
