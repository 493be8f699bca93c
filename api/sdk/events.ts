import { createHash } from 'node:crypto'
import { appendBatch } from '../../domain/ingestion/append.ts'
import { canonicalJson } from '../../domain/kernel/canonical-json.ts'
import { appEventId, deviceAndApp, happenedAt } from '../v3/app-event.ts'
import { keptFields } from '../v3/screen-events.ts'
import { SdkProblem } from './errors.ts'
import { ofUser } from './operation.ts'

const AMOUNTS = new Set(['price', 'currency', 'revenue'])

/** The SDK sends neither id nor time, and repeats its requests: an equal event of the user is the same event. */
const idOf = (event: string, payload: unknown): string => createHash('sha256').update(canonicalJson({ event, payload })).digest('hex')

export const sdkCreateEvent = ofUser(
  'sdkCreateEvent',
  ({ body, user, reported, environment, inTurn }) =>
    inTurn(async db => {
      const { event, payload = {} } = body
      const properties = keptFields(Object.fromEntries(Object.entries(payload).filter(([name]) => !AMOUNTS.has(name))))
      const item = {
        ...deviceAndApp(reported),
        event_id: appEventId(user, idOf(event, payload)),
        event_name: event,
        customer_uid: user.id,
        happened_at: happenedAt(undefined, user.now),
        ...(Object.keys(properties).length > 0 && { properties }),
        ofApp: { sentAt: null },
      }
      const [outcome] = await appendBatch(db, environment, [item], true)
      if (outcome?.status === 'rejected') throw new SdkProblem('malformed', outcome.error.message)
      return { success: true as const, data: {} }
    }),
  ({ body }) => body.user,
)
