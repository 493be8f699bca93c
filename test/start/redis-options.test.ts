import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError, readConfig } from '../../app/config.ts'
import { queueLine } from '../../app/queue.ts'
import { CERTIFICATE } from '../harness/certificate.ts'

async function certificate(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-ca-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'ca.pem')
  await writeFile(file, CERTIFICATE)
  return file
}

test('one Redis, sentinels and a cluster are read with their logins and authorities, and shown without passwords', async () => {
  const REDIS_CA_FILE = await certificate()
  const ca = [`${CERTIFICATE}\n`]
  const one = readConfig({ REDIS_URL: 'rediss://u:secret@h:6380/2', REDIS_CA_FILE })
  expect(one.redis).toEqual({ is: 'one', url: 'rediss://u:secret@h:6380/2', ca })
  expect(queueLine(one)).toBe('BullMQ on Redis, h:6380')

  const passwords = { REDIS_PASSWORD: 'secret', REDIS_SENTINEL_PASSWORD: 'secret too' }
  const sentinels = readConfig({ REDIS_SENTINELS: 'h1:26379, [::1]:26380', REDIS_USERNAME: 'u', REDIS_DATABASE: '3', ...passwords })
  expect(sentinels.redis).toEqual({
    is: 'sentinels',
    hosts: [
      { host: 'h1', port: 26_379 },
      { host: '::1', port: 26_380 },
    ],
    master: 'mymaster',
    database: 3,
    login: { username: 'u', password: 'secret' },
    sentinelLogin: { username: undefined, password: 'secret too' },
    tls: undefined,
  })
  expect(queueLine(sentinels)).toBe('BullMQ on Redis, mymaster of the sentinels h1:26379, ::1:26380')

  const cluster = readConfig({ REDIS_CLUSTER: 'h1:1', REDIS_TLS: 'true', REDIS_CA_FILE, REDIS_PASSWORD: 'secret' })
  expect(cluster.redis).toEqual({
    is: 'cluster',
    hosts: [{ host: 'h1', port: 1 }],
    login: { username: undefined, password: 'secret' },
    tls: { ca },
  })
  expect(queueLine(cluster)).toBe('BullMQ on a Redis cluster, h1:1')
})

test.each([
  [{ REDIS_URL: 'redis://h', REDIS_CLUSTER: 'h:1' }, 'REDIS_URL and REDIS_CLUSTER are both set'],
  [{ REDIS_URL: 'http://h' }, 'must be an address that begins with redis://'],
  [{ REDIS_URL: 'redis://h', REDIS_PASSWORD: 'secret' }, 'REDIS_PASSWORD is for REDIS_SENTINELS'],
  [{ REDIS_URL: 'redis://h', REDIS_CA_FILE: '/ca.pem' }, '/ca.pem cannot be read'],
  [{ REDIS_SENTINELS: 'h1' }, 'host 1 of REDIS_SENTINELS must be host:port'],
  [{ REDIS_SENTINELS: 'h1:1', REDIS_DATABASE: 'x' }, 'must be the number of a database'],
  [{ REDIS_SENTINELS: 'h1:1', REDIS_TLS: 'yes' }, 'must be one of true, false'],
  [{ REDIS_CLUSTER: 'h:1,u:secret@h1:1' }, 'host 2 of REDIS_CLUSTER must be host:port'],
  [{ REDIS_CLUSTER: 'h1:65536' }, 'host 1 of REDIS_CLUSTER must be host:port'],
  [{ REDIS_CLUSTER: 'h1:1', REDIS_MASTER_NAME: 'm' }, 'REDIS_MASTER_NAME needs REDIS_SENTINELS'],
  [{ REDIS_CLUSTER: 'h1:1', REDIS_CA_FILE: '/dev/null' }, 'REDIS_CA_FILE'],
  [{ REDIS_PASSWORD: 'secret' }, 'REDIS_PASSWORD needs REDIS_URL'],
])('%j is refused in one line', (env, why) => {
  expect(() => readConfig(env)).toThrow(ConfigError)
  expect(() => readConfig(env)).toThrow(/^[^\n]+$/)
  expect(() => readConfig(env)).toThrow(why)
  expect(() => readConfig(env)).not.toThrow('secret@')
})

test('an authority needs TLS', async () => {
  const REDIS_CA_FILE = await certificate()
  expect(() => readConfig({ REDIS_URL: 'redis://h', REDIS_CA_FILE })).toThrow('must begin with rediss://')
  expect(() => readConfig({ REDIS_CLUSTER: 'h:1', REDIS_CA_FILE })).toThrow('set REDIS_TLS=true')
})
