import { type AppleAdsConnection, getConnection } from '../../../domain/integrations/apple-ads/connection.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import { onPool } from '../../operation.ts'

type Shown = AnswerBody<'v4GetAppleAdsConnection'>

/** The roles of Apple that may change campaigns. */
const WRITERS = ['Admin', 'Campaign Manager', 'API Account Manager', 'API Campaign Manager', 'Account Manager', 'Campaign Group Manager']

const hasSettings = ({ configured_at }: AppleAdsConnection) => configured_at !== null

function stateOf(connection: AppleAdsConnection): Pick<Shown, 'status' | 'next_action'> {
  if (!hasSettings(connection)) return { status: 'not_connected', next_action: 'connect' }
  switch (connection.error_kind) {
    case null:
      return connection.synced_at === null ? { status: 'verifying', next_action: 'wait' } : { status: 'connected', next_action: 'none' }
    case 'credentials':
      return { status: 'error', next_action: 'reconnect' }
    case 'permission':
      return { status: 'error', next_action: 'grant_permissions' }
    case 'unavailable':
      return { status: 'error', next_action: 'wait' }
    default:
      return connection.error_kind satisfies never
  }
}

function managementOf(connection: AppleAdsConnection): Shown['campaign_management'] {
  const { orgs, is_stale } = connection
  if (!hasSettings(connection)) return { state: 'unavailable', can_write: false, reason_code: 'not_connected' }
  if (orgs === null) return { state: 'unknown', can_write: false, reason_code: 'permissions_not_checked_yet' }
  const canWrite = orgs.some(({ roles }) => roles.some(role => WRITERS.includes(role)))
  if (!canWrite) return { state: 'unavailable', can_write: false, reason_code: 'permission_missing' }
  return is_stale
    ? { state: 'unknown', can_write: true, reason_code: 'permission_data_stale' }
    : { state: 'ready', can_write: true, reason_code: null }
}

export const v4GetAppleAdsConnection = onPool('v4GetAppleAdsConnection', async ({ environment, db }) => {
  const connection = await getConnection(db, environment)
  const { orgs, synced_at, data_through, error, error_kind } = connection
  const isSyncing = hasSettings(connection) && error_kind === null
  return {
    body: {
      object: 'apple_ads_connection' as const,
      url: '/v4/integrations/apple-ads/connection' as const,
      ...stateOf(connection),
      dashboard_url: hasSettings(connection) ? 'https://app.searchads.apple.com' : null,
      reporting: {
        state: synced_at !== null ? 'ready' : isSyncing ? 'syncing' : 'unavailable',
        last_synced_at: synced_at,
        data_through,
      } as const,
      campaign_management: managementOf(connection),
      orgs: (orgs ?? []).map(({ id, name, currency, time_zone }) => ({ id, name, currency, time_zone })),
      error,
    },
  }
})
