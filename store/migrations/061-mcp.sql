-- What operators have allowed assistants to do. A grant joins an operator, a client, a project, one of its environments and scopes; `grants` are those
-- of entitlements. All times are real: the clock of a sandbox moves none of them.
create table mcp_grants (
  id text collate "C" primary key,
  operator text collate "C" not null references operators,
  client_id text not null,
  client_name text not null,
  project int not null references projects,
  environment int not null references environments,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null default clock_timestamp(),
  -- Written once a minute at most.
  last_used_at timestamptz,
  ended_at timestamptz
);
create index mcp_grants_by_operator on mcp_grants (operator, created_at);

-- Tokens are long and random, so their SHA-256 is enough. A refresh token that was used is kept, so that a second use is noticed.
create table mcp_tokens (
  hash bytea primary key,
  grant_id text collate "C" not null references mcp_grants on delete cascade,
  kind text not null check (kind in ('access', 'refresh')),
  -- Those of the grant, or fewer.
  scopes text[] not null,
  expires_at timestamptz not null,
  -- Of a refresh token.
  used_at timestamptz
);
create index mcp_tokens_by_expiry on mcp_tokens (expires_at);

-- The first of the two calls that a dangerous tool needs. `arguments`: the hash of all of them but those that confirm.
create table mcp_confirmations (
  hash bytea primary key,
  grant_id text collate "C" not null references mcp_grants on delete cascade,
  tool text not null,
  arguments bytea not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index mcp_confirmations_by_expiry on mcp_confirmations (expires_at);

-- Secrets that one operator may look at once. `hash`: of the code in the address.
create table mcp_reveals (
  hash bytea primary key,
  operator text collate "C" not null references operators,
  sealed bytea not null,
  expires_at timestamptz not null
);
create index mcp_reveals_by_expiry on mcp_reveals (expires_at);

-- One row for each call of a tool that writes. `outcome` is null from before the call until its answer is known: a process that stops between the
-- two leaves it null. `user_id`: the customer whom the arguments name.
create table mcp_calls (
  id text collate "C" primary key,
  called_at timestamptz not null default clock_timestamp(),
  operator text collate "C" not null,
  client_id text not null,
  client_name text not null,
  grant_id text collate "C" not null,
  project int not null references projects,
  environment int not null references environments,
  tool text not null,
  arguments jsonb,
  user_id text collate "C",
  reason text,
  is_dry_run boolean not null,
  outcome text,
  status int
);
create index mcp_calls_by_time on mcp_calls (called_at);
create index mcp_calls_by_project on mcp_calls (project, called_at);
create index mcp_calls_by_user on mcp_calls (environment, user_id) where user_id is not null;
