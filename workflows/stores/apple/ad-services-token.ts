import {
  AD_SERVICES_WORKFLOW,
  type AdServicesResult,
  endAdServices,
  openAdServicesToken,
} from '../../../domain/audience/customers/ad-services.ts'
import type { Pool } from '../../../store/connect.ts'
import type { RunContext, Workflow } from '../../engine/workflow.ts'
import type { AdServices, AdServicesAnswer } from './ad-services.ts'

export type AdServicesDeps = { pool: Pool; adServices: AdServices }

const HOUR = 3600
/** The waits while Apple does not answer: a token is valid for 24 hours. */
const WAITS = [10, 60, 300, 1800, HOUR, 2 * HOUR, ...Array.from({ length: 5 }, () => 4 * HOUR)]
/** By Apple's documentation a token may be known to Apple a little later than to the device: three more attempts, after five seconds each. */
const UNKNOWN_WAITS = [5, 5, 5]

/** Sends the token of an app to Apple, and stores the answer as the attribution of the user. */
export const exchangeAdServicesToken = ({ pool, adServices }: AdServicesDeps): Workflow => ({
  kind: AD_SERVICES_WORKFLOW.workflow,
  version: AD_SERVICES_WORKFLOW.version,
  concurrency: 16,

  async run(context) {
    const id = Number(context.subject)
    const result = await exchanged(context, async signal => {
      const token = await openAdServicesToken(pool, id)
      return token === null ? { is: 'unanswered' } : adServices.exchange(token, signal)
    })
    await context.transact('answered', tx => endAdServices(tx, id, result))
  },

  failed: (tx, _environment, subject) => endAdServices(tx, Number(subject), { is: 'unanswered' }),
})

/** Repeats the request until there is an answer, or as long as an answer can still come. */
async function exchanged(
  { step, sleep }: Pick<RunContext, 'step' | 'sleep'>,
  exchange: (signal: AbortSignal) => Promise<AdServicesAnswer>,
): Promise<AdServicesResult> {
  const left = { unknown: [...UNKNOWN_WAITS], later: [...WAITS] }
  for (let n = 1; ; n++) {
    const answer = await step(`exchange-${n}`, ({ signal }) => exchange(signal))
    if (answer.is !== 'unknown' && answer.is !== 'later') return answer
    const wait = left[answer.is].shift()
    if (wait === undefined) return { is: 'unanswered' }
    await sleep(`wait-${n}`, answer.is === 'later' ? Math.max(wait, answer.afterSeconds ?? 0) : wait)
  }
}
