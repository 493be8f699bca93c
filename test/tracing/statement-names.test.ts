import { expect, test } from 'vitest'
import { statementName } from '../../store/trace-statements.ts'

test.each([
  [{ name: 'append-events', text: 'insert into events …' }, 'append-events'],
  ['begin', 'begin'],
  ['select pg_advisory_lock($1, hashtext($2))', 'select'],
  [{ text: '\n  with old as (select 1 from runs where id = 17) delete from steps' }, 'with runs'],
  ['update deliveries set reason = $1', 'update deliveries'],
  ['', 'statement'],
])('%j is called %s, and never by its text', (statement, name) => {
  expect(statementName(statement)).toBe(name)
})
