-- One row, which any process writes: the figures of the whole installation, read once for all processes. A crash of the server empties it.
create unlogged table drift_figures (
  one boolean primary key default true check (one),
  -- What the figures hold: another version of the program may have others.
  shape int not null,
  -- When a process began to read them, and when it had read them.
  taken_at timestamptz not null,
  read_at timestamptz,
  figures jsonb
);

-- What has failed lately, of all environments: counted from the newest row on. By an expression, so that no question about one integration or one
-- automation takes these for its own index: without statistics the planner would read what has failed everywhere.
create index deliveries_exhausted on deliveries ((ended_at at time zone 'UTC')) where status = 'failed' and reason in ('exhausted', 'expired');
create index unsuccessful_runs_failed_lately on unsuccessful_runs ((finished_at at time zone 'UTC')) where status = 'failed';
