-- Read every few seconds, over all projects: few integrations are in error at a time.
create index integrations_in_error on integrations (number) where active = 2 and deleted_at is null;
