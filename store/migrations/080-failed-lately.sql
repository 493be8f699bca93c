-- online
-- What has failed lately, of all environments: counted from the newest row on. By an expression, so that no question about one integration or one
-- automation takes these for its own index: without statistics the planner would read what has failed everywhere.
create index concurrently deliveries_exhausted on deliveries ((ended_at at time zone 'UTC')) where status = 'failed' and reason in ('exhausted', 'expired');
create index concurrently unsuccessful_runs_failed_lately on unsuccessful_runs ((finished_at at time zone 'UTC')) where status = 'failed';
