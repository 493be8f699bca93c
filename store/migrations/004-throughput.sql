-- What is ended in bounded steps ----------------------------------------------------------------------------------------------------------

-- Runs up to this number are cancelled, whatever they say as long as nobody has come to them.
alter table automations add column cancelled_upto bigint not null default 0;

-- An automation was set inactive or deleted while it had more runs under way than one transaction ends: the rest follows in the order of
-- their promises, from `after` on. `due` rows: kind 'automation-cancel', id = number.
create table automation_cancellations (
  number bigint generated always as identity primary key,
  environment int not null,
  automation_id text collate "C" not null,
  reason text not null,
  after bigint not null default 0,
  upto bigint not null
);
