-- Whose deliveries an integration refused one after the other, without another answer between: hashes of at most ten different users. Ten say that
-- it refuses everybody, fewer that some events are wrong.
-- `newest_probe`: the newest delivery that was probed. Together with `failed_probe` it takes each held delivery in turn. `failed_probes` is not used any more.
alter table integrations
  add column refused_users bigint[] not null default '{}',
  add column newest_probe bigint;
