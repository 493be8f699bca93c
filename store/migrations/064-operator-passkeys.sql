-- Passkeys: an operator signs in with a key that the browser or a device keeps, and that asks for a finger, a face or a PIN. It is both factors.
create table operator_passkeys (
  id text collate "C" primary key,
  operator text collate "C" not null references operators,
  -- Chosen by the device, and the same for nobody else.
  credential_id bytea not null unique check (length(credential_id) between 1 and 1023),
  -- In the form of COSE.
  public_key bytea not null,
  -- Of signatures, where the device counts them; 0 otherwise.
  counter bigint not null,
  -- How the browser reaches the device, in the words of the browser.
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  -- The counter went back: there may be a copy. The passkey signs in nowhere any more.
  ended_at timestamptz
);
create index operator_passkeys_by_operator on operator_passkeys (operator, created_at);

-- The passkey that has opened the session, whose password and second factor it replaces.
alter table operator_sessions add column passkey text collate "C";

-- A challenge carries its own proof that this service has made it. What was answered is here until it would be too late for an answer anyway.
create table operator_spent_challenges (
  hash bytea primary key,
  spent_at timestamptz not null default clock_timestamp()
);
create index operator_spent_challenges_by_time on operator_spent_challenges (spent_at);
