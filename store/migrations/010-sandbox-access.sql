-- What a user of production has got for a purchase of the App Store's sandbox, and when: at most once in 30 days.
create table sandbox_accesses (
  environment int not null,
  user_id text collate "C" not null,
  entitlement_id text collate "C" not null,
  granted_at timestamptz not null,
  primary key (environment, user_id, entitlement_id),
  foreign key (environment, user_id) references users on delete cascade
);
