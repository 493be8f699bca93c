import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment, EnvironmentKind } from '../../kernel/environment.ts'
import { CHANNEL_COLUMNS, type ChannelRow } from './channel.ts'
import type { AlertOccurrence, AlertSubject } from './kinds.ts'

/** The workflow that sends one alert to one channel; the subject of a run is the number of the message. */
export const ALERT_WORKFLOW = { workflow: 'alert-message', version: 1 } as const

export type AlertPhase = 'began' | 'continues' | 'ended'

/** A message to a channel. `test`: there is no alert, a user tests the channel. */
export type AlertMessage = {
  /** The same at every attempt. */
  id: string
  phase: AlertPhase
  test: boolean
  project: string
  environment: EnvironmentKind
  alert: AlertOccurrence
}

type Loaded = ChannelRow & {
  phase: AlertPhase
  project: string
  environment_kind: EnvironmentKind
  alert_id: string
  kind: AlertSubject['kind']
  holder: string
  about: string
  alert_title: string | null
  count: number
  detail: string | null
  began_at: string
  last_at: string
  ended_at: string | null
}

const LOAD = `
select ${CHANNEL_COLUMNS.replaceAll(/(^|, )(\w+)(?=,|$)/g, '$1c.$2')}, m.phase, p.name as project, e.kind as environment_kind, a.id as alert_id, a.kind,
  a.holder, a.about, a.title as alert_title, a.count, a.detail, a.created_at as began_at, a.last_at, a.ended_at
from alert_messages m join alerts a on a.environment = m.environment and a.id = m.alert_id
  join notification_channels c on c.environment = m.environment and c.id = m.channel_id
  join environments e on e.id = m.environment join projects p on p.id = e.project
where m.environment = $1 and m.number = $2`

/** The message of a run with its channel as it is now; null: the channel or the alert was deleted. */
export async function loadMessage(
  db: Db,
  environment: Environment,
  subject: string,
): Promise<{ channel: ChannelRow; message: AlertMessage } | null> {
  const { rows } = await db.query<Loaded>({ name: 'load-alert-message', text: LOAD, values: [environment, Number(subject)] })
  if (!rows[0]) return null
  const {
    phase,
    project,
    environment_kind,
    alert_id,
    kind,
    holder,
    about,
    alert_title,
    count,
    detail,
    began_at,
    last_at,
    ended_at,
    ...channel
  } = rows[0]
  const alert = { id: alert_id, kind, holder, about, title: alert_title, count, detail, began_at, last_at, ended_at }
  return { channel, message: { id: `${alert_id}.${subject}`, phase, test: false, project, environment: environment_kind, alert } }
}

const SENT = `
with sent as (
  update alert_messages set status = 'sent', attempts = $3, error = null, finished_at = environment_now($1)
  where environment = $1 and number = $2 returning channel_id
)
update notification_channels c set last_sent_at = environment_now($1) from sent where c.environment = $1 and c.id = sent.channel_id`

export const recordMessageSent = (tx: Tx, environment: Environment, subject: string, attempts: number): Promise<unknown> =>
  tx.query({ name: 'alert-message-sent', text: SENT, values: [environment, Number(subject), attempts] })

const FAILED = `
with failed as (
  update alert_messages set attempts = $3, error = $4, status = case when $5 then 'failed' else status end,
    finished_at = case when $5 then environment_now($1) end
  where environment = $1 and number = $2 returning channel_id
)
update notification_channels c set last_error_at = environment_now($1), last_error_message = $4 from failed
where c.environment = $1 and c.id = failed.channel_id`

type FailedMessage = { attempts: number; error: string; isLast: boolean }

/** A failed attempt, shown with the alert and with the channel. */
export const recordMessageFailed = (
  tx: Tx,
  environment: Environment,
  subject: string,
  { attempts, error, isLast }: FailedMessage,
): Promise<unknown> =>
  tx.query({ name: 'alert-message-failed', text: FAILED, values: [environment, Number(subject), attempts, error, isLast] })
