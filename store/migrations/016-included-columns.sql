-- What a file of events has beside the documented columns, in the order of the columns: `event_id`, `properties`. A worker of the previous
-- version does not read it and writes the documented columns alone.
alter table exports add column include text[] not null default '{}';
alter table scheduled_reports add column include text[] not null default '{}';
-- What the files of a report contain: a type of exports.
alter table scheduled_reports add column type text not null default 'events';
