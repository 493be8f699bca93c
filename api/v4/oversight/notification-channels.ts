import { audit } from '../../../domain/kernel/audit/record.ts'
import { now } from '../../../domain/kernel/environment.ts'
import {
  type ChannelRow,
  createChannel,
  deleteChannel,
  getChannel,
  listChannels,
  lockChannel,
  newChannelId,
  openChannel,
  writeChannel,
} from '../../../domain/oversight/alerts/channel.ts'
import { type ChannelInput, changeChannel, newChannelValues, settingsOfChannel } from '../../../domain/oversight/alerts/channel-settings.ts'
import type { AlertMessage } from '../../../domain/oversight/alerts/message.ts'
import { projectName } from '../../../domain/projects/settings.ts'
import { orderedId } from '../../../store/ids.ts'
import { type ApiDeps, inTransaction, NO_STORE, onPool, planned, preparedTransaction } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { assertMayTest } from '../integrations/start.ts'

function shownSettings({ type, settings, secrets }: ChannelRow): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const { name, secret } of settingsOfChannel(type)) {
    if (secret) shown[`has_${name}`] = name in secrets
    else shown[name] = settings[name] ?? null
  }
  return shown
}

const channel = (row: ChannelRow) => ({
  object: 'notification_channel' as const,
  id: row.id,
  url: `/v4/notification-channels/${row.id}`,
  title: row.title,
  type: row.type,
  kinds: row.kinds,
  settings: shownSettings(row),
  last_sent_at: row.last_sent_at,
  last_error_at: row.last_error_at,
  last_error_message: row.last_error_message,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

const withSecret = (row: ChannelRow, generated: string | null) =>
  generated === null ? channel(row) : { ...channel(row), generated_signing_secret: generated }

const inputOf = ({ title, type, settings, kinds = null }: Omit<ChannelInput, 'kinds'> & { kinds?: ChannelInput['kinds'] }) => ({
  title,
  type,
  settings,
  kinds,
})

const sealing = ({ deps, environment }: { deps: ApiDeps; environment: number }, id: string) => ({
  secrets: deps.secrets,
  environment,
  id,
  allowPrivate: deps.probe.allowPrivateNetwork,
})

export const v4ListNotificationChannels = onPool('v4ListNotificationChannels', async ({ query, environment, db }) => {
  const { limit, starting_after: after } = query
  const { rows, restarted } = await listChannels(db, environment, limit, after)
  return { body: cursorPage({ url: '/v4/notification-channels', rows, limit, item: channel }), headers: restartedHeader(restarted) }
})

export const v4CreateNotificationChannel = inTransaction(
  'v4CreateNotificationChannel',
  async call => {
    const { body, environment, trail, tx } = call
    const id = newChannelId()
    const { values, generated } = newChannelValues(sealing(call, id), inputOf(body))
    const row = await createChannel(tx, environment, id, values)
    await audit(tx, trail, { resource: 'notification_channel', id, after: channel(row) })
    return { body: withSecret(row, generated) }
  },
  NO_STORE,
)

export const v4GetNotificationChannel = onPool('v4GetNotificationChannel', async ({ path, environment, db }) => ({
  body: channel(await getChannel(db, environment, path.channel_id)),
}))

export const v4UpdateNotificationChannel = inTransaction(
  'v4UpdateNotificationChannel',
  async call => {
    const { path, body, environment, trail, tx } = call
    const before = await lockChannel(tx, environment, path.channel_id)
    const changed = changeChannel(sealing(call, before.id), before, inputOf(body))
    if (changed === null) return { body: channel(before) }
    const after = await writeChannel(tx, environment, before.id, changed.change)
    await audit(tx, trail, { resource: 'notification_channel', id: after.id, before: channel(before), after: channel(after) })
    return { body: withSecret(after, changed.generated) }
  },
  NO_STORE,
)

export const v4DeleteNotificationChannel = inTransaction('v4DeleteNotificationChannel', async ({ path, environment, trail, tx }) => {
  const before = await deleteChannel(tx, environment, path.channel_id)
  await audit(tx, trail, { resource: 'notification_channel', id: before.id, before: channel(before) })
  return { body: undefined }
})

type Sample = Pick<AlertMessage, 'project' | 'environment'> & { at: string }

/** A sample alert. */
const sampleMessage = ({ project, environment, at }: Sample): AlertMessage => {
  const id = orderedId('alt')
  const subject = { kind: 'integration_error' as const, holder: 'int_sample', about: '', title: 'Sample', count: 1 }
  const alert = { ...subject, id, detail: null, began_at: at, last_at: at, ended_at: null }
  return { id: `${id}.test`, phase: 'began', test: true, project, environment, alert }
}

export const v4TestNotificationChannel = planned(
  preparedTransaction(
    'v4TestNotificationChannel',
    async call => {
      const { path, environment, environmentKind, project, inTurn, deps } = call
      const row = await inTurn(db => getChannel(db, environment, path.channel_id))
      await assertMayTest(call, row.id, 'notification_channels')
      const name = await inTurn(db => projectName(db, project))
      const at = await inTurn(db => now(db, environment))
      const sample = sampleMessage({ project: name, environment: environmentKind, at })
      return deps.tryChannel(openChannel(deps.secrets, environment, row), sample)
    },
    async ({ path, trail, tx, prepared }) => {
      const { ok, http_status, duration_ms, error } = prepared
      const url = `/v4/notification-channels/${path.channel_id}/test`
      const result = { object: 'notification_channel_test' as const, url, ok, http_status, duration_ms, error }
      await audit(tx, trail, { resource: 'notification_channel_test', id: path.channel_id, after: result })
      return { body: result }
    },
  ),
  async ({ path, environment, trail, tx }) => {
    const { id, type, title } = await getChannel(tx, environment, path.channel_id)
    await assertMayTest({ inTurn: work => work(tx), environment }, id, 'notification_channels')
    await audit(tx, trail, { resource: 'notification_channel_test', id, after: { type, title }, isSend: true })
  },
)
