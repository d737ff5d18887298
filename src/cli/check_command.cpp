#include "analyze/check.h"

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/table_output.h"
#include "write/report_check.h"

namespace graphtag::cli {

int run_check(const CheckArguments& arguments, const Common& common) {
  auto out = open_out(arguments.table, arguments.trace, arguments.input);
  if (!out) return fail(out.error());
  auto operations = read_with_progress(arguments.trace, arguments.input, common);
  if (!operations) return fail(operations.error());
  const Result<CheckReport> report = check_operations(*operations, arguments.options);
  if (!report) return fail(report.error());
  const auto rendered =
      render_check(*report, *operations, report_context(arguments.trace, *operations), report_style(arguments.table, common));
  if (!rendered) return fail(rendered.error());
  const int printed = print_rendered(*rendered, *out, common);
  if (printed != 0) return printed;
  const int code = exit_code(report->verdict);
  // Tables say it themselves, and rows for programs in their notes.
  const bool is_said = rendered->notes.empty() ? arguments.table.out.empty() : !common.quiet;
  if (code != 0 && !is_said) note(report->verdict_reason);
  return code;
}

}  // namespace graphtag::cli
