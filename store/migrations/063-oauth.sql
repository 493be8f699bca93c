-- Programs that have registered themselves. Those that name themselves by an address of a document have no row.
create table oauth_clients (
  id text collate "C" primary key,
  name text not null,
  redirect_uris text[] not null check (cardinality(redirect_uris) > 0),
  created_at timestamptz not null default clock_timestamp(),
  -- When it was registered, or when an operator last allowed it something.
  granted_at timestamptz not null default clock_timestamp()
);
create index oauth_clients_by_time on oauth_clients (granted_at);
-- Nobody has had a grant before this.
delete from mcp_reveals;
alter table mcp_reveals add project int not null references projects;
-- Whether the client has three tools that find and call the others, in place of one for each operation.
alter table mcp_grants add finds_tools boolean not null default false;
create index mcp_tokens_by_grant on mcp_tokens (grant_id);
create index mcp_grants_by_client on mcp_grants (client_id) where ended_at is null;

-- What an operator has allowed, until the client takes it. A code that was taken is kept for a while, so that a second use ends its grant.
create table oauth_codes (
  hash bytea primary key,
  operator text collate "C" not null references operators,
  client_id text not null,
  client_name text not null,
  redirect_uri text not null,
  challenge text not null,
  project int not null references projects,
  environment int not null references environments,
  scopes text[] not null check (cardinality(scopes) > 0),
  finds_tools boolean not null,
  expires_at timestamptz not null,
  -- Of a code that was taken.
  grant_id text collate "C" references mcp_grants on delete cascade
);
create index oauth_codes_by_expiry on oauth_codes (expires_at);
