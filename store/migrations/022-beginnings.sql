-- Customers whose history was recorded after they came began when their history begins: their created_at moves back. Windows of exports, and what an
-- erasure looks for in their files, need a time that never moves.
alter table users
  -- When the user was recorded, where created_at is another time. null: created_at.
  add column recorded_at timestamptz,
  -- Whether an app, or an event or a purchase that acts, has shown the user: from then on history moves created_at no more. null: the user was
  -- recorded before this was noted, and counts as seen; `users recompute-created` finds it out.
  add column is_seen_live boolean;
create index users_by_recording on users (environment, coalesce(recorded_at, created_at), id);
drop index users_by_creation;
