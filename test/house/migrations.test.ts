import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { knownMigrations } from '../../store/schema-history.ts'
import { faultsOf } from './migration-rules.ts'
import { ROOT } from './sources.ts'

/** The newest migration of 0.1.0. Up to that one there was no installation to upgrade while it is in use. */
const RELEASED = 77
const releases: string[] = JSON.parse(readFileSync(join(ROOT, 'releases.json'), 'utf8')).map(({ version }: { version: string }) => version)

test('no migration since the first release locks a table in use for long, or takes away what older processes read', async () => {
  const known = (await knownMigrations()).filter(({ version }) => version > RELEASED)
  const faults = known.flatMap(({ name, sql }) => faultsOf(sql, releases).map(({ statement, why }) => `${name}: ${statement}\n  ${why}`))
  expect(faults).toEqual([])
})

test.each([
  ['create index a on events (name)', /writers wait/],
  ['create unique index a on public.events (name)', /writers wait/],
  ['create index concurrently a on events (name)', /first line of the migration/],
  ['-- online\ncreate index concurrently on events (name)', /name it/],
  ['alter table users add column token uuid default gen_random_uuid()', /computed for each row/],
  [`alter table users add column at timestamptz not null default clock_timestamp()`, /computed for each row/],
  ['alter table users add column n bigint generated always as identity', /rewrites the table/],
  ['alter table users add column a text, add column b text not null', /fails where there are rows/],
  ['alter table users add column project int references projects', /whole table is read/],
  ['alter table users alter column name set not null', /is not null/],
  ['-- online\nalter table users alter column name set not null', /is not null/],
  ['-- online\nalter table users validate constraint other; alter table users alter column name set not null', /is not null/],
  ['alter table events alter column price type numeric', /column of the new type/],
  ['alter table events alter price set data type numeric', /column of the new type/],
  ['alter table events add constraint e foreign key (user_id) references users', /not valid/],
  [`alter table exports drop constraint s, add constraint s check (status in ('a', 'b'))`, /not valid/],
  ['alter table events add constraint u unique (event_id)', /using index/],
  ['update users set name = upper(name)', /every row/],
  [`with a as (select 1) update purchases p set x = 1 from a`, /every row/],
  ['delete from steps where run < 5', /every row/],
  ['create table b (id int); insert into b select id from events', /every row of events/],
  ['alter table users drop column name', /release before/],
  ['alter table users rename column name to title', /release before/],
  ['drop table exports', /release before/],
  ['drop function f()', /release before/],
  ['drop view a', /release before/],
  ['drop trigger t on users', /release before/],
  ['drop type a', /release before/],
  ['drop index events_by_name', /release before/],
  ['-- online\ndrop index concurrently if exists b', /release before/],
  ['update users as u set name = upper(name)', /every row/],
  ['do $$ begin update users set x = 1; end $$', /block/],
  ['create table b (id int); insert into b select p.id from projects p join events e on e.environment = p.id', /every row of events/],
  ['create table b (id int); insert into b select p.id from projects p, events e', /every row of events/],
  [
    'create table b (id int); insert into b select p.id from projects p where p.id in (select u.project from users u)',
    /every row of users/,
  ],
  ['create table b as select id from events', /every row of events/],
  [`insert into due (kind, id, environment, due_at) values ('a', 1, 1, now())`, /workers may already/],
  ['-- unread since 9.9.9\ndrop table exports', /release before/],
  ['-- online\nalter table users add column a text', /begins again/],
  ['truncate exports', /locks whole tables/],
])('%s is refused', (sql, why) => {
  expect(faultsOf(sql, ['0.2.0']).map(fault => fault.why)).toEqual([expect.stringMatching(why)])
})

test.each([
  'create table a (id bigint primary key, at timestamptz not null default clock_timestamp()); create index b on a (at); update a set id = 1',
  '-- online\ncreate index concurrently a on events (name)',
  '-- online\n-- unread since 0.2.0\ndrop index concurrently if exists b',
  '-- online\nalter table users add column if not exists a text',
  'create table b (id int); with k as (select id, name from projects) insert into b select k.id from k, unnest(array[1, 2]) n join environments e on true',
  `alter table users add column a text, add column b jsonb not null default '{}', add column c timestamptz not null default now(), add d boolean not null default false`,
  'alter table events add constraint e check (price > 0) not valid',
  '-- online\nalter table users validate constraint users_name_not_null; alter table users alter column name set not null; alter table users drop constraint if exists users_name_not_null',
  `alter table projects add column a text; update projects set a = 'x; update users set y'; insert into a_b select id from environments`,
  `create or replace function f() returns trigger language plpgsql as $$ begin update users set x = 1; return null; end $$;
   create trigger t after delete on users for each statement execute function f()`,
  '-- unread since 0.2.0\nalter table users drop column name',
  '-- unread since 0.2.0\ndrop function f()',
])('%s is accepted', sql => {
  expect(faultsOf(sql, ['0.1.0', '0.2.0'])).toEqual([])
})
