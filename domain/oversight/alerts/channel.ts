import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { FORMER_SIGNING_SECRET, SIGNING_SECRET } from '../../integrations/config.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { conflict, notFound } from '../../kernel/refusal.ts'
import { openText, type Secrets } from '../../projects/secrets.ts'
import type { AlertKind } from './kinds.ts'

export type ChannelType = 'email' | 'slack' | 'webhook'

/** The stored form: `secrets` are sealed. */
export type ChannelRow = {
  id: string
  title: string
  type: ChannelType
  kinds: AlertKind[] | null
  settings: Record<string, unknown>
  secrets: Record<string, string>
  former_signing_secret: string | null
  signing_secret_changed_at: string | null
  last_sent_at: string | null
  last_error_at: string | null
  last_error_message: string | null
  created_at: string
  updated_at: string
}

export const CHANNEL_COLUMNS =
  'id, title, type, kinds, settings, secrets, former_signing_secret, signing_secret_changed_at, last_sent_at, last_error_at, last_error_message, created_at, updated_at'

const MOST_CHANNELS = 100
const FORMER_VALID_MS = 86_400_000

/** Binds a sealed secret to its channel and name. */
export const channelContext = (environment: Environment, id: string, name: string): string =>
  `notification_channel:${environment}:${id}:${name}`

/** A channel as messages are sent to it: `settings` with the secrets in clear. */
export type OpenChannel = Pick<ChannelRow, 'id' | 'type'> & { environment: Environment; settings: Record<string, unknown> }

export function openChannel(secrets: Secrets, environment: Environment, channel: Omit<ChannelRow, 'last_sent_at'>): OpenChannel {
  const { id, type, former_signing_secret: former, signing_secret_changed_at: changed } = channel
  const open = (name: string, sealed: string) => openText(secrets, sealed, channelContext(environment, id, name))
  const settings: Record<string, unknown> = { ...channel.settings }
  for (const [name, sealed] of Object.entries(channel.secrets)) settings[name] = open(name, sealed)
  if (former !== null && changed !== null && Date.now() - Date.parse(changed) < FORMER_VALID_MS)
    settings[FORMER_SIGNING_SECRET] = open(SIGNING_SECRET, former)
  return { id, type, environment, settings }
}

async function findChannel(db: Db, environment: Environment, id: string, lock: string): Promise<ChannelRow> {
  const { rows } = await db.query<ChannelRow>(
    `select ${CHANNEL_COLUMNS} from notification_channels where environment = $1 and id = $2 ${lock}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('notification channel')
  return rows[0]
}

export const getChannel = (db: Db, environment: Environment, id: string): Promise<ChannelRow> => findChannel(db, environment, id, '')
export const lockChannel = (tx: Tx, environment: Environment, id: string): Promise<ChannelRow> =>
  findChannel(tx, environment, id, 'for no key update')

const LISTED = { table: 'notification_channels', columns: CHANNEL_COLUMNS, order: 'newest' as const }

export const listChannels = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<ChannelRow>> =>
  pageOf(db, LISTED, environment, { limit, after })

/** The fields of a channel in a request, with its secrets sealed. */
export type ChannelValues = Pick<ChannelRow, 'title' | 'type' | 'kinds' | 'settings' | 'secrets'>

export const newChannelId = (): string => orderedId('nch')

/** Creations of one environment take turns, so that no two of them count the same channels. Throws `conflict` above the limit. */
export async function createChannel(tx: Tx, environment: Environment, id: string, values: ChannelValues): Promise<ChannelRow> {
  await tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.channels, environment])
  const { title, type, kinds, settings, secrets } = values
  const { rows } = await tx.query<ChannelRow>(
    `insert into notification_channels (environment, id, title, type, kinds, settings, secrets, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, t, t from date_trunc('second', environment_now($1)) t
     where (select count(*) from notification_channels where environment = $1) < $8 returning ${CHANNEL_COLUMNS}`,
    [environment, id, title, type, kinds, JSON.stringify(settings), JSON.stringify(secrets), MOST_CHANNELS],
  )
  if (!rows[0]) throw conflict(`an environment has at most ${MOST_CHANNELS} notification channels`)
  return rows[0]
}

type ChannelChange = ChannelValues & {
  /** The signing secret that this change replaces, sealed. */
  former: string | null
  /** Requests go to another origin, which must get no signature under a former signing secret. */
  isMoved: boolean
}

/** Stores a change of a channel that the caller has locked. */
export async function writeChannel(tx: Tx, environment: Environment, id: string, change: ChannelChange): Promise<ChannelRow> {
  const { title, kinds, settings, secrets, former, isMoved } = change
  const { rows } = await tx.query<ChannelRow>(
    `update notification_channels set title = $3, kinds = $4, settings = $5, secrets = $6,
       former_signing_secret = case when $8 then null else coalesce($7, former_signing_secret) end,
       signing_secret_changed_at = case when $7::text is null then signing_secret_changed_at else clock_timestamp() end,
       updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${CHANNEL_COLUMNS}`,
    [environment, id, title, kinds, JSON.stringify(settings), JSON.stringify(secrets), former, isMoved],
  )
  return rows[0]!
}

/** Deletes the channel with the messages to it: a run that still has one ends without sending it. */
export async function deleteChannel(tx: Tx, environment: Environment, id: string): Promise<ChannelRow> {
  const channel = await findChannel(tx, environment, id, 'for update')
  await tx.query('delete from notification_channels where environment = $1 and id = $2', [environment, id])
  return channel
}
