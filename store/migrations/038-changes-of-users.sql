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

-- Postgres computes a generated column at every update of a table with such a trigger, whatever was updated. This is a change of the catalogue alone.
alter table users alter column properties_sorted drop expression;

create function sort_properties() returns trigger language plpgsql as
$$
begin
  new.properties_sorted := sorted_properties(new.properties);
  return new;
end
$$;
create trigger users_properties before insert or update of properties on users for each row execute function sort_properties();
-- Also where `session_replication_role` switches triggers off: the column has no other source.
alter table users enable always trigger users_properties;

-- Of files of customers who changed. `settled_by`: every change before `updated_to` is of a transaction with a lower id than this one. `updated_to` is null
-- when these had not ended in time.
alter table exports
  add column updated_from timestamptz,
  add column updated_to timestamptz,
  add column settled_by xid8;
