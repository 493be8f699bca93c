-- How operators sign in. Whatever opens something is here as SHA-256, as Argon2id or sealed: a copy of the database signs nobody in.
alter table operators
  -- TOTP. The secret that is in use is sealed; so is one that is being set up, until a code of it was given.
  add column totp_secret bytea,
  add column totp_next_secret bytea,
  -- The time step of the latest code that was accepted: no code is accepted twice.
  add column totp_last_step bigint not null default 0,
  -- Signs in with a second factor only.
  add column needs_second_factor boolean not null default false;

-- Of the installation, one row.
create table operator_policy (
  only_row boolean primary key default true check (only_row),
  needs_second_factor boolean not null default false
);
insert into operator_policy default values;

create table operator_sessions (
  id text collate "C" primary key,
  operator text collate "C" not null references operators,
  -- Of the cookie.
  hash bytea not null unique,
  -- The password was right, and this is still missing: such a session opens nothing else.
  awaits text check (awaits in ('code', 'set_up')),
  created_at timestamptz not null default clock_timestamp(),
  -- When the operator last gave a password or a code.
  authenticated_at timestamptz not null default clock_timestamp(),
  -- Written once a minute at most.
  last_used_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  address inet,
  user_agent text
);
create index operator_sessions_by_operator on operator_sessions (operator, created_at);
create index operator_sessions_by_end on operator_sessions (expires_at);

create table operator_recovery_codes (
  operator text collate "C" not null references operators,
  hash bytea not null,
  primary key (operator, hash)
);

-- Links with which a password is chosen. That of the first operator names none yet.
create table operator_links (
  id text collate "C" primary key,
  operator text collate "C" unique references operators,
  hash bytea not null unique,
  expires_at timestamptz not null
);
create unique index operator_links_first on operator_links ((operator is null)) where operator is null;

-- Guesses at passwords and codes, counted for an account and for an address, whether the account exists or not. A guess is here before it is
-- checked, so guesses in parallel count each other; one that was right is removed.
create table operator_guesses (
  -- HMAC of an e-mail address or of a network address.
  subject text collate "C" not null,
  id text collate "C" not null,
  at timestamptz not null default clock_timestamp(),
  primary key (subject, id)
);
create index operator_guesses_by_time on operator_guesses (at);
