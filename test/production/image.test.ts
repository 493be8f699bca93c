// Both images, built of the Containerfile on a minimal Debian, and run read-only without any capability.
import { chmod, chown, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesBelow } from '../embedded/processes.ts'
import { freshDatabase } from '../harness/database.ts'
import { until } from '../harness/until.ts'
import { type Containers, startContainers } from './containers.ts'
import { expectServed, expectWholeInside, INSIDE } from './expect-served.ts'

const USER = 10001
const KEY = `sk_${'k'.repeat(40)}`
/** With the heads of its files in the archive of a layer, a kilobyte each. */
const MOST_MB = 260

let containers: Containers
let images: Record<'perennial' | 'all-in-one', string>
beforeAll(async () => {
  containers = await startContainers()
  images = { perennial: await containers.build('perennial'), 'all-in-one': await containers.build('all-in-one') }
}, 1_200_000)
afterAll(() => containers?.end(), 120_000)

const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

/** A folder of the host for /data, as a volume that belongs to the user of the image. */
async function volume(name: string): Promise<string> {
  const path = join(containers.folder, name)
  await rm(path, { recursive: true, force: true })
  await mkdir(path, { mode: 0o700 })
  await chmod(containers.folder, 0o755)
  await chown(path, USER, USER)
  return path
}

const STRICT = ['--read-only', '--read-only-tmpfs=false', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']

/** On the network of the host, as the test has no other, with limits that this process may set. */
const HOST = ['--network', 'host', '--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024']

async function start(name: string, image: string, data: string, env: Record<string, string>, ...args: string[]): Promise<void> {
  const variables = Object.entries(env).flatMap(([variable, value]) => ['--env', `${variable}=${value}`])
  const where = [...HOST, '--volume', `${data}:/data`]
  await containers.podman('run', '--detach', '--name', name, ...STRICT, ...where, ...variables, image, ...args)
}
const logs = async (name: string) => {
  const { stdout, stderr } = await containers.podman('logs', name)
  return stdout + stderr
}
const exitCode = async (name: string) => Number((await containers.podman('inspect', '--format', '{{.State.ExitCode}}', name)).stdout)
const inside = (name: string, ...args: string[]) => containers.podman('exec', name, '/app/bin/node', ...args)

test('the images say what they are, run as a user without rights, and are small', async () => {
  const [{ Config: config, Size: size }] = JSON.parse((await containers.podman('image', 'inspect', images.perennial)).stdout)
  const [{ Size: base }] = JSON.parse((await containers.podman('image', 'inspect', 'localhost/base')).stdout)
  const [{ Size: whole }] = JSON.parse((await containers.podman('image', 'inspect', images['all-in-one'])).stdout)
  console.log(
    `beside the base of ${Math.round(base / 1e6)} MB: perennial ${Math.round((size - base) / 1e6)} MB, all-in-one ${Math.round((whole - base) / 1e6)} MB`,
  )
  expect(config).toMatchObject({
    User: '10001:10001',
    StopSignal: 'SIGTERM',
    Entrypoint: ['/app/bin/node', '/app/start.mjs'],
    Volumes: { '/data': {} },
  })
  expect(config.Labels).toMatchObject({ 'org.opencontainers.image.title': 'Perennial', 'org.opencontainers.image.version': '0.0.0-test' })
  expect((size - base) / 1e6).toBeLessThan(MOST_MB)
})

test('API and worker serve a database of their own, read-only, and end by a SIGTERM', async () => {
  const database = await freshDatabase()
  const data = await volume('shared')
  const [port, metrics] = [await freePort(), await freePort()]
  const env = { DATABASE_URL: database.url, APP_SECRET: 'a secret for tests only, long enough', BOOTSTRAP_SECRET_KEY: KEY }
  const of = (role: string) => ({ ...env, ROLE: role, PORT: String(port), HOST: '127.0.0.1', PUBLIC_URL: `http://127.0.0.1:${port}` })
  try {
    await containers.podman(
      'run',
      '--name',
      'migrate',
      ...STRICT,
      ...HOST,
      ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      images.perennial,
      'cli',
      'migrate',
    )
    expect(await logs('migrate')).toMatch(/The database is at version \d+/)
    await start('api', images.perennial, data, { ...of('api'), METRICS_PORT: String(metrics) })
    await start('worker', images.perennial, data, of('worker'))
    await until('the worker', async () => ((await logs('worker')).includes('Perennial worker is ready') ? true : undefined), 120_000)
    await until('the API', async () => ((await logs('api')).includes('Perennial is ready') ? true : undefined), 120_000)
    await expectServed(`http://127.0.0.1:${port}`, KEY)
    await containers.podman('healthcheck', 'run', 'api')
    await inside('api', '/app/deploy/healthcheck.mjs', '/readyz')
    await expect(inside('api', '/app/deploy/healthcheck.mjs', '/nothing')).rejects.toThrow('404')
    expectWholeInside((await inside('api', '--input-type=module', '-e', INSIDE)).stdout)
    await containers.podman('stop', '--time', '30', 'api', 'worker')
    expect([await exitCode('api'), await exitCode('worker')]).toEqual([0, 0])
    expect(await processesBelow(data)).toEqual([])
  } catch (error) {
    for (const name of ['migrate', 'api', 'worker']) console.error(name, await logs(name).catch(String))
    throw error
  } finally {
    await containers.podman('rm', '--force', '--ignore', 'migrate', 'api', 'worker')
    await database.drop()
  }
}, 300_000)

test('all-in-one keeps its database in the volume, also when it is killed, and leaves nothing running', async () => {
  const data = await volume('alone')
  const port = await freePort()
  const env = { PORT: String(port), HOST: '127.0.0.1' }
  const url = `http://127.0.0.1:${port}`
  const isReady = () =>
    until('the service', async () => ((await fetch(`${url}/readyz`).catch(() => null))?.status === 200 ? true : undefined))
  try {
    await start('alone', images['all-in-one'], data, env)
    await isReady()
    const [, key] = /^SECRET_KEY=(.+)$/m.exec(await readFile(join(data, 'first-keys'), 'utf8'))!
    expect(await logs('alone')).not.toContain(key)
    await expectServed(url, key!)
    expect((await inside('alone', '/app/start.mjs', 'cli', 'project', 'list')).stdout).toContain('users')

    await containers.podman('kill', '--signal', 'KILL', 'alone')
    await containers.podman('wait', 'alone')
    await containers.podman('start', 'alone')
    await isReady()
    const answer = await fetch(`${url}/v4/events?limit=40`, { headers: { Authorization: `Bearer ${key}` } })
    expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(20)

    await containers.podman('stop', '--time', '60', 'alone')
    expect(await exitCode('alone')).toBe(0)
    expect(await processesBelow(data)).toEqual([])
    expect(await readdir(join(data, 'postgres'))).not.toContain('postmaster.pid')
  } catch (error) {
    console.error(await logs('alone').catch(String))
    throw error
  } finally {
    await containers.podman('rm', '--force', '--ignore', 'alone')
  }
}, 300_000)
