import { expect, test } from 'vitest'
import { ConfigError, readConfig } from '../../app/config.ts'
import { readAddress } from '../../store/address.ts'

const refuse = (line: string): never => {
  throw new Error(line)
}

test.each([
  ['postgres://u:p@h:5433/name', 'postgres://u:p@h:5433/name', []],
  ['postgresql://h/name?sslmode=verify-full&sslrootcert=system', 'postgresql://h/name?sslmode=verify-full', []],
  ['postgres://h/name?target_session_attrs=any', 'postgres://h/name', []],
  ['postgres:///name?host=/var/run/postgresql', 'postgres:///name?host=/var/run/postgresql', []],
  ['postgres://h/name?target_session_attrs=read-write', 'postgres://h/name', [{ host: 'h', port: 5432 }]],
  [
    'postgres://u:p%40@h1:5432,h2:5433,[::1]:7/name?sslmode=disable&target_session_attrs=primary',
    'postgres://u:p%40@h1:5432/name?sslmode=disable',
    [
      { host: 'h1', port: 5432 },
      { host: 'h2', port: 5433 },
      { host: '::1', port: 7 },
    ],
  ],
  [
    'postgres://h1,h2/name',
    'postgres://h1/name',
    [
      { host: 'h1', port: 5432 },
      { host: 'h2', port: 5432 },
    ],
  ],
  [
    'postgres://%2Fvar%2Frun,h2/name',
    'postgres://%2Fvar%2Frun/name',
    [
      { host: '/var/run', port: 5432 },
      { host: 'h2', port: 5432 },
    ],
  ],
])('%s is read as libpq reads it', (given, url, hosts) => {
  expect(readAddress(given, refuse)).toEqual({ url, hosts })
})

test.each([
  ['h1:5432', 'must be an address'],
  ['mysql://h/name', 'must be an address'],
  ['postgres://h1,,h2/name', 'host 2 must be a host'],
  ['postgres://h1,h2:port/name', 'host 2 must be a host'],
  ['postgres://h1,h2:65536/name', 'host 2 must be a host'],
  ['postgres://h1,%E0%A4%A/name', 'host 2 must be a host'],
  ['postgres://h:99999/name', 'must be an address'],
  ['postgres://h1,h2/name?target_session_attrs=standby', 'must be read-write'],
])('%s is refused in one line', (given, why) => {
  const read = () => readConfig({ DATABASE_URL: given, APP_SECRET: 'x'.repeat(32) })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(/^DATABASE_URL[^\n]*$/)
  expect(read).toThrow(why)
})

test('a password that is not escaped is in no line, though it is read as a host', () => {
  const given = 'postgres://u:pass/word@h1,h2/name'
  expect(() => readAddress(given, refuse)).toThrow('must be an address')
  expect(() => readAddress(`${given}?target_session_attrs=read-write`, refuse)).toThrow(/^: host 1 must be a host, or host:port$/)
})

test('a pooler needs the address of Postgres itself, which is then the database of everything that needs a session', () => {
  const secret = { APP_SECRET: 'x'.repeat(32) }
  const [pooler, direct] = ['postgres://pooler/name', 'postgres://h1,h2/name']
  expect(readConfig({ ...secret, DATABASE_URL: direct })).toMatchObject({ databaseUrl: direct, poolerUrl: undefined })
  const both = { ...secret, DATABASE_URL: pooler, DATABASE_DIRECT_URL: direct }
  expect(readConfig(both)).toMatchObject({ databaseUrl: direct, poolerUrl: pooler })
  expect(() => readConfig({ ...secret, DATABASE_DIRECT_URL: direct })).toThrow('DATABASE_DIRECT_URL needs DATABASE_URL')
})
