import { X509Certificate } from 'node:crypto'
import { readHost } from '../store/address.ts'
import type { RedisServer } from '../workers/redis.ts'
import { rootCertificates } from './root-certificates.ts'

const CHOICES = ['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER'] as const
const OF_SENTINELS = ['REDIS_MASTER_NAME', 'REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD', 'REDIS_DATABASE']
/** With `REDIS_URL` they are parts of the address. */
const OF_SEVERAL = ['REDIS_USERNAME', 'REDIS_PASSWORD', 'REDIS_TLS']

type Text = (name: string) => string | undefined
type Refuse = (line: string) => never

/** The Redis of the configuration; undefined: there is none. `text`: the value of a variable. `refuse`: throws the line for the operator. */
export function redisServer(text: Text, refuse: Refuse): RedisServer | undefined {
  const chosen = CHOICES.filter(name => text(name) !== undefined)
  if (chosen.length > 1) refuse(`${chosen.join(' and ')} are both set: set one of them`)
  const [choice] = chosen
  const needs = (names: string[], what: string) => {
    const lonely = names.find(name => text(name) !== undefined)
    if (lonely !== undefined) refuse(`${lonely} ${what}`)
  }
  if (choice === undefined)
    needs([...OF_SENTINELS, ...OF_SEVERAL, 'REDIS_CA_FILE'], 'needs REDIS_URL, REDIS_SENTINELS or REDIS_CLUSTER, the address of Redis')
  if (choice !== 'REDIS_SENTINELS') needs(OF_SENTINELS, 'needs REDIS_SENTINELS, the addresses of the sentinels')
  if (choice === 'REDIS_URL') needs(OF_SEVERAL, 'is for REDIS_SENTINELS and REDIS_CLUSTER: in REDIS_URL it is a part of the address')
  switch (choice) {
    case undefined:
      return undefined
    case 'REDIS_URL':
      return byUrl(text('REDIS_URL')!, text, refuse)
    case 'REDIS_SENTINELS':
      return {
        is: 'sentinels',
        hosts: hosts(choice, text, refuse),
        master: text('REDIS_MASTER_NAME') ?? 'mymaster',
        database: database(text('REDIS_DATABASE'), refuse),
        login: { username: text('REDIS_USERNAME'), password: text('REDIS_PASSWORD') },
        sentinelLogin: { username: text('REDIS_SENTINEL_USERNAME'), password: text('REDIS_SENTINEL_PASSWORD') },
        tls: tls(text, refuse),
      }
    case 'REDIS_CLUSTER': {
      const login = { username: text('REDIS_USERNAME'), password: text('REDIS_PASSWORD') }
      return { is: 'cluster', hosts: hosts(choice, text, refuse), login, tls: tls(text, refuse) }
    }
  }
}

function byUrl(url: string, text: Text, refuse: Refuse): RedisServer {
  const protocol = URL.canParse(url) ? new URL(url).protocol : ''
  if (protocol !== 'redis:' && protocol !== 'rediss:') refuse('REDIS_URL must be an address that begins with redis:// or rediss://')
  const ca = authority(text, refuse)
  if (ca !== undefined && protocol !== 'rediss:') refuse('REDIS_CA_FILE needs TLS: REDIS_URL must begin with rediss://')
  return { is: 'one', url, ca }
}

function hosts(name: 'REDIS_SENTINELS' | 'REDIS_CLUSTER', text: Text, refuse: Refuse) {
  return text(name)!
    .split(',')
    .map((part, index) => readHost(part.trim()) ?? refuse(`host ${index + 1} of ${name} must be host:port`))
}

function database(given: string | undefined, refuse: Refuse): number {
  if (given !== undefined && !/^\d{1,4}$/.test(given)) refuse(`REDIS_DATABASE=${given}: must be the number of a database`)
  return Number(given ?? 0)
}

function tls(text: Text, refuse: Refuse): { ca: string[] | undefined } | undefined {
  const given = text('REDIS_TLS') ?? 'false'
  if (given !== 'true' && given !== 'false') refuse(`REDIS_TLS=${given}: must be one of true, false`)
  const ca = authority(text, refuse)
  if (ca !== undefined && given === 'false') refuse('REDIS_CA_FILE needs TLS: set REDIS_TLS=true')
  return given === 'true' ? { ca } : undefined
}

/** As PEM. */
function authority(text: Text, refuse: Refuse): string[] | undefined {
  const path = text('REDIS_CA_FILE')
  if (path === undefined) return undefined
  return rootCertificates(path, line => refuse(`REDIS_CA_FILE: ${line}`)).map(der => new X509Certificate(der).toString())
}
