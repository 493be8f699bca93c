-- What Apple is asked once for each user: which of its ads led to the installation. The token is forgotten with the answer.
create table ad_services_tokens (
  id bigint generated always as identity primary key,
  environment int not null,
  user_id text collate "C" not null,
  token text,
  token_hash text not null,
  -- On the clock of the environment.
  told_at timestamptz not null,
  result text check (result in ('attributed', 'organic', 'refused', 'unanswered')),
  ended_at timestamptz,
  foreign key (environment, user_id) references users on delete cascade,
  unique (environment, user_id),
  check ((token is null) = (result is not null))
);
