-- Of a sandbox that is being emptied, in bounded steps: since when. null: it is not.
alter table environments add column reset_at timestamptz;
