-- What the alerts count every few seconds: the newest ones of an environment, up to a limit. The index takes the place of one by platform alone.
drop index store_inbox_set_aside;
create index store_inbox_set_aside on store_inbox (platform, project, environment, id) where state = 'set_aside';
create index set_aside_events_open on set_aside_events (environment, consumer, set_aside_at) where replayed_at is null;
create index store_acknowledgements_due on store_acknowledgements (environment, created_at) where done_at is null;
