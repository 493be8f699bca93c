-- Derived from the log: where each block of an environment's list of events begins, so that a page far down skips one block at most.
-- Nothing here is written by who appends events. `offsets`: by partition, the first offset that is not counted.
create table event_counts (
  environment int primary key references environments,
  -- The counted events. null: the blocks do not reach the end of the list yet.
  total bigint,
  offsets bigint[] not null
);

-- `before`: how many counted events come before the event (happened_at, id).
create table event_blocks (
  environment int not null references environments,
  before bigint not null,
  happened_at timestamptz not null,
  id text collate "C" not null,
  primary key (environment, happened_at, id)
);
create index event_blocks_by_number on event_blocks (environment, before);

-- Whatever deletes events also forgets the blocks after them, in the same transaction. The lock makes the deletion wait for a process that
-- is cutting blocks: that process has still seen the events. The statements after the lock must see its blocks, so no transaction with one
-- snapshot for all statements may delete events.
create function forget_event_blocks() returns trigger language plpgsql as $$
declare first record;
begin
  for first in select distinct on (environment) environment, happened_at, id from deleted order by environment, happened_at, id loop
    perform pg_advisory_xact_lock_shared(4118, first.environment);
    update event_counts c set total = c.total - (
      select count(*) from deleted d where d.environment = c.environment and d.log_offset < c.offsets[d.partition + 1])
    where c.environment = first.environment;
    delete from event_blocks where environment = first.environment and (happened_at, id) >= (first.happened_at, first.id);
  end loop;
  return null;
end $$;
create trigger event_blocks after delete on events referencing old table as deleted for each statement execute function forget_event_blocks();
