-- Who an operator is at the provider of single sign-on. The subject decides, and not the e-mail address, which the provider may give to somebody
-- else one day.
create table operator_identities (
  issuer text collate "C" not null,
  subject text collate "C" not null,
  operator text collate "C" not null references operators,
  -- As the provider named it when the account was linked.
  email text,
  linked_at timestamptz not null default clock_timestamp(),
  primary key (issuer, subject),
  -- At one provider an operator is one person.
  unique (operator, issuer)
);

-- What has come back from the provider: nothing does its work twice. Each row is kept for as long as a browser could bring it again.
create table operator_provider_uses (
  hash bytea primary key,
  expires_at timestamptz not null
);
create index operator_provider_uses_by_end on operator_provider_uses (expires_at);

-- Such a session has both factors: the provider has asked for whatever it asks for.
alter table operator_sessions add column by_provider boolean not null default false;
-- Null: the provider does not say when the person last proved who they are, and nothing was given here since.
alter table operator_sessions alter column authenticated_at drop not null;
