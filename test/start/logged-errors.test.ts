import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { prettyLine, shownError } from '../../app/logger.ts'
import { freshDatabase } from '../harness/database.ts'

test('the log says what an error of the database is, without values of rows or the connection', async () => {
  const { url } = await freshDatabase()
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('create temp table one (word text primary key)')
  await client.query('insert into one values ($1)', ['private-word'])
  const error = await client.query('insert into one values ($1)', ['private-word']).catch((thrown: Error) => thrown)
  const shown = shownError(Object.assign(error as Error, { client, parameters: ['private-word'] }))
  expect(shown).toMatchObject({ type: 'DatabaseError', code: '23505', constraint: 'one_pkey', stack: expect.stringContaining('one_pkey') })
  expect(JSON.stringify(shown)).not.toMatch(/private-word|"client"|connectionParameters|secretKey/)
})

test('a line for a terminal has time, level, message and fields, and cannot move the cursor', () => {
  const line = { level: 40, time: '2026-03-01T12:34:56.789Z', why: 'a\u001b[2Jb', rows: 7, msg: 'not reached' }
  expect(prettyLine(JSON.stringify(line))).toBe('12:34:56 warn not reached why=a\uFFFD[2Jb rows=7')
  const failed = { level: 50, time: '2026-03-01T12:34:56.789Z', err: { message: 'no', stack: 'Error: no\n  at x' }, msg: 'stopping' }
  expect(prettyLine(JSON.stringify(failed))).toBe('12:34:56 error stopping\nError: no\n  at x')
})
