-- What the app told the store about the account, of a lineage without owner: a user or identity that is created later gets it.
alter table lineages add column account text;
create index lineages_by_account on lineages (environment, md5(lower(account))) where user_id is null and account is not null;
