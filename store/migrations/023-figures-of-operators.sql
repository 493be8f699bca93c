-- Read every few seconds, over all projects: few integrations are in error at a time, and few runs of reports fail.
create index integrations_in_error on integrations (number) where active = 2 and deleted_at is null;
create index report_runs_failed on report_runs (finished_at) where kind = 'scheduled' and outcome = 'failed';
