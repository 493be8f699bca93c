import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AutomationProject, automationProject, on } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type MailHost, mailHost } from '../harness/mail.ts'
import { until } from '../harness/until.ts'

// The mail server of the installation, for all projects. Mails to hangs.example get no answer, and take its connections.
let api: TestApi
let host: MailHost
beforeAll(async () => {
  host = await mailHost({ hangsFor: address => address.endsWith('@hangs.example'), maxClients: 50 })
  const server = { host: '127.0.0.1', port: host.port, secure: false, requireTls: false, login: null }
  api = await startApi({ worker: true, leaseMs: 30_000, mail: { server, from: 'perennial@installation.example' } })
})
afterAll(async () => {
  await api.stop()
  await host.close()
})

async function mailing(project: AutomationProject, to: string, users: number): Promise<string> {
  const steps = [{ id: 'mail', type: 'email', to, subject: 'Hello', text: 'Text' }]
  const { id } = await project.automation({ initiators: on('go'), steps })
  await project.post(Array.from({ length: users }, (_, n) => ({ event_name: 'go', identity_id: `user-${n}` })))
  return id
}

test('mails of one project that hang hold up no mail of another one', async () => {
  const one = await automationProject(api)
  await mailing(one, 'ann@hangs.example', 100)
  await until('the mails of A hang', () => host.hanging >= 20 || undefined)

  const other = await automationProject(api)
  const automation = await mailing(other, 'bob@example.com', 5)
  const ended = await until('the runs of B have ended', async () => {
    const runs = await other.runs(automation)
    return runs.length === 5 && runs.every(({ finished_at }) => finished_at !== null) ? runs : undefined
  })
  expect(ended.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'succeeded'))
  const { rows } = await api.pool.query(
    `select jsonb_array_length(s.attempts) as attempts from automation_steps s join automation_runs r on r.number = s.run where r.environment = $1`,
    [other.environment],
  )
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1])
  expect(host.hanging).toBe(20)
})
