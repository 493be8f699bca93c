-- When a user was last written, in real time: a file of customers has those who changed since an edge. No index has it, because each start of an app
-- writes the user, and an update of a column with an index writes an entry into every index. Users that were there before changed now.
alter table users add column changed_at timestamptz not null default now();

create function note_change() returns trigger language plpgsql as
$$
begin
  -- The transaction gets its id before the time is read: a transaction that begins later cannot have a lower id and an earlier time.
  perform pg_current_xact_id();
  new.changed_at := clock_timestamp();
  return new;
end
$$;
create trigger users_changed before insert or update on users for each row execute function note_change();

-- Of files of customers. `settled_by`: every change before `updated_to` is of a transaction with a lower id than this one. null: nobody waits for it.
alter table exports
  add column updated_from timestamptz,
  add column updated_to timestamptz,
  add column settled_by xid8;
