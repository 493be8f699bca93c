-- Claims of purchases that were refused, and why. A claim that a client repeats within a day (UTC) is one row that counts.
create table purchase_attempts (
  id bigint generated always as identity primary key,
  environment int not null,
  user_id text collate "C" not null,
  source text not null,
  -- null: the request names no store.
  platform text,
  -- Of the store, as the claim names it.
  product text,
  transaction text,
  -- The first 16 digits of the SHA-256 of a purchase token or a signed transaction: who has the whole one can claim the purchase.
  token_digest text,
  reason text not null,
  -- The answer of the store in short, where it gave one.
  answer_code text,
  answer_message text,
  -- By the clock of the environment.
  created_at timestamptz not null,
  last_at timestamptz not null,
  times int not null default 1,
  day date not null generated always as ((created_at at time zone 'UTC')::date) stored,
  -- Of everything that must be equal for a repetition.
  claim_hash bytea not null,
  foreign key (environment, user_id) references users on delete cascade,
  unique (environment, user_id, day, claim_hash)
);
create index purchase_attempts_newest on purchase_attempts (environment, user_id, created_at, id);
create index purchase_attempts_by_age on purchase_attempts (environment, created_at);
