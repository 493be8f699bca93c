import { type DueJob, type DueSubject, readDueNext } from '../../../domain/oversight/due/due-next.ts'
import { permits, type Scopes } from '../../../domain/projects/authority.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import { onPool } from '../../operation.ts'
import { restartedHeader } from '../../pagination.ts'
import { wholeSeconds } from '../../time.ts'

type Item = AnswerBody<'v4ListTestClockDue'>['data'][number]
type Told = { kind: Item['kind']; text: string; reference: Item['reference']; customer_uid: string | null }

const quoted = (name: string | null, id: string) => (name === null ? id : `"${name.replaceAll(/\s+/g, ' ')}"`)
const spaced = (word: string) => word.replaceAll(/[-_]/g, ' ')

/** What each workflow does next, and where its subject is read. A subject may have further parts after a colon. */
const WORKFLOWS: Record<string, { text: string; kind: 'export' | 'report_run'; path: string }> = {
  export: { text: 'The export is written', kind: 'export', path: '/v4/exports/' },
  'export-retention': { text: 'The file of the export is removed', kind: 'export', path: '/v4/exports/' },
  'scheduled-report': { text: 'The run of the report begins', kind: 'report_run', path: '/v4/scheduled-report-runs/' },
  'report-file': { text: 'The file of the report is written', kind: 'report_run', path: '/v4/scheduled-report-runs/' },
  'report-charts': { text: 'The charts of the report are drawn', kind: 'report_run', path: '/v4/scheduled-report-runs/' },
  'report-delivery': { text: 'The report is sent to a destination', kind: 'report_run', path: '/v4/scheduled-report-runs/' },
  'report-upload': { text: 'The file of the report is sent to a destination', kind: 'report_run', path: '/v4/scheduled-report-runs/' },
}

function told(subject: DueSubject, kind: string): Told {
  switch (subject.is) {
    case 'run': {
      const { id, automation_id, name, step, status, user_id } = subject
      const text = status === 'pending' ? 'begins' : step === null ? 'goes on' : `goes on at the step ${step}`
      const reference = { kind: 'automation_run' as const, id, url: `/v4/automation-runs/${id}` }
      return { kind: 'automation_run', text: `A run of ${quoted(name, automation_id)} ${text}`, reference, customer_uid: user_id }
    }
    case 'delivery': {
      const { id, integration_id, title, event_name, attempts, user_id } = subject
      const again = attempts === 0 ? '' : `, attempt ${attempts + 1}`
      const reference = { kind: 'delivery' as const, id, url: `/v4/integrations/${integration_id}/deliveries/${id}` }
      return {
        kind: 'delivery',
        text: `${event_name ?? 'An event'} is sent to ${quoted(title, integration_id)}${again}`,
        reference,
        customer_uid: user_id,
      }
    }
    case 'report': {
      const { id, name } = subject
      const reference = { kind: 'scheduled_report' as const, id, url: `/v4/scheduled-reports/${id}` }
      return { kind: 'report_slot', text: `The report ${quoted(name, id)} has its slot`, reference, customer_uid: null }
    }
    case 'subscription': {
      const { user_id, before, after } = subject
      const text = after === null || after === before ? 'A subscription is looked at' : `A subscription becomes ${spaced(after)}`
      const reference = user_id === null ? null : { kind: 'customer' as const, id: user_id, url: `/v4/customers/${user_id}` }
      return { kind: 'subscription', text, reference, customer_uid: user_id }
    }
    case 'probe': {
      const { id, title } = subject
      const reference = { kind: 'integration' as const, id, url: `/v4/integrations/${id}` }
      return { kind: 'integration_probe', text: `A held delivery of ${quoted(title, id)} is tried`, reference, customer_uid: null }
    }
    case 'workflow': {
      const known = WORKFLOWS[subject.workflow]
      if (!known) return otherJob(kind)
      const id = subject.subject.split(':')[0]!
      return { kind: known.kind, text: known.text, reference: { kind: known.kind, id, url: `${known.path}${id}` }, customer_uid: null }
    }
    default:
      return subject satisfies never
  }
}

const otherJob = (kind: string): Told => ({ kind: 'other', text: `A job of the kind ${spaced(kind)}`, reference: null, customer_uid: null })

/** What a principal must be allowed to read to see the names and customers of a subject. */
const SCOPES: Record<Exclude<DueSubject['is'], 'workflow'>, string> = {
  run: 'automations:read',
  delivery: 'integrations:read',
  report: 'scheduled_reports:read',
  subscription: 'customers:read',
  probe: 'integrations:read',
}

/** The subject as a principal may see it. */
function seenBy(scopes: Scopes, subject: DueSubject): DueSubject {
  if (subject.is === 'workflow' || permits(scopes, SCOPES[subject.is])) return subject
  switch (subject.is) {
    case 'run':
      return { ...subject, name: null, step: null, user_id: null }
    case 'delivery':
      return { ...subject, title: null, event_name: null, user_id: null }
    case 'report':
      return { ...subject, name: null }
    case 'probe':
      return { ...subject, title: null }
    case 'subscription':
      return { ...subject, user_id: null }
    default:
      return subject satisfies never
  }
}

const shown = ({ kind, id, micros, subject }: DueJob, scopes: Scopes): Item => ({
  ...{ object: 'due_job' as const, id: `${kind}.${id}`, at: wholeSeconds(micros / 1000) },
  ...(subject === null ? otherJob(kind) : told(seenBy(scopes, subject), kind)),
})

export const v4ListTestClockDue = onPool('v4ListTestClockDue', async ({ query, principal, environment, deps }) => {
  const { limit, starting_after: after } = query
  const { jobs, next, restarted } = await readDueNext(deps.listing, environment, { limit, after })
  const list = { object: 'list' as const, url: '/v4/test-clock/due' as const, data: jobs.map(job => shown(job, principal.scopes)) }
  const body = next === null ? { ...list, has_more: false } : { ...list, has_more: true, next_cursor: next }
  return { body, headers: restartedHeader(restarted) }
})
