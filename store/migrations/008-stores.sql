alter table lineages
  -- The project's configuration of the store was connected when a fact of the lineage was recorded last: the store can be asked.
  add column is_connected boolean not null default false,
  -- Store time of the store's last statement.
  add column stated_until timestamptz,
  -- The store reported the whole history of the lineage as of then.
  add column whole_until timestamptz,
  -- No period is missing among those that begin by then.
  add column complete_until timestamptz,
  -- When a lineage that the store had told of got its first owner.
  add column owned_at timestamptz,
  -- When a claim moved it from one owner to another last.
  add column transferred_at timestamptz;

-- Further names that a store gives a lineage: purchase tokens that follow on each other, the names of lineages that were found to be one.
create table lineage_aliases (
  environment int not null references environments,
  platform text not null,
  name text not null,
  lineage bigint not null references lineages on delete cascade
);
create unique index lineage_aliases_by_name on lineage_aliases (environment, platform, md5(name));
create index lineage_aliases_by_lineage on lineage_aliases (lineage);

-- What stores said, as they said it. Purchases are computed from the set of these rows. A row is never changed; of equal answers of a store the
-- ones between the first and the last are deleted, because they change nothing.
create table store_statements (
  environment int not null references environments,
  lineage bigint not null references lineages on delete cascade,
  kind text not null check (kind in ('period', 'renewal', 'notice')),
  -- A transaction by its name within the lineage; empty: the lineage.
  subject text not null,
  -- Store time in ms.
  stated_at bigint not null,
  -- Decides between statements of the same instant: the rank of the origin and a hash of the content. Nothing of the order of arrival is in it.
  tie text collate "C" not null,
  origin text not null check (origin in ('caller', 'push', 'api')),
  said jsonb not null,
  -- The store's ids of the transaction; null for other kinds.
  ids jsonb,
  recorded_at timestamptz not null default clock_timestamp()
);
create unique index store_statements_once on store_statements (lineage, kind, md5(subject), stated_at, tie);

alter table purchases
  -- The name of the transaction within its lineage, in the words of the store's statements; null: the store has not told of it.
  add column subject text,
  -- When auto-renew was switched off, on, off … within the period, in Unix seconds. At the begin of the period it is on.
  add column auto_renew_changes bigint[] not null default '{}',
  -- The earliest word that the charge after the period had failed, also when it was taken back since.
  add column first_retry_at timestamptz,
  -- What was taken back of refunds, in sum, and what the events of the log say of it.
  add column taken_back numeric not null default 0,
  add column taken_back_told numeric not null default 0,
  -- The store's own share for the seller; null: the default of the platform.
  add column proceeds_share numeric,
  -- On the store's word: whether the period is of a higher or lower level than the one before.
  add column level jsonb,
  -- No product linked the store's product when the store told of the transaction first.
  add column is_unmapped boolean not null default false;
create unique index purchases_by_subject on purchases (lineage, md5(subject)) where subject is not null;

-- From here on `emitted` has an event that is told repeatedly (cancellations, refunds) as often as the log has it.
update purchases set
  auto_renew_changes = case when auto_renew_off_at is null then '{}' else array[floor(extract(epoch from auto_renew_off_at))::bigint] end,
  first_retry_at = billing_retry_at,
  emitted = case when 'canceled' = any (emitted)
    then emitted || case when amount = 0 then 'trial_canceled' else 'subscription_canceled' end else emitted end
where auto_renew_off_at is not null or billing_retry_at is not null or 'canceled' = any (emitted);
