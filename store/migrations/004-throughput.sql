-- What an environment has promised is found by `due_by_time`, kind by kind: one index less to write with each promise.
drop index due_by_environment;

-- Nor need what is asked of runs by their creation an index of its own: it is asked automation by automation.
drop index automation_runs_by_time;

-- Edges of windows ----------------------------------------------------------------------------------------------------------------

-- As before, and what is asked for most is answered by one look: an edge that nothing was received after, or nothing before. The
-- statements in it are planned once, for the primary key: planned for each look they took nine tenths of a cut (128 edges, some 500 looks).
create or replace function offset_at(env int, part smallint, edge timestamptz) returns bigint language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as
$$
declare
  low bigint;
  high bigint;
  middle bigint;
  found_offset bigint;
  found_at timestamptz;
begin
  select log_offset, received_at into found_offset, found_at from events
    where environment = env and partition = part order by log_offset desc limit 1;
  if found_offset is null then
    return 0;
  elsif found_at < edge then
    return found_offset + 1;
  end if;
  high := found_offset;
  select log_offset, received_at into found_offset, found_at from events
    where environment = env and partition = part order by log_offset limit 1;
  if found_at >= edge then
    return 0;
  end if;
  low := found_offset + 1;
  -- What is before `low` was received before the edge, and what is at `high` or after it was not.
  while low < high loop
    middle := (low + high) / 2;
    select log_offset, received_at into found_offset, found_at from events
      where environment = env and partition = part and log_offset >= middle and log_offset < high order by log_offset limit 1;
    if found_offset is null or found_at >= edge then
      high := middle;
    else
      low := found_offset + 1;
    end if;
  end loop;
  return low;
end
$$;

-- Time ----------------------------------------------------------------------------------------------------------------------------

-- One row by its key, asked for by nearly every statement that records something: planning it each time took three quarters of it.
alter function environment_now(int) set plan_cache_mode = force_generic_plan;

-- What is ended in bounded steps ----------------------------------------------------------------------------------------------------------

-- Runs up to this number are cancelled, whatever they say as long as nobody has come to them.
alter table automations add column cancelled_upto bigint not null default 0;

-- An automation was set inactive or deleted while it had more runs under way than one transaction ends: the rest follows in the order of
-- their promises, from `after` on. `due` rows: kind 'automation-cancel', id = number.
create table automation_cancellations (
  number bigint generated always as identity primary key,
  environment int not null,
  automation_id text collate "C" not null,
  reason text not null,
  after bigint not null default 0,
  upto bigint not null
);
