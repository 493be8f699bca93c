import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bornAt } from '../../store/embedded/process.ts'
import { client } from '../harness/client.ts'
import { item } from '../harness/events.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { launch, type Running, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

let folder: string
const started: Running[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perennial-service-'))
})
afterEach(async () => {
  for (const running of started.splice(0)) await running.end()
  await rm(folder, { recursive: true, force: true })
})

const start = async (env: Record<string, string> = {}): Promise<Running> => {
  const running = await run({ env: { DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'warn', LEASE_SECONDS: '1', ...env } })
  started.push(running)
  return running
}
const firstKey = async () => /^SECRET_KEY=(sk_\S+)$/m.exec(await readFile(join(folder, 'first-keys'), 'utf8'))![1]!
const postmaster = async () => Number((await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
const isAlive = (pid: number) => bornAt(pid) !== undefined

describe('on the embedded database', () => {
  test('an empty folder: keys in a file, a request that works as printed, nothing left running; the next start has the data', async () => {
    const first = await start()
    const key = await firstKey()
    expect(first.output()).toContain(
      `. ${join(folder, 'first-keys')} && curl -H "Authorization: Bearer $SECRET_KEY" ${first.url}/v4/events`,
    )
    expect(first.output()).not.toContain(key)
    expect((await client(first.url, key)('POST', '/v4/events', { body: { events: [item()] } })).body.created).toBe(1)
    const pid = await postmaster()
    expect(await first.end('SIGINT')).toBe(0)
    expect(isAlive(pid)).toBe(false)
    const second = await start()
    expect(second.output()).not.toContain('sk_')
    expect((await client(second.url, key)('GET', '/v4/events')).body.data).toHaveLength(1)
  })

  test('one Ctrl-C that arrives twice, from the terminal and through npm, stops it in order: the database too', async () => {
    const running = await start()
    const pid = await postmaster()
    process.kill(running.child.pid!, 'SIGINT')
    process.kill(running.child.pid!, 'SIGINT')
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(await running.end('SIGINT')).toBe(0)
    expect(isAlive(pid)).toBe(false)
  })

  test('kill -9, start again: the running server is adopted', async () => {
    const first = await start()
    const key = await firstKey()
    await client(first.url, key)('POST', '/v4/events', { body: { events: [item()] } })
    const pid = await postmaster()
    await first.end('SIGKILL')
    const second = await start()
    expect(await postmaster()).toBe(pid)
    expect((await client(second.url, key)('GET', '/v4/events')).body.data).toHaveLength(1)
    await second.end()
    expect(isAlive(pid)).toBe(false)
  })

  test('a second service on the folder joins; the first to stop leaves the server to the other', async () => {
    const first = await start()
    const second = await start()
    const key = await firstKey()
    await first.end()
    expect((await client(second.url, key)('GET', '/v4/events')).status).toBe(200)
    const pid = await postmaster()
    await second.end()
    expect(isAlive(pid)).toBe(false)
  })

  test('when the database dies requests get 502 and readiness 503, until it is back', async () => {
    const running = await start()
    const call = client(running.url, await firstKey())
    expect((await call('GET', '/readyz')).status).toBe(200)
    process.kill(await postmaster(), 'SIGKILL')
    const failed = await until('a request fails', async () => {
      const answer = await call('GET', '/v4/events')
      return answer.status === 200 ? undefined : answer
    })
    expect(failed.body).toEqual({ error: { type: 'internal', code: 'storage_error', message: expect.any(String) } })
    await until('requests work again', async () => ((await call('GET', '/v4/events')).status === 200 ? true : undefined))
    await until('it is ready again', async () => ((await call('GET', '/readyz')).status === 200 ? true : undefined))
    // The workers are back too.
    const { body } = await call('POST', '/v4/exports', { body: WHOLE_YEAR })
    expect(await finished(call, body.id)).toMatchObject({ status: 'done' })
  })
})

describe('refused in one line, exit 1', () => {
  const refusal = async (env: Record<string, string>) => {
    const refused = launch({ env: { DATA_DIR: folder, PORT: '0', ...env } })
    const code = await refused.ended
    const lines = refused.output().trim().split('\n')
    return { code, lines }
  }

  test.each([
    ['a foreign folder', async () => void (await writeFile(join(folder, 'holiday.jpg'), 'x')), {}],
    ['a folder of a newer version', async () => void (await writeFile(join(folder, 'perennial.json'), '{"format":99,"postgres":99}')), {}],
    ['a data folder that is a file', async () => {}, { DATA_DIR: '/dev/null' }],
    ['a database without APP_SECRET', async () => {}, { DATABASE_URL: 'postgres://127.0.0.1:1/x' }],
    [
      'a database that nobody serves',
      async () => {},
      { DATABASE_URL: 'postgres://127.0.0.1:1/x', APP_SECRET: 'a secret for tests only, long enough' },
    ],
    ['a port that is no number', async () => {}, { PORT: 'x' }],
    ['an unknown role', async () => {}, { ROLE: 'boss' }],
    ['a Redis that is none', async () => {}, { REDIS_URL: 'http://127.0.0.1:6379' }],
    ['half of the access to S3', async () => {}, { S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'x' }],
    ['S3 without a bucket', async () => {}, { S3_REGION: 'eu-west-1' }],
    ['a short password', async () => {}, { OPERATOR_PASSWORD: 'x'.repeat(11) }],
    ['a malformed key', async () => {}, { BOOTSTRAP_SECRET_KEY: 'sk_short' }],
    ['a bootstrap key that somebody may guess', async () => {}, { BOOTSTRAP_SECRET_KEY: `sk_${'k'.repeat(31)}` }],
    ['a short secret', async () => {}, { APP_SECRET: 'x'.repeat(31) }],
    ['a short token', async () => {}, { METRICS_TOKEN: 'x'.repeat(15) }],
    ['a token that no header can have', async () => {}, { METRICS_TOKEN: 'a token with blanks' }],
    ['a host that is no address', async () => {}, { HOST: 'example.org' }],
    ['an address of another machine', async () => {}, { HOST: '192.0.2.1', LOG_LEVEL: 'silent' }],
    ['a number of proxies that is none', async () => {}, { TRUST_PROXY: 'yes' }],
    ['a secret file that is missing', async () => {}, { APP_SECRET_FILE: '/nonexistent/secret' }],
    ['a secret given twice', async () => {}, { OPERATOR_PASSWORD: 'x'.repeat(12), OPERATOR_PASSWORD_FILE: '/dev/null' }],
    ['a data folder that everybody can write', () => chmod(folder, 0o777), {}],
    [
      'a secret that everybody can read',
      async () => {
        await writeFile(join(folder, 'app_secret'), 'x'.repeat(43))
        await chmod(join(folder, 'app_secret'), 0o644)
      },
      {},
    ],
    ['a secret that is a link', () => symlink('/etc/passwd', join(folder, 'app_secret')), {}],
  ])('%s', async (_name, prepare, env) => {
    await prepare()
    const { code, lines } = await refusal(env)
    expect([code, lines.length]).toEqual([1, 1])
    expect(lines[0]).toMatch(/^perennial: .{20,}/)
  })

  test('a port that is taken, and the database is not left running', async () => {
    const server = createServer().listen(0)
    await new Promise(resolve => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    await mkdir(join(folder, 'data'))
    const { code, lines } = await refusal({ PORT: String(port), DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent' })
    server.close()
    expect([code, lines]).toEqual([1, [`perennial: port ${port} is taken: set PORT or METRICS_PORT to another one (0 picks a free one)`]])
    await expect(readFile(join(folder, 'data', 'postgres', 'postmaster.pid'))).rejects.toThrow('ENOENT')
  })
})
