-- One event by its id: each event names such an address.
create index events_by_id on events (environment, id);
