import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import type { Email, PushToSend } from '../../../workflows/automation/step-kind.ts'
import { StepSkipped } from '../../../workflows/automation/step-kind.ts'
import { RetryAt, StopRetrying } from '../../../workflows/engine/policy.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'

let fixture: AutomationFixture
const emails: Email[] = []
const pushes: PushToSend[] = []
/** The results of the next e-mails. */
let results: (() => { to: string; message_id: string })[] = []
beforeAll(async () => {
  fixture = await automationFixture()
  await fixture.startWorker({
    effects: {
      async sendEmail(_environment, email) {
        emails.push(email)
        return (results.shift() ?? (() => ({ to: 'a@example.com', message_id: '<1@example.com>' })))()
      },
      async sendPush(_environment, push) {
        pushes.push(push)
        return { provider: 'firebase', provider_message_id: 'm1' }
      },
    },
  })
})
afterAll(() => fixture.drop())

const after: Step = { id: 'after', type: 'branch', conditions: [], then: [], else: [] }
const email = (subject = 'Hello'): Step => ({ id: 'mail', type: 'email', subject, text: 'Text' })
const failing = (error: unknown) => () => {
  throw error
}

async function done(steps: Step[], user?: string) {
  const { number, user: owner } = await fixture.start(steps, user === undefined ? {} : { user })
  const run = await fixture.finished(number)
  const timeline = await fixture.timeline(number)
  return { run, user: owner, timeline, step: timeline[0]! }
}

test('an e-mail is sent once, with its placeholders replaced and with the key of run and step', async () => {
  const user = await fixture.newUser({ plan: 'gold', _q_email: '{{user.id}}' })
  const event = await fixture.append(user, 'trial_started', { properties: { reason: 'price' } })
  const subject =
    '{{user.id}} {{property.plan}} {{event.name}} {{event.property.reason}} {{property.none}}{{event.product_id}}{x} {{ y }} {{property._q_email}}'
  const { number } = await fixture.start([email(subject)], { user, event })
  const run = await fixture.finished(number)
  const sent = emails.filter(({ key }) => key === `${run.id}:mail`)
  expect(sent).toHaveLength(1)
  expect(sent[0]!.subject).toBe(`${user} gold trial_started price {x} {{ y }} {{user.id}}`)
  expect((await fixture.timeline(number))[0]).toMatchObject({
    status: 'succeeded',
    result: { to: 'a@example.com', message_id: '<1@example.com>' },
    attempts: [{ number: 1, error: null }],
  })
})

test('a failing effect is attempted at most five times, with the same key', async () => {
  results = [failing(new Error('busy')), failing(new RetryAt('wait', 1))]
  const { run, step } = await done([email(), after])
  expect(run.status).toBe('succeeded')
  expect(step.attempts.map(attempt => attempt.error)).toEqual(['busy', 'wait', null])
  const before = emails.length
  results = Array.from({ length: 5 }, () => failing(new Error('down')))
  const lost = await done([email(), after])
  expect(lost.run).toMatchObject({ status: 'failed', reason: 'email_failed' })
  expect(lost.timeline.map(one => [one.step_id, one.status, one.reason])).toEqual([['mail', 'failed', 'email_failed']])
  expect(new Set(emails.slice(before).map(({ key }) => key)).size).toBe(1)
  expect(emails.length - before).toBe(5)
})

test('an error message with a NUL or half a surrogate pair counts as an attempt like any other', async () => {
  const before = emails.length
  results = [failing(new Error('busy\0')), failing(new Error(`${'x'.repeat(999)}\u{1f600}`))]
  const { run, step } = await done([email()])
  expect(run.status).toBe('succeeded')
  expect(step.attempts.map(attempt => attempt.error)).toEqual(['busy', `${'x'.repeat(999)}\ufffd`, null])
  expect(emails.length - before).toBe(3)
})

test('a permanent error fails the run at once with its code; without an address the step is skipped', async () => {
  results = [failing(new StopRetrying('email_rejected'))]
  const { run, timeline } = await done([email(), after])
  expect(run).toMatchObject({ status: 'failed', reason: 'email_rejected', current_step: null })
  expect(timeline).toHaveLength(1)
  results = [failing(new StepSkipped('no_recipient'))]
  const other = await done([email(), after])
  expect(other.run.status).toBe('succeeded')
  expect(other.timeline.map(one => [one.status, one.reason])).toEqual([
    ['skipped', 'no_recipient'],
    ['succeeded', null],
  ])
})

