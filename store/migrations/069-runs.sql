-- The runs with a step that has failed and is tried again, for lists of such runs alone: no index of automation_runs may have the status. A row
-- is written with the pause before the next attempt, and deleted with the record of a step that is not tried again.
create table retrying_runs (
  number bigint primary key,
  environment int not null,
  automation_id text collate "C" not null,
  created_at timestamptz not null,
  id text collate "C" not null
);
create index retrying_runs_by_creation on retrying_runs (environment, automation_id, created_at, id);
-- Found by their jobs: the table of runs has those of 90 days, and no index by status.
insert into retrying_runs (number, environment, automation_id, created_at, id)
  select r.number, r.environment, r.automation_id, r.created_at, r.id from due d join automation_runs r on r.number = d.id
  where d.kind = 'automation-run' and r.status = 'running'
    and exists (select 1 from automation_steps s where s.run = r.number and s.status = 'running');

-- The runs that wait for a delivery that is tried again. Only such a delivery has an entry; the other indexes by status change with it anyway.
create index deliveries_retrying_of_runs on deliveries (environment, run_id) where status = 'retrying' and source = 'automation';
