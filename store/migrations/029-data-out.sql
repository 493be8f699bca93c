-- A file of all purchases reads them in the order of their ids, one environment at a time.
create index purchases_by_id on purchases (environment, id);
