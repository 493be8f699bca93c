-- Of a lineage without owner: what the app told the store about the account, as a hash. A user or identity of that name that is created later gets it.
alter table lineages add column account_hash text;
create index lineages_by_account on lineages (environment, account_hash, id) where user_id is null and account_hash is not null;
