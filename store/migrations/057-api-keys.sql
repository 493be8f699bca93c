-- Named keys: each has one environment, scopes, and perhaps an end and addresses. Like those of `keys` they are found by SHA-256; nothing shows
-- them again, so they are not sealed.
create table api_keys (
  environment int not null references environments,
  id text collate "C" not null,
  name text not null,
  scopes text[] not null,
  hash bytea not null unique,
  last_four text not null,
  -- Empty: from everywhere.
  allowed_addresses cidr[] not null default '{}',
  -- By the words of the audit log.
  created_by_kind text not null,
  created_by text,
  -- All times are real: the clock of a sandbox moves none of them.
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Written once a minute at most.
  last_used_at timestamptz,
  last_used_address inet,
  primary key (environment, id)
);
create index api_keys_by_creation on api_keys (environment, created_at, id) where revoked_at is null;
