-- A segment may be restricted to people on a list. A list of nobody is one, too: erasures never make it a segment of everybody.
alter table segments add column is_listed boolean not null default false;
create table segment_members (
  environment int not null,
  segment_id text collate "C" not null,
  user_id text collate "C" not null,
  primary key (environment, segment_id, user_id),
  foreign key (environment, segment_id) references segments on delete cascade,
  foreign key (environment, user_id) references users on delete cascade
);
create index segment_members_by_user on segment_members (environment, user_id);
