-- What reports of the type charts show: [{code, query, name}]; with a saved view, the question that the view had when the report was saved.
alter table scheduled_reports
  add column charts jsonb not null default '[]',
  add column view_id text collate "C";
-- Of runs of such reports: the charts with their totals, and the time before which everything recorded counts. The figures are those that pictures
-- are drawn from, as long as the file can be downloaded.
alter table report_runs
  add column charts jsonb,
  add column view_id text collate "C",
  add column as_of timestamptz,
  add column figures jsonb;