test('a push is sent with its template and its key', async () => {
  const { run, step } = await done([{ id: 'p', type: 'push', push: 'psh_1' }])
  expect(step.result).toEqual({ provider: 'firebase', provider_message_id: 'm1' })
  expect(pushes.at(-1)).toMatchObject({ push: 'psh_1', key: `${run.id}:p` })
})

test('a screen is pending for 30 days; a deleted screen fails the run', async () => {
  await fixture.pool.query(
    `insert into screens (environment, id, name, created_at, updated_at) values ($1, 'scr_1', 'Offer', '2026-01-01', '2026-01-01')`,
    [fixture.environment],
  )
  const { run, user, step } = await done([{ id: 's', type: 'screen', screen: 'scr_1' }])
  const { rows } = await fixture.pool.query('select *, (expires_at - created_at)::text as lasts from pending_screens where run_id = $1', [
    run.id,
  ])
  expect(rows).toEqual([
    expect.objectContaining({
      id: step.result!.pending_screen_id,
      user_id: user,
      screen_id: 'scr_1',
      step_id: 's',
      lasts: 'P30D',
      shown_at: null,
    }),
  ])
  expect((await done([{ id: 's', type: 'screen', screen: 'gone' }])).run).toMatchObject({ status: 'failed', reason: 'screen_not_found' })
})

test('the duration of a grant starts with its step, and a longer grant is kept', async () => {
  await fixture.pool.query(
    `insert into entitlements (environment, id, created_at, updated_at) values ($1, 'premium', '2026-01-01', '2026-01-01')`,
    [fixture.environment],
  )
  const grant = (duration: string | null): Step => ({ id: 'g', type: 'grant_entitlement', entitlement_id: 'premium', duration })
  const { user, step } = await done([grant('P1M')])
  const until = new Date(step.started_at)
  until.setUTCMonth(until.getUTCMonth() + 1)
  const expires_at = until.toISOString().replace('.000', '')
  expect(step.result).toEqual({ entitlement_id: 'premium', expires_at })
  expect((await done([grant('P1D')], user)).step.result).toEqual({ entitlement_id: 'premium', expires_at })
  expect((await done([grant(null)], user)).step.result).toEqual({ entitlement_id: 'premium', expires_at: null })
  expect((await done([grant('P1Y')], user)).step.result).toEqual({ entitlement_id: 'premium', expires_at: null })
  const gone = await done([{ id: 'g', type: 'grant_entitlement', entitlement_id: 'gone', duration: null }])
  expect(gone.run).toMatchObject({ status: 'failed', reason: 'entitlement_not_found' })
})

test('a step sets a property, but not the 101st of a user', async () => {
  const { user, step } = await done([{ id: 'set', type: 'set_property', key: 'tier', value: 'gold' }])
  expect(step.result).toEqual({ key: 'tier', value: 'gold' })
  const { rows } = await fixture.pool.query('select properties from users where environment = $1 and id = $2', [fixture.environment, user])
  expect(rows[0].properties).toEqual({ tier: 'gold' })
  const full = await fixture.newUser(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, 'v'])))
  const { run } = await done([{ id: 'set', type: 'set_property', key: 'tier', value: 'gold' }], full)
  expect(run).toMatchObject({ status: 'failed', reason: 'property_limit_reached' })
})

test('a branch evaluates the user, the event and the steps before it', async () => {
  const condition = (metric: string, value: string, negate = false) => ({ metric, comparator: 'eq' as const, value, negate })
  const user = await fixture.newUser({ plan: 'gold' })
  const event = await fixture.append(user, 'trial_started', { properties: { count: 10 } })
  const branch = (id: string, conditions: ReturnType<typeof condition>[]): Step => ({ id, type: 'branch', conditions, then: [], else: [] })
  const { number } = await fixture.start(
    [
      branch('user', [condition('property:plan', 'gold')]),
      branch('event', [condition('event:count', '10.0'), condition('event:event_name', 'trial_started')]),
      branch('step', [condition('step:user', 'then'), condition('step:event', 'then')]),
      branch('not', [condition('property:plan', 'gold', true)]),
      branch('ahead', [condition('step:later', 'then')]),
    ],
    { user, event },
  )
  await fixture.finished(number)
  expect((await fixture.timeline(number)).map(step => step.result!.taken)).toEqual(['then', 'then', 'then', 'else', 'else'])
})
