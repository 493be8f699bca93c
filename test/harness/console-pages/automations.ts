import type { TestApi } from '../api.ts'
import { storedRun } from '../stored-run.ts'
import { HOSTILE, iso, LONGEST } from './texts.ts'

/** Runs of automations with such names, one of them with such texts in its steps; returns its id. */
export async function hostileRuns(api: TestApi, user: string): Promise<string> {
  let id = ''
  for (const [n, text] of [...HOSTILE, LONGEST.slice(0, 255)].entries()) {
    const data = {
      initiators: [{ uid: `note_${n}`, type: 'event' }],
      steps: [
        { id: 's'.repeat(64), type: 'set_property', key: 'note', value: 'w'.repeat(60) },
        { id: 'mail', type: 'email', subject: text.slice(0, 255), text },
        { id: 'after', type: 'delay', duration: 'P1D' },
      ],
    }
    const { body, status: code, text: said } = await api.call('POST', '/v4/automations', { body: { name: text, status: 'inactive', data } })
    if (code !== 201) throw new Error(said)
    const error = { number: 1, started_at: iso(-1), duration_ms: 12, error: n === 0 ? LONGEST : n === HOSTILE.length ? HOSTILE[2]! : text }
    const steps = [
      { id: 's'.repeat(64), type: 'set_property', status: 'succeeded', result: { key: 'note', value: LONGEST } },
      {
        id: 'mail',
        type: 'email',
        status: n % 2 === 0 ? 'failed' : 'running',
        reason: 'email_failed',
        attempts: [error, { ...error, number: 2 }],
      },
    ]
    const status = n % 2 === 0 ? 'failed' : 'running'
    const made = await storedRun(api, api.project.production, {
      automation: body.id,
      user,
      event: `note_${n}`,
      status,
      ago: n,
      steps,
    })
    // The name is the title of its page: one that no script has to set.
    if (n === HOSTILE.length) id = made
  }
  return id
}

/** The body of an automation whose every text is this one. */
export const automationOf = (text: string) => ({
  ...{ name: text, caption: text, status: 'active' },
  data: {
    initiators: [{ uid: 'note_1', type: 'event' }],
    steps: [
      { id: 'mail', type: 'email', subject: text, text },
      {
        ...{ id: 'b'.repeat(64), type: 'branch', then: [{ id: 'set', type: 'set_property', key: 'text', value: text }], else: [] },
        conditions: [{ metric: 'property:text', comparator: 'ne', value: text }],
      },
    ],
  },
})
